"""Jumps over stretches that repeat change nothing but the work.

The proof of `shortcuts.cycles`: the same scenario with and without jumps gives the same outcome
and the same events, bit by bit. To try more scenarios than here:

    ISR_PIPELINE_EXAMPLES=10000 .venv/bin/pytest tests/simulation/test_cycles.py
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.events import events_of
from isr_pipeline.worlds.run import advance, outcome_of
from tests.scenario import one_topic_scenario
from tests.simulation.random_scenarios import FromSeed, raw_scenario
from tests.simulation.test_invariants import simple
from tests.simulation.worlds import FAST

EXAMPLES = int(os.environ.get("ISR_PIPELINE_EXAMPLES", "400"))
BATCH = 100
BUDGET = 3_000_000


def repeating(seed: int) -> dict[str, Any]:
    """Draw a scenario whose workload and clients have a short common period."""
    source = FromSeed(seed)
    raw = raw_scenario(source, horizons=(6000, 12000, 30000))
    for topic in raw["topics"]:
        for stream in topic["produce"]:
            rate, batch = source.of(((20, 1), (100, 5), (50, 1), (200, 5), (10, 1)))
            stream.update(records_per_s=rate, records_per_batch=batch)
    raw["service"]["client_requests_per_s"] = source.of((0, 10, 100))
    raw["scenario_id"] = f"seed-{seed}"
    return raw


def at_any_rate(seed: int) -> dict[str, Any]:
    """Draw a scenario whose streams and clients have rates of their own: few repeat together."""
    source = FromSeed(seed)
    raw = raw_scenario(source, horizons=(6000, 12000))
    for topic in raw["topics"]:
        for stream in topic["produce"]:
            stream.update(
                records_per_s=source.whole(1, 900) / source.of((1, 3, 7, 10)),
                records_per_batch=source.whole(1, 7),
            )
    raw["service"]["client_requests_per_s"] = source.of((0, 100, 33.3, 97))
    raw["scenario_id"] = f"rates-{seed}"
    return raw


def finished(scenario: Scenario, *, jumps: bool) -> World:
    """The world of a scenario at its horizon."""
    world = encode(scenario, events=True, jumps=jumps, budget=BUDGET)
    advance(world)
    if world.header.budget_spent:
        raise BudgetSpent(scenario.scenario_id, BUDGET)
    return world


def differences(scenario: Scenario) -> list[str]:
    """What differs between a run with jumps and one without."""
    quick, slow = finished(scenario, jumps=True), finished(scenario, jumps=False)
    one, other = outcome_of(quick), outcome_of(slow)
    found = [f"{name}: {one[name]} != {other[name]}" for name in one if one[name] != other[name]]
    for mine, its in zip(events_of(quick).named(), events_of(slow).named(), strict=False):
        if mine != its:
            return [*found, f"first other event: {mine} != {its}"]
    return found


class TestExact:
    """Outcome and events are those of the run without jumps."""

    @pytest.mark.parametrize("first", range(0, EXAMPLES, BATCH))
    def test_random_scenarios(self, first: int) -> None:
        """No scenario of this batch differs, whatever its release, rules and faults."""
        compared = 0
        for seed in range(first, min(first + BATCH, EXAMPLES)):
            try:
                scenario = parse_scenario(repeating(seed), "random")
                found = differences(scenario)
            except (BudgetSpent, InputError):
                continue
            assert not found, f"seed {seed}: {found}"
            compared += 1
        assert compared > BATCH // 2

    def test_random_rates(self) -> None:
        """Nor does one of any rates: most never repeat, and are simulated event by event."""
        jumped = {True: 0, False: 0}
        for seed in range(BATCH):
            try:
                scenario = parse_scenario(at_any_rate(seed), "random")
                found = differences(scenario)
            except (BudgetSpent, InputError):
                continue
            assert not found, f"seed {seed}: {found}"
            jumped[bool(finished(scenario, jumps=True).header.period_us)] += 1
        assert jumped[False] > BATCH // 3
        assert jumped[True] > 0


REFUSED = [{"kind": "crash", "start_ms": 10_000, "broker": b} for b in (2, 3)]
LEADERLESS = [{"kind": "crash", "start_ms": 10_000, "broker": 1, "restart_after_ms": 170_000}]
CUT_OFF = [
    {"kind": "link", "start_ms": 10_000, "duration_ms": 340_000, "drop": True, "both_ways": True}
    | {"from": 1, "to": to}
    for to in (2, 3, "controller")
]


class TestProducers:
    """What a producer counts towards an end stops a jump: deliveries, the age of metadata."""

    @pytest.mark.parametrize("retries", [None, 0])
    @pytest.mark.parametrize("delivery_timeout_ms", [120_000, 10_000])
    @pytest.mark.parametrize(
        ("faults", "replicas"),
        [(REFUSED, [1, 2, 3]), (LEADERLESS, [1]), (CUT_OFF, [1, 2, 3])],
        ids=["refused", "leaderless", "cut-off"],
    )
    def test_it_ends_at_the_same_time(
        self,
        faults: list[dict[str, Any]],
        replicas: list[int],
        delivery_timeout_ms: int,
        retries: int | None,
    ) -> None:
        """With one partition whose producer wants all acknowledgements, and one that wants one."""
        stream = {"records_per_s": 20, "records_per_batch": 1, "retries": retries}
        stream["delivery_timeout_ms"] = delivery_timeout_ms
        given = one_topic_scenario(
            {
                "assignment": {0: replicas, 1: replicas},
                "produce": [
                    {**stream, "acks": acks, "partitions": [i]} for i, acks in enumerate((1, "all"))
                ],
            },
            cluster={"release": "4.1+"},
            horizon_ms=350_000,
            config={**FAST, "min.insync.replicas": min(2, len(replicas))},
            service={"client_requests_per_s": 0},
            faults=faults,
        )
        assert differences(given) == []
        assert finished(given, jumps=True).header.jump_count > 0


def events_between(begin_ms: int, end_ms: int, **more: Any) -> tuple[int, int]:
    """Events of a simple world within a stretch: all, and those simulated one by one."""
    whole = simple(horizon_ms=120_000, **more)
    early, late = (
        finished(whole.model_copy(update={"horizon_ms": end}), jumps=True).header
        for end in (begin_ms, end_ms)
    )
    every = late.event_count - early.event_count
    return every, every - (late.jumped_events - early.jumped_events)


class TestWorth:
    """Quiet stretches cost next to nothing."""

    def test_a_healthy_world(self) -> None:
        """At least fifty times fewer events are simulated one by one."""
        every, one_by_one = events_between(1_000, 120_000)
        assert one_by_one * 50 < every

    def test_a_stalled_world(self) -> None:
        """So are they while a disk hangs and records go on coming."""
        stall = {"kind": "read_stall", "broker": 1, "start_ms": 10_000, "duration_ms": 90_000}
        produce = {"records_per_s": 20, "records_per_batch": 1, "acks": 1}
        topic = {"name": "t", "partitions": 12, "replication_factor": 3, "produce": produce}
        every, one_by_one = events_between(
            15_000, 39_000, topics=[topic], faults=[{**stall, "partitions": ["t-0"]}]
        )
        assert one_by_one * 50 < every

    def test_rates_without_a_common_period(self) -> None:
        """Are simulated event by event."""
        raw = repeating(1)
        raw["topics"] = [
            {
                "name": "odd",
                "assignment": {0: [1, 2, 3]},
                "produce": [{"records_per_s": 7, "records_per_batch": 3}],
            }
        ]
        raw["cluster"]["brokers"] = [1, 2, 3]
        raw["faults"] = []
        assert encode(parse_scenario(raw, "odd")).header.period_us == 0
