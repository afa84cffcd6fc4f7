"""KIP-501: the reads of a fetch that are pending, noted in the leaders' records or owed to them.

From the moment a handler begins with a fetch, its reads count as pending for its partitions, and
when it is answered (or read) no longer. Hardly anybody looks at the records in between. So a plain
fetch (see `news`) keeps a bit, in Q_PENDING, for each partition whose record it owes a pending
read; most are gone again before anybody looks. They are noted before a tick, before any event that
is none of requests, and where the pull request's rule asks whether a fetch that has been read is
pending still. What else happens to requests looks, for the high watermark, at followers outside the
ISR only: to those nothing is owed.
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
from isr_pipeline.simulation.shortcuts.news import NEWS_MAX, is_kept, is_plain, next_unset, settled
from isr_pipeline.simulation.world.cells import trailing_zeros
from isr_pipeline.simulation.world.jit import apart, compiled
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
    T_CAND,
    T_REQ0,
)


@compiled
def _pay(w, rec, q, i):
    """Note the pending read that the fetch ``q`` owes to the record of its entry ``i``."""
    row = w[w[w[q + Q_OWNER] + T_CAND] + i * K_SIZE + K_REC]
    offset = w[w[q + Q_ENT] + i * E_SIZE + E_OFFSET]
    add_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS, offset)
    w[q + Q_PENDING] &= ~(2 << i)


@compiled
def pay_candidate(w, rec, t, i):
    """Note what any fetch of thread ``t`` owes to the record of its candidate ``i``."""
    if i >= NEWS_MAX:
        return
    for j in range(REQS_PER_THREAD):
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_PENDING] >> 1 >> i & 1:
            _pay(w, rec, q, i)


@compiled
def note_pending(w, rec, rules, q):
    """The reads of the fetch ``q`` are pending, before any of its partitions is read."""
    t = w[q + Q_OWNER]
    kept = is_plain(w, q) and is_kept(w, t, q)
    owed = settled(w, t, q) if kept else 0
    n = w[q + Q_N]
    i = next_unset(owed, 0)
    while i < n:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[t + T_CAND] + i * K_SIZE
        lr = w[k + K_LROW]
        row = w[k + K_REC]
        if w[e + E_OFFSET] >= 0 and w[lr + R_IS_LEADER] == 1:
            if not kept or (w[lr + R_ISR] & w[e + E_BIT]) == 0:
                begin_read(rules, rec, row, w[e + E_OFFSET])
            elif becomes_pending(rec, row, w[e + E_OFFSET]):
                owed |= 1 << i
        i = next_unset(owed, i + 1)
    w[q + Q_PENDING] = 1 | owed << 1


@compiled
def forget_pending(w, rec, rules, q):
    """None of the reads of the fetch ``q`` is pending any longer."""
    owed = w[q + Q_PENDING] >> 1
    w[q + Q_PENDING] = 0
    t = w[q + Q_OWNER]
    n = w[q + Q_N]
    i = next_unset(owed, 0)
    while i < n:
        offset = w[w[q + Q_ENT] + i * E_SIZE + E_OFFSET]
        if offset >= 0:
            pay_candidate(w, rec, t, i)  # offsets are pending, whoever asked for them
            end_read(rules, rec, w[w[t + T_CAND] + i * K_SIZE + K_REC], offset)
        i = next_unset(owed, i + 1)


@apart
def pay_all(w, rec, rules):
    """Note what any fetch owes to any record."""
    if not counts_pending(rules):
        return
    for number in range(w[H_REQUESTS]):
        q = w[H_REQ] + number * Q_SIZE
        if w[q + Q_KIND] == REQ_FETCH:
            while w[q + Q_PENDING] > 1:
                _pay(w, rec, q, trailing_zeros(w[q + Q_PENDING] >> 1))
