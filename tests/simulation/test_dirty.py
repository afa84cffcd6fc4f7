"""Dirty bits: which partitions of a fetcher thread may have something new."""

from __future__ import annotations

import numba
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.kafka.rows import trailing_zeros
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.simulation.shortcuts.dirty import EVERYTHING
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import run
from tests.scenario import one_topic_scenario
from tests.worlds.checks import checked_run


@numba.njit
def _counted(bits):  # type: ignore[no-untyped-def]
    return trailing_zeros(bits)


class TestTrailingZeros:
    """How far it is to the next set bit."""

    @given(st.integers(0, EVERYTHING))
    def test_compiled_as_in_plain_python(self, bits: int) -> None:
        """The processor's instruction counts as the text of the binary number does."""
        written = f"{bits:b}"
        expected = len(written) - len(written.rstrip("0")) if bits else 64
        assert _counted(bits) == expected


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
    """A word has 32 bits; a thread may fetch more partitions."""

    @pytest.mark.parametrize("per_thread", [32, 33, 64, 80])
    def test_nothing_is_missed(self, per_thread: int) -> None:
        """Every invariant holds, and every batch is committed, of one word, of several."""
        scenario = wide(2 * per_thread)
        assert encode(scenario).header.threads.used_count == per_thread
        checked = checked_run(scenario, events=True)
        assert checked.outcome["records_acked"] == 2 * per_thread * BATCHES
        assert checked.outcome["batches_uncommitted"] == 0
        assert run(scenario, events=True) == checked
