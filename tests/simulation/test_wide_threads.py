"""Fetcher threads of many partitions."""

from __future__ import annotations

import pytest

from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import run
from tests.scenario import one_topic_scenario
from tests.worlds.checks import checked_run

BATCHES = 15
"""Of a record, from each partition's producer, in three seconds."""


def wide(partitions: int) -> Scenario:
    """Two brokers with so many partitions, a pause, and enough batches for all of them."""
    produce = {"records_per_s": 5, "records_per_batch": 1, "acks": "all"}
    return one_topic_scenario(
        {"partitions": partitions, "replication_factor": 2, "produce": produce},
        cluster={"brokers": [1, 2]},
        horizon_ms=3000,
        faults=[{"kind": "pause", "broker": 2, "start_ms": 1000, "duration_ms": 300}],
    )


@pytest.mark.slow
class TestWideThreads:
    """A thread may fetch more partitions than a word has bits."""

    @pytest.mark.parametrize("per_thread", [32, 33, 64, 80])
    def test_nothing_is_missed(self, per_thread: int) -> None:
        """Every invariant holds, and every batch is committed."""
        scenario = wide(2 * per_thread)
        assert encode(scenario).header.threads.used_count == per_thread
        checked = checked_run(scenario, events=True)
        assert checked.outcome["records_acked"] == 2 * per_thread * BATCHES
        assert checked.outcome["batches_uncommitted"] == 0
        assert run(scenario, events=True) == checked
