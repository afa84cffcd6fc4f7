"""Controlled shutdowns: who has to know before a broker may go."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import at, fault, happened, hold, in_worlds, world
from tests.tables import Row

FIRST_ASK_MS = 10000 + 30 + 50
"""The move is committed after 30 ms; 50 ms after that answer the broker asks again."""


def restart(**more: Any) -> dict[str, Any]:
    """Broker 1, which leads the partition, is asked to stop at 10 s."""
    return fault("controlled_restart", 10000, **{"broker": 1, "downtime_ms": 20000, **more})


def kraft(*faults: dict[str, Any], **more: Any) -> Result:
    """A world of KRaft whose fence ends a session: one fence each."""
    return world(*faults, release="3.7-3.9", **more)


@in_worlds
def test_world(row: Row) -> None:
    """When its leave comes."""
    hold(row)


class TestKRaft:
    """The others' heartbeats decide."""

    @pytest.mark.parametrize("interval_ms", [500, 2000, 5000])
    @pytest.mark.parametrize("seed", range(1, 4))
    def test_leave_comes_a_heartbeat_interval_after_the_move(
        self, interval_ms: int, seed: int
    ) -> None:
        """Leads and ISRs move at once; the fence waits until both others have sent a heartbeat."""
        keys = {
            "broker.heartbeat.interval.ms": interval_ms,
            "broker.session.timeout.ms": 4 * interval_ms,
        }
        result = kraft(restart(), config=keys, seed=seed)
        assert happened(result)[:2] == [("controller_isr_remove", 10000), ("leader_elected", 10000)]
        assert at(result, "broker_fenced") in (FIRST_ASK_MS, FIRST_ASK_MS + interval_ms)
        assert 30002 <= at(result, "broker_unfenced") <= 30006

    def test_at_the_default_interval_it_is_2_seconds_as_a_rule(self) -> None:
        """Both others' heartbeats would have to come within 80 ms for less."""
        keys = {"broker.heartbeat.interval.ms": 2000, "broker.session.timeout.ms": 9000}
        waits = [at(kraft(restart(), config=keys, seed=s), "broker_fenced") for s in range(1, 9)]
        assert sorted(waits)[4] == FIRST_ASK_MS + 2000

    def test_a_broker_that_leads_nothing_may_go_at_once(self) -> None:
        """Fenced at its first request."""
        result = kraft(restart(broker=3))
        assert happened(result)[:2] == [("broker_fenced", 10000), ("controller_isr_remove", 10000)]

    def test_it_leaves_the_isrs_of_others_with_its_leads(self) -> None:
        """Broker 2 leads t-1: one change takes broker 1 out of both, long before its fence."""
        moved = fault("preferred_election", 5000, topic="t", partition=1, leader=2)
        result = kraft(moved, restart(), partitions=2)
        removed = [e for e in result.events if e["kind"] == "controller_isr_remove"]
        assert {(e["partition"], e["t_ms"]) for e in removed} == {(0, 10000), (1, 10000)}

    def test_a_dead_broker_holds_it_up_until_it_is_fenced(self) -> None:
        """Its session of 3 s has to end first."""
        result = kraft(fault("crash", 9900, broker=2), restart())
        (_, dead), (_, stopped) = happened(result, "broker_fenced")
        assert 12400 <= dead <= 12900
        assert dead <= stopped <= dead + 500

    def test_what_is_left_of_the_shutdown_comes_after_the_leave(self) -> None:
        """Its process ends `shutdown_ms` later, so it cannot be back before that."""
        result = kraft(restart(downtime_ms=1000, shutdown_ms=1000))
        back = at(result, "broker_fenced") + 1000
        assert back + 2 <= at(result, "broker_unfenced") <= back + 6


class TestZooKeeper:
    """The controller's answer is enough."""

    def test_it_stops_shutdown_ms_after_its_start(self) -> None:
        """Moved at once, fenced as its session closes."""
        at_once = {"zk_op_ms": 0, "client_requests_per_s": 0}
        result = world(restart(), controller="zookeeper", service=at_once)
        assert happened(result)[:3] == [
            ("controller_isr_remove", 10000),
            ("leader_elected", 10000),
            ("broker_fenced", 11000),
        ]
