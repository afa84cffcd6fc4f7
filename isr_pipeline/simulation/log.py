"""Logs: batches of a partition, leader epochs of a replica, what is committed and what is lost.

The *ledger* of a partition lists the batches on the log of the leader that the controller names,
oldest first. It is trimmed when every replica has them. A zombie leader's own appends move its LEO
only: they will be truncated, and no report counts them.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import Produce, produce_error, size_of
from isr_pipeline.simulation.measures import emit, note_latency
from isr_pipeline.simulation.shortcuts.depends import min_isr
from isr_pipeline.simulation.state import set_log_end
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.layout import (
    C_REQUEST_TIMEOUT,
    C_WARMUP,
    EPOCHS_MAX,
    EV_LOST,
    G_ACKED,
    G_LOST,
    G_NOW,
    G_UNCOMMITTED,
    H_LEDGER,
    L_ACKS_ALL,
    L_BYTES,
    L_END,
    L_SIZE,
    L_STATE,
    L_TIME,
    P_BYTES_PER_RECORD,
    P_LED_BASE,
    P_LED_CAP,
    P_LED_COARSE,
    P_LED_HEAD,
    P_LED_NEXT,
    P_LED_OFF0,
    P_LED_TAIL,
    P_RF,
    P_ROW0,
    P_WEIGHT,
    R_EPOCHS,
    R_GONE,
    R_LEO,
    R_NEP,
    R_NEWEST,
    R_SIZE,
)

_WAITING = int(Produce.WAITING)
_ENOUGH = int(Produce.NONE)


@compiled
def batch_at(w, p, i):
    """Pointer of batch ``i`` in the ledger of partition ``p``."""
    return w[H_LEDGER] + (w[p + P_LED_BASE] + i) * L_SIZE


@compiled
def _least_leo(w, p):
    """Least LEO of the replicas of partition ``p`` whose log still exists."""
    least = 1 << 60
    r = w[p + P_ROW0]
    for _ in range(w[p + P_RF]):
        if w[r + R_GONE] == 0:
            least = min(least, w[r + R_LEO])
        r += R_SIZE
    return least


@compiled
def _move(w, p, source, target, count):
    """Copy ``count`` batches of the ledger of ``p`` towards its beginning."""
    a = batch_at(w, p, source)
    b = batch_at(w, p, target)
    for k in range(L_SIZE * count):
        w[b + k] = w[a + k]


@compiled
def _join_pairs(w, p):
    """Join committed neighbours: totals stay exact, boundaries at which a loss may begin do not."""
    committed = w[p + P_LED_NEXT]
    tail = w[p + P_LED_TAIL]
    kept = 0
    for i in range(0, committed - 1, 2):
        a = batch_at(w, p, i)
        b = batch_at(w, p, i + 1)
        acked = w[a + L_ACKS_ALL] * (w[a + L_STATE] == 2) + w[b + L_ACKS_ALL] * (
            w[b + L_STATE] == 2
        )
        _move(w, p, i + 1, kept, 1)
        w[batch_at(w, p, kept) + L_ACKS_ALL] = acked
        w[batch_at(w, p, kept) + L_STATE] = 2
        kept += 1
    rest = committed & ~1
    _move(w, p, rest, kept, tail - rest)
    w[p + P_LED_NEXT] = committed - (rest - kept)
    w[p + P_LED_TAIL] = tail - (rest - kept)
    w[p + P_LED_COARSE] += 1


@compiled
def _give_up_oldest(w, p):
    """The ledger is full of open batches: the oldest counts as never committed."""
    e = batch_at(w, p, 0)
    if w[e + L_TIME] >= w[C_WARMUP]:
        note_latency(w, p, w[G_NOW] - w[e + L_TIME])
        w[G_UNCOMMITTED] += w[p + P_WEIGHT]
    w[p + P_LED_OFF0] = w[e + L_END]
    tail = w[p + P_LED_TAIL]
    _move(w, p, 1, 0, tail - 1)
    w[p + P_LED_TAIL] = tail - 1
    w[p + P_LED_NEXT] = max(0, w[p + P_LED_NEXT] - 1)


@compiled
def _make_room(w, p):
    """Drop batches that every replica has; if all are still needed, keep them less exactly."""
    head = w[p + P_LED_HEAD]
    least = _least_leo(w, p)
    while head < w[p + P_LED_NEXT] and w[batch_at(w, p, head) + L_END] <= least:
        w[p + P_LED_OFF0] = w[batch_at(w, p, head) + L_END]
        head += 1
    if head > 0:
        tail = w[p + P_LED_TAIL]
        _move(w, p, head, 0, tail - head)
        w[p + P_LED_HEAD] = 0
        w[p + P_LED_TAIL] = tail - head
        w[p + P_LED_NEXT] -= head
    elif w[p + P_LED_NEXT] >= 2:
        _join_pairs(w, p)
    else:
        _give_up_oldest(w, p)


@hot
def add_batch(w, p, end, size_bytes, acks_all_records):
    """Enter a batch whose last record is at ``end - 1`` into the ledger of partition ``p``."""
    head = w[p + P_LED_HEAD]
    tail = w[p + P_LED_TAIL]
    before = 0
    if tail > head:
        last = batch_at(w, p, tail - 1)
        before = w[last + L_BYTES]
        if w[p + P_LED_NEXT] == tail and w[last + L_END] <= _least_leo(w, p):
            w[p + P_LED_OFF0] = w[last + L_END]
            head = 0
            tail = 0
            w[p + P_LED_HEAD] = 0
            w[p + P_LED_NEXT] = 0
            before = 0
    if tail == w[p + P_LED_CAP]:
        w[p + P_LED_TAIL] = tail
        _make_room(w, p)
        tail = w[p + P_LED_TAIL]
    e = batch_at(w, p, tail)
    w[e + L_END] = end
    w[e + L_BYTES] = before + size_bytes
    w[e + L_TIME] = w[G_NOW]
    w[e + L_ACKS_ALL] = acks_all_records
    w[e + L_STATE] = 0
    w[p + P_LED_TAIL] = tail + 1


@compiled
def commit_up_to(w, rules, p, hw, isr):
    """Every batch of partition ``p`` that ends at or below ``hw`` is committed now.

    ``isr`` is the leader's maximal ISR: with fewer than min.insync.replicas in it an acks=all
    producer is told so, and the records count as not acknowledged.
    """
    i = w[p + P_LED_NEXT]
    tail = w[p + P_LED_TAIL]
    members = size_of(isr)
    fewest = min_isr(w, rules, p)
    while i < tail:
        e = batch_at(w, p, i)
        error = produce_error(w[e + L_END], hw, members, fewest)
        if error == _WAITING:
            break
        w[e + L_STATE] = 1
        waited = w[G_NOW] - w[e + L_TIME]
        if w[e + L_TIME] >= w[C_WARMUP]:
            note_latency(w, p, waited)
            if w[e + L_ACKS_ALL] > 0 and error == _ENOUGH and waited <= w[C_REQUEST_TIMEOUT]:
                w[e + L_STATE] = 2
                w[G_ACKED] += w[p + P_WEIGHT] * w[e + L_ACKS_ALL]
        i += 1
    w[p + P_LED_NEXT] = i


@compiled
def lose_from(w, p, leo, broker):
    """A leader of ``p`` is elected whose log ends at ``leo``: what lies behind is lost."""
    tail = w[p + P_LED_TAIL]
    lost = 0
    while tail > w[p + P_LED_HEAD]:
        e = batch_at(w, p, tail - 1)
        if w[e + L_END] <= leo:
            break
        if w[e + L_STATE] == 2:
            lost += w[e + L_ACKS_ALL]
        elif w[e + L_STATE] == 0 and w[e + L_TIME] >= w[C_WARMUP]:
            note_latency(w, p, w[G_NOW] - w[e + L_TIME])
            w[G_UNCOMMITTED] += w[p + P_WEIGHT]
        tail -= 1
    w[p + P_LED_TAIL] = tail
    w[p + P_LED_NEXT] = min(w[p + P_LED_NEXT], tail)
    if lost > 0:
        w[G_LOST] += w[p + P_WEIGHT] * lost
        emit(w, EV_LOST, p, broker, -1, lost)


@compiled
def close_ledgers(w, p):
    """At the horizon: what is still open counts with the latency it has reached."""
    for i in range(w[p + P_LED_NEXT], w[p + P_LED_TAIL]):
        e = batch_at(w, p, i)
        if w[e + L_TIME] >= w[C_WARMUP]:
            note_latency(w, p, w[G_NOW] - w[e + L_TIME])
            w[G_UNCOMMITTED] += w[p + P_WEIGHT]


@hot
def data_end(w, p, offset, leo, max_bytes):
    """Where a read of partition ``p`` from ``offset`` ends: (offset, bytes).

    Whole batches up to ``max_bytes``, the first always; never past ``leo``. Below the ledger, where
    batches are no longer known apart, records of the partition's usual size are counted.
    """
    if offset >= leo:
        return leo, 0
    head = w[p + P_LED_HEAD]
    tail = w[p + P_LED_TAIL]
    if tail == head or offset < w[p + P_LED_OFF0]:
        limit = min(leo, w[p + P_LED_OFF0]) if tail > head else leo
        size = w[p + P_BYTES_PER_RECORD]
        end = min(limit, offset + max(1, max_bytes // size))
        if end <= offset:
            end = leo
        return end, (end - offset) * size
    low = head
    high = tail - 1
    if low < high and w[batch_at(w, p, high - 1) + L_END] <= offset:
        low = high  # as a rule only the newest is new
    while low < high:  # first batch that ends behind offset
        middle = (low + high) >> 1
        if w[batch_at(w, p, middle) + L_END] > offset:
            high = middle
        else:
            low = middle + 1
    before = w[batch_at(w, p, low - 1) + L_BYTES] if low > head else _bytes_before_head(w, p)
    last = low
    while (
        last + 1 < tail
        and w[batch_at(w, p, last + 1) + L_END] <= leo
        and w[batch_at(w, p, last + 1) + L_BYTES] - before <= max_bytes
    ):
        last += 1
    end = w[batch_at(w, p, last) + L_END]
    if end <= offset or end > leo:
        return leo, (leo - offset) * w[p + P_BYTES_PER_RECORD]
    return end, w[batch_at(w, p, last) + L_BYTES] - before


@compiled
def _bytes_before_head(w, p):
    """Cumulative bytes at which the ledger's first batch begins."""
    if w[p + P_LED_HEAD] > 0:
        return w[batch_at(w, p, w[p + P_LED_HEAD] - 1) + L_BYTES]
    return 0


@compiled
def add_epoch(w, r, epoch, start):
    """The log of ``r`` has records of ``epoch`` from ``start`` on; the oldest may drop out."""
    base = w[r + R_EPOCHS]
    n = w[r + R_NEP]
    while n > 0 and w[base + 2 * (n - 1) + 1] >= start and w[base + 2 * (n - 1)] < epoch:
        n -= 1  # an epoch without a record leaves no trace
    if n == EPOCHS_MAX:
        for i in range(2, 2 * n):
            w[base + i - 2] = w[base + i]
        n -= 1
    w[base + 2 * n] = epoch
    w[base + 2 * n + 1] = start
    w[r + R_NEP] = n + 1
    w[r + R_NEWEST] = epoch


@compiled
def copy_epochs(w, source, target):
    """The follower ``target`` has appended what it read from ``source``: epochs come along."""
    newest = w[target + R_NEWEST]
    if w[source + R_NEWEST] <= newest:
        return
    base = w[source + R_EPOCHS]
    for i in range(w[source + R_NEP]):
        if w[base + 2 * i] > newest and w[base + 2 * i + 1] < w[target + R_LEO]:
            add_epoch(w, target, w[base + 2 * i], w[base + 2 * i + 1])


@compiled
def cut_log(w, r, leo):
    """Truncate the log of ``r`` to ``leo``."""
    set_log_end(w, r, min(w[r + R_LEO], leo))
    base = w[r + R_EPOCHS]
    n = w[r + R_NEP]
    while n > 1 and w[base + 2 * (n - 1) + 1] >= w[r + R_LEO]:
        n -= 1
    w[r + R_NEP] = n
    w[r + R_NEWEST] = w[base + 2 * (n - 1)]


@compiled
def common_end(w, follower, leader):
    """Offset up to which the logs of two replicas are the same (KIP-101, KIP-279, KIP-595).

    The newest epoch that both have decides: the logs agree up to where the first of them leaves it.
    """
    fb = w[follower + R_EPOCHS]
    lb = w[leader + R_EPOCHS]
    i = w[follower + R_NEP] - 1
    j = w[leader + R_NEP] - 1
    while i >= 0 and j >= 0:
        if w[fb + 2 * i] == w[lb + 2 * j]:
            f_end = w[follower + R_LEO] if i == w[follower + R_NEP] - 1 else w[fb + 2 * i + 3]
            l_end = w[leader + R_LEO] if j == w[leader + R_NEP] - 1 else w[lb + 2 * j + 3]
            return min(f_end, l_end)
        if w[fb + 2 * i] > w[lb + 2 * j]:
            i -= 1
        else:
            j -= 1
    return min(w[follower + R_LEO], w[leader + R_LEO])
