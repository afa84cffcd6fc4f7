"""Two aligned sets of outcomes compared, metric by metric: sizes, p-values, intervals.

Used for tonight against the baseline (both panels) and for one configuration against another of
the same night.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.panel import PanelOutcomes, mean_divisor
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import (
    Tails,
    bootstrap_ratio,
    either,
    mcnemar,
    ratio,
    sign_flip,
    signed_ranks,
)

Floats = npt.NDArray[np.float64]

SAME_VALUE = 1e-9
"""Relative difference within which two values differ by the order of additions only."""


@dataclass(frozen=True)
class Comparison:
    """M metrics x c pairs of configurations; every array is (M, c).

    Attributes:
        metrics: names, M of them.
        identical: every value is the same to the last bit.
        discordant: scenarios in which the pair differs.
        worse, better: one-sided p-values before any correction.
        total, baseline_total: weighted totals in natural units.
        value, baseline_value: weighted means in the metric's own unit.
        ratio: total / baseline_total.
        ratio_low, ratio_high: its paired bootstrap interval.
    """

    metrics: tuple[str, ...]
    identical: npt.NDArray[np.bool_]
    discordant: npt.NDArray[np.int64]
    worse: Floats
    better: Floats
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
    identical = np.hstack([new.values[name] == old.values[name] for name in metrics]).all(axis=0)
    differences = paired_differences(left, right, new.weights)
    tails = _tested(differences, new, old, metrics, settings)
    worse, better = tails.worse.reshape(shape), tails.better.reshape(shape)
    total, baseline_total = new.weights @ left, new.weights @ right
    low, high = bootstrap_ratio(left, right, new.weights, settings.bootstrap)
    divisor = np.array([mean_divisor(new, name, new.weights) for name in metrics])[:, None]
    return Comparison(
        metrics=metrics,
        identical=identical.reshape(shape),
        discordant=(differences != 0).sum(axis=0).reshape(shape),
        worse=worse,
        better=better,
        total=total.reshape(shape),
        baseline_total=baseline_total.reshape(shape),
        value=total.reshape(shape) / divisor,
        baseline_value=baseline_total.reshape(shape) / divisor,
        ratio=ratio(total, baseline_total).reshape(shape),
        ratio_low=low.reshape(shape),
        ratio_high=high.reshape(shape),
    )


def _tested(
    differences: Floats,
    new: PanelOutcomes,
    old: PanelOutcomes,
    metrics: tuple[str, ...],
    settings: VerdictSettings,
) -> Tails:
    """Test every column twice: scenarios by their weight, and every scenario as one.

    The panel draws rare strata more often than they happen and weighs them down; a change that
    shows mostly there is one that the weighted sum can hardly see. The unweighted test flips ranks
    (Wilcoxon's statistic), so that one scenario that went far the other way does not outdo twenty.
    Where a metric has a flag, McNemar's test of the flag is the unweighted one.
    """
    width, columns = len(new.config_ids), differences.shape[1]
    alike = signed_ranks(differences / new.weights[:, None])
    flagged = [
        (slice(index * width, (index + 1) * width), flag)
        for index, flag in enumerate(settings.metrics[name].paired_flag for name in metrics)
        if flag is not None
    ]
    for where, _ in flagged:
        alike[:, where] = 0.0
    # one call: both take the same random signs
    flipped = sign_flip(
        np.hstack([differences, alike]),
        flips=settings.flips,
        flips_max=settings.flips_max,
        exact_up_to=settings.exact_up_to,
        level=settings.false_discovery_rate / max(1, columns),
    )
    weighted = Tails(flipped.worse[:columns], flipped.better[:columns])
    unweighted = Tails(flipped.worse[columns:], flipped.better[columns:])
    for where, flag in flagged:
        flags = mcnemar(new.values[flag] > 0, old.values[flag] > 0)
        unweighted.worse[where], unweighted.better[where] = flags.worse, flags.better
    return either(weighted, unweighted)


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
