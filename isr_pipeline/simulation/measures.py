"""What is counted while the world runs: events, time integrals, latencies.

A partition's conditions (offline, under min ISR, ...) hold as flags since a moment; whoever changes
something that a flag depends on calls `refresh`, which books the time until now and sets the flags
anew. Everything is counted after the warm-up; events are listed from 0.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import size_of
from isr_pipeline.simulation.shortcuts.depends import min_isr, note_isr
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_INDEX,
    B_LAG,
    B_PAUSED_UNTIL,
    B_UP,
    C_EVENTS_MAX,
    C_REQUEST_TIMEOUT,
    C_WARMUP,
    EV_UNDER_MIN_END,
    EV_UNDER_MIN_START,
    FLAG_OFFLINE,
    FLAG_UNAVAILABLE,
    FLAG_UNDER_MIN,
    FLAG_UNDER_REPLICATED,
    G_DEAD,
    G_DEAD_MAX,
    G_DETECTION_DELAY,
    G_EVENT_COUNT,
    G_EVENTS_DROPPED,
    G_FAILED,
    G_FAILED_MAX,
    G_FAILED_SINCE,
    G_FAILED_TIME,
    G_LATENCY_BATCHES,
    G_LATENCY_MAX,
    G_NOW,
    G_UNAVAILABLE,
    G_UNTRACKED,
    G_UNTRACKED_SINCE,
    G_UNTRACKED_TIME,
    H_EVENTS,
    H_FAULTS,
    H_FLT,
    H_FPART,
    H_HIST,
    H_PART,
    H_PARTITIONS,
    H_ROW,
    HIST_SIZE,
    HIST_SUB_BITS,
    INF,
    P_FLAGS,
    P_ISR,
    P_LAST_LEADER,
    P_LEADER,
    P_LEPOCH,
    P_RF,
    P_ROW0,
    P_SINCE,
    P_SIZE,
    P_STAND_BASE,
    P_STAND_SINCE,
    P_T_OFFLINE,
    P_T_UNAVAILABLE,
    P_T_UNDER_MIN,
    P_T_UNDER_REPLICATED,
    P_WATCHED,
    P_WEIGHT,
    R_BROKER,
    R_DIR,
    R_LEO,
    R_ML_ARMED,
    R_ML_SINCE,
    R_ONLINE,
    R_PART,
    R_POS,
    R_SIZE,
    R_TOUCH_FROM,
    TOUCH_APPEND,
    TOUCH_LINK,
    TOUCH_LOG_DIR,
    TOUCH_PROCESS,
    V_BROKER,
    V_DECIDED,
    V_ISR,
    V_KIND,
    V_LEADER,
    V_LEPOCH,
    V_MASK,
    V_PART,
    V_SIZE,
    V_TIME,
    X_ALL_PARTS,
    X_BROKER,
    X_DIR,
    X_FROM,
    X_SIZE,
    X_START,
    X_STATE,
    X_TO,
    X_TOUCHES,
)


@compiled
def broker_index(w, b):
    """Index of the broker whose row pointer is ``b``; -1 for none."""
    if b < 0:
        return -1
    return w[b + B_INDEX]


@compiled
def row_of(w, p, pos):
    """Row pointer of the replica at position ``pos`` of partition ``p``."""
    return w[p + P_ROW0] + pos * R_SIZE


@compiled
def weight_of(w, r):
    """How many partitions the partition of replica ``r`` stands for."""
    return w[w[r + R_PART] + P_WEIGHT]


@compiled
def row_index(w, r):
    """Index of the replica whose row pointer is ``r``."""
    return (r - w[H_ROW]) // R_SIZE


@compiled
def emit(w, kind, p, broker, decided, mask):
    """List an event of partition ``p`` (row pointer, -1 none) now; returns its pointer or -1.

    Leader, epoch and ISR are those the controller has committed. Past the list's size events are
    counted, not listed.
    """
    n = w[G_EVENT_COUNT]
    if n >= w[C_EVENTS_MAX]:
        w[G_EVENTS_DROPPED] += 1
        return -1
    w[G_EVENT_COUNT] = n + 1
    e = w[H_EVENTS] + n * V_SIZE
    w[e + V_TIME] = w[G_NOW]
    w[e + V_KIND] = kind
    w[e + V_BROKER] = broker
    w[e + V_DECIDED] = decided
    w[e + V_MASK] = mask
    if p < 0:
        w[e + V_PART] = -1
        w[e + V_LEADER] = -1
        w[e + V_LEPOCH] = -1
        w[e + V_ISR] = 0
    else:
        w[e + V_PART] = (p - w[H_PART]) // P_SIZE
        w[e + V_LEADER] = w[p + P_LEADER]
        w[e + V_LEPOCH] = w[p + P_LEPOCH]
        w[e + V_ISR] = w[p + P_ISR]
    return e


@compiled
def _since(w, begin):
    """Time from ``begin`` to now, as far as it lies after the warm-up."""
    start = max(begin, w[C_WARMUP])
    return max(0, w[G_NOW] - start)


@compiled
def book(w, p):
    """Add the time since the flags of partition ``p`` were set to its totals."""
    passed = _since(w, w[p + P_SINCE])
    w[p + P_SINCE] = w[G_NOW]
    if passed == 0:
        return
    flags = w[p + P_FLAGS]
    if flags & FLAG_OFFLINE:
        w[p + P_T_OFFLINE] += passed
    if flags & FLAG_UNDER_MIN:
        w[p + P_T_UNDER_MIN] += passed
    if flags & FLAG_UNDER_REPLICATED:
        w[p + P_T_UNDER_REPLICATED] += passed
    if flags & FLAG_UNAVAILABLE:
        w[p + P_T_UNAVAILABLE] += passed


@compiled
def refresh(w, rules, p):
    """Set the flags of partition ``p`` anew, after its leader, its ISR or a broker changed."""
    book(w, p)
    note_isr(w, p, w[p + P_ISR])
    leader = w[p + P_LEADER]
    members = size_of(w[p + P_ISR])
    fewest = min_isr(w, rules, p)
    before = w[p + P_FLAGS]
    flags = 0
    if leader < 0:
        flags = FLAG_OFFLINE | FLAG_UNAVAILABLE
    else:
        r = row_of(w, p, leader)
        b = w[r + R_BROKER]
        if members < fewest:
            flags |= FLAG_UNDER_MIN | FLAG_UNAVAILABLE
        if members < w[p + P_RF]:
            flags |= FLAG_UNDER_REPLICATED
        if w[b + B_UP] == 0 or w[b + B_PAUSED_UNTIL] > w[G_NOW] or w[r + R_ONLINE] == 0:
            flags |= FLAG_UNAVAILABLE
    w[p + P_FLAGS] = flags
    if (flags ^ before) & FLAG_UNDER_MIN:
        kind = EV_UNDER_MIN_START if flags & FLAG_UNDER_MIN else EV_UNDER_MIN_END
        emit(w, kind, p, -1, -1, 0)


@compiled
def _unavailable_so_far(w, p):
    """Booked unavailable time of partition ``p``, up to now."""
    total = w[p + P_T_UNAVAILABLE]
    if w[p + P_FLAGS] & FLAG_UNAVAILABLE:
        total += _since(w, w[p + P_SINCE])
    return total


@compiled
def hw_stands(w, p):
    """The HW of partition ``p`` is below the LEO from now on."""
    if w[p + P_STAND_SINCE] < 0:
        w[p + P_STAND_SINCE] = w[G_NOW]
        w[p + P_STAND_BASE] = _unavailable_so_far(w, p)


@compiled
def hw_moved(w, p, still_below):
    """The HW of partition ``p`` has moved: a standstill of request.timeout.ms counts as a whole."""
    since = w[p + P_STAND_SINCE]
    if since >= 0:
        if w[G_NOW] - since >= w[C_REQUEST_TIMEOUT]:
            other = _unavailable_so_far(w, p) - w[p + P_STAND_BASE]
            w[G_UNAVAILABLE] += w[p + P_WEIGHT] * max(0, _since(w, since) - other)
        w[p + P_STAND_SINCE] = -1
    if still_below:
        hw_stands(w, p)


@compiled
def note_latency(w, p, latency):
    """Put the commit latency (microseconds) of a batch of ``p`` into the histogram."""
    v = max(0, latency)
    batches = w[p + P_WEIGHT]
    w[G_LATENCY_MAX] = max(w[G_LATENCY_MAX], v)
    w[G_LATENCY_BATCHES] += batches
    shift = 0
    while (v >> shift) >= (2 << HIST_SUB_BITS):
        shift += 1
    index = (shift << HIST_SUB_BITS) + (v >> shift)
    w[w[H_HIST] + min(index, HIST_SIZE - 1)] += batches


@compiled
def count_failed(w, change):
    """So many partitions more (or less) are marked failed by a fetcher."""
    w[G_FAILED_TIME] += w[G_FAILED] * _since(w, w[G_FAILED_SINCE])
    w[G_FAILED_SINCE] = w[G_NOW]
    before = w[G_FAILED]
    w[G_FAILED] += change
    if w[G_NOW] >= w[C_WARMUP]:
        w[G_FAILED_MAX] = max(w[G_FAILED_MAX], max(before, w[G_FAILED]))


@compiled
def count_dead(w, change):
    """One fetcher thread more (or less) is dead."""
    before = w[G_DEAD]
    w[G_DEAD] += change
    if w[G_NOW] >= w[C_WARMUP]:
        w[G_DEAD_MAX] = max(w[G_DEAD_MAX], max(before, w[G_DEAD]))


@compiled
def count_untracked(w, change):
    """So many replicas more (or less) lie on dead threads."""
    w[G_UNTRACKED_TIME] += w[G_UNTRACKED] * _since(w, w[G_UNTRACKED_SINCE])
    w[G_UNTRACKED_SINCE] = w[G_NOW]
    w[G_UNTRACKED] += change


@compiled
def watch_detection_delay(w, r):
    """Book the time in which the faulty follower ``r`` should have been out of the ISR already.

    It counts from R_ML_ARMED (fault start + replica.lag.time.max.ms) on, while the replica is in
    the committed ISR and behind its leader's LEO.
    """
    if w[r + R_ML_SINCE] >= 0:
        begin = max(w[r + R_ML_SINCE], w[r + R_ML_ARMED])
        if w[G_NOW] > begin:
            w[G_DETECTION_DELAY] += weight_of(w, r) * _since(w, begin)
        w[r + R_ML_SINCE] = -1
    if w[r + R_ML_ARMED] == INF:
        return
    p = w[r + R_PART]
    leader = w[p + P_LEADER]
    if leader < 0 or leader == w[r + R_POS]:
        return
    member = (w[p + P_ISR] >> w[r + R_POS]) & 1
    if member and w[r + R_LEO] < w[row_of(w, p, leader) + R_LEO]:
        w[r + R_ML_SINCE] = w[G_NOW]


@compiled
def touches(w, fault, r, leader_broker, named):
    """Whether a fault touches the follower ``r``, or its link to its leader.

    Args:
        w: the world.
        fault: its number.
        r: row pointer of the follower.
        leader_broker: row pointer of the leader's broker, -1 without a leader.
        named: TOUCH_ bits of those kinds that count for the partitions that they name.
    """
    x = w[H_FLT] + fault * X_SIZE
    kinds = w[x + X_TOUCHES]
    b = w[r + R_BROKER]
    if kinds & TOUCH_LINK:
        if leader_broker < 0:
            return False
        here = broker_index(w, b)
        there = broker_index(w, leader_broker)
        return (w[x + X_FROM] == here and w[x + X_TO] == there) or (
            w[x + X_FROM] == there and w[x + X_TO] == here
        )
    if w[x + X_BROKER] != b:
        return False
    if kinds & TOUCH_LOG_DIR:
        return w[x + X_DIR] == w[r + R_DIR]
    if kinds & named:
        p_index = (w[r + R_PART] - w[H_PART]) // P_SIZE
        is_named = w[w[H_FPART] + fault * w[H_PARTITIONS] + p_index] == 1
        return w[x + X_ALL_PARTS] == 1 or is_named
    return kinds & TOUCH_PROCESS != 0


@compiled
def _fault_since(w, r):
    """Start of the earliest fault that touches the follower ``r`` now: INF if none does."""
    p = w[r + R_PART]
    leader = w[p + P_LEADER]
    leader_broker = w[row_of(w, p, leader) + R_BROKER] if leader >= 0 else -1
    since = w[r + R_TOUCH_FROM]
    for i in range(w[H_FAULTS]):
        x = w[H_FLT] + i * X_SIZE
        running = w[x + X_STATE] in (1, 2)
        if running and w[x + X_START] < since and touches(w, i, r, leader_broker, TOUCH_APPEND):
            since = w[x + X_START]
    return since


@compiled
def _lag_limit(w, p):
    """replica.lag.time.max.ms of the leader of partition ``p``: of the last one, if it has none."""
    leader = w[p + P_LEADER] if w[p + P_LEADER] >= 0 else w[p + P_LAST_LEADER]
    return w[w[row_of(w, p, leader) + R_BROKER] + B_LAG]


@compiled
def rearm(w, r):
    """A fault of the replica ``r``, or its leader, has changed: when is it overdue?

    Its detection is overdue from the fault's start + the leader's replica.lag.time.max.ms on.
    """
    watch_detection_delay(w, r)
    since = _fault_since(w, r)
    armed = INF if since == INF else since + _lag_limit(w, w[r + R_PART])
    if (armed == INF) != (w[r + R_ML_ARMED] == INF):
        w[w[r + R_PART] + P_WATCHED] += -1 if armed == INF else 1
    w[r + R_ML_ARMED] = armed
    w[r + R_ML_SINCE] = -1
    watch_detection_delay(w, r)


@compiled
def touch(w, r):
    """A fault of a moment hits the replica ``r``; it shows until the next successful append."""
    if w[r + R_TOUCH_FROM] == INF:
        w[r + R_TOUCH_FROM] = w[G_NOW]
    rearm(w, r)
