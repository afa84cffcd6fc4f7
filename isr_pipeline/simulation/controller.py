"""The controller: sessions, fencing, elections, the committed ISR, metadata to the brokers.

One controller change gives, at one time: broker_fenced, then for each partition
controller_isr_remove and its election or partition_offline. Brokers learn of it by metadata
records, each at its own time, in order.
leader.imbalance.check gives leads back to preferred leaders.
"""

from __future__ import annotations

from isr_pipeline.kafka.election import (
    NEW_CONTROLLER_CHECK_US,
    NEXT_GO_US,
    Change,
    Election,
    change_kraft,
    elect_zk,
    go_limit,
    kraft_election,
    last_member_leaves,
    moves_back,
    waits_for_imbalance,
)
from isr_pipeline.kafka.releases import Controller, ElectionOrder, Rules
from isr_pipeline.kafka.rows import cells_of, number_of
from isr_pipeline.kafka.shutdown import has_reported
from isr_pipeline.simulation.eligible import is_eligible, note_eligible
from isr_pipeline.simulation.log import lose_from
from isr_pipeline.simulation.measures import emit, emit_of_broker, rearm, refresh
from isr_pipeline.simulation.network import jitter, link
from isr_pipeline.simulation.shortcuts.depends import (
    may_elect_uncleanly,
    min_isr_for,
    note,
    note_isr,
)
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.queue import cancel, due, schedule
from isr_pipeline.simulation.world.states import Depends, EventKind, Leaving, LogDir
from isr_pipeline.simulation.world.tables import (
    INF,
    RECORD_CELLS,
    Broker,
    Partition,
    Replica,
    World,
)

PURPOSE_METADATA = 11
PURPOSE_MOVE_SEEN = 13


@compiled
def is_kraft(rules: Rules) -> bool:
    """Whether the controller is KRaft's."""
    return rules.controller == Controller.KRAFT


@compiled
def replica_acceptable(replica: Replica) -> bool:
    """Whether the controller regards ``replica`` as able to lead."""
    broker = replica.broker
    return is_eligible(broker) and broker.log_dirs[replica.log_dir] != LogDir.TOLD


@compiled
def acceptable_mask(partition: Partition) -> int:
    """Replicas of ``partition`` that the controller regards as alive."""
    mask = 0
    for pos in range(partition.replication_factor):
        if replica_acceptable(partition.replicas[pos]):
            mask |= 1 << pos
    return mask


# ------------------------------------------------------------------ metadata


@compiled
def _is_superseded(broker: Broker, place: int) -> bool:
    """Whether a later record on its way to ``broker`` is of the same partition as that one."""
    partition = broker.metadata[place].partition
    later = (place + 1) % broker.metadata_capacity
    while later != broker.metadata_tail:
        if broker.metadata[later].partition == partition:
            return True
        later = (later + 1) % broker.metadata_capacity
    return False


@compiled
def _merge_records(world: World, broker: Broker) -> None:
    """The line of ``broker`` is full: a partition's newest record stands for its older ones.

    So does a snapshot of the metadata log, which a broker that is far behind loads: it ends in the
    newest state of each partition, and never sees those between. A record that stays keeps its
    time and its place behind the others, so the broker applies it no sooner.

    Two kinds stay though a later one is there: the first in line, on which the broker may be at
    work, and those of a start, which alone begin a replica anew. At most two a partition and one
    are left then, and the line has room for four a partition (`worlds.template`).

    A report (`await_reports`) that counts on records in the line waits for its last one.
    """
    cap = broker.metadata_capacity
    kept = (broker.metadata_head + 1) % cap
    place = kept
    dropped = 0
    while place != broker.metadata_tail:
        if broker.metadata[place].is_full or not _is_superseded(broker, place):
            before = cells_of(broker.metadata[place])
            after = cells_of(broker.metadata[kept])
            for k in range(RECORD_CELLS):
                after[k] = before[k]
            kept = (kept + 1) % cap
        else:
            dropped += 1
        place = (place + 1) % cap
    broker.metadata_tail = kept
    broker.metadata_sent -= dropped
    for k in range(world.broker_count):
        reports = world.brokers[k].reports
        if records_awaited(reports[broker.number]) > 0:
            reports[broker.number] = once_applied(broker.metadata_sent)


@compiled
def _send_record(world: World, partition: Partition, broker: Broker, full: int) -> None:
    """Send ``broker`` the state of ``partition``; its records arrive in order."""
    if not broker.is_up:
        return
    node = broker.number
    ctl = world.broker_count
    place = link(world, ctl, node)
    delay = jitter(
        world,
        PURPOSE_METADATA,
        node + (broker.epoch << 8),
        partition.leader_epoch + (number_of(partition, world.partitions) << 12) * (1 - full),
        world.metadata_low_us,
        world.metadata_high_us,
    )
    arrives = max(world.now, place.dropped_until) + place.added_us + delay
    head = broker.metadata_head
    tail = broker.metadata_tail
    cap = broker.metadata_capacity
    base = broker.metadata
    if head != tail:
        previous = base[(tail - 1) % cap]
        arrives = max(arrives, previous.due)
        if (tail + 1) % cap == head:
            _merge_records(world, broker)
            tail = broker.metadata_tail
    record = base[tail]
    record.due = arrives
    record.partition = partition
    record.leader = partition.leader
    record.leader_epoch = partition.leader_epoch
    record.isr = partition.isr
    record.partition_epoch = partition.partition_epoch
    record.is_full = full
    broker.metadata_tail = (tail + 1) % cap
    broker.metadata_sent += 1
    if head == tail:
        schedule(world, broker.metadata_slot, arrives)


@compiled
def publish(world: World, partition: Partition) -> None:
    """Send the state of ``partition`` to every broker that holds a replica of it."""
    for pos in range(partition.replication_factor):
        _send_record(world, partition, partition.replicas[pos].broker, 0)


@compiled
def publish_all_to(world: World, broker: Broker) -> None:
    """Send ``broker``, which has just registered, the state of all its partitions."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        _send_record(world, replica.partition, broker, 1)


# ------------------------------------------------------------------ the check's timer


@compiled
def plan_check(world: World, rules: Rules) -> None:
    """A write may have left a partition without its preferred leader: plan KRaft's check to 3.9."""
    if not waits_for_imbalance(rules) or due(world, world.check_slot) < INF:
        return
    for i in range(world.partition_count):
        partition = world.partitions[i]
        if partition.leader != partition.preferred:
            schedule(world, world.check_slot, min(world.now + world.imbalance_check_us, INF))
            return


@compiled
def check_anew(world: World, rules: Rules) -> None:
    """A new controller: its timer begins anew."""
    if world.imbalance_check_us == INF:
        return
    cancel(world, world.check_slot)
    if waits_for_imbalance(rules):
        plan_check(world, rules)
    else:
        wait = world.imbalance_check_us if is_kraft(rules) else NEW_CONTROLLER_CHECK_US
        schedule(world, world.check_slot, world.now + wait)


# ------------------------------------------------------------------ one partition's change


@compiled
def _walk_order(world: World, rules: Rules, partition: Partition, isr: int) -> None:
    """Fill in the positions in the order in which an election walks."""
    change = world.change
    n = 0
    if rules.election == ElectionOrder.ISR_ORDER:
        order = partition.isr_order
        for k in range(partition.replication_factor):
            pos = (order >> (4 * k)) & 15
            if (isr >> pos) & 1:
                change.order[n] = pos
                n += 1
        for pos in range(partition.replication_factor):
            if not (isr >> pos) & 1:
                change.order[n] = pos
                n += 1
    else:
        change.order[0] = partition.preferred
        n = 1
        for pos in range(partition.replication_factor):
            if pos != partition.preferred:
                change.order[n] = pos
                n += 1
    change.ordered = n


@compiled
def _set_leader(world: World, partition: Partition, leader: int, unclean: bool) -> None:
    """Give ``partition`` another leader (or none) and emit the event."""
    before = partition.leader
    partition.leader = leader
    partition.leader_since = world.now
    if leader < 0:
        if before >= 0:
            emit(world, EventKind.PARTITION_OFFLINE, partition, -1, -1, 0)
        return
    replica = partition.replicas[leader]
    node = replica.broker.number
    if leader != partition.last_leader:
        partition.last_leader = leader
        if world.now >= world.warmup:
            world.leader_changes += 1
    if unclean:
        if world.now >= world.warmup:
            world.unclean_elections += 1
        emit(world, EventKind.UNCLEAN_ELECTION, partition, node, -1, 0)
    if before < 0:
        emit(world, EventKind.PARTITION_ONLINE, partition, node, -1, 0)
    elif not unclean:
        emit(world, EventKind.LEADER_ELECTED, partition, node, -1, 0)
    lose_from(world, partition, replica.log_end_offset, node)


@compiled
def _apply(world: World, rules: Rules, partition: Partition, change: Change) -> None:
    """Commit what an election or a removal has worked out for a partition."""
    before = partition.isr
    is_other = change.leader != partition.leader
    if (
        not is_other
        and change.isr == before
        and change.elr == partition.elr
        and change.last_known_elr == partition.last_known_elr
        and not change.bumps_leader_epoch
    ):
        return
    partition.elr = change.elr
    partition.last_known_elr = change.last_known_elr
    partition.partition_epoch += 1
    if change.bumps_leader_epoch:
        partition.leader_epoch += 1
    removed = before & ~change.isr
    partition.isr = change.isr
    if removed and not change.is_unclean:
        emit(world, EventKind.CONTROLLER_ISR_REMOVE, partition, -1, -1, removed)
    partition.is_recovering = change.is_unclean
    again = change.bumps_leader_epoch and change.leader >= 0 and change.is_unclean
    if is_other or again:
        _set_leader(world, partition, change.leader, change.is_unclean)
        plan_check(world, rules)
    for pos in range(partition.replication_factor):
        rearm(world, partition.replicas[pos])
    refresh(world, rules, partition)
    publish(world, partition)


@compiled
def _note_election(world: World, partition: Partition, election: Election, elected: int) -> None:
    """Note what the outcome of an election depended on."""
    isr = partition.isr
    if elected < 0:
        note(world, Depends.NOBODY)
    if election == Election.PREFERRED or (elected >= 0 and elected != partition.leader):
        # a preferred election looks at the first of the order alone, whoever that is
        if elected < 0 or not (isr >> elected) & 1 or not _orders_agree(partition, isr):
            note(world, Depends.ORDER)


@compiled
def _orders_agree(partition: Partition, isr: int) -> bool:
    """Whether the members of the ISR come in the same order in the assignment and in the ISR.

    The assignment's begins with the preferred replica.
    """
    order = partition.isr_order
    preferred = partition.preferred
    last = -1
    for k in range(partition.replication_factor):
        pos = (order >> (4 * k)) & 15
        if (isr >> pos) & 1:
            place = 0 if pos == preferred else pos + 1
            if place <= last:
                return False
            last = place
    return True


@compiled
def change_partition(
    world: World, rules: Rules, partition: Partition, removed: int, election: Election, unclean: int
) -> None:
    """Take replicas out of the ISR of a partition, and elect as far as that is needed.

    Args:
        world: the world.
        rules: the switches.
        partition: the partition.
        removed: replicas that may not stay in the ISR.
        election: a value of ``Election``.
        unclean: replicas back from an unclean shutdown, which leave the ELR.
    """
    isr = partition.isr
    target = isr & ~removed
    note_isr(world, partition, target)
    _walk_order(world, rules, partition, target if target else isr)
    change = world.change
    change.acceptable = acceptable_mask(partition) & ~removed
    if is_kraft(rules):
        _change_kraft(world, rules, partition, target, election, unclean)
    else:
        _change_zk(world, rules, partition, removed, election)


@compiled
def _change_kraft(
    world: World, rules: Rules, partition: Partition, target: int, election: Election, unclean: int
) -> None:
    """KRaft's controller works out a change, and commits it."""
    change = world.change
    elr = rules.elr
    change.target_isr = target if (target or elr) else partition.isr
    change.min_isr = min_isr_for(world, rules, partition, target)
    change.election = kraft_election(rules, election, may_elect_uncleanly(world, partition))
    change.unclean_shutdown = unclean
    change.uses_last_known = elr
    change.removes_replicas = False
    change_kraft(rules, partition, change)
    _note_election(world, partition, election, change.leader)
    _apply(world, rules, partition, change)


@compiled
def _change_zk(
    world: World, rules: Rules, partition: Partition, removed: int, election: Election
) -> None:
    """ZooKeeper's controller works out a change, and commits it."""
    change = world.change
    isr, leader = partition.isr, partition.leader
    target = isr & ~removed
    if target == 0 and isr != 0:
        note(world, Depends.NOBODY)
        if not last_member_leaves(rules, may_elect_uncleanly(world, partition)):
            target = isr
    change.elr = 0
    change.last_known_elr = 0
    change.is_unclean = False
    preferred = election == Election.PREFERRED
    if leader >= 0 and not (removed >> leader) & 1 and not preferred:
        change.leader = leader
        change.isr = target
        change.bumps_leader_epoch = target != isr
        _apply(world, rules, partition, change)
        return
    new_leader, unclean = elect_zk(
        change.order,
        1 if preferred else change.ordered,
        target & ~removed,
        change.acceptable,
        0,
        not preferred and may_elect_uncleanly(world, partition),
    )
    _note_election(world, partition, election, new_leader)
    change.leader = new_leader
    change.bumps_leader_epoch = True
    if preferred:
        change.isr = isr
        if new_leader >= 0 and new_leader != leader:
            _apply(world, rules, partition, change)
        return
    change.isr = 1 << new_leader if unclean else target
    change.is_unclean = unclean
    if new_leader >= 0 or leader >= 0 or change.isr != isr:
        _apply(world, rules, partition, change)


@compiled
def elect_preferred(world: World, rules: Rules, partition: Partition) -> None:
    """A preferred election of ``partition``: only if that replica is alive and in the ISR."""
    pos = partition.preferred
    if partition.leader == pos or not (partition.isr >> pos) & 1:
        return
    if replica_acceptable(partition.replicas[pos]):
        change_partition(world, rules, partition, 0, Election.PREFERRED, 0)


@compiled
def hand_over(partition: Partition, leader: int) -> None:
    """The leader at position ``leader`` resigns: Solution 2, or LinkedIn's transfer.

    Its id moves to the end of the ISR. ``assignment_order`` may elect the very same id again.
    """
    order = partition.isr_order
    moved = 0
    k = 0
    for i in range(partition.replication_factor):
        pos = (order >> (4 * i)) & 15
        if pos != leader:
            moved |= pos << (4 * k)
            k += 1
    partition.isr_order = moved | (leader << (4 * k))


@compiled
def elect_after_resignation(
    world: World, rules: Rules, partition: Partition, exclude_self: bool
) -> None:
    """Elect for a partition whose leader has resigned; a new leader epoch in any case."""
    leader = partition.leader
    isr = partition.isr
    acceptable = acceptable_mask(partition)
    _walk_order(world, rules, partition, isr)
    chosen = -1
    for i in range(world.change.ordered):
        pos = world.change.order[i]
        if (isr >> pos) & (acceptable >> pos) & 1 and not (exclude_self and pos == leader):
            chosen = pos
            break
    note(world, Depends.ORDER)  # the leader that resigns is the last in the ISR's order
    if chosen < 0:
        return
    partition.partition_epoch += 1
    partition.leader_epoch += 1
    if chosen == leader:
        emit(
            world,
            EventKind.LEADER_ELECTED,
            partition,
            partition.replicas[chosen].broker.number,
            -1,
            0,
        )
    else:
        _set_leader(world, partition, chosen, False)
        plan_check(world, rules)
    refresh(world, rules, partition)
    publish(world, partition)


# ------------------------------------------------------------------ brokers


@compiled
def _replica_here(partition: Partition, broker: Broker) -> int:
    """Position of the replica of ``partition`` on ``broker``, -1 if there is none."""
    for pos in range(partition.replication_factor):
        if partition.replicas[pos].broker == broker:
            return pos
    return -1


@compiled
def fence(world: World, rules: Rules, broker: Broker, announce: bool) -> None:
    """``broker`` is regarded as dead: out of every ISR it shares, its leaderships move."""
    if broker.is_fenced and not broker.leaving:
        return
    broker.leaving = Leaving.DONE
    if not broker.is_fenced:
        count_as_dead(world, broker, announce)
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and ((partition.isr >> pos) & 1 or partition.leader == pos):
            removed = _leave_with(rules, partition, pos)
            change_partition(world, rules, partition, removed, Election.ONLINE, 0)


@compiled
def count_as_dead(world: World, broker: Broker, announce: bool) -> None:
    """The controller no longer regards ``broker`` as alive; what follows from that is to come."""
    broker.is_fenced = 1
    note_eligible(world)
    if announce:
        emit_of_broker(world, EventKind.BROKER_FENCED, broker.number)


@compiled
def _leave_with(rules: Rules, partition: Partition, pos: int) -> int:
    """Who leaves the ISR with the dead replica at ``pos``.

    Where ZooKeeper's controller elects for a dead leader, only the living stay, if there are any
    (PartitionLeaderSelector.scala @ 0.8.2.2, Election.leaderForOffline @ 2.2.2, 3.5.1).
    """
    me = 1 << pos
    living = partition.isr & acceptable_mask(partition) & ~me
    if is_kraft(rules) or partition.leader != pos or living == 0:
        return me
    return partition.isr & ~living


@compiled
def elect_without(world: World, rules: Rules, broker: Broker) -> None:
    """Partitions that ``broker``, which is dead, leads get another leader."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and partition.leader == pos:
            removed = _leave_with(rules, partition, pos)
            change_partition(world, rules, partition, removed, Election.ONLINE, 0)


@compiled
def remove_from_isrs(world: World, rules: Rules, broker: Broker) -> None:
    """``broker``, which is dead, leaves the ISRs that it is still in."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and (partition.isr >> pos) & 1:
            change_partition(world, rules, partition, 1 << pos, Election.ONLINE, 0)


@compiled
def unfence(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` counts as alive again; partitions without a leader are elected with it."""
    broker.is_fenced = 0
    note_eligible(world)
    emit_of_broker(world, EventKind.BROKER_UNFENCED, broker.number)
    broker.was_killed = 0
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and partition.leader < 0:
            change_partition(world, rules, partition, 0, Election.ONLINE, 0)


@compiled
def leave_elr(world: World, rules: Rules, broker: Broker) -> None:
    """``broker`` registers after a kill: what it had acknowledged may be gone (KIP-966).

    Where nobody is left, the last known leader may be elected at once
    (BrokerShutdownHandler, ReplicationControlManager.handleUncleanBrokerShutdown @ 4.0.0).
    """
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and (partition.elr >> pos) & 1:
            change_partition(world, rules, partition, 0, Election.ONLINE, 1 << pos)


@compiled
def move_away(world: World, rules: Rules, broker: Broker) -> None:
    """Controlled shutdown of ``broker``: one change moves its leaders and its ISR memberships."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos < 0:
            continue
        me = 1 << pos
        others = partition.isr & acceptable_mask(partition) & ~me
        if partition.leader == pos:
            # KRaft leaves a partition of which it is the last member without a leader at once;
            # ZooKeeper's controller lets it lead until it is gone
            if others or is_kraft(rules):
                change_partition(world, rules, partition, me, Election.ONLINE, 0)
        elif partition.isr & me and partition.isr != me:
            change_partition(world, rules, partition, me, Election.ONLINE, 0)


@compiled
def leads_any(world: World, broker: Broker) -> bool:
    """Whether ``broker`` leads a partition, as the controller sees it."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        leader = partition.leader
        if leader >= 0 and partition.replicas[leader].broker == broker:
            return True
    return False


@compiled
def leads_replicated(broker: Broker) -> bool:
    """Whether ``broker`` leads a partition that another broker could lead as well."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        partition = replica.partition
        if partition.replication_factor > 1 and partition.leader == replica.position:
            return True
    return False


@compiled
def once_applied(records: int) -> int:
    """What stands for a report's time while its broker has to apply this many records first."""
    return -records


@compiled
def records_awaited(report: int) -> int:
    """How many records a broker has to apply before it can report; 0 if it has."""
    return -report if report < 0 else 0


@compiled
def await_reports(world: World, broker: Broker) -> None:
    """The leads of ``broker`` have moved: from here on the others may report that they know.

    Of each, the time at which it has applied the move, or what says which record that waits for
    (`once_applied`). Who holds none of its partitions gets no record here, but the metadata log
    reaches him as well.
    """
    ctl = world.broker_count
    reports = broker.reports
    for k in range(world.broker_count):
        other = world.brokers[k]
        if other.metadata_sent > other.metadata_applied:
            reports[k] = once_applied(other.metadata_sent)
            continue
        way = link(world, ctl, k)
        purpose = PURPOSE_MOVE_SEEN + (broker.number << 8)
        delay = jitter(
            world,
            purpose,
            k,
            broker.epoch,
            world.metadata_low_us,
            world.metadata_high_us,
        )
        reports[k] = max(world.now, way.dropped_until) + way.added_us + delay


@compiled
def note_applied(world: World, other: Broker) -> None:
    """Broker ``other`` has applied metadata records: those of a move may be among them."""
    for k in range(world.broker_count):
        reports = world.brokers[k].reports
        records = records_awaited(reports[other.number])
        if records > 0 and other.metadata_applied >= records:
            reports[other.number] = world.now


@compiled
def _last_heartbeat(world: World, broker: Broker) -> int:
    """When the last heartbeat of ``broker`` reached the controller."""
    until = min(world.now, broker.unheard_since)
    beats = max(0, until - broker.last_heartbeat) // broker.heartbeat_us
    return broker.last_heartbeat + beats * broker.heartbeat_us


@compiled
def all_reported(world: World, broker: Broker) -> bool:
    """Whether every active broker but ``broker`` has reported that it knows where its leads went.

    Active is who is neither fenced nor stopping: one that hangs holds it up until it is fenced.
    """
    for k in range(world.broker_count):
        other = world.brokers[k]
        if other != broker and not other.is_fenced and not other.is_stopping:
            applied = broker.reports[k]
            heard = _last_heartbeat(world, other)
            if records_awaited(applied) > 0 or not has_reported(applied, heard):
                return False
    return True


@compiled
def dir_failed(world: World, rules: Rules, broker: Broker, log_dir: int) -> None:
    """The controller hears of a failed log dir: its replicas leave the ISRs, leaders move."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        pos = _replica_here(partition, broker)
        if pos >= 0 and partition.replicas[pos].log_dir == log_dir:
            if (partition.isr >> pos) & 1 or partition.leader == pos:
                change_partition(world, rules, partition, 1 << pos, Election.ONLINE, 0)


@compiled
def _prefers(partition: Partition, broker: Broker) -> bool:
    """Whether the preferred replica of ``partition`` is on ``broker``."""
    return partition.replicas[partition.preferred].broker == broker


@compiled
def _is_due(world: World, rules: Rules, broker: Broker) -> bool:
    """Whether ``broker`` gets the leads back that it misses."""
    preferred = 0
    missing = 0
    for i in range(world.partition_count):
        partition = world.partitions[i]
        if _prefers(partition, broker):
            preferred += 1
            missing += partition.leader != partition.preferred
    return missing > 0 and moves_back(rules, preferred, missing, world.imbalance_percentage)


@compiled
def _give_back(world: World, rules: Rules) -> bool:
    """One go over the brokers; True if as many leads were moved as one go may."""
    limit = go_limit(rules)
    moved = 0
    for k in range(world.broker_count):
        broker = world.brokers[k]
        if not _is_due(world, rules, broker):
            continue
        for i in range(world.partition_count):
            partition = world.partitions[i]
            if _prefers(partition, broker) and partition.leader != partition.preferred:
                elect_preferred(world, rules, partition)
                moved += partition.leader == partition.preferred
                if moved == limit:
                    return True
    return False


@compiled
def check_fires(world: World, rules: Rules) -> None:
    """The check is due; while the controller is away it waits for it."""
    slot = world.check_slot
    if world.controller_out_until > world.now:
        schedule(world, slot, world.controller_out_until)
    elif _give_back(world, rules):
        schedule(world, slot, world.now + NEXT_GO_US)
    elif waits_for_imbalance(rules):
        cancel(world, slot)
        plan_check(world, rules)
    else:
        schedule(world, slot, world.now + world.imbalance_check_us)
