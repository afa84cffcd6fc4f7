"""W17: a rolling restart faster than the check for preferred leaders."""

from __future__ import annotations

from isr_pipeline.worlds.run import Result
from tests.phenomena.playing import ELECTED, events, play
from tests.tables import from_table


def leads_at(result: Result, t_ms: float) -> list[int]:
    """Leaders of the three partitions just after a moment."""
    leaders = [1, 2, 3]
    for event in events(result, ELECTED):
        if event["t_ms"] <= t_ms:
            leaders[event["partition"]] = event["leader"]
    return leaders


def test_w17_the_last_broker_ends_with_no_lead() -> None:
    """All three are back at 120 s, and nobody leads for broker 3 but the others."""
    assert 3 not in leads_at(play("w17"), 299999)
    assert len(events(play("w17"), "broker_unfenced")) == 3


@from_table
def test_w17_the_check_gives_the_leads_back(settings: list[str], check_ms: float) -> None:
    """An interval of 300 s after the first lost lead, or after the controller's start."""
    result = play("w17", *settings)
    assert leads_at(result, check_ms - 1) != [1, 2, 3]
    assert leads_at(result, check_ms) == [1, 2, 3]


def test_w17_a_check_between_two_restarts_leaves_nobody_without() -> None:
    """Every 20 s: at the end each broker leads its own, long before 300 s."""
    result = play("w17", "leader.imbalance.check.interval.seconds=20")
    assert leads_at(result, 160000) == [1, 2, 3]
