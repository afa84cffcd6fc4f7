"""A night of another panel than the baseline's, after one that got worse."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.verdicts import acceptance, baseline, ledger
from isr_pipeline.verdicts.judge import judge_night
from isr_pipeline.verdicts.record import NightVerdict, load_verdict
from isr_pipeline.verdicts.sentences import headline, worse
from tests.approved import Approved
from tests.verdicts.synthetic import LATER, NIGHT, World, decided, home, scaled

__all__ = ["home"]

FLAPS = "isr_flaps_per_partition_hour"
AFTER = "2026-11-21"


def accept(night: str, *, absorb_unseen: bool = False) -> baseline.BaselineRecord:
    """Accept a night as it is."""
    return acceptance.accept(
        "synthetic", night, "Ada", "a reason", version="1234abc", absorb_unseen=absorb_unseen
    )


def unseen(night: str) -> NightVerdict:
    """Judge a night of another panel."""
    judge_night(World(panel_digest="e" * 64).write(night))
    return load_verdict("synthetic", night)


@pytest.fixture
def red(home: Path) -> NightVerdict:
    """A night that got worse than the baseline."""
    assert home
    judge_night(World().write(NIGHT))
    accept(NIGHT)
    plan = World(run="red", began=f"{LATER}T03:11:00Z").write(LATER, scaled(FLAPS, 2.0, "today"))
    judge_night(plan)
    return decided(plan)


@pytest.mark.usefixtures("red")
class TestTold:
    """The regression is told by the night that cannot be compared."""

    @pytest.mark.parametrize("night", [LATER, AFTER])
    def test_of_its_date_or_a_later_one(self, night: str, approved: Approved) -> None:
        """In the place of the red night, or after it: what had got worse, and no advice."""
        verdict = unseen(night)
        approved([headline(verdict), *worse(verdict)])

    def test_by_one_after_another(self) -> None:
        """The second run in the place of the red night knows it from the first."""
        first, second = unseen(LATER).last_compared, unseen(LATER).last_compared
        assert first is not None
        assert first == second

    def test_not_what_was_accepted_since(self) -> None:
        """The regression is the baseline now."""
        time.sleep(1.1)  # acceptances are told apart by the second
        accept(LATER)
        assert unseen(AFTER).last_compared is None


@pytest.mark.usefixtures("red")
class TestAccepted:
    """A person who accepts it is told, and the ledger keeps that."""

    def test_is_refused(self, approved: Approved) -> None:
        """The line names the last run that was compared, and what had got worse in it."""
        unseen(LATER)
        with approved.refusal(Refused):
            accept(LATER)
        record = baseline.show("synthetic")
        assert record is not None
        assert record.night == NIGHT

    @pytest.mark.parametrize("file", ["outcomes.parquet", "baseline.json"])
    def test_a_damaged_baseline(self, file: str) -> None:
        """What had got worse is named as well, where the record cannot be read either."""
        (Home.from_environment().baseline_dir("synthetic") / file).unlink()
        judge_night(World().write(AFTER))
        with pytest.raises(Refused, match=f"is of {LATER}, 03:11; regressed: today: ISR flaps 2 ×"):
            accept(AFTER)

    def test_unseen(self, approved: Approved) -> None:
        """The ledger says that it was accepted all the same, and what had got worse."""
        unseen(LATER)
        accept(LATER, absorb_unseen=True)
        approved(ledger.read("synthetic")[-1].lines())

    def test_a_night_that_was_compared(self) -> None:
        """Nothing is kept of runs before it."""
        entry = accept(LATER, absorb_unseen=True).entry
        assert entry is not None
        assert entry.unseen is None


@pytest.mark.usefixtures("home")
def test_how_often_a_date_was_asked() -> None:
    """Each judgement of the date on its panel counts; another panel is another question."""
    asked = [judge_night(World().write(NIGHT)).times_asked for _ in range(3)]
    assert asked == [1, 2, 3]
    assert unseen(NIGHT).times_asked == 1
