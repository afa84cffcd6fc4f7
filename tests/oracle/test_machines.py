"""What machines refuse, and how threads are chosen: the rest of them is in the timelines' file."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from tests.oracle import replay_vector
from tests.oracle.fetcher_mgr import fetcher_id, java_hash
from tests.saying import refused
from tests.tables import from_table


def replay(machine: str, variant: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """Replay these steps."""
    return replay_vector({"machine": machine, "variant": variant, "timeline": list(steps)}, 1)


class TestRefusals:
    """Timelines that cannot be run."""

    @from_table
    def test_message(self, machine: str, steps: list[dict[str, Any]], message: str) -> None:
        """The text, exactly."""
        assert refused(lambda: replay(machine, "3.7-3.9", *steps)) == f"timeline: line 1: {message}"

    def test_too_many_replicas(self) -> None:
        """An election walks among sixteen."""
        change = {"op": "partition_change", "isr": [1], "leader": 1, "acceptable": [1]}
        sixteen = replay("election_kraft", "kraft", change | {"replicas": list(range(16))})
        assert sixteen["state"]["leader"] == 1
        with pytest.raises(InputError, match="target_replicas: 17; allowed: at most 16 replicas"):
            replay("election_kraft", "kraft", change | {"replicas": list(range(17))})


class TestThreads:
    """Which fetcher thread has a partition."""

    @pytest.mark.parametrize(
        ("text", "value"),
        [("", 0), ("a", 97), ("topic", 110546223), ("polygenelubricants", -(2**31))],
    )
    def test_java_hash(self, text: str, value: int) -> None:
        """String.hashCode, overflow and sign included."""
        assert java_hash(text) == value

    @pytest.mark.parametrize(("partition", "thread"), [(0, 1), (1, 0), (2, 2)])
    def test_fetcher_id(self, partition: int, thread: int) -> None:
        """(31 * hash + partition) mod n, of the absolute value."""
        assert fetcher_id("topic", partition, 3) == thread
