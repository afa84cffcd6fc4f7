"""Which cells of which tables a piece of code reads and writes, told from its text and types."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import TABLES, Ref, Row
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
    found = {f"{table}.{name}" for table, row in TABLES.items() if name in _row(table).cells_of}
    return found | ({f"Rules.{name}"} if name in Rules.__dataclass_fields__ else set())


def uses_in(tree: ast.AST, returns: Mapping[str, str]) -> Iterator[Use]:
    """Every cell that the functions of a file use.

    Args:
        tree: the file, or one function of it.
        returns: what functions return, by their names.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _uses_of(node, returns)


def returns_of(trees: Mapping[str, ast.Module]) -> dict[str, str]:
    """The annotation of what each function returns, by its name."""
    return {
        node.name: ast.unparse(node.returns)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.returns is not None
    }


def _row(table: str) -> type[Row]:
    row: type[Row] = TABLES[table]
    return row


def _uses_of(function: ast.FunctionDef, returns: Mapping[str, str]) -> Iterator[Use]:
    """Cells of one function: parameters are annotated, and what follows from them is followed."""
    given = function.args
    known = {
        one.arg: ast.unparse(one.annotation)
        for one in (*given.args, *given.kwonlyargs)
        if one.annotation is not None
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
