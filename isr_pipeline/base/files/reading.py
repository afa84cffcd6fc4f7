"""YAML and JSON files read strictly.

A file is data, so YAML is read in its smallest safe form: the 1.2 core schema (null, true/false,
numbers, texts), no tags, no duplicate keys, aliases only as far as they do not multiply. Every
finding is an :class:`~isr_pipeline.base.errors.InputError` that names file, field, value and what
is allowed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import Path_
from isr_pipeline.base.files.words import dotted, kind_of, one_line, read_number, scalar

BYTES_MAX = 2 * 2**20
"""Larger files are refused: 10 000 partitions, each with its replicas, are a quarter of a MB."""
DEPTH_MAX = 50
NODES_MAX = 100_000
"""Keys and values of a file; reading so many takes about two seconds."""
ALIASED_NODES_MAX = 20_000
DOCUMENT = "one YAML or JSON mapping"


class _Pairs(list[tuple[str, Any]]):
    """A mapping as read: pairs in order of the file, duplicates included."""


class _NotReadable(Exception):
    """The document cannot be data; carries place and reason."""

    def __init__(self, place: str, given: str, allowed: str = DOCUMENT) -> None:
        super().__init__(place, given, allowed)
        self.place = place
        self.given = given
        self.allowed = allowed


def read_mapping(
    path: Path | str, *, bytes_max: int | None = None, nodes_max: int | None = None
) -> dict[str, Any]:
    """Read a YAML or JSON file that holds one mapping.

    Args:
        path: the file.
        bytes_max: a larger file is refused; None is `BYTES_MAX`.
        nodes_max: keys and values that it may have; None is `NODES_MAX`.

    All keys are texts in the result, whatever they were in the file (``0`` and ``"0"`` are the
    same key, hence duplicates of each other).

    Raises:
        InputError: the file is missing, empty, unreadable, no YAML, no mapping, too large or too
            deep, or holds a tag, a duplicate key or aliases that multiply.
    """
    where = str(path)
    bytes_max = BYTES_MAX if bytes_max is None else bytes_max
    try:
        with Path(path).open("rb") as file:
            raw = file.read(bytes_max + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(where, "", reason.lower(), "a readable YAML or JSON file") from None
    if len(raw) > bytes_max:
        raise InputError(where, "", f"more than {bytes_max} bytes", "a smaller file, or several")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(where, "", f"not UTF-8 at byte {error.start}", DOCUMENT) from None
    return parse_mapping(text, where, json_only=where.endswith(".json"), nodes_max=nodes_max)


def parse_mapping(
    text: str, where: str, *, json_only: bool = False, nodes_max: int | None = None
) -> dict[str, Any]:
    """Read the text of such a file; see :func:`read_mapping`."""
    value = parse_value(text, where, json_only=json_only, nodes_max=nodes_max)
    if value is None:
        raise InputError(where, "", "empty", DOCUMENT)
    if not isinstance(value, dict):
        raise InputError(where, "", kind_of(value), DOCUMENT)
    return value


def parse_value(
    text: str, where: str, *, json_only: bool = False, nodes_max: int | None = None
) -> Any:
    """Read any YAML (or JSON) value: a scalar, a list or a mapping with texts as keys."""
    try:
        if json_only or text.lstrip()[:1] == "{":
            try:
                return _plain(_json(text), ())
            except json.JSONDecodeError as error:
                if json_only and text.strip():
                    place = f"line {error.lineno}, column {error.colno}"
                    raise _NotReadable(place, f"no JSON ({error.msg})") from None
        return _plain(_yaml(text, NODES_MAX if nodes_max is None else nodes_max), ())
    except _NotReadable as found:
        raise InputError(where, found.place, found.given, found.allowed) from None
    except RecursionError:
        raise InputError(where, "", "nested too deeply", f"at most {DEPTH_MAX} levels") from None


def _json(text: str) -> Any:
    return json.loads(
        text, object_pairs_hook=_Pairs, parse_int=read_number, parse_float=read_number
    )


def _plain(value: Any, path: Path_) -> Any:
    """Turn pairs into dicts, refusing duplicates by their path."""
    if len(path) > DEPTH_MAX:
        raise _NotReadable(dotted(path[:4]), "nested too deeply", f"at most {DEPTH_MAX} levels")
    if isinstance(value, _Pairs):
        found: dict[str, Any] = {}
        for key, item in value:
            if key in found:
                raise _NotReadable(dotted((*path, key)), "given twice", "each key once")
            found[key] = _plain(item, (*path, key))
        return found
    if isinstance(value, list):
        return [_plain(item, (*path, i)) for i, item in enumerate(value)]
    return value


def _yaml(text: str, nodes_max: int) -> Any:
    """Compose one document from YAML events, as they come: a limit ends the reading at once."""
    values = text.count("\n") + text.count(",")
    if values > nodes_max:
        raise _NotReadable("", f"{values} lines and commas", f"at most {nodes_max}")
    try:
        return _Composer(YAML(typ="safe", pure=True).parse(text), nodes_max).document()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = one_line(error.problem or error.context or "syntax")
        raise _NotReadable(place, f"no YAML ({reason})") from None
    except (_NotReadable, RecursionError):
        raise
    except Exception as error:  # a broken byte stream can end anywhere in the YAML library
        raise _NotReadable("", f"no YAML ({one_line(str(error)) or 'syntax'})") from None


class _Composer:
    """Builds values from YAML events, counting nodes and what aliases would unfold to."""

    def __init__(self, events: Iterator[Any], nodes_max: int) -> None:
        self.events = events
        self.nodes_max = nodes_max
        self.anchors: dict[str, tuple[Any, int] | None] = {}
        self.nodes = 0
        self.aliased = 0

    def document(self) -> Any:
        value: Any = None
        documents = 0
        for event in self.events:
            name = type(event).__name__
            if name == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise _NotReadable(_line(event), "a second document")
                value = self.node(next(self.events), 0)
        return value

    def node(self, event: Any, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise _NotReadable(_line(event), "nested too deeply", f"at most {DEPTH_MAX} levels")
        name = type(event).__name__
        if name == "AliasEvent":
            return self.alias(event)
        if event.tag is not None:
            raise _NotReadable(
                _line(event), f"the tag {one_line(event.tag)}", "values without a tag"
            )
        before = self.nodes
        self.count(event)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        value: Any
        if name == "ScalarEvent":
            value = scalar(event.value) if event.implicit[0] else event.value
        elif name == "SequenceStartEvent":
            value = self.sequence(depth)
        else:
            value = self.mapping(depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

    def count(self, event: Any) -> None:
        self.nodes += 1
        if self.nodes > self.nodes_max:
            allowed = "fewer, or several files"
            raise _NotReadable(_line(event), f"more than {self.nodes_max} keys and values", allowed)

    def sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while type(event := next(self.events)).__name__ != "SequenceEndEvent":
            items.append(self.node(event, depth + 1))
        return items

    def mapping(self, depth: int) -> _Pairs:
        pairs = _Pairs()
        while type(event := next(self.events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent" or event.tag is not None:
                raise _NotReadable(_line(event), "a key that is no plain text", "texts as keys")
            self.count(event)
            pairs.append((event.value, self.node(next(self.events), depth + 1)))
        return pairs

    def alias(self, event: Any) -> Any:
        content = self.anchors.get(event.anchor)
        if content is None:
            raise _NotReadable(_line(event), f"the alias *{event.anchor}", "a finished anchor")
        value, size = content
        self.nodes += size
        self.aliased += size
        if self.aliased > ALIASED_NODES_MAX:
            allowed = f"aliases that unfold to at most {ALIASED_NODES_MAX} nodes"
            raise _NotReadable(_line(event), f"the alias *{event.anchor} multiplies", allowed)
        return value


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def said_path(path: Path) -> str:
    """Say a path as a person would: relative to where they are, if below."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


@dataclass(frozen=True)
class Listed:
    """One file.

    Attributes:
        name: by which commands know it.
        file: where it is.
        description: as it says, on one line; empty if it says none.
        problem: why it cannot be read, in one line; empty if it can.
    """

    name: str
    file: str
    description: str
    problem: str = ""

    @property
    def line(self) -> str:
        """Its problem, or the first sentence of its description."""
        return self.problem or self.description.partition(". ")[0].rstrip(".")


def listed(folder: Path) -> list[Listed]:
    """List the YAML files of a folder by name, those that cannot be read too."""
    return [_listed(path) for path in sorted(folder.glob("*.yaml"))]


def _listed(path: Path) -> Listed:
    try:
        said = read_mapping(path).get("description") or ""
    except InputError as problem:
        return Listed(path.stem, str(path), "", str(problem))
    return Listed(path.stem, str(path), " ".join(str(said).split()))
