"""What got better: where, by how much, and in which strata."""

from __future__ import annotations

from isr_pipeline.report.change import metric_change
from isr_pipeline.report.data import REGRESSIONS_SHOWN, NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badges
from isr_pipeline.verdicts.record import ConfigVerdict, Status

TITLE = "What got better"
ORDER = 24


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    better = [one for one in data.verdict.configurations if one.metrics_with(Status.IMPROVED)]
    if data.verdict.baseline is None:
        return ""
    if not better:
        return "<p class=lead>Nothing improved by as much as matters.</p>"
    parts = [_improvement(page, data, one) for one in better[:REGRESSIONS_SHOWN]]
    more = len(better) - REGRESSIONS_SHOWN
    if more > 0:
        parts.append(f"<p class=lead>and {more} more configurations</p>")
    return "".join(parts)


def _improvement(page: Page, data: NightData, one: ConfigVerdict) -> str:
    parts = [f"<h3>{breakable(one.name)} {badges(one)}</h3>"]
    for metric in one.metrics:
        if metric.status is not Status.IMPROVED:
            continue
        parts.append(metric_change(page, data, one, metric))
    return "".join(parts)
