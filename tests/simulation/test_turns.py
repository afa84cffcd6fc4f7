"""Who gets the bytes of an answer that cannot hold all."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.run import Result, run
from tests.scenario import one_topic_scenario
from tests.simulation.test_cycles import differences

PARTITIONS = 8
LOAD = {"records_per_s": 100, "records_per_batch": 10, "record_bytes": 1000, "acks": 1}


def made(**more: Any) -> Scenario:
    """Eight partitions, 80 batches a second; a follower that appends 50 times a second.

    An append takes 20 ms, however large it is; an answer holds seven batches.
    """
    scenario = {
        "horizon_ms": 30000,
        "cluster": {
            "brokers": [1, 2],
            "broker_service": {2: {"append_us": 20000}},
            **more.get("cluster", {}),
        },
        "config": {
            "replica.lag.time.max.ms": 5000,
            "replica.fetch.response.max.bytes": 70000,
            **more.get("config", {}),
        },
    }
    topic = {"assignment": {p: [1, 2] for p in range(PARTITIONS)}, "produce": [LOAD]}
    return one_topic_scenario(topic, **scenario)


def ran(**more: Any) -> Result:
    """What becomes of it."""
    return run(made(**more), events=True)


def left(found: Result) -> set[int]:
    """Partitions that the follower left."""
    return {one["partition"] for one in found.events if one["kind"] == "isr_shrink"}


class TestTurns:
    """A load that the follower sustains if each partition gets its turn."""

    def test_nobody_leaves(self) -> None:
        """The first partitions alone would have every answer's bytes."""
        assert left(ran()) == set()

    @pytest.mark.parametrize("release", ["0.10.2-2.0", "2.1-2.6"])
    def test_of_every_release_with_a_bound(self, release: str) -> None:
        """The follower's thread has the order, and from 1.1 on the leader's session."""
        cluster = {"release": release, "controller": "zookeeper"}
        assert left(ran(cluster=cluster)) == set()

    def test_all_may_be_behind(self) -> None:
        """Where the load is more than all turns can take, nobody is spared."""
        slow = {"broker_service": {2: {"append_us": 400_000}}}
        assert left(ran(cluster=slow)) == set(range(PARTITIONS))

    def test_jumps_are_exact(self) -> None:
        """An order that has changed within a period is no repetition."""
        scenario = made()
        assert differences(scenario) == []


class TestOversizedBatch:
    """A batch above replica.fetch.max.bytes."""

    @pytest.mark.parametrize(
        ("release", "shrinks"),
        [("own (0.10.2-2.0 with response_limit=false)", 1), ("0.10.2-2.0", 0)],
    )
    def test_stops_replication_to_0_10_0(self, release: str, shrinks: int) -> None:
        """A part of it is read again and again; from 0.10.1 on the first batch is whole."""
        big = {"records_per_s": 1, "records_per_batch": 1, "record_bytes": 2_000_000, "acks": 1}
        scenario = one_topic_scenario(
            {"assignment": {0: [1, 2]}, "produce": [big]},
            horizon_ms=30000,
            cluster={"brokers": [1, 2], "release": release, "controller": "zookeeper"},
            config={"replica.lag.time.max.ms": 10000, "replica.fetch.max.bytes": 1_048_576},
        )
        found = run(scenario, events=True)
        assert [one["kind"] for one in found.events] == ["isr_shrink"] * shrinks
