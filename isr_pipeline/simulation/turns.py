"""The order of a fetch's partitions: each that got data goes to the end.

Kafka has it from 0.10.1 on (KIP-74), in the follower's thread and, from 1.1 on, in the leader's
session too: server/AbstractFetcherThread.scala @ 0.10.1.1, 3.9.0; server/FetchSession.scala @ 3.9.0
(`PartitionIterator.next`). It decides who gets the bytes of an answer that cannot hold all, and
nothing else; so a thread begins to take turns with its first such answer.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.tables import (
    REQUESTS_PER_THREAD,
    FetcherThread,
    Request,
)


@compiled
def first_place(thread: FetcherThread) -> int:
    """Place of the partition that a fetch of ``thread`` names first."""
    return thread.first_turn if thread.takes_turns else 0


@compiled
def place_behind(thread: FetcherThread, place: int) -> int:
    """Place of the partition that it names after the one at ``place``; the end if none."""
    return thread.fetched[place].next_turn if thread.takes_turns else place + 1


@cold
def place_before(thread: FetcherThread, place: int) -> int:
    """Place of the partition that it names before the one at ``place``, which is not the first."""
    before = first_place(thread)
    while place_behind(thread, before) != place:
        before = place_behind(thread, before)
    return before


@cold
def _begin(thread: FetcherThread) -> None:
    """Up to now the order was that of the places; requests hold every place from now on."""
    thread.takes_turns = 1
    thread.first_turn = 0
    for place in range(thread.fetched_count):
        thread.fetched[place].next_turn = place + 1
    for j in range(REQUESTS_PER_THREAD):
        thread.requests[j].entry_count = thread.fetched_count


@cold
def take_turns(thread: FetcherThread, request: Request) -> None:
    """Every partition for which the answer to ``request`` holds data goes to the end, in order."""
    if not thread.takes_turns:
        _begin(thread)
    end = thread.fetched_count
    first, last, first_served, last_served = end, end, end, end
    place = thread.first_turn
    while place < end:
        following = thread.fetched[place].next_turn
        entry = request.entries[place]
        if entry.offset >= 0 and entry.end > entry.offset:
            if first_served == end:
                first_served = place
            else:
                thread.fetched[last_served].next_turn = place
            last_served = place
        else:
            if first == end:
                first = place
            else:
                thread.fetched[last].next_turn = place
            last = place
        place = following
    if last < end:
        thread.fetched[last].next_turn = first_served
    if last_served < end:
        thread.fetched[last_served].next_turn = end
    thread.first_turn = first if first < end else first_served
