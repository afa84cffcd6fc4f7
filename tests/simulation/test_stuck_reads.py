"""A stuck read holds more than its own partition: metadata and answers that come behind it."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import ACKS_ALL, fault, happened, world

PATIENT = {"replica.lag.time.max.ms": 60000, "num.replica.fetchers": 2}
"""No tick wants anything, and the two partitions are fetched by a thread each."""


def stall(partition: int = 0, **more: Any) -> dict[str, Any]:
    """A read of one partition on broker 1, from 10 s to 40 s."""
    names = {"partitions": [f"t-{partition}"], "duration_ms": 30000}
    return fault("read_stall", 10000, **{"broker": 1, **names, **more})


class TestMetadata:
    """One thread applies the records in order, each under its partition's lock."""

    def run(self, lock: str, stuck: int = 0) -> Result:
        """Broker 3 dies at 12 s: both of broker 1's partitions get a record."""
        return world(
            stall(stuck, reads="visits"),
            fault("crash", 12000, broker=3),
            config=PATIENT,
            rules={"isr_lock": lock},
            partitions=2,
            produce=({**ACKS_ALL, "partitions": [1 - stuck]},),
        )

    @pytest.mark.parametrize("lock", ["rw_precheck", "rw_always"])
    def test_the_neighbours_leader_does_not_hear_of_its_new_isr(self, lock: str) -> None:
        """t-1 waits for the dead replica until the read of t-0 is over, 28 s after the kill."""
        latency = self.run(lock).outcome["commit_latency_max_ms"]
        assert 27900 < latency < 28200

    def test_without_the_lock_it_hears_at_once(self) -> None:
        """The session's 3 s and the metadata's way."""
        assert self.run("none").outcome["commit_latency_max_ms"] < 3100

    def test_what_comes_before_it_is_applied(self) -> None:
        """The record of t-0 stands before that of the stuck t-1: only t-1 waits."""
        assert self.run("rw_precheck", stuck=1).outcome["commit_latency_max_ms"] < 3100

    def test_a_stuck_broker_holds_up_anothers_shutdown(self) -> None:
        """Broker 1 cannot report what it has not applied: 3 may go when the read is over."""
        result = world(
            stall(),
            fault("preferred_election", 11000, topic="t", partition=1, leader=3),
            fault("controlled_restart", 12000, broker=3, downtime_ms=40000),
            config=PATIENT,
            partitions=2,
            release="3.7-3.9",
        )
        ((_, fenced),) = happened(result, "broker_fenced")
        assert 40000 < fenced < 41200


class TestAnswers:
    """One AlterPartition is out at a time, and its answer is taken partition by partition."""

    def resigned(self, lock: str) -> Result:
        """Solution 2: two reads of broker 1 hang, the second partition's from 12 s on."""
        second = fault("read_stall", 12000, broker=1, partitions=["t-1"], duration_ms=28000)
        return world(
            stall(),
            second,
            config={**PATIENT, "follower.fetch.pending.reads.insync.enable": True},
            rules={"kip501": "s2", "election": "isr_order", "isr_lock": lock},
            partitions=2,
        )

    def test_the_resigned_leader_is_replaced_in_time(self) -> None:
        """The controller decides when it is asked; the new leader does not wait for the old."""
        (_, first), *_ = happened(self.resigned("rw_precheck"), "leader_elected")
        assert 10500 < first < 10700

    def test_the_next_resignation_waits_for_the_first_read(self) -> None:
        """The answer to the first cannot be taken before 40 s, and holds the channel until then."""
        result = self.resigned("rw_precheck")
        assert [12500 < t < 12700 for _, t in happened(result, "leader_resigned")][:2] == [
            False,
            True,
        ]
        assert happened(result, "leader_elected")[1][1] > 40000

    def test_without_the_lock_it_does_not(self) -> None:
        """KIP-501's own picture."""
        assert happened(self.resigned("none"), "leader_elected")[1][1] < 12700


def test_a_tick_that_met_an_isr_write_goes_on_after_it() -> None:
    """Up to 2.6 a follower's return writes under the lock; a tick that came then is not lost."""
    result = world(
        fault("pause", 10000, broker=3, duration_ms=8000),
        fault("pause", 30000, broker=3, duration_ms=8000),
        release="2.1-2.6",
        controller="zookeeper",
        config={"zookeeper.session.timeout.ms": 30000},
        service={"isr_zk_write_ms": 2500, "client_requests_per_s": 0},
    )
    shrinks = [t for _, t in happened(result, "isr_shrink")]
    assert any(t > 30000 for t in shrinks)
