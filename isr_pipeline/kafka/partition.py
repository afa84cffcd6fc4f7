"""A partition on its leader: high watermark, leaving and joining the ISR, acks=all, proposals.

Also who waits for the lock of a partition, and how the leader epoch that a fetch names fences it.

A set of replicas is a bit mask over positions in the assignment; a leader's record of position i
is `followers[i]` (its own is not used).

Sources: cluster/Partition.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2, 2.2.2, 2.8.2, 3.6 and 1eb7644349.
"""

from __future__ import annotations

from enum import IntEnum

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.record import Leader, Pending
from isr_pipeline.kafka.releases import ExpandNeedsLag, Rules
from isr_pipeline.kafka.replica import holds_high_watermark, is_caught_up, is_out_of_sync


class Produce(IntEnum):
    """How an acks=all produce stands."""

    WAITING = -1
    NONE = 0
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 1


class Alter(IntEnum):
    """What a leader does with the answer to an ISR change it proposed."""

    COMMIT = 0
    """Take the answer's ISR and partition epoch."""
    IGNORE = 1
    """An answer about another leader epoch, or older than the partition: count a failure."""
    REVERT = 2
    """Go back to the last committed ISR; the next fetch or tick may propose again."""
    STAY = 3
    """Stay pending until new metadata arrive."""
    RESUBMIT = 4
    """Send the same proposal again at once."""


class AlterError(IntEnum):
    """Errors of an AlterPartition answer, as far as leaders tell them apart."""

    NONE = 0
    OPERATION_NOT_ATTEMPTED = 1
    INELIGIBLE_REPLICA = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    UNKNOWN_TOPIC_ID = 4
    FENCED_LEADER_EPOCH = 5
    INVALID_UPDATE_VERSION = 6
    INVALID_REQUEST = 7
    NEW_LEADER_ELECTED = 8
    OTHER = 9


@rule
def size_of(mask: int) -> int:
    """How many replicas a set holds."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@rule
def tick_period(rules: Rules, lag_max: int) -> int:
    """Period of the isr-expiration task (ReplicaManager.startup @ 0.8.2.2, 0.10.2.2)."""
    return lag_max // rules.tick_divisor


@rule
def effective_min_isr(rules: Rules, min_isr: int, rf: int) -> int:
    """min.insync.replicas as it is applied: from 3.7 on at most the replication factor."""
    if rules.min_isr_capped:
        return min(min_isr, rf)
    return min_isr


@rule
def maximal_isr(leader: Leader) -> int:
    """The ISR with a replica whose joining is under way (KIP-497)."""
    if leader.pending == Pending.EXPAND:
        return leader.pending_isr | leader.isr
    return leader.isr


@rule
def next_high_watermark(
    rules: Rules, leader: Leader, eligible: int, min_isr_eff: int, now: int, lag_max: int
) -> int:
    """The leader's HW after an append, a fetch, an ISR commit or an election.

    Args:
        rules: the switches.
        leader: the leader.
        eligible: replicas that may join an ISR.
        min_isr_eff: `effective_min_isr`.
        now: the time; on a follower's fetch, that fetch's own time (from 0.10.2 on).
        lag_max: replica.lag.time.max.ms.

    Returns:
        The least LEO of all replicas the HW must wait for, never less than the HW so far.

    Partition.maybeIncrementLeaderHW @ 0.8.2.2, 0.10.2.2, 2.8.2, 3.6, 1eb7644349.
    """
    if rules.hw_frozen_under_min_isr and size_of(leader.isr) < min_isr_eff:
        return leader.high_watermark
    lowest = leader.log_end_offset
    for position in range(leader.replication_factor):
        if position == leader.position:
            continue
        leo = leader.followers[position].log_end_offset
        if leo < lowest and _hw_waits_for(rules, leader, position, eligible, now, lag_max):
            lowest = leo
    return max(leader.high_watermark, lowest)


@rule
def _hw_waits_for(
    rules: Rules, leader: Leader, position: int, eligible: int, now: int, lag_max: int
) -> bool:
    """Whether the HW may not pass this follower's LEO."""
    if (maximal_isr(leader) >> position) & 1:
        return True
    if not rules.hw_waits_for_caught_up:
        return False
    if rules.hw_ignores_ineligible and not (eligible >> position) & 1:
        return False
    follower = leader.followers[position]
    return holds_high_watermark(rules, follower, leader.log_end_offset, now, lag_max)


@rule
def out_of_sync_mask(
    rules: Rules, leader: Leader, now: int, lag_max: int, lag_max_messages: int
) -> int:
    """The ISR members that the tick takes out now, if no change is in flight."""
    mask = 0
    leo = leader.log_end_offset
    for position in range(leader.replication_factor):
        if position == leader.position or not (leader.isr >> position) & 1:
            continue
        follower = leader.followers[position]
        if is_out_of_sync(rules, follower, leo, now, lag_max, lag_max_messages):
            mask |= 1 << position
    return mask


@rule
def may_expand(rules: Rules, leader: Leader, position: int, eligible: int) -> bool:
    """Whether a follower that has just fetched joins the ISR, if its lag allows it.

    Partition.maybeExpandIsr @ 0.8.2.2, 2.2.2, needsExpandIsr @ 1eb7644349.
    """
    if leader.pending != Pending.NONE or (leader.isr >> position) & 1:
        return False
    follower = leader.followers[position]
    if follower.log_end_offset < leader.high_watermark:
        return False
    if rules.expand_needs_epoch_start and follower.log_end_offset < leader.epoch_start:
        return False
    return not rules.expand_needs_eligible or bool((eligible >> position) & 1)


@rule
def lag_lets_join(
    rules: Rules, leader: Leader, position: int, min_isr_eff: int, now: int, lag_max: int
) -> bool:
    """Whether a follower that has just fetched is near enough to join the ISR.

    In every release it is; the next tick may take it out again. KAFKA-4485's text and
    apache/kafka#23024 ask as the tick does.
    """
    if rules.expand_needs_lag == ExpandNeedsLag.NEVER:
        return True
    met = size_of(leader.isr) >= min_isr_eff
    if rules.expand_needs_lag == ExpandNeedsLag.UNDER_MIN_ISR and met:
        return True
    follower = leader.followers[position]
    return is_caught_up(rules, follower, leader.log_end_offset, now, lag_max)


@rule
def append_refused(acks_all: bool, isr_size: int, min_isr_eff: int) -> bool:
    """Whether a produce is refused unwritten (NOT_ENOUGH_REPLICAS): acks=all under min ISR."""
    return acks_all and isr_size < min_isr_eff


@rule
def produce_error(
    required_offset: int, hw: int, maximal_isr_size: int, min_isr_eff: int
) -> Produce:
    """How an acks=all produce stands whose last record is at `required_offset - 1`.

    Partition.checkEnoughReplicasReachOffset @ 0.8.2.2, 1eb7644349.
    """
    if hw < required_offset:
        return Produce.WAITING
    if min_isr_eff <= maximal_isr_size:
        return Produce.NONE
    return Produce.NOT_ENOUGH_REPLICAS_AFTER_APPEND


@rule
def alter_error(
    rules: Rules,
    leads: bool,
    partition_epoch: int,
    known_partition_epoch: int,
    isr: int,
    acceptable: int,
) -> AlterError:
    """What the controller answers to a proposed ISR.

    Args:
        rules: the switches.
        leads: the proposer is the leader, in the epoch that it named.
        partition_epoch: the partition's epoch.
        known_partition_epoch: the one that the proposer named.
        isr: the proposed ISR.
        acceptable: replicas that the controller accepts in an ISR.

    ReplicationControlManager.validateAlterPartitionData @ 1eb7644349,
    KafkaController.alterPartitions @ 3.3.0; before 3.3 the members of the proposed ISR are not
    looked at.
    """
    if not leads:
        return AlterError.FENCED_LEADER_EPOCH
    if partition_epoch != known_partition_epoch:
        return AlterError.INVALID_UPDATE_VERSION
    if rules.controller_checks_isr and isr & ~acceptable:
        return AlterError.INELIGIBLE_REPLICA
    return AlterError.NONE


@rule
def alter_response(
    rules: Rules,
    error: AlterError,
    answer_leader_epoch: int,
    answer_partition_epoch: int,
    leader_epoch: int,
    partition_epoch: int,
) -> Alter:
    """What the leader does with an AlterPartition answer to its present proposal.

    Args:
        rules: the switches.
        error: what was answered.
        answer_leader_epoch: the answer's leader epoch, if there was no error.
        answer_partition_epoch: its partition epoch.
        leader_epoch: the leader's own.
        partition_epoch: its partition epoch.

    Partition.handleAlterIsrResponse @ 2.8.2, handleAlterPartitionError @ 1eb7644349.
    """
    if error == AlterError.NONE:
        if answer_leader_epoch != leader_epoch or answer_partition_epoch < partition_epoch:
            return Alter.IGNORE
        return Alter.COMMIT
    if rules.alter_reverts:
        if error in (AlterError.OPERATION_NOT_ATTEMPTED, AlterError.INELIGIBLE_REPLICA):
            return Alter.REVERT
        if error in (
            AlterError.UNKNOWN_TOPIC_ID,
            AlterError.INVALID_REQUEST,
            AlterError.NEW_LEADER_ELECTED,
        ):
            return Alter.STAY
    if error in (
        AlterError.UNKNOWN_TOPIC_OR_PARTITION,
        AlterError.FENCED_LEADER_EPOCH,
        AlterError.INVALID_UPDATE_VERSION,
    ):
        return Alter.STAY
    return Alter.RESUBMIT


@rule
def answer_raises_hw(rules: Rules) -> bool:
    """Whether a committed ISR change raises the high watermark when the leader learns of it.

    From 2.7 to 3.0 the answer to AlterIsr sets the state alone: the next append, fetch or new
    leader epoch raises it (Partition.handleAlterIsrResponse @ 2.8.2, 3.1.0; KAFKA-13091).
    """
    return rules.answer_raises_hw


@rule
def write_waits(readers: int, held: bool) -> bool:
    """Whether a change of a partition's role or ISR has to wait.

    New metadata (Partition.makeLeader, makeFollower, every release; the broker's later ones wait
    behind them, ReplicaManager.applyDelta @ 3.9) and the answer to an AlterPartition
    (Partition.handleAlterIsrResponse @ 2.8.2, submitAlterPartition @ 3.9) take the write lock of
    leaderIsrUpdateLock, as a shrink does.

    Args:
        readers: reads in progress that hold the lock: which do is `RuleSet.isr_lock`.
        held: whether a synchronous ISR write holds it.
    """
    return readers > 0 or held


class EpochError(IntEnum):
    """What a broker answers to the leader epoch that a fetch names."""

    NONE = 0
    FENCED_LEADER_EPOCH = 1
    """The fetch is of an older epoch."""
    UNKNOWN_LEADER_EPOCH = 2
    """The fetch is of an epoch that this broker has not heard of yet."""


@rule
def epoch_error(rules: Rules, fetch_epoch: int, leader_epoch: int) -> EpochError:
    """What a broker has against the leader epoch of a fetch.

    Before KIP-320 (2.1) a fetch names none. Partition.checkCurrentLeaderEpoch @ 2.2.2, 1eb7644349.
    """
    if not rules.fetch_names_epoch or fetch_epoch == leader_epoch:
        return EpochError.NONE
    return (
        EpochError.FENCED_LEADER_EPOCH
        if fetch_epoch < leader_epoch
        else EpochError.UNKNOWN_LEADER_EPOCH
    )
