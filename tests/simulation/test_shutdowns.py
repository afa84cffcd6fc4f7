"""Controlled shutdowns: who has to know before a broker may go."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import at, fault, happened, world

FIRST_ASK_MS = 10000 + 30 + 50
"""The move is committed after 30 ms; 50 ms after that answer the broker asks again."""


def restart(**more: Any) -> dict[str, Any]:
    """Broker 1, which leads the partition, is asked to stop at 10 s."""
    return fault("controlled_restart", 10000, **{"broker": 1, "downtime_ms": 20000, **more})


def kraft(*faults: dict[str, Any], **more: Any) -> Result:
    """A world of KRaft whose fence ends a session: one fence each."""
    return world(*faults, release="3.7+", **more)


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

    def test_a_hanging_broker_holds_it_up(self) -> None:
        """No heartbeat of broker 2 for 6 s: the next after them is the first that counts."""
        keys = {"broker.session.timeout.ms": 9000}
        pause = fault("pause", 9900, broker=2, duration_ms=6000)
        result = kraft(pause, restart(), config=keys)
        assert 15900 <= at(result, "broker_fenced") <= 15900 + 500 + 80

    def test_a_dead_broker_holds_it_up_until_it_is_fenced(self) -> None:
        """Its session of 3 s has to end first."""
        result = kraft(fault("crash", 9900, broker=2), restart())
        (_, dead), (_, stopped) = happened(result, "broker_fenced")
        assert 12400 <= dead <= 12900
        assert dead <= stopped <= dead + 500

    def test_metadata_that_arrive_late_hold_it_up(self) -> None:
        """Broker 2 hears of the move only when its link lets it: 4 s later."""
        cut = fault("link", 9900, from_="controller", to=2, drop=True, duration_ms=4100)
        result = kraft(cut, restart())
        assert 14000 < at(result, "broker_fenced") < 14000 + 30 + 500 + 500

    def test_a_new_controller_lets_it_go(self) -> None:
        """It knows of no move that anybody would have to know of."""
        keys = {"broker.session.timeout.ms": 60000, "broker.heartbeat.interval.ms": 500}
        result = kraft(
            fault("pause", 9900, broker=2, duration_ms=40000),
            restart(),
            fault("controller_outage", 15000, duration_ms=2000),
            config=keys,
        )
        assert at(result, "broker_fenced") == pytest.approx(17000, abs=0.01)

    def test_what_is_left_of_the_shutdown_comes_after_the_leave(self) -> None:
        """Its process ends `shutdown_ms` later, so it cannot be back before that."""
        result = kraft(restart(downtime_ms=1000, shutdown_ms=1000))
        back = at(result, "broker_fenced") + 1000
        assert back + 2 <= at(result, "broker_unfenced") <= back + 6

    def test_after_five_minutes_it_stops_without_leave(self) -> None:
        """Nobody fences it but the end of its session."""
        keys = {"broker.session.timeout.ms": 600000, "broker.heartbeat.interval.ms": 500}
        result = kraft(
            fault("pause", 9900, broker=2, duration_ms=500000),
            restart(downtime_ms=900000, shutdown_ms=1000),
            config=keys,
            horizon_ms=1000000,
        )
        fenced = at(result, "broker_fenced")
        assert 910000 - 500 <= fenced <= 910000

    def test_a_kill_while_it_waits_leaves_a_session_behind(self) -> None:
        """It never got its leave: fenced when its session is over, 3 s after its last heartbeat."""
        keys = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}
        pause = fault("pause", 9900, broker=2, duration_ms=1500)
        kill = fault("crash", 10300, broker=1)
        result = kraft(pause, restart(), kill, config=keys)
        assert 12800 <= at(result, "broker_fenced") <= 13300


class TestZooKeeper:
    """The controller's answer is enough."""

    def test_it_stops_shutdown_ms_after_its_start(self) -> None:
        """Moved at once, fenced as its session closes."""
        result = world(restart(), controller="zookeeper")
        assert happened(result)[:3] == [
            ("controller_isr_remove", 10000),
            ("leader_elected", 10000),
            ("broker_fenced", 11000),
        ]
