"""What happens next: a winner tree over one key a slot.

Every entity that can have a next moment owns exactly one slot, ``leaf << 20 | number``: its node in
the tree (`worlds.leaves`), and its number. Its key is ``time << 20 | number``, so ties go to the
lower number. A changed plan overwrites the key: nothing is allocated or searched. Times from
NOT_DUE on, 101 days, do not fit into a key: such a slot does not fire, as no horizon is as late.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.layout import (
    H_INNER,
    H_SLOT_OF,
    H_SLOTS,
    INF,
    NOT_DUE,
    SLOT_BITS,
    SLOT_MASK,
    TREE,
)


@hot
def _carry(w, i, v, wins):
    """Put the key ``v`` at leaf ``i``, and carry it up as far as it changes a winner.

    That is tested every other level only: where it ends is unpredictable, so each test costs
    about as much as the level it may spare. ``wins``: the key at the leaf has won all the way up,
    so nothing there can stay as it is, and nothing is tested.
    """
    w[TREE + i] = v
    while i > 3:
        v = min(v, w[TREE + (i ^ 1)])
        i >>= 1
        w[TREE + i] = v
        v = min(v, w[TREE + (i ^ 1)])
        i >>= 1
        if not wins and w[TREE + i] == v:
            return
        w[TREE + i] = v
    if i > 1:
        w[TREE + 1] = min(v, w[TREE + (i ^ 1)])


@hot
def _never(slot):
    """What stands at the leaf of a slot that does not fire."""
    return (NOT_DUE << SLOT_BITS) | (slot & SLOT_MASK)


@hot
def again(w, slot, time):
    """Let ``slot``, which fires at this moment, fire again at ``time`` (microseconds)."""
    _carry(w, slot >> SLOT_BITS, key(slot, time), True)


@hot
def retire(w, slot):
    """Let ``slot``, which fires at this moment, not fire again."""
    _carry(w, slot >> SLOT_BITS, _never(slot), True)


@hot
def schedule(w, slot, time):
    """Let ``slot`` fire at ``time`` (microseconds), instead of whenever it would have."""
    _carry(w, slot >> SLOT_BITS, key(slot, time), False)


@compiled
def refill(w):
    """Find every winner anew, after keys were written without `schedule`."""
    for k in range(w[H_INNER], w[H_INNER] + w[H_SLOTS] - 1):
        i = w[k]
        w[TREE + i] = min(w[TREE + 2 * i], w[TREE + 2 * i + 1])


@hot
def cancel(w, slot):
    """Let ``slot`` not fire."""
    _carry(w, slot >> SLOT_BITS, _never(slot), False)


@compiled
def due(w, slot):
    """When ``slot`` fires: INF if it does not."""
    time = w[leaf(slot)] >> SLOT_BITS
    return INF if time == NOT_DUE else time


@compiled
def key(slot, time):
    """What stands at the leaf of a slot that fires at ``time``."""
    return (min(time, NOT_DUE) << SLOT_BITS) | (slot & SLOT_MASK)


@compiled
def leaf(slot):
    """Pointer of the key of ``slot``."""
    return TREE + (slot >> SLOT_BITS)


@compiled
def slot_of(w, number):
    """The slot with a number."""
    return w[w[H_SLOT_OF] + number]


@compiled
def wrapped(i, size):
    """Place ``i`` of a ring of ``size`` cells, at most one past its end."""
    return 0 if i == size else i
