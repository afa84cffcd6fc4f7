"""Simulate a stage of further scenarios for what a night has not decided, on both sides.

    extend.py --plan PLAN.json --stage NAME

The confirm panel is the first stage; its scenarios are drawn with the night, and the baseline has
its outcomes of them. Of a later stage both are made here: the scenarios, and what the baseline's
code gives under the baseline's settings.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.storage.published import drafting, files
from isr_pipeline.experiment.plan import Plan, stage_strata
from isr_pipeline.experiment.stages import BASELINE_SIDE, CONFIRM, Stage
from isr_pipeline.night.spark.program import run_as_program
from isr_pipeline.night.spark.progress import print_line
from isr_pipeline.night.spark.simulate import PRELOADED, OutOfTime, simulate_part
from isr_pipeline.night.spark.spark_session import spark_session
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCENARIOS
from isr_pipeline.verdicts import stages
from isr_pipeline.verdicts.baseline import BaselineSide, baseline_sides
from isr_pipeline.verdicts.record import NightVerdict, verdict_of
from isr_pipeline.verdicts.stages import plan_stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


ASKED = "asked"
"""Name of the part of what was asked, beside that of what is open against the baseline."""


@dataclass(frozen=True, slots=True)
class ExtendConfig:
    """What to simulate.

    Attributes:
        plan: the night's plan.
        stage: one of its stages.
    """

    plan: Plan
    stage: Stage


def parse(arguments: list[str] | None = None) -> ExtendConfig:
    """Read the command line.

    Raises:
        InputError: the night has no such stage.
    """
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plan", required=True, help="plan.json of the night")
    parser.add_argument("--stage", required=True, help="confirm, further-1 or further-2")
    options = parser.parse_args(arguments)
    plan = Plan.load(options.plan)
    known = {stage.panel: stage for stage in plan.stages}
    if options.stage not in known:
        raise InputError("--stage", "", options.stage, ", ".join(known))
    return ExtendConfig(plan, known[options.stage])


def run(spark: SparkSession, config: ExtendConfig) -> None:
    """Simulate the stage for every configuration that is not decided.

    What is open against the baseline comes first, then what was asked, with the reference. If the
    time limit ends on the way, or the baseline's code cannot be run where this job runs, the
    stage leaves no rows, and the verdict says so.
    """
    plan, stage = config.plan, config.stage
    verdict = verdict_of(plan)
    ids = verdict.awaits_confirm
    try:
        sides = baseline_sides(plan, ids) if ids and stage.panel != CONFIRM else ()
    except Refused as refusal:
        print_line(str(refusal))
        stages.stop(plan, str(refusal))
        return
    try:
        if stage.panel != CONFIRM:
            print_line(f"{stage.panel}: {_said(plan_stage(plan, stage))}")
            _add_scenarios(plan, stage)
        if ids:
            _simulate(spark, config, ids, sides)
    except OutOfTime as late:
        print_line(str(late))
        stages.stop(plan, stages.time_is_over(plan))
        return
    try:
        _simulate_asked(spark, config, verdict)
    except OutOfTime as late:
        print_line(str(late))
        (stages.stop_asked if ids else stages.stop)(plan, stages.time_is_over(plan))


def _said(counts: Mapping[str, int]) -> str:
    """``420 scenarios: 300 of read-stall-24s, 120 of offline``."""
    parts = [f"{count} of {name}" for name, count in counts.items() if count]
    return f"{sum(counts.values())} scenarios: {', '.join(parts)}"


def _simulate(
    spark: SparkSession,
    config: ExtendConfig,
    ids: tuple[str, ...],
    sides: tuple[BaselineSide, ...],
) -> None:
    """Simulate tonight's side, and the baseline's where it has no outcomes yet."""
    plan, stage = config.plan, config.stage
    until_s = stages.until_s(plan)
    tonight = [one for one in plan.configurations if one.config_id in ids]
    simulate_part(spark, plan, stage.panel, parts.WHOLE, tonight, until_s=until_s)
    panel = stage.panel + BASELINE_SIDE
    for side in sides:
        for line in side.remarks:
            print_line(line)
        then = [
            one.model_copy(update={"overrides": side.overrides[one.config_id]})
            for one in tonight
            if one.config_id in side.overrides
        ]
        simulate_part(spark, plan, panel, side.name, then, other=side.other, until_s=until_s)
    parts.assemble(plan, stage.panel, [parts.WHOLE])
    if sides:
        parts.assemble(plan, panel, [side.name for side in sides])


def _simulate_asked(spark: SparkSession, config: ExtendConfig, verdict: NightVerdict) -> None:
    """Simulate what was asked and the reference, as far as they were not simulated before."""
    plan, stage = config.plan, config.stage
    wanted = {plan.reference_id, *verdict.awaits_reference} - {*verdict.awaits_confirm}
    if not verdict.awaits_reference or not wanted:
        return
    those = [one for one in plan.configurations if one.config_id in wanted]
    simulate_part(spark, plan, stage.panel, ASKED, those, until_s=stages.until_s(plan))
    parts.assemble(plan, stage.panel, [ASKED], beside=bool(verdict.awaits_confirm))


def _add_scenarios(plan: Plan, stage: Stage) -> None:
    """Put a stage's scenarios into the night's table, beside those that are there."""
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    strata = stage_strata(plan, stage)
    rows = [dataclasses.asdict(row) for row in plan.draw_stage(stage, strata)]
    lineage, sums = store.read_lineage(folder), store.read_sums(folder)
    own = f"{stage.panel}.parquet"
    with drafting(folder) as draft:
        for file in files(folder):
            if file.name != own:
                draft.take(file, file.name)
        schema = SCENARIOS
        with store.writing_file(draft.own, own, schema) as writer:
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
        store.write_lineage(draft.own, lineage)
        store.write_sums(draft.own, {name: sum_ for name, sum_ in sums.items() if name != own})


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; returns its exit status."""

    def work() -> None:
        config = parse(arguments)
        with spark_session("extend", preload=PRELOADED) as spark:
            run(spark, config)

    return run_as_program(work)


if __name__ == "__main__":
    sys.exit(main())
