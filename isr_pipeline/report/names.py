"""Long names: where a line may break inside one, and how a chart shortens it.

A name such as ``lag.time.max.ms-10000_min.insync.replicas-1`` is made of words with signs between
them. A line breaks after a sign. A chart leaves words out that similar names share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

WIDE, NARROW = 32, 20
"""As many characters of a name have room beside a chart: on a desk's screen, on a phone's."""

WORDS_KEPT = 3
"""Of words that similar names share, a shortened name keeps so many at most."""

_SIGN = re.compile(r"([._\-,=]+\s*)")
_BREAK = re.compile(r"((?<=[^\W\d_])[._,=-](?=\w)|(?<=\w)[._,=-](?=[^\W\d_]))")
"""A sign inside a name: a letter stands on one side at least, so that numbers stay whole."""


_LONG = re.compile(rf"\S{{{NARROW + 1},}}")
"""A word that is broken rather than left whole."""


def breakable(text: str) -> Markup:
    """Text as HTML in which a line may break after each sign of a long name."""
    parts = _LONG.sub(lambda word: _BREAK.sub("\\1\0", word[0]), text).split("\0")
    return Markup("<wbr>").join(parts)


def shortened(names: Iterable[str], room: int) -> dict[str, str]:
    """Each name, and what a chart with room for so many characters calls it.

    Names that fit stay. Of the others, similar ones leave out words that all of them share; what
    is still too long loses its middle. No two are alike: those that would be get more room.
    """
    whole = list(dict.fromkeys(names))
    families: dict[tuple[str, ...], list[str]] = {}
    for name in whole:
        if len(name) > room:
            families.setdefault(tuple(_SIGN.findall(name)), []).append(name)
    short = {name: name for name in whole}
    for family in families.values():
        short |= _family(family, room)
    return _distinct(short, room)


def _family(names: Sequence[str], room: int) -> dict[str, str]:
    """Names with the same signs, without as many of their shared words as it takes."""
    split = [_SIGN.split(name) for name in names]
    shared = [len(set(column)) == 1 for column in zip(*split, strict=True)]
    if len(names) == 1 or not any(shared[::2]):
        return {name: name for name in names}
    told = list(names)
    for kept in range(WORDS_KEPT, -1, -1):
        told = [_without(parts, shared, kept) for parts in split]
        if max(map(len, told)) <= room:
            break
    return dict(zip(names, told, strict=True))


def _without(parts: list[str], shared: list[bool], kept: int) -> str:
    """A name with at most so many words of each run of shared ones, and an ellipsis for others."""
    said, run = "", list[str]()
    for part, same in [*zip(parts, shared, strict=True), ("", False)]:
        if same:
            run.append(part)
            continue
        whole, cut = "".join(run), "".join(_first_words(run, kept)) + "…"
        said += (cut if len(cut) < len(whole) else whole) + part
        run = []
    return said


def _first_words(run: list[str], kept: int) -> list[str]:
    """A run's first words with the signs around them, the last sign left out."""
    first: list[str] = []
    for part in run:
        is_word = not _SIGN.fullmatch(part)
        if is_word and not kept:
            break
        kept -= is_word
        first.append(part)
    return first if not first or not _SIGN.fullmatch(first[-1]) or kept else first[:-1]


def _distinct(short: dict[str, str], room: int) -> dict[str, str]:
    """The short names, cut in the middle; whoever is called like another gets more room."""
    told = {name: _cut(text, room) for name, text in short.items()}
    while alike := {t for t, count in Counter(told.values()).items() if count > 1}:
        room += 2
        for name, text in told.items():
            if text in alike:
                told[name] = _cut(short[name] if room < len(short[name]) else name, room)
    return told


def _cut(text: str, room: int) -> str:
    """A text without its middle if it is longer than the room."""
    if len(text) <= room:
        return text
    end = room * 3 // 5
    return f"{text[: room - end - 1]}…{text[-end:]}"


def with_short_names(chart: dict[str, Any]) -> dict[str, Any]:
    """A chart whose vertical axes name their rows briefly, on a phone more so.

    Hovering gives names whole. ``narrow`` holds what differs on a phone.
    """
    rows: dict[str, list[str]] = {}
    for trace in chart["data"]:
        axis = "yaxis" + trace.get("yaxis", "y").removeprefix("y")
        rows.setdefault(axis, []).extend(trace["y"] if isinstance(trace.get("y"), list) else [])
    layout, narrow = dict(chart["layout"]), dict(chart.get("narrow", {}))
    for axis, names in rows.items():
        if all(isinstance(name, str) for name in names):
            layout[axis] = {**layout.get(axis, {}), **_ticks(names, WIDE)}
            narrow["layout"] = {**narrow.get("layout", {}), axis: _ticks(names, NARROW)}
    return {**chart, "layout": layout, "narrow": narrow}


def _ticks(names: list[str], room: int) -> dict[str, list[str]]:
    """An axis's short names; nothing if all of them fit."""
    short = shortened(names, room)
    if all(name == told for name, told in short.items()):
        return {}
    return {"tickvals": list(short), "ticktext": list(short.values())}
