"""Brokers that die, stop, pause, lose a disk or their controller."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.kafka.release_numbers import rule_set_text
from tests.simulation.worlds import ACKS_1, ACKS_ALL, at, fault, happened, kinds, world
from tests.tables import from_table

MOVE = ["broker_fenced", "controller_isr_remove", "leader_elected"]


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_crash_is_noticed_between_session_less_interval_and_session(seed: int) -> None:
    """The session counts from the last heartbeat."""
    result = world(fault("crash", 10000, broker=3), seed=seed, release="3.7+")
    assert 12500 <= at(result, "broker_fenced") <= 13000


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


@pytest.mark.parametrize("seed", range(1, 5))
def test_a_returned_broker_is_unfenced_2_to_6_ms_later(seed: int) -> None:
    """Unfencing follows the registration."""
    result = world(fault("crash", 10000, broker=3, restart_after_ms=20000), seed=seed)
    assert 30002 <= at(result, "broker_unfenced") <= 30006


def test_offline_time_is_the_gap_between_the_two_events() -> None:
    """The only replica dies: offline from the fence, not from the crash, to the return."""
    result = world(
        fault("crash", 10000, broker=1, restart_after_ms=20000),
        replicas=(1,),
        produce=(),
        release="3.7+",
    )
    gap = at(result, "partition_online") - at(result, "partition_offline")
    assert result.outcome["offline_partition_rate"] == pytest.approx(gap / 60000)
    assert "controller_isr_remove" not in kinds(result)


def test_produce_is_unavailable_from_the_crash_on() -> None:
    """A dead leader counts before the controller knows."""
    result = world(fault("crash", 10000, broker=1))
    dead = at(result, "leader_elected") - 10000
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead / 60000)


def test_kraft_leaves_a_last_members_partition_leaderless_at_its_shutdown() -> None:
    """Nobody else to lead: offline at the shutdown's begin, ISR kept."""
    result = world(
        fault("controlled_restart", 10000, broker=1, downtime_ms=20000), replicas=(1,), produce=()
    )
    assert at(result, "partition_offline") == 10000


def test_a_paused_leader_is_unavailable_for_its_pause() -> None:
    """Shorter than the session: no event but unavailable time."""
    result = world(fault("pause", 10000, broker=1, duration_ms=2000), produce=())
    assert kinds(result) == []
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(2000 / 60000)


def test_a_resumed_broker_sends_a_heartbeat_at_once() -> None:
    """Killed 50 ms after its pause: its session counts from the pause's end."""
    pause = fault("pause", 10000, broker=3, duration_ms=2000)
    result = world(pause, fault("crash", 12050, broker=3), release="3.7+")
    assert at(result, "broker_fenced") == 15000


def test_a_pause_past_the_socket_timeout_costs_a_back_off() -> None:
    """The fetch has timed out on resume, as on real brokers, though its answer is there."""
    result = world(
        fault("pause", 10000, broker=3, duration_ms=40000),
        config={"replica.lag.time.max.ms": 100000, "broker.session.timeout.ms": 100000},
        produce=(ACKS_ALL,),
    )
    assert 40900 < result.outcome["commit_latency_max_ms"] < 41010


def test_a_log_dir_fails_at_the_next_append_and_50_ms() -> None:
    """The leader's produce meets it; one change moves the leadership; the broker stays."""
    result = world(fault("log_dir_failure", 10000, broker=1, log_dir=1), log_dirs=2, partitions=2)
    assert kinds(result) == ["controller_isr_remove", "leader_elected"]
    assert 10050 <= happened(result)[0][1] <= 10101


def test_log_dirs_that_fail_one_by_one_end_the_broker_with_the_last() -> None:
    """The second failure is that of the last dir that works: the process halts."""
    failures = [fault("log_dir_failure", 10000 * n, broker=1, log_dir=2 - n) for n in (1, 2)]
    session = {"zookeeper.session.timeout.ms": 6000}
    more: dict[str, Any] = {"log_dirs": 2, "partitions": 2, "config": session}
    result = world(*failures, release="2.1-2.6", controller="zookeeper", **more)
    assert 24000 <= at(result, "broker_fenced") <= 26101


def test_an_idle_log_dirs_failure_is_not_noticed() -> None:
    """No append, no error."""
    failure = fault("log_dir_failure", 10000, broker=1, log_dir=1)
    assert kinds(world(failure, produce=(), log_dirs=2, partitions=2)) == []


SESSION_9 = {"broker.session.timeout.ms": 9000, "broker.heartbeat.interval.ms": 2000}


@pytest.mark.parametrize("release", ["3.3-3.6", "3.7+"])
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
    result = world(failure, release="3.7+", produce=produce, **more)
    elected = [t_ms for _, t_ms in happened(result, "leader_elected")]
    assert len(elected) == 2
    assert elected == [at(result, "broker_fenced")] * 2


@pytest.mark.parametrize("log_dir", [0, 1])
def test_kraft_to_3_6_tells_nobody_of_a_log_dir(log_dir: int) -> None:
    """No election and no fence; the partition that it led there is gone for producers."""
    failure = fault("log_dir_failure", 10000, broker=1, log_dir=log_dir)
    result = world(failure, release="3.3-3.6", log_dirs=2, partitions=2)
    assert kinds(result) == []
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(25 / 60, abs=0.001)


def test_kraft_to_3_6_a_followers_dead_dir_is_a_lagging_follower() -> None:
    """Its leader drops it, nobody else does."""
    failure = fault("log_dir_failure", 10000, broker=2, log_dir=1)
    result = world(failure, release="3.3-3.6", log_dirs=2, partitions=2)
    assert kinds(result) == ["partition_failed", "partition_unfailed", "isr_shrink"]


@pytest.mark.parametrize("broker", [1, 2])
def test_to_0_11_an_io_error_is_the_brokers_death(broker: int) -> None:
    """An append of the leader or of a follower meets it; whatever other dirs there are."""
    failure = fault("log_dir_failure", 10000, broker=broker, log_dir=1)
    session = {"zookeeper.session.timeout.ms": 6000}
    more: dict[str, Any] = {"log_dirs": 2, "partitions": 2, "config": session}
    result = world(failure, release="0.10.2-2.0", controller="zookeeper", **more)
    assert len(happened(result, "controller_isr_remove")) == 2
    assert 14000 <= at(result, "broker_fenced") <= 16101


def test_to_0_11_an_injected_storage_error_is_one() -> None:
    """The process of the follower halts."""
    error = fault("partition_error", 10000, broker=2, topic="t", partition=0, error="storage")
    result = world(error, release="0.10.2-2.0", controller="zookeeper")
    assert "broker_fenced" in kinds(result)


@pytest.mark.parametrize(
    ("release", "fenced_ms"), [("3.7+", 33000), ("4.0", 33375), ("4.1+", 33375)]
)
def test_a_fresh_controller_gives_every_broker_a_new_session(
    release: str, fenced_ms: float
) -> None:
    """A broker that died in the outage is fenced a whole session after its end.

    The looks of a controller of 4.0 and later begin with it; at its very end a session is valid.
    """
    result = world(
        fault("controller_outage", 10000, duration_ms=20000),
        fault("crash", 12000, broker=1),
        release=release,
    )
    assert at(result, "broker_fenced") == fenced_ms


TWO_DIE = (fault("crash", 10000, broker=1), fault("crash", 11000, broker=2))


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7+", "4.1+"])
def test_a_dead_broker_is_elected_until_its_own_session_ends(release: str) -> None:
    """The leader and then the next one die: each is found dead by its own session alone."""
    result = world(*TWO_DIE, release=release)
    leaders = [e["leader"] for e in result.events if e["kind"] == "leader_elected"]
    elected = [t_ms for _, t_ms in happened(result, "leader_elected")]
    assert leaders == [2, 3]
    assert elected == [t_ms for _, t_ms in happened(result, "broker_fenced")]
    dead = (elected[1] - 10000) / 60000
    assert result.outcome["produce_unavailable_rate"] == pytest.approx(dead)


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7+", "4.1+"])
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


@pytest.mark.parametrize(("release", "unclean"), [("0.10.2-2.0", 1), ("2.1-2.6", 0)])
def test_to_1_0_the_last_member_leaves_where_unclean_elections_are_on(
    release: str, unclean: int
) -> None:
    """The leader of the only replica is back: elected uncleanly, though it lost nothing."""
    result = world(
        fault("crash", 10000, broker=1, restart_after_ms=20000),
        replicas=(1,),
        release=release,
        controller="zookeeper",
        config={"unclean.leader.election.enable": True},
    )
    assert len(happened(result, "unclean_election")) == unclean
    assert result.outcome["records_lost"] == 0


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


def test_a_resumed_controller_fences_one_live_broker_at_most() -> None:
    """Its clock ran on: one seems dead, and is back 2 to 6 ms later."""
    result = world(fault("controller_outage", 10000, duration_ms=20000, sessions="resumed"))
    assert at(result, "broker_fenced") == 30000
    assert 30002 <= at(result, "broker_unfenced") <= 30006


def test_a_short_outage_of_the_same_controller_fences_nobody() -> None:
    """No session is over."""
    result = world(fault("controller_outage", 10000, duration_ms=2000, sessions="resumed"))
    assert kinds(result) == []


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


def test_a_controlled_stop_leaves_it_in_the_elr() -> None:
    """Stopped cleanly, the ELR member is elected as it returns, cleanly."""
    result = world(
        fault("controlled_restart", 10000, broker=2, downtime_ms=40000),
        fault("controlled_restart", 15000, broker=3, downtime_ms=20000),
        fault("crash", 20000, broker=1),
        config={"min.insync.replicas": 2, "eligible.leader.replicas.version": 1},
    )
    assert result.outcome["unclean_elections"] == 0
    assert 35002 <= at(result, "partition_online") <= 35006


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

    def test_a_broker_does_not_start_without_its_metadata_log(self) -> None:
        """It was down when that disk died."""
        down = fault("crash", 5000, broker=1, restart_after_ms=15000)
        dead = fault("log_dir_failure", 10000, broker=1, log_dir=0)
        result = world(down, dead, config=SESSION_9, **self.TWO)
        assert "broker_unfenced" not in kinds(result)

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


def test_zookeepers_sessions_are_no_controllers() -> None:
    """A new controller of ZooKeeper does not begin them anew."""
    session = {"zookeeper.session.timeout.ms": 9000}
    result = world(
        fault("crash", 10000, broker=1),
        fault("controller_outage", 12000, duration_ms=1000),
        controller="zookeeper",
        release="2.1-2.6",
        config=session,
    )
    assert 16000 <= at(result, "broker_fenced") <= 19000


def test_a_broker_that_loads_its_logs_has_registered() -> None:
    """A new controller of 4.0 gives it a session, which does not stand against itself."""
    result = world(
        fault("crash", 5000, broker=1, restart_after_ms=15000, restart_load_us=5_000_000),
        fault("controller_outage", 22000, duration_ms=1000),
        release="4.0",
        config=SESSION_9,
    )
    assert len(happened(result, "broker_fenced")) == 1
    assert 25002 <= at(result, "broker_unfenced") <= 25006
