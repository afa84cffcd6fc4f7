"""Which cells of which tables a piece of code reads and writes, told from its text and types."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import TABLES, Ref, Row, Span
from isr_pipeline.simulation.world import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROW_MAKERS = {
    **{name: name.removesuffix("_at").title() for name in vars(tables) if name.endswith("_at")},
    "thread_at": "FetcherThread",
    "rules_in": "Rules",
    "world_in": "World",
}
"""Functions that give a table's row at a place."""


@dataclass(frozen=True)
class Use:
    """A cell that is read or written.

    Attributes:
        cell: ``Replica.isr``; ``?.isr`` where the code does not tell whose it is.
    """

    line: int
    cell: str
    written: bool


def cells_named(name: str) -> set[str]:
    """``Table.cell`` of every table that has a cell of this name."""
    cells = {f"{table}.{name}" for table, row in TABLES.items() if name in _row(table).cells_of}
    return cells | ({f"Rules.{name}"} if name in Rules.__dataclass_fields__ else set())


def uses_in(tree: ast.AST, returns: Mapping[str, str]) -> Iterator[Use]:
    """Every cell that the functions of a file use.

    Args:
        tree: the file, or one function of it.
        returns: what functions return, by their names.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _uses_of(node, returns)


def cells_read(function: Any, without: frozenset[str] = frozenset()) -> set[str]:
    """Cells that a function of the kernel reads, with all that it calls.

    A cell has the name of the table that declares it. Durations (``FLAP_WINDOW_US``) are among
    them; switches, and references to other rows, which never change, are not.

    Args:
        function: compiled, or plain.
        without: names of functions that are not looked into.
    """
    cells: set[str] = set()
    left, seen = [_plain(function)], {function.__name__, *without}
    while left:
        plain = left.pop()
        (tree,) = ast.parse(inspect.getsource(plain)).body
        cells |= {_declared(use.cell) for use in uses_in(tree, {}) if not use.written}
        for name in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            called = plain.__globals__.get(name)
            if name.endswith("_US"):
                cells.add(name)
            if name not in seen and inspect.isfunction(_plain(called)):
                seen.add(name)
                left.append(_plain(called))
    return cells - {""}


def _plain(function: Any) -> Any:
    """The Python function behind a compiled one, or behind a rule."""
    return getattr(function, "py_func", getattr(function, "plain", function))


def _declared(cell: str) -> str:
    """The cell by the name of the table that declares it; empty of what never changes."""
    table, name = cell.split(".")
    if table == "Rules":
        return ""
    if table not in TABLES:
        return cell
    if issubclass(_row(table).cells_of[name].kind, (Ref, Span)):
        return ""
    declares = [row for row in _row(table).__mro__ if name in getattr(row, "cells_of", ())]
    return f"{declares[-1].__name__}.{name}"


def _row(table: str) -> type[Row]:
    row: type[Row] = TABLES[table]
    return row


def _uses_of(function: ast.FunctionDef, returns: Mapping[str, str]) -> Iterator[Use]:
    """Cells of one function: parameters are annotated, and what follows from them is followed."""
    given = function.args
    known = {
        parameter.arg: ast.unparse(parameter.annotation)
        for parameter in (*given.args, *given.kwonlyargs)
        if parameter.annotation is not None
    }

    def table_of(node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                return known.get(name)
            case ast.Subscript(value=value):
                return table_of(value)
            case ast.IfExp(body=body):
                return table_of(body)
            case ast.Attribute(value=value, attr=attr):
                field = (
                    _row(table).cells_of.get(attr) if (table := table_of(value)) in TABLES else None
                )
                return field.target if field and issubclass(field.kind, Ref) else None
            case ast.Call(func=ast.Name(id="counterpart"), args=[first, *_]):
                return table_of(first)
            case ast.Call(func=ast.Name(id=name)):
                return ROW_MAKERS.get(name) or returns.get(name)
        return None

    in_order = sorted(
        (node for node in ast.walk(function) if isinstance(node, (ast.expr, ast.stmt))),
        key=lambda node: (node.lineno, node.col_offset),
    )
    for node in in_order:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            known[node.targets[0].id] = table_of(node.value) or ""
        if isinstance(node, ast.Attribute) and cells_named(node.attr):
            written = isinstance(node.ctx, ast.Store)
            table = table_of(node.value)
            yield Use(node.lineno, f"{table or '?'}.{node.attr}", written)
