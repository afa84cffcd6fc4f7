"""A partition on its leader: high watermark, leaving and joining the ISR, acks=all, proposals.

A set of replicas is a bit mask over positions in the assignment; the record of position i is row
`row0 + i` of `rec` (the leader's own row is not used).

Sources: cluster/Partition.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2, 2.2.2, 2.8.2, 3.6 and 1eb7644349.
"""

from __future__ import annotations

# ruff: noqa: PLR0917 - numba takes scalars and arrays, no objects; callers pass what they hold
from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import (
    ALTER_REVERTS,
    ANSWER_RAISES_HW,
    CONTROLLER_CHECKS_ISR,
    EXPAND_NEEDS_ELIGIBLE,
    EXPAND_NEEDS_EPOCH_START,
    EXPAND_NEEDS_LAG,
    HW_FROZEN_UNDER_MIN_ISR,
    HW_IGNORES_INELIGIBLE,
    HW_WAITS_FOR_CAUGHT_UP,
    MIN_ISR_CAPPED,
    TICK_DIVISOR,
)
from isr_pipeline.kafka.replica import LEO, holds_high_watermark, in_time, is_out_of_sync


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


_WAITING: Final = int(Produce.WAITING)
_NONE: Final = int(Produce.NONE)
_AFTER_APPEND: Final = int(Produce.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
_COMMIT: Final = int(Alter.COMMIT)
_IGNORE: Final = int(Alter.IGNORE)
_REVERT: Final = int(Alter.REVERT)
_STAY: Final = int(Alter.STAY)
_RESUBMIT: Final = int(Alter.RESUBMIT)
_ERROR_NONE: Final = int(AlterError.NONE)
_NOT_ATTEMPTED: Final = int(AlterError.OPERATION_NOT_ATTEMPTED)
_INELIGIBLE: Final = int(AlterError.INELIGIBLE_REPLICA)
_UNKNOWN_TOPIC: Final = int(AlterError.UNKNOWN_TOPIC_OR_PARTITION)
_UNKNOWN_TOPIC_ID: Final = int(AlterError.UNKNOWN_TOPIC_ID)
_FENCED: Final = int(AlterError.FENCED_LEADER_EPOCH)
_INVALID_VERSION: Final = int(AlterError.INVALID_UPDATE_VERSION)
_INVALID_REQUEST: Final = int(AlterError.INVALID_REQUEST)
_NEW_LEADER: Final = int(AlterError.NEW_LEADER_ELECTED)


@rule
def size_of(mask):
    """How many replicas a set holds."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@rule
def tick_period(rules, lag_max):
    """Period of the isr-expiration task (ReplicaManager.startup @ 0.8.2.2, 0.10.2.2)."""
    return lag_max // rules[TICK_DIVISOR]


@rule
def effective_min_isr(rules, min_isr, rf):
    """min.insync.replicas as it is applied: from 3.7 on at most the replication factor."""
    if rules[MIN_ISR_CAPPED] != 0:
        return min(min_isr, rf)
    return min_isr


@rule
def next_high_watermark(
    rules,
    rec,
    row0,
    n,
    leader_pos,
    leader_leo,
    hw,
    isr,
    maximal_isr,
    eligible,
    min_isr_eff,
    now,
    lag_max,
):
    """The leader's HW after an append, a fetch, an ISR commit or an election.

    Args:
        rules: the switches.
        rec: records of followers.
        row0: row of the assignment's first replica.
        n: replicas in the assignment.
        leader_pos: the leader's position.
        leader_leo: the leader's LEO.
        hw: the HW so far.
        isr: the committed ISR.
        maximal_isr: the ISR with a replica whose joining is under way (KIP-497).
        eligible: replicas that may join an ISR.
        min_isr_eff: `effective_min_isr`.
        now: the time; on a follower's fetch, that fetch's own time (from 0.10.2 on).
        lag_max: replica.lag.time.max.ms.

    Returns:
        The least LEO of all replicas the HW must wait for, never less than `hw`.

    Partition.maybeIncrementLeaderHW @ 0.8.2.2, 0.10.2.2, 2.8.2, 3.6, 1eb7644349.
    """
    if rules[HW_FROZEN_UNDER_MIN_ISR] != 0 and size_of(isr) < min_isr_eff:
        return hw
    lowest = leader_leo
    for position in range(n):
        if position == leader_pos:
            continue
        leo = rec[row0 + position, LEO]
        if leo < lowest and _hw_waits_for(
            rules, rec, row0, position, leader_leo, maximal_isr, eligible, now, lag_max
        ):
            lowest = leo
    return max(hw, lowest)


@rule
def _hw_waits_for(rules, rec, row0, position, leader_leo, maximal_isr, eligible, now, lag_max):
    """Whether the HW may not pass this follower's LEO."""
    if (maximal_isr >> position) & 1:
        return True
    if rules[HW_WAITS_FOR_CAUGHT_UP] == 0:
        return False
    if rules[HW_IGNORES_INELIGIBLE] != 0 and not (eligible >> position) & 1:
        return False
    return holds_high_watermark(rules, rec, row0 + position, leader_leo, now, lag_max)


@rule
def out_of_sync_mask(
    rules, rec, row0, n, leader_pos, leader_leo, isr, now, lag_max, lag_max_messages
):
    """The ISR members that the tick takes out now, if no change is in flight."""
    mask = 0
    for position in range(n):
        if position == leader_pos or not (isr >> position) & 1:
            continue
        if is_out_of_sync(rules, rec, row0 + position, leader_leo, now, lag_max, lag_max_messages):
            mask |= 1 << position
    return mask


@rule
def may_expand(
    rules,
    rec,
    row0,
    pos,
    isr,
    change_in_flight,
    hw,
    epoch_start,
    eligible,
    now,
    lag_max,
):
    """Whether a follower that has just fetched joins the ISR.

    In no release is its lag tested, only in KAFKA-4485's text; the next tick may take it out
    again. Partition.maybeExpandIsr @ 0.8.2.2, 2.2.2, needsExpandIsr @ 1eb7644349.
    """
    if change_in_flight or (isr >> pos) & 1:
        return False
    leo = rec[row0 + pos, LEO]
    if leo < hw:
        return False
    if rules[EXPAND_NEEDS_EPOCH_START] != 0 and leo < epoch_start:
        return False
    if rules[EXPAND_NEEDS_ELIGIBLE] != 0 and not (eligible >> pos) & 1:
        return False
    if rules[EXPAND_NEEDS_LAG] != 0:
        return in_time(rules, rec, row0 + pos, now, lag_max)
    return True


@rule
def append_refused(acks_all, isr_size, min_isr_eff):
    """Whether a produce is refused unwritten (NOT_ENOUGH_REPLICAS): acks=all under min ISR."""
    return acks_all and isr_size < min_isr_eff


@rule
def produce_error(required_offset, hw, maximal_isr_size, min_isr_eff):
    """How an acks=all produce stands whose last record is at `required_offset - 1`.

    Returns a value of `Produce`. Partition.checkEnoughReplicasReachOffset @ 0.8.2.2, 1eb7644349.
    """
    if hw < required_offset:
        return _WAITING
    if min_isr_eff <= maximal_isr_size:
        return _NONE
    return _AFTER_APPEND


@rule
def alter_error(rules, leads, partition_epoch, known_partition_epoch, isr, acceptable):
    """What the controller answers to a proposed ISR: a value of `AlterError`.

    Args:
        rules: the switches.
        leads: the proposer is the leader, in the epoch that it named.
        partition_epoch: the partition's epoch.
        known_partition_epoch: the one that the proposer named.
        isr: the proposed ISR.
        acceptable: replicas that the controller accepts in an ISR.

    ReplicationControlManager.validateAlterPartitionData @ 1eb7644349; before 3.3 the members of the
    proposed ISR are not looked at.
    """
    if not leads:
        return _FENCED
    if partition_epoch != known_partition_epoch:
        return _INVALID_VERSION
    if rules[CONTROLLER_CHECKS_ISR] != 0 and isr & ~acceptable:
        return _INELIGIBLE
    return _ERROR_NONE


@rule
def alter_response(
    rules, error, answer_leader_epoch, answer_partition_epoch, leader_epoch, partition_epoch
):
    """What the leader does with an AlterPartition answer to its present proposal.

    Args:
        rules: the switches.
        error: a value of `AlterError`.
        answer_leader_epoch: the answer's leader epoch, if there was no error.
        answer_partition_epoch: its partition epoch.
        leader_epoch: the leader's own.
        partition_epoch: its partition epoch.

    Returns:
        A value of `Alter`. Partition.handleAlterIsrResponse @ 2.8.2, handleAlterPartitionError
        @ 1eb7644349.
    """
    if error == _ERROR_NONE:
        if answer_leader_epoch != leader_epoch or answer_partition_epoch < partition_epoch:
            return _IGNORE
        return _COMMIT
    if rules[ALTER_REVERTS] != 0:
        if error in (_NOT_ATTEMPTED, _INELIGIBLE):
            return _REVERT
        if error in (_UNKNOWN_TOPIC_ID, _INVALID_REQUEST, _NEW_LEADER):
            return _STAY
    if error in (_UNKNOWN_TOPIC, _FENCED, _INVALID_VERSION):
        return _STAY
    return _RESUBMIT


@rule
def answer_raises_hw(rules):
    """Whether a committed ISR change raises the high watermark when the leader learns of it.

    From 2.7 to 3.0 the answer to AlterIsr sets the state alone: the next append, fetch or new
    leader epoch raises it (Partition.handleAlterIsrResponse @ 2.8.2, 3.1.0; KAFKA-13091).
    """
    return rules[ANSWER_RAISES_HW] != 0
