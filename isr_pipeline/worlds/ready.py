"""The compiled kernel, ready before it is needed: compiled once, loaded once a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.compiling import COMPILES

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST_SCENARIO = {
    "scenario_id": "smallest",
    "horizon_ms": 10,
    "cluster": {"release": "4.1+", "controller": "kraft", "brokers": [1, 2]},
    "topics": [{"name": "t", "assignment": {0: [1, 2]}}],
}


def compile_kernel(before: str = "") -> None:
    """Compile the kernel once, if it has changed, before all of Spark's workers need it at once.

    Args:
        before: how the line begins that says so.
    """
    if _mark().exists():
        return
    said = "compiling the kernel (about a minute, again only when its sources change)"
    sys.stdout.write(f"{before}{said}\n")
    _run_smallest()
    _mark().touch()


def load_kernel() -> None:
    """Load the kernel into this process if it is compiled; processes forked from it have it too.

    On a machine that has its code from Spark it is compiled first, by one of its executors.
    """
    if os.environ.get(COMPILES):
        with _alone():
            compile_kernel()
    if _mark().exists():
        _run_smallest()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time in, of those with the same folder of compiled kernels."""
    folder = _mark().parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "compiling.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _mark() -> Path:
    """File that says: the kernel of these sources is compiled."""
    return Path(os.environ["NUMBA_CACHE_DIR"]) / "kernel-is-compiled"


def _run_smallest() -> None:
    from isr_pipeline.scenarios.model import parse_scenario  # noqa: PLC0415 - reads the kernel
    from isr_pipeline.worlds.run import run  # noqa: PLC0415

    run(parse_scenario(SMALLEST_SCENARIO, "the smallest scenario"))
