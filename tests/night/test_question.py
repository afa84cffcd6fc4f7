"""What a run is asked, beside what its date was asked before."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.experiment.plan import Plan, make_plan
from isr_pipeline.night.question import Question, refuse_another_panel
from isr_pipeline.night.status import FAILED, Status, write_status
from tests.approved import Approved
from tests.verdicts.synthetic import NIGHT, World, home

__all__ = ["home"]


def judged(state: str = "regressed") -> None:
    """A night of some panel."""
    write_status(World(experiment="smoke").plan(NIGHT).place, Status(state))


def other(**fields: object) -> Plan:
    """The plan of a run of other scenarios of the same date, in a place of its own."""
    plan = World(experiment="smoke", panel_digest="e" * 64).plan("2026-11-18")
    return plan.model_copy(update={"night": NIGHT, **fields})


class TestAnotherPanel:
    """A run that cannot be compared with the night of its date."""

    def test_is_refused(self, home: Path, approved: Approved) -> None:
        """The line gives a date without a night, and the option that replaces it."""
        judged()
        plan = other()
        with approved.refusal(Refused):
            refuse_another_panel(plan)

    def test_a_confirm_panel_counts_as_well(self, home: Path) -> None:
        """No verdict compares the two."""
        judged()
        with pytest.raises(Refused):
            refuse_another_panel(other(panel_digest="a" * 64, confirm_digest="e" * 64))

    def test_may_replace_it(self, home: Path) -> None:
        """Where a person says so."""
        judged()
        refuse_another_panel(other(replace=True))

    def test_the_same_panel(self, home: Path) -> None:
        """It asks the same."""
        judged()
        refuse_another_panel(other(panel_digest="a" * 64))

    def test_nothing_to_hide(self, home: Path) -> None:
        """What has no verdict tells of nothing that got worse."""
        judged(FAILED)
        refuse_another_panel(other())


class TestScenarios:
    """A larger budget of the same question."""

    def test_same_panels(self) -> None:
        """So the night is compared; and every configuration may spend it."""
        plain, more = make_plan("smoke", NIGHT), make_plan("smoke", NIGHT, scenarios=900)
        assert (more.panel_digest, more.confirm_digest) == (
            plain.panel_digest,
            plain.confirm_digest,
        )
        assert more.panels["regression"] + more.stages[-1].end == 900
        assert len(more.asked) == len(more.configurations) - 1

    def test_fewer_than_the_experiments_budget(self, approved: Approved) -> None:
        """They would leave open what the budget decides, and a red night would turn grey."""
        with approved.refusal(InputError):
            make_plan("smoke", NIGHT, scenarios=399)

    def test_out_of_range(self, approved: Approved) -> None:
        """It is refused before anything starts."""
        with approved.refusal(InputError):
            Question(scenarios=0).check()
