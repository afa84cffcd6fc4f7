"""Every scenario of a panel under every configuration, and the ratios to the reference."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.findings.question import SHOWN
from isr_pipeline.compiling import use_kernel_cache
from isr_pipeline.experiment.grid import configurations
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.experiment.grid import Configuration

STRETCH = 8
"""Scenarios that a worker simulates before it reports: a second or two."""

PANEL = "regression"
"""What the panel is drawn as; the night does not matter for this panel."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A configuration's metric over the reference's, with its 95 % bootstrap interval.

    Attributes:
        value, low, high: of the ratio; `low` and `high` are NaN where it has no interval.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Task:
    experiment: Experiment
    start: int
    stop: int


def outcomes(experiment: Experiment, processes: int) -> Iterator[list[dict[str, Any]]]:
    """Simulate the panel; rows of the outcomes table, a stretch at a time, in any order.

    Args:
        experiment: its regression panel and its configurations.
        processes: how many simulate at once.

    Raises:
        RuntimeError: a simulation broke; names the pair.
    """
    size = experiment.panels.regression
    tasks = [
        _Task(experiment, start, min(start + STRETCH, size)) for start in range(0, size, STRETCH)
    ]
    # spawn: numba's threads and caches do not like to be forked
    with get_context("spawn").Pool(processes, initializer=use_kernel_cache) as workers:
        yield from workers.imap_unordered(_simulate, tasks)


def _simulate(task: _Task) -> list[dict[str, Any]]:
    return simulated_stretch(task.experiment, task.start, task.stop)


def simulated_stretch(experiment: Experiment, start: int, stop: int) -> list[dict[str, Any]]:
    """Simulate some scenarios of the panel under every configuration, in this process.

    Args:
        experiment: its regression panel and its configurations.
        start: index of the first scenario.
        stop: index after the last one.

    Returns:
        Rows of the outcomes table.
    """
    from isr_pipeline.outcomes.pairs import simulate_pair  # noqa: PLC0415
    from isr_pipeline.worlds.reuse import Simulations, reuse_order  # noqa: PLC0415

    rows = []
    source, arms = experiment.source, configurations(experiment)
    for index in range(start, stop):
        drawn = draw_scenario(source, PANEL, index)
        scenario = scenario_from_json(drawn.scenario_json)
        configured = [(arm, apply(scenario, arm.overrides)) for arm in arms]
        simulations = Simulations()
        for arm, one in sorted(configured, key=lambda pair: reuse_order(pair[1])):
            rows.append(simulate_pair(asdict(drawn), one, arm, simulations)[0])
    return rows


def summaries(
    rows: Sequence[dict[str, Any]], arms: Sequence[Configuration], reference: str
) -> dict[str, pd.DataFrame]:
    """Every configuration beside the reference, over the whole panel.

    Args:
        rows: of the outcomes table, all pairs.
        arms: the configurations, in the order of the experiment.
        reference: name of the one that the others are compared with.

    Returns:
        configuration -> the summary table's rows, one for each metric; without the reference.
    """
    from isr_pipeline.outcomes.summary import WHOLE_PANEL, summarize  # noqa: PLC0415

    table = pd.DataFrame(list(rows))
    sides = {str(name): own for name, own in table.groupby("config_name")}
    found = {}
    for arm in arms:
        if arm.name == reference:
            continue
        summary = summarize(sides[arm.name], sides[reference], seed=PANEL)
        found[arm.name] = summary[summary["stratum"] == WHOLE_PANEL].set_index("metric")
    return found


def ratios(found: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, Ratio]]:
    """Ratios to the reference: configuration -> metric -> ratio."""
    columns = ["ratio", "ratio_low", "ratio_high"]
    return {
        name: {metric: Ratio(*whole.loc[metric, columns].to_numpy(float)) for metric in SHOWN}
        for name, whole in found.items()
    }


def reference_values(found: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """What the reference itself has: metric -> weighted mean over the panel, in its own unit."""
    beside_any = next(iter(found.values()))
    values = beside_any.loc[list(SHOWN), "reference_value"].to_numpy(float)
    return dict(zip(SHOWN, values.tolist(), strict=True))
