"""The same scenario gives the same bytes: again, in another process, with and without the JIT."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from isr_pipeline.worlds.columns import COUNTED, METRICS, OF_THE_RUN
from isr_pipeline.worlds.run import Result, failed_outcome, run
from tests.saying import finished, refused
from tests.simulation.print_runs import lines
from tests.simulation.random_scenarios import FromSeed, raw_scenario
from tests.tables import from_table
from tests.worlds.checks import checked_run

ROOT = Path(__file__).resolve().parents[2]


def busy() -> Scenario:
    """A drawn scenario in which something happens."""
    raw = raw_scenario(FromSeed(2), horizons=(2000,))
    raw["faults"] = [{"kind": "pause", "broker": 1, "start_ms": 500, "duration_ms": 1000}]
    return parse_scenario({**raw, "scenario_id": "busy"}, "busy")


def as_bytes(scenario: Scenario) -> bytes:
    """Outcome and events of a run."""
    done = run(scenario, events=True)
    return json.dumps({"outcome": done.outcome, "events": done.events}).encode()


def in_a_process(*options: str, **environment: str) -> list[str]:
    """Lines of `print_runs` in a process of its own."""
    done = finished(
        [sys.executable, "-m", "tests.simulation.print_runs", *options],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
    )
    return done.stdout.splitlines()


class TestSameBytes:
    """Nothing but scenario, configuration and code decides an outcome."""

    def test_twice_in_one_process(self) -> None:
        """The second run gives the bytes of the first."""
        assert as_bytes(busy()) == as_bytes(busy())

    def test_in_two_processes(self) -> None:
        """A process with another hash seed gives the same lines."""
        assert in_a_process(PYTHONHASHSEED="7") == list(lines())

    @pytest.mark.slow
    def test_without_the_jit(self) -> None:
        """Plain Python and compiled code agree bit for bit."""
        assert in_a_process(NUMBA_DISABLE_JIT="1") == list(lines())

    @pytest.mark.slow
    def test_visiting_every_partition(self) -> None:
        """A partition of a fetch that a short loop passes comes out as if it had been visited."""
        assert in_a_process("--visit-all", NUMBA_DISABLE_JIT="1") == list(lines())

    @from_table
    def test_a_key_that_nobody_reads_changes_nothing(
        self, release: str, controller: str, key: str, value: int
    ) -> None:
        """A key of another release or controller is accepted and unused."""
        base = apply(
            busy(),
            {
                "cluster.release": release,
                "cluster.controller": controller,
                "rules.kip501": "none",
            },
        )
        assert as_bytes(apply(base, {key: value})) == as_bytes(base)


class TestBudget:
    """A scenario that would run away stops."""

    def test_the_last_event_may_be_spent(self) -> None:
        """As many events as the scenario has are enough, one less is not."""
        events = run(busy()).outcome["kernel_events"]
        assert run(busy(), budget=events).outcome["kernel_events"] == events
        with pytest.raises(BudgetSpent):
            run(busy(), budget=events - 1)

    @pytest.mark.parametrize("simulate", [run, checked_run])
    def test_the_error_names_scenario_and_budget(self, simulate: Callable[..., Result]) -> None:
        """Whoever reads the line knows which scenario, and what to change."""
        assert refused(lambda: simulate(busy(), budget=10), BudgetSpent) == (
            "scenario busy: event budget of 10 events spent before the horizon; "
            "allowed: a shorter horizon_ms, less load, or a larger --event-budget"
        )

    def test_a_failed_row_has_no_measures(self) -> None:
        """Every column but what is known of the failure is null."""
        row = failed_outcome(2000, 10)
        assert set(row) == {*COUNTED, *METRICS, *OF_THE_RUN}
        known = {"simulated_ms": 2000.0, "kernel_events": 10, "failed": 1}
        assert {name: value for name, value in row.items() if value is not None} == known
