"""Which faults and strata make up the totals."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import (
    FLAPS,
    OFFLINE,
    NightData,
)
from isr_pipeline.report.page import LABELS, Page

TITLE = "What causes what"
ORDER = 70


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    lead = "Share of each configuration's weighted total; a scenario of two kinds counts for both."
    figures = "".join(
        page.figure(
            charts.causes(data, metric, by), f"<strong>{LABELS[metric]}</strong> by {words}"
        )
        for metric in (OFFLINE, FLAPS)
        for by, words in (("fault_kinds", "fault kind"), ("strata", "stratum"))
    )
    return f"<p class=lead>{lead}</p>{figures}"
