"""Drawn scenarios: pure, stratified, weighed, and right as scenario files."""

import dataclasses
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.file import Experiment, load_experiment
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.generator import draw_panel, draw_scenario
from isr_pipeline.scenarios.model import canonical_json, parse_scenario, scenario_from_json
from isr_pipeline.scenarios.panels import PANELS, allocation, panel_digest, places
from isr_pipeline.scenarios.patterns import PARAMETERS, PATTERNS

NIGHT = "2026-11-19"
SHIPPED = {name: load_experiment(name) for name in ("operators", "smoke")}
STRATA = SHIPPED["operators"].profile.strata


@pytest.fixture(scope="module")
def operators() -> Experiment:
    """The default experiment, with panels large enough to meet everything."""
    return load_experiment("operators").resized(400)


class TestPurity:
    """Same input, same bytes."""

    @pytest.mark.parametrize("panel", PANELS)
    def test_same_again(self, operators: Experiment, panel: str) -> None:
        """Drawing a scenario alone gives what drawing the panel gives."""
        rows = list(draw_panel(operators.source, panel, NIGHT))
        again = [
            draw_scenario(operators.source, panel, NIGHT, i) for i in reversed(range(len(rows)))
        ]
        assert again[::-1] == rows

    def test_another_process(self) -> None:
        """Another process, with another hash seed, draws the same bytes."""
        code = (
            "from isr_pipeline.experiment.file import load_experiment\n"
            "from isr_pipeline.scenarios.generator import draw_panel\n"
            "from isr_pipeline.scenarios.panels import panel_digest\n"
            "e = load_experiment('operators')\n"
            f"print(panel_digest(draw_panel(e.source, 'fresh', '{NIGHT}')))\n"
        )
        digests = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={"PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout.strip()
            for seed in ("1", "2")
        }
        experiment = load_experiment("operators")
        assert digests == {panel_digest(draw_panel(experiment.source, "fresh", NIGHT))}

    def test_night(self, operators: Experiment) -> None:
        """The night moves the fresh panel and no other."""
        digests = {
            panel: {
                panel_digest(draw_panel(operators.source, panel, night))
                for night in (NIGHT, "2026-11-20")
            }
            for panel in PANELS
        }
        assert {panel: len(found) for panel, found in digests.items()} == {
            "regression": 1,
            "confirm": 1,
            "fresh": 2,
        }

    def test_panels_differ(self, operators: Experiment) -> None:
        """The panels share no scenario."""
        drawn = [
            scenario_from_json(row.scenario_json).seed
            for panel in PANELS
            for row in draw_panel(operators.source, panel, NIGHT)
        ]
        assert len(set(drawn)) == len(drawn)

    def test_seed(self, operators: Experiment) -> None:
        """Another seed of the experiment draws other panels."""
        other = operators.model_copy(update={"seed": operators.seed + 1})
        assert panel_digest(draw_panel(other.source, "confirm", NIGHT)) != panel_digest(
            draw_panel(operators.source, "confirm", NIGHT)
        )

    def test_wrong_night(self, operators: Experiment) -> None:
        """A night is a date."""
        with pytest.raises(InputError) as caught:
            draw_scenario(operators.source, "fresh", "2026-02-30", 0)
        assert str(caught.value) == "night: 2026-02-30; allowed: a date YYYY-MM-DD"


class TestContent:
    """What is drawn."""

    @settings(max_examples=60, deadline=None)
    @given(
        name=st.sampled_from(["operators", "smoke"]),
        seed=st.integers(0, 2**62),
        panel=st.sampled_from(PANELS),
        place=st.floats(0, 1, exclude_max=True),
    )
    def test_right_as_a_file(self, name: str, seed: int, panel: str, place: float) -> None:
        """Whatever the seed, a drawn scenario is a right scenario file, in canonical form."""
        experiment = SHIPPED[name].model_copy(update={"seed": seed})
        index = int(place * experiment.panels.of(panel))
        row = draw_scenario(experiment.source, panel, NIGHT, index)
        scenario = scenario_from_json(row.scenario_json)
        raw = scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert parse_scenario(raw, "F") == scenario
        assert canonical_json(scenario) == row.scenario_json

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_every_pattern(self, operators: Experiment, pattern: str) -> None:
        """Every pattern draws the kinds that it says, and no other."""
        stratum = next(iter(operators.profile.strata.values()))
        only = stratum.model_copy(update={"patterns": {pattern: 1.0}})
        profile = operators.profile.model_copy(update={"strata": {"only": only}})
        experiment = operators.model_copy(update={"profile": profile})
        rows = [draw_scenario(experiment.source, "regression", NIGHT, i) for i in range(40)]
        drawn = {kind for row in rows for kind in row.fault_kinds.split(",") if kind}
        assert drawn == set(PATTERNS[pattern].kinds) - {"none"}

    def test_every_kind(self, operators: Experiment) -> None:
        """The shipped profile draws every fault kind."""
        rows = draw_panel(operators.source, "regression", NIGHT)
        drawn = {kind for row in rows for kind in row.fault_kinds.split(",") if kind}
        assert drawn == set(KINDS)

    def test_every_pattern_and_parameter_is_used(self, operators: Experiment) -> None:
        """The shipped profile leaves out no pattern and gives every parameter."""
        used = {name for stratum in operators.profile.strata.values() for name in stratum.patterns}
        assert used == set(PATTERNS)
        assert set(operators.profile.parameters) == set(PARAMETERS)

    def test_faults_begin_after_the_warm_up(self, operators: Experiment) -> None:
        """What is counted begins healthy."""
        for row in draw_panel(operators.source, "regression", NIGHT):
            scenario = scenario_from_json(row.scenario_json)
            assert all(fault.start_ms > scenario.warmup_ms for fault in scenario.faults)

    def test_ids(self, operators: Experiment) -> None:
        """A scenario is named by its panel and place, and rows say what the scenario says."""
        rows = list(draw_panel(operators.source, "confirm", NIGHT))
        assert [row.scenario_id for row in rows[:2]] == ["confirm-00000", "confirm-00001"]
        assert all(scenario_from_json(r.scenario_json).scenario_id == r.scenario_id for r in rows)
        assert all(row.expected_cost > 0 for row in rows)
        assert [field.name for field in dataclasses.fields(rows[0])] == [
            "panel",
            "scenario_id",
            "index",
            "stratum",
            "weight",
            "fault_kinds",
            "expected_cost",
            "scenario_json",
        ]


class TestStrata:
    """Shares and weights."""

    @pytest.mark.parametrize("name", ["operators", "smoke"])
    def test_weights_sum_to_the_population(self, name: str) -> None:
        """The weights of a panel sum to its size, those of a stratum to its population share."""
        experiment = load_experiment(name)
        strata = experiment.profile.strata
        population = sum(stratum.population for stratum in strata.values())
        rows = list(draw_panel(experiment.source, "regression", NIGHT))
        assert sum(row.weight for row in rows) == pytest.approx(len(rows))
        for key, stratum in strata.items():
            share = sum(row.weight for row in rows if row.stratum == key) / len(rows)
            assert share == pytest.approx(stratum.population / population)

    def test_rare_strata_are_not_starved(self, operators: Experiment) -> None:
        """The offline stratum, one scenario of 200 in the population, is three of ten here."""
        counts = Counter(row.stratum for row in draw_panel(operators.source, "regression", NIGHT))
        assert counts["offline"] == 120
        assert counts["quiet"] == 12

    @settings(deadline=None)
    @given(st.integers(9, 3000))
    def test_allocation(self, size: int) -> None:
        """A panel of any size is divided wholly, each stratum within one of its share or at one."""
        strata = STRATA
        counts = allocation(strata, size)
        assert sum(counts.values()) == size
        for name, stratum in strata.items():
            quota = stratum.sample * size
            assert counts[name] == 1 or abs(counts[name] - quota) < 1 + 9 / size

    def test_interleaved(self, operators: Experiment) -> None:
        """Any half of a panel has about half of every stratum."""
        half = places(operators.profile.strata, 400)[:200]
        counts = Counter(place.stratum for place in half)
        assert abs(counts["offline"] - 60) <= 1
        assert abs(counts["quiet"] - 6) <= 1

    def test_patterns_are_sampled_systematically(self, operators: Experiment) -> None:
        """Within a stratum the patterns come as their frequencies say, within one."""
        rows = [
            r
            for r in draw_panel(operators.source, "regression", NIGHT)
            if r.stratum == "operations"
        ]
        elections = sum(row.fault_kinds == "preferred_election" for row in rows)
        assert abs(elections - len(rows) / 3) <= 1
