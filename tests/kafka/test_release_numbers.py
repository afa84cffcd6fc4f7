"""Release numbers and the rules that each release has."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RULE_SETS, Fetcher, Lock, RegistrationRetry
from tests.tables import from_table


@from_table
def test_the_releases_that_rule_sets_stand_for(number: str, rule_set: str) -> None:
    """The release that a rule set was read in has that very rule set."""
    assert rule_set_text(number) == rule_set


@pytest.mark.parametrize(
    ("number", "switch", "value"),
    [
        ("0.11.0.3", "key_defaults", "2.1-2.6"),
        ("0.10.2.2", "truncate_to_hw", True),
        ("0.11.0.3", "truncate_to_hw", False),
        ("2.0.0", "exits_over_truncation", True),
        ("2.0.1", "exits_over_truncation", False),
        ("0.11.0.3", "io_error_halts", True),
        ("1.0.2", "io_error_halts", False),
        ("1.0.2", "last_member_leaves", True),
        ("1.1.1", "last_member_leaves", False),
        ("2.2.2", "fetcher", Fetcher.LEGACY),
        ("2.3.0", "fetcher", Fetcher.KIP_461),
        ("2.4.1", "isr_lock", Lock.RW_ALWAYS),
        ("2.5.0", "isr_lock", Lock.RW_PRECHECK),
        ("2.5.0", "key_defaults", "2.7-3.2"),
        ("3.0.2", "answer_raises_hw", False),
        ("3.1.0", "answer_raises_hw", True),
        ("3.4.0", "kraft_shrink_bumps", True),
        ("3.8.1", "kraft_elects_uncleanly", False),
        ("3.9.0", "kraft_elects_uncleanly", True),
        ("3.9.1", "check_from_imbalance", True),
        ("3.9.1", "has_elr", False),
        ("3.9.1", "registration_retry", RegistrationRetry.UP_TO_SESSION),
        ("3.9.2", "registration_retry", RegistrationRetry.HEARTBEAT_INTERVAL),
        ("4.0.0", "registration_retry", RegistrationRetry.UP_TO_HALF_SESSION),
        ("4.0.2", "registration_retry", RegistrationRetry.HEARTBEAT_INTERVAL),
        ("4.0.0", "check_from_imbalance", False),
        ("4.1.0", "registration_retry", RegistrationRetry.HEARTBEAT_INTERVAL),
    ],
)
def test_within_a_range(number: str, switch: str, value: object) -> None:
    """A release that differs within its rule set's range has its own switches."""
    text = rule_set_text(number)
    assert text is not None
    assert getattr(rule_set_of(text), switch) == value


@pytest.mark.parametrize("number", ["", "4", "0.7.2", "5.0", "3.x", "3.9 ", "../3.9", *RULE_SETS])
def test_what_is_no_number(number: str) -> None:
    """Other names are left to whoever knows them, but 0.8.2 and 4.0, which are both."""
    assert rule_set_text(number) == (number if number in {"0.8.2", "4.0"} else None)
