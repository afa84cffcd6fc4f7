"""Thirty nights with five acceptances and a slow decline: what each step hides, the ledger adds up.

A night is a little slower than the one before, by less than anybody calls.
"""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest
from typer.testing import CliRunner

from isr_pipeline.cli import app
from isr_pipeline.night.status import Status as NightStatus
from isr_pipeline.night.status import write_status
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.verdicts import acceptance, ledger
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.verdicts.record import NightVerdict, Status
from tests.approved import Approved
from tests.report.reading import as_read
from tests.verdicts.synthetic import Change, World, decided

LATENCY = "commit_latency_p99_ms"
NIGHTS, BETWEEN = 30, 6
A_NIGHT = 1.008
FIRST = date(2026, 10, 1)


def slower(nights: int) -> Change:
    """Every commit of `today` slower by a little for each night that passed."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name == "today":
            columns[LATENCY] = columns[LATENCY] * A_NIGHT**nights

    return change


def judged(world: World, number: int) -> NightVerdict:
    """Judge a night of the decline, the first being night 0."""
    night = (FIRST + timedelta(days=number)).isoformat()
    plan = world.write(night, slower(number) if number else None)
    judge_night(plan)
    verdict = decided(plan)
    write_status(plan.place, NightStatus(str(verdict.status)))
    return verdict


def accepted(world: World, number: int) -> None:
    """Accept a night that was judged."""
    night = (FIRST + timedelta(days=number)).isoformat()
    why = f"acceptance of night {number}"
    acceptance.accept(world.experiment, night, "Ada", why, version=world.code_version)


@pytest.mark.slow
@pytest.mark.usefixtures("home")
class TestSlowDecline:
    """One home, as it is after thirty nights."""

    def test_no_night_alarms_and_the_ledger_has_the_sum(self, approved: Approved) -> None:
        """Each acceptance absorbs 5 %, which is `ok`; together they are what the last night says.

        The same night against the first baseline is `regressed`: a fixed baseline sees it, one that
        is moved along does not.
        """
        world = World(scenarios=60, experiment="smoke")
        judged(world, 0)
        accepted(world, 0)
        statuses = []
        for number in range(1, NIGHTS + 1):
            verdict = judged(world, number)
            statuses.append(verdict.configuration("id-today").status)
            if number % BETWEEN == 0:
                accepted(world, number)
        assert Status.REGRESSED not in statuses
        entries = ledger.read(world.experiment)
        assert len(entries) == 1 + NIGHTS // BETWEEN
        (total,) = ledger.compounded(entries)
        assert (total.config, total.metric, total.acceptances) == ("today", LATENCY, 5)
        assert total.since == FIRST.isoformat()
        assert total.ratio == pytest.approx(A_NIGHT**NIGHTS, abs=0.02)
        assert total.text == (
            f"today: {label(LATENCY)} {total.change} over 5 acceptances since {FIRST}"
        )

        said = CliRunner().invoke(app, ["baseline", "ledger", "--experiment", world.experiment])
        assert said.output.splitlines()[-1] == f"in all  {total.text}"
        last = (FIRST + timedelta(days=NIGHTS)).isoformat()
        page = render(read_night(world.plan(last)))
        section = as_read(page, "accepted")
        assert total.change in "\n".join(section)
        approved(section)

    def test_a_baseline_that_stays_sees_it(self) -> None:
        """The thirtieth night against the first is regressed."""
        world = World(scenarios=60, experiment="smoke")
        judged(world, 0)
        accepted(world, 0)
        one = judged(world, NIGHTS).configuration("id-today")
        assert one.metric(LATENCY).status is Status.REGRESSED
