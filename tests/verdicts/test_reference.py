"""Each configuration against the reference: what is said of it, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import (
    FLAPS,
    LATENCY,
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    UNDER_MIN,
    MetricSettings,
    load_settings,
)
from isr_pipeline.verdicts.record import (
    AgainstReference,
    Difference,
    Figures,
    NightVerdict,
    Per,
    Status,
    Word,
    load_verdict,
)
from isr_pipeline.verdicts.reference import DESCRIBED, called_again
from isr_pipeline.verdicts.stages import decide, stop_asked, why_not
from isr_pipeline.worlds.columns import METRICS, values_of
from tests.verdicts.synthetic import LATER, NIGHT, Change, World, scaled
from tests.verdicts.test_stages import TestError as NullNights
from tests.verdicts.test_stages import accepted, first, staged

NAMES = ("today", "lag-20s", "other")
LOST = "records_lost"
THIRD = "2026-11-21"


def alike_but(*changes: Change) -> Change:
    """All configurations as the reference, then some changed."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
    ) -> None:
        same = values_of(world_of(len(columns[FLAPS])).outcome_rows(panel, "today", None))
        for column in (PRODUCE, OFFLINE, LATENCY, FLAPS, UNDER_MIN):
            columns[column] = np.asarray(same[column], float)
        for one in changes:
            one(panel, name, columns, rng)

    return change


def world_of(scenarios: int = 120, values: dict[str, dict[str, object]] | None = None) -> World:
    """Configurations that stand for some settings."""
    return World(names=NAMES, scenarios=scenarios, values=values or {})


def noisy(column: str, factor: float, shape: float) -> Change:
    """Multiply a column of lag-20s by a factor that is another in each scenario."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name == "lag-20s":
            own = np.random.default_rng([5, len(panel)])
            columns[column] = (
                columns[column] * factor * own.gamma(shape, 1 / shape, len(columns[column]))
            )

    return change


def in_one_stratum(column: str, factor: float) -> Change:
    """Multiply a column of lag-20s in one of two strata."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        here = world_of(len(columns[column])).scenario_rows(panel)["stratum"] == "stratum-0"
        if name == "lag-20s":
            columns[column] = np.where(here, factor * columns[column], columns[column])

    return change


def some_of(column: str, amount: float, scenarios: int, who: str = "lag-20s") -> Change:
    """Give a configuration so much of what the reference has none of, in some scenarios."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        del panel
        if name == who:
            columns[column][:scenarios] = amount

    return change


def against(world: World, *changes: Change) -> AgainstReference:
    """What is said of lag-20s."""
    verdict = judge_night(world.write(NIGHT, alike_but(*changes)))
    return verdict.against_reference[0]


def difference(metric: str, *changes: Change, world: World | None = None) -> Difference:
    """What is said of lag-20s in one metric."""
    found = against(world or world_of(), *changes).difference(metric)
    assert found is not None
    return found


@pytest.mark.usefixtures("home")
class TestWords:
    """better, worse, no difference that matters, undecided."""

    def test_what_surely_falls_is_better(self) -> None:
        """Half in every scenario: the ratio, its interval and the q say the same."""
        found = difference(PRODUCE, scaled(PRODUCE, 0.5, "lag-20s"))
        assert found.word is Word.BETTER
        assert (found.ratio, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5))
        assert found.after == pytest.approx(0.5 * found.before)
        assert found.q is not None
        assert found.q < 0.05
        assert (found.scenarios, found.differing) == (120, 120)

    def test_what_surely_rises_is_worse(self) -> None:
        """The same the other way round."""
        assert difference(FLAPS, scaled(FLAPS, 2.0, "lag-20s")).word is Word.WORSE

    def test_both_in_one_configuration(self) -> None:
        """A gain hides no price."""
        found = against(world_of(), scaled(PRODUCE, 0.5, "lag-20s"), scaled(FLAPS, 2.0, "lag-20s"))
        words = {one.metric: one.word for one in found.differences}
        assert (words[PRODUCE], words[FLAPS]) == (Word.BETTER, Word.WORSE)

    def test_the_same_outcomes_are_no_difference(self) -> None:
        """To the last bit."""
        found = difference(PRODUCE)
        assert (found.word, found.differing, found.ratio) == (Word.NONE, 0, 1.0)

    @pytest.mark.parametrize("factor", [1.02, 0.98])
    def test_a_sure_change_that_is_small_is_no_difference_that_matters(self, factor: float) -> None:
        """2 % in every scenario is no chance, and less than what matters."""
        found = difference(PRODUCE, scaled(PRODUCE, factor, "lag-20s"))
        assert (found.word, found.differing) == (Word.NONE, 120)

    def test_noise_is_undecided(self) -> None:
        """Neither a rise nor a fall that matters is ruled out."""
        found = difference(PRODUCE, noisy(PRODUCE, 1.0, 0.2))
        assert found.word is Word.UNDECIDED
        assert found.low is not None
        assert found.high is not None
        assert found.low < 1.0 / 1.1
        assert found.high > 1.1

    def test_a_fall_that_is_not_ruled_out_is_undecided(self) -> None:
        """`ok` against a baseline asks only for rises; between settings a gain matters as much."""
        found = difference(PRODUCE, noisy(PRODUCE, 0.9, 1.0))
        assert found.high is not None
        assert found.high < 1.1
        assert found.word is Word.UNDECIDED

    def test_a_word_and_its_interval_agree(self) -> None:
        """Over many sizes of noise: better lies below 1, worse above, no difference within."""
        for factor in (0.7, 0.9, 1.0, 1.1, 1.4):
            for shape in (0.3, 1.0, 4.0, 40.0):
                found = difference(PRODUCE, noisy(PRODUCE, factor, shape))
                assert found.low is not None
                assert found.high is not None
                if found.word is Word.BETTER:
                    assert found.high < 1.0
                if found.word is Word.WORSE:
                    assert found.low > 1.0
                if found.word is Word.NONE:
                    assert 1.0 / 1.1 < found.low <= found.high < 1.1

    def test_configurations_that_are_alike_are_called_the_same(self) -> None:
        """Twins get one word, one ratio and one interval."""
        both = scaled(PRODUCE, 0.5, "lag-20s", "other")
        first, second = judge_night(world_of().write(NIGHT, alike_but(both))).against_reference
        assert first.difference(PRODUCE) == second.difference(PRODUCE)


@pytest.mark.usefixtures("home")
class TestDescribed:
    """What is shown beside the tests."""

    def test_counts_in_no_correction_and_has_no_word(self) -> None:
        """However much it changes, what is tested is called as before."""
        name = "leader_changes_per_partition_hour"
        found = against(world_of(), scaled(PRODUCE, 0.5, "lag-20s"), some_of(name, 4.0, 60))
        calm = against(world_of(), scaled(PRODUCE, 0.5, "lag-20s"))
        assert found.differences == calm.differences
        assert [one.metric for one in found.described] == [*DESCRIBED]
        assert found.described[0].pair.after > found.described[0].pair.before == 0
        assert {one.metric for one in found.differences}.isdisjoint(DESCRIBED)


@pytest.mark.usefixtures("home")
class TestStrata:
    """Where it differs."""

    def test_a_stratum_that_is_hurt_is_told(self) -> None:
        """With its own ratio and word; the other stratum is not."""
        found = difference(FLAPS, in_one_stratum(FLAPS, 3.0))
        assert [(one.stratum, one.word) for one in found.strata] == [("stratum-0", Word.WORSE)]
        assert found.strata[0].ratio == pytest.approx(3.0)

    def test_a_gain_in_all_keeps_the_stratum_that_is_hurt(self) -> None:
        """The word is of all scenarios, the stratum's stands beside it."""
        found = difference(
            LATENCY, scaled(LATENCY, 0.3, "lag-20s"), in_one_stratum(LATENCY, 1.5 / 0.3)
        )
        assert found.word is Word.BETTER
        words = {one.stratum: one.word for one in found.strata}
        assert words == {"stratum-0": Word.WORSE, "stratum-1": Word.BETTER}


@pytest.mark.usefixtures("home")
class TestPromise:
    """What acks=all promises is never traded in silence."""

    @pytest.mark.parametrize(
        "weaker",
        [{"min.insync.replicas": 1}, {"unclean.leader.election.enable": True}],
        ids=lambda values: next(iter(values)),
    )
    def test_a_weaker_setting_is_named(self, weaker: dict[str, object]) -> None:
        """The key by which records are kept less surely; of the others none."""
        today: dict[str, object] = {"min.insync.replicas": 2}
        world = world_of(values={"today": today, "other": today, "lag-20s": today | weaker})
        first, second = judge_night(world.write(NIGHT, alike_but())).against_reference
        assert (first.weaker, second.weaker) == (tuple(weaker), ())

    def test_a_release_whose_default_is_weaker_is_named(self) -> None:
        """To 0.10 unclean elections are the default."""
        release: dict[str, object] = {
            "cluster.release": "0.8.2",
            "cluster.controller": "zookeeper",
        }
        found = against(world_of(values={"lag-20s": release}))
        assert found.weaker == ("unclean.leader.election.enable",)

    def test_records_of_one_replica_are_compared(self) -> None:
        """They are tested like every metric, whether `verdicts.yaml` names them or not."""
        found = difference(ONE_REPLICA, some_of(ONE_REPLICA, 500.0, 40))
        assert (found.word, found.before, found.ratio) == (Word.WORSE, 0.0, None)
        assert found.after > 100.0

    def test_few_lost_records_are_never_no_difference(self) -> None:
        """One scenario proves nothing; that it lost records is told, and where."""
        found = difference(LOST, some_of(LOST, 3.0, 1))
        assert found.word is Word.UNDECIDED
        assert found.newly == ("regression-0000",)

    def test_time_under_another_min_isr_is_not_compared(self) -> None:
        """The bar was moved: what clients feel of it, produce unavailability says."""
        values: dict[str, object] = {"min.insync.replicas": 1}
        two: dict[str, object] = {"min.insync.replicas": 2}
        moved = against(world_of(values={"today": two, "lag-20s": values}))
        assert moved.difference(UNDER_MIN) is None
        kept = against(world_of(values={"today": two, "lag-20s": two}))
        assert kept.difference(UNDER_MIN) is not None


@pytest.mark.usefixtures("home")
class TestRecord:
    """Which configurations there are, and where it is kept."""

    def test_the_experiments_order(self) -> None:
        """Nobody is put above another, however much better."""
        verdict = judge_night(world_of().write(NIGHT, alike_but(scaled(PRODUCE, 0.2, "other"))))
        assert [one.name for one in verdict.against_reference] == ["lag-20s", "other"]

    def test_the_verdict_keeps_it_to_the_end(self) -> None:
        """It is written when the night is judged, and still there when it is decided."""
        plan = world_of().write(NIGHT, alike_but(scaled(PRODUCE, 0.5, "lag-20s")))
        judged = judge_night(plan).against_reference
        decide(plan)
        assert load_verdict("synthetic", NIGHT).against_reference == judged

    def test_a_configuration_without_data_says_so(self) -> None:
        """Only that one; the others are compared."""
        failing = some_of("failed", 1.0, 1)
        first, second = judge_night(world_of().write(NIGHT, alike_but(failing))).against_reference
        assert (first.problem, first.differences) == ("some of its pairs failed", ())
        assert second.problem == ""
        assert second.differences

    def test_a_reference_without_data_compares_with_nothing(self) -> None:
        """And no half comparison either."""

        def spent(panel: str, name: str, columns: dict[str, np.ndarray], _: object) -> None:
            if name == "today" and panel == "regression":
                columns["failed"][3] = 1

        assert judge_night(world_of().write(NIGHT, spent)).against_reference == ()

    def test_the_baselines_verdict_is_another_matter(self) -> None:
        """A first night has no baseline, and compares its configurations all the same."""
        verdict = judge_night(world_of().write(NIGHT, alike_but()))
        assert verdict.status is Status.BASELINE
        assert len(verdict.against_reference) == 2


@pytest.mark.usefixtures("home")
class TestDecidedBy:
    """How many scenarios would decide it."""

    @pytest.mark.parametrize("factor", [1.0, 0.8])
    def test_as_many_do(self, factor: float) -> None:
        """A panel of that size is decided, whether there is a difference or not."""
        change = noisy(PRODUCE, factor, 8.0)
        open_ = difference(PRODUCE, change, world=world_of(12))
        assert open_.word is Word.UNDECIDED
        assert open_.decided_by is not None
        larger = difference(PRODUCE, change, world=world_of(open_.decided_by))
        assert larger.word is not Word.UNDECIDED

    def test_no_number_decides_what_just_matters(self) -> None:
        """A fall by a tenth that is known well: more scenarios would say the same."""
        edge = difference(PRODUCE, noisy(PRODUCE, 0.91, 100.0), world=world_of(200))
        assert (edge.word, edge.decided_by) == (Word.UNDECIDED, None)

    def test_nobody_can_tell_from_zero(self) -> None:
        """One scenario of 120: there is no ratio that could stay."""
        assert difference(LOST, some_of(LOST, 3.0, 1)).decided_by is None


FALLS = noisy(PRODUCE, 0.8, 1.0)
"""Too little for 40 scenarios."""


@pytest.mark.usefixtures("home")
class TestFurther:
    """What was asked and is undecided gets the night's further scenarios."""

    WORLD = World(names=NAMES, scenarios=40, budget=840, asked=True)

    def test_what_was_asked_is_decided(self) -> None:
        """A first night, without any baseline: 40 scenarios leave it undecided, more do not."""
        plan = self.WORLD.write(LATER, alike_but(FALLS))
        before = judge_night(plan).against_reference[0].difference(PRODUCE)
        assert before is not None
        assert before.word is Word.UNDECIDED
        verdict = staged(self.WORLD, alike_but(FALLS))
        found = verdict.against_reference[0].difference(PRODUCE)
        assert found is not None
        assert found.word is Word.BETTER
        assert found.scenarios == verdict.stages[-1].scenarios_together > 40
        assert [stage.asked for stage in verdict.stages] == [1] * len(verdict.stages)
        assert verdict.stages[-1].answered == 1
        assert verdict.status is Status.BASELINE

    def test_what_was_not_asked_gets_none(self) -> None:
        """Published rows and the shipped grids stay with the standing panel."""
        world = World(names=NAMES, scenarios=40, budget=840)
        assert staged(world, alike_but(FALLS)).stages == ()

    def test_what_is_decided_gets_none(self) -> None:
        """Half in every scenario needs no more."""
        change = alike_but(scaled(PRODUCE, 0.5, "lag-20s"))
        assert staged(self.WORLD, change).stages == ()

    def test_what_no_budget_decides_stays_undecided(self) -> None:
        """All stages are looked at, and nothing awaits another."""
        verdict = staged(self.WORLD, alike_but(noisy(PRODUCE, 1.0, 0.05)))
        found = verdict.against_reference[0].difference(PRODUCE)
        assert found is not None
        assert found.word is Word.UNDECIDED
        assert found.scenarios == 800
        assert len(verdict.stages) == 3
        assert verdict.awaiting == ()

    def test_a_decided_metric_stays_as_it_was(self) -> None:
        """A look is about what is undecided; numbers of the others are of the standing panel."""
        change = alike_but(FALLS, scaled(FLAPS, 2.0, "lag-20s"))
        verdict = staged(self.WORLD, change)
        found = verdict.against_reference[0].difference(FLAPS)
        assert found is not None
        assert (found.word, found.scenarios) == (Word.WORSE, 40)

    def test_what_got_worse_goes_on_where_time_ends_for_what_was_asked(self) -> None:
        """The baseline's arm keeps what it awaits; the verdict says why the other has no more."""
        world = accepted(World(names=NAMES, scenarios=40, budget=840, asked=True))
        plan = world.write(LATER, alike_but(FALLS))
        judged = judge_night(plan)
        assert judged.awaits_confirm
        assert judged.awaits_reference == ("id-lag-20s",)
        stopped = stop_asked(plan, "time is over")
        assert (stopped.awaits_reference, stopped.stopped) == ((), "time is over")
        assert load_verdict("synthetic", LATER).awaits_confirm == judged.awaits_confirm
        assert why_not(plan, "confirm") == ""

    def test_looks_err_as_seldom_as_one_would(self) -> None:
        """Each direction may be called in one of twenty null nights, by all looks together."""
        world = World(names=("today", "lag-20s"))
        plan, night = world.plan(NIGHT), NullNights()
        floors = {FLAPS: MetricSettings(floor=0.0)}
        tuned = load_settings().model_copy(
            update={"metrics": floors, "ratio_min": 1.0 + 1e-9, "flips": 999, "flips_max": 999}
        )
        random = np.random.default_rng(46)
        asked = Difference(
            metric=FLAPS, word=Word.UNDECIDED, scenarios=25, differing=1, before=1.0, after=1.0,
            pair=Figures(per=Per.MIX, scenarios=25, before=1.0, after=1.0, ratio=1.0),
        )  # fmt: skip
        beside = AgainstReference(
            name="lag-20s", config_id="id-lag-20s", weaker=(), differences=(asked,)
        )
        called = 0
        for _ in range(60):
            new, old = night.night(random, 1)
            both = replace(
                new,
                config_ids=("id-today", "id-lag-20s"),
                strata=("stratum-0",) * len(new.scenario_ids),
                values={name: np.hstack([old.values[name], new.values[name]]) for name in METRICS},
                missing=np.zeros((len(new.scenario_ids), 2), dtype=bool),
                failed=np.zeros((len(new.scenario_ids), 2), dtype=bool),
            )
            found: tuple[AgainstReference, ...] = (beside,)
            for look in night.LOOKS:
                here = first(both, look.scenarios)
                found = called_again(plan, found, here, tuned, look=look, kept=1.0)
            called += found[0].differences[0].word in (Word.BETTER, Word.WORSE)
        assert called <= 2 * 0.05 * 60


@pytest.mark.usefixtures("home")
class TestKept:
    """A comparison is made once."""

    WORLD = World(names=NAMES, scenarios=40, budget=840, asked=True)

    def after(self, world: World, *changes: Change) -> NightVerdict:
        """A later night than the one that was decided."""
        staged(self.WORLD, alike_but(*changes))
        return judge_night(world.write(THIRD, alike_but(*changes)))

    def test_a_quiet_night_repeats_it(self) -> None:
        """The same words and numbers with their night, and nothing awaits a scenario."""
        first = staged(self.WORLD, alike_but(FALLS)).against_reference
        verdict = self.after(self.WORLD, FALLS)
        assert verdict.against_reference == tuple(
            one.model_copy(update={"night": LATER}) for one in first
        )
        assert verdict.awaiting == ()
        assert decide(self.WORLD.plan(THIRD)).stages == ()

    def test_what_the_budget_did_not_decide_is_not_asked_again(self) -> None:
        """Undecided on 800 scenarios stays so."""
        verdict = self.after(self.WORLD, noisy(PRODUCE, 1.0, 0.05))
        found = verdict.against_reference[0].difference(PRODUCE)
        assert found is not None
        assert (found.word, found.scenarios) == (Word.UNDECIDED, 800)
        assert verdict.awaiting == ()

    @pytest.mark.parametrize(
        "change",
        [
            {"budget": 1_000},
            {"panel_digest": "e" * 64},
            {"code_version": "5678def+kernel.000000000000"},
            {"values": {"today": {"replica.lag.time.max.ms": 45_000}}},
            {"values": {"lag-20s": {"replica.lag.time.max.ms": 45_000}}},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_something_else_is_asked_anew(self, change: dict[str, Any]) -> None:
        """Another budget, panel, kernel, reference or configuration."""
        verdict = self.after(replace(self.WORLD, **change), FALLS)
        assert verdict.against_reference[0].night == ""
        assert verdict.awaits_reference == ("id-lag-20s",)

    def test_a_damaged_file_is_made_again(self) -> None:
        """What it kept can be simulated at any time."""
        staged(self.WORLD, alike_but(FALLS))
        file = Home.from_environment().made / "comparisons" / "synthetic.json"
        write_whole(file, file.read_text()[:100])
        verdict = judge_night(self.WORLD.write(THIRD, alike_but(FALLS)))
        assert verdict.awaits_reference == ("id-lag-20s",)
