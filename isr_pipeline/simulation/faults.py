"""Faults begin and end: what each kind does to the world at those moments.

Stalls, slow reads and slow appends need nothing here: an operation looks up the windows in which it
begins (`network.read_end`). Overlapping faults on one thing: the later end and the larger value
win, factors multiply.
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import end_read
from isr_pipeline.kafka.log_dirs import DirFailure, holds_metadata, on_dir_failure
from isr_pipeline.kafka.registration import is_refused, retry_after
from isr_pipeline.kafka.releases import Fetcher
from isr_pipeline.kafka.shutdown import FIRST_ASK_US, SHUTDOWN_LIMIT_US, must_wait
from isr_pipeline.simulation.clients import change_rate
from isr_pipeline.simulation.controller import (
    all_reported,
    await_reports,
    controller_back,
    controller_gone,
    dir_failed,
    elect_preferred,
    fence,
    hear,
    is_kraft,
    leads_any,
    leave_elr,
    move_away,
    plan_check,
    publish,
    publish_all_to,
)
from isr_pipeline.simulation.eligible import note_eligible
from isr_pipeline.simulation.follower import (
    clear_follower,
    forget_log_dir_failure,
    log_dir_fetcher_fails,
    reap_idle_threads,
    stop_leading,
)
from isr_pipeline.simulation.measures import (
    broker_index,
    count_dead,
    emit,
    rearm,
    refresh,
    row_of,
    touch,
)
from isr_pipeline.simulation.network import (
    MILLION,
    X_READ_STALL,
    X_SLOW_APPEND,
    X_SLOW_READ,
    distance,
    link,
)
from isr_pipeline.simulation.produces import append_records, notice_bad_dir
from isr_pipeline.simulation.purgatory import complete_without_handler
from isr_pipeline.simulation.shortcuts.depends import setting
from isr_pipeline.simulation.state import set_high_watermark, set_log_end
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_ALTER_ANSWERED,
    B_ALTER_DUE,
    B_ALTER_QUEUED,
    B_CPU,
    B_CRASH_UNCLEAN,
    B_DIR_BAD_BASE,
    B_DIRS_OK,
    B_EPOCH,
    B_FAULTS_ON,
    B_FENCE_AT,
    B_FENCED,
    B_HANDLERS,
    B_HB_PHASE,
    B_HEARTBEAT,
    B_IO,
    B_IO_IDLE,
    B_MD_DONE,
    B_MD_SENT,
    B_MDHEAD,
    B_MDTAIL,
    B_NET,
    B_PAUSED_UNTIL,
    B_QHEAD,
    B_QLEN,
    B_QTAIL,
    B_REGISTERED,
    B_SENDERS,
    B_SENDERS_BUSY,
    B_SESSION,
    B_SHEAD,
    B_SIZE,
    B_SLOT_ALTER,
    B_SLOT_DIR,
    B_SLOT_MD,
    B_SLOT_SESSION,
    B_SLOT_SURGE,
    B_SLOT_TICK,
    B_STAIL,
    B_STOPPING,
    B_SURGE_CONNS,
    B_SURGE_COST,
    B_SURGE_GATHERED,
    B_SURGE_K,
    B_SURGE_NEXT,
    B_SURGE_OUT,
    B_SURGE_PERIOD,
    B_THREAD0,
    B_THREADS,
    B_TICK_DUE,
    B_TICK_POS,
    B_TICK_STATE,
    B_UP,
    B_WALK,
    B_WALK_N,
    C_ALTER,
    C_HALF_RTT,
    D_REQ,
    D_ROW,
    D_SIZE,
    D_SLOT,
    D_STATE,
    DEP_SESSION,
    DIR_FAILS,
    DIR_NOTICED,
    DIR_SILENT,
    DIR_TOLD,
    DIR_UNTOLD,
    DIR_WORKS,
    DS_IDLE,
    E_OFFSET,
    E_SIZE,
    ERR_CONNECTION,
    EV_CTL_REMOVE,
    F_STOPPED,
    G_CTL_OUT_SINCE,
    G_CTL_OUT_UNTIL,
    G_CTL_RESUMED,
    G_NOW,
    H_BRK,
    H_BROKERS,
    H_FAULTS,
    H_FLT,
    H_FPART,
    H_PART,
    H_PARTITIONS,
    H_REQ,
    H_REQUESTS,
    H_ROW,
    H_ROWS,
    H_STR,
    H_STREAMS,
    H_WALK,
    INF,
    K_FROW,
    K_REC,
    K_SIZE,
    N_REQ,
    N_SIZE,
    N_SLOT,
    P_BURST_RECORDS,
    P_BYTES_PER_RECORD,
    P_ELR,
    P_ISR,
    P_LEADER,
    P_PEPOCH,
    P_PREFERRED,
    P_RF,
    P_SIZE,
    Q_ABANDONED,
    Q_BROKER,
    Q_ENT,
    Q_ERR,
    Q_KIND,
    Q_N,
    Q_OWNER,
    Q_PENDING,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QS_FREE,
    QS_TO_BROKER,
    QS_TO_OWNER,
    R_BROKER,
    R_DIR,
    R_EPOCHS,
    R_FSTATE,
    R_GONE,
    R_INJECT,
    R_INJECT_UNTIL,
    R_IS_LEADER,
    R_ITEM,
    R_LEADER,
    R_LEO,
    R_NEP,
    R_NEWEST,
    R_ONLINE,
    R_PART,
    R_PENDING,
    R_POS,
    R_READERS,
    R_RESIGN,
    R_SIZE,
    R_WRITER,
    REQ_FETCH,
    S_PART,
    S_SIZE,
    SEND_NONE,
    T_FETCHED,
    T_FOLLOWER,
    T_HOLD,
    T_REQ,
    T_SLOT,
    T_STATE,
    TS_DEAD,
    TS_DOWN,
    X_ALL_PARTS,
    X_ARG,
    X_ARG2,
    X_ASKED,
    X_BOTH,
    X_BROKER,
    X_DIR,
    X_DROP,
    X_END,
    X_ERROR,
    X_FETCHER,
    X_FROM,
    X_KIND,
    X_LOAD,
    X_LOADED,
    X_ONCE,
    X_PART,
    X_RETRY,
    X_SIZE,
    X_SLOT,
    X_START,
    X_STATE,
    X_TO,
    X_TRIES,
    X_VALUE,
)
from isr_pipeline.simulation.world.queue import cancel, schedule

# Numbers of the kinds (X_KIND); `network` has those of disk and log.
X_PAUSE = 4
X_CPU = 5
X_LINK = 6
X_CRASH = 7
X_CONTROLLED = 8
X_LOG_DIR = 9
X_OUTAGE = 10
X_BURST = 11
X_RATE = 12
X_SURGE = 13
X_PARTITION_ERROR = 14
X_STOP_REPLICA = 15
X_PREFERRED = 16
X_BOOTSTRAP = 17

_LEGACY = int(Fetcher.LEGACY)
_HALTS = int(DirFailure.HALTS)
_TOLD = int(DirFailure.TOLD)


@compiled
def _partition_touched(w, fault, p_index):
    """Whether fault number ``fault`` names the partition."""
    x = w[H_FLT] + fault * X_SIZE
    return w[x + X_ALL_PARTS] == 1 or w[w[H_FPART] + fault * w[H_PARTITIONS] + p_index] == 1


@compiled
def _row_here(w, p, b):
    """Row pointer of the replica of ``p`` on broker ``b``, -1 if there is none."""
    for pos in range(w[p + P_RF]):
        r = row_of(w, p, pos)
        if w[r + R_BROKER] == b:
            return r
    return -1


@compiled
def _refresh_led_by(w, rules, b):
    """Broker ``b`` stops, pauses or goes on: its partitions' availability changes."""
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        leader = w[p + P_LEADER]
        if leader >= 0 and w[row_of(w, p, leader) + R_BROKER] == b:
            refresh(w, rules, p)


# ------------------------------------------------------------------ detection delay


@compiled
def _rearm_all(w):
    """A fault begins or ends: followers may be overdue from another moment on."""
    for i in range(w[H_ROWS]):
        rearm(w, w[H_ROW] + i * R_SIZE)


# ------------------------------------------------------------------ a broker stops and returns


@compiled
def _drop_connections(w, b):
    """Broker ``b`` has died: clients that wait for its answer see a reset connection."""
    for i in range(w[H_REQUESTS]):
        q = w[H_REQ] + i * Q_SIZE
        if w[q + Q_STATE] == QS_FREE:
            continue
        mine = w[q + Q_KIND] == REQ_FETCH and w[w[q + Q_OWNER] + T_FOLLOWER] == b
        if mine:
            w[q + Q_ABANDONED] = 1
        if w[q + Q_BROKER] == b and w[q + Q_STATE] not in (QS_TO_BROKER, QS_TO_OWNER):
            w[q + Q_ERR] = ERR_CONNECTION
            w[q + Q_STATE] = QS_TO_OWNER
            w[q + Q_PENDING] = 0
            schedule(w, w[q + Q_SLOT], w[G_NOW] + w[C_HALF_RTT])


@compiled
def stop_broker(w, rules, b):
    """The process of broker ``b`` ends: the log stays, everything in memory is gone."""
    w[b + B_UP] = 0
    w[b + B_PAUSED_UNTIL] = 0
    w[b + B_REGISTERED] = 0
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        if w[r + R_IS_LEADER] == 1:
            w[r + R_IS_LEADER] = 0
        w[r + R_PENDING] = 0
        w[r + R_ITEM] = 0
        w[r + R_RESIGN] = 0
        w[r + R_READERS] = 0
        w[r + R_WRITER] = 0
        w[r + R_LEADER] = -1
        clear_follower(w, r, False)
        forget_log_dir_failure(w, r, False, True)
    _drop_connections(w, b)
    d = w[b + B_HANDLERS]
    for _ in range(w[b + B_IO]):
        w[d + D_STATE] = DS_IDLE
        w[d + D_REQ] = -1
        w[d + D_ROW] = -1
        cancel(w, w[d + D_SLOT])
        d += D_SIZE
    w[b + B_IO_IDLE] = w[b + B_IO]
    n = w[b + B_SENDERS]
    for _ in range(w[b + B_NET]):
        w[n + N_REQ] = SEND_NONE
        cancel(w, w[n + N_SLOT])
        n += N_SIZE
    w[b + B_SENDERS_BUSY] = 0
    w[b + B_QHEAD] = 0
    w[b + B_QTAIL] = 0
    w[b + B_QLEN] = 0
    w[b + B_SHEAD] = 0
    w[b + B_STAIL] = 0
    w[b + B_MDHEAD] = 0
    w[b + B_MDTAIL] = 0
    w[b + B_MD_DONE] = w[b + B_MD_SENT]
    w[b + B_SURGE_OUT] = 0
    w[b + B_SURGE_GATHERED] = 0
    w[b + B_TICK_POS] = -1
    w[b + B_TICK_STATE] = 0
    w[b + B_ALTER_DUE] = INF
    w[b + B_ALTER_ANSWERED] = 0
    w[b + B_ALTER_QUEUED] = 0
    cancel(w, w[b + B_SLOT_TICK])
    cancel(w, w[b + B_SLOT_ALTER])
    cancel(w, w[b + B_SLOT_MD])
    for i in range(w[b + B_THREAD0], w[b + B_THREAD0] + w[b + B_THREADS]):
        t = w[i]
        if w[t + T_STATE] == TS_DEAD:
            count_dead(w, -1)
        w[t + T_STATE] = TS_DOWN
        w[t + T_REQ] = -1
        w[t + T_HOLD] = 0
        cancel(w, w[t + T_SLOT])
    _refresh_led_by(w, rules, b)
    hear(w, rules, b)


@compiled
def start_broker(w, rules, b):
    """Broker ``b`` is back: registered, told all its partitions, unfenced a little later."""
    w[b + B_UP] = 1
    w[b + B_STOPPING] = 0
    w[b + B_REGISTERED] = 1
    note_eligible(w)
    w[b + B_EPOCH] += 1
    w[b + B_HB_PHASE] = w[G_NOW]
    w[b + B_TICK_POS] = -1
    w[b + B_TICK_STATE] = 0
    w[b + B_TICK_DUE] = w[G_NOW]
    schedule(w, w[b + B_SLOT_TICK], w[G_NOW])
    fence(w, rules, b, True)  # a new registration ends whatever is left of the old one
    if w[b + B_CRASH_UNCLEAN] == 1:
        leave_elr(w, rules, b)
    publish_all_to(w, b)
    _refresh_led_by(w, rules, b)
    hear(w, rules, b)


# ------------------------------------------------------------------ log dirs


@compiled
def dir_fires(w, rec, rules, b):
    """What follows from the failed log dirs of broker ``b``, 50 ms after one was noticed.

    Its replicas there are offline at once; to tell the controller it needs a way to it.
    """
    cancel(w, w[b + B_SLOT_DIR])
    if w[b + B_UP] == 0:
        return  # its next start finds them
    if w[b + B_PAUSED_UNTIL] > w[G_NOW]:
        schedule(w, w[b + B_SLOT_DIR], w[b + B_PAUSED_UNTIL])
        return
    for log_dir in range(8):
        place = b + B_DIR_BAD_BASE + log_dir
        if w[place] == DIR_NOTICED:
            what = _dir_lost(w, rules, b, log_dir, DIR_UNTOLD)
            _take_offline(w, rec, rules, b, log_dir)
            if what == _HALTS:
                _halt(w, rules, b)
                return
        if w[place] == DIR_UNTOLD:
            to_controller = w[link(w, broker_index(w, b), w[H_BROKERS]) + 1]
            told = max(w[G_CTL_OUT_UNTIL], to_controller)
            if told > w[G_NOW]:
                schedule(w, w[b + B_SLOT_DIR], told)
            else:
                w[place] = DIR_TOLD
                dir_failed(w, rules, b, log_dir)


@compiled
def _dir_lost(w, rules, b, log_dir, told):
    """A log dir is gone for good; what that does to the broker. ``told``: the state if it tells."""
    what = on_dir_failure(rules, log_dir, w[b + B_DIRS_OK] - 1)
    w[b + B_DIR_BAD_BASE + log_dir] = told if what == _TOLD else DIR_SILENT
    w[b + B_DIRS_OK] -= 1
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        if w[r + R_DIR] == log_dir:
            w[r + R_ONLINE] = 0
            w[r + R_GONE] = 1
    return what


@compiled
def _dirs_found_at_start(w, rules, b):
    """A process that starts finds its failed log dirs, and may not start without one.

    A registration names those that work.
    """
    for log_dir in range(8):
        place = b + B_DIR_BAD_BASE + log_dir
        if w[place] == DIR_UNTOLD:
            w[place] = DIR_TOLD
        elif w[place] in (DIR_FAILS, DIR_NOTICED):
            if _dir_lost(w, rules, b, log_dir, DIR_TOLD) == _HALTS:
                w[b + B_DIRS_OK] = 0


@compiled
def _take_offline(w, rec, rules, b, log_dir):
    """Replicas of broker ``b`` in a failed log dir neither lead nor follow any longer."""
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        if w[r + R_DIR] == log_dir:
            stop_leading(w, rec, rules, r)
            clear_follower(w, r, True)  # the log-dir failure handler takes it off the thread
            refresh(w, rules, w[r + R_PART])


@compiled
def _halt(w, rules, b):
    """The process of broker ``b`` ends as by a kill; it does not start on a dead disk."""
    w[b + B_DIRS_OK] = 0
    if w[b + B_UP] == 1:
        w[b + B_CRASH_UNCLEAN] = 1
        stop_broker(w, rules, b)
        _rearm_all(w)


# ------------------------------------------------------------------ windows


@compiled
def _cpu_factor(w, b):
    """Product of the CPU factors in force on broker ``b``, in millionths."""
    factor = MILLION
    for i in range(w[H_FAULTS]):
        x = w[H_FLT] + i * X_SIZE
        if w[x + X_KIND] == X_CPU and w[x + X_BROKER] == b and w[x + X_STATE] == 1:
            factor = factor * w[x + X_VALUE] // MILLION
    w[b + B_CPU] = max(1, factor)


@compiled
def _relink(w, a, c):
    """Latency and drop of the link from node ``a`` to node ``c``: the largest in force.

    What the racks' distance adds is always in force.
    """
    latency = 0
    drop_until = 0
    for i in range(w[H_FAULTS]):
        x = w[H_FLT] + i * X_SIZE
        if w[x + X_KIND] != X_LINK or w[x + X_STATE] != 1:
            continue
        if (w[x + X_FROM] == a and w[x + X_TO] == c) or (
            w[x + X_BOTH] == 1 and w[x + X_FROM] == c and w[x + X_TO] == a
        ):
            latency = max(latency, w[x + X_VALUE])
            if w[x + X_DROP] == 1:
                drop_until = max(drop_until, w[x + X_END])
    place = link(w, a, c)
    w[place] = latency + distance(w, a, c)
    w[place + 1] = drop_until


@compiled
def _link_changes(w, rules, x):
    """A link fault begins or ends."""
    a = w[x + X_FROM]
    c = w[x + X_TO]
    _relink(w, a, c)
    _relink(w, c, a)
    ctl = w[H_BROKERS]
    for node in (a, c):
        if node != ctl and (a == ctl or c == ctl):
            hear(w, rules, w[H_BRK] + node * B_SIZE)


@compiled
def _rate_changes(w, fault):
    """A change of the produce rate begins or ends: factors multiply."""
    for k in range(w[H_STREAMS]):
        s = w[H_STR] + k * S_SIZE
        p_index = (w[s + S_PART] - w[H_PART]) // P_SIZE
        if not _partition_touched(w, fault, p_index):
            continue
        factor = MILLION
        for i in range(w[H_FAULTS]):
            x = w[H_FLT] + i * X_SIZE
            if (
                w[x + X_KIND] == X_RATE
                and w[x + X_STATE] == 1
                and _partition_touched(w, i, p_index)
            ):
                factor = factor * w[x + X_VALUE] // MILLION
        change_rate(w, s, factor)


@compiled
def _surge_changes(w, x, begins):
    """A surge of client requests begins or ends on a broker."""
    b = w[x + X_BROKER]
    if begins:
        w[b + B_SURGE_PERIOD] = w[x + X_ARG]
        w[b + B_SURGE_COST] = w[x + X_VALUE]
        w[b + B_SURGE_CONNS] = w[x + X_ARG2]
        w[b + B_SURGE_K] = 0
        w[b + B_SURGE_NEXT] = w[G_NOW]
        schedule(w, w[b + B_SLOT_SURGE], w[G_NOW])
    else:
        w[b + B_SURGE_PERIOD] = 0
        w[b + B_SURGE_GATHERED] = 0
        w[b + B_SURGE_NEXT] = INF


@compiled
def _pause(w, rules, x, begins):
    """SIGSTOP and SIGCONT: what fell due meanwhile happens at once, ticks first."""
    b = w[x + X_BROKER]
    if w[b + B_UP] == 0:
        return
    if begins:
        w[b + B_PAUSED_UNTIL] = max(w[b + B_PAUSED_UNTIL], w[x + X_END])
        hear(w, rules, b)
    elif w[b + B_PAUSED_UNTIL] <= w[G_NOW]:
        w[b + B_PAUSED_UNTIL] = 0
        w[b + B_HB_PHASE] = w[G_NOW]
        hear(w, rules, b)
    _refresh_led_by(w, rules, b)


# ------------------------------------------------------------------ single moments


@compiled
def _burst(w, rec, rules, x):
    """Records are appended at once to the leader of a partition, by no request."""
    p = w[H_PART] + w[x + X_PART] * P_SIZE
    leader = w[p + P_LEADER]
    if leader < 0:
        return
    r = row_of(w, p, leader)
    b = w[r + R_BROKER]
    if w[b + B_UP] == 0 or w[r + R_IS_LEADER] == 0 or w[r + R_ONLINE] == 0:
        return
    left = w[x + X_VALUE]
    while left > 0:
        records = min(left, w[p + P_BURST_RECORDS])
        append_records(w, rec, rules, r, records, records * w[p + P_BYTES_PER_RECORD], False)
        left -= records
    complete_without_handler(w, r)


@compiled
def _partition_error(w, rules, x):
    """The next append (or answer) of one follower fails; or all in a window."""
    p = w[H_PART] + w[x + X_PART] * P_SIZE
    r = _row_here(w, p, w[x + X_BROKER])
    if r < 0:
        return
    if w[x + X_FETCHER] == 1:
        if w[w[x + X_BROKER] + B_UP] == 1:
            log_dir_fetcher_fails(w, rules, r, w[x + X_ERROR])
        return
    w[r + R_INJECT] = w[x + X_ERROR]
    w[r + R_INJECT_UNTIL] = 0 if w[x + X_ONCE] == 1 else w[x + X_END]
    touch(w, r)


@compiled
def _stop_replica(w, x):
    """StopReplica on a follower: not fetched until a new leader epoch, and un-failed."""
    p = w[H_PART] + w[x + X_PART] * P_SIZE
    r = _row_here(w, p, w[x + X_BROKER])
    if r < 0 or w[w[x + X_BROKER] + B_UP] == 0 or w[r + R_IS_LEADER] == 1:
        return
    clear_follower(w, r, True)
    forget_log_dir_failure(w, r, True, False)
    w[r + R_FSTATE] = F_STOPPED
    touch(w, r)
    reap_idle_threads(w, w[x + X_BROKER])


@compiled
def _withdraw_fetches(w, rec, rules, r):
    """Withdraw in-flight fetches of ``r``: they describe the log it had before it was reset."""
    for i in range(w[H_REQUESTS]):
        q = w[H_REQ] + i * Q_SIZE
        if w[q + Q_KIND] != REQ_FETCH or w[q + Q_STATE] == QS_FREE:
            continue
        fetched = w[w[q + Q_OWNER] + T_FETCHED]
        for k in range(w[q + Q_N]):
            e = w[q + Q_ENT] + k * E_SIZE
            if w[fetched + k * K_SIZE + K_FROW] == r and w[e + E_OFFSET] >= 0:
                if w[q + Q_PENDING] != 0:
                    end_read(rules, rec, w[fetched + k * K_SIZE + K_REC], w[e + E_OFFSET])
                w[e + E_OFFSET] = -1


@compiled
def _bootstrap(w, rec, rules, x):
    """A follower begins anew, so many records behind: neither in the ISR nor in the ELR.

    A replica that leads, or does not know yet that it leads no longer, is no follower.
    """
    p = w[H_PART] + w[x + X_PART] * P_SIZE
    r = _row_here(w, p, w[x + X_BROKER])
    leader = w[p + P_LEADER]
    if r < 0 or leader < 0 or leader == w[r + R_POS] or w[r + R_IS_LEADER] == 1:
        return
    me = 1 << w[r + R_POS]
    member = w[p + P_ISR] & me
    w[p + P_ISR] &= ~me
    w[p + P_ELR] &= ~me
    w[p + P_PEPOCH] += 1  # also where it was no member: a return under way must not count
    if member:
        emit(w, EV_CTL_REMOVE, p, -1, -1, me)
        refresh(w, rules, p)
    publish(w, p)
    _withdraw_fetches(w, rec, rules, r)
    set_log_end(w, r, w[row_of(w, p, leader) + R_LEO] - w[x + X_VALUE])
    set_high_watermark(w, r, w[r + R_LEO])
    w[r + R_NEP] = 1
    w[r + R_NEWEST] = w[w[r + R_EPOCHS]]
    touch(w, r)


@compiled
def _outage(w, rules, x, begins):
    """The controller goes away, or comes back."""
    if begins:
        if w[G_CTL_OUT_UNTIL] <= w[G_NOW]:
            w[G_CTL_OUT_SINCE] = w[G_NOW]
            controller_gone(w)
        w[G_CTL_OUT_UNTIL] = max(w[G_CTL_OUT_UNTIL], w[x + X_END])
        w[G_CTL_RESUMED] = w[x + X_ARG]
    elif w[G_CTL_OUT_UNTIL] <= w[G_NOW]:
        w[G_CTL_OUT_UNTIL] = 0
        controller_back(w, rules, w[x + X_ARG])


# ------------------------------------------------------------------ a fault's slot


@compiled
def _window(w, rules, fault, x, begins):
    """A window opens or closes."""
    kind = w[x + X_KIND]
    if kind == X_PAUSE:
        _pause(w, rules, x, begins)
    elif kind == X_CPU:
        _cpu_factor(w, w[x + X_BROKER])
    elif kind == X_LINK:
        _link_changes(w, rules, x)
    elif kind == X_RATE:
        _rate_changes(w, fault)
    elif kind == X_SURGE:
        _surge_changes(w, x, begins)
    elif kind == X_OUTAGE:
        _outage(w, rules, x, begins)
    elif kind in (X_READ_STALL, X_SLOW_READ, X_SLOW_APPEND):
        w[w[x + X_BROKER] + B_FAULTS_ON] += 1 if begins else -1
    if kind in (X_PAUSE, X_CPU, X_LINK, X_SLOW_APPEND):
        _rearm_all(w)


@compiled
def _moment(w, rec, rules, x):
    """A fault without a window happens."""
    kind = w[x + X_KIND]
    if kind == X_BURST:
        _burst(w, rec, rules, x)
    elif kind == X_PARTITION_ERROR:
        _partition_error(w, rules, x)
    elif kind == X_STOP_REPLICA:
        _stop_replica(w, x)
    elif kind == X_BOOTSTRAP:
        _bootstrap(w, rec, rules, x)
    elif kind == X_PREFERRED:
        p = w[H_PART] + w[x + X_PART] * P_SIZE
        if w[x + X_ARG] >= 0:
            w[p + P_PREFERRED] = w[x + X_ARG]
        if w[G_CTL_OUT_UNTIL] > w[G_NOW]:
            w[x + X_STATE] = 0
            schedule(w, w[x + X_SLOT], w[G_CTL_OUT_UNTIL])
            return
        elect_preferred(w, rules, p)
        plan_check(w, rules)
    elif kind == X_LOG_DIR:
        b = w[x + X_BROKER]
        place = b + B_DIR_BAD_BASE + w[x + X_DIR]
        if w[place] == DIR_WORKS:
            w[place] = DIR_FAILS
            if holds_metadata(rules, w[x + X_DIR]) and w[b + B_UP] == 1:
                notice_bad_dir(w, b, w[x + X_DIR])  # the metadata log is written all the time
            _rearm_all(w)


@compiled
def _crash(w, rules, fault, x):
    """Kill -9, and the return: X_STATE 0 kills, 1 starts again."""
    b = w[x + X_BROKER]
    if w[x + X_STATE] == 0:
        w[x + X_STATE] = 1
        w[b + B_REGISTERED] = 0
        if w[b + B_UP] == 1:
            w[b + B_CRASH_UNCLEAN] = 1
            stop_broker(w, rules, b)
        _rearm_all(w)
        if w[x + X_ARG] >= 0:
            schedule(w, w[x + X_SLOT], w[x + X_START] + w[x + X_ARG])
        else:
            cancel(w, w[x + X_SLOT])
        return
    _come_back(w, rules, fault, x)


@compiled
def _come_back(w, rules, fault, x):
    """A stopped broker starts again, unless the controller or another fault keeps it down."""
    b = w[x + X_BROKER]
    if 0 < w[G_NOW] <= w[G_CTL_OUT_UNTIL]:  # at its very end sessions may begin anew
        schedule(w, w[x + X_SLOT], max(w[G_CTL_OUT_UNTIL], w[G_NOW] + 1))
        return
    returns = w[b + B_UP] == 0 and not _another_return(w, fault, b)
    if returns:
        _dirs_found_at_start(w, rules, b)
        returns = w[b + B_DIRS_OK] > 0
    loading = w[b + B_REGISTERED] == 1  # KRaft's: let in already
    if returns and not loading and (_loads_first(w, rules, x, b) or _refused(w, rules, x, b)):
        return
    if returns and _loads_later(w, rules, x, b):
        return
    w[x + X_STATE] = 3
    cancel(w, w[x + X_SLOT])
    if returns:
        start_broker(w, rules, b)
    _rearm_all(w)


@compiled
def _another_return(w, fault, b):
    """Whether another fault keeps broker ``b`` down: the later end wins."""
    for i in range(w[H_FAULTS]):
        y = w[H_FLT] + i * X_SIZE
        if i != fault and w[y + X_BROKER] == b and w[y + X_STATE] in (1, 2):
            if w[y + X_KIND] in (X_CRASH, X_CONTROLLED):
                return True
    return False


@compiled
def _loads(w, x, b):
    """Whether the process that starts has to load its logs now; plans the end of that."""
    if w[x + X_LOADED] == 1 or w[x + X_LOAD] == 0:
        return False
    w[x + X_LOADED] = 1
    w[x + X_END] = min(w[G_NOW] + w[x + X_LOAD] * w[b + B_WALK_N], INF)
    schedule(w, w[x + X_SLOT], w[x + X_END])
    return True


@compiled
def _loads_first(w, rules, x, b):
    """Under ZooKeeper a broker loads its logs before it registers."""
    return not is_kraft(rules) and _loads(w, x, b)


@compiled
def _loads_later(w, rules, x, b):
    """Under KRaft it registers first, which ends its old session, and is unfenced afterwards."""
    if not is_kraft(rules) or not _loads(w, x, b):
        return False
    w[b + B_REGISTERED] = 1
    fence(w, rules, b, True)
    cancel(w, w[b + B_SLOT_SESSION])  # what was left of the old session is over
    if w[b + B_CRASH_UNCLEAN] == 1:
        leave_elr(w, rules, b)
    return True


@compiled
def _refused(w, rules, x, b):
    """Whether the controller refuses the registration of broker ``b``; plans its next try."""
    now = w[G_NOW]
    fenced = w[b + B_FENCED] == 1
    killed = w[x + X_KIND] == X_CRASH and w[b + B_CRASH_UNCLEAN] == 1
    if not is_refused(rules, fenced, w[b + B_FENCE_AT], now, killed):
        return False
    session = setting(w, b + B_SESSION, DEP_SESSION)
    wait = retry_after(rules, w[x + X_TRIES], w[b + B_HEARTBEAT], session, w[x + X_RETRY])
    w[x + X_TRIES] += 1
    w[x + X_LOADED] = 0  # under ZooKeeper another process begins anew
    w[x + X_END] = now + wait if wait >= 0 else INF
    schedule(w, w[x + X_SLOT], w[x + X_END])
    return True


@compiled
def _wants_to_go(w, rules, x, b):
    """Broker ``b`` asks for a controlled shutdown: its leads move."""
    now = w[G_NOW]
    led = leads_any(w, b)
    w[b + B_STOPPING] = 1
    w[x + X_ASKED] = -1
    note_eligible(w)
    if must_wait(rules, led):
        move_away(w, rules, b)
        await_reports(w, b)
        w[x + X_ASKED] = now
        # the first answer comes when the move is committed
        schedule(w, w[x + X_SLOT], now + w[C_ALTER] + FIRST_ASK_US)
    elif is_kraft(rules):
        _may_go(w, rules, x, b)
    else:
        move_away(w, rules, b)
        schedule(w, w[x + X_SLOT], max(now, w[x + X_START] + w[x + X_ARG2]))


@compiled
def _may_go(w, rules, x, b):
    """The controller fences broker ``b``, which stops; the heartbeat that asked is its last."""
    w[b + B_HB_PHASE] = w[G_NOW]
    fence(w, rules, b, True)
    _goes(w, rules, x, b)


@compiled
def _goes(w, rules, x, b):
    """Broker ``b`` serves and fetches no longer; back when its logs are closed, or later."""
    w[x + X_ASKED] = -1
    w[x + X_STATE] = 2
    stop_broker(w, rules, b)
    _plan_return(w, x, w[G_NOW] + w[x + X_ARG2])


@compiled
def _plan_return(w, x, stopped):
    """The process of a controlled restart ends at ``stopped``: when it starts again."""
    back = max(stopped, w[x + X_START] + w[x + X_ARG])
    w[x + X_END] = back
    schedule(w, w[x + X_SLOT], back)


@compiled
def _asks_to_go(w, rules, x, b):
    """Broker ``b``, whose leads have moved, asks once more whether it may go."""
    now = w[G_NOW]
    to_controller = w[link(w, broker_index(w, b), w[H_BROKERS]) + 1]
    hindered = max(max(w[b + B_PAUSED_UNTIL], to_controller), w[G_CTL_OUT_UNTIL])
    limit = w[x + X_ASKED] + SHUTDOWN_LIMIT_US
    if now >= limit and w[b + B_PAUSED_UNTIL] <= now:
        _goes(w, rules, x, b)  # without leave
    elif hindered > now:
        then = max(w[b + B_PAUSED_UNTIL], min(hindered, limit))
        schedule(w, w[x + X_SLOT], then + 1)  # when it is over: a controller may begin anew
    elif w[b + B_FENCED] == 1 or all_reported(w, b):
        _may_go(w, rules, x, b)
    else:
        schedule(w, w[x + X_SLOT], min(now + w[b + B_HEARTBEAT], limit))


@compiled
def _controlled(w, rules, fault, x):
    """Controlled restart: 0 wants to go, 1 asks again or (ZooKeeper) stops, 2 starts again."""
    b = w[x + X_BROKER]
    if w[x + X_STATE] == 0:
        if w[b + B_UP] == 0:
            w[x + X_STATE] = 3
            cancel(w, w[x + X_SLOT])
            return
        if w[G_CTL_OUT_UNTIL] > w[G_NOW]:
            schedule(w, w[x + X_SLOT], w[G_CTL_OUT_UNTIL])
            return
        w[x + X_STATE] = 1
        _wants_to_go(w, rules, x, b)
        _rearm_all(w)
    elif w[x + X_STATE] == 1:
        if w[x + X_ASKED] >= 0 and w[b + B_UP] == 1:
            _asks_to_go(w, rules, x, b)
            return
        w[x + X_STATE] = 2
        if w[b + B_UP] == 1:
            stop_broker(w, rules, b)
            if w[G_CTL_OUT_UNTIL] <= w[G_NOW]:
                fence(w, rules, b, True)
        _plan_return(w, x, w[G_NOW])
    else:
        _come_back(w, rules, fault, x)


@compiled
def fault_fires(w, rec, rules, fault):
    """The begin or the end of a fault."""
    x = w[H_FLT] + fault * X_SIZE
    kind = w[x + X_KIND]
    if kind == X_CRASH:
        _crash(w, rules, fault, x)
    elif kind == X_CONTROLLED:
        _controlled(w, rules, fault, x)
    elif w[x + X_END] > w[x + X_START] and kind != X_PARTITION_ERROR:
        if w[x + X_STATE] == 0:
            w[x + X_STATE] = 1
            schedule(w, w[x + X_SLOT], w[x + X_END])
            _window(w, rules, fault, x, True)
        else:
            w[x + X_STATE] = 3
            cancel(w, w[x + X_SLOT])
            _window(w, rules, fault, x, False)
    else:
        w[x + X_STATE] = 1
        cancel(w, w[x + X_SLOT])
        _moment(w, rec, rules, x)
