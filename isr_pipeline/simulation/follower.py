"""A broker as follower: fetcher threads, appends, KIP-461; and what metadata records do to it.

One thread for each (leader broker, fetcher id), one outstanding request each. What a partition's
failure does to its thread is the rules' matter (`kafka.fetcher.reaction`).
"""

from __future__ import annotations

from isr_pipeline.kafka.fetcher import Error, Reaction, reaction
from isr_pipeline.kafka.releases import (
    BACKOFF_NONE,
    DOUBLE_BACKOFF,
    FETCH_NAMES_EPOCH,
    IO_ERROR_HALTS,
    TRUNCATE_TO_HW,
    Reset,
)
from isr_pipeline.kafka.replica import create, reset, resets_records
from isr_pipeline.kafka.shutdown import stops_fetching
from isr_pipeline.simulation.controller import note_applied
from isr_pipeline.simulation.leader import (
    LOCK_METADATA_WAIT,
    LOCK_TICK_WAITS,
    answer_produces,
    leads_officially,
    leave_lock,
    lock_is_busy,
    raise_hw,
    record_base,
)
from isr_pipeline.simulation.log import add_epoch, copy_epochs, cut_log, lose_from
from isr_pipeline.simulation.measures import (
    broker_index,
    count_dead,
    count_failed,
    count_untracked,
    emit,
    rearm,
    row_of,
    watch_detection_delay,
    weight_of,
)
from isr_pipeline.simulation.network import append_end, transit
from isr_pipeline.simulation.produces import notice_bad_dir
from isr_pipeline.simulation.purgatory import complete_without_handler
from isr_pipeline.simulation.shortcuts.depends import note
from isr_pipeline.simulation.shortcuts.dirty import (
    clear_if_heard,
    is_validated,
    mark_all_dirty,
    next_dirty,
    place_in_thread,
    thread_of,
)
from isr_pipeline.simulation.state import set_high_watermark, set_isr, set_log_end
from isr_pipeline.simulation.world.jit import compiled, hot
from isr_pipeline.simulation.world.layout import (
    B_BACKOFF,
    B_DIR_BAD_BASE,
    B_MD_DONE,
    B_MDBASE,
    B_MDCAP,
    B_MDHEAD,
    B_MDTAIL,
    B_PAUSED_UNTIL,
    B_SLOT_MD,
    B_SLOT_TICK,
    B_SOCKET_TIMEOUT,
    B_STOPPING,
    B_THREAD0,
    B_THREADS,
    DEP_FETCHER,
    DIR_FAILS,
    E_END,
    E_EPOCH,
    E_ERR,
    E_HW,
    E_OFFSET,
    E_SIZE,
    ERR_CONNECTION,
    ERR_DIVERGING,
    ERR_FENCED_EPOCH,
    ERR_NONE,
    EV_FAILED,
    EV_THREAD_DIED,
    EV_THREAD_STOPPED,
    EV_UNFAILED,
    F_DEAD,
    F_DELAYED,
    F_FAILED,
    F_FETCHING,
    F_NONE,
    F_STOPPED,
    G_NOW,
    G_RARE,
    H_MD,
    INF,
    K_FROW,
    K_HW,
    K_LROW,
    K_SIZE,
    M_DUE,
    M_FULL,
    M_ISR,
    M_LEADER,
    M_LEPOCH,
    M_PART,
    M_PEPOCH,
    M_SIZE,
    P_RF,
    Q_ABANDONED,
    Q_BROKER,
    Q_ENT,
    Q_ERR,
    Q_N,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    Q_VALIDATED,
    QS_FREE,
    QS_TO_BROKER,
    R_BROKER,
    R_DELAY_UNTIL,
    R_DIR,
    R_EPOCH,
    R_EPOCH_START,
    R_FSTATE,
    R_HW,
    R_INJECT,
    R_INJECT_UNTIL,
    R_IS_LEADER,
    R_ISR,
    R_LEADER,
    R_LEO,
    R_LOGDIR_FAILED,
    R_NEED_TRUNC,
    R_ONLINE,
    R_PART,
    R_PENDING,
    R_PEPOCH,
    R_POS,
    R_RESIGN,
    R_TOUCH_FROM,
    R_WRITER,
    REQS_PER_THREAD,
    T_FETCHED,
    T_FETCHED_COUNT,
    T_FOLLOWER,
    T_HOLD,
    T_IDX,
    T_LEADER,
    T_REQ,
    T_REQ0,
    T_SLOT,
    T_STATE,
    T_USED,
    T_VALIDATED,
    T_WAY,
    TS_APPENDING,
    TS_BACKOFF,
    TS_DEAD,
    TS_DOWN,
    TS_IDLE,
    TS_WAITING,
)
from isr_pipeline.simulation.world.queue import cancel, retire, schedule

_FAIL = int(Reaction.FAIL)
_DELAY = int(Reaction.DELAY)
_THREAD_DIES = int(Reaction.THREAD_DIES)
_DROP = int(Reaction.DROP)
_CORRUPT = int(Error.CORRUPT_RECORD)
_FENCED = int(Error.FENCED_EPOCH)
_STORAGE = int(Error.STORAGE)
_LEADER_EPOCH = int(Reset.LEADER_EPOCH)


# ------------------------------------------------------------------ a follower partition's state


@compiled
def set_failed(w, r):
    """The fetcher gives the partition up (KIP-461): failed, and counted so."""
    w[r + R_FSTATE] = F_FAILED
    count_failed(w, weight_of(w, r))
    emit(w, EV_FAILED, w[r + R_PART], broker_index(w, w[r + R_BROKER]), -1, 0)


@compiled
def clear_follower(w, r, announce):
    """The replica is not fetched any longer; a failed one is un-failed by that."""
    if w[r + R_FSTATE] == F_FAILED:
        count_failed(w, -weight_of(w, r))
        if announce:
            emit(w, EV_UNFAILED, w[r + R_PART], broker_index(w, w[r + R_BROKER]), -1, 0)
    elif w[r + R_FSTATE] == F_DEAD:
        count_untracked(w, -weight_of(w, r))
    w[r + R_FSTATE] = F_NONE


@compiled
def log_dir_fetcher_fails(w, rules, r, error):
    """The log-dir mover of ``r`` (ReplicaAlterLogDirs) meets an error.

    It reacts as the release's replica fetcher does, but neither that nor the ISR notices. What is
    only delayed, or dropped silently, leaves no trace.
    """
    if w[r + R_LOGDIR_FAILED] != 0:
        return
    note(w, DEP_FETCHER)
    what = reaction(rules, error)
    node = broker_index(w, w[r + R_BROKER])
    if what == _FAIL:
        w[r + R_LOGDIR_FAILED] = 1
        count_failed(w, weight_of(w, r))
        emit(w, EV_FAILED, w[r + R_PART], node, -1, 0)
    elif what == _THREAD_DIES:
        w[r + R_LOGDIR_FAILED] = 2
        count_dead(w, 1)
        emit(w, EV_THREAD_DIED, -1, node, -1, 0)


@compiled
def forget_log_dir_failure(w, r, announce, stopped):
    """A new leader epoch, StopReplica or the broker's end un-fails what the log-dir mover gave up.

    ``stopped``: the broker's process ends, and a dead thread with it; otherwise that stays dead.
    """
    if w[r + R_LOGDIR_FAILED] == 1:
        w[r + R_LOGDIR_FAILED] = 0
        count_failed(w, -weight_of(w, r))
        if announce:
            emit(w, EV_UNFAILED, w[r + R_PART], broker_index(w, w[r + R_BROKER]), -1, 0)
    elif w[r + R_LOGDIR_FAILED] == 2 and stopped:
        w[r + R_LOGDIR_FAILED] = 0
        count_dead(w, -1)


@compiled
def _delay(w, rules, r):
    """The partition rests for replica.fetch.backoff.ms; 0.8.2 asks again at once."""
    if rules[BACKOFF_NONE] == 0:
        w[r + R_FSTATE] = F_DELAYED
        w[r + R_DELAY_UNTIL] = w[G_NOW] + w[w[r + R_BROKER] + B_BACKOFF]


@compiled
def of_thread(w, t, i):
    """Whether thread ``t`` fetches its partition ``i`` from the broker that leads it."""
    k = w[t + T_FETCHED] + i * K_SIZE
    return w[w[k + K_FROW] + R_LEADER] == w[w[k + K_LROW] + R_POS]


@compiled
def _kill_thread(w, t):
    """The legacy thread ends: all its partitions stop, and none comes back by itself."""
    w[t + T_STATE] = TS_DEAD
    cancel(w, w[t + T_SLOT])
    count_dead(w, 1)
    emit(w, EV_THREAD_DIED, -1, broker_index(w, w[t + T_FOLLOWER]), -1, 0)
    for i in range(w[t + T_FETCHED_COUNT]):
        r = w[w[t + T_FETCHED] + i * K_SIZE + K_FROW]
        if w[r + R_FSTATE] in (F_FETCHING, F_DELAYED) and of_thread(w, t, i):
            w[r + R_FSTATE] = F_DEAD
            count_untracked(w, weight_of(w, r))


@compiled
def _react(w, rules, t, r, error):
    """The fetcher thread meets an error with one partition; True if the thread is dead now."""
    note(w, DEP_FETCHER)
    w[t + T_VALIDATED] = -1
    what = reaction(rules, error)
    if what == _FAIL:
        set_failed(w, r)
    elif what == _DELAY:
        _delay(w, rules, r)
    elif what == _DROP:
        w[r + R_FSTATE] = F_NONE
    elif what == _THREAD_DIES:
        _kill_thread(w, t)
        return True
    return False


# ------------------------------------------------------------------ the thread's loop


@compiled
def _free_request(w, t):
    """A request the thread may use: those it gave up may still lie on the leader. -1 if none."""
    for j in range(REQS_PER_THREAD):
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_STATE] == QS_FREE:
            return q
    return -1


@compiled
def _ask(w, t, q):
    """Add every ready partition to the fetch ``q``.

    If it holds every partition of the thread, and each passes all checks, the fetch is validated:
    it and those that follow need no check until an event that is not part of a request (G_RARE), or
    an error that the thread meets itself.

    Returns:
        Time at which the next delayed partition becomes ready; INF if none is delayed.
    """
    now = w[G_NOW]
    n = 0
    wake_at = INF
    validated = True
    for i in range(w[t + T_USED]):
        k = w[t + T_FETCHED] + i * K_SIZE
        r = w[k + K_FROW]
        e = w[q + Q_ENT] + i * E_SIZE
        w[e + E_OFFSET] = -1
        w[e + E_END] = -1
        w[e + E_ERR] = ERR_NONE
        state = w[r + R_FSTATE]
        if state not in (F_FETCHING, F_DELAYED) or not of_thread(w, t, i):
            continue
        if state == F_DELAYED:
            if w[r + R_DELAY_UNTIL] > now:
                wake_at = min(wake_at, w[r + R_DELAY_UNTIL])
                validated = False
                continue
            w[r + R_FSTATE] = F_FETCHING
        w[e + E_OFFSET] = w[r + R_LEO]
        w[e + E_EPOCH] = w[r + R_EPOCH]
        w[e + E_END] = w[r + R_LEO]
        w[k + K_HW] = -1
        validated = validated and nothing_against(w, r, w[k + K_LROW])
        n = i + 1
    w[q + Q_N] = n
    w[t + T_VALIDATED] = w[G_RARE] if validated and n > 0 else -1
    mark_all_dirty(w, t)
    return wake_at


@compiled
def nothing_against(w, r, lr):
    """Whether ``lr`` would answer this fetch of ``r`` without an error, and ``r`` append it."""
    return (
        w[lr + R_ONLINE] == 1
        and w[lr + R_IS_LEADER] == 1
        and w[lr + R_EPOCH] == w[r + R_EPOCH]
        and w[r + R_LEO] <= w[lr + R_LEO]
        and w[r + R_NEED_TRUNC] == 0
        and w[r + R_INJECT] < 0
    )


@hot
def fetch_next(w, t):
    """Build one fetch with all partitions that are ready, and send it; else wait.

    A request whose validated answer was appended already has its next offsets.
    """
    now = w[G_NOW]
    q = _free_request(w, t)
    if q < 0:
        w[t + T_STATE] = TS_BACKOFF
        schedule(w, w[t + T_SLOT], now + w[w[t + T_FOLLOWER] + B_BACKOFF] + 1)
        return
    if w[t + T_VALIDATED] != w[G_RARE] or w[t + T_REQ] != q:
        wake_at = _ask(w, t, q)
        if w[q + Q_N] == 0:
            w[t + T_REQ] = -1
            if wake_at < INF:
                w[t + T_STATE] = TS_BACKOFF
                schedule(w, w[t + T_SLOT], wake_at)
            else:
                w[t + T_STATE] = TS_IDLE
                cancel(w, w[t + T_SLOT])
            return
    w[q + Q_VALIDATED] = w[t + T_VALIDATED]
    w[t + T_REQ] = q
    w[t + T_STATE] = TS_WAITING
    schedule(w, w[t + T_SLOT], now + w[w[t + T_FOLLOWER] + B_SOCKET_TIMEOUT])
    w[q + Q_ABANDONED] = 0
    w[q + Q_ERR] = 0
    w[q + Q_STATE] = QS_TO_BROKER
    w[q + Q_BROKER] = w[t + T_LEADER]
    schedule(w, w[q + Q_SLOT], transit(w, w[t + T_WAY]))


@compiled
def _request_failed(w, rules, t):
    """The fetch as a whole failed: every partition rests, up to 3.2 the thread itself as well."""
    w[t + T_REQ] = -1
    w[t + T_VALIDATED] = -1
    now = w[G_NOW]
    if rules[BACKOFF_NONE] != 0:
        fetch_next(w, t)
        return
    for i in range(w[t + T_FETCHED_COUNT]):
        r = w[w[t + T_FETCHED] + i * K_SIZE + K_FROW]
        if w[r + R_FSTATE] == F_FETCHING and of_thread(w, t, i):
            _delay(w, rules, r)
    w[t + T_STATE] = TS_BACKOFF
    wait = w[w[t + T_FOLLOWER] + B_BACKOFF]
    if rules[DOUBLE_BACKOFF] != 0:
        wait *= 2
    schedule(w, w[t + T_SLOT], now + wait)


@hot
def fetch_answered(w, rules, t, q):
    """The answer to fetch ``q`` reaches its thread."""
    w[q + Q_STATE] = QS_FREE
    _take_answer(w, rules, t, q)
    if w[q + Q_STATE] == QS_FREE:  # it has not been sent again at once
        retire(w, w[q + Q_SLOT])


@compiled
def _take_answer(w, rules, t, q):
    """The thread deals with the answer to fetch ``q``, unless it has given it up."""
    if w[q + Q_ABANDONED] == 1 or w[t + T_REQ] != q:
        return
    if w[q + Q_ERR] == ERR_CONNECTION:
        _request_failed(w, rules, t)
        return
    w[t + T_STATE] = TS_APPENDING
    w[t + T_IDX] = 0
    if not is_validated(w, q):
        _take_errors(w, rules, t, q)
        if w[t + T_STATE] == TS_DEAD:
            return
    append_steps(w, t)


@compiled
def expects(w, t, i, e):
    """Whether the thread still wants this entry's answer: same offset, epoch and leader."""
    r = w[w[t + T_FETCHED] + i * K_SIZE + K_FROW]
    return (
        w[e + E_OFFSET] >= 0
        and w[r + R_FSTATE] == F_FETCHING
        and w[r + R_LEO] == w[e + E_OFFSET]
        and w[r + R_EPOCH] == w[e + E_EPOCH]
        and of_thread(w, t, i)
    )


@compiled
def _take_errors(w, rules, t, q):
    """Deal with the entries of an answer that hold an error instead of records."""
    for i in range(w[q + Q_N]):
        e = w[q + Q_ENT] + i * E_SIZE
        if not expects(w, t, i, e):
            w[e + E_OFFSET] = -1
            continue
        r = w[w[t + T_FETCHED] + i * K_SIZE + K_FROW]
        if w[r + R_INJECT] == _FENCED and _injected(w, r):
            if _react(w, rules, t, r, _FENCED):
                return
            w[e + E_OFFSET] = -1
            continue
        error = w[e + E_ERR]
        if error == ERR_NONE:
            continue
        w[e + E_OFFSET] = -1
        if error == ERR_DIVERGING:
            cut_log(w, r, w[e + E_END])
            set_high_watermark(w, r, min(w[r + R_HW], w[r + R_LEO]))
            w[r + R_NEED_TRUNC] = 0
        elif error == ERR_FENCED_EPOCH and rules[FETCH_NAMES_EPOCH] != 0:
            if _react(w, rules, t, r, _FENCED):
                return
        else:
            _delay(w, rules, r)


@compiled
def _injected(w, r):
    """Whether a fault makes this append (or answer) of ``r`` fail; a single error is used up."""
    if w[r + R_INJECT] < 0:
        return False
    if w[r + R_INJECT_UNTIL] == 0:
        w[r + R_INJECT_UNTIL] = -1
        return True
    if w[r + R_INJECT_UNTIL] == -1:
        w[r + R_INJECT] = -1
        return False
    if w[G_NOW] >= w[r + R_INJECT_UNTIL]:
        w[r + R_INJECT] = -1
        return False
    return True


@compiled
def _learn_hw(w, k, e):
    """The follower of fetched partition ``k`` takes the leader's high watermark from its answer."""
    r = w[k + K_FROW]
    set_high_watermark(w, r, max(w[r + R_HW], min(w[e + E_HW], w[r + R_LEO])))
    w[k + K_HW] = w[e + E_HW]


@hot
def append_steps(w, t):
    """Append the answer's records partition by partition; then fetch again."""
    q = w[t + T_REQ]
    validated = is_validated(w, q)
    entries = w[q + Q_ENT]
    n = w[q + Q_N]
    i = w[t + T_IDX]
    while True:
        if validated:
            i = next_dirty(w, t, i)
        if i >= n:
            break
        e = entries + i * E_SIZE
        k = w[t + T_FETCHED] + i * K_SIZE
        if w[e + E_END] > w[e + E_OFFSET]:
            if validated or expects(w, t, i, e):
                p = w[w[k + K_FROW] + R_PART]
                w[t + T_IDX] = i
                w[t + T_HOLD] = 1
                schedule(w, w[t + T_SLOT], append_end(w, w[t + T_FOLLOWER], p))
                return
        elif w[k + K_HW] != w[e + E_HW] or not validated:
            if w[e + E_OFFSET] >= 0 and (validated or expects(w, t, i, e)):
                _learn_hw(w, k, e)
        if validated:
            clear_if_heard(w, t, i, e, k)
        i += 1
    w[t + T_IDX] = n
    w[t + T_HOLD] = 0
    fetch_next(w, t)


@compiled
def _append_one(w, rules, t):
    """The append that takes the thread's time is done, or fails; True if the thread is dead."""
    q = w[t + T_REQ]
    i = w[t + T_IDX]
    e = w[q + Q_ENT] + i * E_SIZE
    k = w[t + T_FETCHED] + i * K_SIZE
    r = w[k + K_FROW]
    b = w[t + T_FOLLOWER]
    if not is_validated(w, q) and not expects(w, t, i, e):
        return False
    if w[r + R_ONLINE] == 0 or w[b + B_DIR_BAD_BASE + w[r + R_DIR]] != 0:
        notice_bad_dir(w, b, w[r + R_DIR])
        return _react(w, rules, t, r, _STORAGE)
    if w[r + R_INJECT] >= 0 and w[r + R_INJECT] != _FENCED:
        error = w[r + R_INJECT]
        if _injected(w, r):
            if error == _STORAGE and rules[IO_ERROR_HALTS] != 0:
                w[b + B_DIR_BAD_BASE + w[r + R_DIR]] = DIR_FAILS
                notice_bad_dir(w, b, w[r + R_DIR])
            return _react(w, rules, t, r, error)
    set_log_end(w, r, w[e + E_END])
    w[e + E_OFFSET] = w[e + E_END]  # what the next fetch asks for, if it need not be built anew
    copy_epochs(w, w[k + K_LROW], r)
    _learn_hw(w, k, e)
    if w[r + R_TOUCH_FROM] < INF and w[r + R_INJECT] < 0:
        w[r + R_TOUCH_FROM] = INF  # the fault of a moment is over
        rearm(w, r)
    else:
        watch_detection_delay(w, r)
    return False


@compiled
def thread_fires(w, rules, t):
    """A fetcher thread's own moment: an append is done, a back-off over, an answer overdue."""
    b = w[t + T_FOLLOWER]
    if w[b + B_PAUSED_UNTIL] > w[G_NOW]:
        schedule(w, w[t + T_SLOT], w[b + B_PAUSED_UNTIL])
        return
    state = w[t + T_STATE]
    if state == TS_APPENDING:
        if w[t + T_HOLD] == 1:
            w[t + T_HOLD] = 0
            if _append_one(w, rules, t):
                return
            w[t + T_IDX] += 1
        append_steps(w, t)
    elif state == TS_WAITING:
        # replica.socket.timeout.ms; after a pause longer than it even with the answer in the socket
        # [R 0.10.1.1, 0.10.2.2: back in the ISR two back-offs after a pause of 30 s]
        w[w[t + T_REQ] + Q_ABANDONED] = 1
        _request_failed(w, rules, t)
    elif state in (TS_BACKOFF, TS_IDLE):
        fetch_next(w, t)
    else:
        cancel(w, w[t + T_SLOT])


# ------------------------------------------------------------------ metadata


@compiled
def _add_to_thread(w, r):
    """The follower ``r`` is handed to its fetcher thread, which wakes if it is idle."""
    lr = row_of(w, w[r + R_PART], w[r + R_LEADER])
    t = thread_of(w, lr, w[r + R_POS])
    if w[t + T_STATE] == TS_DEAD:
        w[r + R_FSTATE] = F_DEAD
        count_untracked(w, weight_of(w, r))
        return
    w[r + R_FSTATE] = F_FETCHING
    w[t + T_USED] = max(w[t + T_USED], place_in_thread(w, lr, w[r + R_POS]) + 1)
    if w[t + T_STATE] == TS_DOWN:
        w[t + T_STATE] = TS_IDLE
    if w[t + T_STATE] in (TS_IDLE, TS_BACKOFF):
        schedule(w, w[t + T_SLOT], w[G_NOW])


@compiled
def reap_idle_threads(w, b):
    """Stop the fetcher threads of broker ``b`` that have no partition left.

    AbstractFetcherManager.shutdownIdleFetcherThreads, after every change of what is fetched: dead
    threads as well; a failed partition is no longer its thread's.
    """
    for i in range(w[b + B_THREAD0], w[b + B_THREAD0] + w[b + B_THREADS]):
        t = w[i]
        if w[t + T_STATE] == TS_DOWN:
            continue
        held = 0
        for c in range(w[t + T_FETCHED_COUNT]):
            r = w[w[t + T_FETCHED] + c * K_SIZE + K_FROW]
            if w[r + R_FSTATE] in (F_FETCHING, F_DELAYED, F_DEAD) and of_thread(w, t, c):
                held += 1
        if held == 0:
            if w[t + T_STATE] == TS_DEAD:
                count_dead(w, -1)
            elif w[t + T_STATE] == TS_WAITING:
                w[w[t + T_REQ] + Q_ABANDONED] = 1
            w[t + T_STATE] = TS_DOWN
            w[t + T_REQ] = -1
            w[t + T_HOLD] = 0
            cancel(w, w[t + T_SLOT])
            emit(w, EV_THREAD_STOPPED, -1, broker_index(w, b), -1, 0)


@compiled
def _become_leader(w, rec, rules, r, m):
    """This broker leads the partition of ``r`` from now on, or learns a new ISR as its leader."""
    p = w[r + R_PART]
    was_leader = w[r + R_IS_LEADER] == 1
    new_epoch = w[m + M_LEPOCH] > w[r + R_EPOCH] or not was_leader
    clear_follower(w, r, True)
    if new_epoch:
        forget_log_dir_failure(w, r, True, False)
    w[r + R_EPOCH] = w[m + M_LEPOCH]
    w[r + R_PEPOCH] = w[m + M_PEPOCH]
    w[r + R_LEADER] = w[r + R_POS]
    w[r + R_IS_LEADER] = 1
    set_isr(w, r, w[m + M_ISR])
    w[r + R_PENDING] = 0
    w[r + R_RESIGN] = 0
    w[r + R_NEED_TRUNC] = 0
    if new_epoch:
        w[r + R_EPOCH_START] = w[r + R_LEO]
        add_epoch(w, r, w[r + R_EPOCH], w[r + R_LEO])
        if leads_officially(w, r):
            # it may have truncated since it was elected, as a follower of the leader before
            lose_from(w, p, w[r + R_LEO], broker_index(w, w[r + R_BROKER]))
    base = record_base(w, r)
    for pos in range(w[p + P_RF]):
        if pos != w[r + R_POS]:
            in_isr = (w[r + R_ISR] >> pos) & 1 != 0
            if resets_records(rules, new_epoch):
                reset(
                    rules,
                    rec,
                    base + pos,
                    w[r + R_LEO],
                    w[r + R_EPOCH_START],
                    not was_leader,
                    in_isr,
                    w[G_NOW],
                )
    raise_hw(w, rec, rules, r, w[G_NOW])


@compiled
def stop_leading(w, rec, rules, r):
    """This broker does not lead the partition of ``r`` any longer."""
    if w[r + R_IS_LEADER] == 0:
        return
    w[r + R_IS_LEADER] = 0
    w[r + R_PENDING] = 0
    w[r + R_RESIGN] = 0
    complete_without_handler(w, r)
    answer_produces(w, rec, rules, r)
    if w[r + R_WRITER] & LOCK_TICK_WAITS:
        schedule(w, w[w[r + R_BROKER] + B_SLOT_TICK], w[G_NOW])
    base = record_base(w, r)
    for pos in range(w[w[r + R_PART] + P_RF]):
        create(rules, rec, base + pos, w[G_NOW])


@compiled
def _become_follower(w, rec, rules, r, m):
    """This broker follows another leader, or the same one in a new epoch."""
    new_epoch = w[m + M_LEPOCH] > w[r + R_EPOCH] or w[m + M_FULL] == 1
    was_leader = w[r + R_IS_LEADER] == 1
    stop_leading(w, rec, rules, r)
    w[r + R_PEPOCH] = w[m + M_PEPOCH]
    in_isr = (w[m + M_ISR] >> w[r + R_POS]) & 1 != 0
    stops = w[w[r + R_BROKER] + B_STOPPING] == 1 and stops_fetching(rules, in_isr, was_leader)
    if not new_epoch and not stops:
        return
    clear_follower(w, r, True)
    if new_epoch:
        forget_log_dir_failure(w, r, True, False)
        w[r + R_EPOCH] = w[m + M_LEPOCH]
        w[r + R_LEADER] = w[m + M_LEADER]
    if w[m + M_LEADER] < 0 or w[r + R_ONLINE] == 0:
        return
    if stops:
        w[r + R_FSTATE] = F_STOPPED
        return
    if rules[TRUNCATE_TO_HW] != 0:
        cut_log(w, r, w[r + R_HW])
    else:
        w[r + R_NEED_TRUNC] = 1
    _add_to_thread(w, r)


@compiled
def _row_of_record(w, m, b):
    """Row pointer of the replica on broker ``b`` that a metadata record sent there concerns."""
    p = w[m + M_PART]
    r = row_of(w, p, 0)
    for pos in range(1, w[p + P_RF]):
        if w[r + R_BROKER] != b:
            r = row_of(w, p, pos)
    return r


@compiled
def _apply_record(w, rec, rules, r, m):
    """The replica ``r`` leads or follows as the metadata record says, unless it knows better."""
    older = w[m + M_LEPOCH] < w[r + R_EPOCH] or (
        w[m + M_LEPOCH] == w[r + R_EPOCH] and w[m + M_PEPOCH] < w[r + R_PEPOCH]
    )
    if older and w[m + M_FULL] == 0:
        return
    if w[m + M_LEADER] == w[r + R_POS] and w[r + R_ONLINE] == 1:
        _become_leader(w, rec, rules, r, m)
    else:
        _become_follower(w, rec, rules, r, m)


@compiled
def metadata_fires(w, rec, rules, b):
    """Broker ``b`` applies the metadata records that are due, each under its partition's lock.

    A stuck read of one partition holds up the records of all that come behind.
    """
    waits = False
    now = w[G_NOW]
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[b + B_SLOT_MD], w[b + B_PAUSED_UNTIL])
        return
    while w[b + B_MDHEAD] != w[b + B_MDTAIL]:
        head = w[b + B_MDHEAD]
        m = w[H_MD] + (w[b + B_MDBASE] + head) * M_SIZE
        if w[m + M_DUE] > now:
            break
        r = _row_of_record(w, m, b)
        waits = lock_is_busy(w, r, LOCK_METADATA_WAIT)
        if waits:
            break
        w[b + B_MDHEAD] = (head + 1) % w[b + B_MDCAP]
        w[b + B_MD_DONE] += 1
        _apply_record(w, rec, rules, r, m)
        leave_lock(w, r, LOCK_METADATA_WAIT)
    note_applied(w, b)
    reap_idle_threads(w, b)
    if w[b + B_MDHEAD] != w[b + B_MDTAIL] and not waits:
        m = w[H_MD] + (w[b + B_MDBASE] + w[b + B_MDHEAD]) * M_SIZE
        schedule(w, w[b + B_SLOT_MD], max(now, w[m + M_DUE]))
    else:
        cancel(w, w[b + B_SLOT_MD])
