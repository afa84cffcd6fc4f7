"""Incidents: how often a year each kind comes to a cluster, and which drawn scenarios stand for it.

A fault profile says it of a broker, a disk, a rack or the cluster; a cluster has so many of these.
What an operator counted in the whole cluster replaces it. Counts decide what scenarios weigh, and
never what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Bad, mapping_of, number, one_of, text
from isr_pipeline.base.files.models import Strict
from isr_pipeline.base.files.reading import parse_value
from isr_pipeline.base.files.words import close_or_all, dotted, shown

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

Unit = Literal["broker", "disk", "rack", "cluster"]
Place = tuple[str, str]
"""A stratum, and a pattern that it draws."""

PER_YEAR = number(0, 1e6, "a number > 0 (0.001: once in a thousand years)", low_open=True)
_SHARE = number(0, 1e9, "a number > 0", low_open=True)


COUNTS = mapping_of(PER_YEAR, "a mapping of kinds of incidents to numbers a year", empty=True)
Counts = Annotated[dict[str, float], COUNTS]
"""Kind of incident -> how many a year somebody counted in a whole cluster."""


def counts_of(options: Sequence[str], where: str) -> dict[str, float]:
    """Read counts from a command line: ``crash=4,pause=12`` each.

    Raises:
        InputError: no such form, a kind twice, or no number > 0.
    """
    found: dict[str, Any] = {}
    for part in (part.strip() for option in options for part in option.split(",")):
        kind, equals, count = part.partition("=")
        if not kind or not equals:
            raise InputError(where, "", shown(part), "KIND=NUMBER, such as crash=4")
        if kind in found:
            raise InputError(where, kind, "counted twice", "each kind once")
        found[kind] = parse_value(count, f"{where} {kind}")
    try:
        return dict(COUNTS.read(found))
    except Bad as bad:
        raise InputError(where, dotted(bad.at), bad.given, bad.allowed) from None


def told(incidents: Mapping[str, Incident], counts: Mapping[str, float]) -> str:
    """Numbers a year of a whole cluster: what somebody counted first, then what is estimated.

    Args:
        incidents: as :func:`in_cluster` gives them.
        counts: kind -> what somebody counted.
    """
    ours = {kind: one.per_year for kind, one in incidents.items() if kind not in counts}
    groups = (
        (f"{', '.join(f'{kind} {count:.3g}' for kind, count in those.items())} ({word})")
        for those, word in ((counts, "counted"), (ours, "estimated"))
        if those
    )
    return "; ".join(groups)


class Incident(Strict):
    """A kind of incident that somebody who runs a cluster counts."""

    per_year: Annotated[float, PER_YEAR] = Field(
        description="How often a year it comes to each of what `of` names."
    )
    of: Annotated[Unit, one_of("broker", "disk", "rack", "cluster")] = Field(
        description="What it comes to; a cluster has one or several."
    )
    scenarios: Annotated[
        dict[str, float], mapping_of(_SHARE, "a mapping of STRATUM.PATTERN to a share")
    ] = Field(
        description="`STRATUM.PATTERN` -> share of the incidents that these scenarios stand for, "
        "up to a common factor: how they divide over lengths, and how many meet another fault."
    )
    repair_minutes: Annotated[float, number(0, 1e6, "a number >= 0")] = Field(
        default=30,
        description="How long what a scenario leaves broken stays so after its end, until a person "
        "has repaired it. It is reckoned, not simulated; the default is an estimate.",
    )
    why: Annotated[str, text(r"[^\x00-\x08]{0,2000}", "a text")] = Field(
        default="", description="Where the numbers come from."
    )

    def at(self) -> dict[Place, float]:
        """How many a year each place stands for."""
        every = sum(self.scenarios.values())
        return {place_of(name): self.per_year * s / every for name, s in self.scenarios.items()}


def place_of(name: str) -> Place:
    """Take ``STRATUM.PATTERN`` apart."""
    stratum, _, pattern = name.rpartition(".")
    return stratum, pattern


def units_of(healthy: Scenario) -> dict[Unit, int]:
    """How many brokers, disks and racks a cluster has; a broker without a rack is one."""
    cluster = healthy.cluster
    return {
        "broker": len(cluster.brokers),
        "disk": sum(cluster.log_dirs_of(broker) for broker in cluster.brokers),
        "rack": len({cluster.racks.get(broker, broker) for broker in cluster.brokers}),
        "cluster": 1,
    }


def check_kinds(
    counts: Mapping[str, float], incidents: Mapping[str, Incident], where: str, *at: str
) -> None:
    """Refuse a count of a kind that a fault profile does not have.

    Args:
        counts: kind -> how many a year somebody counted.
        incidents: of the profile.
        where: who says so.
        at: where in it.

    Raises:
        InputError: such a kind.
    """
    for kind in counts:
        if kind not in incidents:
            allowed = close_or_all(kind, incidents) if incidents else "a fault profile that has any"
            raise InputError(where, dotted((*at, kind)), "unknown kind of incident", allowed)


def in_cluster(
    incidents: Mapping[str, Incident], healthy: Scenario, counts: Mapping[str, float]
) -> dict[str, Incident]:
    """The incidents of a whole cluster.

    Args:
        incidents: kind -> as the fault profile has it.
        healthy: the cluster.
        counts: kind -> how many a year somebody counted in all of it, instead.

    Returns:
        kind -> the same, with the cluster's own number a year.
    """
    units = units_of(healthy)
    return {
        kind: one.model_copy(
            update={
                "per_year": counts.get(kind, one.per_year * units[one.of]),
                "of": "cluster",
            }
        )
        for kind, one in incidents.items()
    }
