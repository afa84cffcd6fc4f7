"""Conditions on a table's columns: which rows keep one, and what in a row breaks it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pandas as pd


def kept(rows: pd.DataFrame, rule: str) -> pd.Series:
    """Which rows keep a rule; one for which it is null does not.

    Args:
        rows: that have the rule's columns.
        rule: as `pandas.DataFrame.eval` reads it.
    """
    held = rows.eval(rule, engine="python")
    return pd.Series(held, index=rows.index).fillna(False).astype(bool)


def columns_that_break(rule: str, row: pd.DataFrame) -> list[str]:
    """Columns of those parts of a rule that a row does not keep.

    Args:
        rule: parts that ``and`` and ``or`` join.
        row: one.
    """
    parts = _broken_parts(ast.parse(rule, mode="eval").body, row)
    names = (one.id for part in parts for one in ast.walk(part) if isinstance(one, ast.Name))
    return [name for name in dict.fromkeys(names) if name in row]


def _broken_parts(part: ast.expr, row: pd.DataFrame) -> Iterator[ast.expr]:
    if kept(row, ast.unparse(part)).all():
        return
    if isinstance(part, ast.BoolOp):
        for one in part.values:
            yield from _broken_parts(one, row)
    else:
        yield part
