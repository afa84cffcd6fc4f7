"""Lengths of incidents that an operator measured: ``pause=365:5s-15s``.

They take the place of what the fault profile draws from, so other scenarios are drawn: the panel is
another. Only a fault that comes alone has a length of its own; a chain of faults keeps its times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Bad, Check, mapping_of, number
from isr_pipeline.base.files.words import close_or_all, dotted, shown
from isr_pipeline.scenarios.patterns import PATTERNS
from isr_pipeline.scenarios.profile import LENGTHS, Distribution, FaultProfile

_MS = number(1, 1e9, "milliseconds from 1 on")
_UNITS = {"ms": 1.0, "s": 1_000.0, "min": 60_000.0}
_WRITTEN = re.compile(r"(?P<low>[\d.]+)(?P<from>ms|s|min)-(?P<high>[\d.]+)(?P<to>ms|s|min)")
FORM = "KIND=NUMBER:SHORTEST-LONGEST, such as pause=365:5s-15s (ms, s or min)"


def _ends(value: Any) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Bad("")
    low, high = (_MS.read(one) for one in value)
    if low > high:
        raise Bad("")
    return float(low), float(high)


_ENDS = Check("[shortest, longest] in milliseconds", _ends, {"type": "array"})
LENGTHS_MS = mapping_of(_ENDS, "a mapping of kinds of incidents to [shortest, longest]", empty=True)
LengthsMs = Annotated[dict[str, tuple[float, float]], LENGTHS_MS]
"""Kind of incident -> its shortest and its longest length, in milliseconds."""


def apart(options: Sequence[str], where: str) -> tuple[list[str], dict[str, tuple[float, float]]]:
    """Take lengths out of what a command line says of incidents.

    Args:
        options: ``crash=4,pause=365:5s-15s`` each.
        where: the option, for error lines.

    Returns:
        the same without lengths, and the lengths of each kind.

    Raises:
        InputError: no such form, or a longest that is shorter.
    """
    counts, lengths = [], {}
    for part in (part.strip() for option in options for part in option.split(",")):
        count, colon, written = part.partition(":")
        counts.append(count)
        if colon:
            kind = count.partition("=")[0]
            found = _WRITTEN.fullmatch(written)
            if found is None:
                raise InputError(where, kind, shown(written), FORM)
            ends = [_ms(found["low"], found["from"]), _ms(found["high"], found["to"])]
            try:
                lengths[kind] = _ENDS.read(ends)
            except Bad:
                raise InputError(where, kind, shown(written), FORM) from None
    return counts, lengths


def _ms(written: str, unit: str) -> float:
    try:
        return float(written) * _UNITS[unit]
    except ValueError:
        return 0.0


def with_lengths(
    profile: FaultProfile, lengths: Mapping[str, tuple[float, float]], where: str, *at: str
) -> FaultProfile:
    """A profile that draws the lengths of some incidents from other ranges.

    Args:
        profile: as it is written.
        lengths: kind of incident -> shortest and longest, in milliseconds.
        where: who says so.
        at: where in it.

    Raises:
        InputError: a kind that the profile does not have, or whose length is not one range in it.
    """
    strata = dict(profile.strata)
    for kind, (low, high) in lengths.items():
        places = _places(profile, kind)
        if not places:
            having = [one for one in profile.incidents if _places(profile, one)]
            given = "has no length of its own" if kind in profile.incidents else "unknown kind"
            raise InputError(where, dotted((*at, kind)), given, close_or_all(kind, having))
        drawn = Distribution(log_uniform=(low, high))
        for stratum, parameter in places:
            own = {**strata[stratum].parameters, parameter: drawn}
            strata[stratum] = strata[stratum].model_copy(update={"parameters": own})
    return profile.model_copy(update={"strata": strata})


def _places(profile: FaultProfile, kind: str) -> list[tuple[str, str]]:
    """Stratum and parameter of the lengths of a kind of incident.

    None where a pattern has several strata, which differ by its length.
    """
    incident = profile.incidents.get(kind)
    found: dict[str, str] = {}
    for stratum, pattern in incident.at() if incident is not None else ():
        names = [f"{pattern}.{ending}" for ending in LENGTHS]
        parameter = next((one for one in names if one in PATTERNS[pattern].parameters), "")
        if PATTERNS[pattern].kinds == (pattern,) and parameter:
            if parameter in found:
                return []
            found[parameter] = stratum
    return [(stratum, parameter) for parameter, stratum in found.items()]


def lengths_told(lengths: Mapping[str, tuple[float, float]]) -> Iterator[str]:
    """``pause: drawn from 5 to 15 s, so the panel is another than the fault profile's``."""
    for kind, (low, high) in lengths.items():
        yield (
            f"{kind}: drawn from {low / 1000:.3g} to {high / 1000:.3g} s, so the panel is another "
            "than the fault profile's"
        )
