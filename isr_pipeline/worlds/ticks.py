"""When brokers look for followers to remove: the isr-expiration task of each, as it is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.worlds.choices import choices_for
from isr_pipeline.worlds.encoder import draws, first_ticks
from isr_pipeline.worlds.entities import entities_of

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario


def planned_ticks(scenario: Scenario) -> dict[int, tuple[float, float]]:
    """Broker -> its first tick and its period, both in ms.

    A walk that waits for a lock ends later, and a broker that returns begins anew at its start.

    Args:
        scenario: its configuration laid over it.
    """
    periods_us = choices_for(scenario).own["tick_period_us"]
    entities = entities_of(scenario)
    drawn = draws(scenario.seed, "isr-expiration", entities.broker_names)
    firsts = first_ticks(scenario, drawn, periods_us)
    return {
        broker: (int(first) / 1000, int(period) / 1000)
        for broker, first, period in zip(entities.brokers, firsts, periods_us, strict=True)
    }
