"""What a write may put into a cell, told from the cell's declaration: asserted in the debug build.

The debug build compiles the kernel's functions for a world whose rows are of a type of their own
(`asserted_world_in`). Only in their setters, and where a row is reached by its number, stands an
assertion; the rows of any other world have none. One that does not hold leaves the place and the
number in the header, and ends the run.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numba

from isr_pipeline.kafka.rows import (
    TABLES,
    Assertions,
    Counter,
    Flag,
    Gathered,
    Mask,
    Maybe,
    Offset,
    Ref,
    Row,
    State,
    Time,
    Total,
    Until,
    cells_of,
    row_at,
    row_in,
)
from isr_pipeline.simulation.world.columns import ROWS
from isr_pipeline.simulation.world.tables import INF, World

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.kafka.rows import Array, Field

    Holds = Callable[[World, int, int], bool]
    """Whether a cell that holds the one number may hold the other next."""

_world_at = row_at(World)
_GROWS: Final = ("events",)
"""Tables of which the header counts the rows that are written so far."""


class AssertionBroken(AssertionError):
    """A write that the cell's declaration excludes: an error of the kernel.

    Args:
        name: table and cell.
        says: what should have held.
    """

    def __init__(self, name: str, says: str) -> None:
        super().__init__(name, says)
        self.name = name
        self.says = says

    def told(self, w: Array) -> str:
        """Name the cell, the statement, and the numbers.

        Args:
            w: the world, as the run left it.
        """
        header = World(w)
        place, value = header.refused_place, header.refused_value
        if place < 0:
            return f"{self.name} {self.says}: place {value}"
        return f"{self.name} {self.says}: held {w[place]}, was to hold {value}"


def statement_of(field: Field) -> tuple[str, Holds] | None:
    """What always holds of writes to a cell, in words and as a function; None if all may be.

    A cell that is laid out once has none: a function that writes it is not compiled at all.
    """
    least, kind = field.initial, field.kind
    if kind is Flag:
        return "is 0 or 1", lambda _world, _old, new: 0 <= new <= 1
    if field.members is not None:
        members = tuple(int(one) for one in field.members)
        if kind is State:
            known = (*members, least)
            return f"is of {field.members.__name__}", lambda _world, _old, new: new in known
        every = sum(members)
        return f"has bits of {field.members.__name__}", lambda _world, _old, new: not new & ~every
    if kind is Mask:
        return "has bits of replicas", lambda world, _old, new: not new >> world.replicas_max
    if kind is Offset:
        return f"is at least {least}", lambda _world, _old, new: new >= least
    if kind is Total:
        return "never falls", lambda _world, old, new: new >= old
    if kind is Counter:
        return "never falls but to 0", lambda _world, old, new: new >= old or new == 0
    if kind is Gathered:
        return "is not negative", lambda _world, _old, new: new >= 0
    if kind in (Time, Until):
        return "is not later than never", lambda _world, _old, new: new <= INF
    if issubclass(kind, Ref):
        return _refers(field)
    return None


def _refers(field: Field) -> tuple[str, Holds] | None:
    """That a reference leads to a row of its table, or to none if it may."""
    within = _within(field.target or "")
    if within is None:
        return None
    says = f"is a row of {field.target}"
    if field.kind is Maybe:
        return f"{says}, or none", lambda world, _old, new: new == 0 or within(world, new)
    return says, lambda world, _old, new: within(world, new)


def _row(table: str) -> type[Row]:
    found: type[Row] = TABLES[table]
    return found


@cache
def _within(table: str) -> Callable[[World, int], bool] | None:
    """Whether one of a table's rows begins at a place; None if nobody says where the table ends."""
    named = {field.target: name for name, field in World.cells_of.items() if name in ROWS}
    name = named.get(table)
    if name is None or name in _GROWS:
        return None
    first, size, count = World.cells_of[name].place, _row(table).size, numba.njit(ROWS[name])

    def within(world: World, place: int) -> bool:
        behind = place - cells_of(world)[first]
        return behind % size == 0 and 0 <= behind < size * count(world)

    compiled: Callable[[World, int], bool] = numba.njit(within)
    return compiled


@cache
def _of_write(table: str, cell: str) -> Callable[..., None] | None:
    """What is called before a cell is written, if something is to hold."""
    statement = statement_of(_row(table).cells_of[cell])
    if statement is None:
        return None
    name, says, holds = f"{table}.{cell}", statement[0], numba.njit(statement[1])

    def asserted(row: Any, place: int, old: int, new: int) -> None:
        world = _world_at(row, 0)
        if not holds(world, old, new):
            world.refused_place = place
            world.refused_value = new
            raise AssertionBroken(name, says)

    return asserted


@cache
def _of_row(table: str) -> Callable[..., None] | None:
    """What is called where a row of a table is reached by its number, if its end is known.

    A loop over the last rows ends just behind them.
    """
    within = _within(table)
    if within is None:
        return None
    name, says, size = f"a row of {table}", "lies in its table", _row(table).size

    def asserted(row: Any, place: int) -> None:
        world = _world_at(row, 0)
        if not within(world, place) and not within(world, place - size):
            world.refused_place = -1
            world.refused_value = place
            raise AssertionBroken(name, says)

    return asserted


asserted_world_in: Final = row_in(World, Assertions(_of_write, _of_row))
"""`tables.world_in` of the debug build."""
