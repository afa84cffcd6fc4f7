"""A probe in Spark's Python workers: what a task's time goes to, and the worker's peak memory.

Installed where Spark forks its workers from (as one more module of ``ISR_PIPELINE_PRELOAD``), it
wraps the functions that the real job calls and writes one line a task into the folder named by
``ISR_PIPELINE_PROBE``. Two clocks a call, a few calls a pair: microseconds beside milliseconds.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FOLDER = "ISR_PIPELINE_PROBE"
PARTS = ("kernel", "prepare", "encode", "outcome", "events", "configure")
"""What is told apart of a pair; the rest of a task is its rows, what the worker does before and
after (reading the task and its scenarios), and Spark itself. In processor time."""

KERNEL_WALL = "kernel_wall"
"""The kernel by the clock on the wall, as Spark counts its tasks."""

_seconds: dict[str, float] = defaultdict(float)
_reported_until = 0.0


def install() -> None:
    """Wrap what a pair is made of, and the task around it."""
    from isr_pipeline.tables import pairs  # noqa: PLC0415 - in Spark's worker only
    from isr_pipeline.worlds import encoder, reuse  # noqa: PLC0415 - likewise

    for module, name, part in (
        (reuse, "advance", "kernel"),
        (reuse, "prepare", "prepare"),
        (encoder, "lay_out", "encode"),
        (reuse, "outcome_of", "outcome"),
        (pairs, "event_table", "events"),
        (pairs, "apply", "configure"),
    ):
        setattr(module, name, _timed(getattr(module, name), part))
    pairs.simulate = _noted(pairs.simulate)


def _timed(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    @wraps(function)
    def timed(*given: Any, **named: Any) -> Any:
        began, started = time.perf_counter(), time.process_time()
        try:
            return function(*given, **named)
        finally:
            _seconds[part] += time.process_time() - started
            if part == "kernel":
                _seconds[KERNEL_WALL] += time.perf_counter() - began

    return timed


def _noted(simulate: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    @wraps(simulate)
    def noted(*given: Any, **named: Any) -> Iterator[Any]:
        global _reported_until
        _seconds.clear()
        started = time.process_time()
        yield from simulate(*given, **named)
        now = time.process_time()
        # A worker is a fork whose clock begins at 0, and runs only while it has a task.
        worker, _reported_until = now - _reported_until, now
        note = {
            "worker_cpu": worker,
            "task_cpu": now - started,
            "peak_rss_mb": peak_rss_mb(),
            **{part: _seconds[part] for part in (*PARTS, KERNEL_WALL)},
        }
        with (Path(os.environ[FOLDER]) / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(note) + "\n")

    return noted


def peak_rss_mb(process: int | str = "self") -> float:
    """Largest resident memory a process ever had, in MB (10^6 bytes)."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    msg = f"/proc/{process}/status does not say VmHWM"
    raise RuntimeError(msg)


def read(folder: Path) -> list[dict[str, float]]:
    """Lines of all workers, and away with them."""
    notes = []
    for file in sorted(folder.glob("*.jsonl")):
        notes += [json.loads(line) for line in file.read_text().splitlines()]
        file.unlink()
    return notes
