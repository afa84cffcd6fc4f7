"""Release numbers and the rules that each release has."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RULE_SETS
from tests.tables import from_table


@from_table
def test_the_releases_that_rule_sets_stand_for(number: str, rule_set: str) -> None:
    """The release that a rule set was read in has that very rule set."""
    assert rule_set_text(number) == rule_set


@from_table
def test_within_a_range(number: str, switch: str, value: object) -> None:
    """A release that differs within its rule set's range has its own switches."""
    text = rule_set_text(number)
    assert text is not None
    met = getattr(rule_set_of(text), switch)
    assert getattr(met, "name", met) == value


@pytest.mark.parametrize("number", ["", "4", "0.7.2", "5.0", "3.x", "3.9 ", "../3.9", *RULE_SETS])
def test_what_is_no_number(number: str) -> None:
    """Other names are left to whoever knows them, but 0.8.2 and 4.0, which are both."""
    assert rule_set_text(number) == (number if number in {"0.8.2", "4.0"} else None)
