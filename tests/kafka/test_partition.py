"""A partition on its leader: HW, leaving, joining, acks=all, proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isr_pipeline.kafka import partition
from isr_pipeline.kafka.partition import Alter, AlterError, Produce, answer_raises_hw
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import NEVER, UNKNOWN, ExpandNeedsLag
from tests.kafka.records import MERGED, NAMES, TIMED, Follower, rules_of

LAG = 10
IN_TIME = {"expand_needs_lag": ExpandNeedsLag.UNDER_MIN_ISR}
"""What apache/kafka#23024 changes."""


def partition_of(name: str, *followers: tuple[int, int], **options: Any) -> Follower:
    """Leader at position 0; each follower is (LEO, time it was last caught up)."""
    built = Follower.of(name, n=1 + len(followers), **options)
    for row, (leo, caught_up_at) in enumerate(followers, start=1):
        built.record[row].log_end_offset = leo
        built.record[row].last_caught_up_time = caught_up_at
        built.record[row].log_end_offset_time = caught_up_at
    return built


def hw_of(
    built: Follower,
    leo: int,
    *,
    hw: int = 0,
    isr: int = 0b1,
    maximal: int | None = None,
    eligible: int = 0b1111,
    min_isr: int = 1,
    now: int = 100,
) -> int:
    """The next HW of a partition whose leader is at position 0."""
    leader = built.leader
    leader.log_end_offset, leader.high_watermark, leader.isr = leo, hw, isr
    if maximal is not None:
        leader.pending, leader.pending_isr = Pending.EXPAND, maximal
    return partition.next_high_watermark(built.rules, leader, eligible, min_isr, now, LAG)


class TestHighWatermark:
    """What the HW waits for."""

    @pytest.mark.parametrize("name", NAMES)
    def test_leader_alone(self, name: str) -> None:
        """A leader alone in the ISR commits its own LEO."""
        assert hw_of(partition_of(name), 12) == 12

    @pytest.mark.parametrize("name", NAMES)
    def test_least_of_isr(self, name: str) -> None:
        """The least LEO of the ISR."""
        built = partition_of(name, (9, 100), (7, 100))
        assert hw_of(built, 12, isr=0b111) == 7

    @pytest.mark.parametrize("name", NAMES)
    def test_never_decreases(self, name: str) -> None:
        """A member further back does not pull it back."""
        assert hw_of(partition_of(name, (3, 100)), 12, hw=5, isr=0b11) == 5

    @pytest.mark.parametrize("name", NAMES)
    def test_unknown_member_stops_it(self, name: str) -> None:
        """A fresh leader cannot move it until every member has fetched."""
        assert hw_of(partition_of(name, (UNKNOWN, 100)), 12, hw=5, isr=0b11) == 5

    @pytest.mark.parametrize("name", NAMES)
    def test_does_not_wait_for_others(self, name: str) -> None:
        """A replica outside the ISR that lags does not hold it."""
        assert hw_of(partition_of(name, (3, 89)), 12) == 12

    @pytest.mark.parametrize("name", NAMES[:2])
    def test_ignores_caught_up_others_until_0_10_1(self, name: str) -> None:
        """Before KAFKA-4485 only the ISR counts."""
        assert hw_of(partition_of(name, (3, 100)), 12) == 12

    @pytest.mark.parametrize("name", NAMES[2:])
    def test_waits_for_caught_up_others(self, name: str) -> None:
        """From KAFKA-4485 on also a replica that is caught up, at the limit included."""
        assert hw_of(partition_of(name, (3, 90)), 12) == 3
        assert hw_of(partition_of(name, (3, 89)), 12) == 12

    @pytest.mark.parametrize("name", NAMES)
    def test_isr_member_over_lag_still_counts(self, name: str) -> None:
        """An expired member holds it until the tick removes it."""
        assert hw_of(partition_of(name, (3, 0)), 12, isr=0b11) == 3

    @pytest.mark.parametrize("name", NAMES)
    def test_maximal_isr_counts(self, name: str) -> None:
        """A replica whose joining is under way counts already."""
        assert hw_of(partition_of(name, (3, 0)), 12, isr=0b1, maximal=0b11) == 3

    @pytest.mark.parametrize(("name", "hw"), [("2.7-3.2", 3), ("3.3-3.6", 12), ("3.7+", 12)])
    def test_ineligible(self, name: str, hw: int) -> None:
        """KAFKA-15021: a replica that may not join does not hold it."""
        assert hw_of(partition_of(name, (3, 100)), 12, eligible=0b1101) == hw

    def test_ineligible_member_counts(self) -> None:
        """An ISR member does, eligible or not."""
        assert hw_of(partition_of("3.7+", (3, 100)), 12, isr=0b11, eligible=0) == 3

    @pytest.mark.parametrize(("name", "hw"), [("3.3-3.6", 12), ("3.7+", 5)])
    def test_frozen_under_min_isr(self, name: str, hw: int) -> None:
        """KAFKA-15583: under min ISR it stands still."""
        assert hw_of(partition_of(name), 12, hw=5, min_isr=2) == hw

    def test_at_min_isr_it_moves(self) -> None:
        """At min ISR it moves."""
        assert hw_of(partition_of("3.7+", (12, 100)), 12, isr=0b11, min_isr=2) == 12

    def test_frozen_by_the_committed_isr(self) -> None:
        """A replica that is only joining does not lift the freeze."""
        built = partition_of("3.7+", (12, 100))
        assert hw_of(built, 12, hw=5, isr=0b1, maximal=0b11, min_isr=2) == 5

    def test_leader_row_is_unused(self) -> None:
        """What stands in the leader's own row means nothing."""
        built = partition_of("3.7+")
        built.record.log_end_offset = 1
        assert hw_of(built, 12) == 12

    def test_row_offset(self) -> None:
        """The records of an assignment may begin anywhere."""
        built = partition_of("3.7+", (3, 100), (4, 100))
        built.leader.followers = built.record[1]
        built.leader.replication_factor = 2
        assert hw_of(built, 12, isr=0b11) == 4


class TestOutOfSync:
    """Who leaves at the tick."""

    def _mask(self, built: Follower, leo: int, isr: int, now: int, leader: int = 0) -> int:
        built.leader.log_end_offset, built.leader.isr, built.leader.position = leo, isr, leader
        return partition.out_of_sync_mask(built.rules, built.leader, now, LAG, 4)

    @pytest.mark.parametrize("name", TIMED)
    def test_expired_members(self, name: str) -> None:
        """Members beyond the limit, and only they."""
        built = partition_of(name, (3, 89), (3, 90))
        assert self._mask(built, 12, 0b111, 100) == 0b010

    @pytest.mark.parametrize("name", NAMES)
    def test_only_members(self, name: str) -> None:
        """Who is not in the ISR cannot leave it."""
        assert self._mask(partition_of(name, (3, 0)), 12, 0b1, 100) == 0

    @pytest.mark.parametrize("name", NAMES)
    def test_never_the_leader(self, name: str) -> None:
        """The leader stays, whatever its own row says."""
        built = partition_of(name, (3, 0))
        assert self._mask(built, 12, 0b11, 100, leader=1) & 0b10 == 0

    def test_messages(self) -> None:
        """0.8.2: five behind is out at a limit of four."""
        assert self._mask(partition_of("0.8.2", (7, 100), (8, 100)), 12, 0b111, 100) == 0b010


class TestExpand:
    """Who joins at a fetch."""

    def _joins(self, name: str, leo: int, **changed: Any) -> bool:
        given = {
            "caught_up_at": NEVER,
            "isr": 0b1,
            "pending": Pending.NONE,
            "hw": 5,
            "epoch_start": 0,
            "eligible": 0b10,
            "leader_leo": 12,
            "min_isr": 1,
        } | changed
        built = partition_of(name, (leo, given["caught_up_at"]))
        leader = built.leader
        leader.isr, leader.high_watermark = given["isr"], given["hw"]
        leader.epoch_start, leader.pending = given["epoch_start"], given["pending"]
        leader.log_end_offset = given["leader_leo"]
        rules = replace(built.rules, **given.get("rules", {}))
        eligible, min_isr = given["eligible"], given["min_isr"]
        return partition.may_expand(rules, leader, 1, eligible) and partition.lag_lets_join(
            rules, leader, 1, min_isr, 100, LAG
        )

    @pytest.mark.parametrize("name", [n for n in NAMES if n != "4485-doc"])
    def test_at_the_hw(self, name: str) -> None:
        """LEO equal to the HW joins, whatever its lag."""
        assert self._joins(name, 5)

    @pytest.mark.parametrize("name", NAMES)
    def test_below_the_hw(self, name: str) -> None:
        """One less does not."""
        assert not self._joins(name, 4, caught_up_at=100)

    @pytest.mark.parametrize("name", NAMES)
    def test_member_already(self, name: str) -> None:
        """A member does not join again."""
        assert not self._joins(name, 5, isr=0b11, caught_up_at=100)

    @pytest.mark.parametrize("name", NAMES)
    def test_change_in_flight(self, name: str) -> None:
        """Nobody joins while a change is under way."""
        assert not self._joins(name, 5, pending=Pending.SHRINK, caught_up_at=100)

    @pytest.mark.parametrize(("name", "joins"), [("0.10.2-2.0", True), ("2.1-2.6", False)])
    def test_epoch_start(self, name: str, joins: bool) -> None:
        """KAFKA-7128: from 2.1 on it must reach the leader's epoch."""
        assert self._joins(name, 5, epoch_start=6) is joins

    @pytest.mark.parametrize("name", NAMES[4:])
    def test_at_the_epoch_start(self, name: str) -> None:
        """Its start is enough."""
        assert self._joins(name, 6, epoch_start=6)

    @pytest.mark.parametrize(("name", "joins"), [("2.7-3.2", True), ("3.3-3.6", False)])
    def test_ineligible(self, name: str, joins: bool) -> None:
        """KIP-841: a fenced or stopping broker does not join from 3.3 on."""
        assert self._joins(name, 5, eligible=0b01) is joins

    def test_lag_in_the_issue_text(self) -> None:
        """KAFKA-4485's text asks for a lag within the limit, inclusive."""
        assert self._joins("4485-doc", 5, caught_up_at=90)
        assert not self._joins("4485-doc", 5, caught_up_at=89)

    @pytest.mark.parametrize(("caught_up_at", "joins"), [(90, True), (89, False)])
    def test_lag_under_min_isr(self, caught_up_at: int, joins: bool) -> None:
        """apache/kafka#23024: below min ISR the same is asked."""
        found = self._joins("4.1+", 5, rules=IN_TIME, caught_up_at=caught_up_at, min_isr=2)
        assert found is joins

    def test_lag_at_min_isr(self) -> None:
        """At min ISR it is not."""
        assert self._joins("4.1+", 5, rules=IN_TIME, isr=0b101, caught_up_at=89, min_isr=2)

    def test_log_end_under_min_isr(self) -> None:
        """Who has the whole log joins, however long it was behind."""
        assert self._joins("4.1+", 12, rules=IN_TIME, caught_up_at=89, min_isr=2)


class TestAcksAll:
    """min.insync.replicas and acks=all."""

    @pytest.mark.parametrize(("size", "refused"), [(1, True), (2, False)])
    def test_refused(self, size: int, refused: bool) -> None:
        """Under min ISR nothing is written; at min ISR it is."""
        assert partition.append_refused(True, size, 2) is refused

    def test_other_acks(self) -> None:
        """Acks 0 and 1 are never refused."""
        assert not partition.append_refused(False, 1, 2)

    def test_waiting(self) -> None:
        """One short of the required offset waits."""
        assert partition.produce_error(10, 9, 3, 2) == Produce.WAITING

    def test_done(self) -> None:
        """The required offset is enough."""
        assert partition.produce_error(10, 10, 2, 2) == Produce.NONE

    def test_after_append(self) -> None:
        """With too small an ISR the record is there, and the client is told."""
        done = partition.produce_error(10, 10, 1, 2)
        assert done == Produce.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    @pytest.mark.parametrize(("name", "effective"), [("3.3-3.6", 3), ("3.7+", 2)])
    def test_capped(self, name: str, effective: int) -> None:
        """From 3.7 on min ISR is at most the replication factor."""
        assert partition.effective_min_isr(rules_of(name), 3, 2) == effective

    def test_cap_is_a_minimum(self) -> None:
        """A smaller setting stays."""
        assert partition.effective_min_isr(rules_of("3.7+"), 1, 3) == 1


class TestTick:
    """The isr-expiration task."""

    @pytest.mark.parametrize("name", NAMES)
    def test_period(self, name: str) -> None:
        """The whole lag until 0.10.1, then half of it, rounded down."""
        period = 11 if name in NAMES[:2] else 5
        assert partition.tick_period(rules_of(name), 11) == period


class TestAlterResponse:
    """What a leader does with the controller's answer."""

    def _decide(
        self, name: str, error: AlterError, leader_epoch: int = 5, partition_epoch: int = 3
    ) -> Alter:
        return partition.alter_response(rules_of(name), error, leader_epoch, partition_epoch, 5, 3)

    @pytest.mark.parametrize(
        ("leader_epoch", "partition_epoch", "decision"),
        [
            (5, 4, Alter.COMMIT),
            (5, 3, Alter.COMMIT),
            (5, 2, Alter.IGNORE),
            (4, 4, Alter.IGNORE),
            (6, 4, Alter.IGNORE),
        ],
    )
    def test_success(self, leader_epoch: int, partition_epoch: int, decision: Alter) -> None:
        """The same leader epoch and no older partition epoch commit."""
        met = self._decide("3.7+", AlterError.NONE, leader_epoch, partition_epoch)
        assert met is decision

    @pytest.mark.parametrize(
        "error", [AlterError.OPERATION_NOT_ATTEMPTED, AlterError.INELIGIBLE_REPLICA]
    )
    def test_revert(self, error: AlterError) -> None:
        """A refusal that was surely not applied reverts."""
        assert self._decide("3.3-3.6", error) is Alter.REVERT

    @pytest.mark.parametrize(
        "error",
        [
            AlterError.UNKNOWN_TOPIC_OR_PARTITION,
            AlterError.UNKNOWN_TOPIC_ID,
            AlterError.FENCED_LEADER_EPOCH,
            AlterError.INVALID_UPDATE_VERSION,
            AlterError.INVALID_REQUEST,
            AlterError.NEW_LEADER_ELECTED,
        ],
    )
    def test_stay(self, error: AlterError) -> None:
        """These wait for new metadata."""
        assert self._decide("3.7+", error) is Alter.STAY

    def test_resubmit(self) -> None:
        """Anything else is sent again."""
        assert self._decide("3.7+", AlterError.OTHER) is Alter.RESUBMIT

    @pytest.mark.parametrize(
        ("error", "decision"),
        [
            (AlterError.INELIGIBLE_REPLICA, Alter.RESUBMIT),
            (AlterError.INVALID_REQUEST, Alter.RESUBMIT),
            (AlterError.FENCED_LEADER_EPOCH, Alter.STAY),
            (AlterError.UNKNOWN_TOPIC_OR_PARTITION, Alter.STAY),
            (AlterError.INVALID_UPDATE_VERSION, Alter.STAY),
        ],
    )
    def test_2_8_knew_fewer_errors(self, error: AlterError, decision: Alter) -> None:
        """2.8 sends again what it does not know."""
        assert self._decide("2.7-3.2", error) is decision


def test_size_of() -> None:
    """A set's size is its number of bits."""
    assert [partition.size_of(mask) for mask in (0, 1, 0b1010, 0b111)] == [0, 1, 2, 3]


def test_merged_rule_sets_are_the_released_ones() -> None:
    """4485-doc was never released as such."""
    assert "4485-doc" not in MERGED


@pytest.mark.parametrize("name", NAMES)
def test_the_answer_to_an_isr_change_raises_the_hw(name: str) -> None:
    """In every release but those of 2.7 to 3.0 (KAFKA-13091)."""
    assert answer_raises_hw(rules_of(name)) is (name != "2.7-3.2")
