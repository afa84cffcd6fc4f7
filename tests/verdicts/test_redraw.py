"""What must never happen, drawn again: the phases, the counts, and what becomes of a suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.kernels.source import keep_present
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.verdicts.baseline import BaselineConfiguration, BaselineRecord
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import load_settings
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    Figures,
    Finding,
    MetricVerdict,
    Per,
    Redraw,
    Seen,
    Status,
    StratumVerdict,
)
from isr_pipeline.verdicts.sentences import reason_of_metric
from isr_pipeline.verdicts.stages import (
    DRAWS,
    MORE_DRAWS,
    PARTS,
    Amount,
    awaiting,
    decided_by,
    drawn_again,
    levels_of,
    phases,
    redraw,
)
from tests.approved import Approved
from tests.verdicts.synthetic import LATER, NIGHT, World, decided
from tests.verdicts.test_judge import accepted

SCENARIO = {"scenario_id": "regression-00007", "seed": 42, "faults": [{"kind": "crash"}]}
PAIR = Figures(per=Per.YEAR, scenarios=48, before=0.0, after=1.0, ratio=None)
NEWLY = Seen(finding=Finding.NEWLY, value=1.0, newly=5, pair=PAIR)
SUSPECT = MetricVerdict(
    metric="records_lost",
    status=Status.SUSPECT,
    seen=NEWLY,
    newly=("regression-00007",),
)


LEVELS = levels_of(load_settings(), 1, 1)


def losing_in(count: int, records: float = 5.0, at_first: float = 0.0) -> Amount:
    """A kernel that loses records in the first so many phases, and some in the scenario itself."""
    seeds = [one["seed"] for one in phases(SCENARIO, MORE_DRAWS)][:count]

    def amount(scenario: Mapping[str, Any], _: Mapping[str, Any], metric: str) -> float:
        assert metric == "records_lost"
        if scenario["seed"] == SCENARIO["seed"]:
            return at_first
        return records if scenario["seed"] in seeds else 0.0

    return amount


def drawn(tonight: int, before: int, levels: tuple[float, float] = LEVELS) -> Redraw:
    """The scenario, drawn again where both sides lose records in so many phases."""
    runs = losing_in(tonight), losing_in(before)
    return drawn_again(SCENARIO, "records_lost", ({}, {}), runs, levels)


def test_phases_differ_in_the_seed_alone() -> None:
    """Twenty other seeds, the same ones every time, and the same faults."""
    drawn = phases(SCENARIO)
    assert len({one["seed"] for one in drawn} | {42}) == DRAWS + 1
    assert drawn == phases(SCENARIO)
    assert all({**one, "seed": 42} == SCENARIO for one in drawn)


@pytest.mark.parametrize(
    ("tonight", "before", "draws", "status"),
    [
        (17, 0, 20, Status.REGRESSED),
        (7, 0, 20, Status.REGRESSED),
        (6, 0, 60, Status.SUSPECT),
        (0, 0, 20, Status.SUSPECT),
        (12, 10, 20, Status.SUSPECT),
    ],
)
def test_two_counts_decide(tonight: int, before: int, draws: int, status: Status) -> None:
    """Fisher's exact test of the two counts, at its part of the p; never less than suspect."""
    found = drawn(tonight, before)
    assert (found.tonight, found.before, found.draws) == (tonight, before, draws)
    decided = decided_by(SUSPECT, (found,))
    assert decided.status is status
    if status is Status.SUSPECT:
        assert reason_of_metric(decided).endswith(
            f"regression-00007: in {tonight} of {draws} phase draws, {before} of {draws} before"
        )


def test_a_hint_is_asked_in_more_phases() -> None:
    """Three of the first twenty phases hint at it, nine of sixty are certain."""
    seeds = [one["seed"] for one in phases(SCENARIO, MORE_DRAWS)][::7]

    def sometimes(scenario: Mapping[str, Any], *_: Any) -> float:
        return float(scenario["seed"] in seeds)

    found = drawn_again(SCENARIO, "records_lost", ({}, {}), (sometimes, losing_in(0)), LEVELS)
    assert (found.draws, found.tonight, found.before) == (60, 9, 0)
    assert decided_by(SUSPECT, (found,)).status is Status.REGRESSED


@pytest.mark.parametrize(("tonight", "is_open"), [(6, True), (4, False)])
def test_what_hints_at_a_difference_stays_open(tonight: int, is_open: bool) -> None:
    """Counts that are alike close the question, six of sixty against two does not."""
    found = drawn(tonight, 2)
    metric = decided_by(SUSPECT, (found,))
    assert (metric.status, metric.is_open) == (Status.SUSPECT, is_open)


def test_ten_times_as_much_is_new(approved: Approved) -> None:
    """A baseline that loses 3 records in the scenario excuses 30 in other phases, not 31."""
    before = losing_in(20, records=3.0, at_first=3.0)
    for records, tonight in ((31.0, 20), (30.0, 0)):
        runs = losing_in(20, records=records), before
        found = drawn_again(SCENARIO, "records_lost", ({}, {}), runs, LEVELS)
        assert (found.tonight, found.before, found.above) == (tonight, 0, 30.0)
    found = drawn_again(
        SCENARIO, "records_lost", ({}, {}), (losing_in(20, records=31.0), before), LEVELS
    )
    approved(reason_of_metric(decided_by(SUSPECT, (found,))))


def test_all_tests_together_err_as_often_as_one() -> None:
    """The parts of both redraws, and of few and many phases, add up to the p that confirms."""
    whole = sum(sum(levels_of(load_settings(), number, 3)) * 3 for number in PARTS)
    assert whole == pytest.approx(load_settings().confirm_p)


def test_scenarios_that_are_found_later_are_drawn_once_more() -> None:
    """Not those that were drawn, not while nothing new was found, and not a third time."""
    first = drawn(6, 2)
    one = decided_by(SUSPECT, (first,))

    def waiting(metric: MetricVerdict) -> list[str]:
        config = ConfigVerdict(
            name="today", config_id="a", status=Status.SUSPECT, metrics=(metric,)
        )
        return [found.metric for found in awaiting(config)]

    assert waiting(SUSPECT) == ["records_lost"]
    assert waiting(one) == []
    later = one.model_copy(update={"newly": (*one.newly, "confirm-00003")})
    assert waiting(later) == ["records_lost"]
    again = first.model_copy(update={"scenario_id": "confirm-00003", "number": 2})
    both = decided_by(later, (again,))
    assert len(both.redraws) == 2
    third = both.model_copy(update={"newly": (*both.newly, "further-1-00009")})
    assert waiting(third) == []


def test_what_confirms_comes_first_and_nothing_contradicts_it(approved: Approved) -> None:
    """The draws lead, no further scenario is said to be awaited, and no stratum stays suspect."""
    stratum = StratumVerdict(
        stratum="offline", status=Status.SUSPECT, scenarios=24, share=0.05, risen=5, fallen=0,
        value=1.0, baseline_value=0.0, pair=PAIR,
    )  # fmt: skip
    flagged = SUSPECT.model_copy(
        update={
            "further": NEWLY.on(48),
            "strata": (stratum, stratum.model_copy(update={"status": Status.OK})),
        }
    )
    decided = decided_by(flagged, (drawn(20, 0),))
    approved(reason_of_metric(decided))
    assert [one.status for one in decided.strata] == [Status.REGRESSED, Status.OK]


def test_the_p_is_divided_among_the_scenarios() -> None:
    """Three scenarios drawn again are three chances: 7 of 20 in one of them is not enough."""
    levels = levels_of(load_settings(), 1, 3)
    some, none = drawn(7, 0, levels), drawn(0, 0, levels)
    assert decided_by(SUSPECT, (some, none, none)).status is Status.SUSPECT
    assert drawn(8, 0, levels).p < levels[0]


@pytest.mark.usefixtures("home")
class TestNight:
    """The step of a night that draws again."""

    def test_without_the_code_it_is_said(self, approved: Approved) -> None:
        """Sources that are nowhere cannot be run: the suspicion stays, with the reason."""
        verdict = lost_tonight(World())
        metric = verdict.configuration("id-today").metric("records_lost")
        assert metric.status is Status.SUSPECT
        assert metric.newly == ("regression-0007",)
        approved(reason_of_metric(metric))

    def test_what_is_switched_on_may_happen(self) -> None:
        """Unclean elections of a configuration that allows them are not suspect, nor ruled out."""
        world = World()
        world.values["today"] = {"unclean.leader.election.enable": True}
        verdict = lost_tonight(world, "unclean_elections")
        status = verdict.configuration("id-today").metric("unclean_elections").status
        assert status is Status.UNDECIDED

    def test_what_is_switched_off_may_not(self) -> None:
        """The same elections of a configuration that does not allow them are suspect."""
        verdict = lost_tonight(World(), "unclean_elections")
        status = verdict.configuration("id-today").metric("unclean_elections").status
        assert status is Status.SUSPECT


@pytest.mark.usefixtures("home")
class TestRealKernels:
    """A scenario of the experiment `smoke`, drawn again by the kernel itself, both sides."""

    def test_one_scenario_that_newly_loses_records(self, approved: Approved) -> None:
        """Unclean elections lose records in every phase; without them nothing is lost in any."""
        plan, record, name, text = smoke({UNCLEAN: True})
        (one,) = redraw(plan, record, (suspected(plan, name),), {name: text}, load_settings())
        metric = one.metric("records_lost")
        (drawn,) = metric.redraws
        assert (drawn.scenario_id, drawn.draws, drawn.tonight, drawn.before) == (name, 20, 20, 0)
        assert drawn.p < 1e-9
        assert one.status is Status.REGRESSED
        approved(reason_of_metric(metric))

    def test_a_loss_of_both_sides_is_no_regression(self) -> None:
        """The baseline loses as much of the scenario: no phase has ten times that."""
        plan, record, name, text = smoke({UNCLEAN: True}, {UNCLEAN: True})
        (one,) = redraw(plan, record, (suspected(plan, name),), {name: text}, load_settings())
        (drawn,) = one.metric("records_lost").redraws
        assert (drawn.tonight, drawn.before) == (0, 0)
        assert drawn.above > 0
        assert one.status is Status.SUSPECT


UNCLEAN = "unclean.leader.election.enable"
LEADER_ALONE = {"min.insync.replicas": 1}
"""With 2 the leader of that scenario acknowledges nothing that an election could lose."""
PLACE = 5
"""Of a scenario of the standing panel in which a leader dies while its follower is stuck."""


def smoke(
    tonight: dict[str, Any], before: dict[str, Any] | None = None
) -> tuple[Plan, BaselineRecord, str, str]:
    """A night of `smoke` whose reference has min ISR 1 and more keys, its baseline, a scenario."""
    plan = make_plan("smoke", LATER)
    keep_present(Home.from_environment(), plan.code_version)
    one = plan.configurations[0]
    kept = BaselineConfiguration(
        name=one.name,
        config_id=one.config_id,
        is_grid=False,
        overrides={**one.overrides, **LEADER_ALONE, **(before or {})},
    )
    record = BaselineRecord(
        experiment="smoke", night=NIGHT, accepted_by="Ada", accepted_at="2026-11-19T06:00:00Z",
        why="first", code_version=plan.code_version, panel_digest=plan.panel_digest,
        confirm_digest=plan.confirm_digest, configurations=(kept,), digests={},
    )  # fmt: skip
    overrides = {**one.overrides, **LEADER_ALONE, **tonight}
    changed = one.model_copy(update={"overrides": overrides})
    row = draw_scenario(plan.definition.source, "regression", PLACE)
    plan = plan.model_copy(update={"configurations": (changed, *plan.configurations[1:])})
    return plan, record, row.scenario_id, row.scenario_json


def suspected(plan: Plan, name: str) -> ConfigVerdict:
    """The reference, suspect for records that it lost in one scenario."""
    one = plan.configurations[0]
    return ConfigVerdict(
        name=one.name,
        config_id=one.config_id,
        baseline_config_id=one.config_id,
        status=Status.SUSPECT,
        metrics=(SUSPECT.model_copy(update={"newly": (name,)}),),
    )


def lost_tonight(world: World, column: str = "records_lost") -> Any:
    """A night in which one scenario of `today` newly has some."""

    def lost(panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator) -> None:
        if name == "today" and panel == "regression":
            columns[column][7] = 1_000_000

    accepted(world)
    plan = world.write(LATER, lost)
    judge_night(plan)
    return decided(plan)
