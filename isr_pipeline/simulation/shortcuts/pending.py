"""KIP-501 pending reads: recorded eagerly in the leaders' records, or deferred in the fetch.

From the moment a handler starts a fetch, its reads count as pending for its partitions, until the
fetch is answered (or read). Few events read those records in between. A validated fetch (see
`dirty`) therefore defers the pending read of a record: it sets a bit in Q_PENDING, and most bits
are cleared again before any event needs them. Deferred reads are flushed into the records before
a tick, before any event that is not part of a request, and where the pull request's rule asks
whether a fetch that was already read is still pending. Other events of requests read, for the high
watermark, records of followers outside the ISR only; nothing is deferred for those.
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import (
    add_pending,
    becomes_pending,
    begin_read,
    counts_pending,
    end_read,
)
from isr_pipeline.kafka.record import PENDING_OFFSET_0, PENDING_SLOTS
from isr_pipeline.simulation.shortcuts.dirty import (
    is_kept,
    is_validated,
    next_unset,
    unchanged_in,
    word_of,
)
from isr_pipeline.simulation.world.cells import trailing_zeros
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.layout import (
    E_BIT,
    E_OFFSET,
    E_SIZE,
    H_REQ,
    H_REQUESTS,
    K_LROW,
    K_REC,
    K_SIZE,
    Q_ENT,
    Q_KIND,
    Q_N,
    Q_OWNER,
    Q_PENDING,
    Q_SIZE,
    R_IS_LEADER,
    R_ISR,
    REQ_FETCH,
    REQS_PER_THREAD,
    T_FETCHED,
    T_FETCHED_COUNT,
    T_REQ0,
    WORD_BITS,
)

DEFERRED_MAX = 62
"""Most partitions of a thread that defers: one cell has so many bits, without its sign and one."""


@compiled
def _flush(w, rec, q, i):
    """Write the deferred pending read of entry ``i`` of the fetch ``q`` into its record."""
    row = w[w[w[q + Q_OWNER] + T_FETCHED] + i * K_SIZE + K_REC]
    offset = w[w[q + Q_ENT] + i * E_SIZE + E_OFFSET]
    add_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS, offset)
    w[q + Q_PENDING] &= ~(2 << i)


@compiled
def flush_record(w, rec, t, i):
    """Flush every deferred read of fetched partition ``i`` of thread ``t``."""
    if i >= DEFERRED_MAX:
        return
    for j in range(REQS_PER_THREAD):
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_PENDING] >> 1 >> i & 1:
            _flush(w, rec, q, i)


@compiled
def _all_unchanged(w, t):
    """A bit for each partition of thread ``t``, two words at most, that is known unchanged."""
    bits = unchanged_in(w, word_of(w, t, 0))
    if w[t + T_FETCHED_COUNT] > WORD_BITS:
        bits |= unchanged_in(w, word_of(w, t, WORD_BITS)) << WORD_BITS
    return bits


@compiled
def note_pending(w, rec, rules, q):
    """The reads of the fetch ``q`` become pending, before any of its partitions is read."""
    t = w[q + Q_OWNER]
    kept = is_validated(w, q) and is_kept(w, t, q) and w[t + T_FETCHED_COUNT] <= DEFERRED_MAX
    deferred = _all_unchanged(w, t) if kept else 0
    n = w[q + Q_N]
    i = next_unset(deferred, 0)
    while i < n:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[t + T_FETCHED] + i * K_SIZE
        lr = w[k + K_LROW]
        row = w[k + K_REC]
        if w[e + E_OFFSET] >= 0 and w[lr + R_IS_LEADER] == 1:
            if not kept or (w[lr + R_ISR] & w[e + E_BIT]) == 0:
                begin_read(rules, rec, row, w[e + E_OFFSET])
            elif becomes_pending(rec, row, w[e + E_OFFSET]):
                deferred |= 1 << i
        i = next_unset(deferred, i + 1)
    w[q + Q_PENDING] = 1 | deferred << 1


@compiled
def forget_pending(w, rec, rules, q):
    """None of the reads of the fetch ``q`` is pending any longer."""
    deferred = w[q + Q_PENDING] >> 1
    w[q + Q_PENDING] = 0
    t = w[q + Q_OWNER]
    n = w[q + Q_N]
    i = next_unset(deferred, 0)
    while i < n:
        offset = w[w[q + Q_ENT] + i * E_SIZE + E_OFFSET]
        if offset >= 0:
            flush_record(w, rec, t, i)  # offsets are pending, whoever asked for them
            end_read(rules, rec, w[w[t + T_FETCHED] + i * K_SIZE + K_REC], offset)
        i = next_unset(deferred, i + 1)


@cold
def flush_all(w, rec, rules):
    """Flush every deferred read of every fetch."""
    if not counts_pending(rules):
        return
    for number in range(w[H_REQUESTS]):
        q = w[H_REQ] + number * Q_SIZE
        if w[q + Q_KIND] == REQ_FETCH:
            while w[q + Q_PENDING] > 1:
                _flush(w, rec, q, trailing_zeros(w[q + Q_PENDING] >> 1))
