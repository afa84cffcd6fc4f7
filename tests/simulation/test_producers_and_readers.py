"""What producers and readers feel, and what one replica alone acknowledges, on small worlds."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.worlds.run import Result
from tests.simulation.worlds import ACKS_1, ACKS_ALL, at, fault, happened, hold, in_worlds, world
from tests.tables import Row

HORIZON_MS = 60_000
CALM = {"replica.lag.time.max.ms": 100_000, "broker.session.timeout.ms": 100_000}
BUCKET = 0.004
"""Half a bucket of the histogram, as a share."""

BOTH_DIE = tuple(fault("crash", 10_000, broker=b, restart_after_ms=25_000) for b in (2, 3))
BOTH_PAUSE = tuple(fault("pause", 10_000, broker=b, duration_ms=25_000) for b in (2, 3))
LONG_SESSION = {"broker.session.timeout.ms": 60_000, "min.insync.replicas": 2}


def for_a_while(stream: dict[str, Any], start_ms: float, duration_ms: float) -> dict[str, Any]:
    """A stream that sends within a window: 20 batches of one record a second."""
    return {**stream, "start_ms": start_ms, "duration_ms": duration_ms}


def ms_of(result: Result, rate: str) -> float:
    """A share of a small world's time, in ms."""
    return float(result.outcome[rate]) * HORIZON_MS


@in_worlds
def test_world(row: Row) -> None:
    """What one replica alone acknowledges, and for how long readers wait."""
    hold(row)


class TestOneReplica:
    """Records that only the leader has when they are acknowledged, and the time of it."""

    def test_time_from_the_last_removal_to_the_first_return(self) -> None:
        """As the events tell it."""
        result = world(*BOTH_DIE)
        removed = happened(result, "controller_isr_remove")[-1][1]
        returned = happened(result, "isr_expand")[0][1]
        assert ms_of(result, "one_replica_rate") == pytest.approx(returned - removed)
        assert removed < 20_000
        assert returned > 35_000

    def test_records_that_waited_for_the_removal(self) -> None:
        """Appended while the dead were in the ISR, acknowledged when they leave: by one as well."""
        stream = for_a_while(ACKS_ALL, 10_500, 500)
        result = world(*BOTH_DIE, produce=(stream,))
        assert happened(result, "controller_isr_remove")[0][1] > 12_000
        assert result.outcome["records_acked_by_one_replica"] == 10

    def test_other_records_at_these_offsets_are_not_these(self) -> None:
        """The dead leader's log is longer, by a tail that its successor never had."""
        result = world(
            fault("link", 9_000, from_=2, to=1, drop=True, both_ways=True, duration_ms=3_000),
            fault("produce_burst", 10_000, topic="t", partition=0, records=1_000),
            fault("crash", 10_500, broker=1),
            produce=(for_a_while(ACKS_1, 0, 5_000), for_a_while(ACKS_ALL, 20_000, 5_000)),
            replicas=(1, 2),
        )
        assert at(result, "leader_elected") < 20_000
        assert result.outcome["records_acked_by_one_replica"] == 100

    @pytest.mark.parametrize(
        ("dies", "alone"),
        [
            (fault("crash", 10_500, broker=2), 0),
            (fault("crash", 10_500, broker=2, lost="tail", flush_ms=100_000), 1),
            (fault("crash", 10_500, broker=2, lost="all"), 1),
            (fault("log_dir_failure", 10_500, broker=2, log_dir=0), 1),
        ],
        ids=["process", "power", "new-disk", "disk"],
    )
    def test_a_dead_followers_log_holds_what_is_left_of_it(
        self, dies: dict[str, Any], alone: int
    ) -> None:
        """It appended the one record, and could not say so any more."""
        unheard = fault(
            "link", 10_050, from_=2, to=1, drop=True, both_ways=False, duration_ms=9_000
        )
        one = for_a_while(ACKS_ALL, 10_100, 50)
        result = world(unheard, dies, produce=(one,), replicas=(1, 2))
        assert 12_000 < at(result, "controller_isr_remove") < 16_000
        assert result.outcome["records_acked"] == 1
        assert result.outcome["records_acked_by_one_replica"] == alone


class TestReaders:
    """The high watermark stands below the log's end: nobody reads what was appended."""

    @pytest.mark.parametrize(
        ("release", "least", "most"),
        [("3.3-3.6", 3_900, 6_100), ("3.7-3.9", 24_900, 25_200)],
    )
    def test_under_min_isr_readers_wait_from_3_7_on(
        self, release: str, least: float, most: float
    ) -> None:
        """To 3.6 until the paused are out of the ISR; then until they are back (KAFKA-15583).

        The first batch above the mark waits as long as the readers.
        """
        result = world(*BOTH_PAUSE, release=release, config=LONG_SESSION)
        waited = ms_of(result, "readers_wait_rate")
        assert least < waited < most
        assert waited == pytest.approx(result.outcome["commit_latency_max_ms"])

    @pytest.mark.parametrize(("pause_ms", "counts"), [(950, False), (1_100, True)])
    def test_from_one_second_on_a_standstill_counts_as_a_whole(
        self, pause_ms: float, counts: bool
    ) -> None:
        """An ordinary round trip is none."""
        result = world(fault("pause", 10_000, broker=3, duration_ms=pause_ms), config=CALM)
        stood = result.outcome["commit_latency_max_ms"]
        assert abs(stood - pause_ms) < 60
        assert ms_of(result, "readers_wait_rate") == pytest.approx(stood if counts else 0)

    def test_until_the_horizon(self) -> None:
        """A mark that never moves counts to the end."""
        result = world(fault("pause", 25_000, broker=3, duration_ms=35_000), config=CALM)
        stood = result.outcome["commit_latency_max_ms"]
        assert ms_of(result, "readers_wait_rate") == pytest.approx(stood)
        assert stood > 34_900

    def test_time_without_a_live_leader_is_another_matter(self) -> None:
        """A paused leader's 8 s are taken out of a standstill that goes on around them."""
        result = world(
            fault("link", 10_000, from_=3, to=1, drop=True, both_ways=True, duration_ms=20_000),
            fault("pause", 15_000, broker=1, duration_ms=8_000),
            config=CALM,
        )
        stood = result.outcome["commit_latency_max_ms"]
        assert stood > 19_900
        assert ms_of(result, "readers_wait_rate") == pytest.approx(stood - 8_000)


def slow_round_trip(**more: Any) -> Result:
    """20 batches a second over a round trip of 100 ms, for a minute, acks=1."""
    produce = {**ACKS_1, **more.pop("stream", {})}
    service = {"client_requests_per_s": 0, "network_rtt_ms": 100}
    return world(*more.pop("faults", ()), produce=(produce,), service=service, config=CALM, **more)


class TestProduceLatency:
    """From a batch's coming at its producer to its acknowledgement."""

    def test_acks_1_is_a_round_trip_and_a_request(self) -> None:
        """0.5 ms there and back, 0.1 ms in a handler, 0.15 ms to send the answer."""
        outcome = world(produce=(ACKS_1,)).outcome
        assert outcome["produce_latency_acks_1_p50_ms"] == pytest.approx(0.75, rel=BUCKET)
        assert outcome["produce_latency_acks_1_p99_ms"] == pytest.approx(0.75, rel=BUCKET)
        assert outcome["produce_latency_acks_all_p99_ms"] == 0

    def test_acks_all_waits_for_the_commit_as_well(self) -> None:
        """What is left of an acks=1 request behind the append, and the commit latency."""
        outcome = world(produce=(ACKS_ALL,)).outcome
        commit = outcome["commit_latency_p50_ms"]
        assert outcome["produce_latency_acks_all_p50_ms"] == pytest.approx(
            0.75 + commit, rel=BUCKET
        )
        assert outcome["produce_latency_acks_1_p99_ms"] == 0

    def test_what_gathers_waits_since_it_came(self) -> None:
        """One request out at a time, 100.25 ms each; batches come every 50 ms.

        So two or three go together, and one that just misses a request waits for that one as well.
        """
        outcome = slow_round_trip().outcome
        assert 100.25 < outcome["produce_latency_acks_1_p50_ms"] < 200.5
        assert 180 < outcome["produce_latency_acks_1_p99_ms"] <= 200.5 * (1 + BUCKET)

    def test_a_slow_request_is_felt_by_all_that_gather_behind_it(self) -> None:
        """A follower's pause of 5 s: 100 of 1200 batches wait, the 13th longest 12 periods less."""
        result = world(
            fault("pause", 20_000, broker=3, duration_ms=5_000), config=CALM, produce=(ACKS_ALL,)
        )
        longest = result.outcome["commit_latency_max_ms"]
        assert result.outcome["produce_latency_acks_all_p99_ms"] == pytest.approx(
            longest - 12 * 50, rel=BUCKET, abs=5
        )
        assert result.outcome["produce_latency_acks_all_p50_ms"] < 2

    def test_a_refused_batch_waits_for_the_next_acknowledgement(self) -> None:
        """Refused for want of replicas: answered in a moment, and not acknowledged for 20 s."""
        result = world(*BOTH_DIE, config={"min.insync.replicas": 2}, produce=(ACKS_ALL,))
        refused = happened(result, "under_min_isr_end")[0][1] - 10_000
        assert result.outcome["produce_latency_acks_all_p99_ms"] == pytest.approx(
            refused - 12 * 50, abs=250
        )

    def test_open_ones_count_with_what_they_have_reached(self) -> None:
        """Nothing is acknowledged from 25 s on: 700 of 1200 wait, also those that timed out."""
        result = world(
            fault("pause", 25_000, broker=3, duration_ms=35_000), config=CALM, produce=(ACKS_ALL,)
        )
        assert result.outcome["produce_latency_acks_all_p50_ms"] == pytest.approx(5_000, abs=75)
        assert result.outcome["produce_latency_acks_all_p99_ms"] == pytest.approx(34_400, abs=200)

    def test_what_comes_in_the_warm_up_does_not_count(self) -> None:
        """Acknowledged after it, but sent before."""
        result = world(
            fault("pause", 10_000, broker=3, duration_ms=5_000),
            config=CALM,
            produce=(for_a_while(ACKS_ALL, 0, 14_000),),
            warmup_ms=14_500,
        )
        assert result.outcome["produce_latency_acks_all_p99_ms"] == 0

    @pytest.mark.parametrize("factor", [0.02, 0.0])
    def test_a_change_of_rate_moves_no_batch_that_came_before(self, factor: float) -> None:
        """At a fiftieth of the rate a batch is no period of the new rate old, but a moment."""
        slower = fault(
            "produce_rate", 500, topic="t", partition=0, factor=factor, duration_ms=1_000
        )
        before = slow_round_trip(horizon_ms=2_000).outcome
        after = slow_round_trip(horizon_ms=2_000, faults=(slower,)).outcome
        most = before["produce_latency_acks_1_p99_ms"]
        assert 100 < after["produce_latency_acks_1_p99_ms"] <= most * (1 + BUCKET)
