"""Every configuration that differs from the baseline, with its interval."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label

TITLE = "Against the baseline"
ORDER = 45


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    if data.verdict.baseline is None or data.verdict.tests == 0:
        return "<p class=lead>There is nothing to compare with tonight.</p>"
    drawn = [
        page.figure(charts.changed_forest(data, name), f"<strong>{label(name)}</strong>")
        for name in data.settings.metrics
    ]
    if not any(drawn):
        return "<p class=lead>Every outcome is bit-identical to the baseline's.</p>"
    lead = (
        "Configurations whose outcomes differ; n scenarios are behind each. The true ratio lies "
        "above an upper end in 5 % of cases at most, and the upper end decides ok. The end that "
        "faces 1 of what was called worse or better is held to the stricter level that many "
        "comparisons ask for."
    )
    return f'<p class=lead>{lead}</p><div class="pair">{"".join(drawn)}</div>'
