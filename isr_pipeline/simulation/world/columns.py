"""A world's tables as numpy columns: for what lays worlds out, and for what reads whole tables.

The kernel goes from row to row (`kafka.rows`); whoever has something to say of all rows of a table
at once says it by the names of their cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import numpy as np

from isr_pipeline.kafka.rows import TABLES, Array, Row, Several
from isr_pipeline.simulation.world.tables import (
    EPOCHS_MAX,
    LOCKED_MAX,
    LOG_DIRS_MAX,
    REQUESTS_PER_THREAD,
    World,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """Rows of a table that stand one behind the other, by the names of their cells.

    References are read and written as places in the array: of the row, or of the first number,
    that is referred to; 0 is nothing.
    """

    __slots__ = ("cells", "first", "row")

    def __init__(self, w: Array, row: type[R], first: int, count: int) -> None:
        """Look at a part of an array.

        Args:
            w: the array.
            row: what its rows are.
            first: place of the first of them.
            count: how many there are.
        """
        self.row = row
        self.first = first
        self.cells: Array = w[first : first + count * row.size].reshape(count, row.size)

    def __len__(self) -> int:
        """How many rows."""
        return len(self.cells)

    @property
    def places(self) -> Array:
        """Place of each row."""
        return self.first + self.row.size * np.arange(len(self.cells), dtype=np.int64)

    def part(self, rows: slice) -> Table[R]:
        """Some of the rows that follow one another."""
        begin, _, _ = rows.indices(len(self.cells))
        part: Table[R] = Table.__new__(Table)
        part.row, part.first = self.row, self.first + begin * self.row.size
        part.cells = self.cells[rows]
        return part

    def __iter__(self) -> Iterator[R]:
        """Row by row; no reference of such a row can be followed."""
        memory = memoryview(cast("Any", self.cells.reshape(-1)))
        for place in range(0, self.cells.size, self.row.size):
            yield self.row(memory, place)

    def __getitem__(self, name: str) -> Array:
        """Read a cell of every row: a view."""
        field = self.row.cells_of[name]
        if field.kind is Several:
            return self.cells[:, field.place : field.place + field.cells]
        return self.cells[:, field.place]

    def __setitem__(self, name: str, values: Any) -> None:
        """Write a cell of every row: one value, or one a row."""
        self.put(slice(None), **{name: values})

    def put(self, rows: slice | Array, **columns: Any) -> None:
        """Write cells of some rows: one value, or one a row.

        Args:
            rows: a slice, or their numbers.
            columns: values by the cell's name.
        """
        for name, values in columns.items():
            field = self.row.cells_of[name]
            if field.kind is Several:
                self.cells[rows, field.place : field.place + field.cells] = values
            else:
                self.cells[rows, field.place] = values

    def begin(self, **columns: Any) -> None:
        """Write what the declaration says of every cell, and then these columns."""
        for field in self.row.cells_of.values():
            if field.initial:
                self.cells[:, field.place] = field.initial
        self.put(slice(None), **columns)


# ------------------------------------------------------------------ the tables of a world

ROWS: Final[dict[str, Callable[[World], int]]] = {
    "brokers": lambda world: world.broker_count,
    "partitions": lambda world: world.partition_count,
    "replicas": lambda world: world.replica_count,
    "followers": lambda world: world.replica_count * world.replicas_max,
    "threads": lambda world: world.thread_count,
    "fetched": lambda world: world.fetched_count,
    "requests": lambda world: world.request_count,
    "entries": lambda world: world.fetched_count * REQUESTS_PER_THREAD,
    "streams": lambda world: world.stream_count,
    "handlers": lambda world: world.handler_count,
    "senders": lambda world: world.sender_count,
    "disks": lambda world: world.broker_count * LOG_DIRS_MAX,
    "quotas": lambda world: 2 * world.broker_count,
    "quota_samples": lambda world: 2 * world.broker_count * world.samples_of_quota,
    "faults": lambda world: world.fault_count,
    "touched": lambda world: world.fault_count * world.partition_count,
    "links": lambda world: (world.broker_count + 1) ** 2,
    "reports": lambda world: world.broker_count**2,
    "latencies": lambda world: world.latency_buckets,
    "acks_1_latencies": lambda world: world.latency_buckets,
    "acks_all_latencies": lambda world: world.latency_buckets,
    "entities": lambda world: world.slot_count,
    "slots": lambda world: world.slot_count,
    "fetching": lambda world: world.replica_count * world.replicas_max,
    "threads_by_broker": lambda world: world.thread_count,
    "epochs": lambda world: world.replica_count * EPOCHS_MAX,
    "hosted": lambda world: world.replica_count,
    "rack_distances": lambda world: (world.broker_count + 1) ** 2,
    "locked_reads": lambda _: LOCKED_MAX,
    "disk_faults": lambda world: world.fault_count,
    "events": lambda world: world.listed_events,
}
"""Rows, or numbers, of each table: in their order in the array, but for the events, which stand
among those tables that are written before they are read."""


def header_of(w: Array) -> Table[World]:
    """A world's header, as a table of one row."""
    return Table(w, World, 0, 1)


def table_of(w: Array, name: str) -> Table[Any]:
    """One of a world's tables, by the header's name of it."""
    world = World(w)
    first = getattr(world, name)
    return Table(w, type(first), first.first, ROWS[name](world))


def numbers_of(w: Array, name: str) -> Array:
    """Numbers to which a world's header refers: a view of them."""
    world = World(w)
    return w[getattr(world, name).first :][: ROWS[name](world)]


def width_of(name: str) -> int:
    """Cells of a row of the table to which the header refers by this name; 1 of numbers."""
    target = World.cells_of[name].target
    return 1 if target is None else cast("type[Row]", TABLES[target]).size


def tables_of(world: World) -> Iterator[tuple[str, int]]:
    """Name and cells of each table that a world begins with, in their order."""
    for name, count in ROWS.items():
        if name != "events":
            yield name, count(world) * width_of(name)
