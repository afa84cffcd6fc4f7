"""Which source each rule cites: read from docstrings and comments, without running any rule.

A rule names where it was read: a proposal (``KIP-497``), an issue (``KAFKA-4485``), or a file,
class or method of Kafka with its releases (``cluster/Partition.scala @ 2.8.2, 3.6``). When Kafka
brings a release, this list says what to read again (docs/project/upkeep.md).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]

ROOMS = ("kafka", "simulation", "worlds", "scenarios")
"""Rooms that hold rules, or put them into practice."""

MODULE = "(module)"
"""Place of what is cited for a file as a whole."""

_RELEASE = r"(?:trunk )?(?:\d+\.(?:\d+(?:\.\d+)*|x)|[0-9a-f]{10})\+?"
_RELEASES = rf"{_RELEASE}(?:(?: \.\.\. |, and |, | and | to ){_RELEASE})*"
_FILE = r"(?:[\w]+/)*\w+\.(?:scala|java)(?: [a-z]\w*(?= @|,))?"
_NAME = r"[A-Za-z_]\w*(?:\.\w+)?"
_SOURCE = re.compile(
    rf"(?P<issue>\b(?:KIP|KAFKA)-\d+)"
    rf"|(?P<file>{_FILE})(?: \([^)]*\))?(?: @ (?P<releases>{_RELEASES}))?"
    rf"|(?P<name>{_NAME}) @ (?P<of>{_RELEASES})"
)
_JOINED = re.compile(r"^(?:,? and |, )$")


@dataclass(frozen=True, order=True, slots=True)
class Citation:
    """One source that one rule cites.

    Attributes:
        source: ``KIP-497``, ``KAFKA-4485``, or a file or name of Kafka's sources.
        releases: the releases of that file that were read, as written; empty for proposals.
        module: file of ours, from the package on: ``kafka/replica.py``.
        rule: function, class or constant that cites it, or `MODULE`.
        line: where the text begins.
    """

    source: str
    releases: str
    module: str
    rule: str
    line: int

    @property
    def text(self) -> str:
        """The source with its releases, as a docstring has it."""
        return f"{self.source} @ {self.releases}" if self.releases else self.source


def citations(rooms: tuple[str, ...] = ROOMS) -> list[Citation]:
    """Every citation in the sources of some rooms, in the order of files and lines."""
    return [
        one
        for room in rooms
        for file in sorted((PACKAGE / room).rglob("*.py"))
        for one in cited_in(file.read_text(encoding="utf-8"), file.relative_to(PACKAGE).as_posix())
    ]


def cited_in(source: str, module: str) -> list[Citation]:
    """Every citation in one file.

    Args:
        source: the file's text.
        module: its name in the result.
    """
    owners = _owners(source)
    found: dict[tuple[str, str, str], Citation] = {}
    for line, text in _prose(source):
        rule = next((name for first, last, name in owners if first <= line <= last), MODULE)
        for cited, releases in _sources(text):
            found.setdefault((rule, cited, releases), Citation(cited, releases, module, rule, line))
    return list(found.values())


def _owners(source: str) -> list[tuple[int, int, str]]:
    """(first line, last line, name) of each top-level definition, with its comments above."""
    owners = []
    end = 0
    for node in ast.parse(source).body:
        name = _name(node)
        last = node.end_lineno or node.lineno
        if name:
            owners.append((end + 1, last, name))
        elif owners and _is_text(node):
            # the text below a constant belongs to it
            first, _, before = owners[-1]
            owners[-1] = (first, last, before)
        end = last
    return owners


def _name(node: ast.stmt) -> str:
    """Name that a statement defines; empty if it defines none."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _prose(source: str) -> Iterator[tuple[int, str]]:
    """(first line, text) of every docstring and every block of comments, on one line each."""
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, " ".join(node.value.value.split())
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        if block and token.start[0] != last + 1:
            yield first, " ".join(block)
            block = []
        if not block:
            first = token.start[0]
        block.append(token.string.lstrip("# ").strip())
        last = token.start[0]
    if block:
        yield first, " ".join(block)


def _sources(text: str) -> list[tuple[str, str]]:
    """(source, releases) in a text; of files in a row the last names the releases of all."""
    found: list[tuple[str, str]] = []
    waiting: list[int] = []
    end = -1
    for match in _SOURCE.finditer(text):
        if match["issue"]:
            found.append((match["issue"], ""))
            continue
        releases = match["releases"] or match["of"] or ""
        if waiting and not _JOINED.match(text[end : match.start()]):
            waiting.clear()
        for index in waiting if releases else ():
            found[index] = (found[index][0], releases)
        if releases:
            waiting.clear()
        else:
            waiting.append(len(found))
        found.append((match["file"] or match["name"], releases))
        end = match.end()
    return found


def matching(wanted: str = "") -> list[Citation]:
    """Citations whose source, releases, module or rule contain a text."""
    return [
        one
        for one in citations()
        if wanted.lower() in f"{one.text} {one.module}: {one.rule}".lower()
    ]


def report(wanted: str = "", *, by_source: bool = False) -> list[str]:
    """Lines for a person: each rule with its sources, or each source with its rules.

    Args:
        wanted: only citations whose source, releases, module or rule contain this text.
        by_source: turn the list round.
    """
    groups: dict[str, list[str]] = {}
    for one in matching(wanted):
        place = f"{one.module}: {one.rule}"
        head, item = (one.text, place) if by_source else (place, one.text)
        groups.setdefault(head, []).append(item)
    heads = sorted(groups) if by_source else list(groups)
    return [f"{head}\n    {'; '.join(dict.fromkeys(groups[head]))}" for head in heads]
