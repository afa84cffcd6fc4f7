"""A stage of further scenarios on Spark: both sides, by either kernel, checked like all rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow.compute as pc
import pytest

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.night.spark import extend, simulate
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.scenarios_table import generate_scenarios
from isr_pipeline.tables.summary import summarize_night
from isr_pipeline.tables.validation.run import check
from isr_pipeline.verdicts import acceptance, baseline, changes, stages
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import load_verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

SMOKE = REPOSITORY / "config" / "experiments" / "smoke.yaml"
NIGHT, LATER = "2026-11-19", "2026-11-20"
STAGE = "further-1"


def experiment(folder: Path, lag_ms: int) -> Path:
    """A file of two configurations and a budget of few scenarios."""
    text = SMOKE.read_text()
    text = text.replace("regression: 8, confirm: 8", "regression: 5, confirm: 4")
    text = text.replace("scenarios: 400", "scenarios: 20")
    text = text[: text.index("  - name: kip-501")]
    changed = "in which no read holds the partition's lock.\n        set: {rules.isr_lock: none"
    assert changed in text
    text = text.replace(changed, f"{changed}, replica.lag.time.max.ms: {lag_ms}")
    file = folder / "small.yaml"
    file.write_text(text)
    return file


def planned(folder: Path, night: str, lag_ms: int) -> Plan:
    """Plan a night, and write the plan where readers look for it."""
    plan = make_plan(experiment(folder, lag_ms), night)
    plan.save(Home.from_environment().night_dir(plan.experiment, night) / "plan.json")
    return plan


def made(spark: SparkSession, plan: Plan, *panels: str) -> Plan:
    """Draw a night and simulate some of its panels under every configuration."""
    generate_scenarios(plan)
    for panel in panels:
        simulate.run(spark, simulate.SimulateConfig(plan, panel))
    judge_night(plan)
    return plan


@pytest.fixture(scope="module")
def night(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plan]:
    """A night with a shorter lag limit than its baseline, after its confirm panel."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ISR_PIPELINE_HOME", str(folder))
        for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI"):
            patch.delenv(name, raising=False)
        made(spark, planned(folder, NIGHT, 4_000), "regression", "confirm")
        acceptance.accept("small", NIGHT, "Ada", "first")
        plan = made(spark, planned(folder, LATER, 1_000), "regression")
        extend.run(spark, extend.ExtendConfig(plan, plan.stages[0]))
        stages.look_night(plan, 1)
        yield plan


@pytest.fixture
def asked(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A first night of an experiment that was asked: both configurations of one group."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    file = experiment(tmp_path, 1_000)
    file.write_text(
        file.read_text().replace("  - name: base-rules", "  - asked: true\n    name: b")
    )
    plan = make_plan(file, NIGHT)
    plan.save(Home.from_environment().night_dir(plan.experiment, plan.night) / "plan.json")
    return made(spark, plan, "regression")


def rows(plan: Plan, panel: str) -> pd.DataFrame:
    """Outcomes of a panel."""
    where = pc.field("panel") == panel
    return store.read_table("outcomes", plan.experiment, plan.night, where=where, root=plan.root)


def test_only_what_is_open_is_simulated(night: Plan) -> None:
    """The changed configuration alone; the baseline has its side of the confirm panel."""
    (changed,) = load_verdict("small", LATER).awaits_confirm
    assert set(rows(night, "confirm")["config_id"]) == {changed}
    assert len(rows(night, "confirm")) == 4
    assert rows(night, "confirm" + BASELINE_SIDE).empty


def test_both_sides_by_either_kernel(
    spark: SparkSession, night: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The present kernel and a kernel of its own process give the baseline the same rows."""
    config = extend.ExtendConfig(night, night.stages[1])
    assert config.stage.panel == STAGE
    extend.run(spark, config)
    for table in ("scenarios", "outcomes"):
        check(table, night)
    tonight, before = rows(night, STAGE), rows(night, STAGE + BASELINE_SIDE)
    assert len(tonight) == len(before) == night.stages[1].scenarios
    assert list(before["scenario_id"]) == list(tonight["scenario_id"])
    assert not before.drop(columns="panel").equals(tonight.drop(columns="panel"))
    monkeypatch.setattr(baseline, "_is_present", lambda *_: False)
    extend.run(spark, config)
    check("outcomes", night)
    assert rows(night, STAGE).equals(tonight)
    assert rows(night, STAGE + BASELINE_SIDE).equals(before)


def test_a_stage_cut_off_by_the_time_limit_leaves_no_rows(spark: SparkSession, night: Plan) -> None:
    """A stage whose time is over on the way is none: no rows, and the verdict says why."""
    verdict = load_verdict("small", LATER)
    try:
        os.utime(str(night.place / changes.FILE), (0.0, 0.0))
        extend.run(spark, extend.ExtendConfig(night, night.stages[2]))
        assert rows(night, night.stages[2].panel).empty
        stopped = load_verdict("small", LATER)
        assert stopped.stopped == "stopped by the time limit of 10 minutes"
        assert stopped.awaits_confirm == ()
    finally:
        verdict.save(night.place)


def test_a_baseline_that_does_not_run_where_the_job_does(
    spark: SparkSession, night: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver may be another machine: the stage adds nothing, and the night has a verdict."""

    def refuse(*_: object) -> None:
        raise Refused("the baseline's code cannot be run")

    verdict = load_verdict("small", LATER)
    monkeypatch.setattr(extend, "baseline_sides", refuse)
    try:
        extend.run(spark, extend.ExtendConfig(night, night.stages[2]))
        assert rows(night, night.stages[2].panel).empty
        assert stages.decide(night).stopped == "the baseline's code cannot be run"
    finally:
        verdict.save(night.place)


def test_a_summary_has_no_further_rows(spark: SparkSession, night: Plan) -> None:
    """The tables know the panels of a stage; the night's own panels are the plan's."""
    assert set(parts.assembled(night)) > {"regression", "confirm"}
    assert set(night.panels) == {"regression", "confirm"}
    summarize_night(night, resamples=10)
    summary = store.read_table("summary", night.experiment, night.night, root=night.root)
    assert set(summary["panel"]) <= set(night.panels)
    check("summary", night)


def test_an_unknown_stage(night: Plan) -> None:
    """The line lists the stages of the night."""
    file = Home.from_environment().night_dir(night.experiment, night.night) / "plan.json"
    with pytest.raises(InputError) as refused:
        extend.parse(["--plan", str(file), "--stage", "further-9"])
    assert str(refused.value) == "--stage: further-9; allowed: confirm, further-1, further-2"


def test_what_was_asked_is_simulated_with_the_reference(spark: SparkSession, asked: Plan) -> None:
    """Without any baseline: both in the confirm panel, then both in scenarios that are drawn."""
    (other,) = load_verdict("small", NIGHT).awaits_reference
    for number, stage in enumerate(asked.stages[:2], start=1):
        assert stages.why_not(asked, stage.panel) == ""
        extend.run(spark, extend.ExtendConfig(asked, stage))
        for table in ("scenarios", "outcomes"):
            check(table, asked)
        simulated = rows(asked, stage.panel)
        assert set(simulated["config_id"]) == {other, asked.reference_id}
        assert len(simulated) == 2 * stage.scenarios
        stages.look_night(asked, number)
        assert rows(asked, stage.panel + BASELINE_SIDE).empty
    verdict = load_verdict("small", NIGHT)
    assert [stage.asked for stage in verdict.stages] == [1, 1]
    looked = {one.scenarios for one in verdict.against_reference[0].differences}
    assert looked == {asked.panels["regression"], asked.stages[1].end}


def test_what_was_asked_is_cut_off_by_the_time_limit(spark: SparkSession, asked: Plan) -> None:
    """No rows, and nothing awaits a look."""
    os.utime(str(asked.place / changes.FILE), (0.0, 0.0))
    extend.run(spark, extend.ExtendConfig(asked, asked.stages[0]))
    assert rows(asked, "confirm").empty
    verdict = stages.decide(asked)
    assert verdict.stopped == "stopped by the time limit of 10 minutes"
