"""Lines of a tool's output, and those that shells, Java and kubectl put around them.

No list of what programs print is ever whole, so there is a rule instead: what stands before,
between and behind the blocks of a format is skipped and counted, unless it bears a label of any
format that is known; what stands within a block is refused.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import one_line
from isr_pipeline.clusters.facts import NOT_SHOWN, Source, is_secret
from isr_pipeline.kafka.broker_config import KEYS

_LABEL = re.compile(
    r"\b(?:[Tt]opic|[Pp]artition|PartitionCount|ReplicationFactor|[Rr]eplicas|[Ii]sr): ?\S"
    r"|\bconfigs? for .{1,300} are\b|\bsensitive=(?:true|false)\b|\bsynonyms=\{"
    r"|^\||\b(?:baseOffset|payload): ?\S|\bpartition \d+, leader "
    r'|"(?:logDirs?|brokers|partitions?|KafkaPartitionState|records)"\s*:'
    r"|^\s*Configs:|^Error while executing |^\s*apiVersion:\s|^\s*[a-z]\w*(?:\.\w+)+\s*="
)
"""What a line of any known format has, and nothing else that people paste beside it."""

_CUT = re.compile(r"\s+[A-Za-z][\w.-]*(?:[=:].*)?$")
"""An indented line that may be the beginning of a block's own line."""

_REST = re.compile(
    r"\s*(?:(?:[A-Za-z]*: ?)?[,\d][\d,]*(?:\s+[A-Z][A-Za-z]*:.*)?"
    r"|[\w.-]+=\S*|[\w.-]*,[\w.,=:-]*\w)\s*$"
)
"""Behind a block's line, what a terminal may have cut off it: ids of brokers, or settings."""
_WRAPPED = "the rest of a line that was wrapped"
_CUT_IN_A_KEY = re.compile(r"(?:^|,)\s*([a-z][\w-]*\.[\w.-]*)?$")

_BEGINS_YAML = re.compile(
    r"\s*(?:---|%YAML|#|\{|- |[a-z\"'][\w.\"'-]*\s*:(?:\s|$)"
    r"|[A-Z][\w.-]*\s*:\s*(?:$|[&{\[|>!]))"
)
_OF_YAML = re.compile(r"(?:\s+\S|---|\.\.\.|#|[\]}]|- |[\w.\"'-]+\s*:(?:\s|$))")
"""Lines that the YAML of a platform's resources begins with, and that it may end with."""

_KINDS_OF_LINE = (
    (re.compile(r".{0,40}?\d\d:\d\d:\d\d\b"), "a log line with a time"),
    (re.compile(r".{0,60}?\b(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b"), "a log line"),
    (
        re.compile(
            r"\s*(?:at [\w.$]+\(|\.\.\. \d+ more|Caused by: |(?:Exception|Error) in |[\w.$]+"
            r"(?:Exception|Error)\b|OpenJDK|Java HotSpot|Picked up|SLF4J|log4j:|Debug is |\[Krb5)"
        ),
        "a message of Java",
    ),
    (
        re.compile(
            r"(?:.{0,120}?[^\s\w,.:;)]|)[$#%>❯➜]\s|.*(?:[$#%>❯➜]) +\S*\b\w[\w-]*\.(?:sh|bat)\b"
        ),
        "a shell's prompt",
    ),
    (
        re.compile(r"\s*(?:Configs:.*|[\w.-]*,[\w.,=:-]*|[\w.-]+=\S*)$"),
        _WRAPPED,
    ),
)


def cut_off(settings: str | None) -> str:
    """Say what is wrong with settings in one line that a terminal cut; empty if nothing is.

    Args:
        settings: KEY=VALUE,KEY=VALUE; None where their label is missing, too.
    """
    if settings is None:
        return "no Configs"
    found = _CUT_IN_A_KEY.search(settings)
    in_a_key = found is not None and any(key.startswith(found[1] or "") for key in KEYS)
    if settings and (in_a_key or "=" not in settings or settings.endswith(("...", "…"))):
        return f"settings that are cut off or wrapped ({settings[-60:]})"
    return ""


def refuse_cut(source: Source, cuts: Mapping[int, str]) -> None:
    """Refuse the first line that `cut_off` found fault with.

    Called when all lines are read: the rest of a wrapped line says more of it.

    Raises:
        InputError: there is one.
    """
    for number, given in cuts.items():
        if given:
            source.refuse(number, given, "a whole line")


def refuse_line(source: Source, number: int, line: str, allowed: str) -> NoReturn:
    """Refuse a line by its kind; its text is shown unless it may hold a secret.

    Raises:
        InputError: always.
    """
    kind = next((kind for pattern, kind in _KINDS_OF_LINE if pattern.match(line[:400])), "")
    text = one_line(line)
    if is_secret(line):
        text = kind or NOT_SHOWN
    elif kind:
        text = f"{kind} ({text})"
    raise InputError(source.name, f"line {number}", text, allowed)


def own_lines(
    source: Source,
    text: str,
    allowed: str,
    begins: Callable[[str], object],
    belongs: Callable[[str], object],
) -> Iterator[tuple[int, str]]:
    """Give a format's own lines with their numbers.

    Args:
        source: which is told of every line; those that its reader takes are used.
        text: all of it.
        allowed: for error lines.
        begins: whether a line begins a block.
        belongs: whether a line belongs to the block that has begun.

    Raises:
        InputError: a line of something else within a block, or one around it that bears a label.
    """
    around: list[tuple[int, str]] = []
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        source.has(number)
        own = line.strip()
        if begins(own):
            around, within = [], True
            yield number, own
        elif belongs(own):
            if around and within:
                refuse_line(source, *around[0], allowed)
            around, within = [], True
            yield number, own
        elif _LABEL.search(line) or (within and _CUT.match(line)):
            refuse_line(source, number, line, allowed)
        elif within and not around and _REST.match(line):
            source.refuse(number, f"{_WRAPPED} ({line.strip()})", allowed)
        else:
            around.append((number, line))


def yaml_text(source: Source, text: str) -> str:
    """Empty, and count, the lines that a shell or a program put before and behind YAML."""
    lines = text.split("\n")
    kept = [i for i, line in enumerate(lines) if _BEGINS_YAML.match(line)]
    first = kept[0] if kept else 0
    last = next((i for i in reversed(range(len(lines))) if _OF_YAML.match(lines[i])), len(lines))
    source.has(*(i for i, line in enumerate(lines, 1) if line.strip()))
    source.take(*(i + 1 for i in range(first, last + 1) if lines[i : i + 1] and lines[i].strip()))
    return textwrap.dedent(
        "\n".join(line if first <= i <= last else "" for i, line in enumerate(lines))
    )


def json_texts(source: Source, text: str, allowed: str) -> Iterator[tuple[int, Any]]:
    """Give each JSON text with the number of its first line; it may take several lines.

    Raises:
        InputError: JSON that is cut off, or a line around it that bears a label of any format.
    """
    place, number = 0, 1
    while place < len(text):
        end = _end_of_line(text, place)
        line = text[place:end]
        if line.lstrip().startswith("{"):
            value, behind = _decoded(source, text, text.index("{", place), allowed)
            source.take(*range(number, number + text.count("\n", place, behind) + 1))
            yield number, value
            end = _end_of_line(text, behind)
            if text[behind:end].strip():
                refuse_line(source, number + text.count("\n", place, behind), line, allowed)
        elif line.strip():
            if _LABEL.search(line):
                refuse_line(source, number, line, allowed)
            source.has(number)
        number += text.count("\n", place, end)
        place = end


def _end_of_line(text: str, place: int) -> int:
    return text.find("\n", place) + 1 or len(text)


def _decoded(source: Source, text: str, place: int, allowed: str) -> tuple[Any, int]:
    """Read one JSON text; give also where it ends."""
    try:
        return json.JSONDecoder().raw_decode(text, place)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", text.count("\n", 0, place) + 1)
        reason = getattr(error, "msg", "nested too deeply")
        column = getattr(error, "colno", 1)
        source.refuse(line, f"no JSON at column {column} ({reason})", f"whole JSON: {allowed}")
