"""The nights so far."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

TITLE = "Nights"
ORDER = 80

TREND_LINES = 6


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    shown = [data.plan.reference, *(one.name for one in data.flagged)]
    shown += [str(one.name) for one in data.plan.configurations]
    shown = list(dict.fromkeys(shown))[:TREND_LINES]
    figures = "".join(
        page.figure(charts.trend(data, metric, shown), f"<strong>{label(metric)}</strong>")
        for metric in MAIN_RATES
    )
    if not figures:
        return "<p class=lead>A trend takes at least two nights.</p>"
    lead = "Nights of tonight's regression panel."
    return f'<p class=lead>{lead}</p><div class="pair">{figures}</div>'
