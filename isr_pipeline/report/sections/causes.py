"""Which faults and strata make up the totals."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

TITLE = "What causes what"
ORDER = 70
FOLDED = True


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    lead = (
        "Percent of each configuration's weighted total. A scenario of two kinds counts for both. "
        f"What stands for less than {charts.SHARE_MIN:g} % everywhere is left out."
    )
    figures = "".join(
        page.figure(
            charts.causes(data, metric, by), f"<strong>{label(metric)}</strong> by {words}, %"
        )
        for metric in MAIN_RATES
        for by, words in (("fault_kinds", "fault kind"), ("strata", "stratum"))
    )
    return f'<p class=lead>{lead}</p><div class="pair">{figures}</div>' if figures else ""
