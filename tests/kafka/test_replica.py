"""A leader's record of a follower, release by release."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.kafka import replica
from isr_pipeline.kafka.releases import NEVER, NO_BROKER_EPOCH
from tests.kafka.records import MERGED, NAMES, Follower, in_rule_sets
from tests.tables import Row

WORDS = {"never": NEVER, "before never": replica.BEFORE_NEVER, "none": NO_BROKER_EPOCH}
"""What the table calls values that stand for none."""


def do(follower: Follower, step: dict[str, Any]) -> None:
    """One step of the table."""
    match step:
        case {"fetch": offset, "leader_leo": leader_leo, "t": t, **more}:
            follower.fetch(offset, leader_leo, t, **more)
        case {"reset": leo, "new_leader": new, "in_isr": in_isr, "t": t}:
            follower.reset(leo, new=new, in_isr=in_isr, now=t)
        case {"failed_read": True, "t": t}:
            replica.on_failed_read(follower.rules, follower.record, t)
        case {"broker_epoch": epoch}:
            replica.note_broker_epoch(follower.rules, follower.record, epoch)
        case _:
            pytest.fail(f"no step: {step}")


@in_rule_sets
def test_record(name: str, row: Row) -> None:
    """What stands in it after some steps, and who is out of sync or holds the high watermark."""
    follower = Follower.of(name, now=row.get("created", 0))
    for step in row.get("steps", ()):
        do(follower, step)
    expected = {field: WORDS.get(value, value) for field, value in row.get("record", {}).items()}
    assert {field: getattr(follower.record, field) for field in expected} == expected
    for look in row.get("out_of_sync", ()):
        assert follower.out(look["leader_leo"], look["t"]) is look["is"]
    for look in row.get("holds_high_watermark", ()):
        assert follower.holds_hw(look["leader_leo"], look["t"]) is look["is"]


class TestOnFetch:
    """What a good fetch writes."""

    @pytest.mark.parametrize("name", ["4485-doc", *MERGED])
    def test_previous_fetch_credit_never_goes_back(self, name: str) -> None:
        """Nor does the previous fetch's time."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100, end=300)
        follower.reset(10, new=False, in_isr=True, now=500)
        follower.record.last_fetch_time = 100
        follower.fetch(10, 20, 600)
        assert follower.caught_up_at == 500

    @pytest.mark.parametrize("name", NAMES)
    def test_offsets_and_times_are_taken(self, name: str) -> None:
        """LEO and the fetch's time are the fetch's own; the start is as the caller wrote it."""
        follower = Follower.of(name)
        follower.record.log_start_offset = 3
        replica.on_fetch(follower.rules, follower.record, 8, 100, 9, 120)
        taken = follower.record
        assert (taken.log_start_offset, taken.log_end_offset, taken.last_fetch_time) == (3, 8, 100)


class TestFailedRead:
    """What a failed read writes."""

    @pytest.mark.parametrize("name", NAMES[5:])
    def test_is_skipped_from_2_4(self, name: str) -> None:
        """KAFKA-8400: the record stays."""
        follower = Follower.of(name)
        follower.fetch(10, 10, 100)
        before = follower.record.memory.tolist()
        replica.on_failed_read(follower.rules, follower.record, 200)
        assert follower.record.memory.tolist() == before


class TestBrokerEpoch:
    """Fetches of an older incarnation of the follower's broker."""

    @pytest.mark.parametrize(
        ("epoch", "cached", "stale"),
        [(4, 5, True), (5, 5, False), (6, 5, False), (-1, 5, False), (NO_BROKER_EPOCH, 5, False)],
    )
    def test_stale_from_3_7(self, epoch: int, cached: int, stale: bool) -> None:
        """Older than the metadata's is refused; unknown is not."""
        assert replica.is_stale_fetch(Follower.of("3.7-3.9").rules, epoch, cached) is stale

    @pytest.mark.parametrize("name", NAMES[: NAMES.index("3.7-3.9")])
    def test_not_before(self, name: str) -> None:
        """Earlier releases do not look."""
        assert not replica.is_stale_fetch(Follower.of(name).rules, 4, 5)
