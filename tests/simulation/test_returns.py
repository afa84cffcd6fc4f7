"""Brokers that are back before their old session is over."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import at, fault, happened, world

MOVE = ["broker_fenced", "controller_isr_remove", "leader_elected"]
LONG = {"broker.session.timeout.ms": 20000, "broker.heartbeat.interval.ms": 2000}
BACK = fault("crash", 10000, broker=1, restart_after_ms=2000)


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
        result = world(BACK, config=LONG, release="3.7+")
        assert at(result, "broker_fenced") < 37500
        assert 2 <= at(result, "broker_unfenced") - (12000 + 25500) <= 6

    def test_a_return_after_the_session_is_let_in_at_once(self) -> None:
        """Nothing stands against it."""
        result = world(fault("crash", 10000, broker=1, restart_after_ms=21000), config=LONG)
        assert 2 <= at(result, "broker_unfenced") - 31000 <= 6

    def test_a_new_controller_begins_the_session_anew(self) -> None:
        """Back in the outage of a controller that lost its clock: refused for one session more."""
        outage = fault("controller_outage", 10500, duration_ms=5000)
        result = world(BACK, outage, config=LONG, release="3.7+")
        assert at(result, "broker_fenced") == 35500

    def test_a_second_kill_in_between_counts(self) -> None:
        """The later return wins, and its tries begin anew."""
        again = fault("crash", 15000, broker=1, restart_after_ms=30500)
        result = world(BACK, again, config=LONG)
        assert 2 <= at(result, "broker_unfenced") - 45500 <= 6

    def test_a_partition_has_no_leader_for_the_session(self) -> None:
        """Produce stands still from the kill to the election, not to the return."""
        result = world(BACK, config=LONG)
        dead = at(result, "leader_elected") - 10000
        assert dead > 18000
        assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead / 60000)


class TestCleanRestart:
    """A broker that stopped in order: its session runs on from 4.0 on (KAFKA-19047)."""

    RESTART = fault("controlled_restart", 10000, broker=1, downtime_ms=1000, shutdown_ms=0)

    @pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7+"])
    def test_to_3_9_it_is_let_in_at_once(self, release: str) -> None:
        """The fence at its leave ended the session."""
        result = world(self.RESTART, release=release)
        assert 2 <= at(result, "broker_unfenced") - 11000 <= 6
        assert len(happened(result, "broker_fenced")) == 1

    @pytest.mark.parametrize("seed", range(1, 5))
    def test_from_4_1_on_it_waits_the_session_out(self, seed: int) -> None:
        """Refused at 11.0, 11.5, ... until the heartbeat that gave it leave is 3 s ago."""
        result = world(self.RESTART, seed=seed)
        over = happened(result, "broker_fenced")[0][1] + 3000
        tries = -(-(over - 11000) // 500)
        assert 2 <= at(result, "broker_unfenced") - (11000 + tries * 500) <= 6

    def test_4_0_doubles_its_wait(self) -> None:
        """Tries 0.1, 0.3, 0.7, 1.5 s after the first, and half a session later: 3 s."""
        result = world(self.RESTART, release="4.0")
        assert 2 <= at(result, "broker_unfenced") - (11000 + 3000) <= 6

    @pytest.mark.parametrize("release", ["4.0", "4.1+"])
    def test_it_is_fenced_once_more_when_the_session_ends(self, release: str) -> None:
        """At the first look behind its end, where it is not back before."""
        longer = {**self.RESTART, "downtime_ms": 10000}
        result = world(longer, release=release)
        (_, left), (_, again) = happened(result, "broker_fenced")
        assert 3000 < again - left <= 3375

    def test_a_resumed_life_is_let_in_after_the_session(self) -> None:
        """Down for longer than that: nothing stands against it."""
        longer = {**self.RESTART, "downtime_ms": 10000}
        assert 2 <= at(world(longer), "broker_unfenced") - 20000 <= 6

    @pytest.mark.parametrize(("release", "wait_ms"), [("3.7+", 0), ("4.0", 3000), ("4.1+", 0)])
    def test_a_new_controller_of_4_0_gives_the_fenced_a_session(
        self, release: str, wait_ms: float
    ) -> None:
        """Dead and fenced long ago, back right after the new controller (KAFKA-19130)."""
        dead = fault("crash", 10000, broker=1, restart_after_ms=23000)
        outage = fault("controller_outage", 30000, duration_ms=2500)
        result = world(dead, outage, release=release)
        assert 2 <= at(result, "broker_unfenced") - (33000 + wait_ms) <= 6


class TestZooKeeper:
    """The start fails on the old session's znode."""

    SESSION = {"zookeeper.session.timeout.ms": 18000}  # noqa: RUF012 - a constant of the tests

    def test_the_supervisors_interval_decides_when_it_is_in(self) -> None:
        """Tries at 12, 15, 18, ... s: the first after the session's end registers."""
        back = fault("crash", 10000, broker=1, restart_after_ms=2000, retry_ms=3000)
        result = world(back, config=self.SESSION, controller="zookeeper")
        waited = -(-(at(result, "broker_fenced") - 12000) // 3000) * 3000
        assert 2 <= at(result, "broker_unfenced") - (12000 + waited) <= 6

    def test_without_a_supervisor_it_stays_away(self) -> None:
        """`retry_ms: null`: the refused start was the last."""
        back = fault("crash", 10000, broker=1, restart_after_ms=2000, retry_ms=None)
        result = world(back, config=self.SESSION, controller="zookeeper")
        assert [kind for kind, _ in happened(result)] == MOVE

    def test_0_8_2_waits_a_session_whatever_supervises_it(self) -> None:
        """Its own process tries again."""
        back = fault("crash", 10000, broker=1, restart_after_ms=2000, retry_ms=None)
        result = world(back, config=self.SESSION, controller="zookeeper", release="0.8.2")
        assert 2 <= at(result, "broker_unfenced") - 30000 <= 6

    def test_a_controlled_restart_finds_no_znode(self) -> None:
        """It closed its session: back within what would have been left of it."""
        restart = fault("controlled_restart", 10000, broker=1, downtime_ms=3000)
        result = world(restart, config=self.SESSION, controller="zookeeper")
        assert 2 <= at(result, "broker_unfenced") - 13000 <= 6


class TestLoading:
    """A broker's way back grows with its partitions: `restart_load_us` of each."""

    def back(self, controller: str, **more: Any) -> Result:
        """Broker 1, which holds 500 partitions, is back long after its session."""
        crash = fault("crash", 5000, broker=1, restart_after_ms=25000, restart_load_us=1300, **more)
        return world(crash, partitions=500, produce=(), controller=controller)

    @pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
    def test_half_a_thousand_partitions_take_650_ms_more(self, controller: str) -> None:
        """1.3 ms each, before it counts as alive again."""
        assert 30652 <= at(self.back(controller), "broker_unfenced") <= 30656

    def test_kraft_ends_the_old_session_before_it_loads(self) -> None:
        """Registered at the first try after the session: the fence does not wait for the logs."""
        crash = fault("crash", 10000, broker=1, restart_after_ms=2000, restart_load_us=10000)
        result = world(crash, partitions=500, produce=())
        tried = -(-(at(result, "broker_fenced") - 12000) // 500) * 500 + 12000
        assert tried + 5002 <= at(result, "broker_unfenced") <= tried + 5006

    def test_under_zookeeper_each_start_loads_anew(self) -> None:
        """Refused at 13 s after a second of loading; 3 s later the next process loads as long."""
        crash = fault(
            "crash", 10000, broker=1, restart_after_ms=2000, retry_ms=3000, restart_load_us=2000
        )
        session = {"zookeeper.session.timeout.ms": 4500}
        result = world(crash, partitions=500, produce=(), controller="zookeeper", config=session)
        assert 17002 <= at(result, "broker_unfenced") <= 17006

    def test_a_controlled_restart_loads_as_well(self) -> None:
        """Down for 10 s, then 650 ms of loading."""
        restart = fault(
            "controlled_restart", 10000, broker=3, downtime_ms=10000, restart_load_us=1300
        )
        result = world(restart, partitions=500, produce=())
        assert 20652 <= at(result, "broker_unfenced") <= 20656
