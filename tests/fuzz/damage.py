"""Ways to damage a file that a person has written: its text, or the values in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import yaml
from hypothesis import strategies as st

from tests.tables import data_of

WORDS = (
    *data_of(__file__, "WORDS"),
    *("[" * 3000, "- " * 3000, "x" * 3000, "\n" * 300),
)
"""Pieces of text that readers of YAML and JSON have stumbled over."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 1000, 10**6, 10**9, 2**31, 2**53 + 1, 2**63, 10**40),
    *(0.5, -0.0, 1e-9, 1e18, 1e308, float("inf"), float("nan")),
    *("", " ", "x", "-", "0", "1", "all", "none", "ü", "x" * 500, "a.b", "../x", "\n", "\x00"),
    *([], {}, [[]], [None], [1, 1], {"": ""}, {"kind": "crash"}, {"x": {"y": []}}, [1001, 1002]),
)
"""Values where others are expected."""


def damaged_texts(text: str) -> st.SearchStrategy[bytes]:
    """Give the text with up to three pieces left out, doubled, moved or put in."""

    @st.composite
    def damaged(draw: st.DrawFn) -> bytes:
        found = text
        for _ in range(draw(st.integers(1, 3))):
            first, last = sorted((draw(_places(found)), draw(_places(found))))
            piece = found[first : min(last, first + 200)]
            found = draw(
                st.sampled_from(
                    [
                        found[:first] + found[first + len(piece) :],
                        found[:first] + piece + found[first:],
                        found[:first] + draw(st.sampled_from(WORDS)) + found[first:],
                        found[:first],
                    ]
                )
            )
        raw = found.encode("utf-8", "surrogatepass")
        return draw(st.sampled_from([raw, raw, raw, raw[: len(raw) // 2] + b"\xff" + raw]))

    return damaged()


def _places(text: str) -> st.SearchStrategy[int]:
    return st.integers(0, len(text))


def damaged_values(
    data: Any, write: Callable[[Any], str] | None = None
) -> st.SearchStrategy[bytes]:
    """Give the data with up to three values replaced, left out, renamed or doubled.

    Args:
        data: what the file holds.
        write: how it becomes text; as YAML or as JSON, either, if None.
    """

    @st.composite
    def damaged(draw: st.DrawFn) -> bytes:
        found = copy.deepcopy(data)
        for _ in range(draw(st.integers(1, 3))):
            places = list(_parents(found))
            if not places:
                break
            parent, key = draw(st.sampled_from(places))
            _damage(draw, parent, key)
        writers: list[Callable[[Any], str]] = [write] if write else [_as_yaml, json.dumps]
        text: str = draw(st.sampled_from(writers))(found)
        return text.encode("utf-8", "surrogatepass")

    return damaged()


def _damage(draw: st.DrawFn, parent: Any, key: Any) -> None:
    how = draw(st.sampled_from(["replace", "replace", "drop", "rename", "double", "scale"]))
    if how == "drop":
        del parent[key]
    elif how == "rename" and isinstance(parent, dict):
        parent[draw(st.sampled_from(["x", "", f"{key}s", f"{key}"[:-1], "kind", "a.b.c"]))] = (
            parent.pop(key)
        )
    elif how == "double" and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif how == "scale" and isinstance(parent[key], int | float):
        parent[key] = parent[key] * draw(st.sampled_from([-1, 0, 2, 10, 1000, 0.001]))
    else:
        parent[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))


def _parents(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in the data: what holds it, and its key there."""
    keys = list(data) if isinstance(data, dict) else range(len(data))
    for key in keys:
        yield data, key
        if isinstance(data[key], dict | list):
            yield from _parents(data[key])


def _as_yaml(data: Any) -> str:
    return str(yaml.safe_dump(data, allow_unicode=True, sort_keys=False))
