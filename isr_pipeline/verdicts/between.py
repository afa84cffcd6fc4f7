"""Which configuration is better, by how much, and how sure that is: one night, the same pairs.

Every configuration met the same scenarios, so each is compared with the experiment's reference
pair by pair. Nothing here decides a verdict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.comparison import Comparison, compare
from isr_pipeline.verdicts.halves import Intervals, intervals
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings

if TYPE_CHECKING:
    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.experiment.plan import Plan

Floats = npt.NDArray[np.float64]

CLEARLY_BETTER = 0.02
"""Gain (sum of log ratios over the axes) below which the reference is kept."""

SURELY, MENTIONED_FROM = 0.05, 0.005
"""One-sided p below which, and change of a ratio from which, an axis counts as gained or paid."""

WEIGHT_FACTORS = (0.5, 2.0)
"""What the assumed weight of a fault kind is multiplied with to see whether the choice stands."""

LOSS = "records_lost"
"""Metric that no gain on another outweighs: what loses more than the reference is never advised."""

END = 0.025
"""One-sided level of either end of an interval."""

DECIDING = 3
"""How many scenarios are named as deciding."""


@dataclass(frozen=True)
class Recommendation:
    """A choice, in words and with its reasons.

    Attributes:
        config_id: the configuration chosen; the reference's if none is clearly better.
        text: one paragraph.
        axis: the axis that it gains most on.
        deciding: scenarios that carry most of that gain, largest first.
        sensitivity: (fault kind, factor) -> configuration chosen under that weight, where it is
            another one.
    """

    config_id: str
    text: str
    axis: str
    deciding: tuple[str, ...]
    sensitivity: dict[tuple[str, float], str]


@dataclass(frozen=True)
class Between:
    """Configurations of a night against its reference.

    Attributes:
        panel: the usable configurations' outcomes; columns in the order of the arrays here.
        reference: config_id.
        versus: (metrics, configurations) against the reference.
        ends: its intervals of 95 %, each end one-sided at 2.5 %.
        front: config_ids on the Pareto front of ``settings.pareto``.
        axes: axis -> weighted mean per configuration.
        recommendation: None if the reference itself has no data.
    """

    panel: PanelOutcomes
    reference: str
    versus: Comparison
    ends: Intervals
    front: tuple[str, ...]
    axes: dict[str, Floats]
    recommendation: Recommendation


def compare_configurations(
    plan: Plan, panel: PanelOutcomes, settings: VerdictSettings
) -> Between | None:
    """Compare every usable configuration of a panel with the reference.

    Returns:
        None if the reference has a failed or missing pair: nothing to compare with.
    """
    by_name = {one.name: one for one in plan.configurations}
    reference = by_name[plan.reference].config_id
    usable = tuple(
        one for index, one in enumerate(panel.config_ids) if not panel.unusable[:, index].any()
    )
    if reference not in usable:
        return None
    kept = panel.select(usable)
    before = kept.select((reference,) * len(usable))
    versus = compare(kept, before, settings)
    ends = intervals(kept, before, versus, settings, (END, END), in_strata=False)
    axes = {name: kept.means(name) for name in settings.pareto}
    front = pareto_front(np.column_stack(list(axes.values())))
    configurations = {one.config_id: one for one in plan.configurations}
    return Between(
        panel=kept,
        reference=reference,
        versus=versus,
        ends=ends,
        front=tuple(usable[index] for index in front),
        axes=axes,
        recommendation=_recommend(configurations, kept, reference, settings, (versus, ends)),
    )


def pareto_front(points: Floats) -> npt.NDArray[np.int64]:
    """Indices of the rows that no other row beats (less is better on every axis)."""
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    return np.flatnonzero(~(no_worse & better).any(axis=0))


def scores(panel: PanelOutcomes, reference: str, settings: VerdictSettings, w: Floats) -> Floats:
    """Sum over the axes of log(value / reference's value); the floor keeps zeros finite."""
    total = np.zeros(len(panel.config_ids))
    at = panel.column(reference)
    for name in settings.pareto:
        means = panel.means(name, w) + _floor(settings, name)
        total += np.log(means / means[at])
    return total


def _floor(settings: VerdictSettings, metric: str) -> float:
    tested = settings.metrics.get(metric)
    return tested.floor if tested and tested.floor > 0 else 1e-6


def _recommend(
    configurations: dict[str, Configuration],
    panel: PanelOutcomes,
    reference: str,
    settings: VerdictSettings,
    against: tuple[Comparison, Intervals],
) -> Recommendation:
    versus, ends = against
    eligible = _same_release(configurations, panel.config_ids, reference)
    eligible &= _surely_better_somewhere(versus, settings, int(eligible.sum()))
    boldest = _best(panel, reference, settings, panel.weights, eligible)
    lost = panel.means(LOSS)
    eligible &= lost <= lost[panel.column(reference)]
    chosen = _best(panel, reference, settings, panel.weights, eligible)
    kinds = sorted({kind for kinds in panel.fault_kinds for kind in kinds.split(",") if kind})
    sensitivity = {}
    for kind in kinds:
        touched = np.array([kind in kinds.split(",") for kinds in panel.fault_kinds])
        for factor in WEIGHT_FACTORS:
            weights = panel.weights * np.where(touched, factor, 1.0)
            other = _best(panel, reference, settings, weights, eligible)
            if other != chosen:
                sensitivity[kind, factor] = other
    axis = _gaining_axis(panel, reference, chosen, settings)
    deciding = deciding_scenarios(panel.select((chosen,)), panel.select((reference,)), axis)
    text = _in_words(configurations, chosen, reference, settings, (panel, versus, ends))
    if chosen != reference:
        text += f" Decided most by {', '.join(deciding)}."
    if boldest != chosen:
        text += (
            f" {configurations[boldest].name} would gain more, but loses acknowledged records "
            f"({lost[panel.column(boldest)]:.3g} a scenario on average): left out."
        )
    text += _sensitivity_in_words(configurations, sensitivity)
    return Recommendation(chosen, text, axis, deciding, sensitivity)


def _same_release(
    configurations: dict[str, Configuration], ids: tuple[str, ...], reference: str
) -> npt.NDArray[np.bool_]:
    """Nobody is advised to run another release: only the reference's takes part."""
    keys = ("cluster.release", "cluster.controller")
    ours = [configurations[reference].params.get(key) for key in keys]
    return np.array([[configurations[one].params.get(key) for key in keys] == ours for one in ids])


def _surely_better_somewhere(
    versus: Comparison, settings: VerdictSettings, candidates: int
) -> npt.NDArray[np.bool_]:
    """Which configurations gain on an axis even after choosing the best of all candidates."""
    rows = [versus.metrics.index(name) for name in settings.pareto if name in versus.metrics]
    limit = settings.false_discovery_rate / max(1, candidates * len(rows))
    return np.asarray((versus.better[rows] <= limit).any(axis=0))


def _best(
    panel: PanelOutcomes,
    reference: str,
    settings: VerdictSettings,
    weights: Floats,
    eligible: npt.NDArray[np.bool_],
) -> str:
    found = np.where(eligible, scores(panel, reference, settings, weights), np.inf)
    at = int(np.argmin(found))
    return panel.config_ids[at] if found[at] < -CLEARLY_BETTER else reference


def _gaining_axis(
    panel: PanelOutcomes, reference: str, chosen: str, settings: VerdictSettings
) -> str:
    gains = {}
    for name in settings.pareto:
        means = panel.means(name) + _floor(settings, name)
        gains[name] = math.log(means[panel.column(chosen)] / means[panel.column(reference)])
    return min(gains, key=gains.__getitem__)


def deciding_scenarios(
    new: PanelOutcomes, old: PanelOutcomes, metric: str, *, worse: bool = False
) -> tuple[str, ...]:
    """Scenarios that carry most of a change of one configuration (one column each).

    Args:
        new: the configuration.
        old: what it is compared with.
        metric: outcome column.
        worse: whether to look for what made it worse; else for what made it better.
    """
    change = new.weights * (new.natural(metric)[:, 0] - old.natural(metric)[:, 0])
    change = change if worse else -change
    order = np.argsort(-change, kind="stable")[:DECIDING]
    return tuple(new.scenario_ids[index] for index in order if change[index] > 0)


def _in_words(
    configurations: dict[str, Configuration],
    chosen: str,
    reference: str,
    settings: VerdictSettings,
    found: tuple[PanelOutcomes, Comparison, Intervals],
) -> str:
    panel, versus, ends = found
    name = configurations[reference].name
    if chosen == reference:
        return (
            f"Keep {name}: no configuration of its release is clearly better on "
            f"{', '.join(settings.pareto)} together."
        )
    column = panel.column(chosen)
    gains: list[str] = []
    prices: list[str] = []
    same: list[str] = []
    others = (name for name in versus.metrics if name not in settings.pareto)
    for axis in (*(name for name in settings.pareto if name in versus.metrics), *others):
        at = versus.metrics.index(axis), column
        sure = min(versus.worse[at], versus.better[at]) < SURELY
        moves = sure and abs(versus.ratio[at] - 1.0) >= MENTIONED_FROM
        bucket = same if not moves else gains if versus.ratio[at] < 1 else prices
        if axis in settings.pareto or bucket is prices:
            bucket.append(f"{axis} {_change(versus, ends, at)}")
    overrides = configurations[chosen].overrides
    setting = (
        ", ".join(f"{key}={_in_text(value)}" for key, value in overrides.items()) or "no override"
    )
    text = f"With {setting} ({configurations[chosen].name}), against {name}: "
    text += ", ".join(gains) or "no single axis surely better"
    if prices:
        text += f", at the price of {', '.join(prices)}"
    if same:
        text += f"; not surely different: {', '.join(same)}"
    return text + "."


def _change(versus: Comparison, ends: Intervals, at: tuple[int, int]) -> str:
    """``0.31 x (0.19 to 0.44)`` or, where there is no ratio, ``0 to 4.2e-05``."""
    if not math.isfinite(versus.ratio[at]):
        return f"0 to {versus.value[at]:.3g}"
    low, high = ends.low[0][at], ends.high[0][at]
    return f"{versus.ratio[at]:.2f} x ({low:.2f} to {high:.2f})"


def _in_text(value: object) -> str:
    """A value as Kafka's configuration files have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sensitivity_in_words(
    configurations: dict[str, Configuration], sensitivity: dict[tuple[str, float], str]
) -> str:
    if not sensitivity:
        return " The choice stands if the weight of any one fault kind is halved or doubled."
    changed = [
        f"{configurations[other].name} if {kind} weighs {'half' if factor < 1 else 'double'}"
        for (kind, factor), other in sensitivity.items()
    ]
    return f" It would be {'; '.join(changed)}."
