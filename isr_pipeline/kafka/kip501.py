"""KIP-501 and its relatives: what a leader does about its own slow reads.

Solution 1 counts a follower as in sync while a read of its fetch is pending; the text
(`s1-doc`, S000) and the pull request (`s1-pr`, apache/kafka #7802, utils/PendingRequests.scala
@ f6a21ebaf2) differ in what the read's end does to the lag clock, see `replica.on_fetch`. Solution
2 (`s2`, text only) adds a resignation. `li-transfer` is LinkedIn's fork (#386, #390): a leader
hands over instead of shrinking below min.insync.replicas.

Pending reads are a multiset of fetch offsets, not of requests: a follower that timed out and asked
again at the same offset is pending twice. No clock and no I/O here.
"""

from __future__ import annotations

# ruff: noqa: PLR0917 - numba takes scalars and arrays, no objects; callers pass what they hold
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.record import (
    PENDING_COUNT_0,
    PENDING_OFFSET_0,
    PENDING_SLOTS,
    PREV_LEADER_LEO,
)
from isr_pipeline.kafka.releases import KIP501, KIP501_ENABLED, Kip501

_S1_DOC: Final = int(Kip501.S1_DOC)
_S1_PR: Final = int(Kip501.S1_PR)
_S2: Final = int(Kip501.S2)
_LI_TRANSFER: Final = int(Kip501.LI_TRANSFER)


@rule
def add_pending(rec, row, first, slots, offset):
    """Count one more pending read at `offset`.

    Args:
        rec: records, `rec[row]` holds offsets from column `first` and counts from `first + slots`.
        row: whose record.
        first: first column of the multiset.
        slots: how many distinct offsets fit.
        offset: fetch offset of the read.

    Returns:
        How many reads are pending at `offset` now; 0 if no slot was free and none was counted.
    """
    free = -1
    for slot in range(slots):
        if rec[row, first + slots + slot] > 0:
            if rec[row, first + slot] == offset:
                rec[row, first + slots + slot] += 1
                return rec[row, first + slots + slot]
        elif free < 0:
            free = slot
    if free < 0:
        return 0
    rec[row, first + free] = offset
    rec[row, first + slots + free] = 1
    return 1


@rule
def remove_pending(rec, row, first, slots, offset):
    """Count one pending read at `offset` less; False if there was none."""
    for slot in range(slots):
        if rec[row, first + slots + slot] > 0 and rec[row, first + slot] == offset:
            rec[row, first + slots + slot] -= 1
            return True
    return False


@rule
def contains_pending(rec, row, first, slots, offset):
    """Whether a read at `offset` is pending."""
    for slot in range(slots):
        if rec[row, first + slots + slot] > 0 and rec[row, first + slot] == offset:
            return True
    return False


@rule
def any_pending(rec, row, first, slots):
    """Whether any read is pending."""
    for slot in range(slots):  # noqa: SIM110 - numba compiles no any() over a generator
        if rec[row, first + slots + slot] > 0:
            return True
    return False


@rule
def counts_pending(rules):
    """Whether pending reads keep a follower in sync: Solution 1 in either form, and Solution 2."""
    variant = rules[KIP501]
    return rules[KIP501_ENABLED] != 0 and variant in (_S1_DOC, _S1_PR, _S2)


@rule
def becomes_pending(rec, row, offset):
    """Whether a follower's fetch at `offset` becomes pending, where that counts.

    Only one that had reached the leader's LEO of the previous fetch: a follower that is behind gets
    nothing.
    """
    return offset >= rec[row, PREV_LEADER_LEO]


@rule
def begin_read(rules, rec, row, offset):
    """A handler begins to read for a follower's fetch at `offset`."""
    if counts_pending(rules) and becomes_pending(rec, row, offset):
        add_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS, offset)


@rule
def end_read(rules, rec, row, offset):
    """The read for the fetch at `offset` has ended, well or not."""
    if counts_pending(rules):
        remove_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS, offset)


@rule
def is_pending(rec, row):
    """Whether a read of this follower is pending."""
    return any_pending(rec, row, PENDING_OFFSET_0, PENDING_SLOTS)


@rule
def clear_pending(rec, row):
    """Forget every pending read (makeLeader @ the pull request)."""
    for slot in range(PENDING_SLOTS):
        rec[row, PENDING_COUNT_0 + slot] = 0


@rule
def should_resign(rules, read_time, limit, other_live_isr_member, since_last, cooldown):
    """Solution 2: whether a leader gives a partition up because of one read.

    Args:
        rules: the switches.
        read_time: how long the read has taken; purgatory time does not count.
        limit: follower.fetch.process.time.max.ms.
        other_live_isr_member: whether anybody could take over.
        since_last: time since this partition's last resignation.
        cooldown: the time within which it does not resign again.

    Returns:
        True if the read took more than the limit, the key is on, and a successor exists.
    """
    return (
        rules[KIP501] == _S2
        and rules[KIP501_ENABLED] != 0
        and read_time > limit
        and other_live_isr_member
        and since_last >= cooldown
    )


@rule
def transfers_instead_of_shrinking(rules, isr_size_after, min_isr):
    """LinkedIn's variant: hand over rather than leave fewer than min.insync.replicas in the ISR."""
    return rules[KIP501] == _LI_TRANSFER and isr_size_after < min_isr
