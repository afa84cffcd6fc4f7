"""KIP-501's pending reads in the leaders' records."""

from __future__ import annotations

from typing import Any

import numba
import pytest

from isr_pipeline.kafka import kip501
from isr_pipeline.kafka.record import Follower
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation import pending_reads
from isr_pipeline.simulation.world.tables import Request, request_at, rules_in, world_in
from isr_pipeline.worlds.encoder import World, encode

PARTITIONS = 4
OFFSET = 7


@numba.njit
def _note(w, rules, q):  # type: ignore[no-untyped-def]
    pending_reads.note_pending(rules_in(rules), request_at(world_in(w), q))


@numba.njit
def _forget(w, rules, q):  # type: ignore[no-untyped-def]
    pending_reads.forget_pending(rules_in(rules), request_at(world_in(w), q))


class Fetching:
    """A world at rest in which one thread's fetch of all its partitions reaches the leader."""

    def __init__(self) -> None:
        raw = {
            "scenario_id": "pending",
            "horizon_ms": 1000,
            "warmup_ms": 0,
            "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2]},
            "config": {"follower.fetch.pending.reads.insync.enable": True},
            "rules": {"kip501": "s1-doc"},
            "topics": [
                {
                    "name": "t",
                    "partitions": 2 * PARTITIONS,
                    "replication_factor": 2,
                    "produce": {"records_per_s": 1, "records_per_batch": 1, "acks": 1},
                }
            ],
        }
        self.world: World = encode(parse_scenario(raw, "pending"))
        self.thread = self.world.header.threads
        self.fetch = self.request(0)

    def request(self, number: int) -> Request:
        """One of the thread's requests, for all of its partitions."""
        request = self.thread.requests[number]
        request.entry_count = PARTITIONS
        for i in range(PARTITIONS):
            request.entries[i].offset = OFFSET
        return request

    def record_of(self, i: int) -> Follower:
        """The leader's record of one of its fetched partitions."""
        return self.thread.fetched[i].record

    def act(self, function: Any, *requests: Request) -> None:
        """Let one of the functions work on the world."""
        function(self.world.w, self.world.switches, *(one.first for one in requests))

    def noted(self) -> list[bool]:
        """Of each partition, whether the record holds a pending read."""
        return [bool(kip501.is_pending(self.record_of(i))) for i in range(PARTITIONS)]


@pytest.fixture
def fetching() -> Fetching:
    """A fetch that nobody has begun with."""
    return Fetching()


class TestPending:
    """What stands in the records from a fetch's beginning to its answer."""

    def test_each_record_holds_the_offset_once(self, fetching: Fetching) -> None:
        """From the moment at which a handler begins with the fetch."""
        fetching.act(_note, fetching.fetch)
        record = fetching.record_of(2)
        assert fetching.noted() == [True] * PARTITIONS
        assert record.pending_offsets[0] == OFFSET
        assert record.pending_counts[0] == 1

    def test_nothing_is_left_of_an_answered_fetch(self, fetching: Fetching) -> None:
        """Neither in a record nor in the request."""
        fetching.act(_note, fetching.fetch)
        fetching.act(_forget, fetching.fetch)
        assert fetching.noted() == [False] * PARTITIONS
        assert fetching.fetch.pending == 0

    def test_one_that_is_behind_is_not_pending(self, fetching: Fetching) -> None:
        """A follower that was not caught up at its last fetch gets nothing."""
        fetching.record_of(3).last_fetch_leader_log_end_offset = OFFSET + 1
        fetching.act(_note, fetching.fetch)
        assert fetching.noted() == [True, True, True, False]

    def test_offsets_are_pending_and_not_fetches(self, fetching: Fetching) -> None:
        """A fetch given up takes the offset with it that its follower has asked for again."""
        given_up = fetching.request(1)
        given_up.pending = 1
        fetching.act(_note, fetching.fetch)
        fetching.act(_forget, given_up)
        assert fetching.noted() == [False] * PARTITIONS
