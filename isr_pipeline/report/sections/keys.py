"""The reference's release over the keys that vary most."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import FLAPS, LABELS, OFFLINE, PRODUCE, unit

TITLE = "Over the main keys"
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
            charts.heat(data, name), f"<strong>{LABELS[name]}</strong>, {unit(name)}; dark is worse"
        )
        for name in (PRODUCE, OFFLINE, FLAPS)
    ]
    if not any(figures):
        return f"<p class=lead>{why_not}</p>"
    lead = "Mean over the configurations of the reference's release that share both values."
    return f'<p class=lead>{lead}</p><div class="pair">{"".join(figures)}</div>'
