"""What must never happen, drawn again: the phases, the counts, and what becomes of a suspicion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.model import MetricVerdict, Status
from isr_pipeline.verdicts.redraw import DRAWS, drawn_again, phases, settled
from isr_pipeline.verdicts.settings import load_settings
from tests.verdicts.synthetic import LATER, World, decided
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
    decided = settled(SUSPECT, (found,), load_settings())
    assert decided.status is status
    assert decided.reason.endswith(
        f"regression-00007: in {tonight} of 20 phase draws, {before} of 20 before"
    )


def test_the_p_is_divided_among_the_scenarios() -> None:
    """Three scenarios drawn again are three chances: 7 of 20 in one of them is not enough."""
    some = drawn_again(SCENARIO, "records_lost", ({}, {}), (happening_in(7), happening_in(0)))
    none = drawn_again(SCENARIO, "records_lost", ({}, {}), (happening_in(0), happening_in(0)))
    assert settled(SUSPECT, (some, none, none), load_settings()).status is Status.SUSPECT


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


def lost_tonight(world: World, column: str = "records_lost") -> Any:
    """A night in which one scenario of `today` newly has some."""

    def lost(panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator) -> None:
        if name == "today" and panel == "regression":
            columns[column][7] = 1_000_000

    accepted(world)
    plan = world.write(LATER, lost)
    judge_night(plan)
    return decided(plan)
