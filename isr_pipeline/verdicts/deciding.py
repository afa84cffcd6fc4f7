"""Which scenarios decided on a metric of a configuration: those that a reader is shown.

They are of the regression panel, which is the same each night. Where that does not show what was
called, as when one further scenario alone lost records, they are of all scenarios of the night.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isr_pipeline.verdicts.judge import baseline_panel, panel_rows
from isr_pipeline.verdicts.look import size_of
from isr_pipeline.verdicts.materiality import rise_matters
from isr_pipeline.verdicts.model import ConfigVerdict, MetricVerdict, NightVerdict, Status
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import load_settings
from isr_pipeline.verdicts.stages import both_sides

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import Baseline

DECIDING = 3
"""How many scenarios are named as deciding."""


@dataclass(frozen=True)
class Sides:
    """One configuration on some scenarios, tonight and in the baseline.

    Attributes:
        rows: of the scenarios table.
        new: tonight's outcomes, one column; ``old``: the baseline's.
    """

    rows: pd.DataFrame
    new: PanelOutcomes
    old: PanelOutcomes

    def text(self, scenario_id: str) -> str:
        """JSON of a scenario."""
        return str(self.rows.loc[self.rows["scenario_id"] == scenario_id, "scenario_json"].iloc[0])


def on_regression(plan: Plan, baseline: Baseline, one: ConfigVerdict) -> Sides:
    """Both sides of a compared configuration on the regression panel."""
    assert one.baseline_config_id is not None, "it was compared"
    rows, outcomes = (
        panel_rows(table, plan.experiment, plan.night, "regression")
        for table in ("scenarios", "outcomes")
    )
    new = PanelOutcomes.from_frames(outcomes, rows, (one.config_id,))
    return Sides(rows, new, baseline_panel(baseline, "regression", (one.baseline_config_id,)))


def on_all(
    plan: Plan, baseline: Baseline, judged: NightVerdict, one: ConfigVerdict
) -> Sides | None:
    """The same on the regression panel and all further scenarios; None if there were none."""
    if not judged.stages:
        return None
    assert one.baseline_config_id is not None, "it was compared"
    panels = ("regression", *(stage.panel for stage in judged.stages))
    return Sides(*both_sides(plan, baseline, {one.config_id: one.baseline_config_id}, panels))


def deciding(
    asked: MetricVerdict, regression: Sides, everything: Callable[[], Sides | None]
) -> tuple[Sides, tuple[str, ...]]:
    """Scenarios that carry most of what was called of a metric, the first most.

    Args:
        asked: the metric.
        regression: see :func:`on_regression`.
        everything: see :func:`on_all`; called where the regression panel does not show it.

    Returns:
        where they are from, and their names; none if nothing differs anywhere.
    """
    worse = is_worse(asked)
    names = _carrying(asked, regression, worse=worse)
    if names and (not asked.newly or set(asked.newly) & set(names)):
        return regression, names
    sides = everything() or regression
    names = _carrying(asked, sides, worse=worse) or _carrying(asked, sides, worse=not worse)
    return sides, names


def is_worse(asked: MetricVerdict) -> bool:
    """Whether what is asked about got worse, as it was called; else by its ratio.

    A latency's ratio is of what most scenarios feel, which one long stall that got shorter hides.
    """
    if asked.status in (Status.REGRESSED, Status.SUSPECT):
        return True
    if asked.status is Status.IMPROVED:
        return False
    return asked.ratio > 1.0 if asked.ratio is not None else (asked.delta or 0.0) > 0.0


def hurt(asked: MetricVerdict) -> frozenset[str]:
    """Strata that an alarm is of; none if all together rose enough for one."""
    settings = load_settings()
    size = size_of(asked, asked.metric)
    if not is_worse(asked) or rise_matters(size, settings, settings.suspicion_share):
        return frozenset()
    return frozenset(one.stratum for one in asked.strata if one.status is asked.status)


def _carrying(asked: MetricVerdict, sides: Sides, *, worse: bool) -> tuple[str, ...]:
    """Scenarios that carry most of a change of that direction.

    First those in which newly happened what must never happen; of the strata that an alarm is of,
    if some do.
    """
    new, old = sides.new, sides.old
    inside = np.flatnonzero(np.isin(new.strata, list(hurt(asked))))
    names = _most_changed(
        new.rows(inside, new.weights[inside]),
        old.rows(inside, old.weights[inside]),
        asked.metric,
        worse=worse,
    )
    names = names or _most_changed(new, old, asked.metric, worse=worse)
    values = zip(new.scenario_ids, new.values[asked.metric], old.values[asked.metric], strict=True)
    risen = {name for name, after, before in values if after[0] > before[0]}
    newly = [name for name in asked.newly if worse and name in risen]
    return tuple(dict.fromkeys([*newly, *names]))[:DECIDING]


def _most_changed(
    new: PanelOutcomes, old: PanelOutcomes, metric: str, *, worse: bool
) -> tuple[str, ...]:
    """Scenarios that carry most of a change for the worse, or for the better; one column each."""
    change = new.weights * (new.natural(metric)[:, 0] - old.natural(metric)[:, 0])
    change = change if worse else -change
    order = np.argsort(-change, kind="stable")[:DECIDING]
    return tuple(new.scenario_ids[index] for index in order if change[index] > 0)
