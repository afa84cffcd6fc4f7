"""Kafka's release numbers: which rule set an installed release has.

A cluster says ``3.9.1``; the rule sets stand for ranges of releases. Where a range differs within
itself, the number stands for the range's rule set with the switches of that very release.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from isr_pipeline.kafka.fixes import FIXES, Defect, Version, defects_in, line_of, switches_in
from isr_pipeline.kafka.own_rules import as_written, is_so, numbered_text, text_of
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

_OLDEST: Mapping[str, object] = {
    switch: as_written(RULE_SETS[RELEASES[0]], switch) for fix in FIXES for switch in fix.switches
}
"""What 0.8.2 has of each switch that a later release changes."""

_NEWEST = (5, 0)
"""Numbers from here on are of releases that no rule set has been read for."""

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
    base, switches, defects = _rules_of(version)
    if not switches and not defects:
        return base
    line = line_of(version)
    same = _rules_of(line) == (base, switches, defects)
    name = ".".join(str(part) for part in (line if same else version[: len(line) + 1]))
    return text_of(name, base, switches) if switches else numbered_text(name, base)


def _rules_of(version: Version) -> tuple[str, dict[str, object], tuple[Defect, ...]]:
    """The range's rule set, the switches of the release that differ from it, and its defects."""
    base = next(name for first, name in reversed(_FIRST_OF) if version >= first)
    rules = RULE_SETS[base]
    switches = {
        switch: value
        for switch, value in switches_in(version, _OLDEST).items()
        if not is_so(rules, switch, value)
    }
    defaults = str(switches.pop("key_defaults", base))
    if RELEASES.index(defaults) > RELEASES.index(base):
        switches["key_defaults"] = defaults
    return base, switches, defects_in(version)


def told_defects(release: str) -> str:
    """Say in a line what a release number does wrong that is not simulated; empty if nothing.

    Args:
        release: as ``cluster.release`` has it after files were read; ranges say nothing.
    """
    number = release.partition(" ")[0]
    version = version_of(number)
    if version is None or rule_set_text(number) != release:
        return ""
    own = [f"{bug.what} ({bug.source}, mended in {bug.mended})" for bug in defects_in(version)]
    return f"release {number}: not simulated: {'; '.join(own)}" if own else ""


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
    return rest.partition(" with ")[0].removesuffix(")")
