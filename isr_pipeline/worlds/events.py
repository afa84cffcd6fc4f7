"""What happened when: the kernel's list of events, in the names of the model page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from isr_pipeline.simulation.shortcuts.motions import rows_of
from isr_pipeline.simulation.world import layout as at

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from isr_pipeline.worlds.encoder import World
    from isr_pipeline.worlds.entities import PartitionNames

_CHANGES = ("isr_shrink", "isr_expand")
DECIDED = (*_CHANGES, "leader_resigned")
"""Kinds of events that say when they were decided."""

CAUSED = (*DECIDED, "controller_isr_remove", "records_lost")
"""Kinds of events that have a cause."""


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
        rows: the kernel's list, in order of time: a row of V_SIZE cells each.
        names: what its indexes stand for.
    """

    rows: npt.NDArray[np.int64]
    names: Names

    def named(self) -> list[dict[str, Any]]:
        """As mappings, in the names of the model page."""
        return [_event(self.names, row) for row in self.rows.tolist()]

    def first(self, most: int) -> Events:
        """No more of them than that."""
        return Events(self.rows[:most], self.names)


def events_of(world: World) -> Events:
    """The events of a world so far: a view of its array."""
    return Events(rows_of(world.w, at.H_EVENTS, int(world.w[at.G_EVENT_COUNT]), at.V_SIZE), world)


def isr_of(names: Names, row: Sequence[int]) -> list[int]:
    """Ids of the ISR after an event of a partition, ascending; a resigned leader's in its order."""
    partition, mask = row[at.V_PART], row[at.V_ISR]
    replicas = names.partitions[partition].replicas
    if at.EVENT_NAMES[row[at.V_KIND]] != "leader_resigned":
        return _members(replicas, mask)
    order = row[at.V_CAUSE0]
    positions = [(order >> (4 * k)) & 15 for k in range(len(replicas))]
    return [replicas[pos] for pos in positions if (mask >> pos) & 1]


def cause_of(names: Names, row: Sequence[int]) -> str | None:
    """Why an event of a partition happened: a JSON object, or None."""
    kind, replicas = at.EVENT_NAMES[row[at.V_KIND]], names.partitions[row[at.V_PART]].replicas
    if kind in _CHANGES:
        return _caught_up(replicas, row)
    if kind == "controller_isr_remove":
        return f'{{"removed": {members_text(replicas, row[at.V_MASK])}}}'
    if kind == "records_lost":
        return json.dumps({"records": row[at.V_MASK]})
    if kind == "leader_resigned":
        return json.dumps({"isr_order": isr_of(names, row)})
    return None


def _caught_up(replicas: Sequence[int], row: Sequence[int]) -> str:
    """When the followers that left or came had caught up: as `json.dumps` has it, sooner."""
    changed = []
    for pos, broker in enumerate(replicas):
        if (row[at.V_MASK] >> pos) & 1:
            at_us = row[at.V_CAUSE0 + pos] if pos < at.V_SIZE - at.V_CAUSE0 else at.NEVER
            known = at_us > at.NEVER // 2
            changed.append(
                f'"{broker}": {{"lastCaughtUpTimeMs": {_ms(at_us) if known else "null"}}}'
            )
    return f'{{"replicas": {{{", ".join(changed)}}}}}'


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


def _event(names: Names, row: list[int]) -> dict[str, Any]:
    """One row of the kernel's list as a mapping."""
    kind = at.EVENT_NAMES[row[at.V_KIND]]
    partition = row[at.V_PART]
    event: dict[str, Any] = {"t_ms": _ms(row[at.V_TIME]), "kind": kind}
    event["topic"] = names.partitions[partition].topic if partition >= 0 else None
    event["partition"] = names.partitions[partition].number if partition >= 0 else None
    event["broker"] = names.brokers[row[at.V_BROKER]] if row[at.V_BROKER] >= 0 else None
    if partition < 0:
        event.update(leader=None, leader_epoch=None, isr=None, cause=None)
        return event
    leader = row[at.V_LEADER]
    event["leader"] = names.partitions[partition].replicas[leader] if leader >= 0 else -1
    event["leader_epoch"] = row[at.V_LEPOCH]
    event["isr"] = isr_of(names, row)
    event["cause"] = cause_of(names, row)
    if kind in DECIDED:
        event["decided_ms"] = _ms(row[at.V_DECIDED])
    return event
