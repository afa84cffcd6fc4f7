"""A log that Kafka wrote through log4j: its lines with their times, packed by gzip or not.

Kafka's own form is ``[yyyy-MM-dd HH:mm:ss,SSS] LEVEL message (logger)``, in local time; containers
leave the brackets out or put a prefix before them.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.recognise import BYTES_MAX

_GZIP = b"\x1f\x8b"
_LINE = re.compile(
    r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d):(\d\d)[,.](\d{3})\d*(Z?)\]?\s+"
    r"(?:\[[^\]]*\]\s+)?(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\s+(.*)"
)
_UTC = ZoneInfo("UTC")
_SAMPLE_LINES = 2000
_WIDTH = 4000


def unpacked(source: Source) -> Source:
    """Give a source that gzip packed as it was before; any other as it is.

    Raises:
        InputError: it is cut off, damaged or too large.
    """
    if not source.content.startswith(_GZIP):
        return source
    try:
        with gzip.open(io.BytesIO(source.content)) as file:
            content = file.read(BYTES_MAX + 1)
    except (EOFError, OSError, zlib.error) as error:
        given = f"a gzip file that is cut off or damaged ({error})"
        raise InputError(source.name, "", given, "the whole file") from None
    if len(content) > BYTES_MAX:
        given = f"more than {BYTES_MAX} bytes unpacked"
        raise InputError(source.name, "", given, "smaller files")
    return replace(source, content=content)


def lines(source: Source, zone: ZoneInfo) -> Iterator[tuple[int | None, str]]:
    """Give each line's time, milliseconds since 1970, and its message.

    A line without a time (a stack trace, settings) has None, and all of its text.
    """
    for line in _texts(source):
        found = _LINE.search(line, 0, _WIDTH)
        if found is None:
            yield None, line
            continue
        minute_ms = _minute_ms(found[1], _UTC if found[4] else zone)
        at_ms = minute_ms + int(found[2]) * 1000 + int(found[3]) if minute_ms is not None else None
        yield at_ms, found[5]


def recognises(source: Source) -> bool:
    """Whether one of the first lines is one of a log."""
    return any(_LINE.search(line, 0, _WIDTH) for line in islice(_texts(source), _SAMPLE_LINES))


def _texts(source: Source) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(source.content), encoding="utf-8", errors="replace")


@lru_cache(maxsize=64)
def _minute_ms(text: str, zone: ZoneInfo) -> int | None:
    try:
        return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()) * 1000
    except ValueError:
        return None  # a date that no calendar has
