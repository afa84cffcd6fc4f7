"""KRaft's metadata log: the records that matter, applied one after the other.

The log holds every change; a snapshot holds what came of all changes before an offset. So the
newest snapshot is applied first, then the log from its end on. Where the records come from, a dump
or the files themselves, makes no difference here; their fields are those of Kafka's schemas
(metadata/src/main/resources/common/metadata @ 4.0).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import (
    METADATA,
    BrokerFacts,
    Facts,
    PartitionFacts,
    Source,
    TopicFacts,
    of_a_topic,
    topic_name,
)
from isr_pipeline.clusters.properties import broker_setting

KIND = "KRaft metadata log"
METADATA_VERSION = "metadata.version"
_RELEASES = (
    (1, "3.0"), (2, "3.1"), (3, "3.2"), (7, "3.3"), (8, "3.4"), (11, "3.5"), (14, "3.6"),
    (19, "3.7"), (20, "3.8"), (21, "3.9"), (25, "4.0"), (27, "4.1"), (29, "4.2"), (30, "4.3"),
)  # fmt: skip
"""Highest metadata.version that brokers of a release support (MetadataVersion.java)."""
_NEWER = "4.4"
_TOPIC, _BROKER = 2, 4
"""Resource types of configuration records (ConfigResource.java)."""
_UNCHANGED = -2
_RESERVED_DIRS = "AAAAAAAAAAAAAAAAAAAAA"
"""How the ids begin that stand for no log dir: unassigned, lost, being moved (DirectoryId.java)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A record.

    Attributes:
        offset: in its log, or its place in a snapshot.
        kind: such as ``PARTITION_RECORD``; a control record's type, such as ``SNAPSHOT_FOOTER``.
        data: its fields; those that are missing have their defaults.
        place: where it stands in its source, for error lines.
        timestamp_ms: since 1970, when the controller wrote it.
    """

    offset: int
    kind: str
    data: dict[str, Any]
    place: int | str
    timestamp_ms: int


@dataclass(slots=True)
class Section:
    """A piece of the log, or a snapshot.

    Attributes:
        source: where it was read.
        snapshot_end: of a snapshot, the offset behind the last record that went into it; -1 if
            nobody says; None for a piece of the log.
        entries: in order.
    """

    source: Source
    snapshot_end: int | None = None
    entries: list[Entry] = field(default_factory=list)


def facts_of_metadata(sections: Sequence[Section]) -> Facts:
    """Apply everything that was read of a cluster's metadata log.

    Raises:
        InputError: a snapshot without its end, a log with a gap, a log that begins later than the
            snapshot ends, or a record that cannot be.
    """
    names = list(dict.fromkeys(section.source.name for section in sections))
    state = _State(Facts(" + ".join(names), KIND, METADATA, controller="kraft"))
    snapshots = [section for section in sections if section.snapshot_end is not None]
    logs = joined([section for section in sections if section.snapshot_end is None])
    begin = 0
    if snapshots:
        newest = max(snapshots, key=lambda section: section.snapshot_end or 0)
        _check_snapshot(newest, bool(logs))
        state.apply(newest.source, newest.entries)
        begin = max(newest.snapshot_end or 0, 0)
    first = min((entry.offset for _, entry in logs), default=begin)
    if first > begin:
        source, entry = logs[0]
        given = f"a log that begins at offset {first}"
        source.refuse(entry.place, given, f"also the snapshot or log with offset {begin}")
    for source, entry in logs:
        if entry.offset >= begin:
            state.apply(source, [entry])
    return state.facts_()


def release_of(level: int) -> str:
    """Give the first release that knows a metadata.version; of one that is unknown, the next."""
    return next((name for known, name in _RELEASES if level <= known), _NEWER)


def level_of(name: str) -> int | None:
    """Give the level of a metadata.version that is named by its release (``4.0-IV3``)."""
    found = re.fullmatch(r"(\d\.\d+)-IV(\d)", name)
    before = 0
    for most, release in _RELEASES:
        if found and release == found[1]:
            level = before + int(found[2]) + (before > 0)  # those of 3.0 begin with IV1
            return level if before < level <= most else None
        before = most
    return None


def _check_snapshot(section: Section, with_logs: bool) -> None:
    """A snapshot ends with its footer, and says what it holds."""
    if not section.entries or section.entries[-1].kind != "SNAPSHOT_FOOTER":
        place = section.entries[-1].place if section.entries else ""
        section.source.refuse(place, "a snapshot without its end", "a whole snapshot")
    if section.snapshot_end == -1 and with_logs:
        allowed = "its own name, OFFSET-EPOCH.checkpoint, which says where the log goes on"
        section.source.refuse("", "a snapshot of another name", allowed)


def joined(sections: Iterable[Section]) -> list[tuple[Source, Entry]]:
    """Put the pieces of the log together, without gaps.

    Raises:
        InputError: records are missing, or two logs have different records at an offset.
    """
    found: dict[int, tuple[Source, Entry]] = {}
    for section in sections:
        for entry in section.entries:
            known = found.setdefault(entry.offset, (section.source, entry))
            if (known[1].kind, known[1].data) != (entry.kind, entry.data):
                given = f"another record at offset {entry.offset} than {known[0].name}"
                section.source.refuse(entry.place, given, "logs of one cluster")
    ordered = [found[offset] for offset in sorted(found)]
    for (_, before), (source, entry) in pairwise(ordered):
        if entry.offset != before.offset + 1:
            given = f"offset {entry.offset} behind {before.offset}"
            source.refuse(entry.place, given, "every record of the log, in pieces or in one")
    return ordered


class _State:
    """What the records so far have made of the cluster."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.facts.names_all_brokers = True
        self.names: dict[str, str] = {}
        self.supported: dict[int, int] = {}
        self.moving: set[str] = set()
        self.transaction: list[tuple[Source, Entry]] | None = None

    def apply(self, source: Source, entries: Iterable[Entry]) -> None:
        """Apply records; those of a transaction when it ends."""
        for entry in entries:
            if entry.kind == "BEGIN_TRANSACTION_RECORD":
                self.transaction = []
            elif entry.kind == "ABORT_TRANSACTION_RECORD":
                self.transaction = None
            elif entry.kind == "END_TRANSACTION_RECORD":
                for one_source, one in self.transaction or ():
                    self._one(one_source, one)
                self.transaction = None
            elif self.transaction is not None:
                self.transaction.append((source, entry))
            else:
                self._one(source, entry)

    def _one(self, source: Source, entry: Entry) -> None:
        handler = _HANDLERS.get(entry.kind)
        if handler is None:
            return
        try:
            handler(self, source, entry)
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            given = f"{entry.kind} {json.dumps(entry.data, default=str)}"
            source.refuse(entry.place, given, "the fields that Kafka gives this record")

    def facts_(self) -> Facts:
        """Give the facts, with what follows from all of them."""
        levels = [level for broker, level in self.supported.items() if broker in self.facts.brokers]
        if levels:
            self.facts.release = release_of(min(levels))
        elif METADATA_VERSION not in self.facts.features:
            self.facts.release_hint = ("3.2", "its log has no metadata.version, which 3.3 brought")
        for which in sorted(self.moving):
            self.facts.left_out.append(
                f"the reassignment of {which}; its replicas are as they stand"
            )
        return self.facts

    # ------------------------------------------------------------------ brokers

    def register_broker(self, source: Source, entry: Entry) -> None:
        data = entry.data
        broker = BrokerFacts(rack=data.get("rack"), fenced=bool(data.get("fenced", True)))
        broker.log_dirs = _dirs(data.get("logDirs") or ())
        if data.get("endPoints"):  # one of them is that of inter-broker traffic
            broker.replication_listener = len(data["endPoints"]) > 1
        number = _number(source, entry, "brokerId")
        broker.settings = self.facts.broker(number).settings
        self.facts.brokers[number] = broker
        self.supported.pop(number, None)
        for feature in data.get("features") or ():
            if feature["name"] == METADATA_VERSION:
                self.supported[number] = int(feature["maxSupportedVersion"])

    def change_broker(self, source: Source, entry: Entry) -> None:
        broker = self.facts.broker(_number(source, entry, "brokerId"))
        fenced = entry.data.get("fenced", 0)
        if fenced:
            broker.fenced = fenced > 0
        if entry.data.get("logDirs"):
            broker.log_dirs = _dirs(entry.data["logDirs"])

    def unregister_broker(self, source: Source, entry: Entry) -> None:
        self.facts.brokers.pop(_number(source, entry, "brokerId"), None)

    def fence(self, source: Source, entry: Entry) -> None:
        self.facts.broker(_number(source, entry, "id")).fenced = True

    def unfence(self, source: Source, entry: Entry) -> None:
        self.facts.broker(_number(source, entry, "id")).fenced = False

    # ------------------------------------------------------------------ topics

    def topic(self, source: Source, entry: Entry) -> None:
        name = topic_name(source, entry.place, str(entry.data["name"]))
        settings = self.facts.topics[name].settings if name in self.facts.topics else {}
        topic = TopicFacts(str(entry.data["topicId"]), settings, settings_whole=True)
        self.facts.topics[name] = topic
        self.names[str(entry.data["topicId"])] = name

    def remove_topic(self, source: Source, entry: Entry) -> None:
        name = self.names.pop(str(entry.data["topicId"]), None)
        if name is None:
            source.refuse(entry.place, "the end of an unknown topic", "a whole log")
        self.facts.topics.pop(name, None)

    def _topic_of(self, source: Source, entry: Entry) -> TopicFacts:
        name = self.names.get(str(entry.data["topicId"]))
        if name is None:
            given = f"a partition of the unknown topic {entry.data['topicId']}"
            source.refuse(entry.place, given, "a log or snapshot that also has the topic")
        return self.facts.topics[name]

    def partition(self, source: Source, entry: Entry) -> None:
        data = entry.data
        replicas = _ids(data["replicas"])
        if not replicas:
            source.refuse(entry.place, "a partition without replicas", "a list of brokers")
        found = PartitionFacts(replicas, int(data.get("leader", -1)), _ids(data["isr"]))
        found.log_dirs = _placed(replicas, data.get("directories"))
        topic = self._topic_of(source, entry)
        topic.partitions[_number(source, entry, "partitionId")] = found
        self._moves(entry)

    def change_partition(self, source: Source, entry: Entry) -> None:
        data = entry.data
        topic, number = self._topic_of(source, entry), _number(source, entry, "partitionId")
        if number not in topic.partitions:
            source.refuse(entry.place, f"a change of the unknown partition {number}", "a whole log")
        partition = topic.partitions[number]
        if data.get("replicas") is not None:
            partition.replicas = _ids(data["replicas"])
        if data.get("isr") is not None:
            partition.isr = _ids(data["isr"])
        self._moves(entry)
        leader = data.get("leader", _UNCHANGED)
        if leader != _UNCHANGED:
            partition.leader = int(leader)
        if data.get("directories") is not None:
            partition.log_dirs = _placed(partition.replicas or (), data["directories"])

    def _moves(self, entry: Entry) -> None:
        """Note whether replicas of a partition come and go; None is no change."""
        lists = [entry.data.get(name) for name in ("addingReplicas", "removingReplicas")]
        which = f"{self.names[str(entry.data['topicId'])]}-{entry.data['partitionId']}"
        if any(lists):
            self.moving.add(which)
        elif [] in lists:
            self.moving.discard(which)

    # ------------------------------------------------------------------ settings, features

    def config(self, source: Source, entry: Entry) -> None:
        kind, name = entry.data["resourceType"], str(entry.data["resourceName"])
        key, value = str(entry.data["name"]), entry.data.get("value")
        if kind == _TOPIC and of_a_topic(key):
            topic = self.facts.topic(topic_name(source, entry.place, name))
            _set(topic.settings, key, None if value is None else str(value))
        elif kind == _BROKER:
            number = None if name in ("", "<default>") else int(name)
            settings = self.facts.settings if number is None else self.facts.broker(number).settings
            settings.pop(key, None)
            if value is not None:
                broker_setting(self.facts, number, key, str(value))

    def feature(self, _: Source, entry: Entry) -> None:
        _set(self.facts.features, str(entry.data["name"]), int(entry.data["featureLevel"]) or None)

    def kraft_version(self, _: Source, entry: Entry) -> None:
        self.facts.features["kraft.version"] = int(entry.data["kRaftVersion"])


_HANDLERS = {
    "REGISTER_BROKER_RECORD": _State.register_broker,
    "BROKER_REGISTRATION_CHANGE_RECORD": _State.change_broker,
    "UNREGISTER_BROKER_RECORD": _State.unregister_broker,
    "FENCE_BROKER_RECORD": _State.fence,
    "UNFENCE_BROKER_RECORD": _State.unfence,
    "TOPIC_RECORD": _State.topic,
    "REMOVE_TOPIC_RECORD": _State.remove_topic,
    "PARTITION_RECORD": _State.partition,
    "PARTITION_CHANGE_RECORD": _State.change_partition,
    "CONFIG_RECORD": _State.config,
    "FEATURE_LEVEL_RECORD": _State.feature,
    "KRAFT_VERSION": _State.kraft_version,
}


def _number(source: Source, entry: Entry, name: str) -> int:
    value = entry.data[name]
    if type(value) is not int or not 0 <= value < 2**31:
        source.refuse(entry.place, f"{name} {value}", "a number from 0")
    return value


def _ids(value: Any) -> tuple[int, ...]:
    found = tuple(int(one) for one in value)
    if len(set(found)) < len(found) or any(one < 0 for one in found):
        raise ValueError(value)
    return found


def _dirs(value: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(one) for one in value if not str(one).startswith(_RESERVED_DIRS))


def _placed(replicas: Sequence[int], dirs: Any) -> dict[int, str]:
    """The log dir of each replica, as far as it is assigned one."""
    pairs = zip(replicas, dirs or (), strict=False)
    return {b: str(one) for b, one in pairs if not str(one).startswith(_RESERVED_DIRS)}


def _set(settings: dict[str, Any], key: str, value: Any) -> None:
    """Set a value; None takes it away."""
    if value is None:
        settings.pop(key, None)
    else:
        settings[key] = value
