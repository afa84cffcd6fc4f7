"""Which rules a released broker has."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.release_numbers import NEVER_RELEASED, released_range, rule_set_text
from isr_pipeline.kafka.releases import RELEASES
from tests.tables import from_table


class TestReleasedRange:
    """Whether a released broker has some rules."""

    @from_table
    def test_of_a_release_number(self, number: str, whole: str) -> None:
        """The rules of a number belong to its range."""
        assert released_range(str(rule_set_text(number))) == whole

    @pytest.mark.parametrize(
        "release", ["4485-doc", "mine (3.7-3.9 with kraft=false)", "3.9 (3.7-3.9 with kraft=false)"]
    )
    def test_of_what_was_never_released(self, release: str) -> None:
        """A proposal's text and a rule set of one's own are no release, whatever their name."""
        assert released_range(release) is None

    def test_every_other_rule_set_is_its_own_range(self) -> None:
        """Only a proposal's text is none."""
        assert [one for one in RELEASES if released_range(one) != one] == list(NEVER_RELEASED)
