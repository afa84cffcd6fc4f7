"""Rule sets of one's own: a release with some of its switches changed, without a change of code.

Such a rule set travels as a text that holds all of it, ``NAME (BASE with SWITCH=VALUE, ...)``, so
that scenarios, plans, baselines and MLflow need nothing else to run it again. `text_of` writes that
text, `rule_set_of` reads it; every other name is that of a release's own rule set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from isr_pipeline.base.files.words import as_whole, close_or_all
from isr_pipeline.kafka.releases import (
    CLOCKS,
    EXPAND_NEEDS_LAG,
    FETCHERS,
    LOCKS,
    REGISTRATION_RETRIES,
    RELEASES,
    RENAMED,
    RESETS,
    RULE_SETS,
    RuleSet,
    word_of,
)

TICK_DIVISOR_MAX = 1000
NAME = r"[a-z0-9][a-z0-9._+-]{0,59}"
_TEXT = re.compile(rf"({NAME}) \((\S+) with (\S.*)\)")
_NUMBERED = re.compile(r"(\d[\d.]*) \((\S+)\)")
_BOOLEANS = {"true": True, "false": False}
_ENUMS: dict[str, Mapping[str, Any]] = {
    "clock": CLOCKS,
    "reset": RESETS,
    "expand_needs_lag": EXPAND_NEEDS_LAG,
    "registration_retry": REGISTRATION_RETRIES,
    "isr_lock": LOCKS,
    "fetcher": FETCHERS,
}
_NAMES: dict[str, tuple[str, ...]] = {
    "key_defaults": RELEASES,
}

CHANGEABLE: tuple[str, ...] = tuple(
    one.name for one in fields(RuleSet) if one.name not in ("name", "release")
)
"""Switches that a rule set of one's own may change."""


class RuleSetError(ValueError):
    """Something in a rule set that may not stand there.

    Attributes:
        field: where: ``base``, ``switches.tick_divisor``; empty for the whole.
        given: what stood there, None if nothing did.
        allowed: what may stand there, in words.
    """

    def __init__(self, field: str, given: object, allowed: str) -> None:
        super().__init__(f"{field}: {given}; allowed: {allowed}")
        self.field = field
        self.given = given
        self.allowed = allowed


def words_for(switch: str) -> tuple[str, ...]:
    """Every word that may stand for a switch; none for a number, and for true or false."""
    return tuple(_ENUMS.get(switch, _NAMES.get(switch, ())))


def allowed_for(switch: str) -> str:
    """What may stand for a switch, in words."""
    words = words_for(switch)
    if words:
        return ", ".join(words)
    if switch == "tick_divisor":
        return f"a whole number 1..{TICK_DIVISOR_MAX}"
    return "true, false"


def allowed_for_release(given: str, names: Sequence[str] = RELEASES) -> str:
    """What may stand for a release's rule set, in words; a former name's new one."""
    if given in RENAMED:
        return f"{RENAMED[given]}, as {given} is called now"
    return close_or_all(given, names)


def own_rule_set(name: str, base: str, switches: Mapping[str, object]) -> RuleSet:
    """Make a rule set: a release with some switches changed.

    Args:
        name: of the new rule set, none of a release's.
        base: name of a release's rule set.
        switches: switch -> value, as a file has it (``true``, ``4``, ``read_end``).

    Raises:
        RuleSetError: a name, switch or value that may not be, or switches that exclude one another.
    """
    if not re.fullmatch(NAME, name) or name in RULE_SETS:
        allowed = "a name of a-z, 0-9, . _ + - (at most 60) that no release has"
        raise RuleSetError("name", name, allowed)
    if base not in RULE_SETS:
        raise RuleSetError("base", base, allowed_for_release(base))
    for switch in switches:
        if switch not in CHANGEABLE:
            at = f"switches.{switch}"
            raise RuleSetError(at, "unknown switch", close_or_all(switch, CHANGEABLE))
    values: dict[str, Any] = {switch: _read(switch, value) for switch, value in switches.items()}
    made = replace(RULE_SETS[base], name=name, **values)
    if made.kraft and not made.async_isr:
        allowed = "true where kraft is: only ZooKeeper's leaders write the ISR themselves"
        raise RuleSetError("switches.async_isr", "false", allowed)
    return made


def text_of(name: str, base: str, switches: Mapping[str, object]) -> str:
    """The text that holds a whole rule set of one's own: `rule_set_of` reads it.

    Switches that the base has already in that way are left out, the others come in the order of
    `RuleSet`: equal rules have equal texts.

    Raises:
        RuleSetError: as `own_rule_set`.
    """
    made, old = own_rule_set(name, base, switches), RULE_SETS[base]
    changed = [switch for switch in CHANGEABLE if getattr(made, switch) != getattr(old, switch)]
    if not changed:
        allowed = "a mapping of at least one switch to a value that its base does not have"
        raise RuleSetError("switches", None, allowed)
    return f"{name} ({base} with {', '.join(f'{one}={word_in(made, one)}' for one in changed)})"


def numbered_text(number: str, base: str) -> str:
    """The text of a release number that has a range's very rules and keeps its number."""
    return f"{number} ({base})"


NARROWER: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"expand_needs_lag": ("always", "under_min_isr")}
)
"""Switch -> its widest value, and the next narrower one, which asks the same less often."""


def narrower(release: str) -> tuple[str, str] | None:
    """A rule set of one's own with its widest switch one step narrower.

    Args:
        release: a text of `text_of`, or the name of a release, which is nobody's own.

    Returns:
        its text, and the switch as a file has it; None where there is nothing narrower.
    """
    match = _TEXT.fullmatch(release)
    if match is None:
        return None
    switches = dict(part.split("=") for part in match[3].split(", "))
    for switch, (wide, narrow) in NARROWER.items():
        if switches.get(switch) == wide:
            return release.replace(f"{switch}={wide}", f"{switch}={narrow}"), f"{switch}={narrow}"
    return None


@lru_cache(maxsize=256)
def rule_set_of(release: str) -> RuleSet:
    """The rule set that ``cluster.release`` names or, of one's own, holds.

    Raises:
        RuleSetError: neither a release's name nor a text of `text_of`.
    """
    if release in RULE_SETS:
        return RULE_SETS[release]
    numbered = _NUMBERED.fullmatch(release)
    if numbered is not None:
        return own_rule_set(numbered[1], numbered[2], {})
    match = _TEXT.fullmatch(release)
    if match is None:
        raise RuleSetError("", release, allowed_for_release(release))
    name, base, rest = match.groups()
    switches: dict[str, object] = {}
    for part in rest.split(", "):
        switch, _, word = part.partition("=")
        switches[switch] = _BOOLEANS.get(word, int(word) if word.isdecimal() else word)
    return own_rule_set(name, base, switches)


def is_so(rule_set: RuleSet, switch: str, value: object) -> bool:
    """Whether a rule set has a switch as a file would write it."""
    return bool(getattr(rule_set, switch) == _read(switch, value))


def as_written(rule_set: RuleSet, switch: str) -> object:
    """The value of a switch in a rule set, as a file would write it."""
    value = getattr(rule_set, switch)
    return word_of(_ENUMS[switch], value) if switch in _ENUMS else value


def word_in(rule_set: RuleSet, switch: str) -> str:
    """The same as a word."""
    value = as_written(rule_set, switch)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _read(switch: str, value: object) -> Any:
    """The value of a switch as `RuleSet` has it."""
    if switch in _ENUMS and isinstance(value, str) and value in _ENUMS[switch]:
        return _ENUMS[switch][value]
    if switch in _NAMES and value in _NAMES[switch]:
        return value
    if switch == "tick_divisor":
        whole = as_whole(value)
        if whole is not None and 1 <= whole <= TICK_DIVISOR_MAX:
            return whole
    elif switch not in _ENUMS and switch not in _NAMES and isinstance(value, bool):
        return value
    raise RuleSetError(f"switches.{switch}", value, allowed_for(switch))
