"""What a leader remembers of one follower, and when that follower is in sync.

The record of a follower is one row of an int64 array, columns named below. A follower's LEO *is*
its fetch offset: a fetch at X acknowledges everything below X. Times are in any one unit.

Sources: cluster/Replica.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2, 2.2.2, 2.8.2, 3.6; Replica.scala and
ReplicaState @ trunk 1eb7644349 (Replica.java @ 4.3.1 translates it).
"""

from __future__ import annotations

# ruff: noqa: PLR0917 - numba takes scalars and arrays, no objects; callers pass what they hold
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.kip501 import (
    begin_read,
    clear_pending,
    contains_pending,
    counts_pending,
    end_read,
    is_pending,
)
from isr_pipeline.kafka.record import (
    BROKER_EPOCH,
    LAST_CAUGHT_UP,
    LAST_FETCH,
    LEO,
    LEO_TIME,
    N_FIELDS,
    PENDING_COUNT_0,
    PENDING_COUNT_1,
    PENDING_COUNT_2,
    PENDING_COUNT_3,
    PENDING_OFFSET_0,
    PENDING_OFFSET_1,
    PENDING_OFFSET_2,
    PENDING_OFFSET_3,
    PENDING_SLOTS,
    PREV_LEADER_LEO,
    START,
)
from isr_pipeline.kafka.releases import (
    CLOCK,
    FAILED_READ_APPLIED,
    HW_LOG_END,
    KIP501,
    LOG_END_EXEMPT,
    MESSAGE_LAG,
    NEVER,
    NO_BROKER_EPOCH,
    PREV_LEO_MONOTONE,
    RECORDS_BROKER_EPOCH,
    RESET,
    STALE_FETCH_REJECTED,
    UNKNOWN,
    Clock,
    Kip501,
    Reset,
)

__all__ = [
    "BEFORE_NEVER",
    "BROKER_EPOCH",
    "LAST_CAUGHT_UP",
    "LAST_FETCH",
    "LEO",
    "LEO_TIME",
    "N_FIELDS",
    "PENDING_COUNT_0",
    "PENDING_COUNT_1",
    "PENDING_COUNT_2",
    "PENDING_COUNT_3",
    "PENDING_OFFSET_0",
    "PENDING_OFFSET_1",
    "PENDING_OFFSET_2",
    "PENDING_OFFSET_3",
    "PENDING_SLOTS",
    "PREV_LEADER_LEO",
    "START",
    "begin_read",
    "create",
    "end_read",
    "holds_high_watermark",
    "in_time",
    "is_caught_up",
    "is_out_of_sync",
    "is_pending",
    "is_stale_fetch",
    "note_broker_epoch",
    "on_failed_read",
    "on_fetch",
    "on_fetch_again",
    "reset",
]

_ANY_FETCH: Final = int(Clock.ANY_FETCH)
_READ_END: Final = int(Clock.READ_END)
_ISSUE_TEXT: Final = int(Clock.ISSUE_TEXT)
_OFFSETS_AND_CLOCK: Final = int(Reset.OFFSETS_AND_CLOCK)
_OFFSETS: Final = int(Reset.OFFSETS)
_EVERY_CALL_SENTINEL: Final = int(Reset.EVERY_CALL_SENTINEL)
_LEADER_EPOCH: Final = int(Reset.LEADER_EPOCH)
_S1_PR: Final = int(Kip501.S1_PR)

BEFORE_NEVER: Final = NEVER - 1
"""The time -1 that releases up to 2.3 record for a failed read: one before the instant "0"."""


@rule
def create(rules, rec, row, now):
    """Begin the record of a follower that has never fetched.

    Up to 0.10.1 its lag clock starts when the replica object is made, later at "0"
    (initial fields of Replica.scala @ 0.8.2.2, 0.10.1.1, 0.10.2.2).
    """
    rec[row, START] = UNKNOWN
    rec[row, LEO] = UNKNOWN
    rec[row, LAST_CAUGHT_UP] = now if rules[CLOCK] == _READ_END else NEVER
    rec[row, PREV_LEADER_LEO] = 0
    rec[row, LAST_FETCH] = NEVER
    rec[row, BROKER_EPOCH] = NO_BROKER_EPOCH
    rec[row, LEO_TIME] = now
    clear_pending(rec, row)


@rule
def on_fetch(rules, rec, row, start, offset, fetch_time, leader_leo, now):
    """Record a follower's fetch whose read went well.

    Args:
        rules: the switches.
        rec: records of followers.
        row: this follower's row.
        start: its log start offset.
        offset: its fetch offset, which is its LEO.
        fetch_time: the time just before this partition's read.
        leader_leo: the leader's LEO just before this partition's read.
        now: the time after the read.

    The test against the previous fetch uses the values *before* this fetch overwrites them.
    Replica.updateLogReadResult @ 0.10.1.1 and 0.10.2.2, updateFetchStateOrThrow @ 1eb7644349.
    """
    clock = rules[CLOCK]
    if clock == _READ_END:
        if offset >= leader_leo:
            rec[row, LAST_CAUGHT_UP] = now
    elif clock != _ANY_FETCH:
        at_end, at_previous = _caught_up_times(rules, rec, row, offset, fetch_time, now)
        if offset >= leader_leo:
            rec[row, LAST_CAUGHT_UP] = max(rec[row, LAST_CAUGHT_UP], at_end)
        elif offset >= rec[row, PREV_LEADER_LEO]:
            rec[row, LAST_CAUGHT_UP] = max(rec[row, LAST_CAUGHT_UP], at_previous)
    rec[row, START] = start
    rec[row, LEO] = offset
    rec[row, LEO_TIME] = now
    if rules[PREV_LEO_MONOTONE] != 0:
        rec[row, PREV_LEADER_LEO] = max(rec[row, PREV_LEADER_LEO], leader_leo)
    else:
        rec[row, PREV_LEADER_LEO] = leader_leo
    rec[row, LAST_FETCH] = fetch_time


@rule
def on_fetch_again(rec, row, now):
    """Record a fetch like the one before: at the leader's LEO, which has not moved, and its own.

    Most fetches of a healthy cluster are like that. What `on_fetch` does then if the read takes no
    time, and nothing else: however a release from 0.10 on (whose lag clock is lastCaughtUpTimeMs)
    reckons when such a fetch was caught up, that is now.

    Args:
        rec: records of followers.
        row: this follower's row, whose LEO and PREV_LEADER_LEO are the fetch's offset already.
        now: the time before the read, and after it.
    """
    rec[row, LAST_CAUGHT_UP] = now
    rec[row, LAST_FETCH] = now


@rule
def _caught_up_times(rules, rec, row, offset, fetch_time, now):
    """When a fetch that had reached the LEO, or the previous fetch's LEO, was caught up.

    KIP-501's text credits the end of the read in both cases; the pull request only in the first,
    and only while the fetch is pending; KAFKA-4485's text credits the read's end in the first.
    """
    previous = rec[row, LAST_FETCH]
    if counts_pending(rules):
        if rules[KIP501] != _S1_PR:
            return now, now
        if contains_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS, offset):
            return now, previous
    if rules[CLOCK] == _ISSUE_TEXT:
        return now, previous
    return fetch_time, previous


@rule
def on_failed_read(rules, rec, row, now):
    """Record a follower's fetch whose read failed.

    Up to 2.3 the failure overwrites the record with unknowns, so that the follower looks far
    behind until its next good fetch; KAFKA-8400 ended that.
    An error through Partition.updateReplicaLogReadResult @ 0.8.2.2 ... 2.2.2.
    """
    if rules[FAILED_READ_APPLIED] == 0:
        return
    rec[row, START] = UNKNOWN
    rec[row, LEO] = UNKNOWN
    rec[row, LEO_TIME] = now
    rec[row, PREV_LEADER_LEO] = UNKNOWN
    rec[row, LAST_FETCH] = BEFORE_NEVER


@rule
def resets_records(rules, new_epoch):
    """Whether metadata that name this broker as leader reset the followers' records.

    Up to 3.2 every call of makeLeader does, from 3.3 on a new leader epoch only.
    Partition.makeLeader @ 0.8.2.2 ... 1eb7644349.
    """
    return new_epoch or rules[RESET] != _LEADER_EPOCH


@rule
def reset(rules, rec, row, leader_leo, epoch_start, is_new_leader, in_isr, now):
    """Reset a follower's record because its partition (again) has this broker as leader.

    Args:
        rules: the switches.
        rec: records of followers.
        row: this follower's row.
        leader_leo: the leader's LEO.
        epoch_start: the LEO at which the leader epoch began.
        is_new_leader: this broker was not the leader before.
        in_isr: the follower is in the new ISR.
        now: the time.

    `resets_records` says when.
    Partition.makeLeader @ 0.8.2.2 ... 1eb7644349, Replica.resetReplicaState @ 3.3.
    """
    kind = rules[RESET]
    clear_pending(rec, row)
    if kind == _OFFSETS_AND_CLOCK:
        rec[row, LEO] = UNKNOWN
        rec[row, LEO_TIME] = now
    elif kind == _OFFSETS:
        if is_new_leader:
            rec[row, LEO] = UNKNOWN
    elif kind == _LEADER_EPOCH:
        rec[row, LAST_CAUGHT_UP] = now if in_isr else NEVER
        if is_new_leader:
            _forget_offsets(rec, row, NEVER)
            rec[row, BROKER_EPOCH] = NO_BROKER_EPOCH
        else:
            rec[row, PREV_LEADER_LEO] = epoch_start
            rec[row, LAST_FETCH] = now if in_isr else NEVER
    else:
        rec[row, LAST_CAUGHT_UP] = now if in_isr else NEVER
        rec[row, PREV_LEADER_LEO] = leader_leo
        rec[row, LAST_FETCH] = now
        if is_new_leader:
            _forget_offsets(rec, row, BEFORE_NEVER if kind == _EVERY_CALL_SENTINEL else NEVER)


@rule
def _forget_offsets(rec, row, fetch_time):
    """Record the unknown fetch with which a new leader begins."""
    rec[row, START] = UNKNOWN
    rec[row, LEO] = UNKNOWN
    rec[row, PREV_LEADER_LEO] = UNKNOWN
    rec[row, LAST_FETCH] = fetch_time


@rule
def is_stale_fetch(rules, broker_epoch, cached_epoch):
    """Whether a fetch comes from an incarnation of its broker older than the metadata know.

    -1 on either side is not checked (Replica.updateFetchStateOrThrow @ 3.7, KAFKA-15221).
    """
    stale = broker_epoch not in (UNKNOWN, NO_BROKER_EPOCH) and broker_epoch < cached_epoch
    return rules[STALE_FETCH_REJECTED] != 0 and stale


@rule
def in_time(rules, rec, row, now, lag_max):
    """The time rule, or a pending read."""
    if counts_pending(rules) and is_pending(rec, row):
        return True
    clock = LEO_TIME if rules[CLOCK] == _ANY_FETCH else LAST_CAUGHT_UP
    return now - rec[row, clock] <= lag_max


@rule
def is_caught_up(rules, rec, row, leader_leo, now, lag_max):
    """Whether a follower is in sync by time, by being at the log end, or by a pending read.

    Equality with the leader's LEO, not >=, exempts from 2.1 on (KAFKA-7152;
    ReplicaState.isCaughtUp @ 1eb7644349). Both limits are met by equality.
    """
    if rules[LOG_END_EXEMPT] != 0 and rec[row, LEO] == leader_leo:
        return True
    return in_time(rules, rec, row, now, lag_max)


@rule
def holds_high_watermark(rules, rec, row, leader_leo, now, lag_max):
    """Whether the HW waits for this follower although it is not in the ISR.

    As `is_caught_up`, but until 3.2 by time alone (Partition.maybeIncrementLeaderHW @ 2.8.2, 3.3).
    """
    if rules[HW_LOG_END] != 0 and rec[row, LEO] == leader_leo:
        return True
    return in_time(rules, rec, row, now, lag_max)


@rule
def is_out_of_sync(rules, rec, row, leader_leo, now, lag_max, lag_max_messages):
    """Whether the tick takes this ISR member out.

    0.8.2 also counts messages, strictly and only for a follower that has fetched
    (Partition.getOutOfSyncReplicas @ 0.8.2.2, 1eb7644349).
    """
    if rules[MESSAGE_LAG] != 0 and rec[row, LEO] >= 0:
        behind = leader_leo - rec[row, LEO]
        if behind > lag_max_messages:
            return True
    return not is_caught_up(rules, rec, row, leader_leo, now, lag_max)


@rule
def note_broker_epoch(rules, rec, row, broker_epoch):
    """Remember the broker epoch that a good fetch named (KIP-903)."""
    if rules[RECORDS_BROKER_EPOCH] != 0:
        rec[row, BROKER_EPOCH] = broker_epoch
