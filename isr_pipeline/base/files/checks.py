"""Checks of single fields: each reads a raw value, or says what is allowed instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from isr_pipeline.base.files.words import as_whole, close_or_all, shown

Path_ = tuple[str | int, ...]
"""Where a value is within a file: keys and positions."""


TEXT, LIST, MAPPING = ({"type": kind} for kind in ("string", "array", "object"))
"""JSON Schemas of values of which an editor need not know more."""


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

    Attributes:
        allowed: what a value must be, in words.
        read: reads a raw value, or raises :class:`Bad`.
        schema: what an editor may know of it, as JSON Schema; never stricter than ``read``.
    """

    def __init__(
        self, allowed: str, read: Callable[[Any], Any], schema: Mapping[str, Any] | None = None
    ) -> None:
        self.allowed = allowed
        self.read = read
        self.schema = dict(schema or {})

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

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, __: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Say what the field takes, for an editor."""
        return dict(self.schema)


def number(
    low: float, high: float, allowed: str, *, low_open: bool = False, high_too: bool = False
) -> Check:
    """A finite number in a range; whole numbers come out as int, so that 5 and 5.0 are the same.

    Its end does not belong to the range, unless ``high_too``.
    """

    def read(value: Any) -> int | float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Bad(allowed)
        if not low <= value <= high:
            raise Bad(allowed)
        if (low_open and value == low) or (value == high and not high_too):
            raise Bad(allowed)
        whole = as_whole(value)
        return value if whole is None else whole

    least = "exclusiveMinimum" if low_open else "minimum"
    most = "maximum" if high_too else "exclusiveMaximum"
    return Check(allowed, read, {"type": "number", least: low, most: high})


def whole(low: int, high: int, allowed: str = "") -> Check:
    """A whole number from low to high, both included; 20000.0 is one, true is not."""
    words = allowed or f"a whole number {low}..{high}"

    def read(value: Any) -> int:
        found = as_whole(value)
        if found is None or not low <= found <= high:
            raise Bad(words)
        return found

    return Check(words, read, {"type": "integer", "minimum": low, "maximum": high})


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

    return Check(words, read, {"enum": list(names)})


def text(pattern: str, allowed: str) -> Check:
    """A text that a regular expression matches as a whole."""
    compiled = re.compile(pattern, re.DOTALL)

    def read(value: Any) -> str:
        if not isinstance(value, str) or not compiled.fullmatch(value):
            raise Bad(allowed)
        return value

    return Check(allowed, read, TEXT)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Bad("true, false")
    return value


BOOLEAN = Check("true, false", _boolean, {"type": "boolean"})


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

    return Check(words, read, {"type": "array", "items": item.schema, "uniqueItems": True})


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

    return Check(allowed, read, {"type": "object", "additionalProperties": item.schema})


def mapping_of(
    item: Check,
    allowed: str,
    *,
    empty: bool = False,
    names: Mapping[str, str] | None = None,
    kind: str = "key",
    instead: Callable[[str, Iterable[str]], str] = close_or_all,
) -> Check:
    """A mapping with names as keys.

    Args:
        item: reads each value.
        allowed: what the mapping must be, in words.
        empty: whether it may be.
        names: those that there are, with what they mean; None: every name is one.
        kind: what a name is of, for the line that refuses one.
        instead: what that line says is allowed, of the name and those that there are.
    """

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not (value or empty):
            raise Bad(allowed)
        found = {}
        for key, raw in value.items():
            name = str(key)
            if names is not None and name not in names:
                raise Bad(instead(name, names), (name,), f"unknown {kind}")
            try:
                found[name] = item.read(raw)
            except Bad as bad:
                raise Bad(bad.allowed, (name, *bad.at), bad.given or shown(raw)) from None
        return found

    schema: dict[str, Any] = {"type": "object", "additionalProperties": item.schema}
    if names is not None:
        meant = {name: {**item.schema, "description": text} for name, text in names.items()}
        schema = {"type": "object", "properties": meant, "additionalProperties": False}
    return Check(allowed, read, schema)
