"""Which configuration is best: chosen on one half of the panel, measured on the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.experiment.grid import Configuration
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.verdicts import choice
from isr_pipeline.verdicts.choice import Choices, Kind, choose, draws, kind_of, split
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings, load_settings
from isr_pipeline.worlds.columns import METRICS
from tests.verdicts.synthetic import NIGHT, World

UNAVAILABLE = "produce_unavailable_rate"
OFFLINE = "offline_partition_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"

Fill = Callable[[str, np.ndarray], np.ndarray]
"""Changes a configuration's values of a column, given its name."""


def few_flips() -> VerdictSettings:
    """The shipped settings with the fewest flips, which these tests do not hang on."""
    return load_settings().model_copy(update={"flips": 999, "flips_max": 999})


def panel_of(
    values: dict[str, dict[str, np.ndarray]], strata: tuple[str, ...], weights: np.ndarray
) -> PanelOutcomes:
    """A panel from configuration -> column -> values; other columns are zero."""
    rows, names = len(strata), tuple(values)
    columns = {
        name: np.column_stack([values[one].get(name, np.zeros(rows)) for one in names])
        for name in METRICS
    }
    nothing = np.zeros((rows, len(names)), bool)
    return PanelOutcomes(
        scenario_ids=tuple(f"regression-{row:05d}" for row in range(rows)),
        config_ids=names,
        weights=weights,
        exposure_us=np.full(rows, 1e9),
        strata=strata,
        fault_kinds=("crash",) * rows,
        values=columns,
        missing=nothing,
        failed=nothing,
    )


def alike(count: int, seed: int, scenarios: int = 80) -> PanelOutcomes:
    """Configurations that are equally good: every outcome is drawn from the same distribution."""
    rng = np.random.default_rng(seed)
    shared = rng.gamma(1.0, 1.0, scenarios)
    values = {
        f"id-{index}": {
            UNAVAILABLE: 0.01 * shared * rng.gamma(4.0, 0.25, scenarios),
            OFFLINE: 0.001 * shared * rng.gamma(4.0, 0.25, scenarios),
            FLAPS: shared * rng.gamma(4.0, 0.25, scenarios),
            LATENCY: 50.0 * rng.gamma(4.0, 0.25, scenarios),
        }
        for index in range(count)
    }
    strata = tuple(f"stratum-{row % 3}" for row in range(scenarios))
    return panel_of(values, strata, np.where(np.arange(scenarios) % 3, 1.3, 0.4))


def chosen(panel: PanelOutcomes, home: object, **values: dict[str, object]) -> Choices:
    """Choose among the configurations of a panel; the first is the reference."""
    del home
    names = tuple(one.removeprefix("id-") for one in panel.config_ids)
    found = choose(World(names=names, values=values).plan(NIGHT), panel, few_flips())
    assert found is not None
    return found


class TestLosses:
    """What loses acknowledged records is no choice."""

    @pytest.fixture(scope="class", autouse=True)
    def of_its_own(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        """A state folder for all examples: plans are written."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ISR_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
            patch.delenv("ISR_PIPELINE_ROOT", raising=False)
            yield

    @given(seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=30, deadline=None)
    def test_equal_losses_are_not_more(self, seed: int) -> None:
        """A setting that loses what the reference loses is never left out for it."""
        rng = np.random.default_rng(seed)
        rows, names = int(rng.integers(20, 120)), [f"id-{one}" for one in range(30)]
        lost, stopped = rng.gamma(1.0, 40.0, rows), rng.gamma(1.0, 0.01, rows)
        values = {name: {"records_lost": lost, UNAVAILABLE: stopped} for name in names}
        values[names[-1]][UNAVAILABLE] = stopped * 0.3
        panel = panel_of(values, ("one",) * rows, rng.gamma(2.0, 1.0, rows))
        setting = chosen(panel, None).setting
        assert setting is not None
        assert (setting.best, setting.lossy) == (names[-1], None)


class TestSplit:
    """The two halves."""

    @given(
        strata=st.lists(st.sampled_from("abcd"), min_size=2, max_size=60),
        seed=st.integers(0, 2**32 - 1),
    )
    @settings(max_examples=60, deadline=None)
    def test_every_scenario_is_in_one_half(self, strata: list[str], seed: int) -> None:
        """Each half has its share of each stratum, and the stratum's whole weight."""
        weights = np.random.default_rng(seed).gamma(2.0, 1.0, len(strata))
        whole = panel_of({"id-today": {}}, tuple(strata), weights)
        halves = split(whole)
        ids = [one for half in halves for one in half.scenario_ids]
        assert sorted(ids) == list(whole.scenario_ids)
        for name in set(strata):
            counts = [half.strata.count(name) for half in halves]
            assert abs(counts[0] - counts[1]) <= 1
            of_all = weights[np.array(strata) == name].sum()
            for half in halves:
                mine = half.weights[np.array(half.strata) == name]
                assert not len(mine) or mine.sum() == pytest.approx(of_all)

    def test_is_a_function_of_the_panel(self) -> None:
        """What the configurations do has no part in it."""
        one, other = alike(2, 1), alike(5, 2)
        assert [half.scenario_ids for half in split(one)] == [
            half.scenario_ids for half in split(other)
        ]

    def test_draws_keep_each_stratum(self) -> None:
        """A bootstrap draw has as many scenarios of each stratum as the half has."""
        panel = alike(1, 3)
        drawn = draws(panel, 50) / panel.weights
        for name in set(panel.strata):
            mine = np.array(panel.strata) == name
            assert (drawn[:, mine].sum(axis=1).round(9) == mine.sum()).all()


class TestKinds:
    """What it takes to have a configuration."""

    @pytest.mark.parametrize(
        ("overrides", "release", "kind"),
        [
            ({"replica.lag.time.max.ms": 10_000}, "3.7+", Kind.SETTING),
            ({"topics.min.insync.replicas": 2}, "3.7+", Kind.SETTING),
            ({"cluster.release": "3.3-3.6"}, "3.3-3.6", Kind.RELEASE),
            ({"cluster.controller": "zookeeper"}, "3.7+", Kind.RELEASE),
            ({"cluster.release": "3.9"}, str(rule_set_text("3.9")), Kind.RELEASE),
            (
                {"cluster.release": "joins-in-time"},
                "joins-in-time (3.7+ with expand_needs_lag=true)",
                Kind.PROPOSAL,
            ),
            ({"cluster.release": "4485-doc"}, "4485-doc", Kind.PROPOSAL),
            ({"rules.isr_lock": "none"}, "3.7+", Kind.PROPOSAL),
            ({"rules.kip501": "s2", "replica.lag.time.max.ms": 10_000}, "3.7+", Kind.PROPOSAL),
            ({"follower.fetch.process.time.max.ms": 100}, "3.7+", Kind.PROPOSAL),
            ({"service.send_us": 1}, "3.7+", Kind.PROPOSAL),
        ],
    )
    def test_of_a_configuration(
        self, overrides: dict[str, object], release: str, kind: Kind
    ) -> None:
        """Keys of a released broker are settings; switches and own rule sets are proposals."""

        def one(given: dict[str, object], of: str) -> Configuration:
            params: dict[str, str | int | float | bool] = {"cluster.release": of}
            return Configuration(
                name="x", config_id="x", group="g", overrides=given, params=params, is_grid=False
            )

        assert kind_of(one(overrides, release), one({}, "3.7+")) is kind

    def test_what_both_have_does_not_count(self) -> None:
        """A rule that the reference has too is no proposal."""
        params: dict[str, str | int | float | bool] = {"cluster.release": "3.7+"}
        shared = {"rules.isr_lock": "none"}
        one = Configuration(
            name="x",
            config_id="x",
            group="g",
            overrides={**shared, "num.replica.fetchers": 2},
            params=params,
            is_grid=False,
        )
        assert kind_of(one, one.model_copy(update={"overrides": shared})) is Kind.SETTING


NIGHTS = 100


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Choices, float]]:
    """Choices of many panels of fixed seeds, and what the choosing half said of the best."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ISR_PIPELINE_HOME", str(tmp_path_factory.mktemp("home")))
        patched.setattr(choice, "DRAWS", 300)
        found = []
        for seed in range(NIGHTS):
            panel = alike(12, seed)
            one = chosen(panel, None)
            assert one.setting is not None
            means = split(panel)[0].means(UNAVAILABLE)
            best = panel.column(one.setting.best)
            found.append((one, float(means[best] / means[0])))
    return found


class TestNoWinnersCurse:
    """All settings are equally good."""

    def test_the_quoted_ratio_is_unbiased(self, nights: list[tuple[Choices, float]]) -> None:
        """Its mean is 1 within three standard errors; where it was chosen it is far below."""
        pairs = [
            (one.setting.measured.changes[UNAVAILABLE].ratio, there)
            for one, there in nights
            if one.setting is not None and one.setting.measured is not None
        ]
        assert len(pairs) > 0.9 * NIGHTS
        quoted, there = (np.log(np.array(column)) for column in zip(*pairs, strict=True))
        error = quoted.std() / np.sqrt(len(quoted))
        assert abs(quoted.mean()) < 3 * error
        assert there.mean() < -10 * error

    def test_its_interval_holds(self, nights: list[tuple[Choices, float]]) -> None:
        """1, the true ratio, is outside about one time in twenty."""
        changes = [
            one.setting.measured.changes[UNAVAILABLE]
            for one, _ in nights
            if one.setting is not None and one.setting.measured is not None
        ]
        outside = np.mean([not one.low <= 1.0 <= one.high for one in changes])
        assert outside < 0.12

    def test_the_reference_is_rarely_left(self, nights: list[tuple[Choices, float]]) -> None:
        """A setting that is no better is advised at most about one time in twenty."""
        advised = np.mean([one.setting is not None and one.setting.is_advised for one, _ in nights])
        assert advised < 0.10

    def test_being_best_is_as_likely_as_any(self, nights: list[tuple[Choices, float]]) -> None:
        """The probability of being best is on average that of one of twelve."""
        shares = [one.setting.probability_best for one, _ in nights if one.setting is not None]
        assert np.mean(shares) == pytest.approx(1 / 12, abs=0.05)


@pytest.mark.usefixtures("home")
class TestChoice:
    """One panel."""

    def better(self, **factors: float) -> PanelOutcomes:
        """Three configurations alike, but for produce unavailability times a factor."""
        panel = alike(1, 11)
        base = {name: panel.values[name][:, 0] for name in (UNAVAILABLE, OFFLINE, FLAPS, LATENCY)}
        values = {
            f"id-{name}": {**base, UNAVAILABLE: base[UNAVAILABLE] * factors.get(name, 1.0)}
            for name in ("today", "a", "b")
        }
        return panel_of(values, panel.strata, panel.weights)

    def test_less_unavailability_wins(self, home: object) -> None:
        """Half of it everywhere is advised, for sure, with its ratio from the other half."""
        found = chosen(self.better(a=0.5, b=0.8), home)
        assert found.setting is not None
        assert found.setting.measured is not None
        assert found.setting.config_id == "id-a"
        assert found.setting.probability_best == 1.0
        assert found.setting.measured.better == 1.0
        assert found.setting.measured.changes[UNAVAILABLE].ratio == pytest.approx(0.5)
        assert (found.chosen_on, found.measured_on) == (40, 40)

    def test_unavailability_comes_before_the_axes(self, home: object) -> None:
        """A fifth less of it wins over half of the flaps."""
        panel = self.better(a=0.8)
        panel.values[FLAPS][:, 2] *= 0.5
        found = chosen(panel, home)
        assert found.setting is not None
        assert found.setting.best == "id-a"

    def test_what_is_equally_available_is_chosen_by_the_axes(self, home: object) -> None:
        """5 % less of it does not matter (`ratio_min`); half of the flaps does."""
        panel = self.better(a=0.95)
        panel.values[FLAPS][:, 2] *= 0.5
        found = chosen(panel, home)
        assert found.setting is not None
        assert found.setting.best == "id-b"
        assert found.setting.axis == FLAPS

    def test_the_same_outcomes_keep_the_reference(self, home: object) -> None:
        """Nobody is better: the reference stays, and that is sure."""
        found = chosen(self.better(), home)
        assert found.setting is not None
        assert found.setting.config_id == "id-today"
        assert found.setting.measured is None
        assert found.setting.probability_best == 1.0
        assert found.setting.alike == ("id-a", "id-b")

    def test_what_the_other_half_does_not_confirm_is_not_advised(self, home: object) -> None:
        """Half of the unavailability where it was chosen, twice as much where it was measured."""
        panel = self.better()
        luck = np.isin(panel.scenario_ids, split(panel)[0].scenario_ids)
        panel.values[UNAVAILABLE][:, 1] *= np.where(luck, 0.5, 2.0)
        found = chosen(panel, home)
        assert found.setting is not None
        assert found.setting.measured is not None
        assert found.setting.best == "id-a"
        assert found.setting.measured.changes[UNAVAILABLE].ratio == pytest.approx(2.0)
        assert found.setting.config_id == "id-today"

    def test_what_loses_records_is_never_chosen(self, home: object) -> None:
        """Not even where the other half alone shows the loss."""
        panel = self.better(a=0.5, b=0.8)
        measured = np.isin(panel.scenario_ids, split(panel)[1].scenario_ids)
        panel.values["records_lost"][:, 1] = np.where(measured, 2.5, 0.0)
        found = chosen(panel, home)
        assert found.setting is not None
        assert found.setting.config_id == "id-b"
        assert found.setting.lossy is not None
        assert found.setting.lossy[0] == "id-a"

    @pytest.mark.parametrize(
        ("today", "other", "weaker"),
        [
            ({"min.insync.replicas": 2}, {}, True),
            ({"min.insync.replicas": 2}, {"min.insync.replicas": 3}, False),
            ({"min.insync.replicas": 2}, {"topics.min.insync.replicas": 1}, True),
            ({}, {"unclean.leader.election.enable": True}, True),
            ({}, {"topics.unclean.leader.election.enable": True}, True),
            ({"unclean.leader.election.enable": True}, {}, False),
        ],
    )
    def test_a_lower_promise_is_never_chosen(
        self, home: object, today: dict[str, object], other: dict[str, object], weaker: bool
    ) -> None:
        """However much it gains: what is chosen and each draw do without it."""
        found = chosen(self.better(a=0.3, b=0.8), home, today=today, a=other, b=today)
        assert found.setting is not None
        assert found.setting.weaker == (("id-a",) if weaker else ())
        assert found.setting.config_id == ("id-b" if weaker else "id-a")
        assert found.setting.probability_best == 1.0
        assert found.setting.lossy is None

    def test_proposals_and_releases_are_chosen_apart(self, home: object) -> None:
        """The best of all is a proposal: the setting that a broker can have is another."""
        panel = self.better(a=0.3, b=0.8)
        found = chosen(panel, home, a={"rules.kip501": "s2"})
        assert found.setting is not None
        assert found.proposal is not None
        assert found.setting.config_id == "id-b"
        assert found.setting.candidates == 1
        assert found.proposal.config_id == "id-a"
        assert found.release is None

    def test_another_release_is_no_setting(self, home: object) -> None:
        """A setting can be changed tonight; a release cannot."""
        found = chosen(self.better(a=0.3), home, a={"cluster.release": "3.3-3.6"})
        assert found.setting is not None
        assert found.release is not None
        assert found.setting.config_id == "id-today"
        assert found.release.config_id == "id-a"

    def test_an_asked_release_is_measured(self, home: object) -> None:
        """What was asked about is answered, whatever it takes to have it; the reference is not."""
        del home
        values: dict[str, dict[str, object]] = {
            "a": {"cluster.release": "3.3-3.6"},
            "b": {"replica.lag.time.max.ms": 5000},
        }
        plan = World(names=("today", "a", "b"), values=values).plan(NIGHT)
        asked = tuple(one.model_copy(update={"group": "asked"}) for one in plan.configurations)
        plan = plan.model_copy(update={"configurations": asked})
        found = choose(plan, self.better(a=0.5), few_flips())
        assert found is not None
        assert [one.config_id for one in found.asked] == ["id-a", "id-b"]
        assert found.asked[0].changes[UNAVAILABLE].ratio == pytest.approx(0.5)

    def test_who_asks_is_answered_about_that(self, home: object) -> None:
        """A rival may be better still: it stands beside the choice, and is not chosen."""
        del home
        plan = World(names=("today", "a", "b")).plan(NIGHT)
        groups = {"a": "asked", "b": "published-advice"}
        several = tuple(
            one.model_copy(update={"group": groups.get(one.name, one.group)})
            for one in plan.configurations
        )
        plan = plan.model_copy(update={"configurations": several})
        found = choose(plan, self.better(a=0.5, b=0.2), few_flips())
        assert found is not None
        assert found.setting is not None
        assert (found.setting.config_id, found.setting.candidates) == ("id-a", 1)
        assert [one.config_id for one in found.rivals] == ["id-b"]
        assert found.rivals[0].changes[UNAVAILABLE].ratio == pytest.approx(0.2)

    def test_one_fault_kind_may_decide(self, home: object) -> None:
        """Better under crashes, worse under pauses: doubling the pauses changes the choice."""
        panel = self.better()
        paused = [one for half in split(panel) for one in half.scenario_ids[::4]]
        crash = ~np.isin(panel.scenario_ids, paused)
        panel.values[UNAVAILABLE][:] = 0.01
        panel.values[UNAVAILABLE][:, 1] *= np.where(crash, 0.4, 2.2)
        kinds = tuple("crash" if one else "pause" for one in crash)
        object.__setattr__(panel, "fault_kinds", kinds)
        found = chosen(panel, home)
        assert found.setting is not None
        assert found.setting.best == "id-a"
        assert found.setting.sensitivity["pause", 2.0] == "id-today"

    def test_a_failed_reference_compares_with_nothing(self) -> None:
        """If the reference itself has a failed pair there is no choice."""
        panel = self.better(a=0.5)
        panel.failed[3, 0] = True
        plan = World(names=("today", "a", "b")).plan(NIGHT)
        assert choose(plan, panel, few_flips()) is None

    def test_a_failed_configuration_is_left_out(self, home: object) -> None:
        """The others are compared without it."""
        panel = self.better(a=0.5, b=0.8)
        panel.failed[3, 1] = True
        found = chosen(panel, home)
        assert found.setting is not None
        assert (found.setting.config_id, found.setting.candidates) == ("id-b", 1)
