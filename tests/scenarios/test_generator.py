"""Drawn scenarios: pure, stratified, weighed, and right as scenario files."""

import dataclasses
import math
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.experiment.file import Experiment, load_experiment
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.generator import draw_panel, draw_scenario
from isr_pipeline.scenarios.model import canonical_json, parse_scenario, scenario_from_json
from isr_pipeline.scenarios.panels import (
    PANELS,
    ScenarioRow,
    allocation,
    panel_digest,
    places,
    stratum_weights,
)
from isr_pipeline.scenarios.patterns import PARAMETERS, PATTERNS
from isr_pipeline.scenarios.profile import Distribution, FaultProfile, Stratum, load_profile
from tests.saying import finished
from tests.tables import from_table

LOAD = load_experiment("load")
SHIPPED = {name: load_experiment(name) for name in ("operators", "smoke")}
_RACKS_FILE = REPOSITORY / "config" / "faults" / "racks.yaml"
RACKS = load_profile(read_mapping(_RACKS_FILE), str(_RACKS_FILE))
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
        rows = list(draw_panel(operators.source, panel))
        again = [draw_scenario(operators.source, panel, i) for i in reversed(range(len(rows)))]
        assert again[::-1] == rows

    def test_another_process(self) -> None:
        """Another process, with another hash seed, draws the same bytes."""
        code = (
            "from isr_pipeline.experiment.file import load_experiment\n"
            "from isr_pipeline.scenarios.generator import draw_panel\n"
            "from isr_pipeline.scenarios.panels import panel_digest\n"
            "e = load_experiment('operators')\n"
            "print(panel_digest(draw_panel(e.source, 'regression')))\n"
        )
        digests = {
            finished(
                [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, check=True
            ).stdout.strip()
            for seed in ("1", "2")
        }
        experiment = load_experiment("operators")
        assert digests == {panel_digest(draw_panel(experiment.source, "regression"))}

    def test_panels_differ(self, operators: Experiment) -> None:
        """The panels share no scenario."""
        drawn = [
            scenario_from_json(row.scenario_json).seed
            for panel in PANELS
            for row in draw_panel(operators.source, panel)
        ]
        assert len(set(drawn)) == len(drawn)

    @settings(max_examples=30, deadline=None)
    @given(
        panel=st.sampled_from(PANELS),
        seed=st.integers(0, 2**62),
        sizes=st.tuples(st.integers(len(STRATA), 60), st.integers(len(STRATA), 60)),
    )
    def test_a_longer_panel_begins_with_the_shorter(
        self, panel: str, seed: int, sizes: tuple[int, int]
    ) -> None:
        """Scenario i depends on seed and i: only the weights know where the panel ends."""
        experiment = SHIPPED["operators"].model_copy(update={"seed": seed})
        short, long = (
            [
                dataclasses.replace(row, weight=0.0)
                for row in draw_panel(experiment.resized(size).source, panel)
            ]
            for size in sorted(sizes)
        )
        assert long[: len(short)] == short

    def test_seed(self, operators: Experiment) -> None:
        """Another seed of the experiment draws other panels."""
        other = operators.model_copy(update={"seed": operators.seed + 1})
        assert panel_digest(draw_panel(other.source, "confirm")) != panel_digest(
            draw_panel(operators.source, "confirm")
        )


class TestContent:
    """What is drawn."""

    @settings(max_examples=60)
    @given(
        name=st.sampled_from(["operators", "smoke"]),
        seed=st.integers(0, 2**62),
        panel=st.sampled_from(PANELS),
        place=st.floats(0, 1, exclude_max=True),
    )
    def test_right_as_a_file(self, name: str, seed: int, panel: str, place: float) -> None:
        """Whatever the seed, a drawn scenario is a right scenario file, in canonical form."""
        experiment = SHIPPED[name].model_copy(update={"seed": seed})
        index = int(place * getattr(experiment.panels, panel))
        row = draw_scenario(experiment.source, panel, index)
        scenario = scenario_from_json(row.scenario_json)
        raw = scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert parse_scenario(raw, "F") == scenario
        assert canonical_json(scenario) == row.scenario_json

    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_every_pattern(self, operators: Experiment, pattern: str) -> None:
        """Every pattern draws the kinds that it says, and no other."""
        stratum = next(iter(operators.profile.strata.values()))
        only = stratum.model_copy(update={"patterns": {pattern: 1.0}})
        of_load = pattern in {name for one in LOAD.profile.strata.values() for name in one.patterns}
        drawn_by = LOAD.resized(400) if of_load and pattern != "quiet" else operators
        parameters = {**RACKS.parameters, **operators.profile.parameters, **LOAD.profile.parameters}
        changed = {"strata": {"only": only}, "parameters": parameters}
        profile = operators.profile.model_copy(update=changed)
        experiment = drawn_by.model_copy(update={"profile": profile})
        rows = [draw_scenario(experiment.source, "regression", i) for i in range(40)]
        drawn = {kind for row in rows for kind in row.fault_kinds.split(",") if kind}
        assert drawn == set(PATTERNS[pattern].kinds) - {"none"}

    def test_every_kind(self, operators: Experiment) -> None:
        """The shipped profiles draw every fault kind but the death of a node, which is two."""
        rows = [
            row
            for one in (operators, LOAD.resized(60))
            for row in draw_panel(one.source, "regression")
        ]
        drawn = {kind for row in rows for kind in row.fault_kinds.split(",") if kind}
        assert drawn == {*KINDS, "returned_broker"} - {"node_death"}

    def test_every_pattern_and_parameter_is_used(self, operators: Experiment) -> None:
        """The shipped profiles leave out no pattern and give every parameter."""
        profiles = (operators.profile, RACKS, LOAD.profile)
        strata = [stratum for profile in profiles for stratum in profile.strata.values()]
        assert {name for stratum in strata for name in stratum.patterns} == set(PATTERNS)
        assert {name for one in profiles for name in one.parameters} == set(PARAMETERS)

    def test_a_rack_goes_as_a_whole(self, operators: Experiment) -> None:
        """Power takes all its brokers and no other; the network cuts them from all others."""
        brokers = operators.cluster.cluster["brokers"]
        racks = {str(broker): "even" if broker % 2 == 0 else "odd" for broker in brokers}
        cluster = operators.cluster.model_copy(
            update={"cluster": {**operators.cluster.cluster, "racks": racks}}
        )
        only = RACKS.strata["rack"].model_copy(update={"population": 1.0})
        profile = RACKS.model_copy(update={"strata": {"only": only}})
        experiment = operators.model_copy(update={"profile": profile, "cluster": cluster})
        seen = set()
        for i in range(20):
            row = draw_scenario(experiment.source, "regression", i)
            faults = scenario_from_json(row.scenario_json).faults
            hit = {getattr(one, "broker", None) or getattr(one, "from_", None) for one in faults}
            assert len({racks[str(broker)] for broker in hit}) == 1
            assert len(hit) == len(brokers) // 2
            seen.add((row.fault_kinds, len(faults)))
        half = len(brokers) // 2
        assert seen == {("crash", half), ("link", half * (half + 1))}

    def test_faults_begin_after_the_warm_up(self, operators: Experiment) -> None:
        """What is counted begins healthy."""
        for row in draw_panel(operators.source, "regression"):
            scenario = scenario_from_json(row.scenario_json)
            assert all(fault.start_ms > scenario.warmup_ms for fault in scenario.faults)

    def test_ids(self, operators: Experiment) -> None:
        """A scenario is named by its panel and place, and rows say what the scenario says."""
        rows = list(draw_panel(operators.source, "confirm"))
        assert [row.scenario_id for row in rows[:2]] == ["confirm-00000", "confirm-00001"]
        assert all(scenario_from_json(r.scenario_json).scenario_id == r.scenario_id for r in rows)
        assert all(row.expected_cost > 0 for row in rows)
        assert [field.name for field in dataclasses.fields(rows[0])] == [
            "panel",
            "scenario_id",
            "index",
            "stratum",
            "pattern",
            "weight",
            "fault_kinds",
            "expected_cost",
            "ends_ms",
            "scenario_json",
        ]


class TestEnd:
    """When the last fault of a scenario would end."""

    HORIZON_MS = 30_000

    def drawn(self, pattern: str, **parameters: float | bool | str) -> list[ScenarioRow]:
        """Scenarios of 30 s of one pattern whose lengths are given."""
        smoke = SHIPPED["smoke"]
        every = {**RACKS.parameters, **SHIPPED["operators"].profile.parameters}
        given = {
            f"{pattern}.{name}": Distribution(choice=((value, 1.0),))
            for name, value in parameters.items()
        }
        strata = {"only": Stratum(population=1, sample=1, patterns={pattern: 1})}
        profile = FaultProfile(strata=strata, parameters={**every, **given})
        short = smoke.model_copy(update={"profile": profile, "horizon_ms": self.HORIZON_MS})
        return [draw_scenario(short.source, "regression", index) for index in range(4)]

    @from_table
    def test_past_the_horizon(self, pattern: str, parameter: str) -> None:
        """A window that is cut ends as it was drawn, and a broker returns after the scenario."""
        for row in self.drawn(pattern, **{parameter: 50_000}):
            (fault,) = scenario_from_json(row.scenario_json).faults
            assert row.ends_ms == fault.start_ms + 50_000
            assert row.ends_ms > self.HORIZON_MS

    def test_power_returns_after_the_horizon(self) -> None:
        """A rack comes back when its power does."""
        for row in self.drawn("rack_outage", power=True, duration_ms=50_000):
            first = scenario_from_json(row.scenario_json).faults[0]
            assert row.ends_ms == first.start_ms + 50_000

    def test_a_dead_disk_needs_somebody(self) -> None:
        """Also where something beside it heals."""
        assert {row.ends_ms for row in self.drawn("log_dir_failure")} == {None}
        both = self.drawn("stall_then_death", death="disk", duration_ms=50_000)
        assert {row.ends_ms for row in both} == {None}

    def test_nothing_happens(self) -> None:
        """Then it has ended."""
        assert {row.ends_ms for row in self.drawn("quiet")} == {0.0}

    def test_the_digest_is_of_what_is_simulated(self) -> None:
        """A panel stays what it is, however long its faults would last."""
        rows = self.drawn("pause", duration_ms=50_000)
        longer = [dataclasses.replace(row, ends_ms=None) for row in rows]
        assert panel_digest(rows) == panel_digest(longer)


class TestStrata:
    """Shares and weights."""

    def test_a_stratum_with_a_part_of_a_range(self, operators: Experiment) -> None:
        """A stratum's own parameters are drawn in it, the profile's everywhere else."""
        seen: dict[str, list[float]] = {}
        for row in draw_panel(operators.source, "regression"):
            for fault in scenario_from_json(row.scenario_json).faults:
                if fault.kind == "read_stall":
                    seen.setdefault(row.stratum, []).append(fault.duration_ms)
        assert max(seen["leader-read"]) <= 8_000 <= min(seen["read-stall-8s"])
        assert max(seen["read-stall-8s"]) <= 24_000 <= min(seen["read-stall-24s"])
        assert max(seen["isr-churn"]) < 24_000, "alternating stalls have a range of their own"

    def test_parts_of_a_range_are_what_they_were_together(self) -> None:
        """Stalled reads of 1 s to 60 s, cut in three, come as often as one range has them."""
        whole = math.log(60)
        stalls = SHIPPED["operators"].profile.incidents["stalled_reads"].scenarios
        alone = {name: share for name, share in stalls.items() if name.endswith(".read_stall")}
        for name, low, high in (("leader-read", 1, 8), ("read-stall-8s", 8, 24)):
            share = math.log(high / low) / whole
            found = alone[f"{name}.read_stall"] / sum(alone.values())
            assert found == pytest.approx(share, abs=1e-3)

    @pytest.mark.parametrize("name", ["operators", "smoke"])
    def test_weights_sum_to_the_population(self, name: str) -> None:
        """The weights of a panel sum to its size, those of a stratum to its population share."""
        experiment = load_experiment(name)
        strata = experiment.profile.strata
        population = sum(stratum.share for stratum in strata.values())
        rows = list(draw_panel(experiment.source, "regression"))
        assert sum(row.weight for row in rows) == pytest.approx(len(rows))
        for key, stratum in strata.items():
            share = sum(row.weight for row in rows if row.stratum == key) / len(rows)
            assert share == pytest.approx(stratum.share / population)

    def test_rare_strata_are_not_starved(self, operators: Experiment) -> None:
        """The offline stratum, one scenario of 200 in the population, is a fifth and more here."""
        counts = Counter(row.stratum for row in draw_panel(operators.source, "regression"))
        assert counts["offline"] == 88
        assert counts["quiet"] == 12

    @given(st.integers(len(STRATA), 3000))
    def test_allocation(self, size: int) -> None:
        """A panel of any size is divided wholly, each stratum near its share or at one."""
        strata = STRATA
        counts = allocation(strata, size)
        assert sum(counts.values()) == size
        for name, stratum in strata.items():
            quota = stratum.sample * size
            assert counts[name] == 1 or abs(counts[name] - quota) < (3 if size < 80 else 1)

    @settings(deadline=None)
    @given(st.integers(len(STRATA), 300), st.integers(0, 300))
    def test_the_weights_of_a_beginning(self, size: int, more: int) -> None:
        """Wherever the sequence is cut, weights sum to the size and a stratum has its share."""
        long = places(STRATA, size + more)
        counts = Counter(place.stratum for place in long[:size])
        weights = stratum_weights(STRATA, counts)
        assert sum(weights[name] * count for name, count in counts.items()) == pytest.approx(size)
        assert [weights[place.stratum] for place in long[:size]] == [
            place.weight for place in places(STRATA, size)
        ]

    def test_interleaved(self, operators: Experiment) -> None:
        """Any half of a panel has about half of every stratum."""
        half = places(operators.profile.strata, 400)[:200]
        counts = Counter(place.stratum for place in half)
        assert abs(counts["offline"] - 44) <= 1
        assert abs(counts["quiet"] - 6) <= 1

    def test_patterns_are_sampled_systematically(self, operators: Experiment) -> None:
        """Within a stratum the patterns come as their frequencies say, wherever the panel ends."""
        rows = [r for r in draw_panel(operators.source, "regression") if r.stratum == "operations"]
        elections = [row.fault_kinds == "preferred_election" for row in rows]
        assert len(elections) == 16
        for end in range(1, len(elections) + 1):
            assert abs(sum(elections[:end]) - end / 3) <= 1
