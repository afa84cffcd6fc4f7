"""Cutting pairs into tasks, and a pair's row."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from isr_pipeline.base.errors import BudgetSpent, Refused
from isr_pipeline.experiment.configurations import Configuration
from isr_pipeline.kernels.process import Ran
from isr_pipeline.scenarios.model import Scenario, canonical_json, parse_scenario
from isr_pipeline.simulation.world.columns import Table
from isr_pipeline.simulation.world.tables import Event
from isr_pipeline.tables import pairs
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.worlds.columns import ADDED, COUNTED, EXPOSURE, METRICS, OF_THE_RUN
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.events import Events
from isr_pipeline.worlds.reuse import Simulations

SCENARIO = parse_scenario(
    {
        "scenario_id": "s",
        "horizon_ms": 60_000,
        "warmup_ms": 24_000,
        "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]},
        "topics": [{"name": "t", "partitions": 5, "replication_factor": 3}],
    },
    "test",
)
Simulated = tuple[dict[str, Any], Events]


class Known(Simulations):
    """Simulations whose results are known beforehand."""

    def __init__(self, run: Callable[[Any], Simulated]) -> None:
        super().__init__()
        self._run = run

    def result_for(self, scenario: Scenario) -> Simulated:
        """Give what is known."""
        return self._run(scenario)


GIVEN = {"panel": "fresh", "scenario_id": "s", "stratum": "calm", "weight": 2.0}


def configuration(name: str, overrides: dict[str, Any]) -> Configuration:
    """One of an experiment."""
    return Configuration(
        name=name, config_id=name, group="g", overrides=overrides, params={}, is_grid=False
    )


CONFIGURATION = configuration("today", {"replica.lag.time.max.ms": 20_000})
S2 = {"rules.kip501": "s2", "follower.fetch.pending.reads.insync.enable": True}
LIMIT = "follower.fetch.process.time.max.ms"


class TestPlanTasks:
    """Tasks of alike cost."""

    @pytest.mark.parametrize(("scenarios", "configurations"), [(1, 1), (3, 40), (200, 40), (7, 2)])
    def test_every_pair_once(self, scenarios: int, configurations: int) -> None:
        """Every pair is in exactly one task."""
        tasks = pairs.plan_tasks([1.0 + i % 5 for i in range(scenarios)], configurations, 24)
        found = [(s, c) for t in tasks for s in t.scenarios for c in t.configurations]
        assert sorted(found) == [(s, c) for s in range(scenarios) for c in range(configurations)]
        assert sum(task.pairs for task in tasks) == scenarios * configurations

    def test_alike(self) -> None:
        """With many scenarios the dearest task costs at most 1.1 of the median one."""
        tasks = pairs.plan_tasks([1.0 + (i * 37 % 100) / 10 for i in range(500)], 10, 24)
        costs = [task.cost for task in tasks]
        assert max(costs) <= 1.1 * statistics.median(costs)
        assert costs == sorted(costs, reverse=True)

    def test_nothing(self) -> None:
        """No scenarios, no tasks."""
        assert pairs.plan_tasks([], 4, 24) == []


class TestSimulatePair:
    """One pair's row."""

    def test_columns(self) -> None:
        """The row is keyed, and has what was counted and no rate."""
        row, _ = pairs.simulate_pair(GIVEN, SCENARIO, CONFIGURATION, Simulations())
        assert (row["panel"], row["config_name"], row["weight"]) == ("fresh", "today", 2.0)
        assert row[EXPOSURE] == 5 * 36_000_000
        assert not {name for name, metric in METRICS.items() if metric.top != name} & set(row)
        assert row["failed"] == 0

    def test_budget_spent(self) -> None:
        """A pair that spends its budget is a row without values that says so."""

        def run(scenario: Any) -> Simulated:
            raise BudgetSpent(scenario.scenario_id, 1000)

        row, events = pairs.simulate_pair(GIVEN, SCENARIO, CONFIGURATION, Known(run))
        assert (row["failed"], row["kernel_events"], events) == (1, 1000, None)
        assert {row[name] for name in COUNTED} == {None}

    def test_broken(self) -> None:
        """A mistake in the kernel names the pair that met it."""

        def run(scenario: Any) -> Simulated:
            raise IndexError("slot 7")

        with pytest.raises(
            RuntimeError, match=r"^scenario s, configuration today: IndexError: slot 7$"
        ):
            pairs.simulate_pair(GIVEN, SCENARIO, CONFIGURATION, Known(run))

    def test_events_of_a_notable_pair(self) -> None:
        """Events of a pair with something offline are kept, of a quiet one they are not."""
        events = Events(Table(np.zeros(Event.size, dtype=np.int64), Event, 0, 1), encode(SCENARIO))

        def run(leaderless_us: int) -> Events | None:
            nothing = dict.fromkeys((*COUNTED, *METRICS, *OF_THE_RUN), 0)
            outcome = {**nothing, "leaderless_us": leaderless_us}
            ran = Known(lambda _: (outcome, events))
            return pairs.simulate_pair(GIVEN, SCENARIO, CONFIGURATION, ran)[1]

        kept = run(1)
        assert kept is not None
        assert kept.named() == events.named()
        assert run(0) is None

    def test_company_changes_no_row(self) -> None:
        """A pair's row is the same alone and among configurations whose runs answer for it."""
        given = {**GIVEN, "expected_cost": 1.0, "scenario_json": canonical_json(SCENARIO)}
        table = pa.Table.from_pylist([given])
        limits = [configuration(f"c{limit}", {**S2, LIMIT: limit}) for limit in (100, 5000)]
        both = [*limits, CONFIGURATION]
        schemas = {name: SCHEMAS[name] for name in ("outcomes", "events")}

        def rows(configurations: list[Configuration]) -> list[dict[str, Any]]:
            tables = pairs.simulate(table, configurations, schemas, lambda *_: None)
            return [row for name, rows in tables if name == "outcomes" for row in rows.to_pylist()]

        together = sorted(rows(both), key=itemgetter("config_id"))
        alone = [row for one in both for row in rows([one])]
        assert together == sorted(alone, key=itemgetter("config_id"))

    def test_sample(self) -> None:
        """About one pair in 64 is sampled, always the same ones."""
        sampled = [pairs.is_sampled(f"s-{i}", "c") for i in range(6400)]
        assert 60 <= sum(sampled) <= 140
        assert sampled == [pairs.is_sampled(f"s-{i}", "c") for i in range(6400)]


class TestOlderKernel:
    """What a kernel answers that was written before a column was."""

    def answer(self, *without: str) -> Ran:
        """An outcome without some columns."""
        every = (*COUNTED, *OF_THE_RUN)
        return Ran({name: 1 for name in every if name not in without}, [], [], {})

    def test_what_it_does_not_measure_is_null(self) -> None:
        """A night can still be compared with its baseline in all else."""
        found = pairs.outcome_of("kernel", "s", 60_000, self.answer(*ADDED))
        assert {name for name in COUNTED if found[name] is None} == set(ADDED)

    def test_what_it_always_measured_is_missed(self) -> None:
        """It is no outcome then."""
        with pytest.raises(Refused, match="kernel does not measure records_lost"):
            pairs.outcome_of("kernel", "s", 60_000, self.answer("records_lost"))
