"""Who has to wait for a partition's write lock."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.partition import write_waits


@pytest.mark.parametrize(
    ("readers", "held", "waits"),
    [(0, False, False), (1, False, True), (0, True, True), (2, True, True)],
)
def test_a_change_waits_for_readers_and_for_an_isr_write(
    readers: int, held: bool, waits: bool
) -> None:
    """One reader is enough, and so is a synchronous write."""
    assert write_waits(readers, held) is waits
