"""Dirty bits: which partitions of a fetcher thread may have something new.

A fetch is validated while no check can fail for any of its entries. The masks below hold for a
thread whose fetches are validated. Each of its fetched partitions has a bit, 32 of them a word.

`Word.dirty`, for the answer. A clear bit guarantees that the follower is at its leader's log end,
and that the leader's high watermark is the one that the follower knows and that its request's
entry names: the answer has nothing new. A set bit means only that something may be new. Code that
moves a leader's log end or high watermark sets the bits of its followers; the thread clears a bit
when it finds nothing new.

`Word.unchanged`, for the question. A set bit whose dirty bit is clear guarantees that the follower
is in the ISR, and that the leader's record already has it at the log's end, now and at the last
fetch: a fetch changes only times in that record. The leader sets the bit when it finds that; code
that changes the record or the ISR clears it.
"""

from __future__ import annotations

from isr_pipeline.kafka.rows import trailing_zeros
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.tables import (
    WORD_BITS,
    WORD_MASK,
    WORD_SHIFT,
    Entry,
    Fetched,
    FetcherThread,
    Replica,
    Request,
    Word,
    World,
)

EVERYTHING = (1 << WORD_BITS) - 1
"""A word with every bit set."""


@compiled
def next_unset(bits: int, i: int) -> int:
    """First number from ``i`` on whose bit is not set."""
    return i if bits == 0 else i + trailing_zeros(~bits >> i)


@compiled
def word_of(thread: FetcherThread, i: int) -> Word:
    """The row of the word that has the bits of fetched partition ``i`` of ``thread``."""
    return thread.words[i >> WORD_SHIFT]


@hot
def mark_all_dirty(thread: FetcherThread) -> None:
    """Let ``thread``, and the broker that it fetches from, visit each of its partitions once."""
    for i in range(0, thread.fetched_count, WORD_BITS):
        word = word_of(thread, i)
        word.dirty = EVERYTHING
        word.unchanged = 0


@hot
def mark_followers_dirty(leader: Replica) -> None:
    """Set the dirty bit of each follower: the log end or high watermark has moved."""
    fetching = leader.fetching
    for pos in range(leader.partition.replication_factor):
        if pos != leader.position:
            fetching[pos].word.dirty |= fetching[pos].bit


@compiled
def is_validated(world: World, request: Request) -> bool:
    """Whether no entry of the fetch can fail a check, so that none needs checking again.

    All passed when it was sent (see `follower.fetch_next`), and since then only events of requests
    have happened, which cannot make one fail.
    """
    return request.validated_at == world.rare_events


@compiled
def is_kept(thread: FetcherThread, request: Request) -> bool:
    """Whether the masks of ``thread`` are about this fetch of its, and not one that it gave up."""
    return thread.request == request


@compiled
def unchanged_in(word: Word) -> int:
    """A bit for each partition of a word that is known to be unchanged."""
    return word.unchanged & ~word.dirty


@compiled
def next_to_visit(thread: FetcherThread, kept: bool, i: int) -> int:
    """First partition of ``thread``, from ``i`` on, that is not known to be unchanged.

    Beyond all if there is none; ``i`` where the masks are not ``kept`` for the fetch.
    """
    if not kept:
        return i
    n = thread.fetched_count
    while i < n:
        others = ~unchanged_in(word_of(thread, i)) & EVERYTHING
        others >>= i & WORD_MASK
        if others != 0:
            return i + trailing_zeros(others)
        i = (i | WORD_MASK) + 1
    return i


@hot
def is_unchanged(entry: Entry, fetched: Fetched) -> bool:
    """Whether ``entry``, of fetched partition ``fetched``, needs only times in its record."""
    leader = fetched.leader
    record = fetched.record
    offset = entry.offset
    return (
        leader.log_end_offset == offset
        and record.log_end_offset == offset
        and record.last_fetch_leader_log_end_offset == offset
        and (leader.isr & entry.bit) != 0
    )


@hot
def mark_unchanged(thread: FetcherThread, i: int) -> None:
    """Fetched partition ``i`` of ``thread`` needs only times in its record from now on."""
    word_of(thread, i).unchanged |= 1 << (i & WORD_MASK)


@hot
def mark_changed(thread: FetcherThread, i: int) -> None:
    """Fetched partition ``i`` of ``thread`` has changed: its record or its ISR."""
    word_of(thread, i).unchanged &= ~(1 << (i & WORD_MASK))


@hot
def mark_isr_changed(leader: Replica) -> None:
    """Clear the unchanged bit of each follower of ``leader``, whose ISR changes."""
    fetching = leader.fetching
    for pos in range(leader.partition.replication_factor):
        if pos != leader.position:
            fetching[pos].word.unchanged &= ~fetching[pos].bit


@hot
def next_dirty(thread: FetcherThread, i: int) -> int:
    """First partition of ``thread``, from ``i`` on, with a dirty bit; beyond all if none."""
    n = thread.fetched_count
    while i < n:
        bits = word_of(thread, i).dirty >> (i & WORD_MASK)
        if bits != 0:
            return i + trailing_zeros(bits)
        i = (i | WORD_MASK) + 1
    return i


@hot
def clear_if_heard(thread: FetcherThread, i: int, entry: Entry, fetched: Fetched) -> None:
    """Clear the dirty bit of partition ``i`` if ``entry``, without records, is up to date."""
    leader = fetched.leader
    offset = entry.offset
    if offset < 0 or (
        leader.log_end_offset == offset and leader.high_watermark == entry.high_watermark
    ):
        word_of(thread, i).dirty &= ~(1 << (i & WORD_MASK))
