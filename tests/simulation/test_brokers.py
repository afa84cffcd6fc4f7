"""Brokers that die, stop, pause, lose a disk or their controller."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.kafka.release_numbers import rule_set_text
from tests.simulation.worlds import (
    ACKS_1,
    ACKS_ALL,
    at,
    fault,
    happened,
    hold,
    in_worlds,
    kinds,
    world,
)
from tests.tables import Row, from_table

MOVE = ["broker_fenced", "controller_isr_remove", "leader_elected"]


@in_worlds
def test_world(row: Row) -> None:
    """Brokers that die, stop, pause, lose a disk or their controller."""
    hold(row)


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("release", ["4.0", "4.1+"])
def test_from_4_0_on_it_is_noticed_up_to_an_eighth_of_the_session_later(
    release: str, seed: int
) -> None:
    """At the first look behind the session's end, and all looks lie 375 ms apart."""
    first = world(fault("crash", 10000, broker=3), seed=seed, release=release)
    later = world(fault("crash", 20100, broker=3), seed=seed, release=release)
    assert 12500 < at(first, "broker_fenced") <= 13375
    between_ms = at(later, "broker_fenced") - at(first, "broker_fenced")
    assert between_ms / 375 == pytest.approx(round(between_ms / 375), abs=1e-6)


def test_one_change_fences_removes_and_elects_at_one_time() -> None:
    """broker_fenced, then controller_isr_remove, then the election, all at the fence."""
    result = world(fault("crash", 10000, broker=1))
    assert kinds(result) == MOVE
    assert len({t_ms for _, t_ms in happened(result)}) == 1


def test_offline_time_is_the_gap_between_the_two_events() -> None:
    """The only replica dies: offline from the fence, not from the crash, to the return."""
    result = world(
        fault("crash", 10000, broker=1, restart_after_ms=20000),
        replicas=(1,),
        produce=(),
        release="3.7-3.9",
    )
    gap = at(result, "partition_online") - at(result, "partition_offline")
    assert result.outcome["offline_partition_rate"] == pytest.approx(gap / 60000)
    assert "controller_isr_remove" not in kinds(result)


def test_produce_is_unavailable_from_the_crash_on() -> None:
    """A dead leader counts before the controller knows."""
    result = world(fault("crash", 10000, broker=1))
    dead = at(result, "leader_elected") - 10000
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead / 60000)


SESSION_9 = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000}


@pytest.mark.parametrize("release", ["3.3-3.6", "3.7-3.9"])
def test_the_last_log_dirs_failure_is_the_brokers_death(release: str) -> None:
    """The process halts and tells nobody: its leads move a session after its last heartbeat."""
    failure = fault("log_dir_failure", 10000, broker=1, log_dir=0)
    result = world(failure, release=release, config=SESSION_9)
    assert sorted(kinds(result)) == sorted(MOVE)
    assert 17000 <= at(result, "broker_fenced") == at(result, "leader_elected") <= 19051


@pytest.mark.parametrize("produce", [(), (ACKS_1,)])
def test_the_metadata_log_dirs_failure_is_the_brokers_death(produce: Any) -> None:
    """KRaft from 3.7 on: of both its dirs' leads, and without an append as well."""
    failure = fault("log_dir_failure", 10000, broker=1, log_dir=0)
    more: dict[str, Any] = {"log_dirs": 2, "partitions": 2, "config": SESSION_9}
    result = world(failure, release="3.7-3.9", produce=produce, **more)
    elected = [t_ms for _, t_ms in happened(result, "leader_elected")]
    assert len(elected) == 2
    assert elected == [at(result, "broker_fenced")] * 2


@pytest.mark.parametrize("broker", [1, 2])
def test_to_0_11_an_io_error_is_the_brokers_death(broker: int) -> None:
    """An append of the leader or of a follower meets it; whatever other dirs there are."""
    failure = fault("log_dir_failure", 10000, broker=broker, log_dir=1)
    session = {"zookeeper.session.timeout.ms": 6000}
    more: dict[str, Any] = {"log_dirs": 2, "partitions": 2, "config": session}
    result = world(failure, release="0.10.2-2.0", controller="zookeeper", **more)
    assert len(happened(result, "controller_isr_remove")) == 2
    assert 14000 <= at(result, "broker_fenced") <= 16101


TWO_DIE = (fault("crash", 10000, broker=1), fault("crash", 11000, broker=2))


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9", "4.1+"])
def test_a_dead_broker_is_elected_until_its_own_session_ends(release: str) -> None:
    """The leader and then the next one die: each is found dead by its own session alone."""
    result = world(*TWO_DIE, release=release)
    leaders = [e["leader"] for e in result.events if e["kind"] == "leader_elected"]
    elected = [t_ms for _, t_ms in happened(result, "leader_elected")]
    assert leaders == [2, 3]
    assert elected == [t_ms for _, t_ms in happened(result, "broker_fenced")]
    dead = (elected[1] - 10000) / 60000
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead)


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9", "4.1+"])
def test_a_replica_joins_beside_a_dead_member(release: str) -> None:
    """The controller takes an ISR whose dead member is not fenced yet."""
    result = world(
        fault("pause", 10000, broker=3, duration_ms=8000),
        fault("crash", 16000, broker=2),
        config={"broker.session.timeout.ms": 20000, "replica.lag.time.max.ms": 5000},
        release=release,
    )
    joined = next(e for e in result.events if e["kind"] == "isr_expand")
    assert 18000 < joined["t_ms"] < 18200
    assert joined["isr"] == [1, 2, 3]
    left = next(e for e in result.events if e["kind"] == "isr_shrink" and e["t_ms"] > 18200)
    assert left["isr"] == [1, 3]
    assert left["t_ms"] < at(result, "broker_fenced")


@from_table
def test_from_2_7_to_3_0_a_shrink_does_not_raise_the_high_watermark(
    number: str, controller: str, stands_ms: float
) -> None:
    """One acks=all request is out and nothing else is written: it waits for the follower's return.

    KRaft's shrink begins a new leader epoch, whose metadata raise it.
    """
    result = world(
        fault("pause", 10000, broker=2, duration_ms=12000),
        produce=({**ACKS_ALL, "records_per_s": 1},),
        config={"replica.lag.time.max.ms": 4000, "zookeeper.session.timeout.ms": 18000}
        | {"broker.session.timeout.ms": 18000},
        release=str(rule_set_text(number)),
        controller=controller,
    )
    waited_ms = result.outcome["commit_latency_max_ms"]
    assert (waited_ms > 10000) is (stands_ms > 0)
    assert waited_ms < 13000


def test_kraft_to_3_8_elects_nobody_uncleanly() -> None:
    """Alone in the ISR, and dead: the partition stays offline, whatever the key says."""
    faults = (
        fault("pause", 5000, broker=2, duration_ms=10000),
        fault("pause", 5000, broker=3, duration_ms=10000),
        fault("crash", 14000, broker=1),
    )
    config = {"unclean.leader.election.enable": True, "eligible.leader.replicas.version": 0}
    found = {
        number: len(
            happened(
                world(*faults, config=config, release=str(rule_set_text(number))),
                "unclean_election",
            )
        )
        for number in ("2.8.2", "3.8.1", "3.9.1", "4.1.0")
    }
    assert found == {"2.8.2": 0, "3.8.1": 0, "3.9.1": 1, "4.1.0": 1}


def test_a_shrink_waits_for_the_controller_and_is_committed_all_the_same() -> None:
    """Decided in the outage, committed after it, though the follower has caught up meanwhile."""
    result = world(
        fault("controller_outage", 10000, duration_ms=20000),
        fault("pause", 10000, broker=3, duration_ms=8000),
    )
    shrink = next(e for e in result.events if e["kind"] == "isr_shrink")
    assert 14000 < shrink["decided_ms"] <= 16000
    assert shrink["t_ms"] == 30030


def test_a_link_cut_expels_the_follower_and_its_end_brings_it_back() -> None:
    """Out within 1.5 lag, back as the bytes get through; missed lag is the time past the limit."""
    cut = fault("link", 10000, from_=3, to=1, drop=True, both_ways=True, duration_ms=20000)
    result = world(cut)
    shrunk = at(result, "isr_shrink")
    assert 14000 - 60 < shrunk <= 16000 + 30
    assert 30000 < at(result, "isr_expand") < 30100
    assert result.outcome["detection_delay_ms"] == pytest.approx(shrunk - 14000)
    assert result.outcome["spurious_shrinks_per_partition_hour"] == 0


def test_a_leader_cut_off_from_the_controller_is_fenced_alive() -> None:
    """Its heartbeats do not arrive: another leads a session later."""
    cut = fault("link", 10000, from_=1, to="controller", drop=True, duration_ms=20000)
    assert kinds(world(cut))[:3] == MOVE


def test_unclean_election_loses_what_only_the_dead_leader_had() -> None:
    """acks=all records acknowledged after the shrink are lost, in one event after the election."""
    cuts = [
        fault("link", 10000, from_=f, to=1, drop=True, both_ways=True, duration_ms=30000)
        for f in (2, 3)
    ]
    result = world(
        *cuts,
        fault("crash", 20000, broker=1),
        config={"unclean.leader.election.enable": True},
        produce=(ACKS_1, ACKS_ALL),
    )
    order = kinds(result)
    assert order[1:4] == ["broker_fenced", "unclean_election", "records_lost"]
    assert at(result, "records_lost") == at(result, "unclean_election")
    assert result.outcome["unclean_elections"] == 1
    assert 190 <= result.outcome["records_lost"] <= 210


def test_a_returned_leader_cuts_off_what_its_successor_never_had() -> None:
    """1 000 records that nobody fetched: cut at the first answer, so that it may join again."""
    result = world(
        *(
            fault("link", 9000, from_=f, to=1, drop=True, both_ways=True, duration_ms=3000)
            for f in (2, 3)
        ),
        fault("produce_burst", 10000, topic="t", partition=0, records=1000),
        fault("crash", 10500, broker=1, restart_after_ms=10000),
    )
    back = at(result, "broker_unfenced")
    assert back < at(result, "isr_expand") < back + 1000


def test_a_kill_takes_a_replica_out_of_the_elr() -> None:
    """All three killed under ELR: the last leader alone may be elected, uncleanly."""
    result = world(
        fault("crash", 10000, broker=2, restart_after_ms=40000),
        fault("crash", 15000, broker=3, restart_after_ms=20000),
        fault("crash", 20000, broker=1, restart_after_ms=30000),
        config={"min.insync.replicas": 2, "eligible.leader.replicas.version": 1},
    )
    (unclean,) = [e for e in result.events if e["kind"] == "unclean_election"]
    assert (unclean["leader"], unclean["isr"]) == (1, [1])


class TestFailedLogDirs:
    """Log dirs that fail beside other faults."""

    TWO: dict[str, Any] = {"log_dirs": 2, "partitions": 2}  # noqa: RUF012 - a constant of the tests
    DEAD = fault("log_dir_failure", 10000, broker=1, log_dir=1)

    def test_a_silent_leader_does_not_lead_again(self) -> None:
        """KRaft to 3.6: new metadata name it still, and it shrinks nothing on its dead disk."""
        result = world(
            self.DEAD,
            fault("crash", 15000, broker=3),
            fault("crash", 40000, broker=1),
            release="3.3-3.6",
            config={"replica.lag.time.max.ms": 5000, **SESSION_9},
            **self.TWO,
        )
        shrunk = [e["partition"] for e in result.events if e["kind"] == "isr_shrink"]
        assert 1 not in shrunk
        elected = [e for e in result.events if e["kind"] == "leader_elected"]
        assert {(e["partition"], e["leader"]) for e in elected} == {(0, 2), (1, 2)}

    def test_a_replica_on_a_dead_disk_is_not_elected_uncleanly(self) -> None:
        """Of the partition whose leader dies next, the other log is gone for good."""
        result = world(
            fault("log_dir_failure", 10000, broker=2, log_dir=1),
            fault("crash", 20000, broker=1),
            config={**SESSION_9, "unclean.leader.election.enable": True},
            replicas=(1, 2),
            **self.TWO,
        )
        offline = [e["partition"] for e in result.events if e["kind"] == "partition_offline"]
        assert offline == [1]
        assert "unclean_election" not in kinds(result)

    def test_what_failed_while_it_was_down_does_not_come_back(self) -> None:
        """Another dir: the broker is back with the other one's partition alone."""
        down = fault("crash", 5000, broker=1, restart_after_ms=15000)
        result = world(down, self.DEAD, config=SESSION_9, **self.TWO)
        joined = {e["partition"] for e in result.events if e["kind"] == "isr_expand"}
        assert "broker_unfenced" in kinds(result)
        assert joined == {0}

    @pytest.mark.parametrize(
        ("hindrance", "told_ms"),
        [
            (fault("controller_outage", 8000, duration_ms=6000, sessions="resumed"), 14000),
            (fault("link", 9000, from_=1, to="controller", drop=True, duration_ms=5000), 14000),
        ],
        ids=["no controller", "no way to it"],
    )
    def test_producers_know_before_a_controller_that_cannot_be_told(
        self, hindrance: dict[str, Any], told_ms: float
    ) -> None:
        """Offline at once, and another leader when the controller can be told."""
        result = world(hindrance, self.DEAD, config=SESSION_9, **self.TWO)
        elected = at(result, "leader_elected")
        assert told_ms <= elected <= told_ms + 100
        gap = (elected - 10050) / 60000 / 2
        assert result.outcome["produce_unavailable_rate"] == pytest.approx(gap, abs=0.001)

    def test_who_dies_before_it_has_told_tells_nobody(self) -> None:
        """Killed 20 ms after the failure: leads move when its session ends."""
        result = world(self.DEAD, fault("crash", 10020, broker=1), config=SESSION_9, **self.TWO)
        elected = {t_ms for _, t_ms in happened(result, "leader_elected")}
        assert elected == {at(result, "broker_fenced")}
