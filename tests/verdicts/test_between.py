"""Configurations of one night against each other."""

from __future__ import annotations

import numpy as np
import pytest

from isr_pipeline.verdicts.between import Between, compare_configurations, pareto_front
from isr_pipeline.verdicts.judge import panel_rows
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import load_settings
from isr_pipeline.worlds.columns import values_of
from tests.verdicts.synthetic import NIGHT, Change, World, scaled

OFFLINE = "offline_partition_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
UNDER_MIN = "under_min_isr_rate"
AXES = (OFFLINE, FLAPS, LATENCY)


def as_the_reference(panel: str, name: str, columns: dict[str, np.ndarray]) -> None:
    """Give every configuration the reference's numbers."""
    del name
    same = values_of(World(names=("today",)).outcome_rows(panel, "today", None))
    for axis in (*AXES, UNDER_MIN, "produce_unavailable_rate"):
        columns[axis] = same[axis].to_numpy(float)


def alike_but(*changes: Change) -> Change:
    """All configurations alike, then some changed."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
    ) -> None:
        as_the_reference(panel, name, columns)
        for one in changes:
            one(panel, name, columns, rng)

    return change


def compared(world: World, change: Change) -> Between:
    """Compare the configurations of a night."""
    plan = world.write(NIGHT, change)
    panel = PanelOutcomes.from_frames(
        panel_rows("outcomes", world.experiment, NIGHT, "regression"),
        panel_rows("scenarios", world.experiment, NIGHT, "regression"),
        tuple(one.config_id for one in plan.configurations),
    )
    found = compare_configurations(plan, panel, load_settings())
    assert found is not None
    return found


@pytest.mark.usefixtures("home")
def test_ratios_are_against_the_reference_pair_by_pair() -> None:
    """Half of the flaps in every scenario is 0.5, with no width, for every configuration."""
    found = compared(World(), alike_but(scaled(FLAPS, 0.5, "kip-501-s1")))
    row = found.versus.metrics.index(FLAPS)
    assert found.versus.ratio[row].tolist() == pytest.approx([1.0, 0.5, 1.0])
    assert found.ends.low[0, row].tolist() == pytest.approx([1.0, 0.5, 1.0])
    assert found.versus.better[row, 1] < 1e-3
    assert found.front == ("id-kip-501-s1",)


@pytest.mark.usefixtures("home")
def test_a_failed_reference_compares_with_nothing() -> None:
    """If the reference itself has a failed pair there is no comparison, and no half one."""

    def spent(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name == "today" and panel == "regression":
            columns["failed"][3] = 1

    world = World()
    plan = world.write(NIGHT, spent)
    panel = PanelOutcomes.from_frames(
        panel_rows("outcomes", world.experiment, NIGHT, "regression"),
        panel_rows("scenarios", world.experiment, NIGHT, "regression"),
        tuple(one.config_id for one in plan.configurations),
    )
    assert compare_configurations(plan, panel, load_settings()) is None


def test_the_front_holds_what_nobody_beats() -> None:
    """A point is off the front if another is no worse on every axis and better on one."""
    points = np.array([[1.0, 5.0], [2.0, 2.0], [2.0, 3.0], [5.0, 1.0], [1.0, 5.0]])
    assert pareto_front(points).tolist() == [0, 1, 3, 4]
