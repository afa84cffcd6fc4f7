"""Dirty bits: which partitions of a fetcher thread may have something new.

A fetch is validated while no check can fail for any of its entries. The masks below hold for a
thread whose fetches are validated; bit ``i`` is its fetched partition ``i``.

T_DIRTY, for the answer. A clear bit guarantees that the follower is at its leader's log end, and
that the leader's high watermark is the one that the follower knows and that its request's entry
names (E_HW): the answer has nothing new. A set bit means only that something may be new. Code that
moves a leader's log end or high watermark sets the bits of its followers; the thread clears a bit
when it finds nothing new.

T_UNCHANGED, for the question. A set bit whose dirty bit is clear guarantees that the follower is in
the ISR, and that the leader's record already has it at the log's end, now and at the last fetch: a
fetch changes only times in that record. The leader sets the bit when it finds that; code that
changes the record or the ISR clears it.

A thread of more than DIRTY_MAX partitions has no masks and visits all of them.
"""

from __future__ import annotations

from isr_pipeline.kafka.record import LEO, PREV_LEADER_LEO
from isr_pipeline.simulation.world.cells import trailing_zeros
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.layout import (
    E_BIT,
    E_HW,
    E_OFFSET,
    G_RARE,
    K_LROW,
    K_REC,
    P_RF,
    Q_VALIDATED,
    R_HW,
    R_ISR,
    R_LEO,
    R_PART,
    R_POS,
    R_TOWARDS,
    T_DIRTY,
    T_FETCHED_COUNT,
    T_REQ,
    T_UNCHANGED,
)

DIRTY_MAX = 62
"""Most fetched partitions of a thread that have a bit each: one cell's, without its sign."""
EVERYTHING = (1 << DIRTY_MAX) - 1


@compiled
def next_unset(bits, i):
    """First number from ``i`` on whose bit is not set."""
    return i if bits == 0 else i + trailing_zeros(~bits >> i)


@hot
def mark_all_dirty(w, t):
    """Let thread ``t``, and the broker that it fetches from, visit each of its partitions once."""
    w[t + T_DIRTY] = EVERYTHING
    w[t + T_UNCHANGED] = 0


@compiled
def thread_of(w, lr, pos):
    """Row pointer of the thread that fetches for the follower at a position from ``lr``."""
    return w[w[lr + R_TOWARDS] + 2 * pos]


@compiled
def place_in_thread(w, lr, pos):
    """Number of that follower's partition among the fetched partitions of that thread."""
    return w[w[lr + R_TOWARDS] + 2 * pos + 1]


@hot
def mark_followers_dirty(w, lr):
    """Set the dirty bit of each follower of ``lr``, whose log end or high watermark has moved."""
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            w[thread_of(w, lr, pos) + T_DIRTY] |= 1 << (place_in_thread(w, lr, pos) & 63)


@compiled
def is_validated(w, q):
    """Whether no entry of the fetch ``q`` can fail a check, so that none needs checking again.

    All passed when it was sent (see `follower.fetch_next`), and since then only events of requests
    have happened, which cannot make one fail.
    """
    return w[q + Q_VALIDATED] == w[G_RARE]


@compiled
def is_kept(w, t, q):
    """Whether the masks of thread ``t`` are about its fetch ``q``, and not one that it gave up."""
    return w[t + T_REQ] == q and w[t + T_FETCHED_COUNT] <= DIRTY_MAX


@compiled
def unchanged_entries(w, t, q):
    """A bit for each entry of thread ``t``'s fetch ``q`` that is known to be unchanged."""
    return w[t + T_UNCHANGED] & ~w[t + T_DIRTY] if is_kept(w, t, q) else 0


@hot
def is_unchanged(w, rec, e, k):
    """Whether entry ``e``, of fetched partition ``k``, needs only times in its record."""
    lr = w[k + K_LROW]
    row = w[k + K_REC]
    offset = w[e + E_OFFSET]
    return (
        w[lr + R_LEO] == offset
        and rec[row, LEO] == offset
        and rec[row, PREV_LEADER_LEO] == offset
        and (w[lr + R_ISR] & w[e + E_BIT]) != 0
    )


@hot
def mark_changed(w, t, i):
    """Candidate ``i`` of thread ``t`` has changed: its record or its ISR."""
    w[t + T_UNCHANGED] &= ~(1 << (i & 63))


@hot
def mark_isr_changed(w, lr):
    """Clear the unchanged bit of each follower of ``lr``, whose ISR changes."""
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            mark_changed(w, thread_of(w, lr, pos), place_in_thread(w, lr, pos))


@hot
def next_dirty(w, t, i):
    """First partition of thread ``t``, from ``i`` on, with a dirty bit; beyond all if none."""
    if w[t + T_FETCHED_COUNT] > DIRTY_MAX:
        return i
    return i + trailing_zeros(w[t + T_DIRTY] >> i)


@hot
def clear_if_heard(w, t, i, e, k):
    """Clear the dirty bit of partition ``i`` if entry ``e``, without records, is up to date."""
    lr = w[k + K_LROW]
    offset = w[e + E_OFFSET]
    if offset < 0 or (w[lr + R_LEO] == offset and w[lr + R_HW] == w[e + E_HW]):
        w[t + T_DIRTY] &= ~(1 << (i & 63))
