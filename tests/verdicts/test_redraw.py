"""What must never happen, drawn again: the phases, the counts, and what becomes of a suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.home import Home
from isr_pipeline.kernels.source import keep_present
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.verdicts.baseline import BaselineConfiguration, BaselineRecord
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.look import AWAITS_CONFIRM, NOT_CONFIRMED
from isr_pipeline.verdicts.model import ConfigVerdict, MetricVerdict, Status, StratumVerdict
from isr_pipeline.verdicts.redraw import DRAWS, decided_by, drawn_again, phases, redraw
from isr_pipeline.verdicts.settings import load_settings
from tests.verdicts.synthetic import LATER, NIGHT, World, decided
from tests.verdicts.test_judge import accepted

SCENARIO = {"scenario_id": "regression-00007", "seed": 42, "faults": [{"kind": "crash"}]}
SUSPECT = MetricVerdict(
    metric="records_lost",
    status=Status.SUSPECT,
    reason="0 to 5000, in 1 scenario that had none; not confirmed (p 1)",
    newly=("regression-00007",),
)


def happening_in(count: int) -> Any:
    """A kernel in which it happens in the first so many phases."""
    seeds = [one["seed"] for one in phases(SCENARIO)][:count]

    def happened(scenario: Mapping[str, Any], _: Mapping[str, Any], metric: str) -> bool:
        assert metric == "records_lost"
        return scenario["seed"] in seeds

    return happened


def test_phases_differ_in_the_seed_alone() -> None:
    """Twenty other seeds, the same ones every time, and the same faults."""
    drawn = phases(SCENARIO)
    assert len({one["seed"] for one in drawn} | {42}) == DRAWS + 1
    assert drawn == phases(SCENARIO)
    assert all({**one, "seed": 42} == SCENARIO for one in drawn)


@pytest.mark.parametrize(
    ("tonight", "before", "status"),
    [
        (17, 0, Status.REGRESSED),
        (7, 0, Status.REGRESSED),
        (6, 0, Status.SUSPECT),
        (0, 0, Status.SUSPECT),
        (12, 10, Status.SUSPECT),
    ],
)
def test_two_counts_decide(tonight: int, before: int, status: Status) -> None:
    """Fisher's exact test of the two counts, at the p that confirms; never less than suspect."""
    runs = happening_in(tonight), happening_in(before)
    found = drawn_again(SCENARIO, "records_lost", ({}, {}), runs)
    assert (found.tonight, found.before, found.draws) == (tonight, before, 20)
    decided = decided_by(SUSPECT, (found,), load_settings())
    assert decided.status is status
    if status is Status.SUSPECT:
        assert decided.reason.endswith(
            f"regression-00007: in {tonight} of 20 phase draws, {before} of 20 before"
        )


def test_what_confirms_comes_first_and_nothing_contradicts_it() -> None:
    """The draws lead, no further scenario is said to be awaited, and no stratum stays suspect."""
    stratum = StratumVerdict(
        stratum="offline", status=Status.SUSPECT, scenarios=24, share=0.05, risen=5, fallen=0,
        value=1.0, baseline_value=0.0,
    )  # fmt: skip
    flagged = SUSPECT.model_copy(
        update={
            "reason": (
                f"none to 1 records a scenario, in 5 scenarios that had none; {AWAITS_CONFIRM}"
                f"{NOT_CONFIRMED}none to 1 records a scenario, on 48 further scenarios"
            ),
            "strata": (stratum, stratum.model_copy(update={"status": Status.OK})),
        }
    )
    runs = happening_in(20), happening_in(0)
    again = drawn_again(SCENARIO, "records_lost", ({}, {}), runs)
    decided = decided_by(flagged, (again,), load_settings())
    assert decided.reason == (
        "confirmed: in 20 of 20 phase draws of regression-00007, 0 of 20 before; "
        "none to 1 records a scenario, in 5 scenarios that had none"
    )
    assert [one.status for one in decided.strata] == [Status.REGRESSED, Status.OK]


def test_the_p_is_divided_among_the_scenarios() -> None:
    """Three scenarios drawn again are three chances: 7 of 20 in one of them is not enough."""
    some = drawn_again(SCENARIO, "records_lost", ({}, {}), (happening_in(7), happening_in(0)))
    none = drawn_again(SCENARIO, "records_lost", ({}, {}), (happening_in(0), happening_in(0)))
    assert decided_by(SUSPECT, (some, none, none), load_settings()).status is Status.SUSPECT


@pytest.mark.usefixtures("home")
class TestNight:
    """The step of a night that draws again."""

    def test_without_the_code_it_is_said(self) -> None:
        """Sources that are nowhere cannot be run: the suspicion stays, with the reason."""
        verdict = lost_tonight(World())
        metric = verdict.configuration("id-today").metric("records_lost")
        assert metric.status is Status.SUSPECT
        assert metric.newly == ("regression-0007",)
        assert "not drawn again: the sources of the night's code 1234abc are not kept" in (
            metric.reason
        )

    def test_what_is_switched_on_may_happen(self) -> None:
        """Unclean elections are no never-event of a configuration that allows them."""
        world = World()
        world.values["today"] = {"unclean.leader.election.enable": True}
        verdict = lost_tonight(world, "unclean_elections")
        status = verdict.configuration("id-today").metric("unclean_elections").status
        assert status is Status.OK

    def test_what_is_switched_off_may_not(self) -> None:
        """The same elections of a configuration that does not allow them are suspect."""
        verdict = lost_tonight(World(), "unclean_elections")
        status = verdict.configuration("id-today").metric("unclean_elections").status
        assert status is Status.SUSPECT


@pytest.mark.usefixtures("home")
class TestRealKernels:
    """A scenario of the experiment `smoke`, drawn again by the kernel itself, both sides."""

    def test_one_scenario_that_newly_loses_records(self) -> None:
        """Unclean elections lose records in every phase; without them nothing is lost in any."""
        plan, record, name, text = smoke({UNCLEAN: True})
        (one,) = redraw(plan, record, (suspected(plan, name),), {name: text}, load_settings())
        metric = one.metric("records_lost")
        (drawn,) = metric.redraws
        assert (drawn.scenario_id, drawn.draws, drawn.tonight, drawn.before) == (name, 20, 20, 0)
        assert drawn.p < 1e-9
        assert one.status is Status.REGRESSED
        assert metric.reason.startswith(
            f"confirmed: in 20 of 20 phase draws of {name}, 0 of 20 before; "
        )

    def test_a_loss_of_both_sides_is_no_regression(self) -> None:
        """It happens in other phases of the baseline as well: the suspicion stays one."""
        plan, record, name, text = smoke({UNCLEAN: True}, {UNCLEAN: True})
        (one,) = redraw(plan, record, (suspected(plan, name),), {name: text}, load_settings())
        (drawn,) = one.metric("records_lost").redraws
        assert (drawn.tonight, drawn.before) == (20, 20)
        assert one.status is Status.SUSPECT


UNCLEAN = "unclean.leader.election.enable"
PLACE = 5
"""Of a scenario of the regression panel in which a leader dies while its follower is stuck."""


def smoke(
    tonight: dict[str, Any], before: dict[str, Any] | None = None
) -> tuple[Plan, BaselineRecord, str, str]:
    """A night of `smoke` whose reference has further keys, its baseline, and a scenario."""
    plan = make_plan("smoke", LATER)
    keep_present(Home.from_environment(), plan.code_version)
    one = plan.configurations[0]
    kept = BaselineConfiguration(
        name=one.name,
        config_id=one.config_id,
        is_grid=False,
        overrides={**one.overrides, **(before or {})},
    )
    record = BaselineRecord(
        experiment="smoke", night=NIGHT, accepted_by="Ada", accepted_at="2026-11-19T06:00:00Z",
        why="first", code_version=plan.code_version, panel_digest=plan.panel_digest,
        confirm_digest=plan.confirm_digest, configurations=(kept,), digests={},
    )  # fmt: skip
    changed = one.model_copy(update={"overrides": {**one.overrides, **tonight}})
    row = draw_scenario(plan.definition.source, "regression", LATER, PLACE)
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
        reason="",
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
