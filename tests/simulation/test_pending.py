"""Pending reads that a fetch defers instead of writing them into records."""

from __future__ import annotations

from typing import Any

import numba
import pytest

from isr_pipeline.kafka import kip501, record
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation.shortcuts import pending
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.encoder import World, encode

PARTITIONS = 4
OFFSET = 7


@numba.njit
def _note(w, rec, rules, q):  # type: ignore[no-untyped-def]
    pending.note_pending(w, rec, rules, q)


@numba.njit
def _forget(w, rec, rules, q):  # type: ignore[no-untyped-def]
    pending.forget_pending(w, rec, rules, q)


@numba.njit
def _flush_all(w, rec, rules):  # type: ignore[no-untyped-def]
    pending.flush_all(w, rec, rules)


class Fetching:
    """A world at rest in which one thread's fetch of all its partitions reaches the leader."""

    def __init__(self) -> None:
        raw = {
            "scenario_id": "pending",
            "horizon_ms": 1000,
            "warmup_ms": 0,
            "cluster": {"release": "3.7+", "controller": "kraft", "brokers": [1, 2]},
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
        w = self.world.w
        self.thread = int(w[at.H_THR])
        w[self.thread + at.T_VALIDATED] = w[at.G_RARE]
        self.fetch = self.request(0)
        w[self.thread + at.T_REQ] = self.fetch

    def request(self, number: int) -> int:
        """One of the thread's requests, validated, for all of its partitions."""
        w = self.world.w
        q = int(w[self.thread + at.T_REQ0]) + number * at.Q_SIZE
        w[q + at.Q_VALIDATED] = w[at.G_RARE]
        w[q + at.Q_N] = PARTITIONS
        for i in range(PARTITIONS):
            w[w[q + at.Q_ENT] + i * at.E_SIZE + at.E_OFFSET] = OFFSET
        return q

    def place_in_thread(self, i: int) -> int:
        """Row pointer of one of its fetched partitions."""
        return int(self.world.w[self.thread + at.T_FETCHED]) + i * at.K_SIZE

    def record_of(self, i: int) -> int:
        """Index of the leader's record of it."""
        return int(self.world.w[self.place_in_thread(i) + at.K_REC])

    def act(self, function: Any, *q: int) -> None:
        """Let one of the functions work on the world."""
        function(self.world.w, self.world.rec, self.world.rules, *q)

    def deferred(self, q: int) -> int:
        """A bit for each partition whose pending read the request defers."""
        return int(self.world.w[q + at.Q_PENDING]) >> 1

    def noted(self) -> list[bool]:
        """Of each partition, whether the record holds a pending read."""
        rec = self.world.rec
        return [bool(kip501.is_pending(rec, self.record_of(i))) for i in range(PARTITIONS)]


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
        assert fetching.deferred(fetching.fetch) == 0b1111
        assert fetching.noted() == NOWHERE

    def test_they_are_noted_when_somebody_looks(self, fetching: Fetching) -> None:
        """Then each record holds the pending offset, once."""
        fetching.act(_note, fetching.fetch)
        fetching.act(_flush_all)
        fetching.act(_flush_all)
        rec, row = fetching.world.rec, fetching.record_of(2)
        assert fetching.noted() == EVERYWHERE
        assert fetching.deferred(fetching.fetch) == 0
        assert rec[row, record.PENDING_OFFSET_0] == OFFSET
        assert rec[row, record.PENDING_COUNT_0] == 1

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
        assert fetching.world.w[fetching.fetch + at.Q_PENDING] == 0

    def test_outside_the_isr_at_once(self, fetching: Fetching) -> None:
        """The high watermark may wait for such a follower: its record is not deferred anything."""
        w = fetching.world.w
        w[w[fetching.place_in_thread(1) + at.K_LROW] + at.R_ISR] = 0
        fetching.act(_note, fetching.fetch)
        assert fetching.deferred(fetching.fetch) == 0b1101
        assert fetching.noted() == [False, True, False, False]

    def test_one_that_is_behind_is_not_pending(self, fetching: Fetching) -> None:
        """It gets nothing, neither deferred nor noted."""
        fetching.world.rec[fetching.record_of(3), record.PREV_LEADER_LEO] = OFFSET + 1
        fetching.act(_note, fetching.fetch)
        assert fetching.deferred(fetching.fetch) == 0b0111
        assert fetching.noted() == NOWHERE

    @pytest.mark.parametrize("why", ["given up", "checked"])
    def test_a_fetch_that_is_not_trusted_notes_at_once(self, fetching: Fetching, why: str) -> None:
        """One that its thread gave up, or that something may stand against."""
        w = fetching.world.w
        if why == "given up":
            w[fetching.thread + at.T_REQ] = -1
        else:
            w[at.G_RARE] += 1
        fetching.act(_note, fetching.fetch)
        assert fetching.deferred(fetching.fetch) == 0
        assert fetching.noted() == EVERYWHERE

    def test_offsets_are_pending_and_not_fetches(self, fetching: Fetching) -> None:
        """A fetch given up takes the offset with it that its follower has asked for again."""
        given_up = fetching.request(1)
        fetching.world.w[given_up + at.Q_PENDING] = 1
        fetching.act(_note, fetching.fetch)
        fetching.act(_forget, given_up)
        fetching.act(_flush_all)
        assert fetching.noted() == NOWHERE
