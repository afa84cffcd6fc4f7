"""What a page says of changes, configurations and zeros, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.files.words import counted
from isr_pipeline.verdicts.materiality import is_latency
from isr_pipeline.verdicts.model import LOST, WORST_FIRST, Status, number
from isr_pipeline.verdicts.quantities import amount, label, quantity
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.verdicts.model import MetricVerdict, NightVerdict
    from isr_pipeline.verdicts.panel import Floats

NONE_P = 0.05
"""Probability of seeing none at all, at the upper limit that a zero is given."""


def change(metric: MetricVerdict) -> str:
    """How much a metric changed: ``1.23 × (1.1 to 1.48), 96 scenarios``, or from none to what."""
    return change_of(
        metric.metric,
        metric.ratio,
        (metric.ratio_low, metric.ratio_high),
        (metric.baseline_value, metric.value),
        metric.scenarios,
    )


def change_of(
    metric: str,
    ratio: float | None,
    ends: tuple[float | None, float | None],
    means: tuple[float | None, float | None],
    scenarios: int | None,
) -> str:
    """The same of numbers, as `night show` reads them from JSON.

    What is gone has no interval: that none of so many scenarios has any proves no zero.

    Args:
        metric: outcome column.
        ratio: to the baseline; None from zero.
        ends: of the ratio's interval.
        means: weighted, of the baseline (None if it is not known) and of tonight.
        scenarios: that the ratio was estimated from; None if there is no ratio.
    """
    found = _size(metric, ratio, ends, means)
    return found if scenarios is None else f"{found}, {counted(scenarios, 'scenario')}"


def _size(
    metric: str,
    ratio: float | None,
    ends: tuple[float | None, float | None],
    means: tuple[float | None, float | None],
) -> str:
    before, after = means
    if ratio is None:
        return f"from none to {quantity(metric, after)}"
    if ratio == 0:
        return "to none" if before is None else f"from {quantity(metric, before)} to none"
    low, high = (number(end) for end in ends)
    return f"{number(ratio)} × ({low} to {high})"


def strata(metric: MetricVerdict) -> str:
    """Strata that are called as the metric is, with their sizes; empty if none is."""
    same = [
        stratum_change(metric.metric, one.stratum, one.ratio, (one.baseline_value, one.value))
        for one in metric.strata
        if one.status is metric.status
    ]
    return in_strata(same)


def in_strata(changes: Sequence[str]) -> str:
    """``; in the stratum isr-churn from none to 12.3 a partition and hour``."""
    where = "stratum" if len(changes) == 1 else "strata"
    return f"; in the {where} {' and '.join(changes)}" if changes else ""


def stratum_change(
    metric: str, stratum: str, ratio: float | None, means: tuple[float | None, float | None]
) -> str:
    """A stratum's change with its size.

    Args:
        metric: outcome column.
        stratum: its name.
        ratio: to the baseline; None from zero.
        means: weighted, of the baseline and of tonight; a latency's ratio is not that of these;
            None where they are not known.
    """
    before, after = means
    if ratio is None:
        much = "" if after is None else f" to {quantity(metric, after)}"
        return f"{stratum} from none{much}"
    if ratio == 0:
        return f"{stratum} to none"
    if before is None or after is None or is_latency(metric):
        return f"{stratum} {number(ratio)} ×"
    return (
        f"{stratum} {number(ratio)} ×, from {amount(metric, before)} to {quantity(metric, after)}"
    )


def share_at_most(weights: Floats) -> float:
    """Upper 95 % limit of the share of scenarios with something that none of the panel has.

    The rule of three for weighted scenarios. If the strata have shares W and n scenarios each, none
    is seen with probability prod (1 - p)^n. Where that is at least 0.05, the share sum W p is at
    most -ln(0.05) times the largest W / n: 3 / n if all weigh the same.

    Args:
        weights: of the scenarios, in any scale.
    """
    if not len(weights):
        return 1.0
    return float(min(1.0, -math.log(NONE_P) * np.max(weights) / np.sum(weights)))


def worse(verdict: NightVerdict) -> list[str]:
    """What got worse, a line for each configuration: its verdict, each metric, by how much."""
    lines = []
    for status in (Status.REGRESSED, Status.SUSPECT):
        for one in verdict.configurations:
            metrics = worst_first([each for each in one.metrics if each.status is status])
            said = "; ".join(
                f"{label(each.metric)} {change(each)}{strata(each)}" for each in metrics
            )
            lines += [f"{status}: {one.name}: {said}"] if said else []
    return lines


def in_order(metrics: list[MetricVerdict]) -> list[MetricVerdict]:
    """Metrics in the order in which a page has them."""
    return sorted(metrics, key=lambda one: rank(one.metric))


def worst_first(metrics: list[MetricVerdict]) -> list[MetricVerdict]:
    """Lost data before anything else, then what is confirmed, then as a page has them."""
    return sorted(
        metrics,
        key=lambda one: (one.metric != LOST, WORST_FIRST.index(one.status), rank(one.metric)),
    )


def lost_first(metric: str) -> tuple[bool, int]:
    """Place of a metric where lost data comes before anything else."""
    return metric != LOST, rank(metric)


def rank(metric: str) -> int:
    """Place of a metric in that order."""
    return list(METRICS).index(metric)


def short_name(one: Configuration) -> str:
    """A configuration's name below its heading: a grid's point without the grid."""
    return one.name.partition("@")[2].replace(",", ", ") or one.name if one.is_grid else one.name


def heading(one: Configuration) -> str:
    """What a configuration stands below: its group, and its grid if it is a point of one."""
    grid = one.name.partition("@")[0] if one.is_grid and "@" in one.name else ""
    return f"{one.group}: {grid}" if grid and grid != one.group else one.group


def listed(names: Sequence[str], most: int = 3) -> str:
    """Some names, or how many there are."""
    return ", ".join(names) if len(names) <= most else f"{len(names)} configurations"
