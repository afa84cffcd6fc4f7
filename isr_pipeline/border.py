"""Where files come in: YAML and JSON read strictly, pydantic's findings said in one line.

A file is data, so YAML is read in its smallest safe form: the 1.2 core schema (null, true/false,
numbers, texts), no tags, no duplicate keys, aliases only as far as they do not multiply. Every
finding is an :class:`~isr_pipeline.errors.InputError` that names file, field, value and what is
allowed; of several, the first in a fixed order (unknown keys, then the fields as the model lists
them).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError

from isr_pipeline.errors import InputError
from isr_pipeline.kafka.broker_config import as_whole, close_or_all

BYTES_MAX = 16 * 2**20
"""Larger files are refused: no scenario or experiment is written by hand at that size."""
DEPTH_MAX = 50
ALIASED_NODES_MAX = 20_000
SHOWN_MAX = 120
DOCUMENT = "one YAML or JSON mapping"

Path_ = tuple[str | int, ...]
Model = TypeVar("Model", bound=BaseModel)


class Strict(BaseModel):
    """Base of everything that is read from a file: immutable, no unknown key, no infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# ---------------------------------------------------------------------------- reading


class _Pairs(list[tuple[str, Any]]):
    """A mapping as read: pairs in order of the file, duplicates included."""


class _NotReadable(Exception):
    """The document cannot be data; carries place and reason."""

    def __init__(self, place: str, given: str, allowed: str = DOCUMENT) -> None:
        super().__init__(place, given, allowed)
        self.place = place
        self.given = given
        self.allowed = allowed


def read_mapping(path: Path | str) -> dict[str, Any]:
    """Read a YAML or JSON file that holds one mapping.

    All keys are texts in the result, whatever they were in the file (``0`` and ``"0"`` are the
    same key, hence duplicates of each other).

    Raises:
        InputError: the file is missing, empty, unreadable, no YAML, no mapping, or holds a tag, a
            duplicate key or aliases that multiply.
    """
    where = str(path)
    try:
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(where, "", reason.lower(), "a readable YAML or JSON file") from None
    if len(raw) > BYTES_MAX:
        raise InputError(where, "", f"{len(raw)} bytes", f"at most {BYTES_MAX} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(where, "", f"not UTF-8 at byte {error.start}", DOCUMENT) from None
    return parse_mapping(text, where, json_only=where.endswith(".json"))


def parse_mapping(text: str, where: str, *, json_only: bool = False) -> dict[str, Any]:
    """Read the text of such a file; see :func:`read_mapping`."""
    value = parse_value(text, where, json_only=json_only)
    if value is None:
        raise InputError(where, "", "empty", DOCUMENT)
    if not isinstance(value, dict):
        raise InputError(where, "", kind_of(value), DOCUMENT)
    return value


def parse_value(text: str, where: str, *, json_only: bool = False) -> Any:
    """Read any YAML (or JSON) value: a scalar, a list or a mapping with texts as keys."""
    try:
        if json_only or text.lstrip()[:1] == "{":
            try:
                return _plain(_json(text), ())
            except json.JSONDecodeError as error:
                if json_only and text.strip():
                    place = f"line {error.lineno}, column {error.colno}"
                    raise _NotReadable(place, f"no JSON ({error.msg})") from None
        return _plain(_yaml(text), ())
    except _NotReadable as found:
        raise InputError(where, found.place, found.given, found.allowed) from None
    except RecursionError:
        raise InputError(where, "", "nested too deeply", f"at most {DEPTH_MAX} levels") from None


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_Pairs, parse_int=_number, parse_float=_number)


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


def _yaml(text: str) -> Any:
    """Compose one document from YAML events."""
    try:
        events = list(YAML(typ="safe", pure=True).parse(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = one_line(error.problem or error.context or "syntax")
        raise _NotReadable(place, f"no YAML ({reason})") from None
    except RecursionError:
        raise
    except Exception as error:  # a broken byte stream can end anywhere in the YAML library
        raise _NotReadable("", f"no YAML ({one_line(str(error)) or 'syntax'})") from None
    return _Composer(events).document()


class _Composer:
    """Builds values from YAML events, counting what aliases would unfold to."""

    def __init__(self, events: list[Any]) -> None:
        self.events = iter(events)
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
            raise _NotReadable(_line(event), f"the tag {event.tag}", "values without a tag")
        before = self.nodes
        self.nodes += 1
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        value: Any
        if name == "ScalarEvent":
            value = _scalar(event.value) if event.implicit[0] else event.value
        elif name == "SequenceStartEvent":
            value = self.sequence(depth)
        else:
            value = self.mapping(depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

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
            self.nodes += 1
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


_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{s + w: float(f"{s}inf") for s in ("", "+", "-") for w in (".inf", ".Inf", ".INF")},
}


def _scalar(text: str) -> Any:
    """Resolve a plain scalar by the YAML 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
        return _number(text)
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|0o[0-7]{1,22}", text):
        return int(text, 0)
    return text


def _number(text: str) -> int | float:
    """Read a number; a whole one of absurd length becomes a float, which no range contains."""
    if _INT.fullmatch(text) and len(text) <= 40:
        return int(text)
    return float(text)


# ---------------------------------------------------------------------------- saying


def one_line(text: str) -> str:
    """Bring a text on one line of printable characters, shortened in the middle."""
    flat = " ".join(text.split())
    flat = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in flat)
    if len(flat) <= SHOWN_MAX:
        return flat
    return f"{flat[: SHOWN_MAX - 24]} ... {flat[-18:]}"


def shown(value: object) -> str:
    """Write a value as it could stand in the file; texts that look like another type are quoted."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    if isinstance(value, str):
        plain = one_line(value)
        if plain == value and not isinstance(_scalar(value), str):
            return json.dumps(value)
        return plain if plain == value else one_line(json.dumps(value, ensure_ascii=False))
    if isinstance(value, tuple):
        value = list(value)
    if isinstance(value, (bool, int, float, list, dict)) or value is None:
        try:
            return one_line(json.dumps(value, default=str, ensure_ascii=False))
        except ValueError:
            return kind_of(value)
    return one_line(str(value))


def kind_of(value: object) -> str:
    """Name the kind of a value in words."""
    kinds = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}
    for kind, words in kinds.items():
        if isinstance(value, kind):
            return words
    return "nothing" if value is None else "a number"


def dotted(path: Iterable[str | int]) -> str:
    """Write a path as ``faults[2].broker``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return one_line(text)


# ---------------------------------------------------------------------------- checking


class Bad(ValueError):
    """Raised by a check: what is allowed, and where below the checked field it went wrong."""

    def __init__(self, allowed: str, at: Path_ = (), given: str | None = None) -> None:
        super().__init__(allowed)
        self.allowed = allowed
        self.at = at
        self.given = given


class Check:
    """A field's whole validation: reads a raw value or says what is allowed.

    Used as ``Annotated[type, Check(...)]``: pydantic runs nothing else on the field, so that no
    silent conversion (a boolean to a number, a text to a number) can happen.
    """

    def __init__(self, allowed: str, read: Callable[[Any], Any]) -> None:
        self.allowed = allowed
        self.read = read

    def __call__(self, value: Any) -> Any:
        """Read the value or raise pydantic's custom error with what is allowed."""
        try:
            return self.read(value)
        except Bad as bad:
            context = {"allowed": bad.allowed or self.allowed, "at": bad.at, "given": bad.given}
            raise PydanticCustomError("refused", "{allowed}", context) from None

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Replace pydantic's own validation of the annotated type."""
        return core_schema.no_info_plain_validator_function(self)


def number(low: float, high: float, allowed: str, *, low_open: bool = False) -> Check:
    """A finite number in a range; whole numbers come out as int, so that 5 and 5.0 are the same."""

    def read(value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Bad(allowed)
        if not low <= value < high or (low_open and value == low):
            raise Bad(allowed)
        whole = as_whole(value)
        return value if whole is None else whole

    return Check(allowed, read)


def whole(low: int, high: int, allowed: str = "") -> Check:
    """A whole number from low to high, both included; 20000.0 is one, true is not."""
    words = allowed or f"a whole number {low}..{high}"

    def read(value: Any) -> int:
        found = as_whole(value)
        if found is None or not low <= found <= high:
            raise Bad(words)
        return found

    return Check(words, read)


def one_of(*names: str | int) -> Check:
    """One of the listed texts (or whole numbers)."""
    words = ", ".join(str(name) for name in names)

    def read(value: Any) -> str | int:
        for name in names:
            if isinstance(name, str) and isinstance(value, str) and value == name:
                return name
            if isinstance(name, int) and as_whole(value) == name:
                return name
        raise Bad(words)

    return Check(words, read)


def text(pattern: str, allowed: str) -> Check:
    """A text that a regular expression matches as a whole."""
    compiled = re.compile(pattern, re.DOTALL)

    def read(value: Any) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Bad(allowed)
        return value

    return Check(allowed, read)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Bad("true, false")
    return value


BOOLEAN = Check("true, false", _boolean)


def list_of(item: Check, allowed: str = "", *, empty: bool = False) -> Check:
    """A list of distinct items, each read by a check of its own."""
    words = allowed or f"a list of {item.allowed}"

    def read(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)) or not (value or empty):
            raise Bad(words)
        found: list[Any] = []
        for i, raw in enumerate(value):
            try:
                one = item.read(raw)
            except Bad as bad:
                given = bad.given or shown(raw)
                raise Bad(bad.allowed, (i, *bad.at), given) from None
            if one in found:
                raise Bad("each value once", (i,), shown(raw))
            found.append(one)
        return tuple(found)

    return Check(words, read)


def map_of(key: Check, item: Check, allowed: str, *, empty: bool = False) -> Check:
    """A mapping with whole numbers as keys (also written as texts), sorted by key."""

    def read(value: Any) -> dict[int, Any]:
        if not isinstance(value, Mapping) or not (value or empty):
            raise Bad(allowed)
        found: dict[int, Any] = {}
        for raw_key, raw in value.items():
            at = str(raw_key)
            number_ = raw_key
            if isinstance(raw_key, str) and re.fullmatch(r"0|[1-9][0-9]{0,17}", raw_key):
                number_ = int(raw_key)
            try:
                one_key = key.read(number_)
            except Bad as bad:
                raise Bad(bad.allowed, (at,), "unknown key") from None
            try:
                found[one_key] = item.read(raw)
            except Bad as bad:
                raise Bad(bad.allowed, (at, *bad.at), bad.given or shown(raw)) from None
        return dict(sorted(found.items()))

    return Check(allowed, read)


# ---------------------------------------------------------------------------- pydantic


def validated(model: type[Model], raw: Any, where: str, at: Path_ = ()) -> Model:
    """Validate raw data, saying the first finding in one line.

    Args:
        model: what it must be.
        raw: as :func:`read_mapping` gave it.
        where: the file, for the error line.
        at: path of ``raw`` within the file.

    Raises:
        InputError: the first finding: unknown keys first, then in the order of the fields.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        found = error.errors(include_url=False)
    unknown = [one for one in found if one["type"] == "extra_forbidden"]
    first = (unknown or found)[0]
    raise _input_error(model, first, where, at)


def _input_error(model: type[BaseModel], error: Any, where: str, at: Path_) -> InputError:
    path, inner = _real_path(model, error["loc"])
    context = error.get("ctx", {})
    given = shown(error["input"])
    kind = error["type"]
    if kind == "extra_forbidden":
        allowed, given = close_or_all(str(path[-1]), names_of(inner)), "unknown key"
    elif kind == "missing":
        allowed, given = allowed_of(inner, str(path[-1])), "missing"
    elif kind == "refused":
        allowed, path = context["allowed"], (*path, *context["at"])
        given = context["given"] or given
    elif kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = error["input"].get("kind") if isinstance(error["input"], Mapping) else None
        tags = allowed_kinds(model)
        is_map = isinstance(error["input"], Mapping)
        path = (*path, "kind") if is_map else path
        given = (shown(tag) if "kind" in error["input"] else "missing") if is_map else given
        allowed = ", ".join(tags) if is_map else "a mapping with a kind"
    else:
        allowed = _STRUCTURE.get(kind, one_line(error["msg"]))
    return InputError(where, dotted((*at, *path)), given, allowed)


_STRUCTURE = {
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dict_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def names_of(model: type[BaseModel]) -> list[str]:
    """Names of a model's fields as they stand in a file."""
    return [field.alias or name for name, field in model.model_fields.items()]


def check_of(model: type[BaseModel], attribute: str) -> Check:
    """Find the check of a field: in its annotation, or in a member of its optional type."""
    field = model.model_fields[attribute]
    inner = [item for part in get_args(field.annotation) for item in get_args(part)]
    return next(item for item in (*field.metadata, *inner) if isinstance(item, Check))


def allowed_of(model: type[BaseModel], name: str) -> str:
    """What may stand in a field."""
    for attribute, field in model.model_fields.items():
        if name in (attribute, field.alias):
            try:
                return check_of(model, attribute).allowed
            except StopIteration:
                return "a list" if "tuple" in str(field.annotation) else "a mapping"
    return "a value"


def allowed_kinds(model: type[BaseModel]) -> list[str]:
    """Tags of the model's discriminated union."""
    return [kind for kind, _ in _tagged(model)]


def _tagged(model: type[BaseModel]) -> list[tuple[str, type[BaseModel]]]:
    return [
        (get_args(one.model_fields["kind"].annotation)[0], one)
        for field in model.model_fields.values()
        for one in _models_in(field.annotation)
        if "kind" in one.model_fields
    ]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [one for part in get_args(annotation) for one in _models_in(part)]


def _real_path(model: type[BaseModel], loc: tuple[str | int, ...]) -> tuple[Path_, type[BaseModel]]:
    """Drop the union tags that pydantic puts into a location, and find the innermost model."""
    path: list[str | int] = []
    inner = model
    tags = dict(_tagged(model))
    for i, part in enumerate(loc):
        last = i == len(loc) - 1
        if part in tags and path and isinstance(path[-1], int) and not last:
            inner = tags[str(part)]
            continue
        for name, field in inner.model_fields.items():
            if part in (name, field.alias):
                models = _models_in(field.annotation)
                if models and not last:
                    inner = models[0]
                path.append(field.alias or name)
                break
        else:
            path.append(part)
    return tuple(path), inner
