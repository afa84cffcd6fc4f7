"""How long ZooKeeper's controller waits."""

from __future__ import annotations

import pytest

from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.zookeeper import takes


@pytest.mark.parametrize(
    ("release", "requests", "rounds", "waits"),
    [
        *[("0.10.2-2.0", 2000, 2, 2000), ("0.10.2-2.0", 0, 2, 0)],
        *[("2.1-2.6", 2000, 2, 2), ("2.1-2.6", 1, 2, 1), ("2.1-2.6", 0, 2, 0)],
    ],
)
def test_to_1_0_for_each_request_later_for_each_round(
    release: str, requests: int, rounds: int, waits: int
) -> None:
    """KAFKA-5642: all requests of a round are in flight together."""
    assert takes(switches(RULE_SETS[release]), requests, rounds, 7) == 7 * waits
