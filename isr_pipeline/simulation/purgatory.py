"""Fetches that found nothing: they wait, and are completed by *the thread that appends*.

That thread reads the log again for each of them. A fetch that no append completes is answered when
its wait is over.
"""

from __future__ import annotations

from isr_pipeline.kafka.fencing import EpochError, epoch_error
from isr_pipeline.kafka.releases import ISR_LOCK, Lock
from isr_pipeline.simulation.leader import begin_locked_read, read_must_wait, release_read
from isr_pipeline.simulation.log import data_end
from isr_pipeline.simulation.network import READ_COMPLETION, read_end
from isr_pipeline.simulation.produces import finish_produce
from isr_pipeline.simulation.reads import plan_read, s2_alarm, s2_timer
from isr_pipeline.simulation.request_queue import handler_free
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.shortcuts.depends import NOT_HERE, switch
from isr_pipeline.simulation.shortcuts.dirty import (
    is_validated,
    next_dirty,
    towards,
)
from isr_pipeline.simulation.world.cells import trailing_zeros
from isr_pipeline.simulation.world.jit import cold, compiled, hot
from isr_pipeline.simulation.world.layout import (
    B_FETCH_MAX_BYTES,
    B_FETCH_MIN_BYTES,
    B_PAUSED_UNTIL,
    D_CREQ,
    D_END,
    D_IDX,
    D_POS,
    D_REQ,
    D_ROW,
    D_S2,
    D_SINCE,
    D_SLOT,
    D_STATE,
    DS_COMPLETE,
    DS_COMPLETE_LOCK,
    E_END,
    E_EPOCH,
    E_ERR,
    E_HW,
    E_OFFSET,
    E_SIZE,
    ERR_FENCED_EPOCH,
    ERR_NONE,
    ERR_NOT_LEADER,
    ERR_STORAGE,
    G_NOW,
    INF,
    K_LROW,
    K_SIZE,
    P_RF,
    Q_BROKER,
    Q_BYTES,
    Q_DATA,
    Q_DEADLINE,
    Q_ENT,
    Q_IDX,
    Q_N,
    Q_NOT_BEFORE,
    Q_OWNER,
    Q_READ_ROW,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QS_COMPLETING,
    QS_EXPIRING,
    QS_PURGATORY,
    R_EPOCH,
    R_HW,
    R_IS_LEADER,
    R_LEO,
    R_ONLINE,
    R_PART,
    R_POS,
    T_FETCHED,
    T_FOLLOWER,
    T_REQ,
    T_REQ0,
    T_WAITS,
    Y_PLACE,
    Y_THREAD,
)
from isr_pipeline.simulation.world.queue import cancel, schedule

EXPIRY_RETRY_US = 1_000
_LOCK_COMPLETION = int(Lock.COMPLETION)
_LOCK_RW_ALWAYS = int(Lock.RW_ALWAYS)

_EPOCH_KNOWN = int(EpochError.NONE)


@compiled
def satisfied(w, q):
    """Whether the delayed fetch ``q`` can be completed: enough bytes, or an error to tell."""
    fetched = w[w[q + Q_OWNER] + T_FETCHED]
    follower = w[w[q + Q_OWNER] + T_FOLLOWER]
    total = 0
    for i in range(w[q + Q_N]):
        e = w[q + Q_ENT] + i * E_SIZE
        if w[e + E_OFFSET] >= 0 and w[e + E_ERR] == ERR_NONE:
            lr = w[fetched + i * K_SIZE + K_LROW]
            if w[lr + R_IS_LEADER] == 0 or w[lr + R_EPOCH] != w[e + E_EPOCH]:
                return True
            if w[lr + R_LEO] > w[e + E_OFFSET]:
                if w[follower + B_FETCH_MIN_BYTES] <= 1:
                    return True
                limit = w[follower + B_FETCH_MAX_BYTES]
                _, size = data_end(w, w[lr + R_PART], w[e + E_OFFSET], w[lr + R_LEO], limit)
                total += size
    return total >= w[follower + B_FETCH_MIN_BYTES]


@compiled
def begin_completion(w, q):
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
    if epoch_error(rules, w[e + E_EPOCH], w[lr + R_EPOCH]) != _EPOCH_KNOWN:
        return ERR_FENCED_EPOCH
    return ERR_NONE


@compiled
def _completion_steps(w, rec, rules, b, d):
    """Go on reading for the delayed fetch that handler ``d`` completes; True if that takes time."""
    q = w[d + D_CREQ]
    t = w[q + Q_OWNER]
    fetched = w[t + T_FETCHED]
    n = w[q + Q_N]
    validated = is_validated(w, q)
    swift = validated and w[t + T_REQ] == q
    i = w[d + D_IDX]
    while True:
        if swift:
            i = next_dirty(w, t, i)
        if i >= n:
            break
        if _completion_read(w, rules, b, d, q, i, w[fetched + i * K_SIZE + K_LROW], validated):
            return True
        i += 1
    w[d + D_CREQ] = -1
    respond(w, rec, rules, b, q)
    return False


@hot
def _completion_read(w, rules, b, d, q, i, lr, validated):
    """Handler ``d`` reads entry ``i`` of the delayed fetch ``q``; True if that takes time."""
    e = w[q + Q_ENT] + i * E_SIZE
    if w[e + E_OFFSET] < 0 or (not validated and w[e + E_ERR] != ERR_NONE):
        return False
    if not validated:
        w[e + E_ERR] = _recheck(w, rules, lr, e)
    w[e + E_HW] = w[lr + R_HW]
    w[e + E_END] = w[e + E_OFFSET]
    if (not validated and w[e + E_ERR] != ERR_NONE) or w[lr + R_LEO] <= w[e + E_OFFSET]:
        return False
    w[d + D_IDX] = i
    if read_must_wait(w, rules, lr):
        w[d + D_STATE] = DS_COMPLETE_LOCK
        w[d + D_SINCE] = w[d + D_ROW]
        w[d + D_ROW] = lr
        cancel(w, w[d + D_SLOT])
        return True
    p = w[lr + R_PART]
    w[e + E_END] = plan_read(w, q, e, p, lr)
    if w[e + E_END] <= w[e + E_OFFSET]:
        return False
    w[q + Q_DATA] = 1
    end = read_end(w, b, p, READ_COMPLETION, 0, True)
    if end <= w[G_NOW]:
        return False
    w[d + D_STATE] = DS_COMPLETE
    w[q + Q_READ_ROW] = -1
    if switch(w, rules, ISR_LOCK, NOT_HERE) >= _LOCK_RW_ALWAYS:
        begin_locked_read(w, lr, end)
        w[q + Q_READ_ROW] = lr
    elif switch(w, rules, ISR_LOCK, NOT_HERE) == _LOCK_COMPLETION and w[d + D_ROW] >= 0:
        # up to 2.0 the append's own read lock is still held
        begin_locked_read(w, w[d + D_ROW], end)
        w[q + Q_READ_ROW] = w[d + D_ROW]
    w[d + D_END] = end
    w[d + D_S2] = 0
    schedule(w, w[d + D_SLOT], s2_alarm(w, rules, end))
    return True


@compiled
def completion_read_over(w, d):
    """A read of the completion of handler ``d`` has ended."""
    q = w[d + D_CREQ]
    if w[q + Q_READ_ROW] >= 0:
        lr = w[q + Q_READ_ROW]
        w[q + Q_READ_ROW] = -1
        release_read(w, lr)
    w[d + D_IDX] += 1


@hot
def delayed_fetch(w, lr, pos):
    """Row pointer of a delayed fetch of the follower at ``pos`` that an append to ``lr`` completes.

    -1 if there is none.
    """
    y = towards(w, lr, pos)
    t = w[y + Y_THREAD]
    waits = w[t + T_WAITS]
    while waits != 0:
        j = trailing_zeros(waits)
        waits &= waits - 1
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_STATE] != QS_PURGATORY:
            w[t + T_WAITS] &= ~(1 << j)
            continue
        e = w[q + Q_ENT] + w[y + Y_PLACE] * E_SIZE
        if w[e + E_OFFSET] >= 0 and (_gets_all(w, q, lr, e) or satisfied(w, q)):
            return q
    return -1


@compiled
def _gets_all(w, q, lr, e):
    """Whether entry ``e`` alone, of the leader ``lr``, surely completes the delayed fetch ``q``."""
    follower = w[w[q + Q_OWNER] + T_FOLLOWER]
    any_byte = w[follower + B_FETCH_MIN_BYTES] <= 1
    return is_validated(w, q) and any_byte and w[lr + R_LEO] > w[e + E_OFFSET]


@hot
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
                begin_completion(w, q)
                return True
        w[d + D_POS] += 1
    return False


@compiled
def complete(w, rec, rules, b, d):
    """Handler ``d`` completes delayed fetches one by one, then is done with its request."""
    while w[d + D_CREQ] >= 0 or _find_delayed(w, d):
        if _completion_steps(w, rec, rules, b, d):
            return
    if w[d + D_REQ] >= 0:
        q = w[d + D_REQ]
        w[d + D_REQ] = -1
        finish_produce(w, rec, rules, b, q)
    handler_free(w, b, d)


@cold
def expire_steps(w, rec, rules, q):
    """Purgatory's own thread completes the fetch ``q``: no handler; up to 2.0 no lock."""
    b = w[q + Q_BROKER]
    now = w[G_NOW]
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[q + Q_SLOT], w[b + B_PAUSED_UNTIL])
        return
    fetched = w[w[q + Q_OWNER] + T_FETCHED]
    if w[q + Q_STATE] == QS_PURGATORY:
        begin_completion(w, q)
        w[q + Q_STATE] = QS_EXPIRING
        w[q + Q_IDX] = 0
        w[q + Q_READ_ROW] = -1
    elif w[q + Q_DEADLINE] == INF and w[q + Q_NOT_BEFORE] > now:  # Solution 2's timer
        schedule(w, w[q + Q_SLOT], w[q + Q_NOT_BEFORE])
        s2_timer(w, rec, rules, w[fetched + w[q + Q_IDX] * K_SIZE + K_LROW])
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
        lr = w[fetched + i * K_SIZE + K_LROW]
        if w[e + E_OFFSET] >= 0 and w[e + E_ERR] == ERR_NONE:
            w[e + E_ERR] = _recheck(w, rules, lr, e)
            w[e + E_HW] = w[lr + R_HW]
            w[e + E_END] = w[e + E_OFFSET]
            if w[e + E_ERR] == ERR_NONE and w[lr + R_LEO] > w[e + E_OFFSET]:
                if read_must_wait(w, rules, lr):
                    w[q + Q_DEADLINE] = 0
                    schedule(w, w[q + Q_SLOT], now + EXPIRY_RETRY_US)
                    return
                w[e + E_END] = plan_read(w, q, e, w[lr + R_PART], lr)
                if w[e + E_END] > w[e + E_OFFSET]:
                    w[q + Q_DATA] = 1
                    end = read_end(w, b, w[lr + R_PART], READ_COMPLETION, 0, True)
                    if switch(w, rules, ISR_LOCK, NOT_HERE) >= _LOCK_RW_ALWAYS:
                        begin_locked_read(w, lr, end)
                        w[q + Q_READ_ROW] = lr
                    w[q + Q_DEADLINE] = INF
                    w[q + Q_NOT_BEFORE] = end
                    schedule(w, w[q + Q_SLOT], s2_alarm(w, rules, end))
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
