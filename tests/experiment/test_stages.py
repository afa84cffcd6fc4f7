"""The stages of a night: what its budget allows beyond the standing panel."""

from __future__ import annotations

import dataclasses
import os
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isr_pipeline.base.errors import Refused
from isr_pipeline.experiment.file import load_experiment
from isr_pipeline.experiment.plan import Plan, keep_strata, make_plan, stage_strata
from isr_pipeline.experiment.stages import (
    CONFIRM,
    FURTHER,
    Budget,
    Stage,
    planned_stages,
)
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import ScenarioRow, allocation
from tests.approved import Approved

NIGHT = "2026-11-19"


def ends(regression: int, confirm: int, scenarios: int) -> list[int]:
    """Where the stages of a budget end."""
    panels = {"regression": regression, "confirm": confirm}
    return [stage.end for stage in planned_stages(panels, Budget(scenarios=scenarios))]


def test_shipped_budget() -> None:
    """Panels of 200 and a budget of 4 000, which is the default as well."""
    assert ends(200, 200, 4_000) == [200, 872, 3_800]
    assert load_experiment("operators").budget == Budget()


def test_a_small_budget_has_fewer_stages() -> None:
    """Less than twice the confirm panel is one further stage; nothing left is none."""
    assert ends(800, 800, 2_000) == [800, 1_200]
    assert ends(200, 200, 400) == [200]
    assert ends(5_000, 5_000, 2_000) == [5_000]


@given(st.integers(1, 2_000), st.integers(1, 2_000), st.integers(1, 100_000))
def test_a_budget_is_never_overdrawn(regression: int, confirm: int, scenarios: int) -> None:
    """Stages join without gaps, begin with the confirm panel and end within the budget."""
    panels = {"regression": regression, "confirm": confirm}
    stages = planned_stages(panels, Budget(scenarios=scenarios))
    assert (stages[0].panel, stages[0].first, stages[0].end) == ("confirm", 0, confirm)
    assert [stage.panel for stage in stages] == list((CONFIRM, *FURTHER)[: len(stages)])
    assert all(stage.scenarios > 0 for stage in stages)
    assert [stage.first for stage in stages[1:]] == [stage.end for stage in stages[:-1]]
    assert stages[-1].end + regression <= max(scenarios, regression + confirm)


def as_the_panel(plan: Plan, stage: Stage) -> dict[str, int]:
    """The strata that a stage would have if it went on as the confirm panel began."""
    strata = plan.definition.profile.strata
    before, after = (Counter(allocation(strata, end)) for end in (stage.first, stage.end))
    return {name: after[name] - before[name] for name in strata}


def test_stages_go_on_with_the_confirm_panel() -> None:
    """In the panel's own proportions, confirm panel and stages begin one sequence."""
    plan = make_plan("smoke", NIGHT)
    drawn = list(draw_panel(plan.definition.source, "confirm"))
    strata = []
    for stage in plan.stages[1:]:
        strata.append(as_the_panel(plan, stage))
        drawn += plan.draw_stage(stage, strata)
    longer = plan.definition.resized(plan.stages[-1].end)
    for row, same in zip(drawn, draw_panel(longer.source, "confirm"), strict=True):
        assert dataclasses.replace(row, panel="confirm", weight=same.weight) == same
    assert {row.panel for row in drawn} == {CONFIRM, *FURTHER}


@cache
def smoke_and_its_sequence() -> tuple[Plan, list[ScenarioRow], list[ScenarioRow]]:
    """A plan, its confirm panel, and the first 400 scenarios of that panel's sequence."""
    plan = make_plan("smoke", NIGHT)
    longer = plan.definition.resized(400).source
    return (
        plan,
        list(draw_panel(plan.definition.source, "confirm")),
        list(draw_panel(longer, "confirm")),
    )


@given(st.data())
def test_other_strata_are_further_on_in_the_sequence(data: st.DataObject) -> None:
    """A stage may take any strata: scenarios of the same sequence, none of them twice."""
    plan, confirm, sequence = smoke_and_its_sequence()
    names = list(plan.definition.profile.strata)
    strata: list[dict[str, int]] = []
    seen = list(confirm)
    for stage in plan.stages[1:]:
        counts = data.draw(st.lists(st.integers(0, 12), min_size=len(names), max_size=len(names)))
        assume(sum(counts))
        strata.append(dict(zip(names, counts, strict=True)))
        rows = list(plan.draw_stage(stage, strata))
        assert Counter(row.stratum for row in rows) == +Counter(strata[-1])
        assert [row.index for row in rows] == sorted(row.index for row in rows)
        for row in rows:
            same = dataclasses.replace(row, panel="confirm", weight=0.0)
            assert same == dataclasses.replace(sequence[row.index], weight=0.0)
        seen += rows
    assert len({row.index for row in seen}) == len(seen)
    together = Counter((row.stratum, row.pattern) for row in seen)
    shares = plan.definition.profile.shares
    population = sum(shares[place] for place in together)
    for row in rows:
        place = (row.stratum, row.pattern)
        share = row.weight * together[place] / len(seen)
        assert share == pytest.approx(shares[place] / population)


def test_a_stage_weighs_patterns_as_they_happen() -> None:
    """All scenarios so far of a pattern weigh as often as it happens, wherever they were drawn."""
    plan = make_plan("operators", NIGHT, 20)
    stage = plan.stages[1]
    shares = plan.definition.profile.shares
    rows = list(plan.draw_stage(stage, [{"failures": stage.scenarios}]))
    weight = {row.pattern: row.weight for row in rows}
    assert set(weight) == set(plan.definition.profile.strata["failures"].patterns)
    confirm = draw_panel(plan.definition.source, "confirm")
    drawn = Counter(row.pattern for row in (*rows, *confirm) if row.stratum == "failures")
    assert weight["log_dir_failure"] / weight["crash"] == pytest.approx(
        shares["failures", "log_dir_failure"]
        / drawn["log_dir_failure"]
        / (shares["failures", "crash"] / drawn["crash"])
    )


class TestStrataFile:
    """``strata.json`` of a night."""

    @pytest.fixture
    def plan(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
        """A night in a home of its own."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
        return make_plan("smoke", NIGHT)

    def test_a_stage_that_begins_again_replaces_itself_and_what_came_later(
        self, plan: Plan, approved: Approved
    ) -> None:
        """What was noted of earlier stages stays."""
        _, first, second = plan.stages
        keep_strata(plan, first, {"a": 1})
        keep_strata(plan, second, {"b": 2})
        assert stage_strata(plan, second) == [{"a": 1}, {"b": 2}]
        keep_strata(plan, first, {"a": 3})
        assert stage_strata(plan, first) == [{"a": 3}]
        with approved.refusal(Refused):
            stage_strata(plan, second)

    def test_a_damaged_file(self, plan: Plan, approved: Approved) -> None:
        """It is named, and what to do."""
        keep_strata(plan, plan.stages[1], {"a": 1})
        (file,) = Path(os.environ["ISR_PIPELINE_HOME"]).rglob("strata.json")
        file.write_text("{", encoding="utf-8")
        with approved.refusal(Refused, FILE=str(file)):
            stage_strata(plan, plan.stages[1])
