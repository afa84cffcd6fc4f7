"""How much work a scenario will be for the kernel: tasks of alike length are cut by it.

What repeats is jumped over, so the work lies where nothing repeats: a broker that comes back
catches up for a while, behind a slow disk a queue grows for as long as the disk is slow. A surge
of clients settles at once and costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.scenarios.model import Scenario

QUIET = 20.1
"""Thousands of events that a configuration fires in a scenario without faults."""

FAULTS: Mapping[str, tuple[float, float]] = {
    "controlled_restart": (38.2, 0.0),
    "controller_outage": (6.0, 2.2),
    "crash": (129.7, 0.0),
    "link": (3.7, 0.1),
    "partition_error": (0.0, 0.3),
    "pause": (0.9, 1.5),
    "read_stall": (5.5, 1.4),
    "slow_append": (0.0, 7.3),
    "slow_read": (65.6, 1.4),
}
"""Thousands of events more for a fault of a kind, and for each second that it lasts. Of kinds that
are not named they are too few to tell. Fitted to the reference panel by `benchmarks.costs`."""

REFERENCE_LOAD = 3720.0
"""Requests a second of the reference panel's cluster, as `_load` counts them."""


def expected_cost(scenario: Scenario) -> float:
    """Thousands of events that a configuration will fire, in rough proportion to its load."""
    cost = QUIET
    for fault in scenario.faults:
        each, per_s = FAULTS.get(fault.kind, (0.0, 0.0))
        cost += each + per_s * lasts_s(fault)
    return round(cost * _load(scenario) / REFERENCE_LOAD, 3)


def lasts_s(fault: Any) -> float:
    """How long a fault lasts; 0 for one of a moment."""
    duration_ms: float = vars(fault).get("duration_ms") or 0.0
    return duration_ms / 1000


def _load(scenario: Scenario) -> float:
    """Requests a second without faults: batches with their replication, and idle fetches."""
    batches = scenario.load_factor * sum(
        (
            stream.records_per_s * (len(topic.assignment) - len(stream.partition_rates))
            + sum(rate for _, rate in stream.partition_rates)
        )
        / stream.records_per_batch
        for topic in scenario.topics
        for stream in topic.produce
    )
    brokers = len(scenario.cluster.brokers)
    return 3 * batches + brokers * max(1, brokers - 1) * 4
