"""What the metadata log tells: every record of the last days, each with its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.history.events import (
    CRASH,
    DISK,
    RESTART,
    SESSION,
    SHRINK,
    Event,
    Telling,
)
from isr_pipeline.clusters.history.registrations import RECORDS, Registrations
from isr_pipeline.clusters.metadata import Entry, Section, joined

_UNCHANGED = -2


@dataclass(slots=True)
class _Partition:
    leader: int
    isr: frozenset[int]


@dataclass(slots=True)
class _Past:
    """What the records so far have made of brokers and partitions."""

    brokers: Registrations = field(default_factory=Registrations)
    partitions: dict[tuple[str, int], _Partition] = field(default_factory=dict)
    shrinks: list[Event] = field(default_factory=list)
    replicas: set[int] = field(default_factory=set)

    def apply(self, records: Sequence[tuple[Source, Entry]]) -> None:
        """Apply the records of one moment: a fence stands behind the changes that it causes.

        Raises:
            InputError: a record that cannot be.
        """
        proposed: list[tuple[int, int, frozenset[int]]] = []
        disks = len(self.brokers.events)
        for source, entry in records:
            try:
                if entry.kind in RECORDS:
                    self.brokers.apply(entry.kind, entry.data, entry.timestamp_ms)
                elif entry.kind in ("PARTITION_RECORD", "PARTITION_CHANGE_RECORD"):
                    shrink = self._partition(entry)
                    proposed += [shrink] if shrink else []
            except (KeyError, TypeError, ValueError, AttributeError):
                given, allowed = f"a damaged {entry.kind}", "the fields that Kafka gives it"
                source.refuse(entry.place, given, allowed)
        lost = {one.broker for one in self.brokers.events[disks:] if one.kind == DISK}
        for at_ms, leader, left in proposed:
            if any(not self.brokers.inactive(broker) and broker not in lost for broker in left):
                self.shrinks.append(Event(at_ms, leader, SHRINK))

    def _partition(self, entry: Entry) -> tuple[int, int, frozenset[int]] | None:
        """Apply a partition's record; return when, by whom and of whom its ISR lost members."""
        data = entry.data
        which = (str(data["topicId"]), int(data["partitionId"]))
        known = self.partitions.get(which)
        leader = int(data.get("leader", _UNCHANGED))
        isr = None if data.get("isr") is None else frozenset(int(one) for one in data["isr"])
        self.replicas |= isr or set()
        if known is None:
            if isr is not None:
                self.partitions[which] = _Partition(leader, isr)
            return None
        left = frozenset() if isr is None else known.isr - isr
        moved = any(data.get(name) is not None for name in ("replicas", "removingReplicas"))
        by_leader = leader == _UNCHANGED and known.leader >= 0 and known.leader not in left
        known.leader = known.leader if leader == _UNCHANGED else leader
        known.isr = known.isr if isr is None else isr
        if left and by_leader and not moved and entry.kind == "PARTITION_CHANGE_RECORD":
            return entry.timestamp_ms, known.leader, left
        return None


def tell(sections: Sequence[Section]) -> Telling | None:
    """Tell what the pieces of a metadata log, and its snapshots, say of the past.

    Returns:
        None for snapshots alone, which have no past.

    Raises:
        InputError: pieces of two logs, a gap between pieces, or a record that cannot be.
    """
    records = joined(one for one in sections if one.snapshot_end is None)
    if not records:
        return None
    past = _Past()
    snapshots = [one for one in sections if one.snapshot_end is not None]
    before = [one for one in snapshots if 0 <= (one.snapshot_end or 0) <= records[0][1].offset]
    if before:
        newest = max(before, key=lambda one: one.snapshot_end or 0)
        past.apply([(newest.source, entry) for entry in newest.entries])
        past.brokers.events.clear()
        past.shrinks.clear()
    for _, moment in groupby(records, lambda one: one[1].timestamp_ms):
        past.apply(list(moment))
    return _told(past, [entry for _, entry in records], records[0][0].name, bool(before))


def _told(past: _Past, entries: Sequence[Entry], source: str, with_snapshot: bool) -> Telling:
    brokers = past.brokers
    gone = brokers.end()
    notes = [f"broker {one} had not returned at the log's end: counted as a crash" for one in gone]
    if entries[0].offset and not with_snapshot:
        notes.append(
            f"the metadata log begins at offset {entries[0].offset} without the snapshot before it:"
            " the first change of each partition is not seen, nor brokers that nothing happened to"
        )
    kinds = {SHRINK, SESSION}
    if brokers.tells_shutdowns:
        kinds |= {CRASH, RESTART}
    else:
        notes.append("registrations of before 3.3 do not tell a crash from a restart")
    if brokers.tells_disks:
        kinds.add(DISK)
    else:
        notes.append(
            "registrations of before 3.7 do not name log dirs: disks are told by logs only"
        )
    times = [entry.timestamp_ms for entry in entries if entry.timestamp_ms > 0]
    span = (min(times), max(times))
    return Telling(
        source,
        frozenset(kinds),
        [one for one in (*brokers.events, *past.shrinks) if one.kind in kinds],
        {broker: [span] for broker in {*brokers.brokers, *past.replicas}},
        brokers.disks,
        brokers.incarnations,
        notes,
    )
