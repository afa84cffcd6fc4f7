"""Scalars of YAML's 1.2 core schema: null, booleans, numbers, texts."""

from __future__ import annotations

import math
import re
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


def scalar(text: str) -> Any:
    """Resolve a plain scalar by the YAML 1.2 core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) or _FLOAT.fullmatch(text):
        return read_number(text)
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}|0o[0-7]{1,22}", text):
        return int(text, 0)
    return text


def read_number(text: str) -> int | float:
    """Read a number; a whole one of absurd length becomes a float, which no range contains."""
    if _INT.fullmatch(text) and len(text) <= 40:
        return int(text)
    return float(text)
