"""What happened when: the kernel's list of events, in the names of the model page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.simulation.world.states import EventKind, WaitedFor
from isr_pipeline.simulation.world.tables import NEVER, Event

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.simulation.world.columns import Table
    from isr_pipeline.worlds.encoder import World
    from isr_pipeline.worlds.entities import PartitionNames

_CHANGES = (EventKind.ISR_SHRINK, EventKind.ISR_EXPAND)
DECIDED = (*_CHANGES, EventKind.LEADER_RESIGNED)
"""Kinds of events that say when they were decided."""

CAUSED = (*DECIDED, EventKind.CONTROLLER_ISR_REMOVE, EventKind.RECORDS_LOST)
"""Kinds of events that have a cause."""

KINDS = tuple(kind.name.lower() for kind in EventKind)
"""Names of the kinds on the model page, by their numbers."""


class Names(Protocol):
    """What the kernel's indexes of partitions and brokers stand for: a `World`, or what is left."""

    @property
    def partitions(self) -> Sequence[PartitionNames]:
        """By kernel index."""

    @property
    def brokers(self) -> Sequence[int]:
        """Ids by kernel index."""


@dataclass(frozen=True, slots=True)
class Events:
    """Events of a run: listing them costs the kernel next to nothing, naming them takes time.

    Attributes:
        rows: the kernel's list, in order of time.
        names: what its indexes stand for.
    """

    rows: Table[Event]
    names: Names

    def named(self) -> list[dict[str, Any]]:
        """As mappings, in the names of the model page."""
        return [_event(self.names, row) for row in self.rows]

    def first(self, most: int) -> Events:
        """No more of them than that."""
        return Events(self.rows.part(slice(most)), self.names)


def events_of(world: World) -> Events:
    """The events of a world so far: a view of its array."""
    return Events(table_of(world.w, "events"), world)


def isr_of(names: Names, row: Event) -> list[int]:
    """Ids of the ISR after an event of a partition, ascending; a resigned leader's in its order."""
    replicas, mask = names.partitions[row.partition].replicas, row.isr
    if row.kind != EventKind.LEADER_RESIGNED:
        return _members(replicas, mask)
    order = row.caught_up_times[0]
    positions = [(order >> (4 * k)) & 15 for k in range(len(replicas))]
    return [replicas[pos] for pos in positions if (mask >> pos) & 1]


def cause_of(names: Names, row: Event) -> str | None:
    """Why an event of a partition happened: a JSON object, or None."""
    kind, replicas = row.kind, names.partitions[row.partition].replicas
    if kind in _CHANGES:
        return _caught_up(replicas, row)
    if kind == EventKind.CONTROLLER_ISR_REMOVE:
        return f'{{"removed": {members_text(replicas, row.mask)}}}'
    if kind == EventKind.RECORDS_LOST:
        return json.dumps({"records": row.mask})
    if kind == EventKind.LEADER_RESIGNED:
        return json.dumps({"isr_order": isr_of(names, row)})
    return None


def _caught_up(replicas: Sequence[int], row: Event) -> str:
    """When the followers that left or came had caught up: as `json.dumps` has it, sooner."""
    changed = []
    for pos, broker in enumerate(replicas):
        if (row.mask >> pos) & 1:
            at_us = row.caught_up_times[pos]
            known = at_us > NEVER // 2
            changed.append(
                f'"{broker}": {{"lastCaughtUpTimeMs": {_ms(at_us) if known else "null"}'
                f"{_waited(row, pos)}}}"
            )
    return f'{{"replicas": {{{", ".join(changed)}}}}}'


def _waited(row: Event, pos: int) -> str:
    """For what a follower that left had waited by load, and how long; empty if it had not."""
    if row.kind != EventKind.ISR_SHRINK or not row.waited[pos]:
        return ""
    waited_us, what = divmod(row.waited[pos], 4)
    return f', "waitedMs": {_ms(waited_us)}, "waitedFor": "{WAITED_FOR[WaitedFor(what)]}"'


WAITED_FOR = {
    WaitedFor.OWN_DISK: "own disk",
    WaitedFor.LEADERS_LOG: "leader's disk",
    WaitedFor.LEADERS_THREAD: "leader's network thread",
}
"""What a cause of a shrink says."""


@lru_cache(maxsize=4096)
def members_text(replicas: tuple[int, ...], mask: int) -> str:
    """Ids of the replicas in a set as JSON: few different ones, over and over."""
    return json.dumps(_members(replicas, mask))


def _members(replicas: tuple[int, ...], mask: int) -> list[int]:
    """Ids of the replicas in a set, ascending."""
    return sorted(b for pos, b in enumerate(replicas) if (mask >> pos) & 1)


def _ms(time_us: int) -> float:
    """Microseconds as milliseconds: a whole number where it is one."""
    return time_us // 1000 if time_us % 1000 == 0 else time_us / 1000


def waits_by_load(event: Mapping[str, Any]) -> list[str]:
    """For what the followers that an event removed had waited by load: a sentence each."""
    if "waitedFor" not in (event.get("cause") or ""):
        return []
    leader = event["broker"]
    whose = {
        WAITED_FOR[WaitedFor.OWN_DISK]: "its own disk",
        WAITED_FOR[WaitedFor.LEADERS_LOG]: f"broker {leader}'s disk",
        WAITED_FOR[WaitedFor.LEADERS_THREAD]: f"its network thread on broker {leader}",
    }
    return [
        f"broker {broker} waited {found['waitedMs'] / 1000:.1f} s for {whose[found['waitedFor']]}"
        for broker, found in json.loads(event["cause"])["replicas"].items()
        if "waitedFor" in found
    ]


def _event(names: Names, row: Event) -> dict[str, Any]:
    """One row of the kernel's list as a mapping."""
    partition = row.partition
    event: dict[str, Any] = {"t_ms": _ms(row.time), "kind": KINDS[row.kind]}
    event["topic"] = names.partitions[partition].topic if partition >= 0 else None
    event["partition"] = names.partitions[partition].number if partition >= 0 else None
    event["broker"] = names.brokers[row.broker] if row.broker >= 0 else None
    if partition < 0:
        event.update(leader=None, leader_epoch=None, isr=None, cause=None)
        return event
    event["leader"] = names.partitions[partition].replicas[row.leader] if row.leader >= 0 else -1
    event["leader_epoch"] = row.leader_epoch
    event["isr"] = isr_of(names, row)
    event["cause"] = cause_of(names, row)
    if row.kind in DECIDED:
        event["decided_ms"] = _ms(row.decided_at)
    return event
