"""A partition on the broker that leads it: high watermark, ISR changes, the expiration tick.

Up to 2.6 a change of the ISR is one synchronous ZooKeeper write under the partition's lock; from
2.7 on it is proposed, and answered by the controller later (KIP-497).
"""

from __future__ import annotations

from isr_pipeline.kafka.election import grown_elr
from isr_pipeline.kafka.kip501 import transfers_instead_of_shrinking
from isr_pipeline.kafka.locks import write_waits
from isr_pipeline.kafka.partition import (
    Alter,
    Produce,
    alter_error,
    alter_response,
    answer_raises_hw,
    may_expand,
    next_high_watermark,
    out_of_sync_mask,
    produce_error,
    size_of,
)
from isr_pipeline.kafka.record import LAST_CAUGHT_UP, LEO_TIME
from isr_pipeline.kafka.releases import (
    ASYNC_ISR,
    CLOCK,
    ELR,
    HW_IGNORES_INELIGIBLE,
    ISR_LOCK,
    SHRINK_BUMPS_LEADER_EPOCH,
    Clock,
    Lock,
)
from isr_pipeline.simulation.controller import (
    acceptable_mask,
    elect_after_resignation,
    hand_over,
    publish,
)
from isr_pipeline.simulation.log import commit_up_to
from isr_pipeline.simulation.measures import (
    broker_index,
    emit,
    hw_moved,
    hw_stands,
    refresh,
    row_of,
    touches,
    watch_detection_delay,
    weight_of,
)
from isr_pipeline.simulation.network import link
from isr_pipeline.simulation.responses import respond
from isr_pipeline.simulation.shortcuts.depends import (
    NOT_HERE,
    min_isr,
    min_isr_for,
    note,
    note_isr,
    switch,
)
from isr_pipeline.simulation.shortcuts.pending import flush_all
from isr_pipeline.simulation.state import set_high_watermark, set_isr
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.layout import (
    B_ALTER_ANSWERED,
    B_ALTER_DUE,
    B_ALTER_QUEUED,
    B_HANDLERS,
    B_IO,
    B_LAG,
    B_LAG_MESSAGES,
    B_PAUSED_UNTIL,
    B_SLOT_ALTER,
    B_SLOT_MD,
    B_SLOT_TICK,
    B_TICK,
    B_TICK_DUE,
    B_TICK_POS,
    B_TICK_STATE,
    B_WALK,
    B_WALK_N,
    C_ALTER,
    C_WARMUP,
    C_ZK_WRITE,
    D_ROW,
    D_SIZE,
    D_SLOT,
    D_STATE,
    DEP_EXPIRED,
    DEP_LOCK,
    DS_COMPLETE_LOCK,
    DS_FETCH_LOCK,
    DS_PRODUCE_LOCK,
    DS_RECORD_LOCK,
    ERR_NONE,
    ERR_NOT_ENOUGH_AFTER,
    ERR_NOT_LEADER,
    EV_EXPAND,
    EV_RESIGNED,
    EV_SHRINK,
    F_DEAD,
    F_FAILED,
    F_STOPPED,
    G_CTL_OUT_UNTIL,
    G_EXPANDS,
    G_FLAPS,
    G_LOCKED_READS,
    G_NOW,
    G_RESIGNATIONS,
    G_SHRINKS,
    G_SPURIOUS,
    G_TICKS,
    G_TICKS_HELD_UP,
    H_BROKERS,
    H_FAULTS,
    H_FLT,
    H_LOCKED,
    H_WALK,
    INF,
    LOCKED_MAX,
    NEVER,
    P_ELIGIBLE,
    P_ELR,
    P_ISR,
    P_LEADER,
    P_LEPOCH,
    P_ORDER,
    P_PEPOCH,
    P_RF,
    P_STAND_SINCE,
    P_STREAM0,
    P_STREAMS,
    P_WAITS,
    P_WATCHED,
    P_WEIGHT,
    Q_END,
    Q_ERR,
    Q_ROW,
    Q_SIZE,
    Q_STATE,
    QS_WAIT_HW,
    R_ANSWER,
    R_ANSWER_ISR,
    R_ANSWER_PEPOCH,
    R_BROKER,
    R_CAUSE0,
    R_DECIDED,
    R_DECIDED_MASK,
    R_EPOCH,
    R_EPOCH_START,
    R_FSTATE,
    R_HW,
    R_IS_LEADER,
    R_ISR,
    R_ITEM,
    R_LEO,
    R_PART,
    R_PENDING,
    R_PENDING_ISR,
    R_PEPOCH,
    R_POS,
    R_READERS,
    R_REC0,
    R_REMOVED_AT,
    R_RESIGN,
    R_WRITER,
    REQS_PER_STREAM,
    S_REQ0,
    S_SIZE,
    TOUCH_APPEND,
    TOUCH_MOMENT,
    U_BEGIN,
    U_BROKER,
    U_END,
    U_SIZE,
    V_CAUSE0,
    V_MASK,
    X_END,
    X_SIZE,
    X_START,
)
from isr_pipeline.simulation.world.queue import cancel, schedule

FLAP_WINDOW_US = 60_000_000
CAUSES = 8

PENDING_NONE = 0
PENDING_EXPAND = 1
PENDING_SHRINK = 2
PENDING_HANDOVER = 3

TICK_READY = 0
TICK_WAITS = 1
TICK_WRITES = 2

LOCK_FREE = 0
LOCK_TICK_WAITS = 1
LOCK_HELD = 2  # by a synchronous ISR write
LOCK_METADATA_WAIT = 4
LOCK_ANSWER_WAITS = 8

ITEM_QUEUED = 1
ITEM_IN_FLIGHT = 2
ITEM_ANSWERED = 3

ANSWER_NONE = 0  # nothing follows: it stays pending until the metadata arrive
ANSWER_COMMIT = 1
ANSWER_REVERT = 2
ANSWER_RESUBMIT = 3
ANSWER_HANDED_OVER = 4

_COMMIT = int(Alter.COMMIT)
_REVERT = int(Alter.REVERT)
_RESUBMIT = int(Alter.RESUBMIT)
_WAITING = int(Produce.WAITING)
_ENOUGH = int(Produce.NONE)
_LOCK_NONE = int(Lock.NONE)
_LOCK_COMPLETION = int(Lock.COMPLETION)
_LOCK_RW_ALWAYS = int(Lock.RW_ALWAYS)
_ANY_FETCH = int(Clock.ANY_FETCH)


@compiled
def record_base(w, r):
    """Row in ``rec`` of the leader ``r``'s record of the replica at position 0."""
    return w[r + R_REC0]


@compiled
def leads_officially(w, r):
    """Whether the controller too regards ``r`` as the leader, in this very epoch."""
    p = w[r + R_PART]
    return w[p + P_LEADER] == w[r + R_POS] and w[p + P_LEPOCH] == w[r + R_EPOCH]


@compiled
def maximal_isr(w, r):
    """The ISR with a replica whose joining is under way."""
    if w[r + R_PENDING] == PENDING_EXPAND:
        return w[r + R_PENDING_ISR] | w[r + R_ISR]
    return w[r + R_ISR]


# ------------------------------------------------------------------ high watermark


@compiled
def acks_all_error(w, rules, r, end):
    """How an acks=all produce whose last record is at ``end - 1`` is with the leader ``r``."""
    fewest = min_isr(w, rules, w[r + R_PART])
    return produce_error(end, w[r + R_HW], size_of(maximal_isr(w, r)), fewest)


@compiled
def answer_produces(w, rec, rules, r):
    """Answer the acks=all requests that wait for the HW of ``r`` and need not any longer.

    While it leads, those whose records the HW has passed, in whatever leader epoch they were
    appended: a broker that goes on leading has kept its log
    (Partition.checkEnoughReplicasReachOffset @ 3.6). Afterwards all of them, with an error.
    """
    p = w[r + R_PART]
    if w[p + P_WAITS] == 0:
        return
    waits = 0
    for k in range(w[p + P_STREAMS]):
        s = w[p + P_STREAM0] + k * S_SIZE
        for j in range(REQS_PER_STREAM):
            q = w[s + S_REQ0] + j * Q_SIZE
            if w[q + Q_STATE] != QS_WAIT_HW:
                continue
            waits = 1
            if w[q + Q_ROW] == r:
                if w[r + R_IS_LEADER] == 0:
                    w[q + Q_ERR] = ERR_NOT_LEADER
                else:
                    error = acks_all_error(w, rules, r, w[q + Q_END])
                    if error == _WAITING:
                        continue
                    w[q + Q_ERR] = ERR_NONE if error == _ENOUGH else ERR_NOT_ENOUGH_AFTER
                respond(w, rec, rules, w[r + R_BROKER], q)
    w[p + P_WAITS] = waits


@compiled
def raise_hw(w, rec, rules, r, rule_time):
    """Work out the high watermark of the leader ``r`` anew; commits what it passes."""
    p = w[r + R_PART]
    before = w[r + R_HW]
    leo = w[r + R_LEO]
    if before >= leo:
        if w[p + P_STAND_SINCE] >= 0 and leads_officially(w, r):
            hw_moved(w, p, False)  # a new leader has nothing uncommitted
        return
    hw = next_high_watermark(
        rules,
        rec,
        record_base(w, r),
        w[p + P_RF],
        w[r + R_POS],
        leo,
        before,
        w[r + R_ISR],
        maximal_isr(w, r),
        w[p + P_ELIGIBLE] if rules[HW_IGNORES_INELIGIBLE] != 0 else 0,
        min_isr(w, rules, p),
        rule_time,
        w[w[r + R_BROKER] + B_LAG],
    )
    if hw > before:
        set_high_watermark(w, r, hw)
        if leads_officially(w, r):
            commit_up_to(w, rules, p, hw, maximal_isr(w, r))
            hw_moved(w, p, hw < leo)
        answer_produces(w, rec, rules, r)
    elif w[p + P_STAND_SINCE] < 0 and leads_officially(w, r):
        hw_stands(w, p)


# ------------------------------------------------------------------ ISR changes


@compiled
def _touched(w, r, leader_broker, since):
    """Whether a fault touched the follower ``r``, or its link to the leader, since a moment."""
    if w[r + R_FSTATE] in (F_FAILED, F_DEAD, F_STOPPED):
        return True
    for i in range(w[H_FAULTS]):
        x = w[H_FLT] + i * X_SIZE
        if w[x + X_START] > w[G_NOW] or w[x + X_END] < since:
            continue
        if touches(w, i, r, leader_broker, TOUCH_APPEND | TOUCH_MOMENT):
            return True
    return False


@compiled
def _order_with(w, p, isr):
    """Keep the ISR's order: members that left drop out, new ones come last."""
    order = w[p + P_ORDER]
    kept = 0
    k = 0
    seen = 0
    for i in range(w[p + P_RF]):
        pos = (order >> (4 * i)) & 15
        if (isr >> pos) & 1:
            kept |= pos << (4 * k)
            seen |= 1 << pos
            k += 1
    for i in range(w[p + P_RF]):
        pos = (order >> (4 * i)) & 15
        if not (seen >> pos) & 1:
            kept |= pos << (4 * k)
            k += 1
    w[p + P_ORDER] = kept


@compiled
def _count_change(w, r, removed, added):
    """Book an ISR change that the leader ``r`` made: shrinks, flaps, false positives."""
    p = w[r + R_PART]
    counted = w[G_NOW] >= w[C_WARMUP]
    if removed:
        if counted:
            w[G_SHRINKS] += w[p + P_WEIGHT]
        for pos in range(w[p + P_RF]):
            if (removed >> pos) & 1:
                f = row_of(w, p, pos)
                w[f + R_REMOVED_AT] = w[G_NOW]
                caught_up = w[r + R_CAUSE0 + pos] if pos < CAUSES else NEVER
                if counted and not _touched(w, f, w[r + R_BROKER], caught_up):
                    w[G_SPURIOUS] += w[p + P_WEIGHT]
    if added:
        if counted:
            w[G_EXPANDS] += w[p + P_WEIGHT]
        for pos in range(w[p + P_RF]):
            if (added >> pos) & 1:
                f = row_of(w, p, pos)
                if counted and w[G_NOW] - w[f + R_REMOVED_AT] <= FLAP_WINDOW_US:
                    w[G_FLAPS] += w[p + P_WEIGHT]
                w[f + R_REMOVED_AT] = NEVER


@compiled
def commit_isr(w, rec, rules, r):
    """The pending change of the leader ``r`` is committed now, and the leader knows."""
    _commit(w, rules, r)
    _take_commit(w, rec, rules, r, w[r + R_PENDING_ISR], w[w[r + R_PART] + P_PEPOCH])


@compiled
def _take_commit(w, rec, rules, r, isr, partition_epoch):
    """The leader ``r`` learns that its change is committed."""
    w[r + R_PENDING] = PENDING_NONE
    set_isr(w, r, isr)
    w[r + R_PEPOCH] = partition_epoch
    if answer_raises_hw(rules):
        raise_hw(w, rec, rules, r, w[G_NOW])


@compiled
def _commit(w, rules, r):
    """ZooKeeper or the controller commits the pending change of the leader ``r``."""
    p = w[r + R_PART]
    shrink = w[r + R_PENDING] == PENDING_SHRINK
    isr = w[r + R_PENDING_ISR]
    changed = w[r + R_DECIDED_MASK]
    old_isr = w[p + P_ISR]
    w[p + P_ISR] = isr
    w[p + P_PEPOCH] += 1
    _order_with(w, p, isr)
    if switch(w, rules, ELR, NOT_HERE) != 0:
        fewest = min_isr_for(w, rules, p, isr)
        # with a leader there is no last known one, and no replica here stopped uncleanly
        w[p + P_ELR], _ = grown_elr(True, old_isr, isr, w[p + P_ELR], 0, fewest, 0)
    bumps = shrink and rules[SHRINK_BUMPS_LEADER_EPOCH] != 0
    node = broker_index(w, w[r + R_BROKER])
    e = emit(w, EV_SHRINK if shrink else EV_EXPAND, p, node, w[r + R_DECIDED], changed)
    if e >= 0:
        for k in range(CAUSES):
            w[e + V_CAUSE0 + k] = w[r + R_CAUSE0 + k]
        w[e + V_MASK] = changed
    _count_change(w, r, changed if shrink else 0, 0 if shrink else changed)
    if bumps:
        w[p + P_LEPOCH] += 1
        publish(w, p)
    for pos in range(w[p + P_RF]):
        watch_detection_delay(w, row_of(w, p, pos))
    refresh(w, rules, p)


@compiled
def _note_causes(w, rec, rules, r):
    """Keep each replica's lastCaughtUpTimeMs for the event's cause."""
    base = record_base(w, r)
    clock = LEO_TIME if rules[CLOCK] == _ANY_FETCH else LAST_CAUGHT_UP
    rf = w[w[r + R_PART] + P_RF]
    for pos in range(min(rf, CAUSES)):
        w[r + R_CAUSE0 + pos] = rec[base + pos, clock]


@compiled
def propose(w, rec, rules, r, kind, isr, changed):
    """Note the ISR change (or hand-over) that the leader ``r`` has decided on now."""
    w[r + R_PENDING] = kind
    w[r + R_PENDING_ISR] = isr
    w[r + R_DECIDED] = w[G_NOW]
    w[r + R_DECIDED_MASK] = changed
    _note_causes(w, rec, rules, r)


@compiled
def submit(w, r):
    """Hand the proposal of ``r`` to the broker's AlterPartition manager: one request in flight."""
    b = w[r + R_BROKER]
    if w[b + B_ALTER_DUE] == INF:
        w[r + R_ITEM] = ITEM_IN_FLIGHT
        _send_alter(w, b)
    else:
        w[r + R_ITEM] = ITEM_QUEUED
        w[b + B_ALTER_QUEUED] += 1


@compiled
def _answer_time(w, b):
    """When a request that broker ``b`` sends to the controller now is answered."""
    place = link(w, broker_index(w, b), w[H_BROKERS])
    back = link(w, w[H_BROKERS], broker_index(w, b))
    start = max(w[G_NOW], w[place + 1])
    start = max(start, w[back + 1])
    start = max(start, w[G_CTL_OUT_UNTIL])
    return start + w[C_ALTER] + w[place] + w[back]


@compiled
def _send_alter(w, b):
    """Send the AlterPartition request of broker ``b``."""
    w[b + B_ALTER_DUE] = _answer_time(w, b)
    schedule(w, w[b + B_SLOT_ALTER], w[b + B_ALTER_DUE])


@compiled
def _decide_item(w, rules, r):
    """The controller decides on the item of ``r``, and answers."""
    w[r + R_ITEM] = ITEM_ANSWERED
    w[r + R_ANSWER] = ANSWER_NONE
    p = w[r + R_PART]
    kind = w[r + R_PENDING]
    if kind == PENDING_NONE or w[r + R_IS_LEADER] == 0:
        return
    leads = leads_officially(w, r)
    if kind == PENDING_HANDOVER:
        if leads:
            w[r + R_ANSWER] = ANSWER_HANDED_OVER
            elect_after_resignation(w, rules, p, w[r + R_RESIGN] == 2)
        return
    answer = alter_response(
        rules,
        alter_error(
            rules,
            leads,
            w[p + P_PEPOCH],
            w[r + R_PEPOCH],
            w[r + R_PENDING_ISR],
            acceptable_mask(w, p),
        ),
        w[p + P_LEPOCH],
        w[p + P_PEPOCH],
        w[r + R_EPOCH],
        w[r + R_PEPOCH],
    )
    if answer == _COMMIT:
        _commit(w, rules, r)
        w[r + R_ANSWER] = ANSWER_COMMIT
        w[r + R_ANSWER_ISR] = w[r + R_PENDING_ISR]
        w[r + R_ANSWER_PEPOCH] = w[p + P_PEPOCH]
    elif answer == _REVERT:
        w[r + R_ANSWER] = ANSWER_REVERT
    elif answer == _RESUBMIT:
        w[r + R_ANSWER] = ANSWER_RESUBMIT


@compiled
def _take_answer(w, rec, rules, r):
    """The leader ``r`` takes the controller's answer, under the partition's lock."""
    w[r + R_ITEM] = 0
    answer = w[r + R_ANSWER]
    if w[r + R_PENDING] == PENDING_NONE or w[r + R_IS_LEADER] == 0 or answer == ANSWER_NONE:
        return
    # it may have resigned while the answer waited: then that has still to be asked for
    resigns = w[r + R_PENDING] == PENDING_HANDOVER and answer != ANSWER_HANDED_OVER
    if answer == ANSWER_COMMIT:
        _take_commit(w, rec, rules, r, w[r + R_ANSWER_ISR], w[r + R_ANSWER_PEPOCH])
    elif answer == ANSWER_REVERT:
        w[r + R_PENDING] = PENDING_NONE
    elif answer == ANSWER_HANDED_OVER:
        w[r + R_PENDING] = PENDING_NONE
        w[r + R_RESIGN] = 0
    if resigns:
        w[r + R_PENDING] = PENDING_HANDOVER
    if resigns or answer == ANSWER_RESUBMIT:
        submit(w, r)


@compiled
def _answer_arrives(w, b):
    """Whether the answer to broker ``b`` arrives now; if not, when it will is planned."""
    now = w[G_NOW]
    place = link(w, broker_index(w, b), w[H_BROKERS])
    if w[G_CTL_OUT_UNTIL] > now:
        schedule(w, w[b + B_SLOT_ALTER], w[G_CTL_OUT_UNTIL] + w[C_ALTER])
    elif w[b + B_PAUSED_UNTIL] > now:
        schedule(w, w[b + B_SLOT_ALTER], w[b + B_PAUSED_UNTIL])
    elif w[place + 1] > now:
        schedule(w, w[b + B_SLOT_ALTER], w[place + 1] + w[C_ALTER])
    else:
        return True
    return False


@compiled
def alter_fires(w, rec, rules, b):
    """The broker's AlterPartition request is answered.

    The controller has decided on all its items. The broker takes them one by one, each under its
    partition's lock: a stuck read holds up those behind it, and the next request.
    """
    if w[b + B_ALTER_ANSWERED] == 0 and not _answer_arrives(w, b):
        return
    if w[b + B_PAUSED_UNTIL] > w[G_NOW]:
        schedule(w, w[b + B_SLOT_ALTER], w[b + B_PAUSED_UNTIL])
        return
    w[b + B_ALTER_ANSWERED] = 1
    cancel(w, w[b + B_SLOT_ALTER])
    waits = False
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        if w[r + R_ITEM] == ITEM_IN_FLIGHT:
            _decide_item(w, rules, r)
        if w[r + R_ITEM] == ITEM_ANSWERED and not waits:
            waits = lock_is_busy(w, r, LOCK_ANSWER_WAITS)
            if not waits:
                _take_answer(w, rec, rules, r)
                leave_lock(w, r, LOCK_ANSWER_WAITS)
    if waits:
        return
    w[b + B_ALTER_ANSWERED] = 0
    w[b + B_ALTER_DUE] = INF
    if w[b + B_ALTER_QUEUED] > 0:
        w[b + B_ALTER_QUEUED] = 0
        for i in range(w[b + B_WALK_N]):
            r = w[w[H_WALK] + w[b + B_WALK] + i]
            if w[r + R_ITEM] == ITEM_QUEUED:
                w[r + R_ITEM] = ITEM_IN_FLIGHT
        _send_alter(w, b)


@compiled
def resign(w, rec, rules, r, exclude_self):
    """The leader ``r`` asks the controller for another leader (KIP-501 Solution 2, li-transfer)."""
    p = w[r + R_PART]
    if w[r + R_RESIGN] != 0 or not leads_officially(w, r):
        return
    w[r + R_RESIGN] = 2 if exclude_self else 1
    hand_over(w, p, w[r + R_POS])
    e = emit(w, EV_RESIGNED, p, broker_index(w, w[r + R_BROKER]), w[G_NOW], 1 << w[r + R_POS])
    if e >= 0:
        w[e + V_CAUSE0] = w[p + P_ORDER]
    if w[G_NOW] >= w[C_WARMUP]:
        w[G_RESIGNATIONS] += w[p + P_WEIGHT]
    if w[r + R_ITEM] == ITEM_QUEUED:
        # the manager holds one item a partition: the resignation takes the queued one's place
        propose(w, rec, rules, r, PENDING_HANDOVER, w[r + R_ISR], 0)
        return
    propose(w, rec, rules, r, PENDING_HANDOVER, w[r + R_ISR], 0)
    if w[r + R_ITEM] == 0:
        submit(w, r)


@compiled
def wants_expand(w, rec, rules, r, pos, rule_time):
    """Whether the follower at ``pos``, which has just fetched from ``r``, may join the ISR."""
    if (w[r + R_ISR] >> pos) & 1 or w[r + R_PENDING] != PENDING_NONE or w[r + R_ITEM] != 0:
        return False
    p = w[r + R_PART]
    return may_expand(
        rules,
        rec,
        record_base(w, r),
        pos,
        w[r + R_ISR],
        False,
        w[r + R_HW],
        w[r + R_EPOCH_START],
        w[p + P_ELIGIBLE],
        rule_time,
        w[w[r + R_BROKER] + B_LAG],
    )


@compiled
def sync_write_end(w, r):
    """When a ZooKeeper write that the leader ``r`` begins now is done.

    Where ``r`` stands for several partitions, each of them is written in its turn.
    """
    node = broker_index(w, w[r + R_BROKER])
    place = link(w, node, w[H_BROKERS])
    back = link(w, w[H_BROKERS], node)
    begins = max(max(w[G_NOW], w[place + 1]), w[back + 1])
    return begins + weight_of(w, r) * (w[C_ZK_WRITE] + w[place] + w[back])


@compiled
def finish_sync_write(w, rec, rules, r):
    """The ZooKeeper write of ``r`` is done: a stale leader's conditional write changes nothing."""
    if w[r + R_PENDING] in (PENDING_EXPAND, PENDING_SHRINK):
        if leads_officially(w, r) and w[w[r + R_PART] + P_PEPOCH] == w[r + R_PEPOCH]:
            commit_isr(w, rec, rules, r)
        else:
            w[r + R_PENDING] = PENDING_NONE


# ------------------------------------------------------------------ partition lock


@compiled
def wake_lock_waiters(w, r):
    """The write lock of ``r`` is free: handlers that waited for it go on, in order."""
    b = w[r + R_BROKER]
    d = w[b + B_HANDLERS]
    for _ in range(w[b + B_IO]):
        if w[d + D_ROW] == r and w[d + D_STATE] in (
            DS_FETCH_LOCK,
            DS_PRODUCE_LOCK,
            DS_RECORD_LOCK,
            DS_COMPLETE_LOCK,
        ):
            schedule(w, w[d + D_SLOT], w[G_NOW])
        d += D_SIZE


@compiled
def begin_locked_read(w, r, end):
    """A read begins that holds the lock of ``r`` until it is over; the last ones are listed."""
    u = w[H_LOCKED] + (w[G_LOCKED_READS] & (LOCKED_MAX - 1)) * U_SIZE
    w[u + U_BEGIN] = w[G_NOW]
    w[u + U_END] = end
    w[u + U_BROKER] = w[r + R_BROKER]
    w[r + R_READERS] += 1
    w[G_LOCKED_READS] += 1


@compiled
def release_read(w, r):
    """A read that held the lock of ``r`` is over; True if whoever waits to write goes first."""
    w[r + R_READERS] -= 1
    return w[r + R_WRITER] != LOCK_FREE and w[r + R_READERS] == 0 and _call_writers(w, r)


@cold
def _call_writers(w, r):
    """Nobody reads ``r`` any longer: who waits to write goes on now. False if nobody does.

    At one instant a tick comes before an answer, that before metadata.
    """
    b = w[r + R_BROKER]
    if w[r + R_WRITER] & LOCK_TICK_WAITS:
        schedule(w, w[b + B_SLOT_TICK], w[G_NOW])
    if w[r + R_WRITER] & LOCK_ANSWER_WAITS:
        schedule(w, w[b + B_SLOT_ALTER], w[G_NOW])
    if w[r + R_WRITER] & LOCK_METADATA_WAIT:
        schedule(w, w[b + B_SLOT_MD], w[G_NOW])
    return w[r + R_WRITER] & ~LOCK_HELD != 0


@compiled
def lock_is_busy(w, r, mark):
    """Whether a writer has to wait for the lock of ``r``; it then stands in line (a LOCK_ bit)."""
    if not write_waits(w[r + R_READERS], w[r + R_WRITER] & LOCK_HELD != 0):
        return False
    note(w, DEP_LOCK)
    w[r + R_WRITER] |= mark
    return True


@compiled
def leave_lock(w, r, mark):
    """A writer that held the lock of ``r``, or waited for it (LOCK_ bits), is done."""
    if w[r + R_WRITER] & mark == 0:
        return
    w[r + R_WRITER] &= ~mark
    if w[r + R_WRITER] == LOCK_FREE:
        wake_lock_waiters(w, r)
    elif w[r + R_READERS] == 0:
        _call_writers(w, r)


@compiled
def append_must_wait(w, r):
    """Whether an append to ``r`` has to wait for a writer, or one that waits itself."""
    return w[r + R_WRITER] != LOCK_FREE


@compiled
def read_must_wait(w, rules, r):
    """Whether a new handler-stage read of ``r`` has to wait for a writer, or one that waits."""
    return w[r + R_WRITER] != LOCK_FREE and switch(w, rules, ISR_LOCK, NOT_HERE) >= _LOCK_RW_ALWAYS


# ------------------------------------------------------------------ the isr-expiration tick


@compiled
def _expired(w, rec, rules, r):
    """ISR members that the tick takes out of the ISR of ``r`` now."""
    if w[r + R_PENDING] != PENDING_NONE or w[r + R_ITEM] != 0:
        return 0
    p = w[r + R_PART]
    return out_of_sync_mask(
        rules,
        rec,
        record_base(w, r),
        w[p + P_RF],
        w[r + R_POS],
        w[r + R_LEO],
        w[r + R_ISR],
        w[G_NOW],
        w[w[r + R_BROKER] + B_LAG],
        w[w[r + R_BROKER] + B_LAG_MESSAGES],
    )


@compiled
def _tick_visits(w, rec, rules, b, r):
    """The walk of broker ``b`` comes to the leader ``r``; False if it has to stay there."""
    mode = switch(w, rules, ISR_LOCK, NOT_HERE)
    if w[b + B_TICK_STATE] == TICK_WRITES:
        w[b + B_TICK_STATE] = TICK_READY
        finish_sync_write(w, rec, rules, r)
        leave_lock(w, r, LOCK_HELD)
        return True
    expired = _expired(w, rec, rules, r)
    if expired != 0:
        note(w, DEP_EXPIRED)
        note_isr(w, w[r + R_PART], w[r + R_ISR] & ~expired)
    wants_lock = mode in (_LOCK_COMPLETION, _LOCK_RW_ALWAYS) or (
        mode != _LOCK_NONE and expired != 0
    )
    if wants_lock and lock_is_busy(w, r, LOCK_TICK_WAITS):
        w[b + B_TICK_STATE] = TICK_WAITS
        w[G_TICKS_HELD_UP] += 1
        return False
    if w[b + B_TICK_STATE] == TICK_WAITS:
        w[b + B_TICK_STATE] = TICK_READY
        leave_lock(w, r, LOCK_TICK_WAITS)
    if expired == 0:
        return True
    left = w[r + R_ISR] & ~expired
    if transfers_instead_of_shrinking(
        rules, size_of(left), min_isr_for(w, rules, w[r + R_PART], left)
    ):
        resign(w, rec, rules, r, True)
        return True
    propose(w, rec, rules, r, PENDING_SHRINK, left, expired)
    if rules[ASYNC_ISR] != 0:
        submit(w, r)
        return True
    w[r + R_WRITER] |= LOCK_HELD
    w[b + B_TICK_STATE] = TICK_WRITES
    schedule(w, w[b + B_SLOT_TICK], sync_write_end(w, r))
    return False


@cold
def tick_fires(w, rec, rules, b):
    """The isr-expiration task of broker ``b``: one walk over all its partitions, at a fixed rate.

    A walk that has to wait for a lock, or for ZooKeeper, waits as a whole; ticks missed meanwhile
    fire back to back.
    """
    flush_all(w, rec, rules)
    now = w[G_NOW]
    slot = w[b + B_SLOT_TICK]
    w[G_TICKS] += 1
    if w[b + B_PAUSED_UNTIL] > now:
        schedule(w, slot, w[b + B_PAUSED_UNTIL])
        return
    if w[b + B_TICK_POS] < 0:
        w[b + B_TICK_POS] = 0
        w[b + B_TICK_DUE] += w[b + B_TICK]
    while w[b + B_TICK_POS] < w[b + B_WALK_N]:
        r = w[w[H_WALK] + w[b + B_WALK] + w[b + B_TICK_POS]]
        if w[r + R_IS_LEADER] == 1:
            if not _tick_visits(w, rec, rules, b, r):
                if w[b + B_TICK_STATE] == TICK_WAITS:
                    cancel(w, slot)
                return
        elif w[b + B_TICK_STATE] != TICK_READY:
            w[b + B_TICK_STATE] = TICK_READY
            leave_lock(w, r, LOCK_TICK_WAITS | LOCK_HELD)
        w[b + B_TICK_POS] += 1
    w[b + B_TICK_POS] = -1
    schedule(w, slot, max(now, w[b + B_TICK_DUE]))


@compiled
def watch_followers(w, p):
    """The LEO of the leader of ``p`` has moved: followers that are overdue may be behind now."""
    if w[p + P_WATCHED] > 0:
        for pos in range(w[p + P_RF]):
            watch_detection_delay(w, row_of(w, p, pos))
