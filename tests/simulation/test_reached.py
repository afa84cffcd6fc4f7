"""How near a run came to each bound: what `verdicts.exercised` compares with a key's values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulation.worlds import ACKS_1, ACKS_ALL, fault, world

PAUSE = fault("pause", 10_000, broker=2, duration_ms=2_000)
MIB = 1 << 20


def outcome(*faults: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Columns of a small world."""
    return world(*faults, **more).outcome


class TestSilence:
    """The controller reckons a session from the last heartbeat."""

    def test_a_pause_within_its_session(self) -> None:
        """It lasts two seconds, and begins up to a heartbeat after the last one."""
        assert 2_000 <= outcome(PAUSE)["longest_silence_ms"] <= 2_500

    def test_a_dead_broker(self) -> None:
        """Its silence ends with its session, which it has reached."""
        dead = outcome(fault("crash", 10_000, broker=2, restart_after_ms=40_000))
        assert dead["longest_silence_ms"] >= 3_000

    def test_none(self) -> None:
        """A healthy broker is always heard."""
        assert outcome()["longest_silence_ms"] == 0


class TestReads:
    """Bytes that a follower is given."""

    def test_a_batch(self) -> None:
        """One record of 100 bytes at a time."""
        assert outcome()["largest_read_bytes"] == 100

    @pytest.mark.parametrize("key", ["replica.fetch.max.bytes", "replica.fetch.response.max.bytes"])
    def test_what_a_limit_cuts_has_reached_it(self, key: str) -> None:
        """Batches rarely end at the limit itself: more was there."""
        column = {
            "replica.fetch.max.bytes": "largest_read_bytes",
            "replica.fetch.response.max.bytes": "largest_response_bytes",
        }[key]
        assert outcome(PAUSE, config={key: 1_050})[column] == 1_050
        assert 1_100 <= outcome(PAUSE, config={key: MIB})[column] < 10_000


class TestOthers:
    """Queue, produce and ISR."""

    def test_the_queue_of_a_paused_broker(self) -> None:
        """What its clients send meanwhile waits in it."""
        busy = {"client_requests_per_s": 100}
        paused = outcome(fault("pause", 10_000, broker=1, duration_ms=2_000), service=busy)
        assert 100 <= paused["longest_queue"] <= 300
        assert outcome(service=busy)["longest_queue"] < 10

    @pytest.mark.parametrize("stream", [ACKS_1, ACKS_ALL])
    def test_the_produce_that_waits_longest(self, stream: dict[str, Any]) -> None:
        """A batch that comes as the leader stops is answered when it goes on."""
        paused = fault("pause", 10_000, broker=1, duration_ms=2_000)
        assert 1_900 <= outcome(paused, produce=(stream,))["longest_produce_ms"] <= 2_300

    def test_the_smallest_isr(self) -> None:
        """A broker that is fenced leaves two of three."""
        assert outcome()["least_isr"] == 3
        assert outcome(fault("crash", 10_000, broker=2))["least_isr"] == 2
