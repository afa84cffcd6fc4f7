"""Events as rows of the events table."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema

from isr_pipeline.errors import BudgetSpent, InputError
from isr_pipeline.outcomes.events import event_table
from isr_pipeline.outcomes.schemas import EVENTS
from isr_pipeline.scenarios.events import Events
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.shared import Runs
from isr_pipeline.simulation.layout import EVENT_NAMES
from tests.simulation.random_scenarios import BUDGET, FromSeed, raw_scenario

KEY = {"panel": "fresh", "scenario_id": "s", "config_id": "c0"}
SCHEMA = to_arrow_schema(EVENTS)


def many_events() -> list[Events]:
    """Events of random scenarios."""
    found = []
    for seed in range(400):
        try:
            scenario = parse_scenario(raw_scenario(FromSeed(seed)), "random")
            found.append(Runs(BUDGET).of(scenario)[1])
        except (BudgetSpent, InputError):
            continue
    return found


def expected(seq: int, event: dict[str, Any]) -> dict[str, Any]:
    """Row of an event that is named one by one."""
    row = {**KEY, "seq": seq, "decided_ms": None, **event}
    return row | {"isr": None if event["isr"] is None else json.dumps(event["isr"])}


class TestEventTable:
    """Whole columns say what the events say one by one."""

    def test_rows(self) -> None:
        """Of hundreds of random runs, with events of nearly every kind, every row is right."""
        kinds: set[str] = set()
        for events in many_events():
            rows = event_table(events, KEY, 1000, SCHEMA).to_pylist()
            assert rows == [expected(i, e) for i, e in enumerate(events.named()[:1000])]
            kinds |= {row["kind"] for row in rows}
        assert len(kinds) >= len(EVENT_NAMES) - 1, set(EVENT_NAMES) - kinds

    def test_causes(self) -> None:
        """Every cause is JSON as Python writes it."""
        causes = {e["cause"] for events in many_events() for e in events.named()} - {None}
        assert len(causes) > 100
        assert {json.dumps(json.loads(cause)) for cause in causes} == causes

    def test_most(self) -> None:
        """No more rows than wanted, the first ones; none of a run without events."""
        events = max(many_events(), key=lambda events: len(events.rows))
        assert event_table(events, KEY, 7, SCHEMA)["seq"].to_pylist() == list(range(7))
        none = Events(events.rows[:0], events.names)
        assert event_table(none, KEY, 7, SCHEMA).num_rows == 0
