"""The controller: sessions, fencing, elections, the committed ISR, metadata to the brokers.

One controller change gives, at one time: broker_fenced, then for each partition
controller_isr_remove and its election or partition_offline. Brokers learn of it by metadata
records, each at its own time, in order.
"""

from __future__ import annotations

from isr_pipeline.kafka.election import (
    Election,
    elect_zk,
    kraft_election,
    last_member_leaves,
    partition_change_kraft,
)
from isr_pipeline.kafka.preferred import NEW_CONTROLLER_CHECK_US, waits_for_imbalance
from isr_pipeline.kafka.releases import (
    CONTROLLER,
    ELECTION,
    ELR,
    Controller,
    ElectionOrder,
)
from isr_pipeline.kafka.session import (
    check_period,
    found_over,
    new_controller_tracks,
    outlives_fence,
)
from isr_pipeline.kafka.shutdown import has_reported
from isr_pipeline.simulation.eligible import is_eligible, note_eligible
from isr_pipeline.simulation.log import lose_from
from isr_pipeline.simulation.measures import (
    broker_index,
    emit,
    rearm,
    refresh,
    row_of,
)
from isr_pipeline.simulation.network import jitter, link
from isr_pipeline.simulation.shortcuts.depends import (
    NOT_HERE,
    may_elect_uncleanly,
    min_isr_for,
    note,
    note_isr,
    setting,
    switch,
)
from isr_pipeline.simulation.world.cells import cells_from
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_CRASH_UNCLEAN,
    B_CUT_SINCE,
    B_DIR_BAD_BASE,
    B_EPOCH,
    B_FENCE_AT,
    B_FENCED,
    B_HB_PHASE,
    B_HEARTBEAT,
    B_MD_DONE,
    B_MD_SENT,
    B_MDBASE,
    B_MDCAP,
    B_MDHEAD,
    B_MDTAIL,
    B_PAUSED_UNTIL,
    B_REGISTERED,
    B_SESSION,
    B_SIZE,
    B_SLOT_MD,
    B_SLOT_SESSION,
    B_STOPPING,
    B_UNFENCE_AT,
    B_UP,
    B_WALK,
    B_WALK_N,
    C_MD_HIGH,
    C_MD_LOW,
    C_REBALANCE,
    C_SCRATCH,
    C_WARMUP,
    DEP_NOBODY,
    DEP_ORDER,
    DEP_SESSION,
    DIR_TOLD,
    EV_CTL_REMOVE,
    EV_ELECTED,
    EV_FENCED,
    EV_OFFLINE,
    EV_ONLINE,
    EV_UNCLEAN,
    EV_UNFENCED,
    G_CTL_OUT_UNTIL,
    G_CTL_SINCE,
    G_LEADER_CHANGES,
    G_NOW,
    G_UNCLEAN,
    H_BRK,
    H_BROKERS,
    H_MD,
    H_PART,
    H_PARTITIONS,
    H_SEEN,
    H_SLOT_REBALANCE,
    H_WALK,
    INF,
    M_DUE,
    M_FULL,
    M_ISR,
    M_LEADER,
    M_LEPOCH,
    M_PART,
    M_PEPOCH,
    M_SIZE,
    P_ELR,
    P_ISR,
    P_LAST_KNOWN,
    P_LAST_LEADER,
    P_LEADER,
    P_LEPOCH,
    P_ORDER,
    P_PEPOCH,
    P_PREFERRED,
    P_RECOVERING,
    P_RF,
    P_SIZE,
    P_WEIGHT,
    R_BROKER,
    R_DIR,
    R_LEO,
    R_PART,
)
from isr_pipeline.simulation.world.queue import cancel, due, schedule

PURPOSE_METADATA = 11
PURPOSE_UNFENCE = 12
PURPOSE_MOVE_SEEN = 13
PURPOSE_SESSION_CHECK = 14
UNFENCE_LOW_US = 2_000  # [R 4.3.1] 2-6 ms from registration to being unfenced
UNFENCE_HIGH_US = 6_000

_KRAFT = int(Controller.KRAFT)
_ISR_ORDER = int(ElectionOrder.ISR_ORDER)
_ONLINE = int(Election.ONLINE)
_PREFERRED_ELECTION = int(Election.PREFERRED)


@compiled
def is_kraft(rules):
    """Whether the controller is KRaft's."""
    return rules[CONTROLLER] == _KRAFT


@compiled
def replica_acceptable(w, r):
    """Whether the controller regards the replica ``r`` as able to lead."""
    b = w[r + R_BROKER]
    return is_eligible(w, b) and w[b + B_DIR_BAD_BASE + w[r + R_DIR]] != DIR_TOLD


@compiled
def acceptable_mask(w, p):
    """Replicas of partition ``p`` that the controller regards as alive."""
    mask = 0
    for pos in range(w[p + P_RF]):
        if replica_acceptable(w, row_of(w, p, pos)):
            mask |= 1 << pos
    return mask


# ------------------------------------------------------------------ metadata


@compiled
def _send_record(w, p, b, full):
    """Send broker ``b`` the state of partition ``p``; its records arrive in order."""
    if w[b + B_UP] == 0:
        return
    node = broker_index(w, b)
    ctl = w[H_BROKERS]
    place = link(w, ctl, node)
    delay = jitter(
        w,
        PURPOSE_METADATA,
        node + (w[b + B_EPOCH] << 8),
        w[p + P_LEPOCH] + (((p - w[H_PART]) // P_SIZE) << 12) * (1 - full),
        w[C_MD_LOW],
        w[C_MD_HIGH],
    )
    arrives = max(w[G_NOW], w[place + 1]) + w[place] + delay
    head = w[b + B_MDHEAD]
    tail = w[b + B_MDTAIL]
    cap = w[b + B_MDCAP]
    base = w[H_MD] + w[b + B_MDBASE] * M_SIZE
    if head != tail:
        previous = base + ((tail - 1) % cap) * M_SIZE
        arrives = max(arrives, w[previous + M_DUE])
        if (tail + 1) % cap == head:
            tail = (tail - 1) % cap  # full: the newest record stands for the one before
            w[b + B_MD_SENT] -= 1
    m = base + tail * M_SIZE
    w[m + M_DUE] = arrives
    w[m + M_PART] = p
    w[m + M_LEADER] = w[p + P_LEADER]
    w[m + M_LEPOCH] = w[p + P_LEPOCH]
    w[m + M_ISR] = w[p + P_ISR]
    w[m + M_PEPOCH] = w[p + P_PEPOCH]
    w[m + M_FULL] = full
    w[b + B_MDTAIL] = (tail + 1) % cap
    w[b + B_MD_SENT] += 1
    if head == tail:
        schedule(w, w[b + B_SLOT_MD], arrives)


@compiled
def publish(w, p):
    """Send the state of partition ``p`` to every broker that holds a replica of it."""
    for pos in range(w[p + P_RF]):
        _send_record(w, p, w[row_of(w, p, pos) + R_BROKER], 0)


@compiled
def publish_all_to(w, b):
    """Send broker ``b``, which has just registered, the state of all its partitions."""
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        _send_record(w, w[r + R_PART], b, 1)


# ------------------------------------------------------------------ the check's timer


@compiled
def plan_check(w, rules):
    """A write may have left a partition without its preferred leader: plan KRaft's check to 3.9."""
    if not waits_for_imbalance(rules) or due(w, w[H_SLOT_REBALANCE]) < INF:
        return
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        if w[p + P_LEADER] != w[p + P_PREFERRED]:
            schedule(w, w[H_SLOT_REBALANCE], min(w[G_NOW] + w[C_REBALANCE], INF))
            return


@compiled
def _check_anew(w, rules):
    """A new controller: its timer begins anew."""
    if w[C_REBALANCE] == INF:
        return
    cancel(w, w[H_SLOT_REBALANCE])
    if waits_for_imbalance(rules):
        plan_check(w, rules)
    else:
        wait = w[C_REBALANCE] if is_kraft(rules) else NEW_CONTROLLER_CHECK_US
        schedule(w, w[H_SLOT_REBALANCE], w[G_NOW] + wait)


# ------------------------------------------------------------------ one partition's change


@compiled
def _walk_order(w, rules, p, isr):
    """Fill the scratch cells with the positions in the order in which an election walks."""
    base = w[C_SCRATCH]
    n = 0
    if switch(w, rules, ELECTION, NOT_HERE) == _ISR_ORDER:
        order = w[p + P_ORDER]
        for k in range(w[p + P_RF]):
            pos = (order >> (4 * k)) & 15
            if (isr >> pos) & 1:
                w[base + n] = pos
                n += 1
        for pos in range(w[p + P_RF]):
            if not (isr >> pos) & 1:
                w[base + n] = pos
                n += 1
        return n
    preferred = w[p + P_PREFERRED]
    w[base] = preferred
    n = 1
    for pos in range(w[p + P_RF]):
        if pos != preferred:
            w[base + n] = pos
            n += 1
    return n


@compiled
def _set_leader(w, p, leader, unclean):
    """Give partition ``p`` another leader (or none) and emit the event."""
    before = w[p + P_LEADER]
    w[p + P_LEADER] = leader
    if leader < 0:
        if before >= 0:
            emit(w, EV_OFFLINE, p, -1, -1, 0)
        return
    r = row_of(w, p, leader)
    node = broker_index(w, w[r + R_BROKER])
    if leader != w[p + P_LAST_LEADER]:
        w[p + P_LAST_LEADER] = leader
        if w[G_NOW] >= w[C_WARMUP]:
            w[G_LEADER_CHANGES] += w[p + P_WEIGHT]
    if unclean:
        if w[G_NOW] >= w[C_WARMUP]:
            w[G_UNCLEAN] += w[p + P_WEIGHT]
        emit(w, EV_UNCLEAN, p, node, -1, 0)
    if before < 0:
        emit(w, EV_ONLINE, p, node, -1, 0)
    elif not unclean:
        emit(w, EV_ELECTED, p, node, -1, 0)
    lose_from(w, p, w[r + R_LEO], node)


@compiled
def _apply(w, rules, p, leader, isr, elr, last_known, unclean, bump):
    """Commit what an election or a removal has worked out for partition ``p``."""
    old_isr = w[p + P_ISR]
    old_leader = w[p + P_LEADER]
    if (
        leader == old_leader
        and isr == old_isr
        and elr == w[p + P_ELR]
        and last_known == w[p + P_LAST_KNOWN]
        and not bump
    ):
        return
    w[p + P_ELR] = elr
    w[p + P_LAST_KNOWN] = last_known
    w[p + P_PEPOCH] += 1
    if bump:
        w[p + P_LEPOCH] += 1
    removed = old_isr & ~isr
    if removed and not unclean:
        w[p + P_ISR] = isr
        emit(w, EV_CTL_REMOVE, p, -1, -1, removed)
    w[p + P_ISR] = isr
    w[p + P_RECOVERING] = 1 if unclean else 0
    if leader != old_leader or (bump and leader >= 0 and unclean):
        _set_leader(w, p, leader, unclean)
        plan_check(w, rules)
    for pos in range(w[p + P_RF]):
        rearm(w, row_of(w, p, pos))
    refresh(w, rules, p)
    publish(w, p)


@compiled
def _note_election(w, p, election, isr, leader, elected):
    """Note what the outcome of an election for partition ``p`` depended on."""
    if elected < 0:
        note(w, DEP_NOBODY)
    if election == _PREFERRED_ELECTION or (elected >= 0 and elected != leader):
        # a preferred election looks at the first of the order alone, whoever that is
        if elected < 0 or not (isr >> elected) & 1 or not _orders_agree(w, p, isr):
            note(w, DEP_ORDER)


@compiled
def _orders_agree(w, p, isr):
    """Whether the members of the ISR come in the same order in the assignment and in the ISR.

    The assignment's begins with the preferred replica.
    """
    order = w[p + P_ORDER]
    preferred = w[p + P_PREFERRED]
    last = -1
    for k in range(w[p + P_RF]):
        pos = (order >> (4 * k)) & 15
        if (isr >> pos) & 1:
            place = 0 if pos == preferred else pos + 1
            if place <= last:
                return False
            last = place
    return True


@compiled
def change_partition(w, rules, p, removed, election, exclude, unclean_shutdown):
    """Take ``removed`` out of the ISR of ``p`` and elect as far as that is needed.

    Args:
        w: the world.
        rules: the switches.
        p: the partition.
        removed: replicas that may not stay in the ISR.
        election: a value of ``Election``.
        exclude: replicas that may not be elected this time (a leader that resigns or stops).
        unclean_shutdown: replicas back from a kill, which leave the ELR.
    """
    isr = w[p + P_ISR]
    leader = w[p + P_LEADER]
    acceptable = acceptable_mask(w, p) & ~exclude & ~removed
    target = isr & ~removed
    note_isr(w, p, target)
    n = _walk_order(w, rules, p, target if target else isr)
    order = cells_from(w, w[C_SCRATCH])
    if is_kraft(rules):
        how = kraft_election(rules, election, may_elect_uncleanly(w, p))
        elr_on = switch(w, rules, ELR, NOT_HERE) != 0
        fewest = min_isr_for(w, rules, p, target)
        current = leader
        if leader >= 0 and (exclude >> leader) & 1:
            acceptable &= ~(1 << leader)
        new_leader, new_isr, elr, last_known, unclean, bump = partition_change_kraft(
            rules,
            order,
            n,
            isr,
            target if (target or elr_on) else isr,
            current,
            acceptable,
            fewest,
            how,
            w[p + P_ELR] & ~unclean_shutdown,
            w[p + P_LAST_KNOWN],
            elr_on,
            unclean_shutdown,
            False,
        )
        _note_election(w, p, election, isr, leader, new_leader)
        _apply(w, rules, p, new_leader, new_isr, elr, last_known, unclean, bump)
        return
    if target == 0 and isr != 0:
        note(w, DEP_NOBODY)
        if not last_member_leaves(rules, may_elect_uncleanly(w, p)):
            target = isr
    keep = leader >= 0 and not (removed >> leader) & 1 and not (exclude >> leader) & 1
    if keep and election != _PREFERRED_ELECTION:
        _apply(w, rules, p, leader, target, 0, 0, False, target != isr)
        return
    if election == _PREFERRED_ELECTION:
        n = 1
    new_leader, unclean = elect_zk(
        order,
        n,
        target & ~removed,
        acceptable,
        0,
        election != _PREFERRED_ELECTION and may_elect_uncleanly(w, p),
    )
    _note_election(w, p, election, isr, leader, new_leader)
    if election == _PREFERRED_ELECTION:
        if new_leader >= 0 and new_leader != leader:
            _apply(w, rules, p, new_leader, isr, 0, 0, False, True)
        return
    if unclean:
        target = 1 << new_leader
    if new_leader < 0 and leader < 0 and target == isr:
        return
    _apply(w, rules, p, new_leader, target, 0, 0, unclean, True)


@compiled
def elect_preferred(w, rules, p):
    """A preferred election of partition ``p``: only if that replica is alive and in the ISR."""
    pos = w[p + P_PREFERRED]
    if w[p + P_LEADER] == pos or not (w[p + P_ISR] >> pos) & 1:
        return
    if replica_acceptable(w, row_of(w, p, pos)):
        change_partition(w, rules, p, 0, _PREFERRED_ELECTION, 0, 0)


@compiled
def hand_over(w, p, leader):
    """The leader at position ``leader`` resigns: Solution 2, or LinkedIn's transfer.

    Its id moves to the end of the ISR. ``assignment_order`` may elect the very same id again.
    """
    order = w[p + P_ORDER]
    moved = 0
    k = 0
    for i in range(w[p + P_RF]):
        pos = (order >> (4 * i)) & 15
        if pos != leader:
            moved |= pos << (4 * k)
            k += 1
    w[p + P_ORDER] = moved | (leader << (4 * k))


@compiled
def elect_after_resignation(w, rules, p, exclude_self):
    """Elect for a partition whose leader has resigned; a new leader epoch in any case."""
    leader = w[p + P_LEADER]
    isr = w[p + P_ISR]
    acceptable = acceptable_mask(w, p)
    n = _walk_order(w, rules, p, isr)
    chosen = -1
    for i in range(n):
        pos = w[w[C_SCRATCH] + i]
        if (isr >> pos) & (acceptable >> pos) & 1 and not (exclude_self and pos == leader):
            chosen = pos
            break
    note(w, DEP_ORDER)  # the leader that resigns is the last in the ISR's order
    if chosen < 0:
        return
    w[p + P_PEPOCH] += 1
    w[p + P_LEPOCH] += 1
    if chosen == leader:
        emit(w, EV_ELECTED, p, broker_index(w, w[row_of(w, p, chosen) + R_BROKER]), -1, 0)
    else:
        _set_leader(w, p, chosen, False)
        plan_check(w, rules)
    refresh(w, rules, p)
    publish(w, p)


# ------------------------------------------------------------------ brokers


@compiled
def _replica_here(w, p, b):
    """Position of the replica of partition ``p`` on broker ``b``, -1 if there is none."""
    for pos in range(w[p + P_RF]):
        if w[row_of(w, p, pos) + R_BROKER] == b:
            return pos
    return -1


@compiled
def fence(w, rules, b, announce):
    """Broker ``b`` is regarded as dead: out of every ISR it shares, its leaderships move."""
    if w[b + B_FENCED] == 1:
        return
    w[b + B_FENCED] = 1
    note_eligible(w)
    if announce:
        emit(w, EV_FENCED, -1, broker_index(w, b), -1, 0)
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        pos = _replica_here(w, p, b)
        if pos >= 0 and ((w[p + P_ISR] >> pos) & 1 or w[p + P_LEADER] == pos):
            change_partition(w, rules, p, 1 << pos, _ONLINE, 0, 0)


@compiled
def unfence(w, rules, b):
    """Broker ``b`` counts as alive again; partitions without a leader are elected with it."""
    w[b + B_FENCED] = 0
    note_eligible(w)
    emit(w, EV_UNFENCED, -1, broker_index(w, b), -1, 0)
    w[b + B_CRASH_UNCLEAN] = 0
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        pos = _replica_here(w, p, b)
        if pos >= 0 and w[p + P_LEADER] < 0:
            change_partition(w, rules, p, 0, _ONLINE, 0, 0)


@compiled
def leave_elr(w, rules, b):
    """Broker ``b`` registers after a kill: what it had acknowledged may be gone (KIP-966).

    Where nobody is left, the last known leader may be elected at once
    (BrokerShutdownHandler, ReplicationControlManager.handleUncleanBrokerShutdown @ 4.0.0).
    """
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        pos = _replica_here(w, p, b)
        if pos >= 0 and (w[p + P_ELR] >> pos) & 1:
            change_partition(w, rules, p, 0, _ONLINE, 0, 1 << pos)


@compiled
def move_away(w, rules, b):
    """Controlled shutdown of broker ``b``: one change moves its leaders and its ISR memberships."""
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        pos = _replica_here(w, p, b)
        if pos < 0:
            continue
        me = 1 << pos
        others = w[p + P_ISR] & acceptable_mask(w, p) & ~me
        if w[p + P_LEADER] == pos:
            # KRaft leaves a partition of which it is the last member without a leader at once;
            # ZooKeeper's controller lets it lead until it is gone
            if others or is_kraft(rules):
                change_partition(w, rules, p, me, _ONLINE, 0, 0)
        elif w[p + P_ISR] & me and w[p + P_ISR] != me:
            change_partition(w, rules, p, me, _ONLINE, 0, 0)


@compiled
def leads_any(w, b):
    """Whether broker ``b`` leads a partition, as the controller sees it."""
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        leader = w[p + P_LEADER]
        if leader >= 0 and w[row_of(w, p, leader) + R_BROKER] == b:
            return True
    return False


@compiled
def _seen(w, b):
    """Pointer of what the brokers have seen of the controlled shutdown of ``b``."""
    return w[H_SEEN] + broker_index(w, b) * w[H_BROKERS]


@compiled
def await_reports(w, b):
    """The leads of broker ``b`` have moved: from here on the others may report that they know.

    Of each, the time at which it has applied the move; below 0, how many records it must have
    applied for that. Who holds none of its partitions gets no record here, but the metadata log
    reaches him as well.
    """
    ctl = w[H_BROKERS]
    for k in range(w[H_BROKERS]):
        o = w[H_BRK] + k * B_SIZE
        if w[o + B_MD_SENT] > w[o + B_MD_DONE]:
            w[_seen(w, b) + k] = -w[o + B_MD_SENT]
            continue
        way = link(w, ctl, k)
        purpose = PURPOSE_MOVE_SEEN + (broker_index(w, b) << 8)
        delay = jitter(w, purpose, k, w[b + B_EPOCH], w[C_MD_LOW], w[C_MD_HIGH])
        w[_seen(w, b) + k] = max(w[G_NOW], w[way + 1]) + w[way] + delay


@compiled
def note_applied(w, o):
    """Broker ``o`` has applied metadata records: those of a move may be among them."""
    for k in range(w[H_BROKERS]):
        cell = _seen(w, w[H_BRK] + k * B_SIZE) + broker_index(w, o)
        if w[cell] < 0 and w[o + B_MD_DONE] >= -w[cell]:
            w[cell] = w[G_NOW]


@compiled
def _last_heartbeat(w, b):
    """When the last heartbeat of broker ``b`` reached the controller."""
    until = min(w[G_NOW], w[b + B_CUT_SINCE])
    beats = max(0, until - w[b + B_HB_PHASE]) // w[b + B_HEARTBEAT]
    return w[b + B_HB_PHASE] + beats * w[b + B_HEARTBEAT]


@compiled
def all_reported(w, b):
    """Whether every active broker but ``b`` has reported that it knows where its leads went.

    Active is who is neither fenced nor stopping: one that hangs holds it up until it is fenced.
    """
    for k in range(w[H_BROKERS]):
        o = w[H_BRK] + k * B_SIZE
        if o != b and w[o + B_FENCED] == 0 and w[o + B_STOPPING] == 0:
            applied = w[_seen(w, b) + k]
            if applied < 0 or not has_reported(applied, _last_heartbeat(w, o)):
                return False
    return True


@compiled
def dir_failed(w, rules, b, log_dir):
    """The controller hears of a failed log dir: its replicas leave the ISRs, leaders move."""
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        pos = _replica_here(w, p, b)
        if pos >= 0 and w[row_of(w, p, pos) + R_DIR] == log_dir:
            if (w[p + P_ISR] >> pos) & 1 or w[p + P_LEADER] == pos:
                change_partition(w, rules, p, 1 << pos, _ONLINE, 0, 0)


@compiled
def _session_found_over(w, rules, b):
    """When the controller finds the session of broker ``b`` over.

    The first controller's checks have a phase, a new one's begin with it.
    """
    period = check_period(rules, setting(w, b + B_SESSION, NOT_HERE))
    since = w[G_CTL_SINCE]
    if since == 0 and period > 0:
        since = jitter(w, PURPOSE_SESSION_CHECK, 0, 0, 0, period - 1)
    return max(w[G_NOW], found_over(w[b + B_FENCE_AT], since, period))


@compiled
def _plan_session_end(w, rules, b):
    """Plan when the controller finds the session of broker ``b`` over, if it has one."""
    if w[b + B_FENCED] == 0 or outlives_fence(rules):
        note(w, DEP_SESSION)
        schedule(w, w[b + B_SLOT_SESSION], _session_found_over(w, rules, b))
    else:
        cancel(w, w[b + B_SLOT_SESSION])


@compiled
def hear(w, rules, b):
    """Work out whether heartbeats of ``b`` reach the controller, and plan what follows.

    Called at every moment at which that can change. Heartbeats themselves are no events: the last
    one before a cut is known from their phase.
    """
    now = w[G_NOW]
    node = broker_index(w, b)
    place = link(w, node, w[H_BROKERS])
    heard = (
        w[b + B_UP] == 1
        and w[b + B_REGISTERED] == 1
        and w[b + B_PAUSED_UNTIL] <= now
        and w[place + 1] <= now
    )
    if not heard:
        if w[b + B_CUT_SINCE] == INF:
            w[b + B_CUT_SINCE] = now
            beats = max(0, now - w[b + B_HB_PHASE]) // w[b + B_HEARTBEAT]
            last = w[b + B_HB_PHASE] + beats * w[b + B_HEARTBEAT]
            w[b + B_FENCE_AT] = min(last, now) + setting(w, b + B_SESSION, NOT_HERE)
            _plan_session_end(w, rules, b)
            w[b + B_UNFENCE_AT] = INF
        return
    w[b + B_CUT_SINCE] = INF
    w[b + B_FENCE_AT] = INF
    if w[b + B_FENCED] == 1 and w[b + B_STOPPING] == 0:
        wait = jitter(w, PURPOSE_UNFENCE, node, w[b + B_EPOCH], UNFENCE_LOW_US, UNFENCE_HIGH_US)
        w[b + B_UNFENCE_AT] = now + wait
        schedule(w, w[b + B_SLOT_SESSION], now + wait)
    else:
        cancel(w, w[b + B_SLOT_SESSION])


@compiled
def session_fires(w, rules, b):
    """A session is over, or a broker that is heard again may be unfenced."""
    now = w[G_NOW]
    if w[G_CTL_OUT_UNTIL] > now:
        schedule(w, w[b + B_SLOT_SESSION], w[G_CTL_OUT_UNTIL])
        return
    cancel(w, w[b + B_SLOT_SESSION])
    if w[b + B_CUT_SINCE] < INF:
        if w[b + B_FENCED] == 0:
            fence(w, rules, b, True)
        elif outlives_fence(rules):  # it stopped in order: fenced once more, and nothing changes
            emit(w, EV_FENCED, -1, broker_index(w, b), -1, 0)
        return
    if w[b + B_FENCED] == 1:
        w[b + B_UNFENCE_AT] = INF
        unfence(w, rules, b)


@compiled
def _session_at_new_controller(w, rules, b):
    """Broker ``b`` is not heard while a new controller begins: it has a new session, or none.

    One that has registered and loads its logs does send heartbeats.
    """
    if w[b + B_REGISTERED] == 1 and w[b + B_UP] == 0:
        return
    if new_controller_tracks(rules, w[b + B_FENCED] == 1):
        w[b + B_FENCE_AT] = w[G_NOW] + setting(w, b + B_SESSION, DEP_SESSION)
        _plan_session_end(w, rules, b)
    else:
        w[b + B_FENCE_AT] = 0
        cancel(w, w[b + B_SLOT_SESSION])


@compiled
def controller_back(w, rules, resumed):
    """The controller works again after an outage.

    A fresh one of KRaft gives brokers a new session (`kafka.session.new_controller_tracks`). The
    same process resumed has let its clock run: it fences at most one live broker whose session
    seems over [R 4.3.1]. ZooKeeper's sessions are no controller's.
    """
    now = w[G_NOW]
    if resumed == 0:
        w[G_CTL_SINCE] = now
        _check_anew(w, rules)
        # it has marked no shutdown: whoever asks may go
        for k in range(w[H_BROKERS] * w[H_BROKERS]):
            w[w[H_SEEN] + k] = 0
    fenced_one = False
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if w[b + B_CUT_SINCE] < INF:
            if resumed == 0 and is_kraft(rules):
                _session_at_new_controller(w, rules, b)
            elif w[b + B_FENCED] == 0:
                _plan_session_end(w, rules, b)
        elif resumed == 1 and is_kraft(rules) and not fenced_one and w[b + B_FENCED] == 0:
            began = w[b + B_FENCE_AT]
            if began < INF and now > began:
                fenced_one = True
                fence(w, rules, b, True)
                hear(w, rules, b)
            w[b + B_FENCE_AT] = INF


@compiled
def controller_gone(w):
    """The controller stops: from here on no heartbeat counts."""
    now = w[G_NOW]
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if w[b + B_CUT_SINCE] == INF:
            beats = max(0, now - w[b + B_HB_PHASE]) // w[b + B_HEARTBEAT]
            session = setting(w, b + B_SESSION, DEP_SESSION)
            w[b + B_FENCE_AT] = w[b + B_HB_PHASE] + beats * w[b + B_HEARTBEAT] + session
