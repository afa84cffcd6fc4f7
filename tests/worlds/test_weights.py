"""A partition that stands for several: what is counted of it counts so often."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.columns import EXPOSURE, METRICS, OF_THE_RUN
from isr_pipeline.worlds.run import run
from tests.worlds.checks import checked_run

PARTITIONS = 6
FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "pause", "broker": 3, "start_ms": 3_000, "duration_ms": 14_000},
    {"kind": "crash", "broker": 1, "start_ms": 25_000, "restart_after_ms": 10_000},
    {
        "kind": "partition_error",
        "broker": 2,
        "topic": "t",
        "partition": 0,
        "start_ms": 4_000,
        "error": "unexpected",
    },
)


def scenario(weights: dict[str, int] | None = None, **more: Any) -> Scenario:
    """Three brokers, six partitions, a pause and a crash."""
    topic: dict[str, Any] = {
        "name": "t",
        "assignment": {str(n): [1 + n % 3, 1 + (n + 1) % 3, 1 + (n + 2) % 3] for n in range(6)},
        "produce": [{"records_per_s": 20, "records_per_batch": 10, "acks": "all"}],
    }
    if weights:
        topic["weights"] = weights
    return parse_scenario(
        {
            "scenario_id": "s",
            "horizon_ms": 60_000,
            "warmup_ms": 1_000,
            "cluster": {"release": "3.7+", "controller": "kraft", "brokers": [1, 2, 3]},
            "topics": [topic],
            "config": {"replica.lag.time.max.ms": 5_000, "min.insync.replicas": 2},
            "faults": list(FAULTS),
            **more,
        },
        "F",
    )


def outcome(weights: dict[str, int] | None = None, **more: Any) -> dict[str, Any]:
    """What a run measures."""
    return run(scenario(weights, **more)).outcome


COUNTS = (
    "records_acked",
    "records_acked_by_one_replica",
    "records_lost",
    "batches_uncommitted",
    "unclean_elections",
    "detection_delay_ms",
    "failed_partitions_max",
    "partitions_unavailable_at_end",
)
"""Columns that count partitions, and are no rate over them."""


def test_equal_weights_change_no_rate() -> None:
    """Where each stands for seven, rates and latencies are the same, and counts seven times."""
    one, seven = outcome(), outcome({str(n): 7 for n in range(PARTITIONS)})
    for name in (*METRICS, *OF_THE_RUN):
        times = 7 if name in COUNTS else 1
        assert seven[name] == pytest.approx(times * one[name]), name
    assert one["isr_shrinks_per_partition_hour"] > 0
    assert one["produce_unavailable_rate"] > 0
    assert one["failed_partitions_max"] > 0


def test_a_weight_is_as_good_as_copies() -> None:
    """A rate is the mean over partitions, each counted by its weight."""
    by_partition = []
    for n in range(PARTITIONS):
        huge = outcome({str(n): 1_000_000})
        by_partition.append(huge["produce_unavailable_rate"])
    weights = np.array([1, 1, 5, 1, 9, 1])
    mixed = outcome({"2": 5, "4": 9})
    expected = float(np.average(by_partition, weights=weights))
    assert mixed["produce_unavailable_rate"] == pytest.approx(expected, rel=1e-3)
    assert len({round(one, 4) for one in by_partition}) > 1


def test_latencies_by_weight() -> None:
    """The histogram of latencies counts a batch by its partition's weight."""
    slow, fast = outcome({"2": 1_000_000}), outcome({"0": 1_000_000})
    plain = outcome()["commit_latency_p99_ms"]
    low, high = sorted((slow["commit_latency_p99_ms"], fast["commit_latency_p99_ms"]))
    assert low < high
    assert low <= plain <= high


def test_exposure_counts_weights() -> None:
    """Partition-time, by which rates are divided, counts a partition by its weight."""
    assert outcome({"1": 5})[EXPOSURE] == 10 * 59_000_000


def test_zookeeper_writes_every_partition() -> None:
    """Up to 2.6 a leader writes one ISR after the other: those that it stands for take their time.

    With ten times the weight, a tick that removes a follower is held up ten times as long.
    """
    old = {"cluster": {"release": "0.10.2-2.0", "controller": "zookeeper", "brokers": [1, 2, 3]}}
    once = _first_shrinks(outcome_events({}, **old))
    tenfold = _first_shrinks(outcome_events({str(n): 10 for n in range(PARTITIONS)}, **old))
    assert tenfold == pytest.approx(10 * once, rel=0.1)


def outcome_events(weights: dict[str, int], **more: Any) -> list[dict[str, Any]]:
    """Events of a run."""
    return run(scenario(weights, **more), events=True).events


def _first_shrinks(events: list[dict[str, Any]]) -> float:
    """Time from the first decision of a shrink to its commit, in ms."""
    shrink = next(one for one in events if one["kind"] == "isr_shrink")
    return float(shrink["t_ms"] - shrink["decided_ms"])


def test_invariants_hold() -> None:
    """What the kernel counts by weight agrees with what it holds, at every event."""
    checked_run(scenario({"0": 3, "4": 20}))


def test_jumps_change_nothing() -> None:
    """A stretch that is jumped over counts as if it had been simulated."""
    given = scenario({"0": 3, "4": 20})
    jumped, forced = run(given).outcome, run(given, jumps=False).outcome
    assert {k: v for k, v in jumped.items() if k != "kernel_events"} == {
        k: v for k, v in forced.items() if k != "kernel_events"
    }
