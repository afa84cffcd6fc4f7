"""What is said of a release number's own defects, which no rule has."""

from __future__ import annotations

from isr_pipeline.kafka.release_numbers import rule_set_text, told_defects
from tests.approved import Approved

AROUND = ("0.10.1.0", "0.11.0.1", "0.11.0.2", "2.1.0", "2.1.1", "2.5", "2.6", "3.7.0", "3.7.1")


def test_what_is_said(approved: Approved) -> None:
    """One line for a number that has them, none for the one that mended them."""
    approved([f"{one}: {told_defects(str(rule_set_text(one)))}".rstrip() for one in AROUND])
