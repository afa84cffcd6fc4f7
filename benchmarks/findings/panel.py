"""Every scenario of a panel under every configuration, and the ratios to the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from benchmarks.findings.question import SHOWN
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.scenarios.generator import draw_panel

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.file import Experiment

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


def outcomes(experiment: Experiment, count: int) -> Iterator[list[dict[str, Any]]]:
    """Simulate the panel; rows of the outcomes table, a scenario at a time.

    Args:
        experiment: its standing panel and its configurations.
        count: how many processes simulate at once.

    Raises:
        RuntimeError: a simulation broke; names the pair.
    """
    from isr_pipeline.tables.pairs import processes, simulate_scenario  # noqa: PLC0415

    arms = configurations(experiment)
    with processes(count) as simulate:
        yield from simulate(
            simulate_scenario, ((row, arms) for row in draw_panel(experiment.source, PANEL))
        )


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
    from isr_pipeline.tables.summary import WHOLE_PANEL, summarize  # noqa: PLC0415

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
