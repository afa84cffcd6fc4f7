"""How each cell of the world may move from one period to the next while everything repeats.

A cell of a repeating world does one of a few things; which of them it may do is its motion.
`cycles` jumps only where every cell moves as its motion allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.kafka import record
from isr_pipeline.simulation.world import layout as at

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

SAME = 0  # a state, a place, a number of waiting things: does not change
TIME = 1  # moves with the clock, or stands still; standing in the future it ends the stretch
KEY = 2  # the same of a slot's key, ``time << SLOT_BITS | number``
OFFSET = 3  # stands still, or grows as its partition's log does
SUM = 4  # is only added to: grows by the same amount every period
GROWS = 5  # as SUM, but only while the partition has no leader
IGNORED = 6  # has no meaning between events, or is handled by name
UNTIL = 7  # a TIME that is compared with G_NOW; its effect may lag by up to one cycle
MOTION_BITS = 3
MOTION_MASK = (1 << MOTION_BITS) - 1
"""A cell's kind and, above it, the partition whose log an OFFSET belongs to."""

Z_SIZE = 12  # numbers of `cycles`'s own
LOG_FIELDS = 3  # what it notes of a partition's log
LIVE_MAX = 16  # open batches of a partition that a snapshot keeps
RING_MAX = 64  # requests that wait on a broker in a snapshot
RINGS = 2 * RING_MAX + RING_MAX + 2  # cells of a broker's rings in a snapshot
LISTS = 3  # of cells that moved, and by how much
MOVED_SHARE = 4  # a list has room for one cell of so many: a tenth moves, or less

_HEADER = {
    IGNORED: (
        at.G_NOW,
        at.G_RARE,
        at.G_EVENTS,
        at.G_TICKS,
        at.G_JUMPED,
        at.G_JUMPS,
        at.G_LAST_STREAM,
    ),
    TIME: (at.G_FAILED_SINCE, at.G_UNTRACKED_SINCE, at.G_CTL_OUT_SINCE, at.G_CTL_SINCE),
    UNTIL: (at.G_CTL_OUT_UNTIL,),
    SUM: (
        at.G_ACKED,
        at.G_FAILED_TIME,
        at.G_LATENCY_BATCHES,
        at.G_LOCKED_READS,
        at.G_DETECTION_DELAY,
        at.G_UNAVAILABLE,
        at.G_UNTRACKED_TIME,
    ),
}
_BROKER = {
    IGNORED: (at.B_QHEAD, at.B_QTAIL, at.B_SHEAD, at.B_STAIL, at.B_TICK_DUE),
    UNTIL: (at.B_PAUSED_UNTIL,),
    TIME: (
        at.B_FENCE_AT,
        at.B_UNFENCE_AT,
        at.B_HB_PHASE,
        at.B_ALTER_DUE,
        at.B_CLIENT_NEXT,
        at.B_SURGE_NEXT,
        at.B_CUT_SINCE,
    ),
    SUM: (at.B_CLIENT_K, at.B_SURGE_K),
}
_PARTITION = {
    IGNORED: (at.P_LED_HEAD, at.P_LED_TAIL, at.P_LED_NEXT, at.P_WAITS),
    TIME: (at.P_SINCE, at.P_STAND_SINCE, at.P_S2_LAST),
    OFFSET: (at.P_LED_OFF0,),
    SUM: (
        at.P_T_OFFLINE,
        at.P_T_UNDER_MIN,
        at.P_T_UNDER_REPLICATED,
        at.P_T_UNAVAILABLE,
        at.P_STAND_BASE,
    ),
}
_REPLICA = {
    UNTIL: (at.R_DELAY_UNTIL, at.R_INJECT_UNTIL, at.R_ML_ARMED),
    TIME: (
        at.R_DECIDED,
        at.R_REMOVED_AT,
        at.R_TOUCH_FROM,
        at.R_ML_SINCE,
        *range(at.R_CAUSE0, at.R_CAUSE0 + 8),
    ),
    OFFSET: (at.R_LEO, at.R_HW, at.R_EPOCH_START),
}
_RECORD = {
    TIME: (record.LAST_CAUGHT_UP, record.LAST_FETCH, record.LEO_TIME),
    OFFSET: (
        record.LEO,
        record.PREV_LEADER_LEO,
        *range(record.PENDING_OFFSET_0, record.PENDING_OFFSET_0 + record.PENDING_SLOTS),
    ),
}
_THREAD = {IGNORED: (at.T_VALIDATED, at.T_WAITS)}
_REQUEST = {IGNORED: (at.Q_VALIDATED,), TIME: (at.Q_DEADLINE, at.Q_NOT_BEFORE), OFFSET: (at.Q_END,)}
_ENTRY = {TIME: (at.E_TIME,), OFFSET: (at.E_OFFSET, at.E_LLEO, at.E_END, at.E_HW)}
_FETCHED = {OFFSET: (at.K_HW,)}
_STREAM = {
    IGNORED: (at.S_AFTER,),
    UNTIL: (at.S_STOP, at.S_RETRY_AT),
    TIME: (at.S_BASE, at.S_NEXT),
    SUM: (at.S_K,),
    GROWS: (at.S_GATHERED,),
}
_HANDLER = {TIME: (at.D_END,)}
_FAULT = {UNTIL: (at.X_START, at.X_END)}
_LINK = {UNTIL: (1,)}


def motions_of(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Kind of every cell of an encoded world up to H_BYKIND, and the partition of its log.

    Behind them two lists, each after its length: the cells that are an OFFSET, and those that are a
    TIME or UNTIL. They are few, and are read more often than all cells.

    Args:
        w: the world, as encoded.
    """
    motions = np.zeros(int(w[at.H_BYKIND]), dtype=np.int64)
    _table(motions, 0, 1, at.TREE, _HEADER)
    slots = rows_of(w, at.H_SLOT_OF, int(w[at.H_SLOTS]), 1)[:, 0]
    of_kind = rows_of(w, at.H_BYKIND, int(w[at.H_SLOTS]), 1)[:, 0] & at.SK_MASK
    motions[at.TREE : at.TREE + int(w[at.H_TREE_SIZE])] = IGNORED
    motions[at.TREE + (slots >> at.SLOT_BITS)] = np.where(of_kind == at.SK_TICK, IGNORED, KEY)
    rows, rf = int(w[at.H_ROWS]), int(w[at.H_MAX_RF])
    replicas = rows_of(w, at.H_ROW, rows, at.R_SIZE)
    partition_of = (replicas[:, at.R_PART] - w[at.H_PART]) // at.P_SIZE
    brokers, partitions = int(w[at.H_BROKERS]), int(w[at.H_PARTITIONS])
    _table(motions, int(w[at.H_BRK]), brokers, at.B_SIZE, _BROKER)
    _table(motions, int(w[at.H_PART]), partitions, at.P_SIZE, _PARTITION, np.arange(partitions))
    _table(motions, int(w[at.H_ROW]), rows, at.R_SIZE, _REPLICA, partition_of)
    _table(
        motions, int(w[at.H_REC]), rows * rf, record.N_FIELDS, _RECORD, np.repeat(partition_of, rf)
    )
    _table(motions, int(w[at.H_THR]), int(w[at.H_THREADS]), at.T_SIZE, _THREAD)
    streams = rows_of(w, at.H_STR, int(w[at.H_STREAMS]), at.S_SIZE)
    stream_partition = (streams[:, at.S_PART] - w[at.H_PART]) // at.P_SIZE
    of_fetched = _logs_of_fetched(w, partition_of)
    of_request, of_entry = _logs_of_requests(w, of_fetched, stream_partition)
    _table(motions, int(w[at.H_FETCHED]), len(of_fetched), at.K_SIZE, _FETCHED, of_fetched)
    _table(motions, int(w[at.H_REQ]), int(w[at.H_REQUESTS]), at.Q_SIZE, _REQUEST, of_request)
    _table(motions, int(w[at.H_ENT]), len(of_entry), at.E_SIZE, _ENTRY, of_entry)
    _table(motions, int(w[at.H_STR]), len(streams), at.S_SIZE, _STREAM, stream_partition)
    _table(motions, int(w[at.H_HND]), int(w[at.H_HANDLERS]), at.D_SIZE, _HANDLER)
    _table(motions, int(w[at.H_FLT]), int(w[at.H_FAULTS]), at.X_SIZE, _FAULT)
    _table(motions, int(w[at.H_LINK]), (brokers + 1) ** 2, 2, _LINK)
    histogram = int(w[at.H_HIST])
    motions[histogram : histogram + at.HIST_SIZE] = SUM
    motion = motions & MOTION_MASK
    offsets = np.flatnonzero(motion == OFFSET)
    times = np.flatnonzero((motion == TIME) | (motion == UNTIL))
    return np.concatenate([motions, [len(offsets)], offsets, [len(times)], times])


def _logs_of_fetched(
    w: npt.NDArray[np.int64], partition_of: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Partition number of each fetched partition of a thread."""
    threads = rows_of(w, at.H_THR, int(w[at.H_THREADS]), at.T_SIZE)
    fetched = rows_of(w, at.H_FETCHED, int(threads[:, at.T_FETCHED_COUNT].sum()), at.K_SIZE)
    found: npt.NDArray[np.int64] = partition_of[(fetched[:, at.K_FROW] - w[at.H_ROW]) // at.R_SIZE]
    return found


def _logs_of_requests(
    w: npt.NDArray[np.int64],
    of_fetched: npt.NDArray[np.int64],
    stream_partition: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Partition of each request (a produce request's) and of each entry of a fetch."""
    threads = rows_of(w, at.H_THR, int(w[at.H_THREADS]), at.T_SIZE)
    cands = threads[:, at.T_FETCHED_COUNT]
    # Each request of a thread has one entry per fetched partition.
    per_request = np.repeat(cands, at.REQS_PER_THREAD)
    begins = np.repeat(np.cumsum(cands) - cands, at.REQS_PER_THREAD)
    entry = np.arange(per_request.sum())
    nth = entry - np.repeat(np.cumsum(per_request) - per_request, per_request)
    of_entry = of_fetched[np.repeat(begins, per_request) + nth]
    fetches = np.zeros(len(threads) * at.REQS_PER_THREAD, dtype=np.int64)
    produces = np.repeat(stream_partition, at.REQS_PER_STREAM)
    return np.concatenate([fetches, produces]), of_entry


def rows_of(w: npt.NDArray[np.int64], place: int, rows: int, width: int) -> npt.NDArray[np.int64]:
    """A table of the world, of which the header's cell ``place`` names the beginning, as rows."""
    start = int(w[place])
    return w[start : start + rows * width].reshape(rows, width)


def _table(
    motions: npt.NDArray[np.int64],
    start: int,
    rows: int,
    width: int,
    fields: Mapping[int, tuple[int, ...]],
    logs: npt.NDArray[np.int64] | None = None,
) -> None:
    """Fill in the motions of ``rows`` rows from ``start`` on."""
    table = motions[start : start + rows * width].reshape(rows, width)
    for kind, columns in fields.items():
        for column in columns:
            table[:, column] = kind
            if kind == OFFSET and logs is not None:
                table[:, column] |= logs << MOTION_BITS


def memory_size(w: npt.NDArray[np.int64]) -> int:
    """Cells that `cycles` needs beside the world."""
    brokers, partitions = int(w[at.H_BROKERS]), int(w[at.H_PARTITIONS])
    snapshot = int(w[at.H_BYKIND]) + brokers * RINGS + partitions * LIVE_MAX * at.L_SIZE
    moves = 2 * (int(w[at.H_BYKIND]) // MOVED_SHARE)
    return Z_SIZE + partitions * LOG_FIELDS + 2 * snapshot + LISTS * moves
