"""A year of a panel as it is drawn: a sum over incidents, whatever the strata mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.scenarios.generator import DrawSource, draw_panel
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.panels import ScenarioRow
from isr_pipeline.scenarios.profile import FaultProfile, counted, load_profile
from isr_pipeline.verdicts.comparison import PanelOutcomes, compare
from isr_pipeline.verdicts.quantities import FLAPS, OFFLINE, PRODUCE, load_settings
from isr_pipeline.verdicts.record import Year
from isr_pipeline.verdicts.years import (
    AT_END,
    HIT,
    undrawn,
    until_healed,
    until_repaired,
    years,
    years_of_kinds,
)
from isr_pipeline.worlds.columns import METRICS
from tests.verdicts.synthetic import EXPOSURE_US, SCENARIO

FRAME = {**SCENARIO, "faults": []}
HEALTHY = parse_scenario(FRAME, "F")
PATTERNS = ("log_dir_failure", "stop_replica", "preferred_election")
"""Those that need no parameters."""

SUMMED = (PRODUCE, OFFLINE, FLAPS, HIT, AT_END)
ROUNDING = 1e-9


@dataclass(frozen=True)
class Case:
    """A profile whose strata mix kinds of incidents, before and after one count is raised."""

    raw: dict[str, Any]
    kind: str
    factor: float
    seed: int

    def profile(self, factor: float = 1.0) -> FaultProfile:
        """With the kind's count so many times as high."""
        found = load_profile(self.raw, "F")
        per_year = found.incidents[self.kind].per_year
        return counted(found, HEALTHY, {self.kind: factor * per_year})

    def drawn(self, profile: FaultProfile, size: int) -> PanelOutcomes:
        """A panel with the same outcomes whatever it weighs: many zeros and a few large ones."""
        source = DrawSource("F", self.seed, FRAME, profile, {"regression": size, "confirm": size})
        return outcomes_of(list(draw_panel(source, "regression")), self.seed)


def outcomes_of(rows: list[ScenarioRow], seed: int) -> PanelOutcomes:
    """Two configurations on some scenarios."""
    random, shape = np.random.default_rng(seed), (len(rows), 2)
    values = {name: np.zeros(shape) for name in METRICS}
    for name in SUMMED:
        values[name] = random.exponential(1.0, shape) * (random.random(shape) < 0.5)
    # an ordinary stretch of time has nothing to compare
    values = {
        name: np.where([[row.pattern == "quiet"] for row in rows], 0.0, matrix)
        for name, matrix in values.items()
    }
    values["simulated_ms"] = np.full(shape, SCENARIO["horizon_ms"])
    ends = random.uniform(0.0, 2.0 * SCENARIO["horizon_ms"], len(rows))
    return PanelOutcomes(
        scenario_ids=tuple(row.scenario_id for row in rows),
        config_ids=("a", "b"),
        weights=np.array([row.weight for row in rows]),
        exposure_us=np.full(len(rows), EXPOSURE_US),
        strata=tuple(row.stratum for row in rows),
        fault_kinds=("",) * len(rows),
        values=values,
        missing=np.zeros(shape, bool),
        failed=np.zeros(shape, bool),
        patterns=tuple(row.pattern for row in rows),
        ends_ms=np.where(random.random(len(rows)) < 0.5, ends, np.nan),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Up to three strata that mix up to four kinds of incidents, beside a quiet one."""
    share = st.floats(0.01, 10)
    kinds: dict[str, dict[str, float]] = {}
    strata: dict[str, Any] = {"calm": {"population": 0.4, "sample": 1, "patterns": {"quiet": 1}}}
    for number in range(draw(st.integers(1, 3))):
        patterns = draw(st.lists(st.sampled_from(PATTERNS), min_size=1, unique=True))
        name = f"mixed-{number}"
        strata[name] = {"sample": draw(share), "patterns": {one: draw(share) for one in patterns}}
        for one in patterns:
            kind = draw(st.sampled_from(["a", "b", "c", "d"]))
            kinds.setdefault(kind, {})[f"{name}.{one}"] = draw(share)
    incidents = {
        kind: {
            "per_year": draw(st.floats(0.01, 50)),
            "of": "cluster",
            "scenarios": scenarios,
            "repair_minutes": draw(st.floats(0, 60)),
        }
        for kind, scenarios in kinds.items()
    }
    return Case(
        raw={"strata": strata, "incidents": incidents, "parameters": {}},
        kind=draw(st.sampled_from(sorted(kinds))),
        factor=draw(st.floats(1, 100)),
        seed=draw(st.integers(0, 2**32)),
    )


def figures(case: Case, factor: float, size: int) -> dict[Any, Year]:
    """Every figure of a year under the first configuration: of all incidents and of each kind."""
    profile = case.profile(factor)
    panel = case.drawn(profile, size).select(("a",))
    found: dict[Any, Year] = {
        until.__name__: until(panel, profile)["a"] for until in (until_healed, until_repaired)
    }
    found |= years(panel, SUMMED, profile)
    for kind, of in years_of_kinds(panel, SUMMED, profile).items():
        found |= {(kind, *key): one for key, one in of.items()}
    return found


@pytest.mark.parametrize("size", [8, 200])
class TestAYear:
    """Whatever the profile and however few scenarios its patterns have."""

    @settings(max_examples=12, deadline=None)
    @given(case=cases())
    def test_a_greater_count_lowers_nothing(self, size: int, case: Case) -> None:
        """Neither a number of the reference nor an end of its interval."""
        before, after = (figures(case, factor, size) for factor in (1.0, case.factor))
        assert before.keys() == after.keys()
        for key, one in before.items():
            for name in ("incidents", "value", "low", "high"):
                least = getattr(one, name) * (1 - ROUNDING)
                assert getattr(after[key], name) >= least, (key, name)

    @settings(max_examples=4, deadline=None)
    @given(case=cases())
    def test_a_year_is_counts_times_costs(self, size: int, case: Case) -> None:
        """Of each stratum and pattern that was drawn, in its own scenarios."""
        profile = case.profile()
        panel = case.drawn(profile, size)
        missing = undrawn(panel, profile)
        drawn = {at: count for at, count in profile.per_year.items() if at not in missing}
        assert set(drawn) == set(panel.places) - {("calm", "quiet")}
        for name in SUMMED:
            total = panel.natural(name)[:, 0] / METRICS[name].unit.year_in
            costs = {at: total[[one == at for one in panel.places]].mean() for at in drawn}
            year = years(panel, SUMMED, profile)[name, "a"]
            assert year.value == pytest.approx(sum(drawn[at] * cost for at, cost in costs.items()))
            assert year.incidents == pytest.approx(sum(drawn.values()))

    @settings(max_examples=4, deadline=None)
    @given(case=cases())
    def test_kinds_add_up(self, size: int, case: Case) -> None:
        """The table's rows are its total, in values and in incidents."""
        profile = case.profile()
        panel = case.drawn(profile, size)
        kinds = [one for one in years_of_kinds(panel, SUMMED, profile).values() if one]
        for key, year in years(panel, SUMMED, profile).items():
            assert sum(one[key].value for one in kinds) == pytest.approx(year.value)
            assert sum(one[key].incidents for one in kinds) == pytest.approx(year.incidents)

    @settings(max_examples=4, deadline=None)
    @given(case=cases())
    def test_the_pair_is_what_the_ratio_is_of(self, size: int, case: Case) -> None:
        """Divided, the two years are the ratio that is judged."""
        profile = case.profile()
        panel = case.drawn(profile, size)
        found = compare(panel.select(("b",)), panel.select(("a",)), load_settings())
        pair = years(panel, SUMMED, profile)
        for name in (PRODUCE, OFFLINE, FLAPS):
            ratio = found.ratio[found.metrics.index(name), 0]
            before, after = pair[name, "a"].value, pair[name, "b"].value
            assert after == pytest.approx(ratio * before if before else 0.0) or ratio == np.inf
