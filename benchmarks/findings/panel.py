"""Every scenario of a panel under every configuration, and the ratios to the reference."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.findings.question import SHOWN
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.verdicts.quantities import MetricSettings, load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.verdicts.record import Figures

ONE_SIDED = 0.025
"""Level of each end of an interval of 95 %."""

PANEL = "regression"
"""What the panel is drawn as; the night does not matter for this panel."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A configuration's metric over the reference's, with its 95 % interval.

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


def compared(
    rows: Sequence[dict[str, Any]], experiment: Experiment
) -> dict[str, dict[str, Figures]]:
    """Every configuration beside the reference, over the whole panel, as a night compares them.

    Args:
        rows: of the outcomes table, all pairs.
        experiment: their panel, their configurations, and which one is the reference.

    Returns:
        configuration -> metric -> both figures and their ratio; without the reference.
    """
    from isr_pipeline.verdicts.comparison import PanelOutcomes, compare, intervals  # noqa: PLC0415
    from isr_pipeline.verdicts.figures import pairs  # noqa: PLC0415

    ids = {arm.name: arm.config_id for arm in configurations(experiment)}
    reference = ids.pop(experiment.reference)
    scenarios = pd.DataFrame([asdict(row) for row in draw_panel(experiment.source, PANEL)])
    columns = (reference, *ids.values())
    both = PanelOutcomes.from_frames(pd.DataFrame(list(rows)), scenarios, columns)
    sides = both.select(columns[1:]), both.select((reference,) * len(ids))
    known = load_settings()
    floors = {name: known.metrics.get(name, MetricSettings(floor=0.0)) for name in SHOWN}
    settings = known.model_copy(update={"metrics": floors})
    found = compare(*sides, settings)
    levels = np.full(found.ratio.shape, ONE_SIDED), np.full(found.ratio.shape, ONE_SIDED)
    ends = intervals(*sides, found, settings, levels)
    made = pairs(sides, found, ends, levels, settings, experiment.profile)
    return {
        name: {metric: of.whole[at] for metric, of in zip(found.metrics, made, strict=True)}
        for at, name in enumerate(ids)
    }


def ratios(found: Mapping[str, Mapping[str, Figures]]) -> dict[str, dict[str, Ratio]]:
    """Ratios to the reference: configuration -> metric -> ratio."""
    return {name: {m: _ratio(one) for m, one in of.items()} for name, of in found.items()}


def _ratio(one: Figures) -> Ratio:
    return Ratio(*(math.nan if end is None else end for end in (one.ratio, one.low, one.high)))


def reference_values(found: Mapping[str, Mapping[str, Figures]]) -> dict[str, float]:
    """What the reference itself has: metric -> figure of a year, or of a typical scenario."""
    return {metric: one.before for metric, one in next(iter(found.values())).items()}
