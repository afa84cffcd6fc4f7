"""The contest's own logic: draws, truth, counting. The simulator is not asked here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.detection.arms import Alarms, mann_whitney, own, rise, series, three_sigma
from benchmarks.detection.contest import BASELINE, HARMLESS, Arm, load_contest
from benchmarks.detection.draw import CONFIGURATIONS, PAST_NIGHTS, draw_indices, draw_night
from benchmarks.detection.nights import (
    PLANTED,
    Kind,
    choose_arms,
    columns_of,
    harmless_arms,
    planted_arms,
)
from benchmarks.detection.pool import PANEL, Pool, in_order_of_patterns, load_pool, refactored
from benchmarks.detection.score import WINDOWS, Score, in_window, wilson
from isr_pipeline.errors import InputError
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import scenario_from_json
from isr_pipeline.scenarios.panels import allocation, places
from isr_pipeline.verdicts.settings import load_settings

SIZE = 2_000
METRICS = list(load_settings().metrics)
OFFLINE, FLAPS = "offline_partition_rate", "isr_flaps_per_partition_hour"


@pytest.fixture(scope="module")
def pool() -> Pool:
    """A pool of numbers: one harmless arm that re-draws a tenth, and flaps half as high again."""
    random = np.random.default_rng(5)
    experiment = load_contest().drawn_from(SIZE)
    drawn = places(experiment.profile.strata, SIZE)
    before = {name: random.poisson(1.0, SIZE).astype(float) for name in columns_of(load_settings())}
    before["failed"] = np.zeros(SIZE)
    before["any_offline"] = (before[OFFLINE] > 0).astype(float)
    touched = random.random(SIZE) < 0.1
    harmless = {
        name: np.where(touched, random.permutation(values), values)
        for name, values in before.items()
    }
    harmless["failed"] = np.zeros(SIZE)
    worse = {**before, FLAPS: before[FLAPS] * 1.5}
    arms = (
        Arm("one", BASELINE, "baseline", {}),
        Arm("one", HARMLESS[0], "harmless", {}),
        Arm("one", HARMLESS[1], "harmless", {}),
        Arm("one", "worse", "injection", {}),
    )
    return Pool(
        digest="",
        made_by="",
        experiment=experiment,
        panel_strata=load_contest().panel_strata(),
        size=SIZE,
        strata=in_order_of_patterns(drawn),
        weights=np.array([place.weight for place in drawn]),
        exposure_s=330.0,
        outcomes={
            ("one", BASELINE): before,
            ("one", HARMLESS[0]): harmless,
            ("one", HARMLESS[1]): dict(before),
            ("one", "worse"): worse,
        },
        arms=arms,
    )


class TestDraws:
    """A night's panels come from the pool as a real panel comes from the population."""

    def test_panels_share_no_scenario_and_repeat_none(self, pool: Pool) -> None:
        """Regression and confirm panel of a configuration are disjoint."""
        panel = places(pool.panel_strata, 200)
        first, second = draw_indices(pool.strata, panel, 5, np.random.default_rng(1))
        for column in range(5):
            both = np.concatenate([first[:, column], second[:, column]])
            assert len(set(both.tolist())) == 400

    def test_every_place_is_filled_from_its_own_stratum(self, pool: Pool) -> None:
        """The strata have the shares, and the scenarios the weights, of a real panel."""
        panel = places(pool.panel_strata, 200)
        first, _ = draw_indices(pool.strata, panel, 3, np.random.default_rng(2))
        for place, row in zip(panel, first, strict=True):
            assert set(row.tolist()) <= set(pool.strata[place.stratum].tolist())
        night = draw_night(pool, pool.arms[1:2], 200, METRICS, np.random.default_rng(2))
        assert night.regression[0].weights.sum() == pytest.approx(200)

    def test_patterns_of_a_stratum_are_sampled_evenly(self, pool: Pool) -> None:
        """One scenario out of each stretch of the pool, which stands in order of patterns."""
        panel = places(pool.panel_strata, 200)
        first, _ = draw_indices(pool.strata, panel, 1, np.random.default_rng(3))
        ranks = [
            int(np.flatnonzero(pool.strata["offline"] == index)[0])
            for place, index in zip(panel, first[:, 0].tolist(), strict=True)
            if place.stratum == "offline"
        ]
        count = allocation(pool.panel_strata, 200)["offline"]
        assert ranks == sorted(ranks)
        size = len(pool.strata["offline"])
        assert all(
            place * size // count <= rank < (place + 1) * size // count
            for place, rank in enumerate(ranks)
        )

    def test_the_same_seed_draws_the_same_night(self, pool: Pool) -> None:
        """Nights are deterministic."""
        one, two = (
            draw_night(pool, pool.arms[1:3], 200, METRICS, np.random.default_rng(4))
            for _ in range(2)
        )
        assert np.array_equal(series(one, METRICS), series(two, METRICS))
        assert series(one, METRICS).shape == (len(METRICS), 2, PAST_NIGHTS + 1)


class TestPool:
    """A pool keeps its own shares of the strata, and its name."""

    def test_the_pool_has_shares_of_its_own(self) -> None:
        """Another share in the fault profile changes a night's panels and not the pool."""
        contest = load_contest()
        strata = contest.drawn_from(SIZE).profile.strata
        assert {name: one.sample for name, one in strata.items()} == contest.pool_shares
        assert {name: one.population for name, one in strata.items()} == {
            name: one.population for name, one in contest.panel_strata().items()
        }

    def test_a_pool_that_is_not_there_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Asked for by its digest, a pool must be there: those that are, are listed."""
        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        (tmp_path / "contest" / "abc").mkdir(parents=True)
        (tmp_path / "contest" / "abc" / "made-by").write_text("v1\n")
        with pytest.raises(InputError, match="--pool: xyz; allowed: abc"):
            load_pool(load_contest(), SIZE, ["failed"], "xyz")


class TestTruth:
    """What counts as which effect, and as harmless."""

    def test_the_pool_says_how_large_an_effect_is(self, pool: Pool) -> None:
        """The ratio of weighted means, whatever the injection was meant to be."""
        worse = pool.arms[-1]
        assert pool.ratio(worse, FLAPS) == pytest.approx(1.5)
        assert pool.ratio(worse, OFFLINE) == 1.0
        assert planted_arms(pool, Kind(200, FLAPS, "x1.5")) == (worse,)
        assert planted_arms(pool, Kind(200, OFFLINE, "x1.5")) == ()

    @pytest.mark.parametrize(
        ("ratio", "effect"),
        [(1.2, "x1.25"), (1.3, "x1.25"), (1.4, "x1.5"), (1.6, "x1.5"), (1.35, None), (1.0, None)],
    )
    def test_windows(self, ratio: float, effect: str | None) -> None:
        """1.2 to 1.3 is x1.25, 1.4 to 1.6 is x1.5, and nothing else is either."""
        assert [name for name in WINDOWS if in_window(ratio, name)] == ([effect] if effect else [])

    def test_an_identical_arm_is_no_null_arm(self, pool: Pool) -> None:
        """A refactor that changes nothing is never asked to stand for a harmless change."""
        assert harmless_arms(pool, METRICS) == (pool.arms[1],)

    def test_few_scenarios_that_differ_are_beyond_the_panel(self, pool: Pool) -> None:
        """An effect that fewer scenarios show than any paired test needs is counted apart."""
        few = dict(pool.outcomes["one", BASELINE])
        largest = np.argsort(-pool.weights)[:30]
        few[FLAPS] = few[FLAPS].copy()
        few[FLAPS][largest] += 0.5 * (pool.weights @ few[FLAPS]) / pool.weights[largest].sum()
        rare = replace(pool, outcomes={**pool.outcomes, ("one", "worse"): few})
        assert planted_arms(rare, Kind(200, FLAPS, "x1.5")) == ()
        assert planted_arms(rare, Kind(200, FLAPS, "x1.5", beyond=True)) == (rare.arms[-1],)

    def test_one_configuration_in_ten_regresses(self, pool: Pool) -> None:
        """A night has forty configurations; four are planted, none is left as it was."""
        random = np.random.default_rng(6)
        kinds = [arm.kind for arm in choose_arms(pool, Kind(200, FLAPS, "x1.5"), METRICS, random)]
        assert len(kinds) == CONFIGURATIONS
        assert kinds.count("injection") == PLANTED
        assert kinds.count("harmless") == CONFIGURATIONS - PLANTED
        assert {arm.kind for arm in choose_arms(pool, Kind(200), METRICS, random)} == {"harmless"}


def test_harmless_changes_leave_the_faults_alone() -> None:
    """Other phases, another order of the lists: the same faults to the same brokers."""
    experiment = load_contest().drawn_from(200)
    row = draw_scenario(experiment.source, PANEL, "2026-11-19", 7)
    scenario = scenario_from_json(row.scenario_json)
    redrawn, backwards = (refactored(scenario, change) for change in HARMLESS)
    assert redrawn.seed != scenario.seed
    assert redrawn.model_copy(update={"seed": scenario.seed}) == scenario
    assert backwards.cluster.brokers == scenario.cluster.brokers[::-1]
    assert backwards.topics == scenario.topics[::-1]
    assert redrawn.faults == backwards.faults == scenario.faults


class TestContestants:
    """What each says of a night whose truth is plain."""

    def test_all_see_half_as_much_again_on_many_scenarios(self, pool: Pool) -> None:
        """Thrash x 1.5 everywhere: nobody misses it, and the confirm panel agrees."""
        arms = (pool.arms[-1], pool.arms[1])
        night = draw_night(pool, arms, 500, METRICS, np.random.default_rng(7))
        row = METRICS.index(FLAPS)
        for alarms in (
            own(night, load_settings()),
            rise(night, METRICS, 0.25),
            three_sigma(night, METRICS),
            mann_whitney(night, METRICS),
        ):
            assert alarms.confirmed[row, 0]
        said = own(night, load_settings())
        assert not said.confirmed[:, 1].any()
        assert not said.confirmed[METRICS.index(OFFLINE)].any()

    def test_a_threshold_is_a_threshold(self, pool: Pool) -> None:
        """Half as much again is above +10 % and +25 %, and not above +60 %."""
        night = draw_night(pool, pool.arms[-1:], 200, METRICS, np.random.default_rng(8))
        row = METRICS.index(FLAPS)
        said = [bool(rise(night, METRICS, share).flagged[row, 0]) for share in (0.1, 0.25, 0.6)]
        assert said == [True, True, False]


class TestCounting:
    """Recall, precision, false-alarm nights and their intervals."""

    @pytest.mark.parametrize(("hits", "tries"), [(0, 300), (1, 300), (19, 20), (7, 7), (50, 99)])
    def test_wilson_is_scipys(self, hits: int, tries: int) -> None:
        """The interval is scipy's."""
        found = stats.binomtest(hits, tries).proportion_ci(0.95, method="wilson")
        assert wilson(hits, tries) == pytest.approx((found.low, found.high))

    def test_nothing_tried_says_nothing(self) -> None:
        """Of nothing the interval is everything."""
        assert wilson(0, 0) == (0.0, 1.0)

    def test_an_alarm_is_right_only_where_the_metric_truly_got_worse(self, pool: Pool) -> None:
        """Planted and worse is right; planted and not worse, or harmless, is wrong."""
        arms = (pool.arms[-1], pool.arms[1])
        truth = {
            (arm.configuration, arm.change): {name: pool.ratio(arm, name) for name in METRICS}
            for arm in arms
        }
        said = np.zeros((len(METRICS), 2), dtype=bool)
        said[METRICS.index(FLAPS), :] = True
        said[METRICS.index(OFFLINE), 0] = True
        score = Score()
        alarms = Alarms(said, said, np.zeros_like(said))
        score.night(alarms, arms, METRICS, (FLAPS, "flaps_x1.5"), truth)
        assert (score.precision.hits, score.precision.tries) == (1, 3)
        assert (score.flagged["flaps_x1.5"].hits, score.flagged["flaps_x1.5"].tries) == (1, 1)

    def test_one_confirmed_test_makes_a_false_alarm_night(self) -> None:
        """A suspicion that is not confirmed is counted, and is no false alarm."""
        none, some = np.zeros((2, 3), dtype=bool), np.zeros((2, 3), dtype=bool)
        some[1, 2] = True
        score = Score()
        score.null_night(Alarms(some, none, none))
        score.null_night(Alarms(some, some, none))
        score.null_night(Alarms(none, none, none))
        assert (score.alarms.hits, score.suspicions.hits, score.alarms.tries) == (1, 2, 3)
