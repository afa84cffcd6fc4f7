"""What a producer does with a refused request, and with a leader that it does not know of."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from isr_pipeline.simulation.clients import METADATA_MAX_AGE_US
from isr_pipeline.simulation.world.tables import World
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import Result, advance
from tests.scenario import one_topic_scenario
from tests.simulation.worlds import ACKS_1, ACKS_ALL, FAST, at, fault, world

ONE = {**ACKS_ALL, "start_ms": 10_000, "duration_ms": 50}
"""A stream of one record, which comes in the 50 ms after 10 s."""
BACK_OFF_MS = 100
"""retry.backoff.ms"""
FOLLOWER_DEAD = fault("crash", 5_000, broker=2, restart_after_ms=10_000)
MIN_2 = {"min.insync.replicas": 2}
CUT_OFF = tuple(
    {**fault("link", 10_000, from_=1, to=to, drop=True, both_ways=True), "duration_ms": 40_000}
    for to in (2, 3, "controller")
)


class Records(NamedTuple):
    """Where the records of the first producer are."""

    unsent: int
    sent_again: int
    out: int
    acknowledged: int
    given_up: int


def producer(t_ms: float, *faults: dict[str, Any], **more: Any) -> World:
    """The header of a world that ends at ``t_ms``."""
    produce = more.pop("produce", ONE)
    scenario = one_topic_scenario(
        {"assignment": {0: more.pop("replicas", [1, 2])}, "produce": produce},
        cluster={"release": "4.1+"},
        config={**FAST, **more.pop("config", {})},
        service={"client_requests_per_s": 0},
        faults=list(faults),
        horizon_ms=400_000,
    )
    encoded = encode(scenario)
    encoded.header.horizon = round(1000 * t_ms)
    advance(encoded)
    return encoded.header


def records(t_ms: float, *faults: dict[str, Any], **more: Any) -> Records:
    """Where the records of the producer are at ``t_ms``."""
    stream = producer(t_ms, *faults, **more).streams
    out = stream.request.records if stream.request else 0
    again = stream.to_send_again
    return Records(stream.gathered, again, out, stream.acknowledged, stream.given_up)


class TestRetries:
    """A request that is refused is sent again until its records are too old."""

    def test_refused_sent_again_acknowledged(self) -> None:
        """Every 100 ms, one request at a time, until the follower is back in the ISR."""
        came = producer(10_060, FOLLOWER_DEAD, config=MIN_2).streams.counted_from / 1000
        seen = [
            records(came + ms, FOLLOWER_DEAD, config=MIN_2)
            for ms in (0.05, 0.9, 100.9, 101.05, 102, 202.5)
        ]
        assert seen == [
            Records(0, 0, 1, 0, 0),
            Records(0, 1, 0, 0, 0),
            Records(0, 1, 1, 0, 0),
            Records(0, 1, 1, 0, 0),
            Records(0, 1, 0, 0, 0),
            Records(0, 1, 0, 0, 0),
        ]
        assert records(30_000, FOLLOWER_DEAD, config=MIN_2) == Records(0, 0, 0, 1, 0)

    def test_the_next_try_after_the_return_is_taken(self) -> None:
        """The delay that the application sees ends at most a back-off and an answer later."""
        result = world(FOLLOWER_DEAD, config=MIN_2, produce=(ONE,), replicas=(1, 2))
        back = at(result, "isr_expand")
        waited = result.outcome["longest_produce_ms"]
        assert back - 10_050 < waited < back - 10_000 + BACK_OFF_MS + 20
        assert result.outcome["records_acked"] == 1

    def test_once_where_it_retries_nothing(self) -> None:
        """Refused for good at once: counted, and no longer waiting."""
        once = {**ONE, "retries": 0}
        assert records(10_060, FOLLOWER_DEAD, config=MIN_2, produce=once) == Records(0, 0, 0, 0, 1)

    def test_what_is_refused_at_once_counts(self) -> None:
        """Without a network a dead leader's host refuses in the instant in which a batch comes."""
        once = {**ACKS_ALL, "retries": 0}
        dead = fault("crash", 10_000, broker=1)
        here, near = (
            world(
                dead,
                produce=(once,),
                replicas=(1,),
                service={"network_rtt_ms": rtt_ms},
                horizon_ms=20_000,
            ).outcome["record_errors"]
            for rtt_ms in (0, 0.01)
        )
        assert here == near > 10

    def test_a_whole_backlog_is_sent_after_the_return(self) -> None:
        """All that came while produce was refused, in as many requests as it takes."""
        late = {**ACKS_ALL, "start_ms": 10_000}
        result = world(FOLLOWER_DEAD, config=MIN_2, produce=(late,), replicas=(1, 2))
        assert result.outcome["record_errors"] == 0
        assert result.outcome["records_acked"] == pytest.approx(1000, abs=1)


class TestDeliveryTimeout:
    """What is not acknowledged in time is given up."""

    def test_to_the_next_try(self) -> None:
        """A record that came is there for its timeout; the next try finds it too old."""
        late = {**ONE, "delivery_timeout_ms": 2_000}
        came = producer(10_060, FOLLOWER_DEAD, config=MIN_2, produce=late).streams.counted_from
        before, after = (
            records(came / 1000 + ms, FOLLOWER_DEAD, config=MIN_2, produce=late)
            for ms in (1_999, 2_101)
        )
        assert (before.sent_again, before.given_up) == (1, 0)
        assert after == Records(0, 0, 0, 0, 1)

    def test_what_was_never_sent_expires_as_well(self) -> None:
        """Of a partition without a leader: 20 s of it, 10 s are too old for each."""
        stream = {**ACKS_1, "delivery_timeout_ms": 10_000}
        dies = fault("crash", 10_000, broker=1, restart_after_ms=60_000)
        result = world(dies, produce=(stream,), replicas=(1,), horizon_ms=30_000)
        assert result.outcome["record_errors"] == pytest.approx(200, abs=2)

    def test_an_acknowledgement_that_comes_too_late_is_none(self) -> None:
        """Records that expire while they are out are given up, whatever the answer is."""
        late = {**ONE, "acks": 1, "delivery_timeout_ms": 2_000}
        pause = fault("pause", 9_000, broker=1, duration_ms=4_000)
        seen = records(20_000, pause, produce=late, config={"broker.session.timeout.ms": 60_000})
        assert seen == Records(0, 0, 0, 0, 1)


def waited_ms(result: Result) -> float:
    """How long the producer's batch that waited longest did."""
    return float(result.outcome["longest_produce_ms"])


class TestNewLeaders:
    """A producer sends to the leader that it knows."""

    def test_a_leader_that_is_cut_off_still_takes_records(self) -> None:
        """It answers its producers, who do not learn of the new one: what it took is truncated."""
        t_ms = 25_000
        header = producer(t_ms, *CUT_OFF, produce=ACKS_1, replicas=[1, 2, 3])
        partition, stream = header.partitions, header.streams
        assert partition.leader != 0
        assert stream.leader == 0
        assert stream.acknowledged == stream.batch_number
        elected = partition.replicas[partition.leader].log_end_offset
        assert partition.replicas[0].log_end_offset - elected > 100

    def test_what_it_took_is_lost_with_its_return(self) -> None:
        """Its acks=1 producer heard of no error; no report of acks=all has these records."""
        result = world(*CUT_OFF, produce=(ACKS_1,))
        replaced = at(result, "leader_elected")
        took = (50_000 - replaced) / 1000 * ACKS_1["records_per_s"]
        assert result.outcome["records_lost_by_replaced_leaders"] == pytest.approx(took, abs=3)
        assert result.outcome["records_lost"] == result.outcome["record_errors"] == 0

    def test_its_acks_all_is_sent_to_the_new_one_after_a_timeout(self) -> None:
        """Nobody fetches from it, so that its high watermark stands: 30 s later it is left."""
        result = world(*CUT_OFF, produce=(ACKS_ALL,))
        assert 30_000 < waited_ms(result) < 30_400
        assert result.outcome["record_errors"] == 0

    def test_metadata_that_are_too_old_tell(self) -> None:
        """Without an error it learns of the new leader within metadata.max.age.ms."""
        cut = [{**one, "duration_ms": 385_000} for one in CUT_OFF]
        header = producer(390_000, *cut, produce=ACKS_1, replicas=[1, 2, 3])
        stream, partition = header.streams, header.partitions
        assert stream.leader == partition.leader
        due = stream.metadata_at + METADATA_MAX_AGE_US
        assert partition.leader_since < due
        elected = partition.replicas[partition.leader].log_end_offset
        left_ms = (header.now - due) / 1000
        assert elected >= left_ms * ACKS_1["records_per_s"] / 1000 - 1

    @pytest.mark.parametrize(
        ("lost", "low_ms", "high_ms"), [("nothing", 2_500, 3_000), ("tail", 30_000, 30_300)]
    )
    def test_a_dead_machine_resets_no_connection(
        self, lost: str, low_ms: float, high_ms: float
    ) -> None:
        """Whose process alone died is left at once; else a request has to time out."""
        result = world(fault("crash", 10_000, broker=1, lost=lost), produce=(ACKS_1,))
        assert low_ms < waited_ms(result) < high_ms

    def test_an_old_leader_that_lives_refuses(self) -> None:
        """A lead that moves in order costs an error and a back-off."""
        moves = fault("preferred_election", 10_000, topic="t", partition=0, leader=2)
        assert 50 < waited_ms(world(moves, produce=(ACKS_1,))) < BACK_OFF_MS + 100
