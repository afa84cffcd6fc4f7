"""Producers and other clients: open-loop batches, one request a connection."""

from __future__ import annotations

from isr_pipeline.kafka.record import N_FIELDS
from isr_pipeline.simulation.handlers import dispatch, hand_in
from isr_pipeline.simulation.log import batch_at
from isr_pipeline.simulation.measures import row_index, row_of
from isr_pipeline.simulation.request_queue import enqueue
from isr_pipeline.simulation.world.cells import fetch_ahead
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
    E_SIZE,
    G_LAST_STREAM,
    G_NOW,
    H_AHEAD,
    H_ENT,
    H_FETCHED,
    H_MAX_RF,
    H_REC,
    H_TOWARDS,
    INF,
    K_SIZE,
    LINE,
    P_LEADER,
    P_LED_TAIL,
    P_RF,
    P_ROW0,
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
    R_SIZE,
    REQS_PER_STREAM,
    REQS_PER_THREAD,
    S_ACKS_ALL,
    S_AFTER,
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
    T_FETCHED,
    T_REQ0,
    Y_PLACE,
    Y_SIZE,
    Y_THREAD,
    Y_WORD,
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


@cold
def _fetch_ahead(w, s):
    """Let the processor fetch what the next streams will touch, in the order of the last time.

    A large world lies outside its caches, and what lies there is waited for line by line: first a
    stream's row, then its partition, then the leader's replica, then those who fetch from it.
    Streams mostly send in the same order again. So their rows are fetched four turns ahead, and
    what they name in the turns after.
    """
    last = w[G_LAST_STREAM]
    w[G_LAST_STREAM] = s
    if last > 0:
        w[last + S_AFTER] = s
    first = w[s + S_AFTER]
    second = w[first + S_AFTER]
    third = w[second + S_AFTER]
    fourth = w[third + S_AFTER]
    _fetch_requests(w, w[s + S_PART])
    _fetch_threads(w, w[first + S_PART])
    _fetch_replicas(w, w[second + S_PART])
    fetch_ahead(w, w[third + S_PART])
    fetch_ahead(w, w[third + S_PART] + LINE)
    fetch_ahead(w, w[third + S_REQ0])
    fetch_ahead(w, w[third + S_REQ0] + LINE)
    fetch_ahead(w, fourth)
    fetch_ahead(w, fourth + LINE)
    fetch_ahead(w, fourth + 2 * LINE)


@compiled
def _first_towards(w, p):
    """Row pointer of who fetches for the first replica of ``p`` from its leader; -1 if it has none.

    Reckoned, as the leader's row, which names it, may not be there yet.
    """
    if w[p + P_LEADER] < 0:
        return -1
    row = row_index(w, row_of(w, p, w[p + P_LEADER]))
    return w[H_TOWARDS] + row * w[H_MAX_RF] * Y_SIZE


@compiled
def _fetch_replicas(w, p):
    """Fetch the replicas of partition ``p``, who fetches from its leader, and its newest batch."""
    y = _first_towards(w, p)
    if y < 0:
        return
    for r in range(w[p + P_ROW0], w[p + P_ROW0] + w[p + P_RF] * R_SIZE, R_SIZE):
        fetch_ahead(w, r)
    r = row_of(w, p, w[p + P_LEADER])
    fetch_ahead(w, r + LINE)
    fetch_ahead(w, r + 2 * LINE)
    for cell in range(y, y + w[p + P_RF] * Y_SIZE, LINE):
        fetch_ahead(w, cell)
    fetch_ahead(w, batch_at(w, p, w[p + P_LED_TAIL]))


@compiled
def _fetch_threads(w, p):
    """Fetch the threads that fetch from the leader of partition ``p``, and its records of them."""
    y = _first_towards(w, p)
    if y < 0:
        return
    record = w[H_REC] + (y - w[H_TOWARDS]) // Y_SIZE * N_FIELDS
    for pos in range(w[p + P_RF]):
        if pos != w[p + P_LEADER]:
            t = w[y + Y_THREAD]
            fetch_ahead(w, t)
            fetch_ahead(w, t + LINE)
            fetch_ahead(w, w[y + Y_WORD])
            fetch_ahead(w, record)
        y += Y_SIZE
        record += N_FIELDS


@compiled
def _fetch_requests(w, p):
    """Fetch the requests in which followers ask for partition ``p``, and its entry in them."""
    y = _first_towards(w, p)
    if y < 0:
        return
    for pos in range(w[p + P_RF]):
        if pos != w[p + P_LEADER]:
            t = w[y + Y_THREAD]
            q = w[t + T_REQ0]
            fetch_ahead(w, q)
            fetch_ahead(w, q + LINE)
            fetched = (w[t + T_FETCHED] - w[H_FETCHED]) // K_SIZE
            entry = fetched * REQS_PER_THREAD + w[y + Y_PLACE]
            fetch_ahead(w, w[H_ENT] + entry * E_SIZE)
            fetch_ahead(w, w[t + T_FETCHED] + w[y + Y_PLACE] * K_SIZE)
        y += Y_SIZE


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
    if w[H_AHEAD] != 0:
        _fetch_ahead(w, s)
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
