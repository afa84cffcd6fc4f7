"""Producers and other clients: open-loop batches, one request a connection."""

from __future__ import annotations

from isr_pipeline.simulation.handlers import dispatch, hand_in
from isr_pipeline.simulation.measures import row_of
from isr_pipeline.simulation.request_queue import enqueue
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.layout import (
    B_CLIENT_K,
    B_CLIENT_NEXT,
    B_CLIENT_PERIOD_REST_NS,
    B_CLIENT_PERIOD_US,
    B_CLIENT_REST_NS,
    B_PAUSED_UNTIL,
    B_SLOT_CLIENT,
    B_SLOT_SURGE,
    B_SURGE_CONNS,
    B_SURGE_GATHERED,
    B_SURGE_K,
    B_SURGE_NEXT,
    B_SURGE_OUT,
    B_SURGE_PERIOD,
    B_UP,
    C_HALF_RTT,
    C_REQUEST_TIMEOUT,
    G_NOW,
    INF,
    P_LEADER,
    Q_ABANDONED,
    Q_ACKS_ALL,
    Q_BROKER,
    Q_BYTES,
    Q_ERR,
    Q_RECORDS,
    Q_ROW,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QE_CLIENT,
    QE_SURGE,
    QS_FREE,
    QS_TO_BROKER,
    R_BROKER,
    REQS_PER_STREAM,
    S_ACKS_ALL,
    S_BASE,
    S_BATCH,
    S_GATHERED,
    S_K,
    S_MOST,
    S_NEXT,
    S_PART,
    S_PERIOD,
    S_RATE,
    S_RECORD_BYTES,
    S_REQ,
    S_REQ0,
    S_RETRY_AT,
    S_SLOT,
    S_STOP,
)
from isr_pipeline.simulation.world.queue import again, cancel, retire, schedule

RETRY_US = 100_000  # a refused or timed-out producer tries the then leader after this long
MILLION = 1_000_000


@compiled
def _count_batches(w, s):
    """Gather the batches that have come by now; plan the next one.

    Batch k comes at base + floor(k * period): exact, also for periods of no whole microseconds.
    """
    now = w[G_NOW]
    while w[s + S_NEXT] <= now:
        w[s + S_GATHERED] += w[s + S_BATCH]
        w[s + S_K] += 1
        if w[s + S_RATE] == 0:
            w[s + S_NEXT] = INF
            return
        step = w[s + S_K] * w[s + S_PERIOD] // 1000
        w[s + S_NEXT] = w[s + S_BASE] + step
        if w[s + S_NEXT] >= w[s + S_STOP]:
            w[s + S_NEXT] = INF


@compiled
def change_rate(w, s, factor):
    """Let the stream go at ``factor`` millionths of its rate from its next batch on."""
    before = w[s + S_RATE]
    if before == factor or (w[s + S_NEXT] == INF and before != 0):
        w[s + S_RATE] = factor
        return
    now = w[G_NOW]
    old_period = w[s + S_PERIOD]
    natural = old_period * before // MILLION if before > 0 else old_period
    w[s + S_RATE] = factor
    if factor == 0:
        w[s + S_NEXT] = INF
        w[s + S_PERIOD] = natural
        return
    w[s + S_PERIOD] = max(1000, natural * MILLION // factor)
    remaining = w[s + S_NEXT] - now
    if before == 0 or remaining < 0:
        remaining = w[s + S_PERIOD] // 1000
    else:
        remaining = min(remaining * before // factor, w[s + S_PERIOD] // 1000)
    w[s + S_BASE] = now + remaining
    w[s + S_K] = 0
    w[s + S_NEXT] = w[s + S_BASE] if w[s + S_BASE] < w[s + S_STOP] else INF
    if w[s + S_REQ] < 0:
        schedule(
            w,
            w[s + S_SLOT],
            min(w[s + S_NEXT], max(now, w[s + S_RETRY_AT]) if w[s + S_GATHERED] > 0 else INF),
        )


@compiled
def _idle_until(w, s):
    """Nothing to send: sleep until the next batch."""
    if w[s + S_NEXT] < INF:
        schedule(w, w[s + S_SLOT], w[s + S_NEXT])
    else:
        cancel(w, w[s + S_SLOT])


@compiled
def _send(w, s):
    """Send what has gathered to the leader that the metadata name; one request is out then."""
    p = w[s + S_PART]
    now = w[G_NOW]
    leader = w[p + P_LEADER]
    q = -1
    for j in range(REQS_PER_STREAM):
        free = w[s + S_REQ0] + j * Q_SIZE
        if w[free + Q_STATE] == QS_FREE:
            q = free
            break
    if leader < 0 or q < 0:
        w[s + S_RETRY_AT] = now + RETRY_US
        schedule(w, w[s + S_SLOT], now + RETRY_US)
        return
    records = min(w[s + S_GATHERED], w[s + S_MOST])
    w[s + S_GATHERED] -= records
    r = row_of(w, p, leader)
    w[q + Q_STATE] = QS_TO_BROKER
    w[q + Q_BROKER] = w[r + R_BROKER]
    w[q + Q_ROW] = r
    w[q + Q_RECORDS] = records
    w[q + Q_BYTES] = records * w[s + S_RECORD_BYTES]
    w[q + Q_ACKS_ALL] = w[s + S_ACKS_ALL]
    w[q + Q_ABANDONED] = 0
    w[q + Q_ERR] = 0
    schedule(w, w[q + Q_SLOT], now + w[C_HALF_RTT])
    w[s + S_REQ] = q
    schedule(w, w[s + S_SLOT], now + w[C_REQUEST_TIMEOUT])


@compiled
def stream_fires(w, s):
    """A produce stream's own moment: a batch comes, a pause is over, a request timed out."""
    now = w[G_NOW]
    _count_batches(w, s)
    if w[s + S_REQ] >= 0:
        # request.timeout.ms is over: its records are given up
        w[w[s + S_REQ] + Q_ABANDONED] = 1
        w[s + S_REQ] = -1
        w[s + S_RETRY_AT] = now + RETRY_US
        schedule(w, w[s + S_SLOT], now + RETRY_US)
        return
    if w[s + S_GATHERED] == 0:
        _idle_until(w, s)
    elif w[s + S_RETRY_AT] > now:
        schedule(w, w[s + S_SLOT], w[s + S_RETRY_AT])
    else:
        _send(w, s)


@compiled
def produce_answered(w, s, q):
    """The answer to a produce request reaches its producer."""
    w[q + Q_STATE] = QS_FREE
    _take_answer(w, s, q)
    if w[q + Q_STATE] == QS_FREE:  # it has not been sent again at once
        retire(w, w[q + Q_SLOT])


@compiled
def _take_answer(w, s, q):
    """The producer goes on, unless it has given the request up."""
    now = w[G_NOW]
    if w[s + S_REQ] != q:
        return
    w[s + S_REQ] = -1
    _count_batches(w, s)
    if w[q + Q_ERR] != 0:
        w[s + S_RETRY_AT] = now + RETRY_US
        schedule(w, w[s + S_SLOT], now + RETRY_US)
        return
    if w[s + S_GATHERED] > 0:
        _send(w, s)
    else:
        _idle_until(w, s)


@compiled
def client_fires(w, rec, rules, b):
    """A client request besides produce arrives at broker ``b``."""
    now = w[G_NOW]
    if w[b + B_PAUSED_UNTIL] > now:
        # packets wait: those of the whole pause arrive together
        schedule(w, w[b + B_SLOT_CLIENT], w[b + B_PAUSED_UNTIL])
        return
    come = 0
    while w[b + B_CLIENT_NEXT] <= now:
        come += 1
        w[b + B_CLIENT_K] += 1
        w[b + B_CLIENT_NEXT] += w[b + B_CLIENT_PERIOD_US]
        w[b + B_CLIENT_REST_NS] += w[b + B_CLIENT_PERIOD_REST_NS]
        if w[b + B_CLIENT_REST_NS] >= 1000:
            w[b + B_CLIENT_REST_NS] -= 1000
            w[b + B_CLIENT_NEXT] += 1
    again(w, w[b + B_SLOT_CLIENT], w[b + B_CLIENT_NEXT])
    if w[b + B_UP] == 0:
        return
    if come == 1:
        hand_in(w, rec, rules, b, QE_CLIENT)
        return
    for _ in range(come):
        enqueue(w, b, QE_CLIENT)
    dispatch(w, rec, rules, b)


@compiled
def _step(k, period_ns):
    """Microseconds between event k - 1 and event k of a period in nanoseconds."""
    return k * period_ns // 1000 - (k - 1) * period_ns // 1000


@cold
def surge_fires(w, rec, rules, b):
    """Requests of a client surge come to broker ``b``: one at a time on each connection."""
    now = w[G_NOW]
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[b + B_SLOT_SURGE], w[b + B_PAUSED_UNTIL])
        return
    if w[b + B_SURGE_PERIOD] > 0:
        while w[b + B_SURGE_NEXT] <= now:
            w[b + B_SURGE_GATHERED] += 1
            w[b + B_SURGE_K] += 1
            w[b + B_SURGE_NEXT] += _step(w[b + B_SURGE_K], w[b + B_SURGE_PERIOD])
    else:
        w[b + B_SURGE_GATHERED] = 0
        w[b + B_SURGE_NEXT] = INF
    if w[b + B_UP] == 0:
        w[b + B_SURGE_GATHERED] = 0
    while w[b + B_SURGE_GATHERED] > 0 and w[b + B_SURGE_OUT] < w[b + B_SURGE_CONNS]:
        w[b + B_SURGE_GATHERED] -= 1
        w[b + B_SURGE_OUT] += 1
        enqueue(w, b, QE_SURGE)
    if w[b + B_SURGE_NEXT] < INF:
        schedule(w, w[b + B_SLOT_SURGE], w[b + B_SURGE_NEXT])
    else:
        cancel(w, w[b + B_SLOT_SURGE])
    dispatch(w, rec, rules, b)
