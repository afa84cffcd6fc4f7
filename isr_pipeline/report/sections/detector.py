"""The in-sync rule as a failure detector: whom it removes without a fault, whom too late."""

from __future__ import annotations

from isr_pipeline.report import scatter
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page

TITLE = "Wrong and late removals"
ORDER = 60
FOLDED = True


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    lead = (
        "Does the in-sync rule remove the right followers? A removal is spurious if no fault "
        "touched the follower. The detection delay is the time that a follower with a fault "
        "stayed in the ISR past the lag limit."
    )
    caption = "<strong>Spurious removals against detection delay</strong>; lower left is better"
    return f"<p class=lead>{lead}</p>" + page.figure(scatter.detector(data), caption)
