"""Facts about the rules that hold for every history, found by random search."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isr_pipeline.kafka import election, kip501, partition, record, replica
from isr_pipeline.kafka.releases import KIP501_VARIANTS, NEVER
from tests.kafka.records import NAMES, TIMED, Follower, rules_of

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
    built = Follower.of(name, rows=4)
    hw, leo = 0, 0
    for now, (row, offset, isr) in enumerate(history):
        leo = max(leo, offset)
        replica.on_fetch(built.rules, built.rec, row, 0, offset, now, leo, now)
        moved = partition.next_high_watermark(
            built.rules, built.rec, 0, 4, 0, leo, hw, isr | 1, isr | 1, 0b1111, 1, now, LAG
        )
        assert hw <= moved <= max(hw, leo)
        hw = int(moved)


@settings(max_examples=60)
@given(
    name=names, leos=st.lists(offsets, min_size=3, max_size=3), isr=masks, now=st.integers(0, 40)
)
def test_isr_members_are_at_the_hw(name: str, leos: list[int], isr: int, now: int) -> None:
    """A HW that moves never passes an ISR member (KAFKA-4485's fourth guarantee)."""
    built = Follower.of(name, rows=4)
    for row, leo in enumerate(leos, start=1):
        built.rec[row, record.LEO] = leo
    hw = partition.next_high_watermark(
        built.rules, built.rec, 0, 4, 0, 20, 0, isr | 1, isr | 1, 0b1111, 1, now, LAG
    )
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
    replica.on_fetch_again(again.rec, 0, now + later)
    again.rec[0, record.LEO_TIME] = now + later  # which only 0.8.2 reads
    assert again.rec.tolist() == follower.rec.tolist()


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
    rec = np.zeros((1, record.N_FIELDS), dtype=np.int64)
    first, slots = record.PENDING_OFFSET_0, record.PENDING_SLOTS
    model: Counter[int] = Counter()
    for adds, offset in operations:
        if adds:
            model[offset] += 1
            assert kip501.add_pending(rec, 0, first, slots, offset) == model[offset]
        else:
            there = model[offset] > 0
            assert bool(kip501.remove_pending(rec, 0, first, slots, offset)) is there
            model[offset] -= there
        for asked in range(4):
            contained = kip501.contains_pending(rec, 0, first, slots, asked)
            assert bool(contained) is (model[asked] > 0)
        assert bool(kip501.is_pending(rec, 0)) is (model.total() > 0)


@settings(max_examples=80)
@given(isr=masks, live=masks, stopping=masks, unclean=st.booleans())
def test_zk_elects_cleanly_if_it_can(isr: int, live: int, stopping: int, unclean: bool) -> None:
    """A clean leader is in the ISR, alive and not stopping; none is passed over."""
    order = np.arange(4, dtype=np.int64)
    leader, was_unclean = election.elect_zk(order, 4, isr, live, stopping, unclean)
    fit = isr & live & ~stopping
    assert bool(fit) == bool(leader >= 0 and not was_unclean)
    if leader >= 0:
        pool = fit or live
        assert pool >> int(leader) & 1
        assert pool & ((1 << int(leader)) - 1) == 0


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
    rules = rules_of("3.7+", elr=elr_on)
    order = np.arange(4, dtype=np.int64)
    elr &= ~isr
    met = election.partition_change_kraft(
        rules,
        order,
        4,
        isr,
        target,
        leader,
        acceptable,
        min_isr,
        int(kind),
        elr,
        0,
        use_known,
        lost,
        False,
    )
    new_leader, new_isr, new_elr, _, unclean, bump = met
    assert new_isr & new_elr == 0
    assert elr_on or new_elr == 0
    if new_leader != leader and new_leader >= 0:
        assert acceptable >> int(new_leader) & 1
    assert bool(bump) == (int(new_leader) != leader)
    if unclean:
        assert new_isr == 1 << int(new_leader)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=25)
@given(leo=offsets, hw=offsets, isr=masks, eligible=masks)
def test_only_the_outside_joins(name: str, leo: int, hw: int, isr: int, eligible: int) -> None:
    """Who joins was not a member and has reached the HW."""
    built = Follower.of(name, rows=4)
    built.rec[2, record.LEO] = leo
    if partition.may_expand(built.rules, built.rec, 0, 2, isr, False, hw, 0, eligible, 0, LAG):
        assert not isr >> 2 & 1
        assert leo >= hw
