"""The in-sync rule judged as a failure detector."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page

TITLE = "Failure detector"
ORDER = 60
FOLDED = True


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    if data.between is None:
        return "<p class=lead>The reference has no data tonight.</p>"
    lead = (
        "The in-sync rule judged as a failure detector: followers removed although no fault "
        "touched them, against the time that faulty followers stayed in the ISR past the limit."
    )
    caption = "<strong>Spurious removals against detection delay</strong>; lower left is better"
    return f"<p class=lead>{lead}</p>" + page.figure(charts.detector(data, data.between), caption)
