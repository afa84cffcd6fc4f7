"""What a scenario's load costs: whether it repeats, and how many events it makes.

Where batches and client requests come again after a short time, the kernel jumps over what repeats
(`simulation.shortcuts.cycles`). Any other load is simulated event by event.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.worlds.choices import choices_for
from isr_pipeline.worlds.entities import entities_of
from isr_pipeline.worlds.template import period_ns

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isr_pipeline.scenarios.model import Scenario

PERIOD_MIN_US = 10_000
PERIOD_MAX_US = 1_000_000
EVENTS_OF_A_BATCH = 5
"""Of each replica: for the leader the batch, its way there, the append, the answer and its way
back; for a follower the same of its fetch. As many as that if no two batches share a fetch."""
EVENTS_OF_A_CLIENT_REQUEST = 3


@dataclass(frozen=True, slots=True)
class Load:
    """What comes to a cluster.

    Attributes:
        period_us: time after which all of it comes again; 0 if that is longer than a second.
        events_per_s: that it makes while nothing happens, were they all simulated; fewer where
            batches share a fetch.
    """

    period_us: int
    events_per_s: float


def client_period_ns(requests_per_s: float) -> int:
    """Time between two client requests besides produce; 0 if there are none."""
    return max(1000, round(1e9 / requests_per_s)) if requests_per_s > 0 else 0


def common_period_us(periods_ns: Iterable[int]) -> int:
    """Time after which whatever comes with these periods comes as before: 0 if that is long."""
    common = math.lcm(1000, *(period for period in set(periods_ns) if period > 0)) // 1000
    if common > PERIOD_MAX_US:
        return 0
    return common * max(1, -(-PERIOD_MIN_US // common))


def load_of(scenario: Scenario) -> Load:
    """Load of a scenario while nothing happens to it."""
    entities, clients = entities_of(scenario), choices_for(scenario).clients_per_s
    periods = {client_period_ns(rate) for rate in clients}
    events = EVENTS_OF_A_CLIENT_REQUEST * sum(clients)
    for i, stream in entities.streams:
        periods.add(period_ns(stream))
        batches = stream.records_per_s / stream.records_per_batch
        events += EVENTS_OF_A_BATCH * len(entities.partitions[i].replicas) * batches
    return Load(common_period_us(periods), events)
