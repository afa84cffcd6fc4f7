"""KIP-501: pending reads, resignation, and LinkedIn's transfer."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka import kip501, record
from isr_pipeline.kafka.record import PENDING_SLOTS
from tests.kafka.records import Follower, empty_record, rules_of
from tests.tables import from_table

ON = {"kip501_enabled": True}


class TestMultiset:
    """Pending reads are counted by offset."""

    def _add(self, one: record.Follower, offset: int) -> int:
        return kip501.add_pending(one.pending_offsets, one.pending_counts, PENDING_SLOTS, offset)

    def _remove(self, one: record.Follower, offset: int) -> bool:
        return kip501.remove_pending(one.pending_offsets, one.pending_counts, PENDING_SLOTS, offset)

    def _contains(self, one: record.Follower, offset: int) -> bool:
        return kip501.contains_pending(
            one.pending_offsets, one.pending_counts, PENDING_SLOTS, offset
        )

    def test_counts(self) -> None:
        """Adding an offset again counts it again."""
        one = empty_record()
        assert [self._add(one, 5), self._add(one, 5), self._add(one, 6)] == [1, 2, 1]

    def test_remove_one(self) -> None:
        """Removing takes one away."""
        one = empty_record()
        self._add(one, 5)
        self._add(one, 5)
        assert self._remove(one, 5)
        assert self._contains(one, 5)

    def test_remove_last(self) -> None:
        """Removing the last one leaves nothing."""
        one = empty_record()
        self._add(one, 5)
        self._remove(one, 5)
        assert not kip501.is_pending(one)

    def test_remove_absent(self) -> None:
        """Removing what is not there is no removal."""
        one = empty_record()
        self._add(one, 5)
        assert not self._remove(one, 6)
        assert kip501.is_pending(one)

    def test_remove_gone(self) -> None:
        """An offset that was removed is not there, though its slot is."""
        one = empty_record()
        self._add(one, 5)
        self._remove(one, 5)
        assert not self._remove(one, 5)

    def test_contains_gone(self) -> None:
        """Nor is it contained."""
        one = empty_record()
        self._add(one, 5)
        self._remove(one, 5)
        assert not self._contains(one, 5)

    def test_offset_zero(self) -> None:
        """An empty slot is not offset 0."""
        one = empty_record()
        assert not self._contains(one, 0)
        assert self._add(one, 0) == 1

    def test_freed_slot_is_not_preferred(self) -> None:
        """An offset is found behind a freed slot."""
        one = empty_record()
        self._add(one, 5)
        self._add(one, 6)
        self._remove(one, 5)
        assert self._add(one, 6) == 2

    def test_full(self) -> None:
        """A fifth offset is not counted."""
        one = empty_record()
        assert [self._add(one, offset) for offset in (1, 2, 3, 4, 5)] == [1, 1, 1, 1, 0]

    def test_full_but_known(self) -> None:
        """A known offset needs no new slot."""
        one = empty_record()
        for offset in (1, 2, 3, 4):
            self._add(one, offset)
        assert self._add(one, 4) == 2


class TestPendingReads:
    """Which reads keep a follower in sync."""

    def _reading(self, variant: str, **options: bool) -> Follower:
        follower = Follower.of("3.7-3.9", kip501=variant, **(ON | options))
        follower.fetch(5, 10, 100)
        kip501.begin_read(follower.rules, follower.record, 10)
        return follower

    @pytest.mark.parametrize("variant", ["s1-doc", "s1-pr", "s2"])
    def test_keeps_in_sync(self, variant: str) -> None:
        """A pending read counts as being caught up."""
        assert not self._reading(variant).out(99, 10**9)

    @pytest.mark.parametrize("variant", ["s1-doc", "s1-pr", "s2"])
    def test_holds_the_hw(self, variant: str) -> None:
        """Also in the HW's test."""
        assert self._reading(variant).holds_hw(99, 10**9)

    @pytest.mark.parametrize("variant", ["none", "li-transfer"])
    def test_not_in_other_code(self, variant: str) -> None:
        """Without Solution 1 nothing is pending."""
        assert self._reading(variant).out(99, 10**9)

    @pytest.mark.parametrize("variant", ["s1-doc", "s1-pr", "s2"])
    def test_not_when_off(self, variant: str) -> None:
        """Nor with the key off."""
        assert self._reading(variant, kip501_enabled=False).out(99, 10**9)

    def test_ends(self) -> None:
        """The read's end ends the protection."""
        follower = self._reading("s1-pr")
        kip501.end_read(follower.rules, follower.record, 10)
        assert follower.out(99, 10**9)

    def test_duplicate_request(self) -> None:
        """Two requests at one offset end one by one."""
        follower = self._reading("s1-doc")
        kip501.begin_read(follower.rules, follower.record, 10)
        kip501.end_read(follower.rules, follower.record, 10)
        assert not follower.out(99, 10**9)

    def test_behind_is_never_pending(self) -> None:
        """One record short of the previous fetch's LEO gets nothing."""
        follower = Follower.of("3.7-3.9", kip501="s1-doc", **ON)
        follower.fetch(5, 10, 100)
        kip501.begin_read(follower.rules, follower.record, 9)
        assert follower.out(99, 10**9)

    def test_first_fetch_after_election(self) -> None:
        """The previous LEO is unknown then: always pending."""
        follower = Follower.of("3.7-3.9", kip501="s1-doc", **ON)
        follower.reset(10, new=True, in_isr=True, now=0)
        kip501.begin_read(follower.rules, follower.record, 0)
        assert not follower.out(99, 10**9)

    def test_reset_clears(self) -> None:
        """Becoming leader forgets pending reads."""
        follower = self._reading("s1-pr")
        follower.reset(10, new=False, in_isr=False, now=0)
        assert not kip501.is_pending(follower.record)


class TestCredit:
    """What the read's end does to the lag clock."""

    def _served(self, variant: str, offset: int, leo: int) -> Follower:
        follower = Follower.of("3.7-3.9", kip501=variant, **ON)
        follower.fetch(5, 10, 100)
        kip501.begin_read(follower.rules, follower.record, offset)
        follower.fetch(offset, leo, 200, end=225)
        kip501.end_read(follower.rules, follower.record, offset)
        return follower

    @from_table
    def test_credit(self, variant: str, offset: int, leo: int, credit: int) -> None:
        """The text credits the read's end in both branches, the pull request at the LEO only."""
        assert self._served(variant, offset, leo).caught_up_at == credit

    def test_pr_credits_only_pending(self) -> None:
        """The pull request credits the arrival of a fetch that is not pending."""
        follower = Follower.of("3.7-3.9", kip501="s1-pr", **ON)
        follower.fetch(20, 20, 200, end=225)
        assert follower.caught_up_at == 200


class TestResignation:
    """Solution 2."""

    def _resigns(
        self,
        *,
        variant: str = "s2",
        enabled: bool = True,
        read: int = 501,
        other: bool = True,
        since: int = 10,
        cooldown: int = 0,
    ) -> bool:
        rules = rules_of("3.7-3.9", kip501=variant, kip501_enabled=enabled)
        return kip501.should_resign(rules, read, 500, other, since, cooldown)

    def test_over_the_limit(self) -> None:
        """One more than the limit resigns."""
        assert self._resigns()

    def test_at_the_limit(self) -> None:
        """The limit itself does not."""
        assert not self._resigns(read=500)

    def test_off(self) -> None:
        """Only when pending reads are enabled."""
        assert not self._resigns(enabled=False)

    def test_other_variant(self) -> None:
        """Only Solution 2 resigns."""
        assert not self._resigns(variant="s1-doc")

    def test_nobody_else(self) -> None:
        """Not without another live ISR member."""
        assert not self._resigns(other=False)

    def test_cooldown(self) -> None:
        """Not again within the cool-down; at its end it may."""
        assert not self._resigns(since=9, cooldown=10)
        assert self._resigns(since=10, cooldown=10)


class TestTransfer:
    """LinkedIn's variant."""

    @pytest.mark.parametrize(("size", "transfers"), [(1, True), (2, False), (3, False)])
    def test_below_min_isr(self, size: int, transfers: bool) -> None:
        """It hands over rather than shrink below min ISR."""
        rules = rules_of("3.7-3.9", kip501="li-transfer")
        assert kip501.transfers_instead_of_shrinking(rules, size, 2) is transfers

    def test_other_code_shrinks(self) -> None:
        """Nobody else does."""
        rules = rules_of("3.7-3.9", kip501="s2", kip501_enabled=True)
        assert not kip501.transfers_instead_of_shrinking(rules, 1, 2)
