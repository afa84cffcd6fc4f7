"""Kafka's changes by release number, and defects that no rule has."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.fixes import DEFECTS, FIXES, Fix
from isr_pipeline.kafka.own_rules import CHANGEABLE, as_written, rule_set_of
from isr_pipeline.kafka.release_numbers import (
    NEVER_RELEASED,
    released_range,
    rule_set_text,
    told_defects,
    version_of,
)
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS


class TestFixes:
    """The list is whole, and says the same as the rule sets."""

    def test_every_switch_that_a_release_changed(self) -> None:
        """Each one that some range has and 0.8.2 has not is in a fix."""
        released = [RULE_SETS[name] for name in RELEASES if name not in NEVER_RELEASED]
        changed = {
            switch
            for switch in CHANGEABLE
            if len({str(as_written(one, switch)) for one in released}) > 1
        }
        assert {switch for one in FIXES for switch in one.switches} == changed

    @pytest.mark.parametrize(
        ("number", "has"),
        [("3.8.1", False), ("3.9.1", False), ("3.9.2", True), ("4.0", False), ("4.0.1", True),
         ("4.1", True)],
    )  # fmt: skip
    def test_a_backport(self, number: str, has: bool) -> None:
        """A line has it from its own number on, and every later line."""
        fix = Fix("x", ("3.9.2", "4.0.1", "4.1"), "x", {})
        assert fix.is_in(version_of(number) or ()) is has


class TestDefects:
    """What a number does wrong that is not simulated."""

    def test_a_range_says_nothing(self) -> None:
        """Nor does the number that it stands for."""
        of_ranges = [*RELEASES, *(str(rule_set_text(one.release)) for one in RULE_SETS.values())]
        assert [one for one in of_ranges if told_defects(one)] == []

    def test_the_number_is_kept(self) -> None:
        """Where the rules are those of the range, its text has the number all the same."""
        text = str(rule_set_text("2.1.0"))
        assert text != rule_set_text("2.1.1")
        assert rule_set_of(text).isr_lock == RULE_SETS["2.1-2.6"].isr_lock
        assert released_range(text) == "2.1-2.6"

    @pytest.mark.parametrize("defect", DEFECTS, ids=lambda one: one.source)
    def test_the_first_number_has_it(self, defect: object) -> None:
        """And the one that mended it has it not."""
        (one,) = (each for each in DEFECTS if each is defect)
        had, mended = (version_of(number) or () for number in (one.first, one.mended))
        assert (one.is_in(had), one.is_in(mended)) == (True, False)
