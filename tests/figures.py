"""Figures in the prose of README and docs: where they stand, and what says that they are right.

A figure is a number that somebody measured, counted or set: ``20 shrinks``, ``1.5 %``. Numbers of
releases, proposals, dates, steps and headings are none. Fenced blocks, tables, code spans and
blocks that a command writes are not prose: other tests compare those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

UNITS = (
    r"%|×|x(?!\w)|ns|µs|us|ms|s|min|h|kB|MB|GB|GiB|TB|MHz|GHz|seconds?|minutes?|hours?|days?|"
    r"weeks?|times|million|thousand"
)
_WRITTEN = re.compile(
    r"<!-- (?P<kind>finding|output|contest|causes|reference|experiment|conformance|locks|figures)\b"
    r"[^>]*-->.*?"
    r"<!-- (?:(?P=kind)[\w:-]*:end|reference:end|finding:end|experiment:end) -->",
    re.DOTALL,
)
_NO_PROSE = (
    re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL),
    _WRITTEN,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"^\s*\|.*$", re.MULTILINE),
    re.compile(r"^(?: {4,}|\t)\S.*$", re.MULTILINE),
    re.compile(r"^#+ .*$", re.MULTILINE),
    re.compile(r"^\s*\d+\. ", re.MULTILINE),
)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_GROUPED = re.compile(r"(?<=\d)[ ,\u202f\u00a0](?=\d{3}(?!\d))")
"""What stands between groups of three digits."""

_SPAN = re.compile(r"`[^`\n]*`")
_NO_FIGURE = re.compile(
    r"\b\d{4}-\d{2}-\d{2}\b|"  # a date
    r"\b[A-Z]+-\d+\b|"  # a proposal, an issue
    r"\b(?:Solutions?|Debian|Python|Java|Kafka|Airflow|Spark|release|releases|version|point|step|"
    r"Apache|exit status|status|port|broker|s|w|TLS|SHA|AES|UTF|ISO|PostgreSQL|scenario)"
    r"[ -]?\d+(?:\.\d+)*\b|"
    r"\b\d+(?:\.\d+){2,}\b|"  # 3.11.7, 127.0.0.1
    r"\b(?:19|20)\d\d\b"  # a year
)
_NUMBER = re.compile(
    r"(?<![\w.\-/:=^])(?P<number>\d+(?:\.\d+)?)(?![\w/]|\.x)"
    rf"(?=(?P<unit>[ \u202f\u00a0]?(?:{UNITS})(?!\w))?)"
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a page's prose.

    Attributes:
        start: where it begins in the page's prose.
        context: some words around it.
    """

    start: int
    end: int
    context: str


@cache
def prose(page: str) -> str:
    """A page's prose on one line; code spans are kept, as the words of a sentence.

    Args:
        page: relative to the checkout.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    for pattern in _NO_PROSE:
        text = pattern.sub("\n", text)
    line = " ".join(_LINK.sub(r"\1", text).split())
    return _GROUPED.sub("", line)


def figures(text: str) -> Iterator[Figure]:
    """Every figure of a text."""
    # Blanks of the same length, so that places stay.
    bare = _SPAN.sub(lambda found: " " * len(found[0]), text)
    bare = _NO_FIGURE.sub(lambda found: "·" * len(found[0]), bare)
    for found in _NUMBER.finditer(bare):
        if "." in found["number"] and not found["unit"]:
            continue  # a release
        start, end = found.span("number")
        yield Figure(start, end, text[max(0, start - 60) : end + 40])
