"""Which rules a released broker has."""

from __future__ import annotations

from isr_pipeline.kafka.release_numbers import rule_set_text
from isr_pipeline.kafka.releases import RELEASES

NEVER_RELEASED = ("4485-doc",)
"""Rule sets that are a proposal's text."""


def released_range(release: str) -> str | None:
    """Range of releases that has these rules; None if no released broker has them.

    Args:
        release: as ``cluster.release`` has it after files were read: a range, or the text of a
            release number or of a rule set of one's own.
    """
    if release in RELEASES:
        return None if release in NEVER_RELEASED else release
    number, _, rest = release.partition(" (")
    if rule_set_text(number) != release:
        return None
    return rest.partition(" with ")[0]
