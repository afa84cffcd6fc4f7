"""KIP-501 pending reads: recorded eagerly in the leaders' records, or deferred in the fetch.

From the moment a handler starts a fetch, its reads count as pending for its partitions, until the
fetch is answered (or read). Few events read those records in between. A validated fetch (see
`dirty`) therefore defers the pending read of a record: it sets a bit in `Request.pending`, and most
bits are cleared again before any event needs them. Deferred reads are flushed into the records
before a tick, before any event that is not part of a request, and where the pull request's rule
asks whether a fetch that was already read is still pending. Other events of requests read, for the
high watermark, records of followers outside the ISR only; nothing is deferred for those.
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import (
    add_pending,
    becomes_pending,
    begin_read,
    counts_pending,
    end_read,
)
from isr_pipeline.kafka.record import PENDING_SLOTS
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import trailing_zeros
from isr_pipeline.simulation.shortcuts.dirty import (
    is_kept,
    is_validated,
    next_unset,
    unchanged_in,
    word_of,
)
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.states import RequestKind
from isr_pipeline.simulation.world.tables import (
    REQUESTS_PER_THREAD,
    WORD_BITS,
    FetcherThread,
    Request,
    World,
)

DEFERRED_MAX = 62
"""Most partitions of a thread that defers: one cell has so many bits, without its sign and one."""


@compiled
def _flush(request: Request, i: int) -> None:
    """Write the deferred pending read of entry ``i`` of the fetch ``request`` into its record."""
    record = request.thread.fetched[i].record
    offset = request.entries[i].offset
    add_pending(record.pending_offsets, record.pending_counts, PENDING_SLOTS, offset)
    request.pending &= ~(2 << i)


@compiled
def flush_record(thread: FetcherThread, i: int) -> None:
    """Flush every deferred read of fetched partition ``i`` of ``thread``."""
    if i >= DEFERRED_MAX:
        return
    for j in range(REQUESTS_PER_THREAD):
        request = thread.requests[j]
        if request.pending >> 1 >> i & 1:
            _flush(request, i)


@compiled
def _all_unchanged(thread: FetcherThread) -> int:
    """A bit for each partition of ``thread``, two words at most, that is known unchanged."""
    bits = unchanged_in(word_of(thread, 0))
    if thread.fetched_count > WORD_BITS:
        bits |= unchanged_in(word_of(thread, WORD_BITS)) << WORD_BITS
    return bits


@compiled
def note_pending(world: World, rules: Rules, request: Request) -> None:
    """The reads of the fetch ``request`` become pending, before any of its partitions is read."""
    thread = request.thread
    kept = (
        is_validated(world, request)
        and is_kept(thread, request)
        and thread.fetched_count <= DEFERRED_MAX
    )
    deferred = _all_unchanged(thread) if kept else 0
    n = request.entry_count
    i = next_unset(deferred, 0)
    while i < n:
        entry = request.entries[i]
        fetched = thread.fetched[i]
        leader = fetched.leader
        record = fetched.record
        if entry.offset >= 0 and leader.is_leader:
            if not kept or (leader.isr & entry.bit) == 0:
                begin_read(rules, record, entry.offset)
            elif becomes_pending(record, entry.offset):
                deferred |= 1 << i
        i = next_unset(deferred, i + 1)
    request.pending = 1 | deferred << 1


@compiled
def forget_pending(rules: Rules, request: Request) -> None:
    """None of the reads of the fetch ``request`` is pending any longer."""
    deferred = request.pending >> 1
    request.pending = 0
    thread = request.thread
    n = request.entry_count
    i = next_unset(deferred, 0)
    while i < n:
        offset = request.entries[i].offset
        if offset >= 0:
            flush_record(thread, i)  # offsets are pending, whoever asked for them
            end_read(rules, thread.fetched[i].record, offset)
        i = next_unset(deferred, i + 1)


@cold
def flush_all(world: World, rules: Rules) -> None:
    """Flush every deferred read of every fetch."""
    if not counts_pending(rules):
        return
    for number in range(world.request_count):
        request = world.requests[number]
        if request.kind == RequestKind.FETCH:
            while request.pending > 1:
                _flush(request, trailing_zeros(request.pending >> 1))
