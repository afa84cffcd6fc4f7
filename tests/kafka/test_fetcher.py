"""What a failing partition does to its fetcher thread."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.fetcher import Error, Reaction, reaction
from tests.kafka.records import NAMES, rules_of

LEGACY = {
    Error.STORAGE: Reaction.DELAY,
    Error.UNEXPECTED: Reaction.THREAD_DIES,
    Error.FENCED_EPOCH: Reaction.DROP,
    Error.CORRUPT_RECORD: Reaction.DELAY,
}
KIP_461 = {
    Error.STORAGE: Reaction.FAIL,
    Error.UNEXPECTED: Reaction.FAIL,
    Error.FENCED_EPOCH: Reaction.FAIL,
    Error.CORRUPT_RECORD: Reaction.DELAY,
}


@pytest.mark.parametrize("name", NAMES[1:5])
@pytest.mark.parametrize(("error", "expected"), LEGACY.items())
def test_legacy(name: str, error: Error, expected: Reaction) -> None:
    """A legacy thread waits, forgets, or dies."""
    assert reaction(rules_of(name), error) == expected


@pytest.mark.parametrize("name", NAMES[5:])
@pytest.mark.parametrize(("error", "expected"), KIP_461.items())
def test_kip_461(name: str, error: Error, expected: Reaction) -> None:
    """KIP-461 fails the partition, but a corrupt batch is fetched again."""
    assert reaction(rules_of(name), error) == expected


def test_corrupt_batch_in_0_8() -> None:
    """0.8.2 goes on at the next offset, and the next append ends the thread."""
    assert reaction(rules_of("0.8.2"), Error.CORRUPT_RECORD) == Reaction.THREAD_DIES


def test_the_switch_decides() -> None:
    """2.5 is 2.1-2.6 with KIP-461."""
    rules = rules_of("2.1-2.6", fetcher="kip-461")
    assert reaction(rules, Error.UNEXPECTED) == Reaction.FAIL
