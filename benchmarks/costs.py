"""What a scenario costs the kernel, by its faults: the figures in `scenarios/fault_costs.yaml`.

    python -m benchmarks.costs

Runs the reference panel under every fourth configuration, as a shard of a night does, counts the
events that fire, which are the same on every machine, and fits them: so many for a scenario, for a
fault of each kind, and for each second that it lasts, none below 0. How good that is is told by
scenarios that the fit has not seen.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from scipy.optimize import nnls

from benchmarks import reference
from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.scenarios.cost import costs, lasts_s
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.configurations import Configuration

EVERY = 4
FOLDS = 5


def thousands_fired(scenario: Scenario, configurations: Sequence[Configuration]) -> float:
    """Events that fire in a scenario under some configurations, for each, in thousands."""
    from isr_pipeline.worlds.reuse import Simulations, reuse_order  # noqa: PLC0415 - loads the kernel

    runs = Simulations()
    configured = (apply(scenario, one.overrides) for one in configurations)
    for each in sorted(configured, key=reuse_order):
        runs.result_for(each)
    return runs.events_fired / 1000 / len(configurations)


def features(scenario: Scenario, kinds: Sequence[str]) -> list[float]:
    """1, and for each kind how many faults there are and how long they last together."""
    found = [1.0]
    for kind in kinds:
        faults = [fault for fault in scenario.faults if fault.kind == kind]
        found += [len(faults), sum(lasts_s(fault) for fault in faults)]
    return found


def unseen(
    given: npt.NDArray[np.float64], fired: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """What fits to the other four fifths of the scenarios say of each."""
    predicted = np.zeros_like(fired)
    fold = np.arange(len(fired)) % FOLDS
    for k in range(FOLDS):
        predicted[fold == k] = given[fold == k] @ nnls(given[fold != k], fired[fold != k])[0]
    return predicted


def main() -> int:
    """Fit, and print the figures beside those in use."""
    scenarios = [scenario_from_json(row.scenario_json) for row in reference.scenarios()]
    configurations = reference.configurations()[::EVERY]
    fired = np.array([thousands_fired(scenario, configurations) for scenario in scenarios])
    kinds = sorted({fault.kind for scenario in scenarios for fault in scenario.faults})
    given = np.array([features(scenario, kinds) for scenario in scenarios])
    fit = nnls(given, fired)[0]
    table = Table("fault", "thousands each", "a second", "in use", "scenarios")
    table.add_row("(none)", f"{fit[0]:.1f}", "", f"{costs().without_faults}", str(len(scenarios)))
    for i, kind in enumerate(kinds):
        among = sum(any(fault.kind == kind for fault in one.faults) for one in scenarios)
        each, per_s = fit[1 + 2 * i], fit[2 + 2 * i]
        used = costs().of(kind)
        table.add_row(kind, f"{each:.1f}", f"{per_s:.1f}", f"{used.each}, {used.per_s}", str(among))
    correlation = np.corrcoef(unseen(given, fired), fired)[0, 1]
    console = Console()
    console.print(table)
    console.print(f"correlation of unseen scenarios: {correlation:.2f}")
    return 0


if __name__ == "__main__":
    use_kernel_cache()
    sys.exit(main())
