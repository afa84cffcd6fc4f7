"""A leader whose disk is slow: who waits for an append to its log."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.run import Result, run
from tests.simulation.test_cycles import differences

BEGIN_MS, END_MS = 10000, 30000


def made(
    connections: int, *, role: str = "leader", record_bytes: int = 1000, **config: Any
) -> Scenario:
    """Topic slow, whose appends on broker 1 take half a second, and topic quick beside it."""
    load = {"records_per_s": 1000, "records_per_batch": 10, "record_bytes": record_bytes}
    acks: tuple[Any, Any] = (1, "all")
    return parse_scenario(
        {
            "scenario_id": "slow-leader",
            "warmup_ms": 0,
            "horizon_ms": 40000,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": [1, 2, 3],
                "replication_listener": True,
            },
            "topics": [
                {
                    "name": "slow",
                    "assignment": {0: [1, 2, 3]},
                    "produce": [{**load, "acks": acks[i % 2]} for i in range(connections)],
                },
                {"name": "quick", "assignment": {0: [1, 2, 3]}, "produce": [{**load, "acks": 1}]},
            ],
            "config": {"replica.lag.time.max.ms": 4000, **config},
            "faults": [
                {
                    "kind": "slow_append",
                    "broker": 1,
                    "role": role,
                    "append_ms": 500,
                    "partitions": ["slow-0"],
                    "start_ms": BEGIN_MS,
                    "duration_ms": END_MS - BEGIN_MS,
                }
            ],
        },
        "slow-leader",
    )


def ran(connections: int, **more: Any) -> Result:
    """What becomes of it."""
    return run(made(connections, **more), events=True)


def left(found: Result, topic: str) -> int:
    """How many followers a topic's partition lost."""
    return sum(one["kind"] == "isr_shrink" and one["topic"] == topic for one in found.events)


@cache
def over_a_slow_dir(connections: int) -> Result:
    """Two partitions on a log dir that takes half a second an append, and two on another.

    As on the recorded brokers, whose disk wrote 2 MB/s and was offered 8. A fault's append takes as
    long for a byte as for a megabyte. So here nobody appends little records to the slow dir, and
    what gathers in half a second fits into a fetch.
    """
    pace = {"records_per_s": 80 / connections, "records_per_batch": 10, "record_bytes": 5000}
    offered = [{**pace, "acks": 1}] * connections
    assignment = {0: [1, 2, 3], 1: [1, 2, 3]}
    healthy: list[dict[str, Any]] = [
        {"records_per_s": 10, "records_per_batch": 1, "record_bytes": 25000, "acks": 1},
        {"records_per_s": 5, "records_per_batch": 1, "record_bytes": 100, "acks": "all"},
    ]
    raw = made(connections).model_dump(mode="json", by_alias=True, exclude_unset=True)
    raw["topics"] = [
        {"name": "slow", "assignment": assignment, "produce": offered},
        {"name": "quick", "assignment": assignment, "produce": healthy},
    ]
    raw["faults"][0]["partitions"] = ["slow-0", "slow-1"]
    return run(parse_scenario(raw, "slow-dir"), events=True)


class TestRecorded:
    """A leader's disk of 2 MB/s, recorded over 1, 4 and 16 connections [R 2.4.1, 3.9.1, 4.3.1]."""

    def test_one_connection_drives_nobody_out(self) -> None:
        """Its next append comes when the log has been free."""
        assert over_a_slow_dir(1).events == []

    @pytest.mark.parametrize("connections", [4, 16])
    def test_more_drive_all_out_after_six_to_twelve_seconds(self, connections: int) -> None:
        """Both partitions of the slow dir have their leader alone then."""
        shrinks = [
            one
            for one in over_a_slow_dir(connections).events
            if one["kind"] == "isr_shrink" and one["topic"] == "slow"
        ]
        alone = [one["t_ms"] - BEGIN_MS for one in shrinks if one["isr"] == [1]]
        assert len(alone) == 2
        assert 5500 <= alone[0] <= alone[1] <= 12_500

    @pytest.mark.parametrize("connections", [4, 16])
    def test_and_of_partitions_on_the_healthy_dir(self, connections: int) -> None:
        """Their followers ask for both in one request, and are back with the disk."""
        events = over_a_slow_dir(connections).events
        quick = [one for one in events if one["topic"] == "quick"]
        assert {one["partition"] for one in quick if one["kind"] == "isr_shrink"} == {0, 1}
        assert [one["isr"] for one in quick if one["t_ms"] > END_MS][-1] == [1, 2, 3]


class TestFollowers:
    """Healthy followers of a leader with a slow disk [R 3.9.1, 4.3.1, 2.4.1]."""

    def test_all_leave_with_four_connections(self) -> None:
        """Each fetch that has moved waits for the appends that it finds, and falls behind."""
        found = ran(4)
        isr = [one["isr"] for one in found.events if one["kind"] == "isr_shrink"]
        assert isr[-1] == [1]

    def test_all_stay_with_one(self) -> None:
        """Between two appends the log is free."""
        assert ran(1).events == []

    def test_are_back_with_the_disk(self) -> None:
        """They had nothing."""
        back = [one for one in ran(4).events if one["kind"] == "isr_expand"]
        assert {one["topic"]: one["isr"] for one in back}["slow"] == [1, 2, 3]
        assert all(one["t_ms"] > END_MS for one in back if one["topic"] == "slow")

    def test_leave_another_partition_too(self) -> None:
        """The request of a follower names both, and waits with the first."""
        assert left(ran(16), "quick") > 0

    def test_leave_without_a_fault_of_their_own(self) -> None:
        """The removal of two from either partition is spurious."""
        assert ran(4).outcome["spurious_shrinks"] == 4

    def test_stay_if_only_appends_of_followers_are_slow(self) -> None:
        """The default of a fault that says nothing."""
        assert ran(4, role="follower").events == []


def apart(raw: dict[str, Any], *, produce: list[dict[str, Any]], **config: Any) -> Result:
    """Broker 2 follows slow, broker 3 follows quick, whose producer alone waits for all."""
    slow, quick = raw["topics"]
    slow.update(assignment={0: [1, 2]}, produce=produce)
    quick.update(assignment={0: [1, 3]}, produce=[{**quick["produce"][0], "acks": "all"}])
    raw["config"].update(config)
    return run(parse_scenario(raw, "apart"), events=True)


ONE = {"records_per_s": 100, "records_per_batch": 1, "record_bytes": 100, "acks": 1}
"""A stream of little records."""


class TestWaits:
    """What an append to the log holds up."""

    def raw(self) -> dict[str, Any]:
        """The world as it stands in a file."""
        return made(1).model_dump(mode="json", by_alias=True, exclude_unset=True)

    def test_a_fetch_waits_for_all_appends_that_it_finds(self) -> None:
        """Of six at once the second is in the log after 1 s, and is committed with the last."""
        at_once = {**ONE, "records_per_s": 10, "start_ms": 20_000, "duration_ms": 100}
        found = apart(self.raw(), produce=[at_once] * 6)
        assert found.outcome["commit_latency_max_ms"] == pytest.approx(2000, abs=150)

    @pytest.mark.parametrize(("threads", "held"), [(1, True), (2, False)])
    def test_who_shares_the_network_thread_waits(self, threads: int, held: bool) -> None:
        """A send of the log waits for its write; broker 3 follows nothing slow."""
        found = apart(self.raw(), produce=[ONE] * 4, **{"num.network.threads": threads})
        latency = found.outcome["produce_latency_acks_all_p99_ms"]
        assert latency > 200 if held else latency < 20


class TestProducers:
    """What the leader's handlers do meanwhile."""

    @pytest.mark.parametrize(("connections", "longest_ms"), [(1, 500), (4, 2000)])
    def test_appends_of_a_log_come_one_after_the_other(
        self, connections: int, longest_ms: int
    ) -> None:
        """A batch waits for the request that is out, and then for its own."""
        found = ran(connections, record_bytes=100)
        longest = found.outcome["produce_latency_acks_1_p99_ms"]
        assert longest_ms <= longest <= 2.2 * longest_ms

    def test_handlers_run_out(self) -> None:
        """Then another partition's producers wait as well (KAFKA-15046)."""
        few = ran(4, **{"num.io.threads": 2})
        assert few.outcome["produce_latency_acks_1_p99_ms"] > 2000


class TestJumps:
    """Stretches with slow appends repeat as well."""

    @pytest.mark.parametrize("connections", [1, 4])
    def test_are_exact(self, connections: int) -> None:
        """With jumps and without."""
        assert differences(made(connections, role="both")) == []
