"""Two aligned sets of outcomes compared, metric by metric: sizes, p-values, intervals.

Used for tonight against the baseline (both panels) and for one configuration against another of
the same night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.panel import PanelOutcomes, mean_divisor, natural_factor
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import (
    bootstrap_geometric,
    bootstrap_ratio,
    ratio,
    sign_flip,
    signed_ranks,
)
from isr_pipeline.worlds.columns import METRICS

Floats = npt.NDArray[np.float64]

NON_INFERIOR = 0.05
"""One-sided level at which a rise that matters is ruled out."""

LEAST_FLOOR_MS = 1e-3
"""Added to latencies where the settings have no floor: the kernel's clock ticks in microseconds."""

SAME_VALUE = 1e-9
"""Relative difference within which two values differ by the order of additions only."""


@dataclass(frozen=True)
class Comparison:
    """M metrics x c pairs of configurations; every array is (M, c).

    Attributes:
        metrics: names, M of them.
        identical: every value is the same to the last bit.
        discordant: scenarios in which the pair differs.
        copy_of: flat index of the first test with the same outcomes on both sides, mostly its own.
        worse, better: one-sided p-values before any correction.
        at_least_margin: one-sided p-value of "worse by what matters, or by more": where it is 0.05
            or less, the upper end of a one-sided 95 % interval lies below what matters.
        appeared: scenarios that have some of the metric and had none of it before.
        total, baseline_total: weighted totals in natural units.
        value, baseline_value: weighted means in the metric's own unit.
        ratio: total / baseline_total; of a latency the geometric mean of the scenarios' ratios,
            each with the metric's floor added to both sides, so that parts of it do not count.
        ratio_low, ratio_high: its paired bootstrap interval.
    """

    metrics: tuple[str, ...]
    identical: npt.NDArray[np.bool_]
    discordant: npt.NDArray[np.int64]
    copy_of: npt.NDArray[np.int64]
    worse: Floats
    better: Floats
    at_least_margin: Floats
    appeared: npt.NDArray[np.int64]
    total: Floats
    baseline_total: Floats
    value: Floats
    baseline_value: Floats
    ratio: Floats
    ratio_low: Floats
    ratio_high: Floats

    @property
    def delta(self) -> Floats:
        """Difference of the weighted means, in the metric's own unit."""
        return self.value - self.baseline_value


def compare(new: PanelOutcomes, old: PanelOutcomes, settings: VerdictSettings) -> Comparison:
    """Compare column j of ``new`` with column j of ``old``.

    Args:
        new: outcomes of c configurations; no pair may be unusable.
        old: outcomes of c configurations on the same scenarios.
        settings: which metrics, how many flips.
    """
    if new.scenario_ids != old.scenario_ids:
        raise ValueError("the two sets of outcomes are not of the same scenarios")
    if new.unusable.any() or old.unusable.any():
        raise ValueError("a missing or failed pair cannot be compared")
    metrics = tuple(settings.metrics)
    width = len(new.config_ids)
    shape = (len(metrics), width)
    left = np.hstack([new.natural(name) for name in metrics])
    right = np.hstack([old.natural(name) for name in metrics])
    same = np.hstack([new.values[name] == old.values[name] for name in metrics])
    identical = np.asarray(same.all(axis=0))
    differences = paired_differences(left, right, new.weights)
    copy_of = _copies(left, right, width)
    distinct, where = np.unique(copy_of, return_inverse=True)
    alike = _every_scenario_as_one(differences, new, old, metrics, settings)
    tails = sign_flip(
        differences[:, distinct],
        alike[:, distinct],
        flips=settings.flips,
        flips_max=settings.flips_max,
        exact_up_to=settings.exact_up_to,
        level=settings.false_discovery_rate / max(1, len(distinct)),
    )
    worse, better = tails.worse[where].reshape(shape), tails.better[where].reshape(shape)
    total, baseline_total = new.weights @ left, new.weights @ right
    logarithms = _logarithms(left, right, metrics, settings)
    quotient, low, high = _ratios((left, right, logarithms), new, metrics, settings)
    margin = np.zeros(left.shape[1])
    differs = distinct[~identical[distinct]]
    beyond = np.hstack(
        [
            _beyond_margin(name, index, (left, right, logarithms), new, settings)
            for index, name in enumerate(metrics)
        ]
    )[:, differs]
    margin[differs] = sign_flip(
        beyond,
        np.zeros_like(beyond),
        flips=settings.flips,
        flips_max=settings.flips,
        exact_up_to=settings.exact_up_to,
        level=NON_INFERIOR,
    ).better
    margin = margin[copy_of]
    divisor = np.array([mean_divisor(new, name, new.weights) for name in metrics])[:, None]
    return Comparison(
        metrics=metrics,
        identical=identical.reshape(shape),
        discordant=(differences != 0).sum(axis=0).reshape(shape),
        copy_of=copy_of.reshape(shape),
        worse=worse,
        better=better,
        at_least_margin=margin.reshape(shape),
        appeared=((left > 0) & (right == 0)).sum(axis=0).reshape(shape),
        total=total.reshape(shape),
        baseline_total=baseline_total.reshape(shape),
        value=total.reshape(shape) / divisor,
        baseline_value=baseline_total.reshape(shape) / divisor,
        ratio=quotient.reshape(shape),
        ratio_low=low.reshape(shape),
        ratio_high=high.reshape(shape),
    )


def is_latency(metric: str) -> bool:
    """Whether a metric is a time of each scenario, of which factors are judged, not sums."""
    return METRICS[metric].unit == "ms"


def _logarithms(
    left: Floats, right: Floats, metrics: tuple[str, ...], settings: VerdictSettings
) -> Floats:
    """Logarithms of the scenarios' ratios of latencies, floors added; zero for other metrics."""
    width = left.shape[1] // len(metrics)
    floors = np.repeat(
        [max(settings.metrics[name].floor, LEAST_FLOOR_MS) for name in metrics], width
    )
    latencies = np.repeat([is_latency(name) for name in metrics], width)
    return np.where(latencies, np.log((left + floors) / (right + floors)), 0.0)


def _ratios(
    values: tuple[Floats, Floats, Floats],
    new: PanelOutcomes,
    metrics: tuple[str, ...],
    settings: VerdictSettings,
) -> tuple[Floats, Floats, Floats]:
    """The ratio of each column and the ends of its interval: of sums, or of latencies."""
    left, right, logarithms = values
    width = left.shape[1] // len(metrics)
    quotient = ratio(new.weights @ left, new.weights @ right)
    low, high = bootstrap_ratio(left, right, new.weights, settings.bootstrap)
    of_latencies = np.repeat([is_latency(name) for name in metrics], width)
    logs = logarithms[:, of_latencies]
    quotient[of_latencies] = np.exp(new.weights @ logs / new.weights.sum())
    low[of_latencies], high[of_latencies] = bootstrap_geometric(
        logs, new.weights, settings.bootstrap
    )
    return quotient, low, high


def _beyond_margin(
    name: str,
    index: int,
    values: tuple[Floats, Floats, Floats],
    new: PanelOutcomes,
    settings: VerdictSettings,
) -> Floats:
    """By how much each scenario is worse than what still does not matter, with its weight.

    What matters is a factor of ``ratio_min`` on what the baseline has, or the metric's floor where
    that is more; for a latency the factor alone, since its ratios have the floor in them.
    """
    width = len(new.config_ids)
    here = slice(index * width, (index + 1) * width)
    left, right, logarithms = (one[:, here] for one in values)
    if is_latency(name):
        return np.asarray(new.weights[:, None] * (logarithms - np.log(settings.ratio_min)))
    per_scenario = settings.metrics[name].floor * natural_factor(name, new.exposure_s)[:, None]
    factor = (settings.ratio_min - 1.0) * right
    by_factor = new.weights @ factor >= new.weights @ per_scenario
    margin = np.where(by_factor[None, :], factor, per_scenario)
    return np.asarray(new.weights[:, None] * (left - right - margin))


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
    settings: VerdictSettings,
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
        flag = settings.metrics[name].paired_flag
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
