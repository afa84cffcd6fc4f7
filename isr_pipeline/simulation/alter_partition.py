"""Changes of a partition's ISR, and the leader's resignation: decided, sent, committed, learned.

Up to 2.6 a change of the ISR is one synchronous ZooKeeper write under the partition's lock
(Partition.updateIsr @ 2.2.2); from 2.7 on it is proposed, and answered by the controller later
(KIP-497, AlterIsrManager.scala @ 2.8.2). KIP-501's Solution 2 gives up on a read, and on leading.
"""

from __future__ import annotations

from isr_pipeline.kafka.election import grown_elr
from isr_pipeline.kafka.kip501 import should_resign, transfers_instead_of_shrinking
from isr_pipeline.kafka.partition import (
    Alter,
    alter_error,
    alter_response,
    answer_raises_hw,
    lag_lets_join,
    may_expand,
    out_of_sync_mask,
    size_of,
)
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import Kip501, Lock, Rules
from isr_pipeline.kafka.replica import lag_clock
from isr_pipeline.simulation.controller import (
    acceptable_mask,
    elect_after_resignation,
    hand_over,
    publish,
)
from isr_pipeline.simulation.leader import (
    leads_officially,
    raise_hw,
)
from isr_pipeline.simulation.measures import (
    emit,
    refresh,
    touches,
    watch_detection_delay,
)
from isr_pipeline.simulation.network import PURPOSE_TICK_WAKES, link, wake_us
from isr_pipeline.simulation.partition_lock import (
    leave_lock,
    lock_is_busy,
)
from isr_pipeline.simulation.shortcuts.depends import (
    min_isr,
    min_isr_for,
    note,
    note_isr,
    note_read,
    set_isr,
)
from isr_pipeline.simulation.waits import note_join, waited_for
from isr_pipeline.simulation.world.jit import cold, compiled
from isr_pipeline.simulation.world.queue import cancel, schedule
from isr_pipeline.simulation.world.states import (
    AlterAnswer,
    AlterItem,
    Depends,
    EventKind,
    FetchState,
    Resignation,
    Tick,
    Touch,
    WriteLock,
)
from isr_pipeline.simulation.world.tables import (
    INF,
    NEVER,
    Broker,
    Partition,
    Replica,
    World,
)

FLAP_WINDOW_US = 60_000_000


@compiled
def _touched(world: World, follower: Replica, leader_broker: Broker, since: int) -> bool:
    """Whether a fault touched ``follower``, or its link to the leader, since a moment."""
    if follower.fetch_state in (FetchState.FAILED, FetchState.DEAD, FetchState.STOPPED):
        return True
    for i in range(world.fault_count):
        fault = world.faults[i]
        if fault.start > world.now or fault.end < since:
            continue
        if touches(world, fault, follower, leader_broker, Touch.APPEND | Touch.MOMENT):
            return True
    return False


@compiled
def _order_with(partition: Partition, isr: int) -> None:
    """Keep the ISR's order: members that left drop out, new ones come last."""
    order = partition.isr_order
    kept = 0
    k = 0
    seen = 0
    for i in range(partition.replication_factor):
        pos = (order >> (4 * i)) & 15
        if (isr >> pos) & 1:
            kept |= pos << (4 * k)
            seen |= 1 << pos
            k += 1
    for i in range(partition.replication_factor):
        pos = (order >> (4 * i)) & 15
        if not (seen >> pos) & 1:
            kept |= pos << (4 * k)
            k += 1
    partition.isr_order = kept


@compiled
def _count_change(world: World, leader: Replica, removed: int, added: int) -> None:
    """Book an ISR change that ``leader`` made: shrinks, flaps, false positives."""
    partition = leader.partition
    counted = world.now >= world.warmup
    if removed:
        if counted:
            world.isr_shrinks += 1
        for pos in range(partition.replication_factor):
            if (removed >> pos) & 1:
                follower = partition.replicas[pos]
                follower.removed_at = world.now
                since = leader.followers[pos].caught_up_at_decision
                if counted and not _touched(world, follower, leader.broker, since):
                    world.spurious_removals += 1
    if added:
        if counted:
            world.isr_expands += 1
        for pos in range(partition.replication_factor):
            if (added >> pos) & 1:
                follower = partition.replicas[pos]
                note_join(world, follower)
                if counted and world.now - follower.removed_at <= FLAP_WINDOW_US:
                    world.isr_flaps += 1
                follower.removed_at = NEVER


@compiled
def commit_isr(world: World, rules: Rules, leader: Replica) -> None:
    """The pending change of ``leader`` is committed now, and the leader knows."""
    _commit(world, rules, leader)
    _take_commit(world, rules, leader, leader.pending_isr, leader.partition.partition_epoch)


@compiled
def _take_commit(
    world: World, rules: Rules, leader: Replica, isr: int, partition_epoch: int
) -> None:
    """``leader`` learns that its change is committed."""
    leader.pending = Pending.NONE
    set_isr(world, leader, isr)
    leader.partition_epoch = partition_epoch
    if answer_raises_hw(rules):
        raise_hw(world, rules, leader, world.now)


@compiled
def _commit(world: World, rules: Rules, leader: Replica) -> None:
    """ZooKeeper or the controller commits the pending change of ``leader``."""
    partition = leader.partition
    shrink = leader.pending == Pending.SHRINK
    isr = leader.pending_isr
    changed = leader.decided
    if rules.elr:
        fewest = min_isr_for(world, rules, partition, isr)
        # with a leader there is no last known one, and no replica here stopped uncleanly
        partition.elr, _ = grown_elr(rules, partition, isr, fewest, 0)
    partition.isr = isr
    partition.partition_epoch += 1
    _order_with(partition, isr)
    bumps = shrink and rules.shrink_bumps_leader_epoch
    node = leader.broker.number
    event = emit(
        world,
        EventKind.ISR_SHRINK if shrink else EventKind.ISR_EXPAND,
        partition,
        node,
        leader.decided_at,
        changed,
    )
    if event:
        for pos in range(partition.replication_factor):
            since = leader.followers[pos].caught_up_at_decision
            event.caught_up_times[pos] = since
            event.waited[pos] = 0
            if shrink and (changed >> pos) & 1:
                thread = leader.fetching[pos].thread
                event.waited[pos] = waited_for(world, thread, leader.decided_at - since)
        event.mask = changed
    _count_change(world, leader, changed if shrink else 0, 0 if shrink else changed)
    if bumps:
        partition.leader_epoch += 1
        publish(world, partition)
    for pos in range(partition.replication_factor):
        watch_detection_delay(world, partition.replicas[pos])
    refresh(world, rules, partition)


@compiled
def _note_causes(rules: Rules, leader: Replica) -> None:
    """Keep each replica's lastCaughtUpTimeMs for the event's cause."""
    for pos in range(leader.partition.replication_factor):
        follower = leader.followers[pos]
        follower.caught_up_at_decision = lag_clock(rules, follower)


@compiled
def propose(world: World, rules: Rules, leader: Replica, kind: int, isr: int, changed: int) -> None:
    """Note the ISR change (or hand-over) that ``leader`` has decided on now."""
    leader.pending = kind
    leader.pending_isr = isr
    leader.decided_at = world.now
    leader.decided = changed
    _note_causes(rules, leader)


@compiled
def submit(world: World, leader: Replica) -> None:
    """Hand the proposal to the broker's AlterPartition manager: one request in flight."""
    broker = leader.broker
    if broker.alter_due == INF:
        leader.alter_item = AlterItem.IN_FLIGHT
        _send_alter(world, broker)
    else:
        leader.alter_item = AlterItem.QUEUED
        broker.alter_queued += 1


@compiled
def _answer_time(world: World, broker: Broker) -> int:
    """When a request that ``broker`` sends to the controller now is answered.

    A round trip later at least: what is refused and sent again for ever must not stop the clock.
    """
    place = link(world, broker.number, world.broker_count)
    back = link(world, world.broker_count, broker.number)
    start = max(world.now, place.dropped_until)
    start = max(start, back.dropped_until)
    start = max(start, world.controller_out_until)
    takes = max(1, world.alter_partition_us, 2 * world.half_rtt_us)
    return start + takes + place.added_us + back.added_us


@compiled
def _send_alter(world: World, broker: Broker) -> None:
    """Send the AlterPartition request of ``broker``."""
    broker.alter_due = _answer_time(world, broker)
    schedule(world, broker.alter_slot, broker.alter_due)


@compiled
def _decide_item(world: World, rules: Rules, leader: Replica) -> None:
    """The controller decides on the item of ``leader``, and answers."""
    leader.alter_item = AlterItem.ANSWERED
    leader.answer = AlterAnswer.NONE
    partition = leader.partition
    kind = leader.pending
    if kind == Pending.NONE or not leader.is_leader:
        return
    leads = leads_officially(leader)
    if kind == Pending.HANDOVER:
        if leads:
            leader.answer = AlterAnswer.HANDED_OVER
            elect_after_resignation(
                world, rules, partition, leader.resigns == Resignation.ANOTHER_LEADER
            )
        return
    answer = alter_response(
        rules,
        alter_error(
            rules,
            leads,
            partition.partition_epoch,
            leader.partition_epoch,
            leader.pending_isr,
            acceptable_mask(partition),
        ),
        partition.leader_epoch,
        partition.partition_epoch,
        leader.leader_epoch,
        leader.partition_epoch,
    )
    if answer == Alter.COMMIT:
        _commit(world, rules, leader)
        leader.answer = AlterAnswer.COMMIT
        leader.answer_isr = leader.pending_isr
        leader.answer_partition_epoch = partition.partition_epoch
    elif answer == Alter.REVERT:
        leader.answer = AlterAnswer.REVERT
    elif answer == Alter.RESUBMIT:
        leader.answer = AlterAnswer.RESUBMIT


@compiled
def _take_answer(world: World, rules: Rules, leader: Replica) -> None:
    """``leader`` takes the controller's answer, under the partition's lock."""
    leader.alter_item = AlterItem.NONE
    answer = leader.answer
    if leader.pending == Pending.NONE or not leader.is_leader or answer == AlterAnswer.NONE:
        return
    # it may have resigned while the answer waited: then that has still to be asked for
    resigns = leader.pending == Pending.HANDOVER and answer != AlterAnswer.HANDED_OVER
    if answer == AlterAnswer.COMMIT:
        _take_commit(world, rules, leader, leader.answer_isr, leader.answer_partition_epoch)
    elif answer == AlterAnswer.REVERT:
        leader.pending = Pending.NONE
    elif answer == AlterAnswer.HANDED_OVER:
        leader.pending = Pending.NONE
        leader.resigns = Resignation.NONE
    if resigns:
        leader.pending = Pending.HANDOVER
    if resigns or answer == AlterAnswer.RESUBMIT:
        submit(world, leader)


@compiled
def _answer_arrives(world: World, broker: Broker) -> bool:
    """Whether the answer to ``broker`` arrives now; if not, when it will is planned."""
    now = world.now
    place = link(world, broker.number, world.broker_count)
    if world.controller_out_until > now:
        schedule(world, broker.alter_slot, world.controller_out_until + world.alter_partition_us)
    elif broker.paused_until > now:
        schedule(world, broker.alter_slot, broker.paused_until)
    elif place.dropped_until > now:
        schedule(world, broker.alter_slot, place.dropped_until + world.alter_partition_us)
    else:
        return True
    return False


@compiled
def alter_fires(world: World, rules: Rules, broker: Broker) -> None:
    """The broker's AlterPartition request is answered.

    The controller has decided on all its items. The broker takes them one by one, each under its
    partition's lock: a stuck read holds up those behind it, and the next request.
    """
    if not broker.alter_answered and not _answer_arrives(world, broker):
        return
    if broker.paused_until > world.now:
        schedule(world, broker.alter_slot, broker.paused_until)
        return
    broker.alter_answered = 1
    cancel(world, broker.alter_slot)
    waits = False
    for i in range(broker.hosted_count):
        leader = broker.hosted[i].replica
        if leader.alter_item == AlterItem.IN_FLIGHT:
            _decide_item(world, rules, leader)
        if leader.alter_item == AlterItem.ANSWERED and not waits:
            waits = lock_is_busy(world, leader, WriteLock.ANSWER_WAITS)
            if not waits:
                _take_answer(world, rules, leader)
                leave_lock(world, leader, WriteLock.ANSWER_WAITS)
    if waits:
        return
    broker.alter_answered = 0
    broker.alter_due = INF
    if broker.alter_queued > 0:
        broker.alter_queued = 0
        for i in range(broker.hosted_count):
            leader = broker.hosted[i].replica
            if leader.alter_item == AlterItem.QUEUED:
                leader.alter_item = AlterItem.IN_FLIGHT
        _send_alter(world, broker)


@compiled
def resign(world: World, rules: Rules, leader: Replica, exclude_self: bool) -> None:
    """``leader`` asks the controller for another leader (KIP-501 Solution 2, li-transfer)."""
    partition = leader.partition
    if leader.resigns != Resignation.NONE or not leads_officially(leader):
        return
    leader.resigns = Resignation.ANOTHER_LEADER if exclude_self else Resignation.ANY_LEADER
    hand_over(partition, leader.position)
    event = emit(
        world,
        EventKind.LEADER_RESIGNED,
        partition,
        leader.broker.number,
        world.now,
        1 << leader.position,
    )
    if event:
        event.caught_up_times[0] = partition.isr_order
    if world.now >= world.warmup:
        world.resignations += 1
    if leader.alter_item == AlterItem.QUEUED:
        # the manager holds one item a partition: the resignation takes the queued one's place
        propose(world, rules, leader, Pending.HANDOVER, leader.isr, 0)
        return
    propose(world, rules, leader, Pending.HANDOVER, leader.isr, 0)
    if leader.alter_item == AlterItem.NONE:
        submit(world, leader)


@compiled
def wants_expand(world: World, rules: Rules, leader: Replica, pos: int, rule_time: int) -> bool:
    """Whether the follower at ``pos``, which has just fetched from ``leader``, may join the ISR."""
    if (
        (leader.isr >> pos) & 1
        or leader.pending != Pending.NONE
        or leader.alter_item != AlterItem.NONE
    ):
        return False
    broker = leader.broker
    partition = leader.partition
    if not may_expand(rules, leader, pos, partition.eligible):
        return False
    fewest = min_isr(world, rules, partition)
    return lag_lets_join(rules, leader, pos, fewest, rule_time, broker.lag_time_max_us)


@compiled
def sync_write_end(world: World, leader: Replica) -> int:
    """When a ZooKeeper write that ``leader`` begins now is done."""
    node = leader.broker.number
    place = link(world, node, world.broker_count)
    back = link(world, world.broker_count, node)
    begins = max(max(world.now, place.dropped_until), back.dropped_until)
    return begins + world.zookeeper_write_us + place.added_us + back.added_us


@compiled
def finish_sync_write(world: World, rules: Rules, leader: Replica) -> None:
    """The ZooKeeper write is done: a stale leader's conditional write changes nothing."""
    if leader.pending in (Pending.EXPAND, Pending.SHRINK):
        if leads_officially(leader) and leader.partition.partition_epoch == leader.partition_epoch:
            commit_isr(world, rules, leader)
        else:
            leader.pending = Pending.NONE


@compiled
def get_out_of_sync_replicas(world: World, rules: Rules, leader: Replica) -> int:
    """ISR members that the tick takes out of the ISR of ``leader`` now."""
    if leader.pending != Pending.NONE or leader.alter_item != AlterItem.NONE:
        return 0
    broker = leader.broker
    return out_of_sync_mask(
        rules, leader, world.now, broker.lag_time_max_us, broker.lag_max_messages
    )


@compiled
def maybe_shrink_isr(world: World, rules: Rules, broker: Broker, leader: Replica) -> bool:
    """The walk of ``broker`` comes to ``leader``; False if it has to stay there."""
    mode = rules.isr_lock
    if broker.tick_state == Tick.WRITES:
        broker.tick_state = Tick.READY
        finish_sync_write(world, rules, leader)
        leave_lock(world, leader, WriteLock.HELD)
        return True
    expired = get_out_of_sync_replicas(world, rules, leader)
    if expired != 0:
        note(world, Depends.EXPIRED)
        note_isr(world, leader.partition, leader.isr & ~expired)
    wants_lock = mode in (Lock.COMPLETION, Lock.RW_ALWAYS) or (mode != Lock.NONE and expired != 0)
    if wants_lock and lock_is_busy(world, leader, WriteLock.TICK_WAITS):
        broker.tick_state = Tick.WAITS
        world.held_up_ticks += 1
        return False
    if broker.tick_state == Tick.WAITS:
        broker.tick_state = Tick.READY
        leave_lock(world, leader, WriteLock.TICK_WAITS)
    if expired == 0:
        return True
    left = leader.isr & ~expired
    if transfers_instead_of_shrinking(
        rules, size_of(left), min_isr_for(world, rules, leader.partition, left)
    ):
        resign(world, rules, leader, True)
        return True
    propose(world, rules, leader, Pending.SHRINK, left, expired)
    if rules.async_isr:
        submit(world, leader)
        return True
    leader.write_lock |= WriteLock.HELD
    broker.tick_state = Tick.WRITES
    schedule(world, broker.tick_slot, sync_write_end(world, leader))
    return False


@compiled
def tick_wakes_us(world: World, broker: Broker) -> int:
    """How long the next tick of ``broker`` waits for a thread of the scheduler after a pause."""
    return wake_us(world, PURPOSE_TICK_WAKES, broker.number, broker.tick_due)


@compiled
def _next_walk(world: World, broker: Broker) -> int:
    """When the next walk of ``broker`` begins.

    A tick that a pause held up waits for a thread of the scheduler, and the next for that one's
    walk and a thread again: ScheduledThreadPoolExecutor takes a task of a fixed rate up once its
    last run is over (utils/KafkaScheduler.scala @ 2.2.2, util/KafkaScheduler.java @ 3.9.0,
    `schedule`). A request in a socket takes two threads (`responses.goes_on_at`), so the first of
    several ticks mostly comes before it, and the last mostly behind it.
    """
    begins = max(world.now, broker.tick_due)
    if broker.tick_due > broker.paused_until:
        return begins
    return max(begins, broker.paused_until) + tick_wakes_us(world, broker)


@cold
def tick_fires(world: World, rules: Rules, broker: Broker) -> None:
    """The isr-expiration task of ``broker``: one walk over all its partitions, at a fixed rate.

    A walk that has to wait for a lock, or for ZooKeeper, waits as a whole; ticks missed meanwhile
    fire back to back.
    """
    now = world.now
    slot = broker.tick_slot
    world.tick_count += 1
    if broker.paused_until > now:
        walks = broker.tick_position >= 0
        schedule(world, slot, broker.paused_until if walks else _next_walk(world, broker))
        return
    if broker.tick_position < 0:
        broker.tick_position = 0
        broker.tick_due += broker.tick_period_us
    while broker.tick_position < broker.hosted_count:
        leader = broker.hosted[broker.tick_position].replica
        if leader.is_leader:
            if not maybe_shrink_isr(world, rules, broker, leader):
                if broker.tick_state == Tick.WAITS:
                    cancel(world, slot)
                return
        elif broker.tick_state != Tick.READY:
            broker.tick_state = Tick.READY
            leave_lock(world, leader, WriteLock.TICK_WAITS | WriteLock.HELD)
        broker.tick_position += 1
    broker.tick_position = -1
    schedule(world, slot, _next_walk(world, broker))


@compiled
def s2_alarm(world: World, rules: Rules, end: int) -> int:
    """When the slot of a read that ends at ``end`` fires: earlier if Solution 2's timer does."""
    note_read(world, end - world.now)
    if rules.kip501 == Kip501.S2:
        return min(end, world.now + world.fetch_process_time_max_us)
    return end


@compiled
def s2_timer(world: World, rules: Rules, leader: Replica) -> None:
    """Solution 2's timer has fired for a read of ``leader``: resign if anybody could take over."""
    partition = leader.partition
    others = leader.isr & partition.eligible & ~(1 << leader.position)
    limit = world.fetch_process_time_max_us
    if partition.last_resignation > NEVER:
        note(world, Depends.COOLDOWN)
    if should_resign(
        rules,
        limit + 1,
        limit,
        others != 0,
        world.now - partition.last_resignation,
        world.resign_cooldown_us,
    ):
        if leads_officially(leader):
            partition.last_resignation = world.now
            resign(world, rules, leader, False)
