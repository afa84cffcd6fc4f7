"""One Spark that simulates slices of the reference panel as it is told, with the real job.

    python -m benchmarks.speed.spark_arm --master 'local[1]' --folder FOLDER

One JSON object a line on standard input (a `Slice`), one a line on standard output (`SliceRun`),
until the input ends. Several such Sparks can stand side by side: one that is not asked rests.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from benchmarks import reference
from benchmarks.speed import probe
from benchmarks.speed.arms import STRIDE
from isr_pipeline.experiment.plan import Plan, Shard
from isr_pipeline.night.spark.simulate import PRELOADED, simulate_part
from isr_pipeline.night.spark.spark_session import spark_session
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCENARIOS
from isr_pipeline.worlds.ready import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.scenarios.panels import ScenarioRow

PANEL = "regression"


@dataclass(frozen=True, slots=True)
class Slice:
    """What to simulate: scenarios and configurations from all over the reference, and copies.

    Copies of scenarios stand under other names, so that the job cannot tell them from others and a
    slice of twice as many is exactly twice the work. Configurations are different ones: a run
    would answer for a copy.

    Attributes:
        scenarios: different ones; ``configurations`` likewise.
        scenario_copies: how often each scenario is there.
    """

    scenarios: int
    configurations: int
    scenario_copies: int = 1

    @property
    def pairs(self) -> int:
        """How many pairs it has."""
        return self.scenarios * self.scenario_copies * self.configurations


@dataclass(frozen=True, slots=True)
class SliceRun:
    """What a slice took.

    Attributes:
        pairs: simulated.
        job_seconds: of the whole job, with writing; ``simulation_seconds``: from the first task's
            start to the last one's end.
        task_seconds: how long each task ran, by Spark's own account.
        shuffle_bytes: written by the tasks.
        cpu: part of a pair -> seconds of processor time over all tasks, as the probe has it.
        kernel_seconds: that tasks spent in the kernel, by the same clock as ``task_seconds``.
        peak_rss_mb: of the largest Python worker so far.
        driver_bytes: of the tasks' results, which the driver gets.
        java_peak_rss_mb: of Spark's Java so far, which is driver and executor in one here.
        outcomes_bytes: of the outcomes written; ``events_bytes``: of the events kept.
    """

    pairs: int
    job_seconds: float
    simulation_seconds: float
    task_seconds: list[float]
    shuffle_bytes: int
    driver_bytes: int
    cpu: dict[str, float]
    kernel_seconds: float
    peak_rss_mb: float
    java_peak_rss_mb: float
    outcomes_bytes: int
    events_bytes: int


def chosen_scenarios(rows: list[ScenarioRow], wanted: Slice) -> list[ScenarioRow]:
    """Scenarios of a slice, numbered from 0, copies under names of their own."""
    chosen = [rows[(k * STRIDE) % len(rows)] for k in range(wanted.scenarios)]
    copies = [row for _ in range(wanted.scenario_copies) for row in chosen]
    return [
        replace(row, index=index, scenario_id=f"{PANEL}-{index:05d}")
        for index, row in enumerate(copies)
    ]


def chosen_configurations(wanted: Slice) -> list[Configuration]:
    """Configurations of a slice."""
    every = reference.configurations()
    step = len(every) / wanted.configurations
    return [every[int(k * step)] for k in range(wanted.configurations)]


def plan_of(root: Path, rows: list[ScenarioRow]) -> Plan:
    """A night's plan for a slice."""
    experiment = reference.experiment()
    every = reference.configurations()
    return Plan(
        experiment="reference",
        night=reference.NIGHT,
        experiment_digest=experiment.digest,
        panel_digest=reference.digest(),
        confirm_digest="",
        panels={PANEL: len(rows)},
        configurations=every,
        shards=(Shard(name=parts.WHOLE, config_ids=tuple(one.config_id for one in every)),),
        reference=experiment.reference,
        code_version="",
        version="",
        root=str(root),
        definition=experiment,
    )


def run_slice(spark: SparkSession, folder: Path, wanted: Slice) -> SliceRun:
    """Simulate a slice and say what it took."""
    root = folder / "tables"
    shutil.rmtree(root, ignore_errors=True)
    rows = chosen_scenarios(reference.scenarios(), wanted)
    plan = plan_of(root, rows)
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=SCENARIOS)
    store.write_table("scenarios", plan.experiment, plan.night, table, root=plan.root)
    configurations = chosen_configurations(wanted)
    probe.read(Path(os.environ[probe.FOLDER]))
    group = f"slice-{time.monotonic_ns()}"
    spark.sparkContext.setJobGroup(group, group)
    started = time.monotonic()
    simulate_part(spark, plan, PANEL, parts.WHOLE, configurations)
    job_seconds = time.monotonic() - started
    notes = probe.read(Path(os.environ[probe.FOLDER]))
    tasks = simulation_tasks(spark, group)
    assert len(tasks) == len(notes), "every task wrote its line"
    part = parts.part_path(plan, PANEL, parts.WHOLE)
    assert isinstance(part, Path)
    return SliceRun(
        pairs=wanted.pairs,
        job_seconds=job_seconds,
        simulation_seconds=max(t["end"] for t in tasks) - min(t["start"] for t in tasks),
        task_seconds=[task["run"] for task in tasks],
        shuffle_bytes=sum(int(task["shuffle_bytes"]) for task in tasks),
        driver_bytes=sum(int(task["result_bytes"]) for task in tasks),
        cpu={
            part: sum(note[part] for note in notes)
            for part in ("worker_cpu", "task_cpu", *probe.PARTS)
        },
        kernel_seconds=sum(note[probe.KERNEL_WALL] for note in notes),
        peak_rss_mb=max(note["peak_rss_mb"] for note in notes),
        java_peak_rss_mb=probe.peak_rss_mb(spark.sparkContext._gateway.proc.pid),
        outcomes_bytes=_bytes(part / "outcomes"),
        events_bytes=_bytes(part / "events"),
    )


def _bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("*.parquet"))


def simulation_tasks(spark: SparkSession, group: str) -> list[dict[str, float]]:
    """Tasks of a job group's first stage, which is the simulation, from Spark's own status."""
    context = spark.sparkContext
    tracker = context.statusTracker()
    stages = []
    for job in tracker.getJobIdsForGroup(group):
        known = tracker.getJobInfo(job)
        stages += list(known.stageIds) if known else []
    status = context._jsc.sc().statusStore()
    listed = status.taskList(min(stages), 0, 1_000_000)
    return [_task(listed.apply(k)) for k in range(listed.size())]


def _task(data: Any) -> dict[str, float]:
    """Facts of one finished task, in seconds and bytes."""
    metrics = data.taskMetrics().get()
    start = data.launchTime().getTime() / 1e3
    return {
        "start": start,
        "end": start + data.duration().get() / 1e3,
        "run": metrics.executorRunTime() / 1e3,
        "shuffle_bytes": metrics.shuffleWriteMetrics().bytesWritten(),
        "result_bytes": metrics.resultSize(),
    }


def main() -> int:
    """Serve slices until standard input ends."""
    parser = argparse.ArgumentParser(description="a Spark that simulates slices")
    parser.add_argument("--master", required=True)
    parser.add_argument("--folder", type=Path, required=True, help="for tables and the probe")
    given = parser.parse_args()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the job says goes to the log
    notes = given.folder / "probe"
    notes.mkdir(parents=True, exist_ok=True)
    os.environ[probe.FOLDER] = str(notes)
    compile_kernel()
    spark = spark_session("speed", given.master, [*PRELOADED, f"{probe.__name__}:install"])
    try:
        for wanted in _asked():
            answers.write(json.dumps(asdict(run_slice(spark, given.folder, wanted))) + "\n")
    finally:
        spark.stop()
    return 0


def _asked() -> Iterator[Slice]:
    """Slices as they are asked for; if the asker goes while one is simulated, so does this."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    answered = threading.Event()
    answered.set()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        if not answered.is_set():
            os._exit(1)  # Java ends with the process that holds its standard input
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while line := lines.get():
        answered.clear()
        yield Slice(**json.loads(line))
        answered.set()


if __name__ == "__main__":
    from isr_pipeline.base.compiling import use_kernel_cache

    use_kernel_cache()
    sys.exit(main())
