"""A partition on its leader: HW, leaving, joining, acks=all, proposals."""

from __future__ import annotations

from dataclasses import replace

import pytest

from isr_pipeline.kafka import partition
from isr_pipeline.kafka.partition import Alter, AlterError, Produce, answer_raises_hw
from isr_pipeline.kafka.record import Pending
from isr_pipeline.kafka.releases import NEVER, ExpandNeedsLag
from tests.kafka.records import MERGED, NAMES, Follower, in_rule_sets, rules_of, set_of
from tests.tables import Row

NOW, LAG = 100, 10
LEO = 12
"""The leader's."""


def partition_of(name: str, *followers: tuple[int, int]) -> Follower:
    """Leader at position 0, alone in the ISR; each follower is (LEO, when last caught up)."""
    built = Follower.of(name, n=1 + len(followers))
    built.leader.log_end_offset, built.leader.isr = LEO, 0b1
    for row, (leo, caught_up_at) in enumerate(followers, start=1):
        built.record[row].log_end_offset = leo
        built.record[row].last_caught_up_time = caught_up_at
        built.record[row].log_end_offset_time = caught_up_at
    return built


def high_watermark_of(built: Follower, eligible: int = 0b1111, min_isr: int = 1) -> int:
    """The next one."""
    return partition.next_high_watermark(built.rules, built.leader, eligible, min_isr, NOW, LAG)


@in_rule_sets
def test_next_high_watermark(name: str, row: Row) -> None:
    """What it waits for."""
    built = partition_of(name, *row.get("followers", ()))
    built.leader.high_watermark = row.get("before", 0)
    built.leader.isr = set_of(row.get("isr", [0]))
    if "joining" in row:
        built.leader.pending, built.leader.pending_isr = Pending.EXPAND, set_of(row["joining"])
    eligible = set_of(row.get("eligible", range(4)))
    assert high_watermark_of(built, eligible, row.get("min_isr", 1)) == row["hw"]


def test_the_leaders_row_is_unused() -> None:
    """What stands in the leader's own row means nothing."""
    built = partition_of("3.7-3.9")
    built.record.log_end_offset = 1
    assert high_watermark_of(built) == LEO


def test_records_begin_anywhere() -> None:
    """Those of an assignment are found where the leader says."""
    built = partition_of("3.7-3.9", (3, 100), (4, 100))
    built.leader.followers = built.record[1]
    built.leader.replication_factor = 2
    built.leader.isr = 0b11
    assert high_watermark_of(built) == 4


@in_rule_sets
def test_out_of_sync(name: str, row: Row) -> None:
    """Who leaves at the tick."""
    built = partition_of(name, *row["followers"])
    built.leader.isr = set_of(row.get("isr", [0]))
    assert partition.out_of_sync_mask(built.rules, built.leader, NOW, LAG, 4) == set_of(row["out"])


@pytest.mark.parametrize("name", NAMES)
def test_the_leader_is_never_out_of_sync(name: str) -> None:
    """The leader stays, whatever its own row says."""
    built = partition_of(name, (3, 0))
    built.leader.isr, built.leader.position = 0b11, 1
    assert partition.out_of_sync_mask(built.rules, built.leader, NOW, LAG, 4) & 0b10 == 0


@in_rule_sets
def test_joins(name: str, row: Row) -> None:
    """Who joins at a fetch."""
    built = partition_of(name, (row["leo"], row.get("caught_up_at", NEVER)))
    leader, rules = built.leader, built.rules
    leader.high_watermark, leader.epoch_start = 5, row.get("epoch_start", 0)
    leader.isr = set_of(row.get("isr", [0]))
    leader.pending = Pending[row.get("pending", "NONE")]
    if row.get("in_time_under_min_isr"):
        rules = replace(rules, expand_needs_lag=ExpandNeedsLag.UNDER_MIN_ISR)
    joins = partition.may_expand(
        rules, leader, 1, set_of(row.get("eligible", [1]))
    ) and partition.lag_lets_join(rules, leader, 1, row.get("min_isr", 1), NOW, LAG)
    assert joins is row["joins"]


@in_rule_sets
def test_alter_response(name: str, row: Row) -> None:
    """What a leader does with the controller's answer."""
    epochs = row.get("leader_epoch", 5), row.get("partition_epoch", 3)
    met = partition.alter_response(rules_of(name), AlterError[row["error"]], *epochs, 5, 3)
    assert met is Alter[row["decision"]]


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

    @pytest.mark.parametrize(("name", "effective"), [("3.3-3.6", 3), ("3.7-3.9", 2)])
    def test_capped(self, name: str, effective: int) -> None:
        """From 3.7 on min ISR is at most the replication factor."""
        assert partition.effective_min_isr(rules_of(name), 3, 2) == effective

    def test_cap_is_a_minimum(self) -> None:
        """A smaller setting stays."""
        assert partition.effective_min_isr(rules_of("3.7-3.9"), 1, 3) == 1


class TestTick:
    """The isr-expiration task."""

    @pytest.mark.parametrize("name", NAMES)
    def test_period(self, name: str) -> None:
        """The whole lag until 0.10.1, then half of it, rounded down."""
        period = 11 if name in NAMES[:2] else 5
        assert partition.tick_period(rules_of(name), 11) == period


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
