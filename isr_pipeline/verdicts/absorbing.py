"""What an acceptance changes: its night against the baseline that is in force, on the same panel.

The night's verdict does not say it. It may be against an older baseline, and its numbers may be of
further scenarios, which another acceptance's are not. On the regression panel, which both have, the
ratios of a chain of acceptances multiply to that of its ends: those of weighted means, and the
geometric means of latencies as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.verdicts.judge import baseline_panel, panel_rows
from isr_pipeline.verdicts.ledger import OTHER_PANEL, Absorbed, AbsorbedMetrics, absorbed
from isr_pipeline.verdicts.look import call
from isr_pipeline.verdicts.model import Status
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import Baseline
    from isr_pipeline.verdicts.model import NightVerdict


@dataclass(frozen=True)
class Absorption:
    """What accepting some configurations of a night changes of the baseline.

    Attributes:
        against: ``accepted_at`` of the baseline's newest acceptance; empty if there is none of this
            panel.
        metrics: configuration -> metric -> its change.
        remark: why nothing could be compared, though there was a baseline; empty if it was.
    """

    against: str
    metrics: dict[str, AbsorbedMetrics]
    remark: str = ""


def absorbed_by(
    plan: Plan,
    verdict: NightVerdict,
    outcomes: pd.DataFrame,
    chosen: Sequence[Configuration],
    baseline: Baseline | None,
) -> Absorption:
    """What accepting some configurations of a night changes of the baseline.

    Args:
        plan: of the night.
        verdict: of the night; its statuses are taken where it is against this baseline.
        outcomes: of the night.
        chosen: what is accepted.
        baseline: that is in force, None if there is none.
    """
    nothing: dict[str, AbsorbedMetrics] = {one.name: {} for one in chosen}
    if baseline is None:
        return Absorption("", nothing)
    if baseline.record.panel_digest != verdict.panel_digest:
        return Absorption("", nothing, OTHER_PANEL)
    settings = load_settings()
    newest = baseline.record.note().latest_at
    known = baseline.record.partners(plan.configurations)
    asked = {one.config_id: one.name for one in chosen if one.config_id in known}
    scenarios = panel_rows("scenarios", plan.experiment, plan.night, "regression")
    new = PanelOutcomes.from_frames(
        outcomes[outcomes["panel"] == "regression"], scenarios, tuple(asked)
    )
    old = baseline_panel(baseline, "regression", tuple(known[one] for one in asked))
    broken = np.any(new.unusable | old.unusable, axis=0)
    ids = [one for column, one in enumerate(asked) if not broken[column]]
    found: dict[str, AbsorbedMetrics] = {
        name: {metric: Absorbed(status=Status.NO_DATA) for metric in settings.metrics}
        for config_id, name in asked.items()
        if config_id not in ids
    }
    if not ids:
        return Absorption(newest, nothing | found)
    called, _ = call(
        new.select(tuple(ids)),
        old.select(tuple(known[one] for one in ids)),
        settings,
    )
    is_judged = verdict.baseline is not None and verdict.baseline.latest_at == newest
    for config_id, metrics in zip(ids, called, strict=True):
        change = absorbed(metrics)
        found[asked[config_id]] = _as_judged(change, verdict, config_id) if is_judged else change
    return Absorption(newest, nothing | found)


def _as_judged(found: AbsorbedMetrics, verdict: NightVerdict, config_id: str) -> AbsorbedMetrics:
    """The same changes with the statuses of the night's verdict, which further scenarios made."""
    judged = {one.metric: one.status for one in verdict.configuration(config_id).metrics}
    return {
        metric: one.model_copy(update={"status": judged.get(metric, one.status)})
        for metric, one in found.items()
    }
