"""Draw the night's panels on Spark: one row per scenario in the scenarios table.

    generate_scenarios.py --plan PLAN.json

A scenario is a pure function of (experiment, panel, night, index), so that any worker can draw
any of them, and the table is the same whatever the number of tasks.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from isr_pipeline.experiment.plan import Plan
from isr_pipeline.host.spark_session import spark_session
from isr_pipeline.jobs.program import run_as_program
from isr_pipeline.jobs.progress import print_line
from isr_pipeline.outcomes import parts, spark_files, store
from isr_pipeline.outcomes.schemas import SCENARIOS
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.storage.published import drafting
from isr_pipeline.storage.remote import reading_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

PRELOADED = "isr_pipeline.scenarios.generator"
"""What every task needs, and is slow to import."""

SCENARIOS_PER_TASK = 100


@dataclass(frozen=True, slots=True)
class GenerateConfig:
    """What to draw: the plan's panels."""

    plan: Plan


def parse(arguments: list[str] | None = None) -> GenerateConfig:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plan", required=True, help="plan.json of the night")
    return GenerateConfig(Plan.load(parser.parse_args(arguments).plan))


@reading_once()
def run(spark: SparkSession, config: GenerateConfig) -> None:
    """Draw every panel of the plan and replace the night's scenarios table.

    What was made from an earlier draw of the night (outcomes and all that follows) goes first:
    a night that is being made again is not a night that is done.
    """
    plan = config.plan
    panels = [(panel, size) for panel, size in plan.panels.items() if size]
    store.delete_night(plan.experiment, plan.night, tables=store.LATER_TABLES, root=plan.root)
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    with drafting(folder) as draft:
        for panel, size in panels:
            tasks = -(-size // SCENARIOS_PER_TASK)
            drawn = spark.range(0, size, 1, tasks).mapInArrow(_worker(plan, panel), SCENARIOS)
            spark_files.write(drawn, SCENARIOS, draft, f"drawn-{panel}")
        store.write_lineage(draft.own, {"plan": parts.plan_key(plan)})
    print_line(f"scenarios: {', '.join(f'{size} {panel}' for panel, size in panels)}")


def _worker(
    plan: Plan, panel: str
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark runs in a worker: indexes in, scenarios out."""
    experiment, night = plan.definition, plan.night

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(SCENARIOS)
        source = experiment.source
        for batch in batches:
            rows = (draw_scenario(source, panel, night, i) for i in batch.column(0).to_pylist())
            yield pa.RecordBatch.from_pylist(
                [dataclasses.asdict(row) for row in rows], schema=schema
            )

    return work


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; returns its exit status."""
    return run_as_program(
        lambda: run(spark_session("generate scenarios", preload=[PRELOADED]), parse(arguments))
    )


if __name__ == "__main__":
    sys.exit(main())
