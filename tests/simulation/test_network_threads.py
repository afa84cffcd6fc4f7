"""A connection belongs to one network thread: who waits behind an answer that is stuck."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.worlds.run import Result, run

FOLLOWERS = 6
STALL = {
    "kind": "read_stall",
    "broker": 1,
    "stage": "send",
    "partitions": ["cold-0"],
    "start_ms": 10000,
    "duration_ms": 20000,
}


def ran(*, threads: int, listener: bool = True, seed: int = 1) -> Result:
    """Broker 2's fetch hangs in its send; brokers 3 to 8 follow a partition each of topic hot."""
    load = {"records_per_s": 20, "records_per_batch": 1, "record_bytes": 500, "acks": 1}
    return run(
        parse_scenario(
            {
                "scenario_id": "stuck-send",
                "seed": seed,
                "warmup_ms": 0,
                "horizon_ms": 45000,
                "cluster": {
                    "release": "3.7-3.9",
                    "controller": "kraft",
                    "brokers": list(range(1, FOLLOWERS + 3)),
                    "replication_listener": listener,
                },
                "topics": [
                    {"name": "cold", "assignment": {0: [1, 2]}, "produce": [load]},
                    {
                        "name": "hot",
                        "assignment": {p: [1, p + 3] for p in range(FOLLOWERS)},
                        "produce": [load],
                    },
                ],
                "config": {"replica.lag.time.max.ms": 5000, "num.network.threads": threads},
                "faults": [STALL],
            },
            "stuck-send",
        ),
        events=True,
    )


def left(found: Result) -> set[int]:
    """Partitions of topic hot that lost their follower while the disk stood still."""
    events: list[dict[str, Any]] = [one for one in found.events if one["kind"] == "isr_shrink"]
    return {one["partition"] for one in events if one["topic"] == "hot" and one["t_ms"] < 29000}


class TestStuckSend:
    """An answer that waits for a disk."""

    @pytest.mark.parametrize("seed", range(4))
    def test_stops_a_third_of_the_others_of_three_threads(self, seed: int) -> None:
        """Seven connections come round robin: two or three belong to that thread."""
        assert len(left(ran(threads=3, seed=seed))) in (1, 2)

    def test_stops_others_for_other_seeds(self) -> None:
        """Who came first is drawn."""
        assert len({frozenset(left(ran(threads=3, seed=seed))) for seed in range(4)}) > 1

    def test_stops_all_of_one_thread(self) -> None:
        """Whoever fetches from the broker is behind it."""
        assert left(ran(threads=1)) == set(range(FOLLOWERS))

    def test_stops_producers_on_the_same_listener(self) -> None:
        """What is not appended, nobody is behind of."""
        assert left(ran(threads=1, listener=False)) == set()

    def test_is_over_with_the_disks(self) -> None:
        """They fetch again, and return."""
        found = ran(threads=1)
        back = {one["partition"] for one in found.events if one["kind"] == "isr_expand"}
        assert back == set(range(FOLLOWERS))
