"""KIP-501 and its relatives: what a leader does about its own slow reads.

Solution 1 counts a follower as in sync while a read of its fetch is pending; the text
(`s1-doc`, S000) and the pull request (`s1-pr`, apache/kafka #7802 of branch KAFKA-8733,
utils/PendingRequests.scala @ f6a21ebaf2) differ in what the read's end does to the lag clock, see
`replica.on_fetch`. Solution 2 (`s2`, text only) adds a resignation. `li-transfer` is LinkedIn's
fork (#386, #390): a leader hands over instead of shrinking below min.insync.replicas.

Pending reads are a multiset of fetch offsets, not of requests: a follower that timed out and asked
again at the same offset is pending twice. No clock and no I/O here.
"""

from __future__ import annotations

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.record import PENDING_SLOTS, Follower
from isr_pipeline.kafka.releases import Kip501, Rules
from isr_pipeline.kafka.rows import Numbers


@rule
def add_pending(offsets: Numbers, counts: Numbers, slots: int, offset: int) -> int:
    """Count one more pending read at `offset`.

    Args:
        offsets: the distinct offsets at which reads are pending.
        counts: how many at each; where that is 0, the offset means nothing.
        slots: how many distinct offsets fit.
        offset: fetch offset of the read.

    Returns:
        How many reads are pending at `offset` now; 0 if no slot was free and none was counted.
    """
    free = -1
    for slot in range(slots):
        if counts[slot] > 0:
            if offsets[slot] == offset:
                counts[slot] += 1
                return counts[slot]
        elif free < 0:
            free = slot
    if free < 0:
        return 0
    offsets[free] = offset
    counts[free] = 1
    return 1


@rule
def remove_pending(offsets: Numbers, counts: Numbers, slots: int, offset: int) -> bool:
    """Count one pending read at `offset` less; False if there was none."""
    for slot in range(slots):
        if counts[slot] > 0 and offsets[slot] == offset:
            counts[slot] -= 1
            return True
    return False


@rule
def contains_pending(offsets: Numbers, counts: Numbers, slots: int, offset: int) -> bool:
    """Whether a read at `offset` is pending."""
    for slot in range(slots):  # noqa: SIM110 - numba compiles no any() over a generator
        if counts[slot] > 0 and offsets[slot] == offset:
            return True
    return False


@rule
def any_pending(counts: Numbers, slots: int) -> bool:
    """Whether any read is pending."""
    for slot in range(slots):  # noqa: SIM110 - numba compiles no any() over a generator
        if counts[slot] > 0:
            return True
    return False


@rule
def counts_pending(rules: Rules) -> bool:
    """Whether pending reads keep a follower in sync: Solution 1 in either form, and Solution 2."""
    return rules.kip501_enabled and rules.kip501 in (Kip501.S1_DOC, Kip501.S1_PR, Kip501.S2)


@rule
def becomes_pending(follower: Follower, offset: int) -> bool:
    """Whether a follower's fetch at `offset` becomes pending, where that counts.

    Only one that had reached the leader's LEO of the previous fetch: a follower that is behind gets
    nothing.
    """
    return offset >= follower.last_fetch_leader_log_end_offset


@rule
def begin_read(rules: Rules, follower: Follower, offset: int) -> None:
    """A handler begins to read for a follower's fetch at `offset`."""
    if counts_pending(rules) and becomes_pending(follower, offset):
        add_pending(follower.pending_offsets, follower.pending_counts, PENDING_SLOTS, offset)


@rule
def end_read(rules: Rules, follower: Follower, offset: int) -> None:
    """The read for the fetch at `offset` has ended, well or not."""
    if counts_pending(rules):
        remove_pending(follower.pending_offsets, follower.pending_counts, PENDING_SLOTS, offset)


@rule
def is_pending(follower: Follower) -> bool:
    """Whether a read of this follower is pending."""
    return any_pending(follower.pending_counts, PENDING_SLOTS)


@rule
def clear_pending(follower: Follower) -> None:
    """Forget every pending read (makeLeader @ the pull request)."""
    for slot in range(PENDING_SLOTS):
        follower.pending_counts[slot] = 0


@rule
def should_resign(
    rules: Rules,
    read_time: int,
    limit: int,
    other_live_isr_member: bool,
    since_last: int,
    cooldown: int,
) -> bool:
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
        rules.kip501 == Kip501.S2
        and rules.kip501_enabled
        and read_time > limit
        and other_live_isr_member
        and since_last >= cooldown
    )


@rule
def transfers_instead_of_shrinking(rules: Rules, isr_size_after: int, min_isr: int) -> bool:
    """LinkedIn's variant: hand over rather than leave fewer than min.insync.replicas in the ISR."""
    return rules.kip501 == Kip501.LI_TRANSFER and isr_size_after < min_isr
