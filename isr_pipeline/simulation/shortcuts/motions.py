"""How each cell of the world may move from one period to the next while everything repeats.

A cell of a repeating world does one of a few things; which of them it may do is its motion.
`cycles` jumps only where every cell moves as its motion allows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from isr_pipeline.kafka.rows import Array, Counter, Gathered, Loose, Offset, Time, Total, Until
from isr_pipeline.simulation.world.columns import Table, numbers_of, table_of, tables_of
from isr_pipeline.simulation.world.states import Slot
from isr_pipeline.simulation.world.tables import (
    KIND_MASK,
    REQUESTS_PER_STREAM,
    REQUESTS_PER_THREAD,
    SLOT_BITS,
    Batch,
    Partition,
    Replica,
    World,
)

SAME = 0  # a state, a place, a number of waiting things: does not change
TIME = 1  # moves with the clock, or stands still; standing in the future it ends the stretch
KEY = 2  # the same of a slot's key, ``time << SLOT_BITS | number``
OFFSET = 3  # stands still, or grows as its partition's log does
SUM = 4  # is only added to: grows by the same amount every period
GROWS = 5  # as SUM, but only while the partition has no leader
IGNORED = 6  # has no meaning between events, or is handled by name
UNTIL = 7  # a TIME that is compared with the present; its effect may lag by up to one cycle
MOTION_BITS = 3
MOTION_MASK = (1 << MOTION_BITS) - 1
"""A cell's kind and, above it, the partition whose log an OFFSET belongs to."""

Z_SIZE = 16  # numbers of `cycles`'s own
LOG_FIELDS = 3  # what it notes of a partition's log
LIVE_MAX = 16  # open batches of a partition that a snapshot keeps
RING_MAX = 64  # requests that wait on a broker in a snapshot
RINGS = 2 * RING_MAX + 1  # cells of a broker's queue in a snapshot
LISTS = 3  # of cells that moved, and by how much
MOVED_SHARE = 4  # a list has room for one cell of so many: a tenth moves, or less

_KINDS: Final = {
    Time: TIME,
    Until: UNTIL,
    Offset: OFFSET,
    Total: SUM,
    Counter: SUM,
    Gathered: GROWS,
    Loose: IGNORED,
}
"""How cells move by the kinds that their declarations name; all others stay."""


def motions_of(w: Array) -> Array:
    """Kind of every cell of an encoded world up to its entities, and the partition of its log.

    Behind them two lists, each after its length: the cells that are an OFFSET, and those that are a
    TIME or UNTIL. They are few, and are read more often than all cells.

    Args:
        w: the world, as encoded.
    """
    world, logs = World(w), _logs(w)
    motions = np.zeros(world.compared_cells, dtype=np.int64)
    _move(Table(motions, World, 0, 1), 0)
    for name, _ in tables_of(world):
        if name == "entities":
            break
        if World.cells_of[name].target is not None:
            table = table_of(w, name)
            _move(Table(motions, table.row, table.first, len(table)), logs.get(name, 0))
    for histogram in (world.latencies, world.acks_1_latencies, world.acks_all_latencies):
        motions[histogram.first :][: world.latency_buckets] = SUM
    tree = motions[World.cells_of["tree"].place :][: world.tree_size]
    tree[:] = IGNORED
    ticks = numbers_of(w, "entities") & KIND_MASK == Slot.TICK
    tree[numbers_of(w, "slots") >> SLOT_BITS] = np.where(ticks, IGNORED, KEY)
    motion = motions & MOTION_MASK
    offsets = np.flatnonzero(motion == OFFSET)
    times = np.flatnonzero((motion == TIME) | (motion == UNTIL))
    return np.concatenate([motions, [len(offsets)], offsets, [len(times)], times])


def _move(motions: Table[Any], logs: Array | int) -> None:
    """Fill in the motions of a table's rows.

    Args:
        motions: of the rows.
        logs: number of the partition to whose log each row's offsets belong.
    """
    for field in motions.row.cells_of.values():
        motion = _KINDS.get(field.moves, SAME)
        if motion != SAME:
            cells = motions.cells[:, field.place : field.place + field.cells]
            cells[:] = motion
            if motion == OFFSET:
                cells |= np.reshape(np.asarray(logs) << MOTION_BITS, (-1, 1))


def _logs(w: Array) -> dict[str, Array]:
    """Number of the partition to which each row belongs, of the tables that have offsets."""
    world, first = World(w), World(w).partitions.first
    threads, replicas = table_of(w, "threads"), table_of(w, "replicas")
    of_replica = (replicas["partition"] - first) // Partition.size
    followed = table_of(w, "fetched")["follower"]
    of_fetched = of_replica[(followed - replicas.first) // Replica.size]
    of_stream = (table_of(w, "streams")["partition"] - first) // Partition.size
    # Each request of a thread has one entry per fetched partition.
    counts = threads["fetched_count"]
    entries = np.repeat(counts, REQUESTS_PER_THREAD)
    begins = np.repeat(np.cumsum(counts) - counts, REQUESTS_PER_THREAD)
    nth = np.arange(entries.sum()) - np.repeat(np.cumsum(entries) - entries, entries)
    fetches = np.zeros(len(threads) * REQUESTS_PER_THREAD, dtype=np.int64)
    others = world.request_count - len(fetches) - len(of_stream) * REQUESTS_PER_STREAM
    readers = np.zeros(others, dtype=np.int64)
    return {
        "partitions": np.arange(world.partition_count),
        "replicas": of_replica,
        "followers": np.repeat(of_replica, world.replicas_max),
        "fetched": of_fetched,
        "requests": np.concatenate([fetches, np.repeat(of_stream, REQUESTS_PER_STREAM), readers]),
        "entries": of_fetched[np.repeat(begins, entries) + nth],
    }


def memory_size(w: Array) -> int:
    """Cells that `cycles` needs beside the world."""
    world = World(w)
    of_brokers = world.broker_count * RINGS
    snapshot = world.compared_cells + of_brokers + world.partition_count * LIVE_MAX * Batch.size
    moves = 2 * (world.compared_cells // MOVED_SHARE)
    return Z_SIZE + world.partition_count * LOG_FIELDS + 2 * snapshot + LISTS * moves
