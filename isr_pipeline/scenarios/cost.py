"""What a scenario is expected to cost: how much work it is for the kernel.

Tasks of alike length are cut by it. What repeats is jumped over, so the work lies where nothing
repeats: a broker that comes back catches up for a while, behind a slow disk a queue grows for as
long as the disk is slow. A surge of clients settles at once and costs next to nothing.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from isr_pipeline.base.files.checks import number, one_of
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.scenarios.faults import KINDS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario

_FILE = Path(__file__).with_name("fault_costs.yaml")

_EVENTS = number(0, 1e9, "thousands of events >= 0")


class FaultCost(Strict):
    """What a fault of one kind costs."""

    each: Annotated[float, _EVENTS] = 0
    per_s: Annotated[float, _EVENTS] = 0


class Costs(Strict):
    """``fault_costs.yaml``, where every field is explained."""

    without_faults: Annotated[float, _EVENTS]
    reference_requests_per_s: Annotated[float, number(1, 1e9, "a number >= 1")]
    faults: dict[Annotated[str, one_of(*KINDS)], FaultCost]

    def of(self, kind: str) -> FaultCost:
        """What a fault of a kind costs; nothing if it is not named."""
        return self.faults.get(kind, FaultCost())


@functools.cache
def costs() -> Costs:
    """What was fitted to the reference panel.

    Raises:
        InputError: of ``fault_costs.yaml``, which is part of the package.
    """
    return validated(Costs, read_mapping(_FILE), str(_FILE))


def expected_cost(scenario: Scenario) -> float:
    """Thousands of events that a configuration will fire, in rough proportion to its load."""
    fitted = costs()
    cost = fitted.without_faults
    for fault in scenario.faults:
        one = fitted.of(fault.kind)
        cost += one.each + one.per_s * lasts_s(fault)
    return round(cost * _requests_per_s(scenario) / fitted.reference_requests_per_s, 3)


def lasts_s(fault: Any) -> float:
    """How long a fault lasts; 0 for one of a moment."""
    duration_ms: float = vars(fault).get("duration_ms") or 0.0
    return duration_ms / 1000


def _requests_per_s(scenario: Scenario) -> float:
    """Requests without faults: batches with their replication, and idle fetches."""
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
