"""Each configuration against the reference: what is said of it, and what is not."""

from __future__ import annotations

import numpy as np
import pytest

from isr_pipeline.verdicts.difference import AgainstReference, Difference, Word
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.model import Status, load_verdict
from isr_pipeline.verdicts.quantities import (
    FLAPS,
    LATENCY,
    OFFLINE,
    ONE_REPLICA,
    PRODUCE,
    UNDER_MIN,
)
from isr_pipeline.verdicts.stages import decide
from isr_pipeline.worlds.columns import values_of
from tests.verdicts.synthetic import NIGHT, Change, World, scaled

NAMES = ("today", "lag-20s", "other")
LOST = "records_lost"


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
