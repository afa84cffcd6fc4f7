"""Counts of records as shares of those acknowledged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isr_pipeline.scenarios.incidents import Incident
from isr_pipeline.scenarios.profile import FaultProfile, Stratum
from isr_pipeline.verdicts.acknowledged import as_shares
from isr_pipeline.verdicts.quantities import OFFLINE
from isr_pipeline.verdicts.record import LOST, Difference, Per, Word, Year
from isr_pipeline.verdicts.sentences import how_much
from tests.verdicts.test_exercised import panel

PROFILE = FaultProfile(
    incidents={"crash": Incident(per_year=10, of="cluster", scenarios={"s.crash": 1})},
    strata={"s": Stratum(population=1.0, sample=1.0, patterns={"crash": 1.0})},
    parameters={},
)
ACKNOWLEDGED = [1_000.0, 0.0, 3_000.0, 0.0]
"""Of both scenarios under the reference: a crash costs what 2 000 records are the mean of."""


def shares(metric: str, per: Per = Per.YEAR, profile: FaultProfile = PROFILE) -> Difference:
    """A difference from 10 to 40 in a year, of which 20 000 records are acknowledged."""
    sides = {"before": 10.0, "after": 40.0, "ratio": 4.0, "low": 2.0, "high": 8.0}
    one = Difference.model_validate(
        {"metric": metric, "word": Word.WORSE, "scenarios": 2, "differing": 2, **sides,
         "pair": {"per": per, "scenarios": 2, **sides},
         "year_after": Year(incidents=10, value=40.0, low=20.0, high=80.0)}
    )  # fmt: skip
    reference = replace(panel(records_acked=ACKNOWLEDGED), patterns=("crash", "crash"))
    (found,) = as_shares([one], reference.select(("a",)), profile)
    return found


class TestShares:
    """A share does not grow with a rate that nobody gave."""

    def test_by_hand(self) -> None:
        """10 and 40 of 20 000 records are 0.05 and 0.2 %; the ratio stays."""
        found = shares(LOST)
        assert found.pair.before == pytest.approx(0.05)
        assert found.year_after is not None
        assert (found.year_after.low, found.year_after.high) == pytest.approx((0.1, 0.4))
        assert (
            how_much(LOST, found.pair) == "4 × (2 to 8) from 0.05 to 0.2 % of acknowledged records"
        )

    def test_other_metrics(self) -> None:
        """Minutes stay minutes."""
        assert shares(OFFLINE).pair.per is Per.YEAR

    def test_without_counted_incidents(self) -> None:
        """There is no year then, and a mix of a panel is told by no one."""
        bare = PROFILE.model_copy(update={"incidents": {}})
        assert shares(LOST, Per.MIX, bare).pair.per is Per.MIX

    def test_nothing_is_acknowledged(self) -> None:
        """Then there is nothing to be a share of."""
        empty = replace(panel(records_acked=[0.0] * 4), patterns=("crash", "crash"))
        assert as_shares([shares(LOST)], empty.select(("a",)), PROFILE)[0] == shares(LOST)
