"""Spark around the kernel: how busy it keeps it, two cores against one, growth.

Two Sparks stand side by side, with one core and with two, and are asked in turn. The job is the
real one, its tasks' times are Spark's own account of them, and a probe in the workers says how much
of them the kernel had, by the same clock: what a machine takes away for other work, it takes from
the kernel as from all else. The split into parts is in processor time, so that what is taken away
shows there as waiting.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchmarks.speed.arms import Measured, measured, ratios
from benchmarks.speed.spark_arm import Slice, SliceRun
from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from types import TracebackType

TIMES = (1, 4, 16)


@dataclass(frozen=True, slots=True)
class SparkFigures:
    """What came out.

    Attributes:
        both_pairs: of the slice that one core and two cores simulated in turn.
        two_over_one: time of its simulation on one core over that on two.
        pairs: of the slice like a shard of a night, on two cores; ``tasks``: of it.
        kernel_share: kernel's time over the run time of the shard's tasks;
            ``kernel_cpu_share``: its processor time over that.
        split: part of a pair -> its share of that run time.
        longest_over_median: of the shard's tasks.
        pairs_per_core_s: simulated a second of a core that is busy with tasks.
        job_overhead_s: of the job's time, what was not simulation.
        peak_rss_mb: of the largest worker, over all slices; ``java_peak_rss_mb``: of Spark's Java.
        bytes_per_pair: table -> bytes on disk.
        result_bytes_per_task: what the driver gets of each; ``shuffle_bytes``: of all tasks.
        scaling: "scenarios" and "configurations" -> times as many -> seconds, pairs, peak memory.
    """

    both_pairs: int
    two_over_one: Measured
    pairs: int
    tasks: int
    kernel_share: Measured
    kernel_cpu_share: Measured
    split: dict[str, float]
    longest_over_median: Measured
    pairs_per_core_s: Measured
    job_overhead_s: Measured
    peak_rss_mb: float
    java_peak_rss_mb: float
    bytes_per_pair: dict[str, float]
    result_bytes_per_task: float
    shuffle_bytes: int
    scaling: dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much to simulate.

    Attributes:
        both: on one core and on two in turn, ``runs`` times.
        shard: on two cores, ``shard_runs`` times.
        base: on two cores, 1, 4 and 16 times as much of it.
    """

    both: Slice
    runs: int
    shard: Slice
    shard_runs: int
    base: Slice


FULL = Sizes(both=Slice(120, 10), runs=7, shard=Slice(200, 10), shard_runs=2, base=Slice(16, 2))
"""The shard is one of four of the default night: all its scenarios, a fourth of its configurations,
so that tasks are of its size: what a task costs whatever is in it counts as it does there."""

QUICK = Sizes(both=Slice(6, 4), runs=1, shard=Slice(12, 4), shard_runs=1, base=Slice(2, 2))


def measure(sizes: Sizes) -> SparkFigures:
    """Measure with two Sparks side by side."""
    with (
        tempfile.TemporaryDirectory(prefix="speed-") as folder,
        Arm("local[1]", Path(folder) / "one") as one,
        Arm("local[2]", Path(folder) / "two") as two,
    ):
        for arm in (one, two):
            arm.run(sizes.base)  # Java and the workers warm
        turns = [(one.run(sizes.both), two.run(sizes.both)) for _ in range(sizes.runs)]
        shards = [two.run(sizes.shard) for _ in range(sizes.shard_runs)]
        scaling = {
            "scenarios": {
                times: two.run(Slice(sizes.base.scenarios, sizes.base.configurations, times))
                for times in TIMES
            },
            "configurations": {
                times: two.run(Slice(sizes.base.scenarios, sizes.base.configurations * times))
                for times in TIMES
            },
        }
    return figures(turns, shards, scaling)


def figures(
    turns: list[tuple[SliceRun, SliceRun]],
    shards: list[SliceRun],
    scaling: dict[str, dict[int, SliceRun]],
) -> SparkFigures:
    """Turn what runs took into figures.

    Args:
        turns: (on one core, on two cores) of the same slice, at one time.
        shards: a slice like a shard of a night, on two cores.
        scaling: "scenarios" and "configurations" -> times as many -> on two cores.
    """
    ones, twos = [one for one, _ in turns], [two for _, two in turns]
    every = [*ones, *twos, *shards, *(run for grown in scaling.values() for run in grown.values())]
    last = shards[-1]
    return SparkFigures(
        both_pairs=twos[-1].pairs,
        two_over_one=ratios(
            [run.simulation_seconds for run in ones], [run.simulation_seconds for run in twos]
        ),
        pairs=last.pairs,
        tasks=len(last.task_seconds),
        kernel_share=measured([run.kernel_seconds / sum(run.task_seconds) for run in shards]),
        kernel_cpu_share=measured([run.cpu["kernel"] / sum(run.task_seconds) for run in shards]),
        split=_split(shards),
        longest_over_median=measured(
            [max(run.task_seconds) / statistics.median(run.task_seconds) for run in shards]
        ),
        pairs_per_core_s=measured([run.pairs / sum(run.task_seconds) for run in shards]),
        job_overhead_s=measured([run.job_seconds - run.simulation_seconds for run in shards]),
        peak_rss_mb=max(run.peak_rss_mb for run in every),
        java_peak_rss_mb=max(run.java_peak_rss_mb for run in every),
        bytes_per_pair={
            "outcomes": round(last.outcomes_bytes / last.pairs, 1),
            "events": round(last.events_bytes / last.pairs, 1),
        },
        result_bytes_per_task=last.driver_bytes / len(last.task_seconds),
        shuffle_bytes=sum(run.shuffle_bytes for run in every),
        scaling={
            along: {
                f"{times}x": {
                    "pairs": run.pairs,
                    "seconds": round(run.simulation_seconds, 3),
                    "core_seconds": round(sum(run.task_seconds), 3),
                    "peak_rss_mb": round(run.peak_rss_mb, 1),
                }
                for times, run in grown.items()
            }
            for along, grown in scaling.items()
        },
    )


def _split(runs: list[SliceRun]) -> dict[str, float]:
    """Share of each part of a pair in the tasks' run time, and of all else."""
    busy = sum(sum(run.task_seconds) for run in runs)
    totals = {part: sum(run.cpu[part] for run in runs) for part in runs[0].cpu}
    worker, task = totals.pop("worker_cpu"), totals.pop("task_cpu")
    totals["rows"] = task - sum(totals.values())
    totals["around the pairs"] = worker - task
    totals["Spark, and waiting"] = busy - worker
    return {part: round(seconds / busy, 4) for part, seconds in totals.items()}


class Arm:
    """A Spark in a process of its own that simulates slices as it is asked.

    Args:
        master: ``local[1]``, ``local[2]``.
        folder: for its tables, the probe and its log.
    """

    def __init__(self, master: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._master = master
        self._log = folder / "log"
        command = [sys.executable, "-m", "benchmarks.speed.spark_arm"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--master", master, "--folder", str(folder)],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def run(self, wanted: Slice) -> SliceRun:
        """Simulate a slice.

        Raises:
            RuntimeError: the Spark ended; the end of its log.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(asdict(wanted)) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            last = "\n".join(self._log.read_text(errors="replace").splitlines()[-8:])
            msg = f"the Spark with {self._master} ended; its last words:\n{last}"
            raise RuntimeError(msg)
        return SliceRun(**json.loads(line))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
