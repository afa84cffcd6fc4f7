"""Request handlers of a broker: each is a small state machine, one step a firing of its slot."""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import counts_pending
from isr_pipeline.kafka.partition import append_refused, size_of
from isr_pipeline.kafka.releases import ANSWERS_BEFORE_DELAYED
from isr_pipeline.simulation.fetches import fetch_after_read, fetch_read_over, fetch_steps
from isr_pipeline.simulation.leader import (
    LOCK_HELD,
    append_must_wait,
    finish_sync_write,
    leave_lock,
)
from isr_pipeline.simulation.network import service
from isr_pipeline.simulation.produces import append_records, finish_produce, notice_bad_dir
from isr_pipeline.simulation.purgatory import complete, completion_read_over
from isr_pipeline.simulation.reads import s2_timer
from isr_pipeline.simulation.request_queue import can_take, dequeue, enqueue, handler_free
from isr_pipeline.simulation.responses import push_response, respond, start_senders
from isr_pipeline.simulation.shortcuts.depends import min_isr
from isr_pipeline.simulation.shortcuts.pending import note_pending
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_CLIENT,
    B_DIR_BAD_BASE,
    B_HANDLERS,
    B_IO_IDLE,
    B_PAUSED_UNTIL,
    B_PRODUCE,
    B_QLEN,
    B_SURGE_COST,
    B_UP,
    C_HALF_RTT,
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
    ERR_CONNECTION,
    ERR_NOT_ENOUGH,
    ERR_NOT_LEADER,
    ERR_STORAGE,
    G_NOW,
    K_LROW,
    K_SIZE,
    Q_ABANDONED,
    Q_ACKS_ALL,
    Q_BROKER,
    Q_BYTES,
    Q_DATA,
    Q_END,
    Q_ERR,
    Q_KIND,
    Q_OWNER,
    Q_PENDING,
    Q_RECORDS,
    Q_ROW,
    Q_SLOT,
    Q_STATE,
    QE_CLIENT,
    QE_SURGE,
    QS_HANDLING,
    QS_PURGATORY,
    QS_TO_OWNER,
    R_DIR,
    R_IS_LEADER,
    R_ISR,
    R_LEO,
    R_ONLINE,
    R_PART,
    REQ_FETCH,
    SEND_CLIENT,
    SEND_SURGE,
    T_FETCHED,
)
from isr_pipeline.simulation.world.queue import cancel, retire, schedule

PHASE_READ = 0


@compiled
def dispatch(w, rec, rules, b):
    """Give waiting requests to idle handlers."""
    while w[b + B_QLEN] > 0 and can_take(w, b):
        _take(w, rec, rules, b, dequeue(w, b))
        start_senders(w, b)


@compiled
def hand_in(w, rec, rules, b, code):
    """A request (as for `enqueue`) arrives alone: without a queue an idle handler takes it."""
    if w[b + B_QLEN] == 0 and can_take(w, b):
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
        schedule(w, w[d + D_SLOT], now + service(w, b, w[b + B_CLIENT]))
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
        fetch_steps(w, rec, rules, b, d)
    else:
        w[d + D_STATE] = DS_PRODUCE
        schedule(w, w[d + D_SLOT], now + service(w, b, w[b + B_PRODUCE]))


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
        notice_bad_dir(w, b, w[r + R_DIR])
        w[q + Q_ERR] = ERR_STORAGE
    elif append_refused(
        w[q + Q_ACKS_ALL] == 1,
        size_of(w[r + R_ISR]),
        min_isr(w, rules, w[r + R_PART]),
    ):
        w[q + Q_ERR] = ERR_NOT_ENOUGH
    if w[q + Q_ERR] != 0:
        w[d + D_REQ] = -1
        respond(w, rec, rules, b, q)
        handler_free(w, b, d)
        return
    if append_must_wait(w, r):
        w[d + D_STATE] = DS_PRODUCE_LOCK
        w[d + D_ROW] = r
        cancel(w, w[d + D_SLOT])
        return
    w[q + Q_END] = w[r + R_LEO] + w[q + Q_RECORDS]
    append_records(w, rec, rules, r, w[q + Q_RECORDS], w[q + Q_BYTES], w[q + Q_ACKS_ALL] == 1)
    if rules[ANSWERS_BEFORE_DELAYED] != 0:
        w[d + D_REQ] = -1
        finish_produce(w, rec, rules, b, q)
    w[d + D_STATE] = DS_COMPLETE
    w[d + D_ROW] = r
    w[d + D_POS] = 0
    w[d + D_CREQ] = -1
    complete(w, rec, rules, b, d)


@compiled
def _reading_row(w, d):
    """Row pointer of the leader replica that handler ``d`` reads at present."""
    q = w[d + D_CREQ] if w[d + D_STATE] == DS_COMPLETE else w[d + D_REQ]
    return w[w[w[q + Q_OWNER] + T_FETCHED] + w[d + D_IDX] * K_SIZE + K_LROW]


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
        s2_timer(w, rec, rules, _reading_row(w, d))
        return
    if state == DS_PRODUCE or state == DS_PRODUCE_LOCK:
        _produce_appends(w, rec, rules, b, d)
    elif state == DS_COMPLETE:
        completion_read_over(w, d)
        complete(w, rec, rules, b, d)
    elif state == DS_COMPLETE_LOCK:
        w[d + D_ROW] = w[d + D_SINCE]
        w[d + D_STATE] = DS_COMPLETE
        complete(w, rec, rules, b, d)
    elif state == DS_FETCH:
        fetch_read_over(w, rec, rules, b, d)
    elif state == DS_FETCH_AFTER:
        fetch_after_read(w, rec, rules, b, d)
    elif state == DS_RECORD_LOCK:
        w[d + D_STATE] = DS_FETCH
        w[d + D_ROW] = -1
        w[d + D_IDX] -= 1  # the caller had gone on to the next entry
        fetch_steps(w, rec, rules, b, d)
    elif state == DS_FETCH_LOCK:
        w[d + D_STATE] = DS_FETCH
        w[d + D_ROW] = -1
        fetch_steps(w, rec, rules, b, d)
    elif state == DS_EXPAND:
        lr = w[d + D_ROW]
        w[d + D_ROW] = -1
        w[d + D_STATE] = DS_FETCH
        finish_sync_write(w, rec, rules, lr)
        leave_lock(w, lr, LOCK_HELD)
        fetch_steps(w, rec, rules, b, d)
    elif state == DS_CLIENT:
        push_response(w, b, SEND_CLIENT)
        handler_free(w, b, d)
    elif state == DS_SURGE:
        push_response(w, b, SEND_SURGE)
        handler_free(w, b, d)
    else:
        cancel(w, w[d + D_SLOT])
    if w[b + B_QLEN] > 0:
        dispatch(w, rec, rules, b)


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
