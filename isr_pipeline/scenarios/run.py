"""One scenario through the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.simulation.outcome import OUTCOME_COLUMNS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario


@dataclass(frozen=True, slots=True)
class Run:
    """What one scenario gave: the outcome row and, if asked for, the events."""

    outcome: dict[str, Any]
    events: list[dict[str, Any]]


def run(scenario: Scenario, *, events: bool = False) -> Run:  # noqa: ARG001 - kernel follows
    """Simulate one scenario to its horizon."""
    outcome = {name: 0 if kind == "int" else 0.0 for name, kind in OUTCOME_COLUMNS.items()}
    outcome["simulated_ms"] = float(scenario.horizon_ms)
    return Run(outcome=outcome, events=[])
