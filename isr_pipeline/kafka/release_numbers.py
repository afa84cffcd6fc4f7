"""Kafka's release numbers: which rule set an installed release has.

A cluster says ``3.9.1``; the rule sets stand for ranges of releases. Where a range differs within
itself, the number stands for the range's rule set with the switches of that very release.
"""

from __future__ import annotations

import re
from functools import lru_cache

from isr_pipeline.kafka.own_rules import is_so, text_of
from isr_pipeline.kafka.releases import RELEASES, RULE_SETS

_FIRST_OF: tuple[tuple[tuple[int, ...], str], ...] = (
    ((0, 8, 2), "0.8.2"),
    ((0, 9), "0.9-0.10.1"),
    ((0, 10, 2), "0.10.2-2.0"),
    ((2, 1), "2.1-2.6"),
    ((2, 7), "2.7-3.2"),
    ((3, 3), "3.3-3.6"),
    ((3, 7), "3.7-3.9"),
    ((4, 0), "4.0"),
    ((4, 1), "4.1+"),
)
"""First release of each rule set."""

_NEWEST = (5, 0)
"""Numbers from here on are of releases that no rule set has been read for."""

_SWITCHES: tuple[tuple[tuple[int, ...], tuple[int, ...], str, object], ...] = (
    ((0, 11), (2, 1), "key_defaults", "2.1-2.6"),  # KIP-106
    ((0, 11), (2, 1), "truncate_to_hw", False),  # KIP-101
    ((1, 0), (2, 1), "io_error_halts", False),  # KIP-112
    ((1, 1), (2, 1), "last_member_leaves", False),
    ((2, 0, 1), (2, 1), "exits_over_truncation", False),  # KAFKA-7414
    ((2, 3), (2, 7), "fetcher", "kip-461"),
    ((2, 5), (2, 7), "isr_lock", "rw_precheck"),  # KAFKA-7538
    ((2, 5), (2, 7), "key_defaults", "2.7-3.2"),  # KIP-537
    ((3, 1), (3, 3), "answer_raises_hw", True),  # KAFKA-13091
    ((3, 3), (3, 6), "kraft_shrink_bumps", True),  # metadata.version below 3.6
    ((3, 7), (3, 9), "kraft_elects_uncleanly", False),  # KAFKA-12670
    ((3, 9, 2), (4, 0), "registration_retry", "heartbeat_interval"),  # KAFKA-19294
    ((4, 0, 1), (4, 1), "registration_retry", "heartbeat_interval"),
)
"""From release, to release (not included), switch, value there."""

_CONFLUENT = {5: (2, 0), 6: (2, 6), 7: (3, 0), 8: (4, 0)}
"""By the first number of a Confluent Platform: the Kafka of its ``.0``; the second ones go on."""

NUMBERS = "a release of Kafka from 0.8.2 to 4.x"


@lru_cache(maxsize=64)
def rule_set_text(number: str) -> str | None:
    """What ``cluster.release`` has for a release number; None if it is none of Kafka's.

    Args:
        number: such as ``3.9``, ``3.9.1`` or ``0.10.2.2``, with or without what a vendor adds
            (``3.9.1-cp1``).
    """
    version = version_of(number)
    if version is None or not _FIRST_OF[0][0] <= version < _NEWEST:
        return None
    base, switches = _rules_of(version)
    if not switches:
        return base
    line = _line_of(version)
    name = line if _rules_of(line) == (base, switches) else version[:3]
    return text_of(".".join(str(part) for part in name), base, switches)


def _rules_of(version: tuple[int, ...]) -> tuple[str, dict[str, object]]:
    """The range's rule set, and the switches of the release that differ from it."""
    base = next(name for first, name in reversed(_FIRST_OF) if version >= first)
    rules = RULE_SETS[base]
    return base, {
        switch: value
        for begin, end, switch, value in _SWITCHES
        if begin <= version < end and not is_so(rules, switch, value)
    }


def version_of(number: str) -> tuple[int, ...] | None:
    """A release number as numbers; None if it is none."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,3}){1,3})(?:[-.][A-Za-z][0-9A-Za-z.+-]*)?", number)
    return tuple(int(part) for part in match[1].split(".")) if match else None


def kafkas_own(given: str) -> str:
    """Say which number is Kafka's own, of one that a distribution writes; empty if none is near."""
    found = re.match(r"v?((\d{1,3})\.(\d{1,3})(?:\.\d{1,3})?)", given)
    if found is None:
        return ""
    major, minor = _CONFLUENT.get(int(found[2]), (0, 0))
    own = f"{major}.{minor + int(found[3])}" if major else found[1]
    own = own if rule_set_text(own) else own.rpartition(".")[0]
    return f"; Kafka's own number is {own}" if rule_set_text(own) else ""


def _line_of(version: tuple[int, ...]) -> tuple[int, ...]:
    """The release line: 3.9 of 3.9.1, 0.10.2 of 0.10.2.2."""
    return version[:3] if version[0] == 0 else version[:2]


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
