"""Every configuration of a night against its reference, pair by pair, and the Pareto front.

All of them met the same scenarios. Nothing here decides a verdict, and nothing chooses: what is
best of many on these scenarios is partly the luckiest (see :mod:`isr_pipeline.verdicts.choice`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isr_pipeline.verdicts.comparison import Comparison, compare
from isr_pipeline.verdicts.halves import Intervals, intervals
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

Floats = npt.NDArray[np.float64]

END = 0.025
"""One-sided level of either end of an interval."""

DECIDING = 3
"""How many scenarios are named as deciding."""


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
    """

    panel: PanelOutcomes
    reference: str
    versus: Comparison
    ends: Intervals
    front: tuple[str, ...]
    axes: dict[str, Floats]


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
    return Between(
        panel=kept,
        reference=reference,
        versus=versus,
        ends=ends,
        front=tuple(usable[index] for index in front),
        axes=axes,
    )


def pareto_front(points: Floats) -> npt.NDArray[np.int64]:
    """Indices of the rows that no other row beats (less is better on every axis)."""
    no_worse = (points[:, None, :] <= points[None, :, :]).all(axis=2)
    better = (points[:, None, :] < points[None, :, :]).any(axis=2)
    return np.flatnonzero(~(no_worse & better).any(axis=0))


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
