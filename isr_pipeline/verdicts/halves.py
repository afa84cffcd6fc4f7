"""Intervals of a ratio by random halves of the scenarios: the inversion of a sign-flip test.

Whether a ratio r can be true is asked by flipping the signs of ``new - r * old``. The sum with
flipped signs is at least the sum as it is exactly where the scenarios that were flipped, a random
half, have a ratio of at most r. So the ends of the interval are quantiles of the ratios of
random halves (Hartigan 1969, "Using subsample values as typical values"). The statistic is the
difference of the weighted means, or the weighted mean of logarithms: what is printed and judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.comparison import Comparison, Sides, sides_of
from isr_pipeline.verdicts.materiality import is_latency
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import SEED, drawn_signs

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ONE_SIDED = 0.05
"""Level of an end that no correction applies to."""


@dataclass(frozen=True)
class Intervals:
    """Ends of M x c ratios in P parts of the panel: all of it, then each stratum.

    Attributes:
        low, high: (P, M, c); 1 where nothing differs; 0 and infinite where there is no end; NaN
            where the baseline has nothing, so that there is no ratio.
        at_least_margin: (P, M, c) one-sided p-value of "worse by what matters, or by more": where
            it is at most the level of the upper end, that end lies below what matters. 0 where
            nothing differs.
    """

    low: Floats
    high: Floats
    at_least_margin: Floats


def intervals(
    new: PanelOutcomes,
    old: PanelOutcomes,
    found: Comparison,
    settings: VerdictSettings,
    levels: tuple[Floats | float, Floats | float] = (ONE_SIDED, ONE_SIDED),
    *,
    in_strata: bool = True,
) -> Intervals:
    """Intervals of every ratio, by parts of the panel.

    Args:
        new: tonight's outcomes.
        old: the baseline's.
        found: what `compare` made of them.
        settings: what matters, how many halves.
        levels: one-sided levels of the lower and of the upper ends of the whole panel, (M, c) or
            one for all; strata have :data:`ONE_SIDED`.
        in_strata: False if only those of the whole panel are wanted.
    """
    sides = sides_of(new, old, settings)
    shape = found.worse.shape
    distinct = np.unique(found.copy_of)
    differs = distinct[~found.identical.ravel()[distinct]]
    labels = np.asarray(found.strata.labels)
    strata = found.strata.indices if in_strata else range(0)
    parts = [np.arange(len(labels)), *(np.flatnonzero(labels == at) for at in strata)]
    low, high = np.ones((len(parts), *shape)), np.ones((len(parts), *shape))
    margin = np.zeros((len(parts), *shape))
    for index, rows in enumerate(parts):
        if not len(differs):
            break
        halves = _halves(sides, new, differs, rows, settings)
        wanted = levels if index == 0 else (ONE_SIDED, ONE_SIDED)
        ends = [np.broadcast_to(one, shape).ravel()[differs] for one in wanted]
        flat = [one[index].ravel() for one in (low, high, margin)]
        flat[0][differs], flat[1][differs] = halves.ends(ends[0], ends[1])
        flat[2][differs] = halves.at_least_margin()
        for target, values in zip((low, high, margin), flat, strict=True):
            target[index] = values[found.copy_of.ravel()].reshape(shape)
    return Intervals(low, high, margin)


@dataclass(frozen=True)
class _Halves:
    """What random halves of some scenarios show of d columns.

    Attributes:
        sizes: (halves, d) mean logarithms, ratios or differences; NaN where a half has nothing.
        kind: (d,) which of the three.
        before: (d,) the baseline's mean, in the metric's own unit.
        limits: (d,) from which on a size matters.
    """

    sizes: Floats
    kind: Ints
    before: Floats
    limits: Floats

    def ends(self, low_levels: Floats, high_levels: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends of the ratio."""
        low = _end(np.where(np.isnan(self.sizes), -np.inf, self.sizes), low_levels)
        high = -_end(np.where(np.isnan(self.sizes), -np.inf, -self.sizes), high_levels)
        return self._as_ratio(low), self._as_ratio(high)

    def _as_ratio(self, ends: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            of_difference = np.where(self.before > 0, 1.0 + ends / self.before, np.nan)
            found = np.choose(self.kind, [np.exp(ends), ends, of_difference])
        return np.asarray(np.maximum(found, 0.0))

    def at_least_margin(self) -> Floats:
        """One-sided p-value of a size that matters."""
        reaching = (np.isnan(self.sizes) | (self.sizes >= self.limits)).sum(axis=0)
        return np.asarray((1.0 + reaching) / (1.0 + len(self.sizes)))


LOGARITHM, RATIO, DIFFERENCE = 0, 1, 2


def _halves(
    sides: Sides, new: PanelOutcomes, columns: Ints, rows: Ints, settings: VerdictSettings
) -> _Halves:
    width = len(new.config_ids)
    weights = new.weights[rows, None]
    above, below = np.empty((len(rows), len(columns))), np.empty((len(rows), len(columns)))
    kind, limits = np.empty(len(columns), dtype=np.int64), np.empty(len(columns))
    before = np.ones(len(columns))
    for index, metric in enumerate(sides.metrics):
        mine = np.flatnonzero(columns // width == index)
        these = np.ix_(rows, columns[mine])
        if is_latency(metric):
            above[:, mine], below[:, mine] = weights * sides.logarithms[these], weights
            kind[mine], limits[mine] = LOGARITHM, np.log(settings.ratio_min)
            continue
        left, right = weights * sides.left[these], weights * sides.right[these]
        units = weights * new.divisors(metric)[rows, None]
        floor = settings.metrics[metric].floor
        before[mine] = right.sum(axis=0) / units.sum()
        by_factor = (settings.ratio_min - 1.0) * before[mine] >= max(floor, np.finfo(float).tiny)
        above[:, mine] = np.where(by_factor, left, left - right)
        below[:, mine] = np.where(by_factor, right, units)
        kind[mine] = np.where(by_factor, RATIO, DIFFERENCE)
        limits[mine] = np.where(by_factor, settings.ratio_min, floor)
    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    sizes = np.empty((settings.flips, len(columns)))
    for start, bits in drawn_signs(len(rows), settings.flips, generator):
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes[start : start + len(bits)] = (bits @ above) / (bits @ below)
    return _Halves(sizes, kind, before, limits)


def _end(sizes: Floats, levels: Floats) -> Floats:
    """The lower end of each column: fewer halves than its level says are below it."""
    halves = len(sizes)
    places = np.floor(levels * (halves + 1) + 1e-9).astype(np.int64) - 1
    kept = np.maximum(places, 0)
    ranked = np.partition(np.ascontiguousarray(sizes.T), np.unique(kept), axis=1)
    found = ranked[np.arange(sizes.shape[1]), kept]
    return np.asarray(np.where(places < 0, -np.inf, found))
