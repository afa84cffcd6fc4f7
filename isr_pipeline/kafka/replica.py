"""What a leader remembers of one follower, and when that follower is in sync.

A follower's LEO *is* its fetch offset: a fetch at X acknowledges everything below X. Times are in
any one unit.

Sources: cluster/Replica.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2, 2.2.2, 2.8.2, 3.6; Replica.scala and
ReplicaState @ trunk 1eb7644349 (Replica.java @ 4.3.1 translates it).
"""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.kip501 import (
    clear_pending,
    contains_pending,
    counts_pending,
    is_pending,
)
from isr_pipeline.kafka.record import PENDING_SLOTS, Follower, Leader
from isr_pipeline.kafka.releases import (
    NEVER,
    NO_BROKER_EPOCH,
    UNKNOWN,
    Clock,
    Kip501,
    Reset,
    Rules,
)

BEFORE_NEVER: Final = NEVER - 1
"""The time -1 that releases up to 2.3 record for a failed read: one before the instant "0"."""


@rule
def create(rules: Rules, follower: Follower, now: int) -> None:
    """Begin the record of a follower that has never fetched.

    Up to 0.10.1 its lag clock starts when the replica object is made, later at "0"
    (initial fields of Replica.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2).
    """
    follower.log_start_offset = UNKNOWN
    follower.log_end_offset = UNKNOWN
    follower.last_caught_up_time = now if rules.clock == Clock.READ_END else NEVER
    follower.last_fetch_leader_log_end_offset = 0
    follower.last_fetch_time = NEVER
    follower.broker_epoch = NO_BROKER_EPOCH
    follower.log_end_offset_time = now
    clear_pending(follower)


@rule
def on_fetch(
    rules: Rules, follower: Follower, offset: int, fetch_time: int, leader_leo: int, now: int
) -> None:
    """Record a follower's fetch whose read went well.

    Args:
        rules: the switches.
        follower: the leader's record of it.
        offset: its fetch offset, which is its LEO.
        fetch_time: the time just before this partition's read.
        leader_leo: the leader's LEO just before this partition's read.
        now: the time after the read.

    The test against the previous fetch uses the values *before* this fetch overwrites them.
    Replica.updateLogReadResult @ 0.10.1.1 and 0.10.2.2, updateFetchStateOrThrow @ 1eb7644349.
    """
    clock = rules.clock
    if clock == Clock.READ_END:
        if offset >= leader_leo:
            follower.last_caught_up_time = now
    elif clock != Clock.ANY_FETCH:
        at_end, at_previous = _caught_up_times(rules, follower, offset, fetch_time, now)
        if offset >= leader_leo:
            follower.last_caught_up_time = max(follower.last_caught_up_time, at_end)
        elif offset >= follower.last_fetch_leader_log_end_offset:
            follower.last_caught_up_time = max(follower.last_caught_up_time, at_previous)
    follower.log_end_offset = offset
    follower.log_end_offset_time = now
    if rules.prev_leo_monotone:
        follower.last_fetch_leader_log_end_offset = max(
            follower.last_fetch_leader_log_end_offset, leader_leo
        )
    else:
        follower.last_fetch_leader_log_end_offset = leader_leo
    follower.last_fetch_time = fetch_time


@rule
def on_fetch_again(follower: Follower, now: int) -> None:
    """Record a fetch like the one before: at the leader's LEO, which has not moved, and its own.

    Most fetches of a healthy cluster are like that. What `on_fetch` does then if the read takes no
    time, and nothing else: however a release from 0.10 on (whose lag clock is lastCaughtUpTimeMs)
    reckons when such a fetch was caught up, that is now.

    Args:
        follower: the leader's record of it; its LEO, and the leader's at its last fetch, are the
            fetch's offset already.
        now: the time before the read, and after it.
    """
    follower.last_caught_up_time = now
    follower.last_fetch_time = now


@rule
def _caught_up_times(
    rules: Rules, follower: Follower, offset: int, fetch_time: int, now: int
) -> tuple[int, int]:
    """When a fetch that had reached the LEO, or the previous fetch's LEO, was caught up.

    KIP-501's text credits the end of the read in both cases; the pull request only in the first,
    and only while the fetch is pending; KAFKA-4485's text credits the read's end in the first.
    """
    previous = follower.last_fetch_time
    if counts_pending(rules):
        if rules.kip501 != Kip501.S1_PR:
            return now, now
        if contains_pending(
            follower.pending_offsets, follower.pending_counts, PENDING_SLOTS, offset
        ):
            return now, previous
    if rules.clock == Clock.ISSUE_TEXT:
        return now, previous
    return fetch_time, previous


@rule
def on_failed_read(rules: Rules, follower: Follower, now: int) -> None:
    """Record a follower's fetch whose read failed.

    Up to 2.3 the failure overwrites the record with unknowns, so that the follower looks far
    behind until its next good fetch; KAFKA-8400 ended that.
    An error through Partition.updateReplicaLogReadResult @ 0.8.2.2 ... 2.2.2.
    """
    if not rules.failed_read_applied:
        return
    follower.log_start_offset = UNKNOWN
    follower.log_end_offset = UNKNOWN
    follower.log_end_offset_time = now
    follower.last_fetch_leader_log_end_offset = UNKNOWN
    follower.last_fetch_time = BEFORE_NEVER


@rule
def resets_records(rules: Rules, new_epoch: bool) -> bool:
    """Whether metadata that name this broker as leader reset the followers' records.

    Up to 3.2 every call of makeLeader does, from 3.3 on a new leader epoch only.
    Partition.makeLeader @ 0.8.2.2 ... 1eb7644349.
    """
    return new_epoch or rules.reset != Reset.LEADER_EPOCH


@rule
def reset(
    rules: Rules, follower: Follower, leader: Leader, is_new_leader: bool, in_isr: bool, now: int
) -> None:
    """Reset a follower's record because its partition (again) has this broker as leader.

    Args:
        rules: the switches.
        follower: the leader's record of it.
        leader: the leader, whose epoch begins.
        is_new_leader: this broker was not the leader before.
        in_isr: the follower is in the new ISR.
        now: the time.

    `resets_records` says when.
    Partition.makeLeader @ 0.8.2.2 ... 1eb7644349, Replica.resetReplicaState @ 3.3.
    """
    kind = rules.reset
    clear_pending(follower)
    if kind == Reset.OFFSETS_AND_CLOCK:
        follower.log_end_offset = UNKNOWN
        follower.log_end_offset_time = now
    elif kind == Reset.OFFSETS:
        if is_new_leader:
            follower.log_end_offset = UNKNOWN
    elif kind == Reset.LEADER_EPOCH:
        follower.last_caught_up_time = now if in_isr else NEVER
        if is_new_leader:
            _forget_offsets(follower, NEVER)
            follower.broker_epoch = NO_BROKER_EPOCH
        else:
            follower.last_fetch_leader_log_end_offset = leader.epoch_start
            follower.last_fetch_time = now if in_isr else NEVER
    else:
        follower.last_caught_up_time = now if in_isr else NEVER
        follower.last_fetch_leader_log_end_offset = leader.log_end_offset
        follower.last_fetch_time = now
        if is_new_leader:
            _forget_offsets(follower, BEFORE_NEVER if kind == Reset.EVERY_CALL_SENTINEL else NEVER)


@rule
def _forget_offsets(follower: Follower, fetch_time: int) -> None:
    """Record the unknown fetch with which a new leader begins."""
    follower.log_start_offset = UNKNOWN
    follower.log_end_offset = UNKNOWN
    follower.last_fetch_leader_log_end_offset = UNKNOWN
    follower.last_fetch_time = fetch_time


@rule
def is_stale_fetch(rules: Rules, broker_epoch: int, cached_epoch: int) -> bool:
    """Whether a fetch comes from an incarnation of its broker older than the metadata know.

    -1 on either side is not checked (Replica.updateFetchStateOrThrow @ 3.7, KAFKA-15221).
    """
    stale = broker_epoch not in (UNKNOWN, NO_BROKER_EPOCH) and broker_epoch < cached_epoch
    return rules.stale_fetch_rejected and stale


@rule
def lag_clock(rules: Rules, follower: Follower) -> int:
    """The moment since which a follower's lag is measured."""
    if rules.clock == Clock.ANY_FETCH:
        return follower.log_end_offset_time
    return follower.last_caught_up_time


@rule
def in_time(rules: Rules, follower: Follower, now: int, lag_max: int) -> bool:
    """The time rule, or a pending read."""
    if counts_pending(rules) and is_pending(follower):
        return True
    return now - lag_clock(rules, follower) <= lag_max


@rule
def is_caught_up(rules: Rules, follower: Follower, leader_leo: int, now: int, lag_max: int) -> bool:
    """Whether a follower is in sync by time, by being at the log end, or by a pending read.

    Equality with the leader's LEO, not >=, exempts from 2.1 on (KAFKA-7152;
    ReplicaState.isCaughtUp @ 1eb7644349). Both limits are met by equality.
    """
    if rules.log_end_exempt and follower.log_end_offset == leader_leo:
        return True
    return in_time(rules, follower, now, lag_max)


@rule
def holds_high_watermark(
    rules: Rules, follower: Follower, leader_leo: int, now: int, lag_max: int
) -> bool:
    """Whether the HW waits for this follower although it is not in the ISR.

    As `is_caught_up`, but until 3.2 by time alone (Partition.maybeIncrementLeaderHW @ 2.8.2, 3.3).
    """
    if rules.hw_log_end and follower.log_end_offset == leader_leo:
        return True
    return in_time(rules, follower, now, lag_max)


@rule
def is_out_of_sync(
    rules: Rules, follower: Follower, leader_leo: int, now: int, lag_max: int, lag_max_messages: int
) -> bool:
    """Whether the tick takes this ISR member out.

    0.8.2 also counts messages, strictly and only for a follower that has fetched
    (Partition.getOutOfSyncReplicas @ 0.8.2.2, 1eb7644349).
    """
    if rules.message_lag and follower.log_end_offset >= 0:
        behind = leader_leo - follower.log_end_offset
        if behind > lag_max_messages:
            return True
    return not is_caught_up(rules, follower, leader_leo, now, lag_max)


@rule
def note_broker_epoch(rules: Rules, follower: Follower, broker_epoch: int) -> None:
    """Remember the broker epoch that a good fetch named (KIP-903)."""
    if rules.records_broker_epoch:
        follower.broker_epoch = broker_epoch
