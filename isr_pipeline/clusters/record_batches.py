"""Record batches of Kafka's log files, format v2, as far as the metadata log uses them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from isr_pipeline.clusters.facts import Source

_FORMAT = 2
_HEADER = struct.Struct(">qi4xb44x")
"""Base offset, length of what follows it, magic."""
_LENGTH_ENDS = 12
_WHOLE = "a metadata log or snapshot that was copied whole"


@dataclass(frozen=True, slots=True)
class Record:
    """A record.

    Attributes:
        offset: in the log.
        timestamp_ms: since 1970, when the controller wrote it.
        control: type of a control record, which is no record of the state machine; else None.
        value: None if there is none.
        place: byte at which its batch begins, in words.
    """

    offset: int
    timestamp_ms: int
    control: int | None
    value: bytes | None
    place: str


def looks_like_batches(content: bytes) -> bool:
    """Whether bytes begin as a log file does."""
    if len(content) < _HEADER.size:
        return False
    base, length, magic = _HEADER.unpack_from(content)
    return bool(base >= 0 and magic == _FORMAT and length + _LENGTH_ENDS >= _HEADER.size)


def records(source: Source) -> Iterator[Record]:
    """Read all records of a log file.

    Raises:
        InputError: a batch that is cut off or damaged, of another format, or compressed.
    """
    # kafka-python takes a quarter of a second to import, and most imports are of texts
    from kafka.errors import CorruptRecordError  # noqa: PLC0415
    from kafka.record import MemoryRecords  # noqa: PLC0415

    batches, at = MemoryRecords(source.content), 0
    while batches.has_next():
        place = f"byte {at}"
        try:
            batch = batches.next_batch()
            _check(source, batch, place)
            found = list(batch)
        except (CorruptRecordError, struct.error, TypeError):
            source.refuse(place, "a damaged batch", _WHOLE)
        for one in found:
            control = one.type if batch.is_control_batch else None
            yield Record(one.offset, one.timestamp, control, one.value, place)
        at += batch.size_in_bytes
    if left := len(source.content) - at:
        source.refuse(f"byte {at}", f"the first {left} bytes of a batch", _WHOLE)


def _check(source: Source, batch: Any, place: str) -> None:
    if batch.magic != _FORMAT or batch.base_offset < 0:
        source.refuse(place, f"no record batch (magic {batch.magic})", "record batches of format 2")
    if batch.compression_type:
        source.refuse(place, "a compressed batch", "a metadata log, which is not compressed")
    if not batch.validate_crc():
        source.refuse(place, "a batch whose checksum is wrong", _WHOLE)
