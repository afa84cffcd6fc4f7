"""A fault profile: what happens to clusters, how often, how long, and for what reason.

``config/faults/NAME.yaml`` says how often a year each kind of incident happens, and which strata
stand for it. Rare strata are drawn more often than they happen, and weighed down by what is known:
a scenario weighs (share of the population) / (share of the panel) of its stratum and pattern.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import LIST, Bad, Check, mapping_of, number, text, whole
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.words import close_or_all, shown
from isr_pipeline.scenarios.incidents import Incident, Place, in_cluster, place_of
from isr_pipeline.scenarios.patterns import PARAMETERS, PATTERNS, instead

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

Words = Annotated[str, text(r"[^\x00-\x08]{0,2000}", "a text")]


_NUMBER = number(-1e12, 1e12, "a number")
_SHARE = number(0, 1e9, "a number > 0", low_open=True)


def _range(value: Any, *, positive: bool) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Bad("")
    low, high = (_NUMBER.read(item) for item in value)
    if low > high or (positive and low <= 0):
        raise Bad("")
    return (low, high)


def _choices(value: Any) -> tuple[tuple[Any, float], ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise Bad("")
    found = []
    for i, item in enumerate(value):
        if not isinstance(item, (list, tuple)) or len(item) != 2:
            raise Bad("[value, frequency]", (i,), shown(item))
        try:
            found.append((item[0], _SHARE.read(item[1])))
        except Bad as bad:
            raise Bad(bad.allowed, (i, 1), shown(item[1])) from None
    return tuple(found)


PATTERN_SHARES = mapping_of(
    _SHARE,
    "a mapping of pattern to frequency",
    names={name: one.meaning for name, one in PATTERNS.items()},
    kind="pattern",
    instead=instead,
)


LENGTHS = ("duration_ms", "slow_ms", "downtime_ms", "restart_after_ms")
"""Parameters of a pattern that say how long it lasts."""


class Distribution(Strict):
    """How one parameter of a fault is drawn; exactly one of the three forms is given."""

    log_uniform: Annotated[
        tuple[float, ...] | None,
        Check("two numbers [low, high], 0 < low <= high", lambda v: _range(v, positive=True), LIST),
    ] = Field(default=None, description="Of a number whose logarithm is uniform: durations, sizes.")
    uniform: Annotated[
        tuple[float, ...] | None,
        Check("two numbers [low, high], low <= high", lambda v: _range(v, positive=False), LIST),
    ] = Field(default=None, description="Of a number that is uniform between them.")
    choice: Annotated[
        tuple[tuple[Any, float], ...] | None,
        Check("a list of [value, frequency]", _choices, LIST),
    ] = Field(default=None, description="Values with their relative frequencies.")
    digits: Annotated[int, whole(0, 3)] = Field(
        default=0, description="Digits after the point that are kept; 0: a whole number."
    )
    why: Words = Field(default="", description="Where the numbers come from.")

    def draw(self, u: float) -> Any:
        """Turn a uniform number of [0, 1) into a value of the distribution."""
        if self.choice is not None:
            left = u * sum(share for _, share in self.choice)
            for value, share in self.choice:
                left -= share
                if left < 0:
                    return value
            return self.choice[-1][0]
        if self.log_uniform is not None:
            low, high = (math.log(bound) for bound in self.log_uniform)
            return self._rounded(math.exp(low + u * (high - low)))
        assert self.uniform is not None, "exactly one form is given"
        low, high = self.uniform
        return self._rounded(low + u * (high - low))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number that it draws."""
        drawn = self.log_uniform or self.uniform or [float(one) for one, _ in self.choice or ()]
        return min(drawn), max(drawn)

    def _rounded(self, value: float) -> float:
        return round(value, self.digits) if self.digits else round(value)


class Stratum(Strict):
    """A kind of scenario whose share of the population and of the sample differ."""

    population: Annotated[float | None, _SHARE] = Field(
        default=None,
        description="Share of what verdicts weigh, up to a common factor where every stratum has "
        "one. Absent: it follows from the [incidents](#incident) that its scenarios stand for.",
    )
    sample: Annotated[float, _SHARE] = Field(
        description="Share of the panel that is drawn from it, up to a common factor; every "
        "scenario carries the weight that undoes it."
    )
    patterns: Annotated[dict[str, float], PATTERN_SHARES] = Field(
        description="Pattern -> relative frequency within the stratum."
    )
    parameters: dict[str, Distribution] = Field(
        default={},
        description="Parameter of a pattern -> how it is drawn in this stratum, where the profile "
        "says otherwise: a part of its range that is worth a stratum of its own.",
    )
    why: Words = Field(default="", description="Where the share comes from.")
    called: Words = Field(
        default="",
        description="What happens in its scenarios, in a few words; the report calls it so. "
        "Absent: its name.",
    )

    @property
    def share(self) -> float:
        """The population, written or counted."""
        assert self.population is not None, "a profile is counted before it is drawn from"
        return self.population


class FaultProfile(Strict):
    """What happens to clusters, how often, and how long."""

    description: Words = Field(default="", description="What it stands for, in a sentence or two.")
    incidents: dict[str, Incident] = Field(
        default={},
        description="Kind -> how often a year it happens. Where none is counted, populations are "
        "written, and no number of a year can be told.",
    )
    strata: dict[str, Stratum] = Field(
        description="Name -> stratum, at least one, in the order of the report."
    )
    parameters: dict[str, Distribution] = Field(
        description="Parameter of a pattern (`read_stall.duration_ms`) -> how it is drawn. Every "
        "parameter of every pattern in a stratum is needed."
    )

    def parameters_in(self, stratum: str) -> dict[str, Distribution]:
        """How the parameters are drawn in a stratum."""
        return {**self.parameters, **self.strata[stratum].parameters}

    def called(self, stratum: str) -> str:
        """What happens in the scenarios of a stratum, also of one that there is no more."""
        known = self.strata.get(stratum)
        return known.called if known is not None and known.called else stratum

    def drawn_in(self, stratum: str) -> str:
        """What happens in its scenarios, and how long as drawn: ``reads hang for 20 to 60 s``."""
        drawn = self.parameters_in(stratum)
        lengths = [
            end / 1_000
            for pattern in self.strata[stratum].patterns
            for name in LENGTHS
            if (one := drawn.get(f"{pattern}.{name}")) is not None
            for end in one.ends
        ]
        said = self.called(stratum)
        return f"{said} for {min(lengths):.3g} to {max(lengths):.3g} s" if lengths else said

    @property
    def per_year(self) -> dict[Place, float]:
        """How many incidents a year the scenarios of a stratum and a pattern stand for."""
        return {
            place: count for one in self.incidents.values() for place, count in one.at().items()
        }

    @property
    def kinds(self) -> dict[Place, str]:
        """The kind of incident that they stand for."""
        return {place: kind for kind, one in self.incidents.items() for place in one.at()}

    @property
    def shares(self) -> dict[Place, float]:
        """Share of the population of each stratum and pattern, up to a common factor.

        A stratum's patterns divide what it has as they are counted, or as they are drawn where
        nobody counts them.
        """
        per_year, found = self.per_year, {}
        for stratum, one in self.strata.items():
            counted = {name: per_year.get((stratum, name), 0.0) for name in one.patterns}
            happen = counted if any(counted.values()) else one.patterns
            every = math.fsum(happen.values())
            found.update(
                {(stratum, name): one.share * (often / every) for name, often in happen.items()}
            )
        return found


def counted(profile: FaultProfile, healthy: Scenario, counts: Mapping[str, float]) -> FaultProfile:
    """A profile in a cluster: incidents of the whole cluster, and the populations that follow.

    Strata whose population is written keep it. The others share the rest, each as many incidents as
    it stands for.

    Args:
        profile: as it is written.
        healthy: the cluster.
        counts: kind -> how many a year somebody counted in it, instead of the profile's number.
    """
    incidents = in_cluster(profile.incidents, healthy, counts)
    known = profile.model_copy(update={"incidents": incidents})
    if not incidents:
        return known
    found = dict.fromkeys(profile.strata, 0.0)
    for (stratum, _), count in known.per_year.items():
        found[stratum] += count
    left = 1.0 - math.fsum(one.population or 0.0 for one in profile.strata.values())
    every = math.fsum(found.values())
    strata = {
        name: one
        if one.population is not None
        else one.model_copy(update={"population": left * found[name] / every})
        for name, one in profile.strata.items()
    }
    return known.model_copy(update={"strata": strata})


def load_profile(raw: Mapping[str, Any], where: str) -> FaultProfile:
    """Check a fault profile that was read.

    Raises:
        InputError: an unknown parameter or pattern, a missing distribution, no stratum.
    """
    profile = validated(FaultProfile, raw, where)
    if not profile.strata:
        raise InputError(where, "strata", "{}", "a mapping of at least one stratum")
    _check_parameters(profile.parameters, PARAMETERS, where, "parameters")
    for name, stratum in profile.strata.items():
        drawn = {one for pattern in stratum.patterns for one in PATTERNS[pattern].parameters}
        _check_parameters(stratum.parameters, sorted(drawn), where, f"strata.{name}.parameters")
        for pattern in stratum.patterns:
            for needed in PATTERNS[pattern].parameters:
                if needed not in profile.parameters_in(name):
                    words = f"missing (pattern {pattern} draws it)"
                    allowed = "a distribution: log_uniform, uniform or choice"
                    raise InputError(where, f"parameters.{needed}", words, allowed)
    _check_incidents(profile, where)
    return profile


def _check_incidents(profile: FaultProfile, where: str) -> None:
    """Every pattern of every stratum stands for one kind, or its stratum says its population."""
    seen: dict[Place, str] = {}
    for kind, one in profile.incidents.items():
        for name in one.scenarios:
            at, place = f"incidents.{kind}.scenarios.{name}", place_of(name)
            stratum, pattern = place
            known = profile.strata.get(stratum)
            if known is None:
                raise InputError(
                    where, at, "unknown stratum", close_or_all(stratum, profile.strata)
                )
            if pattern not in known.patterns:
                allowed = instead(pattern, known.patterns)
                raise InputError(where, at, "no pattern of the stratum", allowed)
            if known.population is not None:
                raise InputError(where, at, "its stratum has a population", "a stratum without one")
            if place in seen:
                raise InputError(where, at, f"counted as {seen[place]} too", "one kind of each")
            seen[place] = kind
    for name, stratum_ in profile.strata.items():
        missing = [p for p in stratum_.patterns if (name, p) not in seen]
        if stratum_.population is None and missing:
            allowed = f"a number > 0, or {name}.{missing[0]} among the scenarios of an incident"
            raise InputError(where, f"strata.{name}.population", "missing", allowed)
    written = math.fsum(one.population or 0.0 for one in profile.strata.values())
    if seen and written >= 1.0:
        allowed = "less than 1: the rest is what incidents have"
        raise InputError(where, "strata", f"populations that sum to {written:g}", allowed)


def _check_parameters(
    given: Mapping[str, Distribution], known: Collection[str], where: str, field: str
) -> None:
    for name, distribution in given.items():
        if name not in known:
            allowed = instead(name, known)
            raise InputError(where, f"{field}.{name}", "unknown parameter", allowed)
        _check_distribution(name, distribution, where, field)


def _check_distribution(name: str, distribution: Distribution, where: str, field: str) -> None:
    forms = ("log_uniform", "uniform", "choice")
    given = [form for form in forms if getattr(distribution, form) is not None]
    at = f"{field}.{name}"
    if len(given) != 1:
        raise InputError(
            where, at, ", ".join(given) or "none of them", f"one of {', '.join(forms)}"
        )
    check = PARAMETERS[name]
    bounds = distribution.log_uniform or distribution.uniform
    values = [(i, v) for i, v in enumerate(bounds)] if bounds else []
    if distribution.choice:
        values = [(i, v) for i, (v, _) in enumerate(distribution.choice)]
    for i, value in values:
        try:
            check.read(round(value) if bounds and distribution.digits == 0 else value)
        except Bad as bad:
            path = f"{at}.{given[0]}[{i}]"
            raise InputError(where, path, shown(value), bad.allowed or check.allowed) from None
