"""The figures that a ratio is of, from the same scenarios and weights as the ratio.

Of sums they are a year's totals (:mod:`isr_pipeline.verdicts.years`), so that scenarios that stand
for no incident are in neither figure nor ratio: what the cluster has of a metric there is told
beside. Of a latency they are the weighted geometric means of value and floor, whose quotient is the
ratio that is judged. Where nobody counts incidents, a stratum has what one of its scenarios costs,
and the whole panel has a ratio only: the mix of a panel says nothing of a year.

What is tested, and how large a change is called, follows from all scenarios, not from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.verdicts.comparison import (
    LEAST_FLOOR_MS,
    Comparison,
    Intervals,
    PanelOutcomes,
    intervals,
)
from isr_pipeline.verdicts.quantities import PRODUCE, VerdictSettings, is_latency
from isr_pipeline.verdicts.record import Figures, Per
from isr_pipeline.verdicts.statistics import Bools, Floats, finite, ratio
from isr_pipeline.verdicts.years import HIT, incidents_of
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.profile import FaultProfile

Ends = tuple[Floats, Floats]


@dataclass(frozen=True)
class MetricFigures:
    """What is printed of one metric of c pairs of configurations.

    Attributes:
        whole: of all scenarios together.
        in_strata: the same of each stratum, in their order.
        without_incident: of scenarios that stand for no incident; None where they have none of it.
    """

    whole: list[Figures]
    in_strata: list[list[Figures]]
    without_incident: list[Figures | None]


def pairs(
    sides: tuple[PanelOutcomes, PanelOutcomes],
    found: Comparison,
    ends: Intervals,
    levels: tuple[Floats, Floats],
    settings: VerdictSettings,
    profile: FaultProfile | None,
) -> list[MetricFigures]:
    """The two figures of every comparison, metric by metric.

    Args:
        sides: tonight's outcomes and the baseline's.
        found: what they come to.
        ends: the intervals of its ratios.
        levels: of those of the whole panel.
        settings: with the floors of latencies.
        profile: says which scenarios stand for how many incidents; None where nobody counts them.
    """
    incidents = None if profile is None else incidents_of(sides[0], profile)
    every = np.ones(len(sides[0].weights), dtype=bool)
    counted = every if incidents is None else incidents > 0
    told = [_Told(sides, metric, settings, incidents) for metric in found.metrics]
    without = [one.beside(~counted) for one in told]
    narrower = ends
    if any(one is not None for beside in without for one in beside):
        new, old = (one.of(counted) for one in sides)
        narrower = intervals(new, old, found, settings, levels, in_strata=False)
    labels = np.asarray(found.strata.labels)
    whens = ["" if profile is None else profile.drawn_in(one) for one in found.strata.names]
    made = []
    for row, (one, beside) in enumerate(zip(told, without, strict=True)):
        of_all, of_incidents = ((some.low[0][row], some.high[0][row]) for some in (ends, narrower))
        # Scenarios without any of it move no ratio: then the interval is the one that was judged.
        low, high = (
            np.where([some is None for some in beside], *both)
            for both in zip(of_all, of_incidents, strict=True)
        )
        made.append(
            MetricFigures(
                whole=one.pairs(counted if one.has_years else every, (low, high)),
                in_strata=[
                    one.pairs(labels == at, (ends.low[1 + at][row], ends.high[1 + at][row]), when)
                    for at, when in enumerate(whens)
                ],
                without_incident=beside,
            )
        )
    return made


def own_figures(
    panel: PanelOutcomes, settings: VerdictSettings, profile: FaultProfile
) -> dict[str, dict[str, float]]:
    """config_id -> tested metric -> what it has in a year, or of a latency in a typical scenario.

    Where nobody counts incidents, none is none all the same.

    Args:
        panel: of the night; who has a failed or missing pair has nothing.
        settings: with the metrics, and the floors of latencies.
        profile: counted in the cluster.
    """
    found: dict[str, dict[str, float]] = {one: {} for one in panel.config_ids}
    for metric in (one for one in settings.metrics if one in panel.values):
        per, values = figure_of_each(panel, metric, settings, profile)
        for config_id, value in zip(panel.config_ids, values, strict=True):
            if value == 0 or (per in (Per.YEAR, Per.TYPICAL) and np.isfinite(value)):
                found[config_id][metric] = float(value)
    return found


def figure_of_each(
    panel: PanelOutcomes, metric: str, settings: VerdictSettings, profile: FaultProfile
) -> tuple[Per, Floats]:
    """A figure of every configuration: of all incidents where they are counted.

    Args:
        panel: of any configurations.
        metric: outcome column.
        settings: with its floor, of a latency.
        profile: counted in the cluster.
    """
    incidents = incidents_of(panel, profile)
    here = np.ones(len(panel.weights), dtype=bool)
    if incidents is not None and not is_latency(metric):
        here = incidents > 0
    return figures(panel, metric, settings, incidents, here)


def floor_figure(
    panel: PanelOutcomes, metric: str, floor: float, profile: FaultProfile
) -> tuple[Per, float]:
    """A floor of means as a difference of figures: a year's, or where nobody counts a scenario's.

    A year's is exact for what differs in scenarios that stand for incidents.

    Args:
        panel: that is judged.
        metric: outcome column, no latency.
        floor: in the metric's own unit.
        profile: counted in the cluster.
    """
    total = floor * panel.mean_divisor(metric)
    incidents = incidents_of(panel, profile)
    if incidents is None or not _has_years(metric):
        return Per.SCENARIO, total / float(panel.weights.sum())
    a_weight = float(incidents.sum() / panel.weights[incidents > 0].sum())
    return Per.YEAR, total * a_weight / METRICS[metric].unit.year_in


def figures(
    panel: PanelOutcomes,
    metric: str,
    settings: VerdictSettings,
    incidents: Floats | None,
    here: Bools,
) -> tuple[Per, Floats]:
    """A figure of every configuration, and what it is of.

    Args:
        panel: of any configurations.
        metric: outcome column.
        settings: with its floor, of a latency.
        incidents: (n,) see :func:`isr_pipeline.verdicts.years.incidents_of`.
        here: (n,) scenarios that the figures are of.
    """
    natural, weights = panel.natural(metric)[here], panel.weights[here]
    if is_latency(metric):
        logarithms = np.log(natural + max(settings.metrics[metric].floor, LEAST_FLOOR_MS))
        return Per.TYPICAL, np.exp(weights @ logarithms / weights.sum())
    if _has_years(metric) and incidents is not None and (incidents[here] > 0).all():
        return Per.YEAR, incidents[here] @ natural / METRICS[metric].unit.year_in
    if here.all():
        return Per.MIX, panel.means(metric)
    return Per.SCENARIO, weights @ natural / weights.sum()


def _has_years(metric: str) -> bool:
    return bool(METRICS[metric].unit.year)


@dataclass(frozen=True)
class _Told:
    """One metric of both sides."""

    sides: tuple[PanelOutcomes, PanelOutcomes]
    metric: str
    settings: VerdictSettings
    incidents: Floats | None

    @property
    def has_years(self) -> bool:
        return _has_years(self.metric)

    def pairs(self, here: Bools, ends: Ends | None = None, when: str = "") -> list[Figures]:
        """Both figures of every comparison.

        Args:
            here: (n,) scenarios that they are of.
            ends: (c,) of the ratios; None where they have none.
            when: what happens in these scenarios.
        """
        (per, after), (_, before) = self._of_both(self.metric, here)
        quotients = ratio(after, before)
        hit = None
        counted = all(HIT in one.values for one in self.sides)
        if per is Per.SCENARIO and self.metric == PRODUCE and counted:
            (_, now), (_, then) = self._of_both(HIT, here)
            hit = then, now
        return [
            Figures(
                per=per,
                scenarios=int(here.sum()),
                before=float(before[at]),
                after=float(after[at]),
                ratio=finite(quotients[at]),
                low=None if ends is None else finite(ends[0][at]),
                high=None if ends is None else finite(ends[1][at]),
                when=when if per is Per.SCENARIO else "",
                hit=None if hit is None else (float(hit[0][at]), float(hit[1][at])),
            )
            for at in range(len(after))
        ]

    def beside(self, others: Bools) -> list[Figures | None]:
        """Of scenarios that stand for no incident: None where they have none of the metric."""
        if not others.any() or not self.has_years:
            return [None] * len(self.sides[0].config_ids)
        return [one if one.before or one.after else None for one in self.pairs(others)]

    def _of_both(self, metric: str, here: Bools) -> Sequence[tuple[Per, Floats]]:
        return [figures(one, metric, self.settings, self.incidents, here) for one in self.sides]
