"""What a year of incidents costs: totals, weights, intervals, and what adds nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isr_pipeline.scenarios.profile import FaultProfile, load_profile
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE, ONE_REPLICA
from isr_pipeline.verdicts.years import AT_END, until_healed, until_repaired, years, years_of_kinds
from isr_pipeline.worlds.columns import METRICS
from tests.verdicts.synthetic import NIGHT, PROFILE, scaled
from tests.verdicts.test_reference import alike_but, world_of

PATTERNS = ("quiet", "crash", "crash", "log_dir_failure", "log_dir_failure", "log_dir_failure")
STRATA = ("calm", "deaths", "deaths", "deaths", "deaths", "deaths")
IDS = tuple(f"s{n}" for n in range(len(STRATA)))
EXPOSURE_S = 1_200.0


def profile(crashes: float = 4, disks: float = 8) -> FaultProfile:
    """A quiet stratum, and one of two kinds of death."""
    raw: dict[str, Any] = {
        "strata": {
            "calm": {"population": 0.5, "sample": 1, "patterns": {"quiet": 1}},
            "deaths": {"sample": 5, "patterns": {"crash": 2, "log_dir_failure": 3}},
        },
        "incidents": {
            "crash": {"per_year": crashes, "of": "cluster", "scenarios": {"deaths.crash": 1}},
            "dead_disk": {
                "per_year": disks,
                "of": "cluster",
                "scenarios": {"deaths.log_dir_failure": 1},
            },
        },
        "parameters": {
            "crash.restart_after_ms": {"uniform": [1, 2]},
            "crash.lost": {"choice": [["nothing", 1]]},
        },
    }
    return load_profile(raw, "F")


def panel(offline_s: list[float], *, exposure_s: float = EXPOSURE_S) -> PanelOutcomes:
    """Six scenarios of two strata; twice as many disks die as brokers, of three and two drawn."""
    n = len(STRATA)
    values = {name: np.zeros((n, 1)) for name in METRICS}
    values[OFFLINE] = np.array(offline_s)[:, None] / exposure_s
    values[FLAPS] = np.ones((n, 1)) / (exposure_s / 3600)
    return PanelOutcomes(
        scenario_ids=IDS,
        config_ids=("c",),
        weights=np.array([3.0, *[3 / 2 / 3] * 2, *[3 * 2 / 3 / 3] * 3]),
        exposure_us=np.full(n, exposure_s * 1e6),
        strata=STRATA,
        fault_kinds=("",) * n,
        values=values,
        missing=np.zeros((n, 1), bool),
        failed=np.zeros((n, 1), bool),
        patterns=PATTERNS,
    )


class TestYears:
    """A year is incidents times what one costs."""

    def test_incidents_times_cost(self) -> None:
        """Four crashes of 60 partition-seconds, eight dead disks of 30: eight minutes a year."""
        found = years(panel([0, 60, 60, 30, 30, 30]), (OFFLINE,), profile())
        assert found[OFFLINE, "c"].incidents == 12
        assert found[OFFLINE, "c"].value == pytest.approx(4 * 1.0 + 8 * 0.5)
        assert found[OFFLINE, "c"].per_incident == pytest.approx(8 / 12)

    def test_events(self) -> None:
        """One flap an incident are twelve a year."""
        assert years(panel([0] * 6), (FLAPS,), profile())[FLAPS, "c"].value == pytest.approx(12)

    def test_nothing_weighs_nothing(self) -> None:
        """Whatever the quiet stratum has and weighs, no incident has it."""
        before = panel([0, 60, 60, 30, 30, 30])
        after = replace(
            panel([900, 60, 60, 30, 30, 30]), weights=before.weights * [100, 1, 1, 1, 1, 1]
        )
        assert years(before, (OFFLINE,), profile()) == years(after, (OFFLINE,), profile())

    def test_a_longer_horizon_adds_nothing(self) -> None:
        """Twice the exposure with the same totals is the same year, at half the rate."""
        total = [0.0, 60, 60, 30, 30, 30]
        short, long = panel(total), panel(total, exposure_s=2 * EXPOSURE_S)
        assert long.means(OFFLINE)[0] == pytest.approx(short.means(OFFLINE)[0] / 2)
        found, again = (years(one, (OFFLINE,), profile()) for one in (short, long))
        assert again[OFFLINE, "c"].value == pytest.approx(found[OFFLINE, "c"].value)

    def test_the_interval_holds_the_value_where_scenarios_differ(self) -> None:
        """Scenarios that are alike have none; others have ends on both sides."""
        alike = years(panel([0, 45, 45, 45, 45, 45]), (OFFLINE,), profile())[OFFLINE, "c"]
        assert (alike.low, alike.high) == pytest.approx((alike.value, alike.value))
        other = years(panel([0, 0, 90, 0, 45, 90]), (OFFLINE,), profile())[OFFLINE, "c"]
        assert other.low < other.value < other.high

    def test_a_latency_has_no_year(self) -> None:
        """Milliseconds of a percentile add up to nothing."""
        assert years(panel([0] * 6), (LATENCY,), profile()) == {}

    def test_uncounted(self) -> None:
        """A profile that counts no incidents has no year."""
        known = profile()
        deaths = known.strata["deaths"].model_copy(update={"population": 0.5})
        strata = {**known.strata, "deaths": deaths}
        bare = known.model_copy(update={"incidents": {}, "strata": strata})
        assert years(panel([0] * 6), (OFFLINE,), bare) == {}

    def test_kinds_add_up(self) -> None:
        """Each kind has its own cost, and all of them are the year."""
        outcomes = panel([0, 60, 60, 30, 30, 30])
        found = years_of_kinds(outcomes, (OFFLINE,), profile())
        each = {kind: one[OFFLINE, "c"] for kind, one in found.items()}
        assert {kind: one.incidents for kind, one in each.items()} == {"crash": 4, "dead_disk": 8}
        assert each["crash"].value == pytest.approx(4)
        assert each["dead_disk"].value == pytest.approx(4)

    def test_a_kind_that_was_not_drawn(self) -> None:
        """Nothing is known of it."""
        outcomes = replace(panel([0, 60, 60, 30, 30, 30]), patterns=("crash",) * len(IDS))
        assert years_of_kinds(outcomes, (OFFLINE,), profile())["dead_disk"] == {}


class TestAfterTheEnd:
    """What takes no produce when a scenario ends costs until it heals or a person comes."""

    def left(
        self, *partitions: float, ends_minutes: float = np.nan, simulated_minutes: float = 2
    ) -> PanelOutcomes:
        """A panel that ends with so many partitions without produce; its faults need somebody."""
        outcomes = panel([0] * len(STRATA))
        simulated_ms = np.full((len(STRATA), 1), simulated_minutes * 60_000)
        changed = {AT_END: np.array(partitions)[:, None], "simulated_ms": simulated_ms}
        return replace(
            outcomes,
            values={**outcomes.values, **changed},
            ends_ms=np.full(len(STRATA), ends_minutes * 60_000),
        )

    @pytest.mark.parametrize(
        ("ends_minutes", "charged"), [(1, 0), (2, 0), (2.25, 0.25), (32, 30), (900, 30)]
    )
    def test_what_heals_by_itself_costs_until_then(
        self, ends_minutes: float, charged: float
    ) -> None:
        """After two minutes, and no longer than somebody would need; nobody has to come."""
        outcomes = self.left(0, 1, 1, 3, 3, 3, ends_minutes=ends_minutes)
        healed = until_healed(outcomes, profile())["c"]
        assert healed.value == pytest.approx(charged * (4 * 1 + 8 * 3))
        assert until_repaired(outcomes, profile())["c"].value == 0

    def test_what_needs_somebody_does_not_heal(self) -> None:
        """It is in one of the two numbers."""
        assert until_healed(self.left(0, 1, 1, 3, 3, 3), profile())["c"].value == 0

    def test_rows_that_do_not_say_when_their_faults_end(self) -> None:
        """Of a night of an older release nothing is reckoned."""
        outcomes = replace(self.left(0, 1, 1, 3, 3, 3), ends_ms=None)
        assert until_healed(outcomes, profile()) == until_repaired(outcomes, profile()) == {}

    def test_each_kind_has_its_time(self) -> None:
        """Four crashes leave one partition for 5 minutes, eight dead disks three for 30."""
        known = profile()
        crash = known.incidents["crash"].model_copy(update={"repair_minutes": 5})
        known = known.model_copy(update={"incidents": {**known.incidents, "crash": crash}})
        found = until_repaired(self.left(0, 1, 1, 3, 3, 3), known)["c"]
        assert found.value == pytest.approx(4 * 1 * 5 + 8 * 3 * 30)
        assert found.incidents == 12

    def test_what_was_simulated_does_not_have_it(self) -> None:
        """A year's partition-minutes stay as they are."""
        outcomes = self.left(0, 1, 1, 3, 3, 3)
        assert years(outcomes, (OFFLINE,), profile())[OFFLINE, "c"].value == 0

    def test_all_has_healed(self) -> None:
        """Nobody has to come."""
        assert until_repaired(self.left(*[0] * 6), profile())["c"].value == 0

    def test_an_ordinary_stretch_is_no_incident(self) -> None:
        """Whatever it ends with."""
        assert until_repaired(self.left(9, 0, 0, 0, 0, 0), profile())["c"].value == 0


def counted() -> FaultProfile:
    """Incidents of the strata that synthetic nights have."""
    crash, disk = profile().incidents.values()
    places = {
        "crash": {"stratum-0.crash": 1, "stratum-1.link": 3},
        "pause": {"stratum-0.pause": 1, "stratum-1.read_stall": 3},
    }
    incidents = {
        kind: one.model_copy(update={"scenarios": places[kind]})
        for kind, one in zip(places, (crash, disk), strict=True)
    }
    return PROFILE.model_copy(update={"incidents": incidents})


@pytest.mark.usefixtures("home")
def test_a_verdict_keeps_both_years() -> None:
    """Half the flaps are half a year's, and the reference's year is the same beside everyone."""
    world = world_of()
    world.profile = counted()
    verdict = judge_night(world.write(NIGHT, alike_but(scaled(FLAPS, 0.5, "lag-20s"))))
    first, second = (one.difference(FLAPS) for one in verdict.against_reference)
    assert first is not None
    assert second is not None
    assert first.year_before is not None
    assert first.year_after is not None
    assert first.year_after.value == pytest.approx(first.year_before.value / 2)
    assert first.year_before == second.year_before
    repair = verdict.against_reference[0].repair_after
    assert repair is not None
    assert repair == verdict.against_reference[1].repair_before
    latency = verdict.against_reference[0].difference(LATENCY)
    assert latency is not None
    assert latency.year_before is None
    assert verdict.against_reference[0].difference(ONE_REPLICA) is not None
