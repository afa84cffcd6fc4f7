"""Record batches of Kafka's log files, format v2, as far as the metadata log uses them.

Layout: DefaultRecordBatch.java and DefaultRecord.java @ 4.0. Numbers are big endian; those of a
record are zigzag varints.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from isr_pipeline.clusters.facts import Source

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, two timestamps,
producer id and epoch, base sequence, number of records."""
_BEHIND_LENGTH = 12
_CHECKED_FROM = 21
_LEAST_LENGTH = _HEADER.size - _BEHIND_LENGTH
_MAGIC = 2
_COMPRESSION = 0x07
_CONTROL = 0x20
_POLYNOMIAL = 0x82F63B78
_WHOLE = "a metadata log or snapshot that was copied whole"


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    Attributes:
        offset: in the log.
        timestamp_ms: since 1970, when the controller wrote it.
        is_control: it is no record of the state machine.
        key, value: None if there is none.
        place: byte at which its batch begins, in words.
    """

    offset: int
    timestamp_ms: int
    is_control: bool
    key: bytes | None
    value: bytes | None
    place: str


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

    def zigzag(self) -> int:
        """Take a signed varint."""
        value = self.unsigned()
        return (value >> 1) ^ -(value & 1)


def looks_like_batches(content: bytes) -> bool:
    """Whether bytes begin as a log file does."""
    if len(content) < _HEADER.size:
        return False
    base, length, _, magic, *_ = _HEADER.unpack_from(content)
    return bool(base >= 0 and magic == _MAGIC and length >= _LEAST_LENGTH)


def records(source: Source) -> Iterator[Record]:
    """Read all records of a log file.

    Raises:
        InputError: a batch that is cut off or damaged, of another format, or compressed.
    """
    content, at = source.content, 0
    while at < len(content):
        place = f"byte {at}"
        if len(content) - at < _HEADER.size:
            source.refuse(place, f"{len(content) - at} bytes of a batch", _WHOLE)
        base, length, _, magic, crc, attributes, _, began_ms, _, _, _, _, count = (
            _HEADER.unpack_from(content, at)
        )
        end = at + _BEHIND_LENGTH + length
        if magic != _MAGIC or base < 0 or length < _LEAST_LENGTH or count < 0:
            source.refuse(place, f"no record batch (magic {magic})", "record batches of format 2")
        if end > len(content):
            given = f"a batch of {length} bytes, {len(content) - at - _BEHIND_LENGTH} of them here"
            source.refuse(place, given, _WHOLE)
        if attributes & _COMPRESSION:
            source.refuse(place, "a compressed batch", "a metadata log, which is not compressed")
        if crc32c(content[at + _CHECKED_FROM : end]) != crc:
            source.refuse(place, "a batch whose checksum is wrong", _WHOLE)
        cursor = Cursor(content, at + _HEADER.size, end)
        try:
            for _ in range(count):
                yield _record(cursor, base, began_ms, bool(attributes & _CONTROL), place)
        except ValueError:
            source.refuse(place, "a record that ends beyond its batch", _WHOLE)
        if cursor.left:
            source.refuse(place, f"{cursor.left} bytes behind the last record", _WHOLE)
        at = end


def _record(cursor: Cursor, base: int, began_ms: int, is_control: bool, place: str) -> Record:
    length = cursor.zigzag()
    inner = Cursor(cursor.content, cursor.at, cursor.at + len(cursor.take(length)))
    inner.take(1)
    timestamp_ms = began_ms + inner.zigzag()
    offset = base + inner.zigzag()
    key, value = _sized(inner), _sized(inner)
    return Record(offset, timestamp_ms, is_control, key, value, place)


def _sized(cursor: Cursor) -> bytes | None:
    size = cursor.zigzag()
    return None if size < 0 else cursor.take(size)


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return tuple(table)


_TABLE = _crc_table()


def crc32c(content: bytes) -> int:
    """CRC-32C (Castagnoli), as batches have it."""
    value = 0xFFFFFFFF
    table = _TABLE
    for byte in content:
        value = (value >> 8) ^ table[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF
