"""KRaft's controller dies, and brokers do or do not notice that their heartbeats go nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import at, fault, happened, world

DIES_MS, CONTROLLER_MS, SESSION_MS, HEARTBEAT_MS = 20000, 2500, 9000, 2000
KEYS = {
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": HEARTBEAT_MS,
    "replica.lag.time.max.ms": 30000,
}


def death(connections: str = "hang", **more: Any) -> dict[str, Any]:
    """Broker 4, which holds nothing, dies with the active controller."""
    return fault(
        "node_death",
        DIES_MS,
        **{"broker": 4, "controller_ms": CONTROLLER_MS, "connections": connections, **more},
    )


def kraft(*faults: dict[str, Any], release: str = "2.7-3.2", **more: Any) -> Result:
    """Brokers 1 to 3 hold the partition."""
    cluster = {"brokers": [1, 2, 3, 4]}
    keys = {**KEYS, **more.pop("config", {})}
    return world(*faults, release=release, config=keys, cluster=cluster, horizon_ms=90000, **more)


def fenced(result: Result) -> set[int]:
    """Who is fenced."""
    return {e["broker"] for e in result.events if e["kind"] == "broker_fenced"}


class TestHang:
    """The machine is gone."""

    def test_to_3_3_1_the_next_controller_fences_everybody(self) -> None:
        """Their heartbeats wait for 30 s, its sessions last 9 s."""
        result = kraft(death())
        assert fenced(result) == {1, 2, 3, 4}
        assert at(result, "partition_offline") == DIES_MS + CONTROLLER_MS + SESSION_MS

    def test_they_are_back_when_their_heartbeats_give_up(self) -> None:
        """30 s after the first that got no answer, and a back-off."""
        result = kraft(death())
        back = [t_ms for _, t_ms in happened(result, "broker_unfenced")]
        assert len(back) == 3
        least = DIES_MS + 30000 + 100
        assert least <= min(back) <= max(back) <= least + HEARTBEAT_MS + 10

    def test_each_waits_from_its_own_heartbeat_on(self) -> None:
        """Whose next heartbeat after the death comes later is back later."""
        result = kraft(death(), seed=2)
        times = sorted(t_ms for _, t_ms in happened(result, "broker_unfenced"))
        assert times[-1] - times[0] > 100

    @pytest.mark.parametrize("release", ["3.3-3.6", "3.7-3.9", "4.0", "4.1+"])
    def test_later_half_a_session_is_enough(self, release: str) -> None:
        """KAFKA-14392: they find the new controller in time."""
        assert fenced(kraft(death(), release=release)) == {4}

    def test_a_session_longer_than_the_wait_saves_them(self) -> None:
        """Nobody is fenced who is back within it."""
        keys = {"broker.session.timeout.ms": 32000}
        assert fenced(kraft(death(), config=keys)) == {4}

    def test_who_restarts_meanwhile_asks_the_new_controller(self) -> None:
        """A new process knows no old address."""
        result = kraft(death(), fault("crash", 22000, broker=2, restart_after_ms=12000))
        assert happened(result, "broker_unfenced")[0][1] < 36000

    def test_who_dies_meanwhile_is_fenced_all_the_same(self) -> None:
        """With a session so long that nobody else is."""
        keys = {"broker.session.timeout.ms": 32000}
        result = kraft(death(), fault("crash", 45000, broker=2), config=keys)
        assert fenced(result) == {2, 4}

    def test_zookeepers_sessions_are_no_controllers(self) -> None:
        """Brokers there talk to ZooKeeper."""
        result = kraft(death(), controller="zookeeper", release="2.7-3.2")
        assert fenced(result) == {4}


class TestClose:
    """Its process alone died."""

    def test_they_look_for_the_next_one_at_once(self) -> None:
        """Nobody is fenced but who died."""
        assert fenced(kraft(death("close"))) == {4}


def test_an_answer_takes_a_round_trip_at_least() -> None:
    """A controller without a delay: what it refuses is sent again and again, and time goes on."""
    cut = {"from": 3, "to": "controller", "drop": True, "both_ways": True}
    service = {"alter_partition_ms": 0, "network_rtt_ms": 2}
    back = kraft(fault("link", 2000, duration_ms=15000, **cut), release="4.1+", service=service)
    (returned,) = [one for one in back.events if one["kind"] == "isr_expand"]
    assert round(returned["t_ms"] - returned["decided_ms"], 3) == 2
