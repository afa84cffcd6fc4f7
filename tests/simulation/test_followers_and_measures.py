"""Follower faults, preferred elections, and what the measures count."""

from __future__ import annotations

from typing import Any

import pytest

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
from tests.tables import Row

LEGACY = {"fetcher": "legacy"}


def _fails(error: str, fetcher: str = "Replica", **more: object) -> dict[str, object]:
    spec = {"broker": 3, "topic": "t", "partition": 0, "error": error, "fetcher": fetcher}
    return fault("partition_error", 10000, **spec, **more)


@in_worlds
def test_world(row: Row) -> None:
    """What a fault of a follower does, and what counts."""
    hold(row)


@pytest.mark.parametrize("fetcher", ["Replica", "ReplicaAlterLogDirs"])
@pytest.mark.parametrize(
    ("error", "failed"),
    [("storage", 1), ("unexpected", 1), ("fenced_epoch", 1), ("corrupt_record", 0)],
)
def test_kip_461_fails_the_partition_but_retries_a_corrupt_batch(
    fetcher: str, error: str, failed: int
) -> None:
    """The same for the replica fetcher and the log-dir mover."""
    result = world(_fails(error, fetcher), partitions=2)
    assert result.outcome["failed_partitions_max"] == failed
    assert result.outcome["dead_fetcher_threads"] == 0


@pytest.mark.parametrize("fetcher", ["Replica", "ReplicaAlterLogDirs"])
@pytest.mark.parametrize(
    ("error", "dead"),
    [("storage", 0), ("unexpected", 1), ("fenced_epoch", 0), ("corrupt_record", 0)],
)
def test_a_legacy_thread_dies_of_the_unexpected_only(fetcher: str, error: str, dead: int) -> None:
    """Nothing is ever marked failed."""
    result = world(_fails(error, fetcher), partitions=2, rules=LEGACY)
    assert result.outcome["failed_partitions_max"] == 0
    assert result.outcome["dead_fetcher_threads"] == dead


@pytest.mark.parametrize("error", ["storage", "unexpected", "fenced_epoch", "corrupt_record"])
def test_a_log_dir_mover_touches_no_isr(error: str) -> None:
    """Whatever happens to a ReplicaAlterLogDirs fetcher."""
    assert "isr_shrink" not in kinds(world(_fails(error, "ReplicaAlterLogDirs")))


def test_a_legacy_fetcher_forgets_a_fenced_partition() -> None:
    """It leaves the ISR alone, without a dead thread."""
    result = world(_fails("fenced_epoch"), partitions=2, rules=LEGACY)
    assert [e["partition"] for e in result.events if e["kind"] == "isr_shrink"] == [0]


def test_a_failure_in_the_warm_up_counts_only_if_it_lasts() -> None:
    """Maxima are those after the warm-up."""
    healed = fault("preferred_election", 15000, topic="t", partition=0, leader=2)
    assert world(_fails("storage"), warmup_ms=20000).outcome["failed_partitions_max"] == 1
    assert world(_fails("storage"), healed, warmup_ms=20000).outcome["failed_partitions_max"] == 0


def test_a_leader_that_does_not_know_its_successor_is_no_follower_to_bootstrap() -> None:
    """It is paused, and another one elected: what it believes to lead is left alone."""
    paused = fault("pause", 10000, broker=1, duration_ms=10000)
    lacks = fault("bootstrap", 15000, broker=1, topic="t", partition=0, records=1000)
    assert "leader_elected" in kinds(world(paused))
    assert world(paused, lacks).events == world(paused).events


def test_a_standstill_counts_as_a_whole_once_it_is_long_enough() -> None:
    """From its start, cut at the horizon; shorter than request.timeout.ms it does not count."""
    calm = {"replica.lag.time.max.ms": 100000, "broker.session.timeout.ms": 100000}
    long = world(
        fault("pause", 25000, broker=3, duration_ms=35000), config=calm, produce=(ACKS_ALL,)
    )
    short = world(
        fault("pause", 25000, broker=3, duration_ms=20000), config=calm, produce=(ACKS_ALL,)
    )
    assert long.outcome["produce_unavailable_rate"] == pytest.approx(35 / 60, abs=0.001)
    assert short.outcome["produce_unavailable_rate"] == 0


def test_under_min_isr_has_a_begin_and_an_end() -> None:
    """Both followers gone with min.insync.replicas 2: the rate is the time between the events."""
    result = world(
        fault("crash", 10000, broker=2),
        fault("crash", 12000, broker=3, restart_after_ms=20000),
        config={"min.insync.replicas": 2},
        produce=(ACKS_1, ACKS_ALL),
    )
    lasted = at(result, "under_min_isr_end") - at(result, "under_min_isr_start")
    assert result.outcome["under_min_isr_rate"] == pytest.approx(lasted / 60000)


class TestWithoutALivingLeader:
    """A dead leader is not available, whether the controller has noticed or not."""

    def dies(self, session_ms: int, *more: dict[str, Any]) -> dict[str, Any]:
        """Both followers die, and ten seconds before the end the leader; min ISR is 2."""
        deaths = [
            fault("crash", 10_000, broker=2),
            fault("crash", 10_000, broker=3),
            fault("crash", 50_000, broker=1),
        ]
        keys = {
            "min.insync.replicas": 2,
            "replica.lag.time.max.ms": 3_000,
            "broker.session.timeout.ms": session_ms,
        }
        return world(*deaths, *more, config=keys, produce=(ACKS_ALL,), release="3.7-3.9").outcome

    def test_a_session_relabels_nothing(self) -> None:
        """Only the controller's counts know whether it fenced the leader before the end."""
        short, long = self.dies(6_000), self.dies(18_000)
        for name in ("leaderless_rate", "led_under_min_isr_rate", "produce_unavailable_rate"):
            assert short[name] == long[name] > 0, name
        assert short["offline_partition_rate"] > long["offline_partition_rate"] == 0
        assert short["under_min_isr_rate"] < long["under_min_isr_rate"]

    def test_offline_is_from_the_death_on(self) -> None:
        """The last ten seconds, of which the controller sees nothing with a session of 18 s."""
        outcome = self.dies(18_000)
        assert 60_000 * outcome["leaderless_rate"] == pytest.approx(10_000)
        assert outcome["any_leaderless"] == 1
        assert outcome["any_offline"] == 0

    def test_time_under_min_isr_has_a_living_leader(self) -> None:
        """From the removal of both followers to the leader's death."""
        outcome = self.dies(18_000)
        relabelled = outcome["under_min_isr_rate"] - outcome["led_under_min_isr_rate"]
        assert 60_000 * relabelled == pytest.approx(10_000)

    def test_a_paused_leader_is_none(self) -> None:
        """Five seconds of a pause, in which it leads alone."""
        pause = fault("pause", 30_000, broker=1, duration_ms=5_000)
        paused = self.dies(18_000, pause)["leaderless_rate"]
        assert 60_000 * paused == pytest.approx(15_000, abs=1)

    def test_a_leader_whose_log_dir_is_gone_is_none(self) -> None:
        """From its failure on, ten seconds before the process dies."""
        outcome = self.dies(18_000, fault("log_dir_failure", 40_000, broker=1, log_dir=0))
        assert 60_000 * outcome["leaderless_rate"] == pytest.approx(20_000, abs=100)


def test_li_transfer_hands_over_instead_of_shrinking_below_the_minimum() -> None:
    """At the tick the leader resigns; 30 ms later a healthy replica leads the whole ISR."""
    result = world(
        fault("read_stall", 10000, broker=1, duration_ms=20000),
        config={"min.insync.replicas": 2},
        rules={"kip501": "li-transfer", "isr_lock": "none"},
    )
    assert kinds(result) == ["leader_resigned", "leader_elected"]
    assert at(result, "leader_elected") - at(result, "leader_resigned") == 30


def test_a_cool_down_spares_the_second_resignation() -> None:
    """Within s2_cooldown_ms of the first a partition's leader stays."""
    stalls = [fault("read_stall", 10000 + 6000 * k, broker=1 + k, duration_ms=3000) for k in (0, 1)]
    base = {"kip501": "s2", "isr_lock": "none", "election": "isr_order"}
    on = {"follower.fetch.pending.reads.insync.enable": True}
    assert len(happened(world(*stalls, config=on, rules=base), "leader_resigned")) == 2
    cool = {**base, "s2_cooldown_ms": 20000}
    assert len(happened(world(*stalls, config=on, rules=cool), "leader_resigned")) == 1


def test_solution_1_does_not_cover_the_queue() -> None:
    """Handlers exhausted by clients: fetches wait unseen, the followers leave."""
    surge = fault(
        "client_surge",
        10000,
        broker=1,
        requests_per_s=2000,
        request_us=100000,
        connections=1000,
        duration_ms=20000,
    )
    on = {"follower.fetch.pending.reads.insync.enable": True, "num.io.threads": 4}
    result = world(surge, config=on, rules={"kip501": "s1-doc", "isr_lock": "none"})
    assert happened(result, "isr_shrink")
    assert "broker_fenced" not in kinds(result)
