"""Facts about the rules that hold for every history, found by random search."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.kafka import election, kip501, partition, replica
from isr_pipeline.kafka.record import PENDING_SLOTS
from isr_pipeline.kafka.releases import KIP501_VARIANTS, NEVER
from tests.kafka.records import (
    NAMES,
    TIMED,
    Follower,
    change_of,
    empty_record,
    registration,
    rules_of,
)

LAG = 10
MERGED_AND_TEXT = [name for name in NAMES if name not in {"0.8.2", "0.9-0.10.1"}]

names = st.sampled_from(NAMES)
offsets = st.integers(0, 20)
masks = st.integers(0, 0b1111)
steps = st.lists(st.tuples(offsets, offsets, st.integers(0, 8)), min_size=1, max_size=12)


@settings(max_examples=60)
@given(name=names, history=st.lists(st.tuples(st.integers(0, 3), offsets, masks), max_size=15))
def test_hw_never_decreases(name: str, history: list[tuple[int, int, int]]) -> None:
    """Whatever is fetched and whatever the ISR, the HW of a leader never goes back."""
    built = Follower.of(name, n=4)
    leader = built.leader
    for now, (row, offset, isr) in enumerate(history):
        leo = leader.log_end_offset = max(leader.log_end_offset, offset)
        leader.isr = isr | 1
        replica.on_fetch(built.rules, built.record[row], offset, now, leo, now)
        moved = partition.next_high_watermark(built.rules, leader, 0b1111, 1, now, LAG)
        assert leader.high_watermark <= moved <= max(leader.high_watermark, leo)
        leader.high_watermark = moved


@settings(max_examples=60)
@given(
    name=names, leos=st.lists(offsets, min_size=3, max_size=3), isr=masks, now=st.integers(0, 40)
)
def test_isr_members_are_at_the_hw(name: str, leos: list[int], isr: int, now: int) -> None:
    """A HW that moves never passes an ISR member (KAFKA-4485's fourth guarantee)."""
    built = Follower.of(name, n=4)
    for row, leo in enumerate(leos, start=1):
        built.record[row].log_end_offset = leo
    built.leader.log_end_offset, built.leader.isr = 20, isr | 1
    hw = partition.next_high_watermark(built.rules, built.leader, 0b1111, 1, now, LAG)
    assert all(leo >= hw for row, leo in enumerate(leos, start=1) if isr >> row & 1)


@settings(max_examples=60)
@given(name=st.sampled_from(MERGED_AND_TEXT), history=steps)
def test_clock_is_monotone_and_true(name: str, history: list[tuple[int, int, int]]) -> None:
    """The lag clock never goes back, and never claims more than was: lastCaughtUp <= now."""
    follower = Follower.of(name)
    now, leo, before = 0, 0, NEVER
    for offset, grows, gap in history:
        now += gap
        leo += grows
        follower.fetch(min(offset, leo), leo, now)
        assert before <= follower.caught_up_at <= now
        before = follower.caught_up_at


@settings(max_examples=100)
@given(
    name=st.sampled_from(TIMED),
    kip501=st.sampled_from(list(KIP501_VARIANTS)),
    history=steps,
    later=st.integers(0, 8),
)
def test_fetching_again_is_a_fetch(
    name: str, kip501: str, history: list[tuple[int, int, int]], later: int
) -> None:
    """After any history, a fetch at an end that has not moved is recorded alike in both ways."""
    follower, again = (Follower.of(name, kip501=kip501, kip501_enabled=True) for _ in "ab")
    for one in (follower, again):
        now, leo = 0, 0
        for offset, grows, gap in history:
            now += gap
            leo += grows
            one.fetch(min(offset, leo), leo, now)
        one.fetch(leo, leo, now)
    follower.fetch(leo, leo, now + later)
    replica.on_fetch_again(again.record, now + later)
    again.record.log_end_offset_time = now + later  # which only 0.8.2 reads
    assert again.record.memory == follower.record.memory


@settings(max_examples=60)
@given(name=st.sampled_from(MERGED_AND_TEXT), history=steps)
def test_caught_up_means_having_had_the_leo(name: str, history: list[tuple[int, int, int]]) -> None:
    """At lastCaughtUp the leader's LEO was at most the follower's present offset."""
    follower = Follower.of(name)
    now, leo, offset = 0, 0, 0
    leo_at = {NEVER: 0}
    for read, grows, gap in history:
        now += gap + 1
        leo += grows
        offset = min(leo, max(offset, read))
        leo_at[now] = leo
        follower.fetch(offset, leo, now)
        assert leo_at[follower.caught_up_at] <= offset


@settings(max_examples=60)
@given(name=names, leo=offsets, behind=offsets, now=st.integers(0, 40))
def test_out_of_sync_is_monotone_in_time(name: str, leo: int, behind: int, now: int) -> None:
    """Without a fetch and with a standing log a follower that is out stays out."""
    follower = Follower.of(name)
    follower.fetch(max(0, leo - behind), leo, 0)
    if follower.out(leo, now):
        assert follower.out(leo, now + 1)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=30))
def test_pending_is_a_multiset(operations: list[tuple[bool, int]]) -> None:
    """Adding and removing are those of a multiset of four offsets."""
    follower = empty_record()
    reads = follower.pending_offsets, follower.pending_counts, PENDING_SLOTS
    model: Counter[int] = Counter()
    for adds, offset in operations:
        if adds:
            model[offset] += 1
            assert kip501.add_pending(*reads, offset) == model[offset]
        else:
            there = model[offset] > 0
            assert kip501.remove_pending(*reads, offset) is there
            model[offset] -= there
        for asked in range(4):
            assert kip501.contains_pending(*reads, asked) is (model[asked] > 0)
        assert kip501.is_pending(follower) is (model.total() > 0)


@settings(max_examples=80)
@given(isr=masks, live=masks, stopping=masks, unclean=st.booleans())
def test_zk_elects_cleanly_if_it_can(isr: int, live: int, stopping: int, unclean: bool) -> None:
    """A clean leader is in the ISR, alive and not stopping; none is passed over."""
    order = list(range(4))
    leader, was_unclean = election.elect_zk(order, 4, isr, live, stopping, unclean)
    fit = isr & live & ~stopping
    assert bool(fit) == (leader >= 0 and not was_unclean)
    if leader >= 0:
        pool = fit or live
        assert pool >> leader & 1
        assert pool & ((1 << leader) - 1) == 0


@settings(max_examples=120)
@given(
    isr=masks,
    target=masks,
    leader=st.integers(-1, 3),
    acceptable=masks,
    min_isr=st.integers(1, 4),
    kind=st.sampled_from(list(election.Election)),
    elr=masks,
    elr_on=st.booleans(),
    use_known=st.booleans(),
    lost=masks,
)
def test_kraft_change_is_consistent(  # noqa: PLR0917 - hypothesis names them
    isr: int,
    target: int,
    leader: int,
    acceptable: int,
    min_isr: int,
    kind: election.Election,
    elr: int,
    elr_on: bool,
    use_known: bool,
    lost: int,
) -> None:
    """ISR and ELR never meet; a changed leader is alive; no bump without a reason."""
    rules = rules_of("3.7-3.9", elr=elr_on)
    elr &= ~isr
    partition = registration(leader, isr, elr, 0)
    met = change_of(range(4), target=target, acceptable=acceptable, kind=kind, use_known=use_known)
    met.min_isr, met.unclean_shutdown = min_isr, lost
    election.change_kraft(rules, partition, met)
    new_leader, new_isr, new_elr = met.leader, met.isr, met.elr
    unclean, bump = met.is_unclean, met.bumps_leader_epoch
    assert new_isr & new_elr == 0
    assert elr_on or new_elr == 0
    if new_leader != leader and new_leader >= 0:
        assert acceptable >> new_leader & 1
    assert bump == (new_leader != leader)
    if unclean:
        assert new_isr == 1 << new_leader


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(leo=offsets, hw=offsets, isr=masks, eligible=masks)
def test_only_the_outside_joins(name: str, leo: int, hw: int, isr: int, eligible: int) -> None:
    """Who joins was not a member and has reached the HW."""
    built = Follower.of(name, n=4)
    built.record[2].log_end_offset = leo
    built.leader.isr, built.leader.high_watermark = isr, hw
    if partition.may_expand(built.rules, built.leader, 2, eligible):
        assert not isr >> 2 & 1
        assert leo >= hw
