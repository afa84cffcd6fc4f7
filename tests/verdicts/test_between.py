"""Configurations of one night against each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from isr_pipeline.verdicts.between import Between, compare_configurations, pareto_front
from isr_pipeline.verdicts.judge import panel_rows
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import load_settings
from tests.verdicts.synthetic import NIGHT, Change, World, scaled

OFFLINE = "offline_partition_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
UNDER_MIN = "under_min_isr_rate"
AXES = (OFFLINE, FLAPS, LATENCY)


def as_the_reference(panel: str, name: str, columns: dict[str, np.ndarray]) -> None:
    """Give every configuration the reference's numbers."""
    del name
    same = World(names=("today",)).outcome_rows(panel, "today", None)
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


def compared(world: World, change: Change, kinds: tuple[str, ...] = ()) -> Between:
    """Compare the configurations of a night (with other fault kinds, if any are given)."""
    plan = world.write(NIGHT, change)
    panel = PanelOutcomes.from_frames(
        panel_rows("outcomes", world.experiment, NIGHT, "regression"),
        panel_rows("scenarios", world.experiment, NIGHT, "regression"),
        tuple(one.config_id for one in plan.configurations),
    )
    if kinds:
        panel = replace(panel, fault_kinds=kinds)
    found = compare_configurations(plan, panel, load_settings())
    assert found is not None
    return found


@pytest.mark.usefixtures("home")
class TestWinner:
    """One configuration that is plainly better."""

    def test_it_is_recommended_in_words_with_its_price(self) -> None:
        """A fifth of the offline time for two fifths more latency: said with both numbers."""
        better = (scaled(OFFLINE, 0.2, "lag-20s"), scaled(LATENCY, 1.4, "lag-20s"))
        found = compared(World(), alike_but(*better))
        advice = found.recommendation
        assert advice.config_id == "id-lag-20s"
        assert advice.axis == OFFLINE
        assert advice.text.startswith(
            "With replica.lag.time.max.ms=12000 (lag-20s), against today: "
            "offline_partition_rate 0.20 x (0.20 to 0.20), "
            "at the price of commit_latency_p99_ms 1.38 x (1.38 to 1.39); "
            "not surely different: isr_flaps_per_partition_hour 1.00 x"
        )

    def test_the_scenarios_that_decide_are_those_that_changed_most(self) -> None:
        """Three scenarios, the largest weighted gain first."""
        found = compared(World(), alike_but(scaled(OFFLINE, 0.2, "lag-20s")))
        panel = found.panel.select(("id-today", "id-lag-20s"))
        natural = panel.natural(OFFLINE)
        gain = panel.weights * (natural[:, 0] - natural[:, 1])
        largest = [panel.scenario_ids[row] for row in np.argsort(-gain)[:3]]
        assert list(found.recommendation.deciding) == largest
        assert f"Decided most by {', '.join(largest)}." in found.recommendation.text

    def test_the_choice_stands_under_other_weights(self) -> None:
        """A gain in every kind of fault does not hang on how often one of them happens."""
        found = compared(World(), alike_but(scaled(OFFLINE, 0.2, "lag-20s")))
        assert found.recommendation.sensitivity == {}
        assert found.recommendation.text.endswith(
            "The choice stands if the weight of any one fault kind is halved or doubled."
        )

    def test_what_hangs_on_one_fault_kind_is_said(self) -> None:
        """Better under crashes, worse under pauses: doubling the pauses changes the choice."""
        world = World()
        crash = np.arange(world.scenarios) % 4 != 1
        kinds = tuple("crash" if one else "pause" for one in crash)

        def split(
            panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
        ) -> None:
            if name == "lag-20s" and panel == "regression":
                columns[OFFLINE] = columns[OFFLINE] * np.where(crash, 0.25, 2.5)

        found = compared(world, alike_but(split), kinds)
        assert found.recommendation.config_id == "id-lag-20s"
        assert found.recommendation.sensitivity["pause", 2.0] == "id-today"
        assert "It would be today if" in found.recommendation.text

    def test_no_winner_keeps_the_reference(self) -> None:
        """Configurations that are alike: nothing is recommended."""
        found = compared(World(), alike_but())
        assert found.recommendation.config_id == "id-today"
        assert found.recommendation.text.startswith("Keep today: no configuration of its release")
        assert found.recommendation.deciding == ()

    def test_what_loses_records_is_never_recommended(self) -> None:
        """The next best is, and the text says what was left out and why."""

        def loses(panel: str, name: str, columns: dict[str, np.ndarray], _: object) -> None:
            del panel
            if name == "lag-20s":
                columns["records_lost"] = columns["records_lost"] + 2.5

        gains = (scaled(OFFLINE, 0.2, "lag-20s"), scaled(OFFLINE, 0.5, "kip-501-s1"))
        advice = compared(World(), alike_but(*gains, loses)).recommendation
        assert advice.config_id == "id-kip-501-s1"
        assert (
            "lag-20s would gain more, but loses acknowledged records (2.5 a scenario" in advice.text
        )

    def test_prices_beside_the_axes_are_said(self) -> None:
        """Time under min.insync.replicas is no axis of the front, but part of the price."""
        gains = scaled(OFFLINE, 0.2, "lag-20s")
        advice = compared(
            World(), alike_but(gains, scaled(UNDER_MIN, 3.0, "lag-20s"))
        ).recommendation
        assert "at the price of under_min_isr_rate 3.00 x (3.00 to 3.00)" in advice.text

    def test_another_release_is_never_recommended(self) -> None:
        """A setting can be changed tonight; a release cannot."""
        world = World(values={"lag-20s": {"cluster.release": "3.3-3.6"}})
        found = compared(world, alike_but(scaled(OFFLINE, 0.2, "lag-20s")))
        assert found.recommendation.config_id == "id-today"


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
