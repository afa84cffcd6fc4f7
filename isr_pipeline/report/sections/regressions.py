"""What got worse: where, by how much, and the scenarios that decided it."""

from __future__ import annotations

from html import escape

from isr_pipeline.report import scenario
from isr_pipeline.report.change import metric_change
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badges, fold
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import ConfigVerdict, Status
from isr_pipeline.verdicts.sentences import worst_first

TITLE = "What got worse"
ORDER = 20

WORSE = (Status.REGRESSED, Status.SUSPECT)


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    if data.verdict.baseline is None:
        return ""
    shown = [_regression(page, data, one) for one in data.flagged]
    return "".join(shown) or "<p class=lead>Nothing regressed and nothing is suspect.</p>"


def _regression(page: Page, data: NightData, one: ConfigVerdict) -> str:
    parts = [f"<h3>{breakable(one.name)} {badges(one)}</h3>"]
    worse = worst_first([metric for metric in one.metrics if metric.status in WORSE])
    for metric in worse:
        found = "".join(
            scenario.shown(page, data, deciding) for deciding in data.deciding(one, metric.metric)
        )
        changed = metric_change(page, data, one, metric)
        summary = f"Scenarios that decided on {escape(quantities.label(metric.metric))}"
        parts.append(changed + (fold(summary, found) if found else ""))
    return "".join(parts)
