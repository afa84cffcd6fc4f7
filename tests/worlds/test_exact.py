"""Without shortcuts: every event is simulated, of every configuration."""

from __future__ import annotations

import os

import pytest

from isr_pipeline.base.compiling import EXACT, slow_ways
from isr_pipeline.scenarios.model import Scenario, apply, parse_scenario
from isr_pipeline.worlds.reuse import Simulations


def repeating(name: str) -> Scenario:
    """A healthy cluster whose producer comes again every 100 ms."""
    return parse_scenario(
        {
            "scenario_id": name,
            "horizon_ms": 9000,
            "warmup_ms": 0,
            "cluster": {"release": "4.1+", "controller": "kraft", "brokers": [1, 2, 3]},
            "topics": [
                {
                    "name": "t",
                    "partitions": 1,
                    "replication_factor": 3,
                    "produce": {"records_per_s": 10, "records_per_batch": 1, "acks": "all"},
                }
            ],
        },
        name,
    )


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--exact` has it."""
    monkeypatch.setenv(EXACT, "1")


def test_every_event_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome is that of the jumps, and there are none."""
    jumped = Simulations()
    outcome, events = jumped.result_for(repeating("healthy"))
    monkeypatch.setenv(EXACT, "1")
    plain = Simulations()
    again, others = plain.result_for(repeating("healthy too"))
    assert again == outcome
    assert len(others.rows) == len(events.rows)
    assert plain.events_fired > 3 * jumped.events_fired


@pytest.mark.usefixtures("exact")
def test_no_run_is_shared() -> None:
    """Of two configurations that provably do the same both are simulated."""
    scenario = repeating("shared")
    runs = Simulations()
    for timeout in (9000, 18000):
        runs.result_for(apply(scenario, {"broker.session.timeout.ms": timeout}))
    assert runs.simulated == 2


def test_as_the_command_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that this one starts find it in their environment."""
    for name in (EXACT, "NUMBA_DISABLE_JIT"):
        monkeypatch.delenv(name, raising=False)
    slow_ways(exact=True, plain=True)
    assert os.environ.pop(EXACT) == "1"
    assert os.environ.pop("NUMBA_DISABLE_JIT") == "1"
