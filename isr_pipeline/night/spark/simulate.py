"""Simulate scenarios x configurations on Spark: one row per pair in the outcomes table.

    simulate.py --plan PLAN.json --shard NAME         one shard's part
    simulate.py --plan PLAN.json [--panel confirm] [--configs a,b]    without shards, at once

Each task reads its own scenarios and simulates them under all (or some) of the configurations;
there is no shuffle, and the driver sees the scenarios' costs and how far the tasks are.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.storage.places import Place, place_of
from isr_pipeline.base.storage.published import Stored, drafting
from isr_pipeline.experiment.cost import core_seconds
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.night.spark.program import run_as_program
from isr_pipeline.night.spark.progress import Progress, print_line
from isr_pipeline.night.spark.spark_session import spark_session
from isr_pipeline.night.spark.spark_workers import check_workers
from isr_pipeline.tables import pairs, parts, store
from isr_pipeline.tables.pairs import simulate_by
from isr_pipeline.tables.schemas import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.kernels.source import Source

PRELOADED = ("isr_pipeline.tables.pairs", "isr_pipeline.worlds.ready:load_kernel")
"""What every task needs, and is slow to import."""

TASKS_PER_CORE = 6
"""Enough for even cores at the end and a progress line that moves; each has its price."""

LONG_PAIR_SECONDS = 1.0
"""Core-seconds of a pair by brute force, from which on tasks are cut by time."""

SECONDS_PER_TASK = 20.0
"""Core-seconds of a task then: who watches sees how far it is."""

SIMULATED = ("outcomes", "events")
"""Tables that a task writes rows of."""

WRITTEN = "item string, rows long, place string, name string, size long, sha256 string"
"""What a task says of each file that it wrote: its table, its rows, and where it is."""


class OutOfTime(Exception):
    """Not all pairs were simulated before the time that was given."""


@dataclass(frozen=True, slots=True)
class SimulateConfig:
    """What to simulate.

    Attributes:
        plan: the night's plan.
        panel: regression or confirm.
        shard: a shard's name: write its part only. None: the configurations below, at once.
        configs: names or config_ids; None for all of the plan.
    """

    plan: Plan
    panel: str = "regression"
    shard: str | None = None
    configs: tuple[str, ...] | None = None


def parse(arguments: list[str] | None = None) -> SimulateConfig:
    """Read the command line.

    Raises:
        InputError: an unknown shard, configuration or panel.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plan", required=True, help="plan.json of the night")
    parser.add_argument("--panel", default="regression", help="regression or confirm")
    parser.add_argument("--shard", help="simulate this shard's configurations, write its part")
    parser.add_argument("--configs", help="names or config_ids, with commas between")
    options = parser.parse_args(arguments)
    plan = Plan.load(options.plan)
    _allowed("--panel", [options.panel], [name for name, size in plan.panels.items() if size])
    shards = [shard.name for shard in plan.shards]
    _allowed("--shard", [options.shard] if options.shard else [], shards)
    names = [name for c in plan.configurations for name in (c.name, c.config_id)]
    configs = tuple(options.configs.split(",")) if options.configs else None
    _allowed("--configs", configs or [], names)
    return SimulateConfig(plan, options.panel, options.shard, configs)


def _allowed(option: str, given: Iterable[str], allowed: list[str]) -> None:
    for value in given:
        if value not in allowed:
            raise InputError(option, "", value, ", ".join(allowed))


def run(spark: SparkSession, config: SimulateConfig) -> None:
    """Simulate, and write the shard's part or the table."""
    part = config.shard or parts.WHOLE
    simulate_part(spark, config.plan, config.panel, part, chosen(config))
    if config.shard is None:
        # who asks for some configurations does not ask for the others to go
        parts.assemble(config.plan, config.panel, [part], beside=config.configs is not None)


def chosen(config: SimulateConfig) -> list[Configuration]:
    """Return the configurations to simulate, in the plan's order."""
    wanted: set[str] | None = None
    if config.configs is not None:
        wanted = set(config.configs)
    elif config.shard is not None:
        wanted = {
            config_id
            for shard in config.plan.shards
            if shard.name == config.shard
            for config_id in shard.config_ids
        }
    return [
        c
        for c in config.plan.configurations
        if wanted is None or c.name in wanted or c.config_id in wanted
    ]


def simulate_part(
    spark: SparkSession,
    plan: Plan,
    panel: str,
    part: str,
    configurations: list[Configuration],
    *,
    other: Source | None = None,
    until_s: float = math.inf,
) -> None:
    """Simulate one panel under some configurations and write them as a part.

    Args:
        spark: the session.
        plan: the night.
        panel: whose scenarios; one that ends with `BASELINE_SIDE` has those of the panel it names.
        part: name of the part.
        configurations: what to simulate them under.
        other: sources of the kernel that does it; the present one if None.
        until_s: no task begins after this time, seconds since 1970.

    Raises:
        Refused: the panel has no scenarios.
        OutOfTime: some tasks did not begin.
    """
    costs = scenario_costs(plan, panel)
    if not costs:
        msg = f"night {plan.night} of {plan.experiment}: no scenarios in panel {panel}"
        raise Refused(msg)
    cores = spark.sparkContext.defaultParallelism
    # A process of its own for each task of another kernel: seconds to start.
    wanted = (
        cores if other else tasks_wanted(plan.definition, cores, len(costs) * len(configurations))
    )
    tasks = pairs.plan_tasks(list(costs.values()), len(configurations), wanted)
    count = sum(task.pairs for task in tasks)
    print_line(
        f"{panel}/{part}: {len(costs)} scenarios x {len(configurations)} configurations = "
        f"{count} pairs in {len(tasks)} tasks"
    )
    with drafting(parts.part_path(plan, panel, part)) as draft:
        for table in SIMULATED:
            (draft.shared / table).mkdir()
        with Progress(
            spark, f"{panel}/{part}", count, sum(task.cost for task in tasks)
        ) as progress:
            folder, indices = draft.shared, list(costs)
            work = Work(plan, panel, indices, tasks, configurations, folder, other, until_s)
            worker = _worker(work, progress)
            numbers = spark.range(0, len(tasks), 1, len(tasks))
            found = numbers.mapInArrow(worker, WRITTEN).collect()
        written = sum(row.rows for row in found if row.item == "outcomes")
        if written != count and time.time() >= until_s:
            raise OutOfTime(f"{panel}/{part}: {written} pairs of {count} in time")
        if written != count:
            msg = f"{panel}/{part}: the tasks wrote {written} pairs of {count}"
            raise RuntimeError(msg)
        draft.add(Stored(place_of(row.place), row.name, row.size, row.sha256) for row in found)
        config_ids = [c.config_id for c in configurations]
        store.write_lineage(draft.own, parts.part_lineage(plan, panel, config_ids))


def tasks_wanted(experiment: Experiment, cores: int, pairs: int) -> int:
    """About how many tasks a part is cut into.

    Args:
        experiment: its cluster says how long a pair takes by brute force.
        cores: of Spark.
        pairs: of the part.
    """
    by_cores = TASKS_PER_CORE * cores
    seconds = core_seconds(experiment, pairs)
    if seconds < LONG_PAIR_SECONDS * pairs:
        return by_cores
    return max(by_cores, math.ceil(seconds / SECONDS_PER_TASK))


def scenario_costs(plan: Plan, panel: str) -> dict[int, float]:
    """Index of each scenario of a panel -> its expected cost, in order."""
    table = store.read_arrow(
        "scenarios",
        plan.experiment,
        plan.night,
        columns=["index", "expected_cost"],
        where=pc.field("panel") == panel.removesuffix(BASELINE_SIDE),
        root=plan.root,
    ).sort_by("index")
    costs = (float(cost) for cost in table.column("expected_cost").to_pylist())
    return dict(zip(table.column("index").to_pylist(), costs, strict=True))


@dataclass(frozen=True)
class Work:
    """What the tasks of a part have in common; see `simulate_part`.

    Attributes:
        indices: of the panel's scenarios; a task has places among them.
    """

    plan: Plan
    panel: str
    indices: list[int]
    tasks: list[pairs.Task]
    configurations: list[Configuration]
    folder: Place
    other: Source | None
    until_s: float


def _worker(
    work: Work, progress: Progress
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark runs in a worker: numbers of tasks in, pairs written out.

    A task writes its rows itself, as Arrow has them, into the part's folder. Spark's writer would
    turn each into Java's form first, and start a process for every file to set its mode: more than
    all else that it does in a task.
    """
    pairs_done, cost_done = progress.pairs_done, progress.cost_done

    def done(count: int, cost: float) -> None:
        pairs_done.add(count)
        cost_done.add(cost)

    def simulate(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schemas = {table: SCHEMAS[table] for table in SIMULATED}
        for batch in batches:
            for number in batch.column(0).to_pylist():
                if time.time() >= work.until_s:
                    continue
                task = work.tasks[number]
                scenarios = _scenarios(work, task)
                mine = [work.configurations[place] for place in task.configurations]
                name = f"part-{number:05d}.parquet"
                if work.other is None:
                    rows = pairs.simulate(scenarios, mine, schemas, done)
                    yield from _write(rows, schemas, work.folder, name)
                else:
                    with Kernel(work.other, "the baseline's code") as kernel:
                        rows = simulate_by(kernel, scenarios, mine, schemas["outcomes"], done)
                        yield from _write(rows, schemas, work.folder, name)

    return simulate


def _scenarios(work: Work, task: pairs.Task) -> pa.Table:
    """The scenarios of a task, as rows of the panel that is simulated."""
    rows = store.read_arrow(
        "scenarios",
        work.plan.experiment,
        work.plan.night,
        where=(pc.field("panel") == work.panel.removesuffix(BASELINE_SIDE))
        & pc.field("index").isin([work.indices[place] for place in task.scenarios]),
        root=work.plan.root,
    )
    panel = pa.array([work.panel] * len(rows), rows.schema.field("panel").type)
    return rows.set_column(rows.schema.get_field_index("panel"), "panel", panel)


def _write(
    rows: Iterable[tuple[str, pa.Table]], schemas: Mapping[str, pa.Schema], folder: Place, name: str
) -> Iterator[pa.RecordBatch]:
    """Write rows of several tables, a file each, in the table's own folder; tell of each file."""
    count = dict.fromkeys(schemas, 0)
    with contextlib.ExitStack() as files:
        writers = {
            table: files.enter_context(store.writing_file(folder, f"{table}/{name}", schema))
            for table, schema in schemas.items()
        }
        for table, some in rows:
            writers[table].write_table(some)
            count[table] += len(some)
    for table, writer in writers.items():
        file = writer.stored
        assert file is not None, "the file is there"
        told = {
            "item": table,
            "rows": count[table],
            "place": str(file.place),
            "name": file.name,
            "size": file.size,
            "sha256": file.sha256,
        }
        yield pa.RecordBatch.from_pylist([told])


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; returns its exit status."""

    def work() -> None:
        config = parse(arguments)
        with spark_session("simulate", preload=PRELOADED) as spark:
            check_workers(spark, config.plan.root)
            run(spark, config)

    return run_as_program(work)


if __name__ == "__main__":
    sys.exit(main())
