"""Pending reads that a fetch defers instead of writing them into records."""

from __future__ import annotations

from typing import Any

import numba
import pytest

from isr_pipeline.kafka import kip501
from isr_pipeline.kafka.record import Follower
from isr_pipeline.simulation.shortcuts import pending
from isr_pipeline.simulation.world.tables import Request, request_at, rules_in, world_in
from isr_pipeline.worlds.encoder import World, encode
from tests.scenario import one_topic_scenario

PARTITIONS = 4
OFFSET = 7


@numba.njit
def _note(w, rules, q):  # type: ignore[no-untyped-def]
    world = world_in(w)
    pending.note_pending(world, rules_in(rules), request_at(world, q))


@numba.njit
def _forget(w, rules, q):  # type: ignore[no-untyped-def]
    pending.forget_pending(rules_in(rules), request_at(world_in(w), q))


@numba.njit
def _flush_all(w, rules):  # type: ignore[no-untyped-def]
    pending.flush_all(world_in(w), rules_in(rules))


class Fetching:
    """A world at rest in which one thread's fetch of all its partitions reaches the leader."""

    def __init__(self) -> None:
        produce = {"records_per_s": 1, "records_per_batch": 1, "acks": 1}
        scenario = one_topic_scenario(
            {"partitions": 2 * PARTITIONS, "replication_factor": 2, "produce": produce},
            cluster={"brokers": [1, 2]},
            horizon_ms=1000,
            config={"follower.fetch.pending.reads.insync.enable": True},
            rules={"kip501": "s1-doc"},
        )
        self.world: World = encode(scenario)
        self.thread = self.world.header.threads
        self.thread.validated_at = self.world.header.rare_events
        self.fetch = self.request(0)
        self.thread.request = self.fetch

    def request(self, number: int) -> Request:
        """One of the thread's requests, validated, for all of its partitions."""
        request = self.thread.requests[number]
        request.validated_at = self.world.header.rare_events
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


def deferred(request: Request) -> int:
    """A bit for each partition whose pending read the request defers."""
    return request.pending >> 1


@pytest.fixture
def fetching() -> Fetching:
    """A fetch that nobody has begun with."""
    return Fetching()


EVERYWHERE = [True] * PARTITIONS
NOWHERE = [False] * PARTITIONS


class TestOwed:
    """What is kept in the request and what stands in the records."""

    def test_the_records_are_left_alone(self, fetching: Fetching) -> None:
        """A validated fetch of members of the ISR defers all of them."""
        fetching.act(_note, fetching.fetch)
        assert deferred(fetching.fetch) == 0b1111
        assert fetching.noted() == NOWHERE

    def test_they_are_noted_when_somebody_looks(self, fetching: Fetching) -> None:
        """Then each record holds the pending offset, once."""
        fetching.act(_note, fetching.fetch)
        fetching.act(_flush_all)
        fetching.act(_flush_all)
        record = fetching.record_of(2)
        assert fetching.noted() == EVERYWHERE
        assert deferred(fetching.fetch) == 0
        assert record.pending_offsets[0] == OFFSET
        assert record.pending_counts[0] == 1

    @pytest.mark.parametrize("looked", [False, True])
    def test_nothing_is_left_of_an_answered_fetch(
        self, fetching: Fetching, *, looked: bool
    ) -> None:
        """Whether somebody has looked or not."""
        fetching.act(_note, fetching.fetch)
        if looked:
            fetching.act(_flush_all)
        fetching.act(_forget, fetching.fetch)
        fetching.act(_flush_all)
        assert fetching.noted() == NOWHERE
        assert fetching.fetch.pending == 0

    def test_outside_the_isr_at_once(self, fetching: Fetching) -> None:
        """The high watermark may wait for such a follower: its record is not deferred anything."""
        fetching.thread.fetched[1].leader.isr = 0
        fetching.act(_note, fetching.fetch)
        assert deferred(fetching.fetch) == 0b1101
        assert fetching.noted() == [False, True, False, False]

    def test_one_that_is_behind_is_not_pending(self, fetching: Fetching) -> None:
        """It gets nothing, neither deferred nor noted."""
        fetching.record_of(3).last_fetch_leader_log_end_offset = OFFSET + 1
        fetching.act(_note, fetching.fetch)
        assert deferred(fetching.fetch) == 0b0111
        assert fetching.noted() == NOWHERE

    @pytest.mark.parametrize("why", ["given up", "checked"])
    def test_a_fetch_that_is_not_trusted_notes_at_once(self, fetching: Fetching, why: str) -> None:
        """One that its thread gave up, or that something may stand against."""
        if why == "given up":
            fetching.thread.request = None
        else:
            fetching.world.header.rare_events += 1
        fetching.act(_note, fetching.fetch)
        assert deferred(fetching.fetch) == 0
        assert fetching.noted() == EVERYWHERE

    def test_offsets_are_pending_and_not_fetches(self, fetching: Fetching) -> None:
        """A fetch given up takes the offset with it that its follower has asked for again."""
        given_up = fetching.request(1)
        given_up.pending = 1
        fetching.act(_note, fetching.fetch)
        fetching.act(_forget, given_up)
        fetching.act(_flush_all)
        assert fetching.noted() == NOWHERE
