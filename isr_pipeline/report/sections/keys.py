"""The reference's release by the values of two keys."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label, unit
from isr_pipeline.worlds.columns import MAIN_RATES

TITLE = "Two keys together"
ORDER = 50
FOLDED = True


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    why_not = (
        "Fewer than two keys vary among configurations of the reference's release, or every value "
        "is the same."
    )
    figures = [
        page.figure(
            charts.heat(data, name), f"<strong>{label(name)}</strong>, {unit(name)}; dark is worse"
        )
        for name in MAIN_RATES
    ]
    if not any(figures):
        return f"<p class=lead>{why_not}</p>"
    lead = (
        "Each field is the mean of the configurations that have both values. Releases other than "
        "the reference's are left out."
    )
    return f'<p class=lead>{lead}</p><div class="pair">{"".join(figures)}</div>'
