"""Drift over the nights of the fresh panel: shown in the report, decides nothing.

The fresh panel is drawn anew every night, so a value goes up and down by chance. A change point is
a night from which on the values rank higher (or lower) than before, by more than a shuffled order
of the same nights would show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from isr_pipeline.verdicts.statistics import SEED, benjamini_hochberg

Floats = npt.NDArray[np.float64]

NIGHTS_MIN = 8
"""Of fewer nights no order is so rare that a correction for many series would leave it."""

EDGE = 2
"""Nights on either side of a change point: one night alone is no drift."""

SHUFFLES = 4_999


@dataclass(frozen=True)
class ChangePoint:
    """One series that drifted.

    Attributes:
        config_name: configuration.
        metric: outcome column.
        since: first night of the later part.
        before: median of the nights before, in the metric's unit.
        after: median since.
        q: share of shuffled orders that show as much, after Benjamini-Hochberg over all series.
    """

    config_name: str
    metric: str
    since: str
    before: float
    after: float
    q: float


def change_points(trend: pd.DataFrame, limit: float) -> list[ChangePoint]:
    """Find the series that drifted, surest first.

    Args:
        trend: columns night, config_name, metric, value, of one panel; one row per night each.
        limit: largest q.
    """
    names: list[tuple[str, str]] = []
    series: list[tuple[list[str], Floats]] = []
    known = trend.dropna(subset="value").sort_values("night")
    for (config_name, metric), rows in known.groupby(["config_name", "metric"], sort=True):
        values = rows["value"].to_numpy(float)
        if len(values) >= NIGHTS_MIN and values.min() < values.max():
            names.append((str(config_name), str(metric)))
            series.append((list(rows["night"]), values))
    looked = [split(values) for _, values in series]
    q = benjamini_hochberg(np.array([p for _, p in looked]))
    found = [
        ChangePoint(
            *name,
            since=nights[at],
            before=float(np.median(values[:at])),
            after=float(np.median(values[at:])),
            q=float(one),
        )
        for name, (nights, values), (at, _), one in zip(names, series, looked, q, strict=True)
        if one <= limit
    ]
    return sorted(found, key=lambda one: (one.q, one.metric, one.config_name))


def split(values: Floats) -> tuple[int, float]:
    """Where a series changes most, and the p-value of that by shuffling its order.

    Ranks instead of values: one bad night must not look like a new level.
    """
    ranks = stats.rankdata(values)
    observed = _scores(ranks[None, :])[0]
    random = np.random.Generator(np.random.PCG64(SEED + 2))
    shuffled = random.permuted(np.tile(ranks, (SHUFFLES, 1)), axis=1)
    largest = _scores(shuffled).max(axis=1)
    p = (1 + int((largest >= observed.max() - 1e-9).sum())) / (1 + SHUFFLES)
    return int(np.argmax(observed)) + EDGE, p


def _scores(ranks: Floats) -> Floats:
    """Difference of the mean ranks before and after each possible night, in standard units."""
    n = ranks.shape[1]
    sizes = np.arange(1, n)
    drift = np.cumsum(ranks - ranks.mean(axis=1, keepdims=True), axis=1)[:, :-1]
    scaled = np.abs(drift) / np.sqrt(sizes * (n - sizes) / n)
    return np.asarray(scaled[:, EDGE - 1 : n - EDGE])
