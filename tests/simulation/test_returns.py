"""Brokers that are back before their old session is over."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import at, fault, happened, hold, in_worlds, world
from tests.tables import Row

MOVE = ["broker_fenced", "controller_isr_remove", "leader_elected"]
LONG = {"broker.session.timeout.ms": 20000, "broker.heartbeat.interval.ms": 2000}
BACK = fault("crash", 10000, broker=1, restart_after_ms=2000)


@in_worlds
def test_world(row: Row) -> None:
    """Who is let in, and when."""
    hold(row)


class TestKRaft:
    """DUPLICATE_BROKER_REGISTRATION until the session has ended."""

    @pytest.mark.parametrize("seed", range(1, 5))
    def test_a_quick_return_changes_nothing_before_the_sessions_end(self, seed: int) -> None:
        """Fenced a session after its last heartbeat, though its process is back after 2 s."""
        result = world(BACK, config=LONG, seed=seed)
        assert [kind for kind, _ in happened(result)[:3]] == MOVE
        assert 28000 <= at(result, "broker_fenced") <= 30000

    def test_from_4_1_on_it_is_in_at_the_next_heartbeat_interval(self) -> None:
        """Its tries come every 2 s from 12 s on; the first after the session's end succeeds."""
        result = world(BACK, config=LONG)
        waited = -(-(at(result, "broker_fenced") - 12000) // 2000) * 2000
        assert 2 <= at(result, "broker_unfenced") - (12000 + waited) <= 6

    def test_to_3_9_1_its_tries_are_further_and_further_apart(self) -> None:
        """Tries 0.1, 0.3, 0.7, ... 12.7 s after the first; the next waits for 12.8 s."""
        result = world(BACK, config=LONG, release="3.7-3.9")
        assert at(result, "broker_fenced") < 37500
        assert 2 <= at(result, "broker_unfenced") - (12000 + 25500) <= 6

    def test_a_partition_has_no_leader_for_the_session(self) -> None:
        """Produce stands still from the kill to the election, not to the return."""
        result = world(BACK, config=LONG)
        dead = at(result, "leader_elected") - 10000
        assert dead > 18000
        assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead / 60000)


class TestCleanRestart:
    """A broker that stopped in order: its session runs on from 4.0 on (KAFKA-19047)."""

    RESTART = fault("controlled_restart", 10000, broker=1, downtime_ms=1000, shutdown_ms=0)

    @pytest.mark.parametrize("seed", range(1, 5))
    def test_from_4_1_on_it_waits_the_session_out(self, seed: int) -> None:
        """Refused at 11.0, 11.5, ... until the heartbeat that gave it leave is 3 s ago."""
        result = world(self.RESTART, seed=seed)
        over = happened(result, "broker_fenced")[0][1] + 3000
        tries = -(-(over - 11000) // 500)
        assert 2 <= at(result, "broker_unfenced") - (11000 + tries * 500) <= 6

    @pytest.mark.parametrize("release", ["4.0", "4.1+"])
    def test_it_is_fenced_once_more_when_the_session_ends(self, release: str) -> None:
        """At the first look behind its end, where it is not back before."""
        longer = {**self.RESTART, "downtime_ms": 10000}
        result = world(longer, release=release)
        (_, left), (_, again) = happened(result, "broker_fenced")
        assert 3000 < again - left <= 3375


class TestZooKeeper:
    """The start fails on the old session's znode."""

    SESSION = {"zookeeper.session.timeout.ms": 18000}  # noqa: RUF012 - a constant of the tests

    def test_the_supervisors_interval_decides_when_it_is_in(self) -> None:
        """Tries at 12, 15, 18, ... s: the first after the session's end registers."""
        back = fault("crash", 10000, broker=1, restart_after_ms=2000, retry_ms=3000)
        result = world(back, config=self.SESSION, controller="zookeeper")
        waited = -(-(at(result, "broker_fenced") - 12000) // 3000) * 3000
        assert 2 <= at(result, "broker_unfenced") - (12000 + waited) <= 6


class TestLoading:
    """A broker's way back grows with its partitions: `restart_load_us` of each."""

    def back(self, controller: str, **more: Any) -> Result:
        """Broker 1, which holds 500 partitions, is back long after its session."""
        crash = fault("crash", 5000, broker=1, restart_after_ms=25000, restart_load_us=1300, **more)
        return world(crash, partitions=500, produce=(), controller=controller)

    def test_kraft_ends_the_old_session_before_it_loads(self) -> None:
        """Registered at the first try after the session: the fence does not wait for the logs."""
        crash = fault("crash", 10000, broker=1, restart_after_ms=2000, restart_load_us=10000)
        result = world(crash, partitions=500, produce=())
        tried = -(-(at(result, "broker_fenced") - 12000) // 500) * 500 + 12000
        assert tried + 5002 <= at(result, "broker_unfenced") <= tried + 5006
