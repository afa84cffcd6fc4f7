"""Logs across a hard stop: what is flushed, what a power cut or a dead disk takes, who exits.

A log that loses something is cut when its broker starts again, as Kafka recovers it; until then
`Replica.survives_to` says how much of it is left. Acknowledged records count as gone as soon as no
replica that could lead has them.
"""

from __future__ import annotations

from isr_pipeline.kafka.recovery import Lost, exits_over_truncation, recovery_us, surviving_end
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import nothing_like
from isr_pipeline.simulation.controller import is_kraft
from isr_pipeline.simulation.disk import lose_cache
from isr_pipeline.simulation.log import cut_log, left_end, lose_from
from isr_pipeline.simulation.shortcuts.depends import may_elect_uncleanly, note
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.states import Depends, FaultKind, FaultState
from isr_pipeline.simulation.world.tables import INF, Broker, Fault, Partition, Replica, World


@compiled
def flushed_by_system(broker: Broker) -> None:
    """The operating system writes out the logs of ``broker``, the last time before a power cut."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        replica.survives_to = min(replica.survives_to, replica.log_end_offset)


@compiled
def closed_in_order(broker: Broker) -> None:
    """``broker`` has stopped in order: Kafka has flushed all its logs."""
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        replica.recovery_point = replica.log_end_offset
        if replica.survives_to < INF:
            replica.survives_to = replica.log_end_offset


@compiled
def lose_logs(world: World, rules: Rules, fault: Fault) -> None:
    """The broker of a crash has died, and its logs with it as far as the fault says."""
    if fault.lost == Lost.NOTHING:
        return
    broker = fault.broker
    lose_cache(broker)
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        replica.survives_to = surviving_end(
            fault.lost, replica.log_end_offset, replica.recovery_point, replica.survives_to
        )
        count_gone(world, rules, replica)


@compiled
def recover_logs(world: World, broker: Broker) -> None:
    """``broker`` starts: what its logs have lost is cut off.

    A power cut to come may have had its last flush before this start: it takes all that follows.
    """
    again = _cut_to_come(world, broker)
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        if replica.survives_to < INF:
            cut_log(replica, replica.survives_to)
            replica.high_watermark = min(replica.high_watermark, replica.log_end_offset)
            replica.survives_to = replica.log_end_offset if again else INF


@compiled
def _cut_to_come(world: World, broker: Broker) -> bool:
    """Whether a power cut of ``broker`` is to come whose last flush is over."""
    for i in range(world.fault_count):
        fault = world.faults[i]
        if (
            fault.kind == FaultKind.CRASH
            and fault.broker == broker
            and fault.lost == Lost.TAIL
            and fault.state == FaultState.TO_BEGIN
            and fault.flushed_at <= world.now
        ):
            return True
    return False


@compiled
def recovery_time(fault: Fault, broker: Broker) -> int:
    """Time in which the logs of ``broker``, which was killed, are read from recovery points on."""
    if not broker.was_killed or fault.recovery_bytes_per_s == 0 or fault.lost == Lost.ALL:
        return 0
    size = 0
    for i in range(broker.hosted_count):
        replica = broker.hosted[i].replica
        size += fault.recovery_bytes
        size += (left_end(replica) - replica.recovery_point) * replica.partition.record_bytes
    return recovery_us(size, fault.recovery_bytes_per_s)


# ------------------------------------------------------------------ records that are gone


@compiled
def _could_lead(world: World, rules: Rules, partition: Partition) -> int:
    """Replicas of ``partition`` that the controller may elect once they are back."""
    note(world, Depends.NOBODY)
    unclean = may_elect_uncleanly(world, partition)
    if unclean and (not is_kraft(rules) or rules.kraft_elects_uncleanly):
        return (1 << partition.replication_factor) - 1
    return partition.isr | partition.elr | partition.last_known_elr


@compiled
def _longest_left(partition: Partition, candidates: int) -> int:
    """How far the longest log goes that is left to one of ``candidates``; 0 if there is none."""
    longest = 0
    for pos in range(partition.replication_factor):
        replica = partition.replicas[pos]
        if (candidates >> pos) & 1 and replica.is_online:
            longest = max(longest, left_end(replica))
    return longest


@compiled
def count_gone(world: World, rules: Rules, replica: Replica) -> None:
    """``replica`` has lost records: gone are those with which nobody left could lead.

    While the leader runs, its log has them all.
    """
    if replica.is_online and replica.survives_to >= replica.log_end_offset:
        return
    world.shortened_logs += 1
    partition = replica.partition
    leader = partition.leader
    if leader >= 0:
        leading = partition.replicas[leader]
        if leading.broker.is_up and leading.is_online:
            return
    left = _longest_left(partition, _could_lead(world, rules, partition))
    if left < _committed_end(partition):
        lose_from(world, partition, left, replica.broker.number)


@compiled
def _committed_end(partition: Partition) -> int:
    """Offset up to which the records of ``partition`` were committed."""
    committed = partition.ledger_uncommitted
    if committed > partition.ledger_head:
        return partition.ledger[committed - 1].end
    return partition.ledger_start


# ------------------------------------------------------------------ KAFKA-7414


@compiled
def exits_here(world: World, rules: Rules, follower: Replica, leader: Replica) -> bool:
    """Whether the broker of ``follower`` ends itself rather than truncate to its leader's end."""
    if not rules.exits_over_truncation:
        return False
    note(world, Depends.NOBODY)
    unclean = may_elect_uncleanly(world, follower.partition)
    return exits_over_truncation(rules, follower.log_end_offset, leader.log_end_offset, unclean)


@compiled
def supervised(world: World, broker: Broker) -> Fault:
    """A crash of ``broker`` that is over and whose supervisor starts it again, or nothing."""
    for i in range(world.fault_count):
        fault = world.faults[i]
        if (
            fault.kind == FaultKind.CRASH
            and fault.broker == broker
            and fault.state == FaultState.OVER
            and fault.retry_us >= 0
        ):
            return fault
    return nothing_like(world.faults)
