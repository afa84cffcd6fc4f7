"""Which kind of source a file is: told by its content, never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.clusters import (
    configs_text,
    cruise_control,
    log_dirs_text,
    metadata_dump,
    metadata_files,
    properties,
    strimzi,
    topics_text,
)
from isr_pipeline.clusters.facts import Facts, Source, without_colours
from isr_pipeline.clusters.metadata import Section, facts_of_metadata
from isr_pipeline.clusters.unsupported import not_read
from isr_pipeline.errors import InputError

BYTES_MAX = 512 * 2**20
"""Of one source: a metadata log is kept to 100 MiB by default."""
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of source.

    Attributes:
        kind: in words.
        recognises: whether a text is of this kind.
        read: what it says; pieces of a metadata log are put together afterwards.
    """

    kind: str
    recognises: Callable[[str], bool]
    read: Callable[[Source], Facts | list[Section]]


TEXTS: tuple[Format, ...] = tuple(
    Format(module.KIND, module.recognises, module.read)
    for module in (
        metadata_dump,
        topics_text,
        configs_text,
        log_dirs_text,
        strimzi,
        cruise_control,
    )
)
"""Kinds of text that nothing else looks like, in the order in which they are tried."""


def read_source(path: Path, name: str) -> Source:
    """Read a source's content.

    Args:
        path: a file.
        name: how error lines and ``values_from`` call it.

    Raises:
        InputError: no file, or a file that is too large.
    """
    content = _content(path, name)
    if content.startswith(_UTF_16):  # as Windows' shell writes what it is sent
        content = content.decode("utf-16", "replace").encode()
    return Source(name, content)


def facts_of(sources: Iterable[Source]) -> list[Facts]:
    """Say what each source says; all pieces of a metadata log together.

    Raises:
        InputError: a source of no known kind, or one that cannot be used.
    """
    found: list[Facts] = []
    sections: list[Section] = []
    skipped: list[str] = []
    for source in sources:
        one = _read(source)
        if isinstance(one, Facts):
            one.left_out += source.left_out
            found.append(one)
        else:
            sections += one
            skipped += source.left_out
    if not sections:
        return found
    of_log = facts_of_metadata(sections)
    of_log.left_out += skipped
    return [of_log, *found]


def _read(source: Source) -> Facts | list[Section]:
    if not source.content.strip():
        raise InputError(source.name, "", "empty", kinds())
    if metadata_files.recognises(source.content):
        return metadata_files.read(source)
    if source.content.startswith(_GZIP):
        source.refuse("", "a gzip file", "the same file unpacked")
    text = without_colours(source.content.decode("utf-8-sig", "replace"))
    found = next((one for one in TEXTS if one.recognises(text)), None)
    if found is not None:
        return found.read(source)
    other = not_read(text)
    if other is not None:
        line, name, instead = other
        source.refuse(line, f"{name}: none of the known sources", instead)
    if not properties.recognises(text):
        source.refuse("", "none of the known sources", kinds())
    return properties.read(source)


def kinds() -> str:
    """Name every kind of source."""
    return ", ".join([*(one.kind for one in TEXTS), properties.KIND, metadata_files.KIND])


def _content(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(name, "", reason, "a file") from None
    if len(content) > BYTES_MAX:
        raise InputError(name, "", f"more than {BYTES_MAX} bytes", "a smaller file")
    return content
