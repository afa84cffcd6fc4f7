"""Dirty bits: which partitions of a fetcher thread may have something new.

A fetch is validated while no check can fail for any of its entries. The masks below hold for a
thread whose fetches are validated. Each of its fetched partitions has a bit, 32 of them a word.

W_DIRTY, for the answer. A clear bit guarantees that the follower is at its leader's log end, and
that the leader's high watermark is the one that the follower knows and that its request's entry
names (E_HW): the answer has nothing new. A set bit means only that something may be new. Code that
moves a leader's log end or high watermark sets the bits of its followers; the thread clears a bit
when it finds nothing new.

W_UNCHANGED, for the question. A set bit whose dirty bit is clear guarantees that the follower is in
the ISR, and that the leader's record already has it at the log's end, now and at the last fetch: a
fetch changes only times in that record. The leader sets the bit when it finds that; code that
changes the record or the ISR clears it.
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
    T_FETCHED_COUNT,
    T_MASKS,
    T_REQ,
    W_DIRTY,
    W_SIZE,
    W_UNCHANGED,
    WORD_BITS,
    WORD_MASK,
    WORD_SHIFT,
    Y_BIT,
    Y_PLACE,
    Y_SIZE,
    Y_THREAD,
    Y_WORD,
)

EVERYTHING = (1 << WORD_BITS) - 1
"""A word with every bit set."""


@compiled
def next_unset(bits, i):
    """First number from ``i`` on whose bit is not set."""
    return i if bits == 0 else i + trailing_zeros(~bits >> i)


@compiled
def word_of(w, t, i):
    """Row pointer of the word that has the bits of fetched partition ``i`` of thread ``t``."""
    return w[t + T_MASKS] + (i >> WORD_SHIFT) * W_SIZE


@hot
def mark_all_dirty(w, t):
    """Let thread ``t``, and the broker that it fetches from, visit each of its partitions once."""
    for i in range(0, w[t + T_FETCHED_COUNT], WORD_BITS):
        word = word_of(w, t, i)
        w[word + W_DIRTY] = EVERYTHING
        w[word + W_UNCHANGED] = 0


@compiled
def towards(w, lr, pos):
    """Row pointer of who fetches for the follower at a position from ``lr``."""
    return w[lr + R_TOWARDS] + pos * Y_SIZE


@compiled
def thread_of(w, lr, pos):
    """Row pointer of the thread that fetches for the follower at a position from ``lr``."""
    return w[towards(w, lr, pos) + Y_THREAD]


@compiled
def place_in_thread(w, lr, pos):
    """Number of that follower's partition among the fetched partitions of that thread."""
    return w[towards(w, lr, pos) + Y_PLACE]


@hot
def mark_followers_dirty(w, lr):
    """Set the dirty bit of each follower of ``lr``, whose log end or high watermark has moved."""
    y = w[lr + R_TOWARDS]
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            w[w[y + Y_WORD] + W_DIRTY] |= w[y + Y_BIT]
        y += Y_SIZE


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
    return w[t + T_REQ] == q


@compiled
def unchanged_in(w, word):
    """A bit for each partition of a word that is known to be unchanged."""
    return w[word + W_UNCHANGED] & ~w[word + W_DIRTY]


@compiled
def next_to_visit(w, t, kept, i):
    """First partition of thread ``t``, from ``i`` on, that is not known to be unchanged.

    Beyond all if there is none; ``i`` where the masks are not ``kept`` for the fetch.
    """
    if not kept:
        return i
    n = w[t + T_FETCHED_COUNT]
    while i < n:
        others = ~unchanged_in(w, word_of(w, t, i)) & EVERYTHING
        others >>= i & WORD_MASK
        if others != 0:
            return i + trailing_zeros(others)
        i = (i | WORD_MASK) + 1
    return i


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
def mark_unchanged(w, t, i):
    """Fetched partition ``i`` of thread ``t`` needs only times in its record from now on."""
    w[word_of(w, t, i) + W_UNCHANGED] |= 1 << (i & WORD_MASK)


@hot
def mark_changed(w, t, i):
    """Fetched partition ``i`` of thread ``t`` has changed: its record or its ISR."""
    w[word_of(w, t, i) + W_UNCHANGED] &= ~(1 << (i & WORD_MASK))


@hot
def mark_isr_changed(w, lr):
    """Clear the unchanged bit of each follower of ``lr``, whose ISR changes."""
    y = w[lr + R_TOWARDS]
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            w[w[y + Y_WORD] + W_UNCHANGED] &= ~w[y + Y_BIT]
        y += Y_SIZE


@hot
def next_dirty(w, t, i):
    """First partition of thread ``t``, from ``i`` on, with a dirty bit; beyond all if none."""
    n = w[t + T_FETCHED_COUNT]
    while i < n:
        bits = w[word_of(w, t, i) + W_DIRTY] >> (i & WORD_MASK)
        if bits != 0:
            return i + trailing_zeros(bits)
        i = (i | WORD_MASK) + 1
    return i


@hot
def clear_if_heard(w, t, i, e, k):
    """Clear the dirty bit of partition ``i`` if entry ``e``, without records, is up to date."""
    lr = w[k + K_LROW]
    offset = w[e + E_OFFSET]
    if offset < 0 or (w[lr + R_LEO] == offset and w[lr + R_HW] == w[e + E_HW]):
        w[word_of(w, t, i) + W_DIRTY] &= ~(1 << (i & WORD_MASK))
