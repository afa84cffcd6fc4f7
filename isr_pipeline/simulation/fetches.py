"""A follower's fetch on the leader's broker: its partitions in request order, one step a firing.

Only partitions with data take time. Each is read and recorded; a fetch that finds nothing goes to
purgatory.
"""

from __future__ import annotations

from isr_pipeline.kafka.fencing import EpochError, epoch_error
from isr_pipeline.kafka.record import LEO
from isr_pipeline.kafka.releases import (
    ASYNC_ISR,
    CLOCK,
    ISR_LOCK,
    KIP501,
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
    begin_locked_read,
    propose,
    raise_hw,
    read_must_wait,
    release_read,
    submit,
    sync_write_end,
    wants_expand,
)
from isr_pipeline.simulation.log import common_end
from isr_pipeline.simulation.network import READ_DIRECT, read_end
from isr_pipeline.simulation.purgatory import begin_completion, complete, satisfied
from isr_pipeline.simulation.reads import plan_read, s2_alarm
from isr_pipeline.simulation.request_queue import handler_free
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.shortcuts.depends import NOT_HERE, switch
from isr_pipeline.simulation.shortcuts.dirty import (
    is_kept,
    is_unchanged,
    is_validated,
    mark_changed,
    mark_unchanged,
    next_to_visit,
    unchanged_in,
    word_of,
)
from isr_pipeline.simulation.shortcuts.pending import flush_record, forget_pending
from isr_pipeline.simulation.world.jit import cold, compiled, hot
from isr_pipeline.simulation.world.layout import (
    B_FAULTS_ON,
    B_FETCH_MIN_BYTES,
    B_FETCH_WAIT,
    D_AGAIN,
    D_CREQ,
    D_END,
    D_IDX,
    D_POS,
    D_REQ,
    D_ROW,
    D_S2,
    D_SLOT,
    D_STATE,
    DS_EXPAND,
    DS_FETCH,
    DS_FETCH_AFTER,
    DS_FETCH_LOCK,
    DS_RECORD_LOCK,
    E_BIT,
    E_END,
    E_EPOCH,
    E_ERR,
    E_HW,
    E_LLEO,
    E_OFFSET,
    E_SIZE,
    E_TIME,
    ERR_DIVERGING,
    ERR_FENCED_EPOCH,
    ERR_NONE,
    ERR_NOT_LEADER,
    ERR_STORAGE,
    ERR_UNKNOWN_EPOCH,
    G_NOW,
    K_FROW,
    K_LROW,
    K_REC,
    K_SIZE,
    Q_BYTES,
    Q_DATA,
    Q_DEADLINE,
    Q_ENT,
    Q_ERR,
    Q_N,
    Q_OWNER,
    Q_PENDING,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QS_PURGATORY,
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
    T_FETCHED,
    T_FOLLOWER,
    T_REQ0,
    T_WAITS,
    WORD_MASK,
)
from isr_pipeline.simulation.world.queue import cancel, schedule

PHASE_READ = 0
PHASE_RECORD = 1
_LOCK_RW_ALWAYS = int(Lock.RW_ALWAYS)
_EPOCH_KNOWN = int(EpochError.NONE)
_FENCED = int(EpochError.FENCED_LEADER_EPOCH)
_S1_PR = int(Kip501.S1_PR)
_ANY_FETCH = int(Clock.ANY_FETCH)
_FETCH_TIME = int(Clock.FETCH_TIME)


@compiled
def _check_entry(w, rules, lr, fr, e):
    """What the leader ``lr`` has against an entry of the follower ``fr``: an ERR value."""
    if w[lr + R_ONLINE] == 0:
        return ERR_STORAGE
    error = epoch_error(rules, w[e + E_EPOCH], w[lr + R_EPOCH])
    if error != _EPOCH_KNOWN:
        return ERR_FENCED_EPOCH if error == _FENCED else ERR_UNKNOWN_EPOCH
    if w[lr + R_IS_LEADER] == 0:
        return ERR_NOT_LEADER
    if w[fr + R_NEED_TRUNC] == 1:
        if common_end(w, fr, lr) < w[fr + R_LEO]:
            return ERR_DIVERGING
        w[fr + R_NEED_TRUNC] = 0
    elif w[e + E_OFFSET] > w[lr + R_LEO]:
        return ERR_DIVERGING
    return ERR_NONE


@hot
def _record_fetch(w, rec, rules, d, e, k, validated):
    """Write the leader's record of the follower of fetched partition ``k``.

    True if the handler has to stay: a synchronous ISR write begins, or one is under way whose lock
    the check for the follower's own return waits for.
    """
    now = w[G_NOW]
    lr = w[k + K_LROW]
    row = w[k + K_REC]
    offset = w[e + E_OFFSET]
    if not validated:
        if w[lr + R_IS_LEADER] == 0 or offset < 0:  # withdrawn while it was read
            return False
        if w[e + E_ERR] != ERR_NONE:
            if w[e + E_ERR] != ERR_DIVERGING:
                on_failed_read(rules, rec, row, now)
            return False
    moved = rec[row, LEO] != offset
    t = w[w[d + D_REQ] + Q_OWNER]
    i = (k - w[t + T_FETCHED]) // K_SIZE
    mark_changed(w, t, i)
    if switch(w, rules, KIP501, NOT_HERE) == _S1_PR:
        flush_record(w, rec, t, i)
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
            schedule(w, w[d + D_SLOT], sync_write_end(w, lr))
            writes = True
    if moved:
        raise_hw(w, rec, rules, lr, rule_time)
    return writes


@compiled
def fetch_steps(w, rec, rules, b, d):
    """Go on with the fetch of handler ``d`` until it has to wait, or is done."""
    q = w[d + D_REQ]
    fetched = w[w[q + Q_OWNER] + T_FETCHED]
    entries = w[q + Q_ENT]
    n = w[q + Q_N]
    validated = is_validated(w, q)
    begun = w[d + D_IDX] if w[d + D_AGAIN] == PHASE_READ else n
    if w[d + D_AGAIN] == PHASE_READ:
        i = begun
        recorded = 0
        swift = validated and w[b + B_FAULTS_ON] == 0
        if swift and rules[RECORD_PER_PARTITION] == 0:
            swift = False
            if begun == 0 and _reads_nothing(w, rules, q):
                _record_at_once(w, rec, rules, d, q)
                i = n
                recorded = n
        while True:
            if swift:
                i = _skip_unchanged(w, rec, w[q + Q_OWNER], q, i)
            if i >= n:
                break
            e = entries + i * E_SIZE
            if w[e + E_OFFSET] >= 0:
                w[d + D_IDX] = i
                if _visit(w, rec, rules, b, d, q, e, fetched + i * K_SIZE, validated):
                    return
            i += 1
        w[d + D_AGAIN] = PHASE_RECORD
        w[d + D_IDX] = recorded
    if rules[RECORD_PER_PARTITION] == 0:
        for i in range(w[d + D_IDX], n):
            e = entries + i * E_SIZE
            if w[e + E_OFFSET] >= 0:
                w[d + D_IDX] = i + 1
                k = fetched + i * K_SIZE
                if _record_fetch(w, rec, rules, d, e, k, validated):
                    return
    empty = validated and begun == 0 and w[q + Q_BYTES] == 0
    _fetch_done(w, rec, rules, b, d, q, empty)


@compiled
def _reads_nothing(w, rules, q):
    """Whether the validated fetch ``q`` takes no time: no data, no follower outside the ISR.

    0.8.2 is left out: its lag clock is none that `on_fetch_again` writes.
    """
    if rules[CLOCK] == _ANY_FETCH:
        return False
    t = w[q + Q_OWNER]
    kept = is_kept(w, t, q)
    i = next_to_visit(w, t, kept, 0)
    while i < w[q + Q_N]:
        e = w[q + Q_ENT] + i * E_SIZE
        lr = w[w[t + T_FETCHED] + i * K_SIZE + K_LROW]
        if w[e + E_OFFSET] >= 0:
            if w[e + E_OFFSET] < w[lr + R_LEO] or (w[lr + R_ISR] & w[e + E_BIT]) == 0:
                return False
        i = next_to_visit(w, t, kept, i + 1)
    return True


@cold
def _record_at_once(w, rec, rules, d, q):
    """Read a fetch that `_reads_nothing`, and record it, of a release that records partitions last.

    No time passes and nothing waits, so each partition may be recorded when it is read, and the
    unchanged ones may be skipped.
    """
    t = w[q + Q_OWNER]
    i = _skip_unchanged(w, rec, t, q, 0)
    while i < w[q + Q_N]:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[t + T_FETCHED] + i * K_SIZE
        w[e + E_TIME] = w[G_NOW]
        w[e + E_END] = w[e + E_OFFSET]
        w[e + E_LLEO] = w[w[k + K_LROW] + R_LEO]
        w[e + E_HW] = w[w[k + K_LROW] + R_HW]
        _record_fetch(w, rec, rules, d, e, k, True)
        i = _skip_unchanged(w, rec, t, q, i + 1)


@hot
def _skip_unchanged(w, rec, t, q, first):
    """Skip the caught-up partitions of a validated fetch, from ``first`` on.

    If the release records each partition once it is read, and no disk fault is active, a visit to a
    follower in the ISR that was, and is, at the log's end changes only the times in its record.
    Most visits do, so this short loop writes those times. A bit remembers each such partition until
    it changes (see `dirty`).

    Returns:
        The first partition that needs a visit; the number of entries if none does.
    """
    now = w[G_NOW]
    entries = w[q + Q_ENT]
    fetched = w[t + T_FETCHED]
    n = w[q + Q_N]
    kept = is_kept(w, t, q)
    i = first
    known = 0
    known_until = first if kept else n
    while i < n:
        if i == known_until:
            known = unchanged_in(w, word_of(w, t, i))
            known_until = (i | WORD_MASK) + 1
        e = entries + i * E_SIZE
        k = fetched + i * K_SIZE
        if (known >> (i & WORD_MASK)) & 1 == 0:
            if not is_unchanged(w, rec, e, k):
                if w[e + E_OFFSET] >= 0:
                    break
                i += 1
                continue
            w[e + E_HW] = w[w[k + K_LROW] + R_HW]
            if kept:
                mark_unchanged(w, t, i)
        w[e + E_TIME] = now
        on_fetch_again(rec, w[k + K_REC], now)
        i += 1
    return i


@hot
def _visit(w, rec, rules, b, d, q, e, k, validated):
    """The fetch handler comes to one partition; True if it has to wait there."""
    w[e + E_TIME] = w[G_NOW]
    w[e + E_END] = w[e + E_OFFSET]
    if validated:
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


@hot
def _read(w, rec, rules, b, d, q, e, k, validated):
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
        w[e + E_END] = plan_read(w, q, e, p, lr)
        has_data = w[e + E_END] > w[e + E_OFFSET]
    end = w[G_NOW]
    if has_data or w[b + B_FAULTS_ON] > 0:
        end = read_end(w, b, p, READ_DIRECT, 0, has_data)
    if end == w[G_NOW]:
        if rules[RECORD_PER_PARTITION] != 0:
            if _record_fetch(w, rec, rules, d, e, k, validated):
                w[d + D_IDX] += 1
                return True
        return False
    if has_data:
        w[q + Q_DATA] = 1
    w[d + D_STATE] = DS_FETCH
    w[d + D_ROW] = -1
    if switch(w, rules, ISR_LOCK, NOT_HERE) >= _LOCK_RW_ALWAYS:
        begin_locked_read(w, lr, end)
        w[d + D_ROW] = lr
    w[d + D_END] = end
    w[d + D_S2] = 0
    schedule(w, w[d + D_SLOT], s2_alarm(w, rules, end))
    return True


@compiled
def fetch_read_over(w, rec, rules, b, d):
    """A read of the fetch of handler ``d`` has ended: a tick that waited goes first."""
    if w[d + D_ROW] >= 0:
        lr = w[d + D_ROW]
        w[d + D_ROW] = -1
        w[d + D_STATE] = DS_FETCH_AFTER
        if release_read(w, lr):
            schedule(w, w[d + D_SLOT], w[G_NOW])
            return
    fetch_after_read(w, rec, rules, b, d)


@compiled
def fetch_after_read(w, rec, rules, b, d):
    """Write the record of the partition just read (3.3+), and go on with the next."""
    w[d + D_STATE] = DS_FETCH
    q = w[d + D_REQ]
    i = w[d + D_IDX]
    w[d + D_IDX] = i + 1
    if rules[RECORD_PER_PARTITION] != 0:
        e = w[q + Q_ENT] + i * E_SIZE
        k = w[w[q + Q_OWNER] + T_FETCHED] + i * K_SIZE
        if _record_fetch(w, rec, rules, d, e, k, is_validated(w, q)):
            return
    fetch_steps(w, rec, rules, b, d)


@cold
def _bit_of_another(w, t, q):
    """Bit in T_WAITS of a request of thread ``t`` that is not its first: one was given up."""
    return 1 << ((q - w[t + T_REQ0]) // Q_SIZE)


@compiled
def _fetch_done(w, rec, rules, b, d, q, empty):
    """All partitions of the fetch are read: answer it, or let it wait in purgatory.

    ``empty``: the fetch is validated, and no partition had data for it at this moment.
    """
    if w[q + Q_PENDING] != 0 and switch(w, rules, KIP501, NOT_HERE) == _S1_PR:
        forget_pending(w, rec, rules, q)  # the pull request's finally block
    t = w[q + Q_OWNER]
    follower = w[t + T_FOLLOWER]
    enough = w[q + Q_BYTES] >= w[follower + B_FETCH_MIN_BYTES]
    if w[q + Q_ERR] == 1 or enough or w[follower + B_FETCH_WAIT] == 0:
        respond(w, rec, rules, b, q)
        handler_free(w, b, d)
        return
    if not empty and satisfied(w, q):
        w[d + D_CREQ] = q
        w[d + D_ROW] = -1
        w[d + D_POS] = 1 << 20  # no other follower to visit afterwards
        w[d + D_REQ] = -1
        begin_completion(w, q)
        w[d + D_IDX] = 0
        complete(w, rec, rules, b, d)
        return
    w[q + Q_STATE] = QS_PURGATORY
    w[t + T_WAITS] |= 1 if q == w[t + T_REQ0] else _bit_of_another(w, t, q)
    w[q + Q_DEADLINE] = w[G_NOW] + w[follower + B_FETCH_WAIT]
    schedule(w, w[q + Q_SLOT], w[q + Q_DEADLINE])
    handler_free(w, b, d)
