"""The files of a metadata log themselves: ``__cluster_metadata-0/*.log`` and ``*.checkpoint``.

A record's value is a frame: versions of the frame, the record's number, its version, its fields
(AbstractApiMessageSerde.java). The fields are those of the schemas in
metadata/src/main/resources/common/metadata @ 4.0; records without a schema here say nothing of
what a cluster file has.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.metadata import Entry, Section
from isr_pipeline.clusters.record_batches import Record, looks_like_batches, records

KIND = "KRaft metadata log or snapshot file"
_FRAME = 1
_NAME = re.compile(r"(\d{20})-\d{10}\.checkpoint")
_CONTROLS: dict[int | None, str] = {
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
}
_WHOLE = "a record as Kafka writes it"


class Cursor:
    """Reads numbers and bytes one behind the other; too few bytes are a ValueError."""

    def __init__(self, content: bytes, at: int = 0, end: int | None = None) -> None:
        self.content = content
        self.at = at
        self.end = len(content) if end is None else end

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return self.end - self.at

    def take(self, count: int) -> bytes:
        """Take so many bytes."""
        if not 0 <= count <= self.left:
            raise ValueError(count)
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self, width: int, *, signed: bool = True) -> int:
        """Take a number of so many bytes."""
        return int.from_bytes(self.take(width), "big", signed=signed)

    def unsigned(self) -> int:
        """Take an unsigned varint."""
        value = 0
        for place in range(0, 70, 7):
            byte = self.number(1, signed=False)
            value |= (byte & 0x7F) << place
            if byte < 0x80:
                return value
        raise ValueError(value)


Read = Callable[[Cursor], Any]


def _int8(cursor: Cursor) -> int:
    return cursor.number(1)


def _int16(cursor: Cursor) -> int:
    return cursor.number(2)


def _uint16(cursor: Cursor) -> int:
    return cursor.number(2, signed=False)


def _int32(cursor: Cursor) -> int:
    return cursor.number(4)


def _int64(cursor: Cursor) -> int:
    return cursor.number(8)


def _bool(cursor: Cursor) -> bool:
    return cursor.number(1) != 0


def _uuid(cursor: Cursor) -> str:
    """Sixteen bytes, as Kafka writes them: base64 for addresses, without its padding."""
    return base64.urlsafe_b64encode(cursor.take(16)).rstrip(b"=").decode("ascii")


def _string(cursor: Cursor) -> str | None:
    size = cursor.unsigned()
    return None if size == 0 else cursor.take(size - 1).decode("utf-8")


def _list(read: Read) -> Read:
    def listed(cursor: Cursor) -> list[Any] | None:
        size = cursor.unsigned()
        if size == 0:
            return None
        if size - 1 > cursor.left:
            raise ValueError(size)
        return [read(cursor) for _ in range(size - 1)]

    return listed


@dataclass(frozen=True, slots=True)
class _Schema:
    """A record's fields.

    Attributes:
        kind: as dumps call it.
        fields: (name, first version, reader), in order.
        tagged: tag -> (name, reader).
    """

    kind: str
    fields: tuple[tuple[str, int, Read], ...]
    tagged: dict[int, tuple[str, Read]]

    def read(self, cursor: Cursor, version: int) -> dict[str, Any]:
        found = {name: read(cursor) for name, first, read in self.fields if version >= first}
        for _ in range(cursor.unsigned()):
            tag, size = cursor.unsigned(), cursor.unsigned()
            inner = Cursor(cursor.content, cursor.at, cursor.at + len(cursor.take(size)))
            if tag in self.tagged:
                name, read = self.tagged[tag]
                found[name] = read(inner)
        return found


def _struct(*fields: tuple[str, Read]) -> Read:
    schema = _Schema("", tuple((name, 0, read) for name, read in fields), {})
    return lambda cursor: schema.read(cursor, 0)


_IDS, _UUIDS = _list(_int32), _list(_uuid)
_ENDPOINT = _struct(
    ("name", _string), ("host", _string), ("port", _uint16), ("securityProtocol", _int16)
)
_FEATURE = _struct(
    ("name", _string), ("minSupportedVersion", _int16), ("maxSupportedVersion", _int16)
)
_SCHEMAS: dict[int, _Schema] = {
    0: _Schema(
        "REGISTER_BROKER_RECORD",
        (
            ("brokerId", 0, _int32),
            ("isMigratingZkBroker", 2, _bool),
            ("incarnationId", 0, _uuid),
            ("brokerEpoch", 0, _int64),
            ("endPoints", 0, _list(_ENDPOINT)),
            ("features", 0, _list(_FEATURE)),
            ("rack", 0, _string),
            ("fenced", 0, _bool),
            ("inControlledShutdown", 1, _bool),
        ),
        {0: ("logDirs", _UUIDS)},
    ),
    1: _Schema(
        "UNREGISTER_BROKER_RECORD", (("brokerId", 0, _int32), ("brokerEpoch", 0, _int64)), {}
    ),
    2: _Schema("TOPIC_RECORD", (("name", 0, _string), ("topicId", 0, _uuid)), {}),
    3: _Schema(
        "PARTITION_RECORD",
        (
            ("partitionId", 0, _int32),
            ("topicId", 0, _uuid),
            ("replicas", 0, _IDS),
            ("isr", 0, _IDS),
            ("removingReplicas", 0, _IDS),
            ("addingReplicas", 0, _IDS),
            ("leader", 0, _int32),
            ("leaderEpoch", 0, _int32),
            ("partitionEpoch", 0, _int32),
            ("directories", 1, _UUIDS),
        ),
        {
            0: ("leaderRecoveryState", _int8),
            1: ("eligibleLeaderReplicas", _IDS),
            2: ("lastKnownElr", _IDS),
        },
    ),
    4: _Schema(
        "CONFIG_RECORD",
        (
            ("resourceType", 0, _int8),
            ("resourceName", 0, _string),
            ("name", 0, _string),
            ("value", 0, _string),
        ),
        {},
    ),
    5: _Schema(
        "PARTITION_CHANGE_RECORD",
        (("partitionId", 0, _int32), ("topicId", 0, _uuid)),
        {
            0: ("isr", _IDS),
            1: ("leader", _int32),
            2: ("replicas", _IDS),
            3: ("removingReplicas", _IDS),
            4: ("addingReplicas", _IDS),
            5: ("leaderRecoveryState", _int8),
            6: ("eligibleLeaderReplicas", _IDS),
            7: ("lastKnownElr", _IDS),
            8: ("directories", _UUIDS),
        },
    ),
    7: _Schema("FENCE_BROKER_RECORD", (("id", 0, _int32), ("epoch", 0, _int64)), {}),
    8: _Schema("UNFENCE_BROKER_RECORD", (("id", 0, _int32), ("epoch", 0, _int64)), {}),
    9: _Schema("REMOVE_TOPIC_RECORD", (("topicId", 0, _uuid),), {}),
    12: _Schema("FEATURE_LEVEL_RECORD", (("name", 0, _string), ("featureLevel", 0, _int16)), {}),
    17: _Schema(
        "BROKER_REGISTRATION_CHANGE_RECORD",
        (("brokerId", 0, _int32), ("brokerEpoch", 0, _int64)),
        {0: ("fenced", _int8), 1: ("inControlledShutdown", _int8), 2: ("logDirs", _UUIDS)},
    ),
    23: _Schema("BEGIN_TRANSACTION_RECORD", (), {}),
    24: _Schema("END_TRANSACTION_RECORD", (), {}),
    25: _Schema("ABORT_TRANSACTION_RECORD", (), {}),
}
"""Number of a record -> its fields."""
_NAME_TAGGED = (23, 25)


def recognises(content: bytes) -> bool:
    """Whether bytes are of this kind."""
    return looks_like_batches(content)


def read(source: Source) -> list[Section]:
    """Read a file of a metadata log.

    Raises:
        InputError: a file that is cut off or damaged, or of another log than the metadata's.
    """
    section = Section(source)
    for record in records(source):
        section.entries.append(
            _entry(source, record) if record.control is None else _control(record)
        )
    if section.entries and section.entries[0].kind == "SNAPSHOT_HEADER":
        name = _NAME.search(source.name)
        section.snapshot_end = int(name[1]) if name else -1
    return [section]


def _control(record: Record) -> Entry:
    kind = _CONTROLS.get(record.control, "CONTROL")
    level = int.from_bytes((record.value or b"")[2:4], "big")
    data = {"kRaftVersion": level} if kind == "KRAFT_VERSION" else {}
    return Entry(record.offset, kind, data, record.place, record.timestamp_ms)


def _entry(source: Source, record: Record) -> Entry:
    cursor = Cursor(record.value or b"")
    try:
        frame, number, version = cursor.unsigned(), cursor.unsigned(), cursor.unsigned()
        if frame != _FRAME or number > 200:
            given = f"a record of frame {frame}, number {number}"
            source.refuse(record.place, given, "a log of the cluster's metadata, 3.0 or later")
        schema = _SCHEMAS.get(number)
        if schema is None or number in _NAME_TAGGED:
            kind = schema.kind if schema else f"RECORD_{number}"
            return Entry(record.offset, kind, {}, record.place, record.timestamp_ms)
        data = schema.read(cursor, version)
    except ValueError:
        source.refuse(record.place, f"a damaged record at offset {record.offset}", _WHOLE)
    return Entry(record.offset, schema.kind, data, record.place, record.timestamp_ms)
