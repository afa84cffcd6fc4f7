"""Two aligned sets of outcomes compared, metric by metric: sizes and p-values.

Used for tonight against the baseline (both panels) and for one configuration against another of
the same night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.materiality import Size, is_latency
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import (
    ratio,
    sign_flip,
    signed_ranks,
)
from isr_pipeline.worlds.columns import METRICS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEAST_FLOOR_MS = 1e-3
"""Added to latencies where the settings have no floor: the kernel's clock ticks in microseconds."""

SAME_VALUE = 1e-9
"""Relative difference within which two values differ by the order of additions only."""


@dataclass(frozen=True)
class StrataComparison:
    """The same M x c comparisons in each of S strata; arrays are (S, M, c) unless said.

    Attributes:
        names: of the strata, in the order of the alphabet.
        labels: of each scenario, the index of its stratum.
        scenarios: (S,) how many each has.
        shares: (S,) of the population.
        risen, fallen: scenarios that got worse, and better.
        worse, better: one-sided p-values of the stratum alone, before any correction.
        value, baseline_value: means in the metric's own unit.
        ratio: as of the whole panel.
    """

    names: tuple[str, ...]
    labels: Ints
    scenarios: Ints
    shares: Floats
    risen: Ints
    fallen: Ints
    worse: Floats
    better: Floats
    value: Floats
    baseline_value: Floats
    ratio: Floats

    @property
    def indices(self) -> range:
        """Of the strata."""
        return range(len(self.names))

    def size(self, metric: str, at: tuple[int, int, int]) -> Size:
        """How large the change in one stratum is."""
        return Size(
            metric, float(self.value[at]), float(self.baseline_value[at]), float(self.ratio[at])
        )


@dataclass(frozen=True)
class Comparison:
    """M metrics x c pairs of configurations; every array is (M, c).

    Attributes:
        metrics: names, M of them.
        identical: every value is the same to the last bit.
        discordant: scenarios in which the pair differs.
        risen, fallen: those that got worse, and those that got better.
        copy_of: flat index of the first test with the same outcomes on both sides, mostly its own.
        worse, better: one-sided p-values before any correction.
        appeared: scenarios that have some of the metric and had none of it before.
        total, baseline_total: weighted totals in natural units.
        value, baseline_value: weighted means in the metric's own unit.
        ratio: total / baseline_total; of a latency the geometric mean of the scenarios' ratios,
            each with the metric's floor added to both sides, so that parts of it do not count.
        strata: the same in each stratum.
    """

    metrics: tuple[str, ...]
    identical: npt.NDArray[np.bool_]
    discordant: Ints
    risen: Ints
    fallen: Ints
    copy_of: Ints
    worse: Floats
    better: Floats
    appeared: Ints
    total: Floats
    baseline_total: Floats
    value: Floats
    baseline_value: Floats
    ratio: Floats
    strata: StrataComparison

    @property
    def delta(self) -> Floats:
        """Difference of the weighted means, in the metric's own unit."""
        return self.value - self.baseline_value

    def size(self, at: tuple[int, int]) -> Size:
        """How large one change is."""
        return Size(
            self.metrics[at[0]],
            float(self.value[at]),
            float(self.baseline_value[at]),
            float(self.ratio[at]),
        )


def compare(
    new: PanelOutcomes, old: PanelOutcomes, settings: VerdictSettings, share: float = 1.0
) -> Comparison:
    """Compare column j of ``new`` with column j of ``old``.

    Args:
        new: outcomes of c configurations; no pair may be unusable.
        old: outcomes of c configurations on the same scenarios.
        settings: which metrics, how many flips.
        share: of the settings' error levels that p-values will be compared with.
    """
    sides = sides_of(new, old, settings)
    metrics, left, right = sides.metrics, sides.left, sides.right
    shape = (len(metrics), len(new.config_ids))
    differences = paired_differences(left, right, new.weights)
    copy_of = _copies(left, right, shape[1])
    distinct, where = np.unique(copy_of, return_inverse=True)
    statistics = (
        differences,
        _every_scenario_as_one(differences, new, old, metrics),
        np.where(differences != 0, sides.as_judged(new.weights), 0.0),
    )
    names, labels = np.unique(np.array(new.strata), return_inverse=True)
    tails = sign_flip(
        [one[:, distinct] for one in statistics],
        labels,
        flips=settings.flips,
        flips_max=settings.flips_max,
        exact_up_to=settings.exact_up_to,
        level=share
        * min(settings.suspicion_rate, settings.false_discovery_rate)
        / max(1, len(distinct)),
    )
    same = np.hstack([new.values[name] == old.values[name] for name in metrics])
    whole = _sizes(sides, new, np.ones((1, len(new.weights))))
    total, baseline_total = new.weights @ left, new.weights @ right
    members = (labels == np.arange(len(names))[:, None]).astype(float)
    within = _sizes(sides, new, members)
    in_strata = (len(names), *shape)
    risen, fallen = (differences > 0).astype(float), (differences < 0).astype(float)
    return Comparison(
        metrics=metrics,
        identical=np.asarray(same.all(axis=0)).reshape(shape),
        discordant=(differences != 0).sum(axis=0).reshape(shape),
        risen=risen.sum(axis=0).astype(np.int64).reshape(shape),
        fallen=fallen.sum(axis=0).astype(np.int64).reshape(shape),
        copy_of=copy_of.reshape(shape),
        worse=tails.worse[where].reshape(shape),
        better=tails.better[where].reshape(shape),
        appeared=((left > 0) & (right == 0)).sum(axis=0).reshape(shape),
        total=total.reshape(shape),
        baseline_total=baseline_total.reshape(shape),
        value=whole[0].reshape(shape),
        baseline_value=whole[1].reshape(shape),
        ratio=whole[2].reshape(shape),
        strata=StrataComparison(
            names=tuple(str(one) for one in names),
            labels=labels,
            scenarios=members.sum(axis=1).astype(np.int64),
            shares=members @ new.weights / new.weights.sum(),
            risen=(members @ risen).astype(np.int64).reshape(in_strata),
            fallen=(members @ fallen).astype(np.int64).reshape(in_strata),
            worse=tails.worse_in[:, where].reshape(in_strata),
            better=tails.better_in[:, where].reshape(in_strata),
            value=within[0].reshape(in_strata),
            baseline_value=within[1].reshape(in_strata),
            ratio=within[2].reshape(in_strata),
        ),
    )


@dataclass(frozen=True)
class Sides:
    """Every metric of every configuration as a column, metric after metric: (n, M c) each.

    Attributes:
        metrics: names.
        left, right: tonight's and the baseline's, in natural units.
        latencies: (M c,) which columns are of latencies.
        logarithms: of the scenarios' ratios of latencies, floors added; zero for other metrics.
    """

    metrics: tuple[str, ...]
    left: Floats
    right: Floats
    latencies: npt.NDArray[np.bool_]
    logarithms: Floats

    def as_judged(self, weights: Floats) -> Floats:
        """Each scenario's part of what is judged: of a difference of sums, or of logarithms."""
        parts = np.where(self.latencies[None, :], self.logarithms, self.left - self.right)
        return np.asarray(weights[:, None] * parts)


def sides_of(new: PanelOutcomes, old: PanelOutcomes, settings: VerdictSettings) -> Sides:
    """Arrange two sets of outcomes as columns.

    Raises:
        ValueError: they are not of the same scenarios, or a pair is missing or failed.
    """
    if new.scenario_ids != old.scenario_ids:
        raise ValueError("the two sets of outcomes are not of the same scenarios")
    if new.unusable.any() or old.unusable.any():
        raise ValueError("a missing or failed pair cannot be compared")
    metrics = tuple(settings.metrics)
    left = np.hstack([new.natural(name) for name in metrics])
    right = np.hstack([old.natural(name) for name in metrics])
    width = len(new.config_ids)
    floors = np.repeat(
        [max(settings.metrics[name].floor, LEAST_FLOOR_MS) for name in metrics], width
    )
    latencies = np.repeat([is_latency(name) for name in metrics], width)
    logarithms = np.where(latencies, np.log((left + floors) / (right + floors)), 0.0)
    return Sides(metrics, left, right, latencies, logarithms)


def _sizes(sides: Sides, new: PanelOutcomes, members: Floats) -> tuple[Floats, Floats, Floats]:
    """Means of both sides and the ratio in parts of the panel, (P, M c) each.

    Args:
        sides: the columns.
        new: with the weights.
        members: (P, n) 1 where a scenario is in a part.
    """
    weights = members * new.weights
    width = len(new.config_ids)
    units = np.column_stack([new.divisors(name) for name in sides.metrics])
    divisor = np.repeat(weights @ units, width, axis=1)
    left, right = weights @ sides.left, weights @ sides.right
    geometric = np.exp(weights @ sides.logarithms / weights.sum(axis=1, keepdims=True))
    quotient = np.where(sides.latencies[None, :], geometric, ratio(left, right))
    return left / divisor, right / divisor, quotient


def _copies(left: Floats, right: Floats, width: int) -> npt.NDArray[np.int64]:
    """Flat index of the first test of the same metric with the same outcomes on both sides.

    Configurations that no rule of the panel tells apart have the same outcomes: that is one test,
    not many.
    """
    first: dict[tuple[int, bytes, bytes], int] = {}
    keys = (
        (index // width, left[:, index].tobytes(), right[:, index].tobytes())
        for index in range(left.shape[1])
    )
    return np.array([first.setdefault(key, index) for index, key in enumerate(keys)], np.int64)


def _every_scenario_as_one(
    differences: Floats,
    new: PanelOutcomes,
    old: PanelOutcomes,
    metrics: tuple[str, ...],
) -> Floats:
    """What the second statistic sums: every scenario counts as one, whatever its weight.

    The panel draws rare strata more often than they happen and weighs them down; a change that
    shows mostly there is one that the weighted sum can hardly see. The unweighted statistic sums
    ranks (Wilcoxon's), so that one scenario that went far the other way does not outdo twenty.
    Where a metric has a flag, it sums the flag's changes (McNemar's).
    """
    width = len(new.config_ids)
    alike = signed_ranks(differences / new.weights[:, None])
    for index, name in enumerate(metrics):
        flag = METRICS[name].flag
        if flag is not None:
            here = slice(index * width, (index + 1) * width)
            changes = (new.values[flag] > 0).astype(float) - (old.values[flag] > 0)
            alike[:, here] = np.where(differences[:, here] != 0, changes, 0.0)
    return alike


def paired_differences(new: Floats, old: Floats, weights: Floats) -> Floats:
    """Weighted differences of log1p in natural units; exactly zero for a tie.

    Args:
        new: (n, m) natural units.
        old: (n, m).
        weights: (n,).
    """
    same = np.abs(new - old) <= SAME_VALUE * np.maximum(np.abs(new), np.abs(old))
    differences = weights[:, None] * (np.log1p(new) - np.log1p(old))
    return np.where(same, 0.0, differences)
