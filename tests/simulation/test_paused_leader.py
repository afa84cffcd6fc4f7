"""A leader that stood still for longer than the lag limit: its ticks race with requests."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.run import advance, run
from tests.scenario import one_topic_scenario
from tests.simulation.test_cycles import differences
from tests.simulation.worlds import ACKS_1, fault

SEEDS = 50
SINCE_KAFKA_7152 = ["2.1-2.6", "3.7-3.9"]
LAG_MS = 1_000
PAUSE = fault("pause", 2_000, broker=1, duration_ms=1.5 * LAG_MS)
STALL = fault("read_stall", 2_000, broker=1, duration_ms=1_900, partitions=["t-0"])


def made(
    release: str,
    *faults: dict[str, Any],
    seed: int = 1,
    producers: int = 1,
    horizon_ms: int = 4_000,
) -> Scenario:
    """Broker 1 leads one partition; each producer writes to it on a connection of its own."""
    return one_topic_scenario(
        {
            "assignment": {0: [1, 2, 3]},
            "produce": [{**ACKS_1, "records_per_s": 50}] * producers,
        },
        seed=seed,
        horizon_ms=horizon_ms,
        cluster={"release": release, "controller": "zookeeper"},
        config={"replica.lag.time.max.ms": LAG_MS},
        service={"client_requests_per_s": 200},
        faults=list(faults),
    )


def taken_out(release: str, *, producers: int = 1) -> list[frozenset[int]]:
    """For each seed, the followers that the leader takes out when it goes on."""
    found = []
    for seed in range(SEEDS):
        scenario = made(release, PAUSE, seed=seed, producers=producers)
        events = run(scenario, events=True).events
        isrs = [one["isr"] for one in events if one["kind"] == "isr_shrink"]
        found.append(frozenset({2, 3}.difference(isrs[-1])) if isrs else frozenset())
    return found


def share(found: list[frozenset[int]]) -> float:
    """Of how many seeds somebody is taken out."""
    return sum(map(bool, found)) / len(found)


def end_of(release: str, trouble: dict[str, Any], kernel_seed: int) -> World:
    """The world at its horizon; whatever it draws on its way comes from ``kernel_seed``."""
    world = encode(made(release, trouble))
    world.header.seed = kernel_seed
    advance(world)
    return world


class TestOrder:
    """The seed decides which requests are handled before the last overdue tick."""

    @pytest.mark.parametrize("release", SINCE_KAFKA_7152)
    def test_three_of_four_lose_a_follower(self, release: str) -> None:
        """Brokers did in 3 of 3 recordings with one producer: a record came before the tick."""
        assert 0.65 <= share(taken_out(release)) <= 0.85

    @pytest.mark.parametrize("release", SINCE_KAFKA_7152)
    def test_more_connections_bring_a_record_earlier(self, release: str) -> None:
        """Brokers did in 8 of 10 recordings with two producers."""
        assert 0.75 <= share(taken_out(release, producers=2)) <= 0.95

    @pytest.mark.parametrize("release", SINCE_KAFKA_7152)
    def test_either_follower_may_be_kept(self, release: str) -> None:
        """Its fetch was read before the tick, as in 2 of 13 recordings."""
        every = {frozenset[int](), frozenset({2}), frozenset({3}), frozenset({2, 3})}
        assert set(taken_out(release)) == every

    @pytest.mark.parametrize("release", SINCE_KAFKA_7152)
    def test_without_records_nobody_leaves(self, release: str) -> None:
        """Nothing waits in sockets that could make a follower late."""
        assert not any(taken_out(release, producers=0))

    @pytest.mark.parametrize("producers", [0, 1])
    def test_to_2_0_a_follower_always_leaves(self, producers: int) -> None:
        """The first tick sees last fetches before the pause, whatever the offsets."""
        assert all(taken_out("0.10.2-2.0", producers=producers))


class TestDraws:
    """Only who wakes from a pause draws."""

    @pytest.mark.parametrize("release", SINCE_KAFKA_7152)
    @pytest.mark.parametrize(
        ("trouble", "draws"), [(PAUSE, True), (STALL, False)], ids=["pause", "stall"]
    )
    def test_nothing_is_drawn_without_a_pause(
        self, release: str, trouble: dict[str, Any], draws: bool
    ) -> None:
        """Another seed leaves each cell of a world as it is in which nobody paused."""
        one, other = (end_of(release, trouble, seed) for seed in (1, 2))
        one.header.seed = other.header.seed
        assert np.array_equal(one.w, other.w) is not draws


class TestJumps:
    """Quiet stretches are jumped over as before."""

    @pytest.mark.parametrize("seed", range(3))
    def test_a_pause_between_jumps_changes_nothing(self, seed: int) -> None:
        """Events and outcome are those of the run without jumps."""
        assert not differences(made("2.1-2.6", PAUSE, seed=seed, horizon_ms=60_000))

    def test_quiet_after_a_pause_is_jumped_over(self) -> None:
        """Nine of ten events of eleven minutes are."""
        world = encode(made("2.1-2.6", PAUSE, horizon_ms=660_000))
        advance(world)
        assert world.header.jumped_events > 0.9 * world.header.event_count
