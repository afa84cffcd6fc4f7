"""The bare winner tree: what an event loop with this many slots costs if events do nothing.

A lower bound for the kernel: the same keys, the same number of slots, the winner carried upwards as
in `isr_pipeline.simulation.queue`, and a handler that only says when the slot fires next. The two
ways up differ in whether they stop where nothing changes any more; the faster one is the bound.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from isr_pipeline.simulation.cells import cells
from isr_pipeline.simulation.layout import INF, SLOT_BITS, SLOT_MASK

if TYPE_CHECKING:
    import numpy.typing as npt

EVENTS = 4_000_000
PERIODS_US = (50_000, 49_000, 25_000, 20_000, 10_000, 7_000, 5_000, 1_000, 900, 700, 500)
"""Waits of the handler: what the kernel's slots have, from a stream's batch to a request's way."""


@numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _to_the_top(tree_, periods_, leaves, events):  # type: ignore[no-untyped-def]
    """Fire so many events; every plan is carried up to the root. Returns the last key."""
    tree, periods = cells(tree_), cells(periods_)
    for _ in range(events):
        key = tree[1]
        slot = key & SLOT_MASK
        v = key + (periods[slot] << SLOT_BITS)
        i = leaves + slot
        tree[i] = v
        while i > 1:
            v = min(v, tree[i ^ 1])
            i >>= 1
            tree[i] = v
    return tree[1]


@numba.njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _while_it_changes(tree_, periods_, leaves, events):  # type: ignore[no-untyped-def]
    """Fire so many events; a plan is carried up as far as it changes anything."""
    tree, periods = cells(tree_), cells(periods_)
    for _ in range(events):
        key = tree[1]
        slot = key & SLOT_MASK
        v = key + (periods[slot] << SLOT_BITS)
        i = leaves + slot
        tree[i] = v
        while i > 1:
            v = min(v, tree[i ^ 1])
            i >>= 1
            if tree[i] == v:
                break
            tree[i] = v
    return tree[1]


WAYS: dict[str, Any] = {"to the top": _to_the_top, "while it changes": _while_it_changes}


def periods_of(slots: int) -> npt.NDArray[np.int64]:
    """Wait of each slot in microseconds: the table in turn, none quite like another."""
    return np.array(
        [PERIODS_US[slot % len(PERIODS_US)] + slot % 89 for slot in range(slots)], dtype=np.int64
    )


def planted(slots: int) -> tuple[npt.NDArray[np.int64], int]:
    """A tree in which every slot has its first moment, and its number of leaves."""
    leaves = 1 << max(1, (slots - 1).bit_length())
    tree = np.full(2 * leaves, INF << SLOT_BITS, dtype=np.int64)
    for slot, wait in enumerate(periods_of(slots).tolist()):
        tree[leaves + slot] = (wait * (slot + 1) // slots << SLOT_BITS) | slot
    for i in range(leaves - 1, 0, -1):
        tree[i] = min(tree[2 * i], tree[2 * i + 1])
    return tree, leaves


def events_per_s(slots: int, events: int = EVENTS) -> float:
    """Events a second of processor time with so many slots, the faster way up."""
    return max(_rate(way, slots, events) for way in WAYS.values())


def _rate(way: Any, slots: int, events: int) -> float:
    periods = periods_of(slots)
    tree, leaves = planted(slots)
    way(tree, periods, leaves, 1_000)  # compiled, and in the cache
    started = time.process_time()
    way(tree, periods, leaves, events)
    return events / (time.process_time() - started)
