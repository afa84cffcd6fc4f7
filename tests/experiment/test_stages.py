"""The stages of a night: what its budget allows beyond the regression panel."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.experiment.plan import make_plan
from isr_pipeline.experiment.stages import (
    BASELINE_SIDE,
    STAGE_PANELS,
    Budget,
    planned_stages,
)
from isr_pipeline.scenarios.generator import draw_panel

NIGHT = "2026-11-19"


def ends(regression: int, confirm: int, scenarios: int) -> list[int]:
    """Where the stages of a budget end."""
    panels = {"regression": regression, "confirm": confirm, "fresh": 0}
    return [stage.end for stage in planned_stages(panels, Budget(scenarios=scenarios))]


def test_shipped_budget() -> None:
    """Panels of 200 and a budget of 2000: three times as many scenarios at every look."""
    assert ends(200, 200, 2_000) == [200, 600, 1_800]


def test_a_small_budget_has_fewer_stages() -> None:
    """Less than twice the confirm panel is one further stage; nothing left is none."""
    assert ends(800, 800, 2_000) == [800, 1_200]
    assert ends(200, 200, 400) == [200]
    assert ends(5_000, 5_000, 2_000) == [5_000]


@given(st.integers(1, 2_000), st.integers(1, 2_000), st.integers(1, 100_000))
def test_a_budget_is_never_overdrawn(regression: int, confirm: int, scenarios: int) -> None:
    """Stages join without gaps, begin with the confirm panel and end within the budget."""
    panels = {"regression": regression, "confirm": confirm, "fresh": 0}
    stages = planned_stages(panels, Budget(scenarios=scenarios))
    assert (stages[0].panel, stages[0].first, stages[0].end) == ("confirm", 0, confirm)
    assert [stage.panel for stage in stages] == list(STAGE_PANELS[: len(stages)])
    assert all(stage.scenarios > 0 for stage in stages)
    assert [stage.first for stage in stages[1:]] == [stage.end for stage in stages[:-1]]
    assert stages[-1].end + regression <= max(scenarios, regression + confirm)


def test_stages_go_on_with_the_confirm_panel() -> None:
    """Confirm panel and stages are the beginning of one sequence, whatever they are called."""
    plan = make_plan("smoke", NIGHT)
    drawn = list(draw_panel(plan.definition.source, "confirm", NIGHT))
    for stage in plan.stages[1:]:
        drawn += plan.draw_stage(stage)
    longer = plan.definition.resized(plan.stages[-1].end)
    for row, same in zip(drawn, draw_panel(longer.source, "confirm", NIGHT), strict=True):
        assert dataclasses.replace(row, panel="confirm", weight=same.weight) == same
    assert {row.panel for row in drawn} == set(STAGE_PANELS)


def test_sizes_and_places() -> None:
    """A stage and the baseline's side of it have the same scenarios."""
    plan = make_plan("smoke", NIGHT)
    for stage in plan.stages:
        for panel in (stage.panel, stage.panel + BASELINE_SIDE):
            assert plan.panel_size(panel) == stage.scenarios
            assert plan.first_index(panel) == stage.first
    assert plan.panel_size("regression") == 8
    assert plan.panel_size("further-3") == 0
