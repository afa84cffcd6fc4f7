"""What happens next: a winner tree over one key a slot.

Every entity that can have a next moment owns exactly one slot, ``leaf << 20 | number``: its node in
the tree, where leaves stand behind all other nodes in the order of their numbers, and its number.
Its key is ``time << 20 | number``, so ties go to the lower number. A changed plan overwrites the
key: nothing is allocated or searched. Times from NOT_DUE on, 101 days, do not fit into a key: such
a slot does not fire, as no horizon is as late.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.tables import INF, NOT_DUE, SLOT_BITS, SLOT_MASK, World


@hot
def _carry(world: World, i: int, v: int, wins: bool) -> None:
    """Put the key ``v`` at leaf ``i``, and carry it up as far as it changes a winner.

    That is tested every other level only: where it ends is unpredictable, so each test costs
    about as much as the level it may spare. ``wins``: the key at the leaf has won all the way up,
    so nothing there can stay as it is, and nothing is tested.
    """
    tree = world.tree
    tree[i] = v
    while i > 3:
        v = min(v, tree[(i ^ 1)])
        i >>= 1
        tree[i] = v
        v = min(v, tree[(i ^ 1)])
        i >>= 1
        if not wins and tree[i] == v:
            return
        tree[i] = v
    if i > 1:
        tree[1] = min(v, tree[(i ^ 1)])


@hot
def _never(slot: int) -> int:
    """What stands at the leaf of a slot that does not fire."""
    return (NOT_DUE << SLOT_BITS) | (slot & SLOT_MASK)


@hot
def again(world: World, slot: int, time: int) -> None:
    """Let ``slot``, which fires at this moment, fire again at ``time`` (microseconds)."""
    _carry(world, slot >> SLOT_BITS, key(slot, time), True)


@hot
def retire(world: World, slot: int) -> None:
    """Let ``slot``, which fires at this moment, not fire again."""
    _carry(world, slot >> SLOT_BITS, _never(slot), True)


@hot
def schedule(world: World, slot: int, time: int) -> None:
    """Let ``slot`` fire at ``time`` (microseconds), instead of whenever it would have."""
    _carry(world, slot >> SLOT_BITS, key(slot, time), False)


@compiled
def refill(world: World) -> None:
    """Find every winner anew, after keys were written without `schedule`."""
    tree = world.tree
    for i in range(world.slot_count - 1, 0, -1):
        tree[i] = min(tree[2 * i], tree[2 * i + 1])


@hot
def cancel(world: World, slot: int) -> None:
    """Let ``slot`` not fire."""
    _carry(world, slot >> SLOT_BITS, _never(slot), False)


@compiled
def due(world: World, slot: int) -> int:
    """When ``slot`` fires: INF if it does not."""
    time = world.tree[leaf(slot)] >> SLOT_BITS
    return INF if time == NOT_DUE else time


@compiled
def key(slot: int, time: int) -> int:
    """What stands at the leaf of a slot that fires at ``time``."""
    return (min(time, NOT_DUE) << SLOT_BITS) | (slot & SLOT_MASK)


@compiled
def leaf(slot: int) -> int:
    """Node of the tree that has the key of ``slot``."""
    return slot >> SLOT_BITS


@compiled
def slot_of(world: World, number: int) -> int:
    """The slot with a number."""
    return world.slots[number]


@compiled
def wrapped(i: int, size: int) -> int:
    """Place ``i`` of a ring of ``size`` cells, at most one past its end."""
    return 0 if i == size else i
