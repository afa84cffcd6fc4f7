"""How a value, a place or a mistyped name is written in an error line.

And the scalars of YAML's 1.2 core schema: null, booleans, numbers, texts.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{s + w: float(f"{s}inf") for s in ("", "+", "-") for w in (".inf", ".Inf", ".INF")},
}


_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*|[A-Za-z_][A-Za-z0-9_.*-]*")
"""Texts that YAML reads as texts without quotes, unless they are its words."""


def scalar(text: str) -> Any:
    """Resolve a plain scalar by the YAML 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
        return read_number(text)
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|0o[0-7]{1,22}", text):
        return int(text, 0)
    return text


def flow(value: Any) -> str:
    """Write a value in YAML's flow style, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(str(k))}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(flow(one) for one in value) + "]"
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value)
        return value if plain and isinstance(scalar(value), str) else json.dumps(value)
    return json.dumps(value)


def read_number(text: str) -> int | float:
    """Read a number; a whole one of absurd length becomes a float, which no range contains."""
    if _INT.fullmatch(text) and len(text) <= 40:
        return int(text)
    return float(text)


SHOWN_MAX = 120
"""Characters of a value that an error line shows."""


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
        if plain == value and not isinstance(scalar(value), str):
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


def counted(number: int, word: str) -> str:
    """``1 topic``, ``2 topics``."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def few(numbers: Iterable[int]) -> str:
    """List the first five numbers in order; dots stand for the rest."""
    listed = sorted(numbers)
    return ", ".join(str(one) for one in listed[:5]) + (", ..." if len(listed) > 5 else "")


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


def close_or_all(given: str, names: Iterable[str]) -> str:
    """Name the close matches of a mistyped name, or all names if none is close."""
    listed = list(names)
    return ", ".join(difflib.get_close_matches(given, listed, n=3, cutoff=0.75) or listed)


def as_whole(value: object) -> int | None:
    """Read a whole number: an int, or a float without a fraction; a boolean is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    return None


def with_list(allowed: str, command: str) -> str:
    """Say which command lists all that may stand there, behind the names that are near.

    Args:
        allowed: names, as `close_or_all` gives them.
        command: such as ``isr-pipeline keys``.
    """
    return f"{allowed} ({command} lists all keys)"


def listed(values: Iterable[object]) -> str:
    """List values for an error line; a long list is cut in its middle."""
    names = [str(value) for value in values]
    return ", ".join(names if len(names) <= 20 else [*names[:8], "...", *names[-2:]])


def without_password(uri: str) -> str:
    """Return an address as it may be shown: without user and password."""
    return re.sub(r"//[^/@\s]*@", "//", uri)


def run_called(night: str, began: str) -> str:
    """The date of a run with its time (UTC), which tells it from others of that date.

    ``2026-11-28, 03:11``; with another day where it was run for a past date.
    """
    if not began:
        return night
    day, time = began[:10], began[11:16]
    return f"{night}, {time}" if day == night else f"{night}, run {day} {time}"
