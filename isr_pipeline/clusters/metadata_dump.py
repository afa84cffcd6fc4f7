"""What ``kafka-dump-log.sh --cluster-metadata-decoder`` prints of a metadata log or snapshot.

A line for each batch, and below it one for each record, with the record's fields as JSON
(DumpLogSegments.scala @ 3.0 ... 4.3). One dump may hold several files.
"""

from __future__ import annotations

import json
import re
from typing import Any

from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.lines import own_lines
from isr_pipeline.clusters.metadata import Entry, Section

KIND = "kafka-dump-log.sh --cluster-metadata-decoder"
_ALLOWED = "lines of kafka-dump-log.sh --cluster-metadata-decoder"
_RECORD = re.compile(r"\|\s+offset: (\d+) \w+: (-?\d+) keySize: ")
_PAYLOAD = re.compile(r"(?:^|\s)payload: (.*)$")
_CONTROL = re.compile(r" (SnapshotHeader|SnapshotFooter|KRaftVersion|KRaftVoters) (\{.*)$")
_SNAPSHOT = re.compile(r"Snapshot end offset: (\d+), epoch: \d+")
_FILE = re.compile(r"Dumping (?:.*[/\\])?(?:(\d{20})-\d{10}\.checkpoint)?")
_BATCH = re.compile(r"baseOffset: \d+ lastOffset: \d+ count: (\d+)")
_INVALID = re.compile(r"Found \d+ invalid bytes at the end of ")
_BEGINS = re.compile(
    r"Dumping |Snapshot end offset: |baseOffset: |Found \d+ invalid bytes"
    r"|(?:Log s|S)tarting offset: |KRaft bootstrap snapshot"
)
_RECORDS = re.compile(r"\||\s*payload: ")
_UNDECODED = re.compile(r"Error at -?\d+, skipping")
_CONTROLS = {
    "SnapshotHeader": "SNAPSHOT_HEADER",
    "SnapshotFooter": "SNAPSHOT_FOOTER",
    "KRaftVersion": "KRAFT_VERSION",
    "KRaftVoters": "KRAFT_VOTERS",
}


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return re.search(r"^[^\S\n]*\|.*\bpayload: ?\{\"type\":", text, re.MULTILINE) is not None or (
        _BATCH.search(text) is not None
    )


def read(source: Source) -> list[Section]:
    """Read a dump, a section for each file in it.

    Raises:
        InputError: a line of something else or cut off, invalid bytes at the end of a file, or a
            dump of ``--skip-record-metadata``.
    """
    sections: list[Section] = []
    number, missing = 0, 0
    text = source.text(_ALLOWED)
    for number, line in own_lines(source, text, _ALLOWED, _BEGINS.match, _RECORDS.match):
        file, snapshot, batch = _FILE.match(line), _SNAPSHOT.match(line), _BATCH.match(line)
        if file:
            sections.append(Section(source, int(file[1]) if file[1] else None))
        elif snapshot:
            if not sections or sections[-1].entries:
                sections.append(Section(source))
            sections[-1].snapshot_end = int(snapshot[1])
        elif _RECORDS.match(line):
            if not sections:
                sections.append(Section(source))
            entry = _entry(source, number, line)
            if entry.kind == "SNAPSHOT_HEADER" and sections[-1].snapshot_end is None:
                sections[-1].snapshot_end = -1  # neither its name nor a line says where it ends
            sections[-1].entries.append(entry)
            missing -= 1
        elif batch:
            if " isvalid: false" in line:
                source.refuse(number, "a batch whose checksum is wrong", "a file that is whole")
            missing = int(batch[1])
        elif _INVALID.match(line):
            source.refuse(number, line, "a file that was copied whole")
        source.take(number)
    if missing > 0:
        source.refuse(number, f"a batch without its last {missing} records", "the whole dump")
    if not any(section.entries for section in sections):
        source.refuse("", "no record", _ALLOWED)
    return sections


def _entry(source: Source, number: int, line: str) -> Entry:
    record = _RECORD.match(line)
    payload = _PAYLOAD.search(line)
    if record is None:
        if payload and re.match(r"\|?\s*payload: ", line):
            given = "a record without offset and CreateTime"
            source.refuse(number, given, "a dump without --skip-record-metadata")
        source.refuse(number, line, _ALLOWED)
    offset, timestamp_ms = int(record[1]), int(record[2])
    if payload is None:
        control = _CONTROL.search(line)
        kind = _CONTROLS[control[1]] if control else "CONTROL"
        data = _json(source, number, control[2]) if control else {}
        return Entry(offset, kind, data, number, timestamp_ms)
    found = _json(source, number, payload[1])
    if not isinstance(found.get("type"), str) or not isinstance(found.get("data"), dict):
        source.refuse(number, payload[1], '{"type": ..., "version": ..., "data": {...}}')
    return Entry(offset, found["type"], found["data"], number, timestamp_ms)


def _json(source: Source, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        if _UNDECODED.match(text):
            given = "a record that the dump's tool could not decode"
            source.refuse(number, given, "a dump by the tool of the brokers' own release")
        source.refuse(number, "a record whose JSON is cut off", "whole lines")
    if not isinstance(found, dict):
        source.refuse(number, text, "a record as JSON")
    return found
