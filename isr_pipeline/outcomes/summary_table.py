"""Summarize the night's outcomes on Spark: one row per configuration, metric and stratum.

    summarize.py --plan PLAN.json

Each task reads the rows of one configuration and of the reference, and hands back their summary;
there is no shuffle.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from isr_pipeline.errors import Refused
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.host.spark_session import spark_session
from isr_pipeline.jobs.program import run_as_program
from isr_pipeline.jobs.progress import print_line
from isr_pipeline.outcomes import parts, spark_files, store
from isr_pipeline.outcomes.schemas import SUMMARY
from isr_pipeline.outcomes.summary import RESAMPLES, summarize
from isr_pipeline.storage.published import drafting
from isr_pipeline.storage.remote import read_so_far, reading_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession


PRELOADED = "isr_pipeline.outcomes.summary"
"""What every task needs, and is slow to import."""


@dataclass(frozen=True, slots=True)
class SummarizeConfig:
    """What to summarize.

    Attributes:
        plan: the night's plan.
        resamples: bootstrap draws behind each interval.
    """

    plan: Plan
    resamples: int = RESAMPLES


def parse(arguments: list[str] | None = None) -> SummarizeConfig:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plan", required=True, help="plan.json of the night")
    return SummarizeConfig(Plan.load(parser.parse_args(arguments).plan))


@reading_once()
def run(spark: SparkSession, config: SummarizeConfig) -> None:
    """Summarize every panel that the outcomes table holds; replace the summary table.

    Raises:
        Refused: there are no outcomes of this plan.
    """
    plan = config.plan
    held = parts.assembled(plan)
    version = read_so_far()
    if not held:
        msg = f"night {plan.night} of {plan.experiment}: no outcomes of this plan to summarize"
        raise Refused(msg)
    work = [(panel, config_id) for panel in plan.panels for config_id in held.get(panel, [])]
    numbers = spark.range(0, len(work), 1, min(len(work), 4 * _cores(spark)))
    rows = numbers.mapInArrow(_worker(config, work, version), SUMMARY)
    folder = store.table_path("summary", plan.experiment, plan.night, plan.root)
    with drafting(folder) as draft:
        # Small by nature: as many rows as configurations x metrics x strata.
        ordered = rows.repartition(1).sortWithinPartitions(*store.TABLES["summary"])
        spark_files.write(ordered, SUMMARY, draft, "part")
        store.write_lineage(draft.own, {"plan": parts.plan_key(plan)})
    print_line(f"summary: {len(work)} configurations, {', '.join(held)}")


def _cores(spark: SparkSession) -> int:
    return int(spark.sparkContext.defaultParallelism)


def _worker(
    config: SummarizeConfig, work: list[tuple[str, str]], version: Mapping[str, bytes]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark runs in a worker: places in `work` in, summary rows out.

    Args:
        config: what to summarize.
        work: panels and config_ids.
        version: what says, in a store, which version of the outcomes the driver has read.
    """
    plan, resamples = config.plan, config.resamples
    experiment, night, root, seed = plan.experiment, plan.night, plan.root, plan.panel_digest
    reference_id = next(c.config_id for c in plan.configurations if c.name == plan.reference)

    def read(panel: str, config_id: str) -> pd.DataFrame:
        where = (pc.field("panel") == panel) & (pc.field("config_id") == config_id)
        with reading_once(version):
            return store.read_table("outcomes", experiment, night, where=where, root=root)

    def summarize_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = to_arrow_schema(SUMMARY)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                panel, config_id = work[number]
                reference = read(panel, reference_id)
                summary = summarize(read(panel, config_id), reference, seed, resamples)
                yield pa.RecordBatch.from_pandas(summary, schema=schema, preserve_index=False)

    return summarize_all


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; returns its exit status."""
    return run_as_program(
        lambda: run(spark_session("summarize", preload=[PRELOADED]), parse(arguments))
    )


if __name__ == "__main__":
    sys.exit(main())
