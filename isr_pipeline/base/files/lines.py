"""On which line of a file a field stands; the file is read again only to tell a mistake."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from isr_pipeline.base.errors import InputError, together
from isr_pipeline.base.files.checks import Path_
from isr_pipeline.base.files.reading import DEPTH_MAX, NODES_MAX
from isr_pipeline.base.files.words import dotted

_ENDINGS = (".yaml", ".yml", ".json")
STREAM_DEPTH = 2
"""Levels of a stream and its document, around all others."""


@contextlib.contextmanager
def with_lines() -> Iterator[None]:
    """Give what is refused inside the line of its file, and the order of the lines."""
    try:
        yield
    except InputError as error:
        raise located(error) from None


def located(error: InputError) -> InputError:
    """The same mistakes, with the lines of the files that they are in."""
    lines: dict[str, dict[str, int]] = {}
    found = []
    for one in error.each:
        if one.where not in lines:
            lines[one.where] = _lines_of(one.where)
        found.append(one if one.line else one.at_line(_line(lines[one.where], one.field)))
    return together(sorted(found, key=lambda one: (one.where, one.line)))


def _line(lines: dict[str, int], field: str) -> int:
    """Line of a field; of one that is not there, of the nearest that holds it."""
    field = field.partition(": ")[0]  # what follows is no place in the file
    while field and field not in lines:
        field = field[: max(field.rfind("."), field.rfind("["), 0)]
    return lines.get(field, 0)


def _lines_of(file: str) -> dict[str, int]:
    """Line of each key and item by its dotted path, as far as the file can be read."""
    found: dict[str, int] = {}
    if file.endswith(_ENDINGS):
        # A broken byte stream can end anywhere in the YAML library, and is refused without a line.
        with contextlib.suppress(Exception):
            text = Path(file).read_text("utf-8-sig")
            events = _within_limits(YAML(typ="safe", pure=True).parse(text))
            for event in events:
                if type(event).__name__ == "MappingStartEvent":
                    _note_mapping(events, (), found)
    return found


def _within_limits(events: Iterator[Any]) -> Iterator[Any]:
    """Events up to where `reading` ends as well: what is deeper or longer has no lines.

    Raises:
        ValueError: a limit is passed.
    """
    depth = 0
    for number, event in enumerate(events):
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > DEPTH_MAX + STREAM_DEPTH or number > 2 * NODES_MAX:
            raise ValueError
        yield event


def _note_mapping(events: Iterator[Any], path: Path_, found: dict[str, int]) -> None:
    while type(key := next(events)).__name__ == "ScalarEvent":
        below = (*path, key.value)
        found[dotted(below)] = key.start_mark.line + 1  # of a key given twice the second
        _note(next(events), events, below, found)


def _note(event: Any, events: Iterator[Any], path: Path_, found: dict[str, int]) -> None:
    name = type(event).__name__
    if name == "MappingStartEvent":
        _note_mapping(events, path, found)
    elif name == "SequenceStartEvent":
        place = 0
        while type(item := next(events)).__name__ != "SequenceEndEvent":
            found[dotted((*path, place))] = item.start_mark.line + 1
            _note(item, events, (*path, place), found)
            place += 1
