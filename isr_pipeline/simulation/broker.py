"""Requests on a broker: FIFO queue, handlers, reads, purgatory.

A handler's work is a small state machine, one step a firing of its slot. A fetch reads its
partitions in request order; only those with data take time. A fetch that finds nothing waits in
purgatory, and is completed by *the thread that appends*: that thread reads the log again.
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import counts_pending, should_resign
from isr_pipeline.kafka.partition import append_refused, effective_min_isr, size_of
from isr_pipeline.kafka.record import LEO
from isr_pipeline.kafka.releases import (
    ASYNC_ISR,
    CLOCK,
    ISR_LOCK,
    KIP501,
    LOG_END_EXEMPT,
    RECORD_PER_PARTITION,
    Clock,
    Kip501,
    Lock,
)
from isr_pipeline.kafka.replica import on_failed_read, on_fetch, on_fetch_again
from isr_pipeline.simulation.leader import (
    LOCK_FREE,
    LOCK_HELD,
    PENDING_EXPAND,
    append_must_wait,
    begin_locked_read,
    finish_sync_write,
    leads_officially,
    propose,
    raise_hw,
    read_must_wait,
    release_read,
    resign,
    submit,
    sync_write_end,
    wake_lock_waiters,
    wants_expand,
    watch_followers,
)
from isr_pipeline.simulation.log import add_batch, common_end, data_end
from isr_pipeline.simulation.network import (
    READ_COMPLETION,
    READ_DIRECT,
    read_end,
    service,
)
from isr_pipeline.simulation.responses import push_response, respond, start_senders
from isr_pipeline.simulation.shortcuts.depends import note, note_read
from isr_pipeline.simulation.shortcuts.news import (
    candidate,
    is_kept,
    is_plain,
    is_settled,
    next_news,
    next_unset,
    settled,
    tell_followers,
    thread_of,
    unsettle,
)
from isr_pipeline.simulation.shortcuts.pending import forget_pending, note_pending, pay_candidate
from isr_pipeline.simulation.world.jit import apart, compiled, inlined
from isr_pipeline.simulation.world.layout import (
    B_DIR_BAD_BASE,
    B_FAULTS_ON,
    B_HANDLERS,
    B_IO_IDLE,
    B_PAUSED_UNTIL,
    B_QBASE,
    B_QCAP,
    B_QHEAD,
    B_QLEN,
    B_QTAIL,
    B_SLOT_DIR,
    B_SURGE_COST,
    B_UP,
    C_CLIENT,
    C_FETCH_MAX_BYTES,
    C_FETCH_MIN_BYTES,
    C_FETCH_WAIT,
    C_HALF_RTT,
    C_MIN_ISR,
    C_PRODUCE,
    C_RESPONSE_MAX_BYTES,
    C_S2_COOLDOWN,
    C_S2_LIMIT,
    D_AGAIN,
    D_BROKER,
    D_CREQ,
    D_END,
    D_IDX,
    D_POS,
    D_REQ,
    D_ROW,
    D_S2,
    D_SINCE,
    D_SIZE,
    D_SLOT,
    D_STATE,
    DEP_COOLDOWN,
    DS_CLIENT,
    DS_COMPLETE,
    DS_COMPLETE_LOCK,
    DS_EXPAND,
    DS_FETCH,
    DS_FETCH_AFTER,
    DS_FETCH_LOCK,
    DS_IDLE,
    DS_PRODUCE,
    DS_PRODUCE_LOCK,
    DS_RECORD_LOCK,
    DS_SURGE,
    E_BIT,
    E_END,
    E_EPOCH,
    E_ERR,
    E_HW,
    E_LLEO,
    E_OFFSET,
    E_SIZE,
    E_TIME,
    ERR_CONNECTION,
    ERR_DIVERGING,
    ERR_FENCED_EPOCH,
    ERR_NONE,
    ERR_NOT_ENOUGH,
    ERR_NOT_LEADER,
    ERR_STORAGE,
    ERR_UNKNOWN_EPOCH,
    G_NOW,
    H_QUEUE,
    INF,
    K_FROW,
    K_LROW,
    K_REC,
    K_SIZE,
    NEVER,
    P_ELIGIBLE,
    P_RF,
    P_S2_LAST,
    Q_ABANDONED,
    Q_ACKS_ALL,
    Q_BROKER,
    Q_BYTES,
    Q_DATA,
    Q_DEADLINE,
    Q_END,
    Q_ENT,
    Q_ERR,
    Q_IDX,
    Q_KIND,
    Q_N,
    Q_NOT_BEFORE,
    Q_OWNER,
    Q_PENDING,
    Q_READ_ROW,
    Q_RECORDS,
    Q_ROW,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QE_CLIENT,
    QE_SURGE,
    QS_COMPLETING,
    QS_EXPIRING,
    QS_HANDLING,
    QS_PURGATORY,
    QS_QUEUED,
    QS_TO_OWNER,
    QS_WAIT_HW,
    R_BROKER,
    R_DIR,
    R_EPOCH,
    R_HW,
    R_IS_LEADER,
    R_ISR,
    R_LEO,
    R_NEED_TRUNC,
    R_ONLINE,
    R_PART,
    R_POS,
    R_WRITER,
    REQ_FETCH,
    REQS_PER_THREAD,
    SEND_CLIENT,
    SEND_SURGE,
    T_CAND,
    T_REQ,
    T_REQ0,
    T_SETTLED,
)
from isr_pipeline.simulation.world.queue import cancel, due, retire, schedule, wrapped

LOG_DIR_NOTICE_US = 50_000  # from the failed append to the controller's change
EXPIRY_RETRY_US = 1_000

PHASE_READ = 0
PHASE_RECORD = 1

_LOCK_COMPLETION = int(Lock.COMPLETION)
_LOCK_RW_ALWAYS = int(Lock.RW_ALWAYS)
_S1_PR = int(Kip501.S1_PR)
_S2 = int(Kip501.S2)
_ANY_FETCH = int(Clock.ANY_FETCH)
_FETCH_TIME = int(Clock.FETCH_TIME)


# ------------------------------------------------------------------ queue


@compiled
def _ring(w, b, i):
    """Pointer of ring cell ``i`` of broker ``b``: (code, how many like it in a row)."""
    return w[H_QUEUE] + 2 * (w[b + B_QBASE] + i)


@compiled
def enqueue(w, b, code):
    """Put a request (its row pointer, QE_CLIENT or QE_SURGE) behind the queue of broker ``b``.

    Client requests in a row share a cell. Past queued.max.requests the requests wait with the
    network threads, in the same order.
    """
    w[b + B_QLEN] += 1
    if code >= 0:
        w[code + Q_STATE] = QS_QUEUED
    head = w[b + B_QHEAD]
    tail = w[b + B_QTAIL]
    if code < 0 and head != tail:
        last = _ring(w, b, (tail if tail > 0 else w[b + B_QCAP]) - 1)
        if w[last] == code:
            w[last + 1] += 1
            return
    cell = _ring(w, b, tail)
    w[cell] = code
    w[cell + 1] = 1
    w[b + B_QTAIL] = wrapped(tail + 1, w[b + B_QCAP])


@compiled
def _dequeue(w, b):
    """Take the oldest request from the queue of broker ``b``."""
    head = w[b + B_QHEAD]
    cell = _ring(w, b, head)
    code = w[cell]
    w[cell + 1] -= 1
    if w[cell + 1] == 0:
        w[b + B_QHEAD] = wrapped(head + 1, w[b + B_QCAP])
    w[b + B_QLEN] -= 1
    return code


@compiled
def dispatch(w, rec, rules, b):
    """Give waiting requests to idle handlers."""
    while w[b + B_QLEN] > 0 and _can_take(w, b):
        _take(w, rec, rules, b, _dequeue(w, b))
        start_senders(w, b)


@compiled
def _can_take(w, b):
    """Whether a handler of broker ``b`` can begin to work on a request now."""
    return w[b + B_IO_IDLE] > 0 and w[b + B_UP] == 1 and w[b + B_PAUSED_UNTIL] <= w[G_NOW]


@compiled
def hand_in(w, rec, rules, b, code):
    """A request (as for `enqueue`) arrives alone: without a queue an idle handler takes it."""
    if w[b + B_QLEN] == 0 and _can_take(w, b):
        _take(w, rec, rules, b, code)
    else:
        enqueue(w, b, code)
        dispatch(w, rec, rules, b)


@compiled
def _take(w, rec, rules, b, code):
    """The first idle handler of broker ``b`` takes a request."""
    d = w[b + B_HANDLERS]
    while w[d + D_STATE] != DS_IDLE:
        d += D_SIZE
    w[b + B_IO_IDLE] -= 1
    _begin(w, rec, rules, b, d, code)


@compiled
def _begin(w, rec, rules, b, d, code):
    """Handler ``d`` begins to work on a request."""
    now = w[G_NOW]
    w[d + D_REQ] = code
    w[d + D_CREQ] = -1
    w[d + D_ROW] = -1
    w[d + D_S2] = 0
    if code == QE_CLIENT:
        w[d + D_STATE] = DS_CLIENT
        schedule(w, w[d + D_SLOT], now + service(w, b, w[C_CLIENT]))
        return
    if code == QE_SURGE:
        w[d + D_STATE] = DS_SURGE
        schedule(w, w[d + D_SLOT], now + service(w, b, w[b + B_SURGE_COST]))
        return
    q = code
    w[q + Q_STATE] = QS_HANDLING
    if w[q + Q_KIND] == REQ_FETCH:
        w[d + D_STATE] = DS_FETCH
        w[d + D_IDX] = 0
        w[d + D_AGAIN] = PHASE_READ
        w[q + Q_BYTES] = 0
        w[q + Q_DATA] = 0
        w[q + Q_ERR] = 0
        w[q + Q_PENDING] = 0
        if counts_pending(rules):
            note_pending(w, rec, rules, q)
        _fetch_steps(w, rec, rules, b, d)
    else:
        w[d + D_STATE] = DS_PRODUCE
        schedule(w, w[d + D_SLOT], now + service(w, b, w[C_PRODUCE]))


@compiled
def _handler_free(w, b, d):
    """Handler ``d`` is done with its request."""
    w[d + D_STATE] = DS_IDLE
    w[d + D_REQ] = -1
    w[d + D_ROW] = -1
    w[b + B_IO_IDLE] += 1
    if due(w, w[d + D_SLOT]) < INF:  # it fires now; one that was done at once was never planned
        retire(w, w[d + D_SLOT])


# ------------------------------------------------------------------ fetch


@compiled
def _check_entry(w, rules, lr, fr, e):
    """What the leader ``lr`` has against an entry of the follower ``fr``: an ERR value."""
    if w[lr + R_ONLINE] == 0:
        return ERR_STORAGE
    epochs = rules[LOG_END_EXEMPT] != 0  # fetches name the leader epoch from 2.1 on (KIP-320)
    if epochs and w[e + E_EPOCH] < w[lr + R_EPOCH]:
        return ERR_FENCED_EPOCH
    if epochs and w[e + E_EPOCH] > w[lr + R_EPOCH]:
        return ERR_UNKNOWN_EPOCH
    if w[lr + R_IS_LEADER] == 0:
        return ERR_NOT_LEADER
    if w[fr + R_NEED_TRUNC] == 1:
        if common_end(w, fr, lr) < w[fr + R_LEO]:
            return ERR_DIVERGING
        w[fr + R_NEED_TRUNC] = 0
    elif w[e + E_OFFSET] > w[lr + R_LEO]:
        return ERR_DIVERGING
    return ERR_NONE


@compiled
def _plan_read(w, q, e, p, lr):
    """Where the read of entry ``e`` will end, within the request's byte limits."""
    room = w[C_RESPONSE_MAX_BYTES] - w[q + Q_BYTES]
    if room <= 0 and w[q + Q_DATA] == 1:
        return w[e + E_OFFSET]
    limit = min(w[C_FETCH_MAX_BYTES], max(room, 0))
    end, size = data_end(w, p, w[e + E_OFFSET], w[lr + R_LEO], limit)
    if size > limit and w[q + Q_DATA] == 1:
        return w[e + E_OFFSET]  # only the first batch of a response may exceed the limit
    w[q + Q_BYTES] += size
    return end


@compiled
def _s2_alarm(w, rules, end):
    """When the slot of a read that ends at ``end`` fires: earlier if Solution 2's timer does."""
    note_read(w, end - w[G_NOW])
    if rules[KIP501] == _S2:
        return min(end, w[G_NOW] + w[C_S2_LIMIT])
    return end


@compiled
def _s2_timer(w, rec, rules, lr):
    """Solution 2's timer has fired for a read of ``lr``: resign if anybody could take over."""
    p = w[lr + R_PART]
    others = w[lr + R_ISR] & w[p + P_ELIGIBLE] & ~(1 << w[lr + R_POS])
    if w[p + P_S2_LAST] > NEVER:
        note(w, DEP_COOLDOWN)
    if should_resign(
        rules,
        w[C_S2_LIMIT] + 1,
        w[C_S2_LIMIT],
        others != 0,
        w[G_NOW] - w[p + P_S2_LAST],
        w[C_S2_COOLDOWN],
    ):
        if leads_officially(w, lr):
            w[p + P_S2_LAST] = w[G_NOW]
            resign(w, rec, rules, lr, False)


@inlined
def _record_fetch(w, rec, rules, d, e, k, plain):
    """Write the leader's record of the follower of candidate ``k``.

    True if the handler has to stay: a synchronous ISR write begins, or one is under way whose lock
    the check for the follower's own return waits for.
    """
    now = w[G_NOW]
    lr = w[k + K_LROW]
    row = w[k + K_REC]
    offset = w[e + E_OFFSET]
    if not plain:
        if w[lr + R_IS_LEADER] == 0 or offset < 0:  # withdrawn while it was read
            return False
        if w[e + E_ERR] != ERR_NONE:
            if w[e + E_ERR] != ERR_DIVERGING:
                on_failed_read(rules, rec, row, now)
            return False
    moved = rec[row, LEO] != offset
    t = w[w[d + D_REQ] + Q_OWNER]
    i = (k - w[t + T_CAND]) // K_SIZE
    unsettle(w, t, i)
    if rules[KIP501] == _S1_PR:
        pay_candidate(w, rec, t, i)
    on_fetch(rules, rec, row, 0, offset, w[e + E_TIME], w[e + E_LLEO], now)
    rule_time = w[e + E_TIME] if rules[CLOCK] == _FETCH_TIME else now
    bit = w[e + E_BIT]
    writes = False
    asynchronous = rules[ASYNC_ISR] != 0
    outside = (w[lr + R_ISR] & bit) == 0
    if outside and not asynchronous and w[lr + R_WRITER] != LOCK_FREE:
        w[d + D_STATE] = DS_RECORD_LOCK
        w[d + D_ROW] = lr
        cancel(w, w[d + D_SLOT])
        return True
    if outside and wants_expand(w, rec, rules, lr, w[w[k + K_FROW] + R_POS], rule_time):
        propose(w, rec, rules, lr, PENDING_EXPAND, w[lr + R_ISR] | bit, bit)
        if asynchronous:
            submit(w, lr)
        else:
            w[lr + R_WRITER] = LOCK_HELD
            w[d + D_STATE] = DS_EXPAND
            w[d + D_ROW] = lr
            schedule(w, w[d + D_SLOT], sync_write_end(w, w[lr + R_BROKER]))
            writes = True
    if moved:
        raise_hw(w, rec, rules, lr, rule_time)
    return writes


@compiled
def _fetch_steps(w, rec, rules, b, d):
    """Go on with the fetch of handler ``d`` until it has to wait, or is done."""
    q = w[d + D_REQ]
    cand = w[w[q + Q_OWNER] + T_CAND]
    entries = w[q + Q_ENT]
    n = w[q + Q_N]
    plain = is_plain(w, q)
    begun = w[d + D_IDX] if w[d + D_AGAIN] == PHASE_READ else n
    if w[d + D_AGAIN] == PHASE_READ:
        i = begun
        recorded = 0
        swift = plain and w[b + B_FAULTS_ON] == 0
        if swift and rules[RECORD_PER_PARTITION] == 0:
            swift = False
            if begun == 0 and _reads_nothing(w, rules, q):
                _record_at_once(w, rec, rules, d, q)
                i = n
                recorded = n
        while True:
            if swift:
                i = _pass_settled(w, rec, w[q + Q_OWNER], q, i)
            if i >= n:
                break
            e = entries + i * E_SIZE
            if w[e + E_OFFSET] >= 0:
                w[d + D_IDX] = i
                if _visit(w, rec, rules, b, d, q, e, cand + i * K_SIZE, plain):
                    return
            i += 1
        w[d + D_AGAIN] = PHASE_RECORD
        w[d + D_IDX] = recorded
    if rules[RECORD_PER_PARTITION] == 0:
        for i in range(w[d + D_IDX], n):
            e = entries + i * E_SIZE
            if w[e + E_OFFSET] >= 0:
                w[d + D_IDX] = i + 1
                k = cand + i * K_SIZE
                if _record_fetch(w, rec, rules, d, e, k, plain):
                    return
    empty = plain and begun == 0 and w[q + Q_BYTES] == 0
    _fetch_done(w, rec, rules, b, d, q, empty)


@compiled
def _reads_nothing(w, rules, q):
    """Whether the plain fetch ``q`` is read and recorded at once: no data, nobody outside the ISR.

    0.8.2 is left out: its lag clock is none that `on_fetch_again` writes.
    """
    if rules[CLOCK] == _ANY_FETCH:
        return False
    t = w[q + Q_OWNER]
    known = settled(w, t, q)
    i = next_unset(known, 0)
    while i < w[q + Q_N]:
        e = w[q + Q_ENT] + i * E_SIZE
        lr = w[w[t + T_CAND] + i * K_SIZE + K_LROW]
        if w[e + E_OFFSET] >= 0:
            if w[e + E_OFFSET] < w[lr + R_LEO] or (w[lr + R_ISR] & w[e + E_BIT]) == 0:
                return False
        i = next_unset(known, i + 1)
    return True


@apart
def _record_at_once(w, rec, rules, d, q):
    """Read a fetch that `_reads_nothing`, and record it, of a release that records partitions last.

    As no time passes and nothing has to wait, it makes no difference if each partition is recorded
    when it is read; so those that are settled can be passed.
    """
    t = w[q + Q_OWNER]
    i = _pass_settled(w, rec, t, q, 0)
    while i < w[q + Q_N]:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[t + T_CAND] + i * K_SIZE
        w[e + E_TIME] = w[G_NOW]
        w[e + E_END] = w[e + E_OFFSET]
        w[e + E_LLEO] = w[w[k + K_LROW] + R_LEO]
        w[e + E_HW] = w[w[k + K_LROW] + R_HW]
        _record_fetch(w, rec, rules, d, e, k, True)
        i = _pass_settled(w, rec, t, q, i + 1)


@inlined
def _pass_settled(w, rec, t, q, first):
    """Pass the partitions of a plain fetch from ``first`` on that have nothing new for anybody.

    If the release records each partition once it is read, and no disk fault goes on, all that a
    visit does to a follower in the ISR that was known to be at the log's end, and still is, are the
    times in its record. Most visits are like that, so they are passed here, in one short loop; and
    what was found to be like that is not looked at again before something changes (see `news`).
    Returns the first partition that needs more; the number of entries if none does.
    """
    now = w[G_NOW]
    entries = w[q + Q_ENT]
    cand = w[t + T_CAND]
    n = w[q + Q_N]
    kept = is_kept(w, t, q)
    known = settled(w, t, q)
    i = first
    while i < n:
        e = entries + i * E_SIZE
        k = cand + i * K_SIZE
        if (known >> (i & 63)) & 1 == 0:
            if not is_settled(w, rec, e, k):
                if w[e + E_OFFSET] >= 0:
                    break
                i += 1
                continue
            w[e + E_HW] = w[w[k + K_LROW] + R_HW]
            if kept:
                w[t + T_SETTLED] |= 1 << i
        w[e + E_TIME] = now
        on_fetch_again(rec, w[k + K_REC], now)
        i += 1
    return i


@inlined
def _visit(w, rec, rules, b, d, q, e, k, plain):
    """The fetch handler comes to one partition; True if it has to wait there."""
    w[e + E_TIME] = w[G_NOW]
    w[e + E_END] = w[e + E_OFFSET]
    if plain:
        return _read(w, rec, rules, b, d, q, e, k, True)
    lr = w[k + K_LROW]
    fr = w[k + K_FROW]
    w[e + E_ERR] = _check_entry(w, rules, lr, fr, e)
    if w[e + E_ERR] != ERR_NONE:
        w[q + Q_ERR] = 1
        if w[e + E_ERR] == ERR_DIVERGING:
            w[e + E_END] = common_end(w, fr, lr)
        elif rules[RECORD_PER_PARTITION] != 0:
            _record_fetch(w, rec, rules, d, e, k, False)
        return False
    return _read(w, rec, rules, b, d, q, e, k, False)


@inlined
def _read(w, rec, rules, b, d, q, e, k, plain):
    """Read one partition for a fetch handler; True if that takes time."""
    lr = w[k + K_LROW]
    p = w[lr + R_PART]
    has_data = w[e + E_OFFSET] < w[lr + R_LEO]
    if has_data and read_must_wait(w, rules, lr):
        w[d + D_STATE] = DS_FETCH_LOCK
        w[d + D_ROW] = lr
        cancel(w, w[d + D_SLOT])
        return True
    w[e + E_LLEO] = w[lr + R_LEO]
    w[e + E_HW] = w[lr + R_HW]
    if has_data:
        w[e + E_END] = _plan_read(w, q, e, p, lr)
        has_data = w[e + E_END] > w[e + E_OFFSET]
    end = w[G_NOW]
    if has_data or w[b + B_FAULTS_ON] > 0:
        end = read_end(w, b, p, READ_DIRECT, 0, has_data)
    if end == w[G_NOW]:
        if rules[RECORD_PER_PARTITION] != 0:
            if _record_fetch(w, rec, rules, d, e, k, plain):
                w[d + D_IDX] += 1
                return True
        return False
    if has_data:
        w[q + Q_DATA] = 1
    w[d + D_STATE] = DS_FETCH
    w[d + D_ROW] = -1
    if rules[ISR_LOCK] >= _LOCK_RW_ALWAYS:
        begin_locked_read(w, lr, end)
        w[d + D_ROW] = lr
    w[d + D_END] = end
    w[d + D_S2] = 0
    schedule(w, w[d + D_SLOT], _s2_alarm(w, rules, end))
    return True


@compiled
def _fetch_read_over(w, rec, rules, b, d):
    """A read of the fetch of handler ``d`` has ended: a tick that waited goes first."""
    if w[d + D_ROW] >= 0:
        lr = w[d + D_ROW]
        w[d + D_ROW] = -1
        w[d + D_STATE] = DS_FETCH_AFTER
        if release_read(w, lr):
            schedule(w, w[d + D_SLOT], w[G_NOW])
            return
    _fetch_after_read(w, rec, rules, b, d)


@compiled
def _fetch_after_read(w, rec, rules, b, d):
    """Write the record of the partition just read (3.3+), and go on with the next."""
    w[d + D_STATE] = DS_FETCH
    q = w[d + D_REQ]
    i = w[d + D_IDX]
    w[d + D_IDX] = i + 1
    if rules[RECORD_PER_PARTITION] != 0:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[w[q + Q_OWNER] + T_CAND] + i * K_SIZE
        if _record_fetch(w, rec, rules, d, e, k, is_plain(w, q)):
            return
    _fetch_steps(w, rec, rules, b, d)


@compiled
def _fetch_done(w, rec, rules, b, d, q, empty):
    """All partitions of the fetch are read: answer it, or let it wait in purgatory.

    ``empty``: nothing stands against it and no partition had data for it at this very moment.
    """
    if w[q + Q_PENDING] != 0 and rules[KIP501] == _S1_PR:
        forget_pending(w, rec, rules, q)  # the pull request's finally block
    if w[q + Q_ERR] == 1 or w[q + Q_BYTES] >= w[C_FETCH_MIN_BYTES] or w[C_FETCH_WAIT] == 0:
        respond(w, rec, rules, b, q)
        _handler_free(w, b, d)
        return
    if not empty and _satisfied(w, q):
        w[d + D_CREQ] = q
        w[d + D_ROW] = -1
        w[d + D_POS] = 1 << 20  # nobody else to look for afterwards
        w[d + D_REQ] = -1
        _begin_completion(w, q)
        w[d + D_IDX] = 0
        _complete(w, rec, rules, b, d)
        return
    w[q + Q_STATE] = QS_PURGATORY
    w[q + Q_DEADLINE] = w[G_NOW] + w[C_FETCH_WAIT]
    schedule(w, w[q + Q_SLOT], w[q + Q_DEADLINE])
    _handler_free(w, b, d)


# ------------------------------------------------------------------ purgatory


@compiled
def _satisfied(w, q):
    """Whether the delayed fetch ``q`` can be completed: enough bytes, or an error to tell."""
    cand = w[w[q + Q_OWNER] + T_CAND]
    total = 0
    for i in range(w[q + Q_N]):
        e = w[q + Q_ENT] + i * E_SIZE
        if w[e + E_OFFSET] >= 0 and w[e + E_ERR] == ERR_NONE:
            lr = w[cand + i * K_SIZE + K_LROW]
            if w[lr + R_IS_LEADER] == 0 or w[lr + R_EPOCH] != w[e + E_EPOCH]:
                return True
            if w[lr + R_LEO] > w[e + E_OFFSET]:
                if w[C_FETCH_MIN_BYTES] <= 1:
                    return True
                p = w[lr + R_PART]
                _, size = data_end(w, p, w[e + E_OFFSET], w[lr + R_LEO], w[C_FETCH_MAX_BYTES])
                total += size
    return total >= w[C_FETCH_MIN_BYTES]


@compiled
def _begin_completion(w, q):
    """The delayed fetch ``q`` leaves purgatory: it is read again from its first partition on."""
    w[q + Q_STATE] = QS_COMPLETING
    w[q + Q_BYTES] = 0
    w[q + Q_DATA] = 0
    cancel(w, w[q + Q_SLOT])


@compiled
def _recheck(w, rules, lr, e):
    """Whether the leader still answers for the entry, as a delayed fetch is read again."""
    if w[lr + R_ONLINE] == 0:
        return ERR_STORAGE
    if w[lr + R_IS_LEADER] == 0:
        return ERR_NOT_LEADER
    if rules[LOG_END_EXEMPT] != 0 and w[lr + R_EPOCH] != w[e + E_EPOCH]:
        return ERR_FENCED_EPOCH
    return ERR_NONE


@compiled
def _completion_steps(w, rec, rules, b, d):
    """Go on reading for the delayed fetch that handler ``d`` completes; True if that takes time."""
    q = w[d + D_CREQ]
    t = w[q + Q_OWNER]
    cand = w[t + T_CAND]
    n = w[q + Q_N]
    plain = is_plain(w, q)
    swift = plain and w[t + T_REQ] == q
    i = w[d + D_IDX]
    while True:
        if swift:
            i = next_news(w, t, i)
        if i >= n:
            break
        if _completion_read(w, rules, b, d, q, i, w[cand + i * K_SIZE + K_LROW], plain):
            return True
        i += 1
    w[d + D_CREQ] = -1
    respond(w, rec, rules, b, q)
    return False


@inlined
def _completion_read(w, rules, b, d, q, i, lr, plain):
    """Handler ``d`` reads entry ``i`` of the delayed fetch ``q``; True if that takes time."""
    e = w[q + Q_ENT] + i * E_SIZE
    if w[e + E_OFFSET] < 0 or (not plain and w[e + E_ERR] != ERR_NONE):
        return False
    if not plain:
        w[e + E_ERR] = _recheck(w, rules, lr, e)
    w[e + E_HW] = w[lr + R_HW]
    w[e + E_END] = w[e + E_OFFSET]
    if (not plain and w[e + E_ERR] != ERR_NONE) or w[lr + R_LEO] <= w[e + E_OFFSET]:
        return False
    w[d + D_IDX] = i
    if read_must_wait(w, rules, lr):
        w[d + D_STATE] = DS_COMPLETE_LOCK
        w[d + D_SINCE] = w[d + D_ROW]
        w[d + D_ROW] = lr
        cancel(w, w[d + D_SLOT])
        return True
    p = w[lr + R_PART]
    w[e + E_END] = _plan_read(w, q, e, p, lr)
    if w[e + E_END] <= w[e + E_OFFSET]:
        return False
    w[q + Q_DATA] = 1
    end = read_end(w, b, p, READ_COMPLETION, 0, True)
    if end <= w[G_NOW]:
        return False
    w[d + D_STATE] = DS_COMPLETE
    w[q + Q_READ_ROW] = -1
    if rules[ISR_LOCK] >= _LOCK_RW_ALWAYS:
        begin_locked_read(w, lr, end)
        w[q + Q_READ_ROW] = lr
    elif rules[ISR_LOCK] == _LOCK_COMPLETION and w[d + D_ROW] >= 0:
        # up to 2.0 the append's own read lock is still held
        begin_locked_read(w, w[d + D_ROW], end)
        w[q + Q_READ_ROW] = w[d + D_ROW]
    w[d + D_END] = end
    w[d + D_S2] = 0
    schedule(w, w[d + D_SLOT], _s2_alarm(w, rules, end))
    return True


@compiled
def _completion_read_over(w, d):
    """A read of the completion of handler ``d`` has ended."""
    q = w[d + D_CREQ]
    if w[q + Q_READ_ROW] >= 0:
        lr = w[q + Q_READ_ROW]
        w[q + Q_READ_ROW] = -1
        release_read(w, lr)
    w[d + D_IDX] += 1


@inlined
def delayed_fetch(w, lr, pos):
    """Row pointer of a delayed fetch of the follower at ``pos`` that an append to ``lr`` completes.

    -1 if there is none.
    """
    t = thread_of(w, lr, pos)
    i = candidate(w, lr, pos)
    for j in range(REQS_PER_THREAD):
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_STATE] == QS_PURGATORY:
            e = w[q + Q_ENT] + i * E_SIZE
            if w[e + E_OFFSET] >= 0 and (_gets_all(w, q, lr, e) or _satisfied(w, q)):
                return q
    return -1


@compiled
def _gets_all(w, q, lr, e):
    """Whether entry ``e`` alone, of the leader ``lr``, surely completes the delayed fetch ``q``."""
    return is_plain(w, q) and w[C_FETCH_MIN_BYTES] <= 1 and w[lr + R_LEO] > w[e + E_OFFSET]


@inlined
def _find_delayed(w, d):
    """Handler ``d``, which has appended to D_ROW, takes the next delayed fetch; False if none."""
    lr = w[d + D_ROW]
    if lr < 0:
        return False
    rf = w[w[lr + R_PART] + P_RF]
    while w[d + D_POS] < rf:
        if w[d + D_POS] != w[lr + R_POS]:
            q = delayed_fetch(w, lr, w[d + D_POS])
            if q >= 0:
                w[d + D_CREQ] = q
                w[d + D_IDX] = 0
                _begin_completion(w, q)
                return True
        w[d + D_POS] += 1
    return False


@compiled
def _complete(w, rec, rules, b, d):
    """Handler ``d`` completes delayed fetches one by one, then is done with its request."""
    while w[d + D_CREQ] >= 0 or _find_delayed(w, d):
        if _completion_steps(w, rec, rules, b, d):
            return
    if w[d + D_REQ] >= 0:
        q = w[d + D_REQ]
        w[d + D_REQ] = -1
        settle_produce(w, rec, rules, b, q)
    _handler_free(w, b, d)


# ------------------------------------------------------------------ produce


@compiled
def note_bad_dir(w, b, r):
    """An append meets a failed log dir: it is noticed now, and told to the controller soon."""
    place = b + B_DIR_BAD_BASE + w[r + R_DIR]
    if w[place] == 1:
        w[place] = 2
        schedule(w, w[b + B_SLOT_DIR], w[G_NOW] + LOG_DIR_NOTICE_US)
        return True
    return False


@inlined
def settle_produce(w, rec, rules, b, q):
    """The request is appended: answer it, or let it wait for the high watermark."""
    r = w[q + Q_ROW]
    if w[q + Q_ERR] == 0 and w[q + Q_ACKS_ALL] == 1 and w[q + Q_END] > w[r + R_HW]:
        if w[r + R_IS_LEADER] == 1:
            w[q + Q_STATE] = QS_WAIT_HW
            return
        w[q + Q_ERR] = ERR_NOT_LEADER
    respond(w, rec, rules, b, q)


@inlined
def append_records(w, rec, rules, r, records, size_bytes, acks_all):
    """Append a batch to the leader ``r``: LEO, ledger, high watermark."""
    p = w[r + R_PART]
    w[r + R_LEO] += records
    tell_followers(w, r)
    if leads_officially(w, r):
        add_batch(w, p, w[r + R_LEO], size_bytes, records if acks_all else 0)
    raise_hw(w, rec, rules, r, w[G_NOW])
    watch_followers(w, p)


@compiled
def _produce_appends(w, rec, rules, b, d):
    """Handler ``d`` comes to the append of its produce request."""
    q = w[d + D_REQ]
    r = w[q + Q_ROW]
    w[q + Q_ERR] = 0
    if w[q + Q_ABANDONED] == 1:
        w[q + Q_ERR] = ERR_NOT_LEADER  # the producer has given its records up
    elif w[r + R_IS_LEADER] == 0:
        w[q + Q_ERR] = ERR_NOT_LEADER
    elif w[r + R_ONLINE] == 0 or w[b + B_DIR_BAD_BASE + w[r + R_DIR]] != 0:
        note_bad_dir(w, b, r)
        w[q + Q_ERR] = ERR_STORAGE
    elif append_refused(
        w[q + Q_ACKS_ALL] == 1,
        size_of(w[r + R_ISR]),
        effective_min_isr(rules, w[C_MIN_ISR], w[w[r + R_PART] + P_RF]),
    ):
        w[q + Q_ERR] = ERR_NOT_ENOUGH
    if w[q + Q_ERR] != 0:
        w[d + D_REQ] = -1
        respond(w, rec, rules, b, q)
        _handler_free(w, b, d)
        return
    if append_must_wait(w, r):
        w[d + D_STATE] = DS_PRODUCE_LOCK
        w[d + D_ROW] = r
        cancel(w, w[d + D_SLOT])
        return
    w[q + Q_END] = w[r + R_LEO] + w[q + Q_RECORDS]
    append_records(w, rec, rules, r, w[q + Q_RECORDS], w[q + Q_BYTES], w[q + Q_ACKS_ALL] == 1)
    if rules[ASYNC_ISR] != 0:
        # from 2.7 on the delayed actions run after the request has been answered
        w[d + D_REQ] = -1
        settle_produce(w, rec, rules, b, q)
    w[d + D_STATE] = DS_COMPLETE
    w[d + D_ROW] = r
    w[d + D_POS] = 0
    w[d + D_CREQ] = -1
    _complete(w, rec, rules, b, d)


# ------------------------------------------------------------------ a handler's slot


@compiled
def _reading_row(w, d):
    """Row pointer of the leader replica that handler ``d`` reads at present."""
    q = w[d + D_CREQ] if w[d + D_STATE] == DS_COMPLETE else w[d + D_REQ]
    return w[w[w[q + Q_OWNER] + T_CAND] + w[d + D_IDX] * K_SIZE + K_LROW]


@compiled
def handler_fires(w, rec, rules, d):
    """The next step of a handler is due."""
    b = w[d + D_BROKER]
    now = w[G_NOW]
    state = w[d + D_STATE]
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[d + D_SLOT], w[b + B_PAUSED_UNTIL])
        return
    if state in (DS_FETCH, DS_COMPLETE) and w[d + D_END] > now:
        w[d + D_S2] = 1
        schedule(w, w[d + D_SLOT], w[d + D_END])
        _s2_timer(w, rec, rules, _reading_row(w, d))
        return
    if state == DS_PRODUCE or state == DS_PRODUCE_LOCK:
        _produce_appends(w, rec, rules, b, d)
    elif state == DS_COMPLETE:
        _completion_read_over(w, d)
        _complete(w, rec, rules, b, d)
    elif state == DS_COMPLETE_LOCK:
        w[d + D_ROW] = w[d + D_SINCE]
        w[d + D_STATE] = DS_COMPLETE
        _complete(w, rec, rules, b, d)
    elif state == DS_FETCH:
        _fetch_read_over(w, rec, rules, b, d)
    elif state == DS_FETCH_AFTER:
        _fetch_after_read(w, rec, rules, b, d)
    elif state == DS_RECORD_LOCK:
        w[d + D_STATE] = DS_FETCH
        w[d + D_ROW] = -1
        w[d + D_IDX] -= 1  # the caller had gone on to the next entry
        _fetch_steps(w, rec, rules, b, d)
    elif state == DS_FETCH_LOCK:
        w[d + D_STATE] = DS_FETCH
        w[d + D_ROW] = -1
        _fetch_steps(w, rec, rules, b, d)
    elif state == DS_EXPAND:
        lr = w[d + D_ROW]
        w[d + D_ROW] = -1
        w[d + D_STATE] = DS_FETCH
        finish_sync_write(w, rec, rules, lr)
        w[lr + R_WRITER] = LOCK_FREE
        wake_lock_waiters(w, lr)
        _fetch_steps(w, rec, rules, b, d)
    elif state == DS_CLIENT:
        push_response(w, b, SEND_CLIENT)
        _handler_free(w, b, d)
    elif state == DS_SURGE:
        push_response(w, b, SEND_SURGE)
        _handler_free(w, b, d)
    else:
        cancel(w, w[d + D_SLOT])
    if w[b + B_QLEN] > 0:
        dispatch(w, rec, rules, b)


# ------------------------------------------------------------------ a request's slot on the broker


@compiled
def request_arrives(w, rec, rules, q):
    """A request reaches its broker."""
    b = w[q + Q_BROKER]
    if w[b + B_UP] == 0:
        w[q + Q_ERR] = ERR_CONNECTION
        w[q + Q_STATE] = QS_TO_OWNER
        schedule(w, w[q + Q_SLOT], w[G_NOW] + w[C_HALF_RTT])
        return
    if w[b + B_PAUSED_UNTIL] > w[G_NOW]:
        schedule(w, w[q + Q_SLOT], w[b + B_PAUSED_UNTIL])
        return
    hand_in(w, rec, rules, b, q)
    if w[q + Q_STATE] != QS_PURGATORY:  # there it has its next moment already
        retire(w, w[q + Q_SLOT])


@apart
def expire_steps(w, rec, rules, q):
    """Purgatory's own thread completes the fetch ``q``: no handler; up to 2.0 no lock."""
    b = w[q + Q_BROKER]
    now = w[G_NOW]
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[q + Q_SLOT], w[b + B_PAUSED_UNTIL])
        return
    cand = w[w[q + Q_OWNER] + T_CAND]
    if w[q + Q_STATE] == QS_PURGATORY:
        _begin_completion(w, q)
        w[q + Q_STATE] = QS_EXPIRING
        w[q + Q_IDX] = 0
        w[q + Q_READ_ROW] = -1
    elif w[q + Q_DEADLINE] == INF and w[q + Q_NOT_BEFORE] > now:  # Solution 2's timer
        schedule(w, w[q + Q_SLOT], w[q + Q_NOT_BEFORE])
        _s2_timer(w, rec, rules, w[cand + w[q + Q_IDX] * K_SIZE + K_LROW])
        return
    elif w[q + Q_DEADLINE] == INF:  # a read has just ended
        if w[q + Q_READ_ROW] >= 0:
            lr = w[q + Q_READ_ROW]
            w[q + Q_READ_ROW] = -1
            release_read(w, lr)
        w[q + Q_IDX] += 1
    while w[q + Q_IDX] < w[q + Q_N]:
        i = w[q + Q_IDX]
        e = w[q + Q_ENT] + i * E_SIZE
        lr = w[cand + i * K_SIZE + K_LROW]
        if w[e + E_OFFSET] >= 0 and w[e + E_ERR] == ERR_NONE:
            w[e + E_ERR] = _recheck(w, rules, lr, e)
            w[e + E_HW] = w[lr + R_HW]
            w[e + E_END] = w[e + E_OFFSET]
            if w[e + E_ERR] == ERR_NONE and w[lr + R_LEO] > w[e + E_OFFSET]:
                if read_must_wait(w, rules, lr):
                    w[q + Q_DEADLINE] = 0
                    schedule(w, w[q + Q_SLOT], now + EXPIRY_RETRY_US)
                    return
                w[e + E_END] = _plan_read(w, q, e, w[lr + R_PART], lr)
                if w[e + E_END] > w[e + E_OFFSET]:
                    w[q + Q_DATA] = 1
                    end = read_end(w, b, w[lr + R_PART], READ_COMPLETION, 0, True)
                    if rules[ISR_LOCK] >= _LOCK_RW_ALWAYS:
                        begin_locked_read(w, lr, end)
                        w[q + Q_READ_ROW] = lr
                    w[q + Q_DEADLINE] = INF
                    w[q + Q_NOT_BEFORE] = end
                    schedule(w, w[q + Q_SLOT], _s2_alarm(w, rules, end))
                    return
        w[q + Q_IDX] += 1
    cancel(w, w[q + Q_SLOT])
    respond(w, rec, rules, b, q)


@compiled
def complete_without_handler(w, lr):
    """Let purgatory's own thread complete the delayed fetches of ``lr``.

    For records that no request appended, and for a leader that leads no longer.
    """
    p = w[lr + R_PART]
    for pos in range(w[p + P_RF]):
        if pos != w[lr + R_POS]:
            q = delayed_fetch(w, lr, pos)
            if q >= 0:
                schedule(w, w[q + Q_SLOT], w[G_NOW])
