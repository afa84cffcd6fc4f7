"""The bare winner tree: what an event loop with this many slots costs if events do nothing.

A lower bound for the kernel: the same keys, the same number of slots, the winner carried upwards as
in `isr_pipeline.simulation.world.queue`. The ways up differ in where they look whether anything
changes any more; the fastest one is the bound. The tree is a balanced one, while the kernel's is
shaped by how often its slots are planned. There are two trivial handlers:

* ``branching``: looks at its slot's state, goes one of two ways that nobody can foresee, and says
  when the slot fires next. It is the bound: every handler of a world has to look at what fired.
* ``branch_free``: only says when the slot fires next. No processor ever guesses wrong in it, which
  no simulation can have; it tells what the tree alone costs.
"""

from __future__ import annotations

# ruff: noqa: PLR0917 - numba takes scalars and arrays, no objects
import time
from typing import TYPE_CHECKING, Any, Literal

import numba
import numpy as np

from benchmarks.speed.arms import compiled
from isr_pipeline.kafka.compiling import OPTIONS
from isr_pipeline.kafka.rows import cells
from isr_pipeline.simulation.world.tables import NOT_DUE, SLOT_BITS, SLOT_MASK

if TYPE_CHECKING:
    import numpy.typing as npt

EVENTS = 4_000_000
CHOICES = 3
"""Turns of each way up, before the fastest is chosen."""
PERIODS_US = (50_000, 49_000, 25_000, 20_000, 10_000, 7_000, 5_000, 1_000, 900, 700, 500)
"""Waits of the handler: what the kernel's slots have, from a stream's batch to a request's way."""

Handler = Literal["branching", "branch_free"]


@compiled
def branch_free(_states, periods, slot):  # type: ignore[no-untyped-def]
    """A handler without a branch: the slot's wait."""
    return periods[slot]


@compiled
def branching(states, periods, slot):  # type: ignore[no-untyped-def]
    """A handler with one: the slot's wait, or a little more.

    ``states`` has one number a slot, which decides and is drawn anew, after two counters: what the
    two ways do must differ, or the compiler makes one of them.
    """
    drawn = states[2 + slot]
    states[2 + slot] = drawn * 6364136223846793005 + 1442695040888963407
    if drawn < 0:
        states[0] += 1
        return periods[slot] + 7
    states[1] ^= slot
    return periods[slot]


@compiled
def to_the_top(tree, i, v):  # type: ignore[no-untyped-def]
    """Carry a new key up to the root."""
    tree[i] = v
    while i > 1:
        v = min(v, tree[i ^ 1])
        i >>= 1
        tree[i] = v


@compiled
def while_it_changes(tree, i, v):  # type: ignore[no-untyped-def]
    """Carry a new key up as far as it changes anything."""
    tree[i] = v
    while i > 1:
        v = min(v, tree[i ^ 1])
        i >>= 1
        if tree[i] == v:
            return
        tree[i] = v


@compiled
def two_levels_at_a_time(tree, i, v):  # type: ignore[no-untyped-def]
    """Carry a new key up, and look every other level whether it changes anything."""
    tree[i] = v
    while i > 3:
        v = min(v, tree[i ^ 1])
        i >>= 1
        tree[i] = v
        v = min(v, tree[i ^ 1])
        i >>= 1
        if tree[i] == v:
            return
        tree[i] = v
    if i > 1:
        tree[1] = min(v, tree[i ^ 1])


HANDLERS: dict[Handler, Any] = {"branching": branching, "branch_free": branch_free}
WAYS: dict[str, Any] = {
    "to the top": to_the_top,
    "while it changes": while_it_changes,
    "two levels at a time": two_levels_at_a_time,
}


@numba.njit(nogil=True, **OPTIONS)
def fire(tree_, states_, periods_, leaves, events, handler, carry):  # type: ignore[no-untyped-def]
    """Fire so many events of a tree; returns the last key. Compiled for each handler and way."""
    tree, states, periods = cells(tree_), cells(states_), cells(periods_)
    for _ in range(events):
        key = tree[1]
        slot = key & SLOT_MASK
        carry(tree, leaves + slot, key + (handler(states, periods, slot) << SLOT_BITS))
    return tree[1]


def periods_of(slots: int) -> npt.NDArray[np.int64]:
    """Wait of each slot in microseconds: the table in turn, none quite like another."""
    return np.array(
        [PERIODS_US[slot % len(PERIODS_US)] + slot % 89 for slot in range(slots)], dtype=np.int64
    )


def states_of(slots: int) -> npt.NDArray[np.int64]:
    """Two counters, and what decides in each slot first."""
    return np.arange(slots + 2, dtype=np.int64)


def planted(slots: int) -> tuple[npt.NDArray[np.int64], int]:
    """A tree in which every slot has its first moment, and its number of leaves."""
    leaves = 1 << max(1, (slots - 1).bit_length())
    tree = np.full(2 * leaves, NOT_DUE << SLOT_BITS, dtype=np.int64)
    for slot, wait in enumerate(periods_of(slots).tolist()):
        tree[leaves + slot] = (wait * (slot + 1) // slots << SLOT_BITS) | slot
    for i in range(leaves - 1, 0, -1):
        tree[i] = min(tree[2 * i], tree[2 * i + 1])
    return tree, leaves


class Bare:
    """A bare tree of so many slots, with the way up that is fastest on this machine.

    Args:
        slots: how many.
        handler: which one.
    """

    def __init__(self, slots: int, handler: Handler) -> None:
        self._slots, self._handler = slots, HANDLERS[handler]
        self._way = min(WAYS.values(), key=lambda way: min(self._turn(way) for _ in range(CHOICES)))

    def seconds(self) -> float:
        """Processor time of a turn of EVENTS events."""
        return self._turn(self._way)

    def _turn(self, way: Any) -> float:
        periods, states = periods_of(self._slots), states_of(self._slots)
        tree, leaves = planted(self._slots)
        fire(tree, states, periods, leaves, 1_000, self._handler, way)  # compiled
        started = time.process_time()
        fire(tree, states, periods, leaves, EVENTS, self._handler, way)
        return time.process_time() - started
