"""``python -m tests.exercises FILE SETTING...``: what it changes, with and without shortcuts.

For each pair, a line of JSON: what happens under today's configuration and under the other, and how
many events that takes without jumps and shared runs, and with them in either order.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import Scenario, apply
from isr_pipeline.simulation.alter_partition import tick_fires
from isr_pipeline.simulation.shortcuts import ticks
from isr_pipeline.simulation.shortcuts.rows_used import cells_read
from isr_pipeline.worlds.reuse import Simulations
from isr_pipeline.worlds.run import run


def one_by_one(scenarios: list[Scenario], plain: list[Any]) -> int:
    """Events simulated one by one where runs jump and are shared; -1 if they give another result.

    The scenarios are simulated in this order.
    """
    runs = Simulations()
    found = [runs.result_for(scenario) for scenario in scenarios]
    same = [(outcome, events.named()) for outcome, events in found] == plain
    return runs.events_fired if same else -1


def told(file: str, setting: str) -> dict[str, Any]:
    """What is told of one pair."""
    name, _, value = setting.partition("=")
    today = load_scenario(file)
    both = [today, apply(today, {name: value})]
    results = [run(one, events=True, jumps=False) for one in both]
    plain = [(result.outcome, result.events) for result in results]
    return {
        "kinds": [[(one["kind"], one["leader"]) for one in events] for _, events in plain],
        "plain": sum(outcome["kernel_events"] for outcome, _ in plain),
        "one_by_one": [one_by_one(both, plain), one_by_one(both[::-1], plain[::-1])],
        "unlisted": sorted(cells_read(tick_fires, ticks.ACTS) - ticks.LOOKED_AT.keys()),
    }


if __name__ == "__main__":
    given = iter(sys.argv[1:])
    for pair in zip(given, given, strict=True):
        sys.stdout.write(json.dumps(told(*pair)) + "\n")
