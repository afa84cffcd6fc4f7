"""Events as rows of the events table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.tables.events import Kept, event_table
from isr_pipeline.tables.schemas import EVENTS
from isr_pipeline.worlds.events import KINDS, Events
from isr_pipeline.worlds.reuse import Simulations
from tests.simulation.random_scenarios import BUDGET, FromSeed, raw_scenario

SCHEMA = EVENTS


@pytest.fixture(scope="module")
def many_events() -> list[Events]:
    """Events of random scenarios."""
    found = []
    for seed in range(400):
        try:
            scenario = parse_scenario(raw_scenario(FromSeed(seed)), "random")
            found.append(Simulations(BUDGET).result_for(scenario)[1])
        except (BudgetSpent, InputError):
            continue
    return found


def kept(events: Events, name: str = "s") -> Kept:
    """Events of a pair of a scenario with a name."""
    return Kept("fresh", name, "c0", events)


def expected(name: str, events: Events) -> list[dict[str, Any]]:
    """Rows of events that are named one by one."""
    pair = {"panel": "fresh", "scenario_id": name, "config_id": "c0"}
    rows = []
    for seq, event in enumerate(events.named()):
        isr = None if event["isr"] is None else json.dumps(event["isr"])
        rows.append({**pair, "seq": seq, "decided_ms": None, **event, "isr": isr})
    return rows


class TestEventTable:
    """Whole columns say what the events say one by one."""

    def test_rows(self, many_events: list[Events]) -> None:
        """Of hundreds of random runs, with events of nearly every kind, every row is right."""
        runs = many_events
        rows = event_table([kept(events, f"s{i}") for i, events in enumerate(runs)], SCHEMA)
        assert rows.to_pylist() == [
            row for i, events in enumerate(runs) for row in expected(f"s{i}", events)
        ]
        kinds = set(rows["kind"].to_pylist())
        assert len(kinds) >= len(KINDS) - 1, set(KINDS) - kinds

    def test_pairs_of_one_world(self, many_events: list[Events]) -> None:
        """Pairs whose worlds have the same partitions stay apart."""
        events = max(many_events, key=lambda events: len(events.rows))
        table = event_table([kept(events, "a"), kept(events.first(3), "b")], SCHEMA)
        assert table.to_pylist() == expected("a", events) + expected("b", events.first(3))

    def test_causes(self, many_events: list[Events]) -> None:
        """Every cause is JSON as Python writes it."""
        causes = {e["cause"] for events in many_events for e in events.named()} - {None}
        assert len(causes) > 100
        assert {json.dumps(json.loads(cause)) for cause in causes} == causes

    def test_none(self, many_events: list[Events]) -> None:
        """Without pairs, and of a pair without events, there are no rows."""
        assert event_table([], SCHEMA).num_rows == 0
        assert event_table([kept(many_events[0].first(0))], SCHEMA).num_rows == 0
