"""The nights so far, and drift of the fresh panel."""

from __future__ import annotations

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts.drift import NIGHTS_MIN
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

TITLE = "Nights"
ORDER = 80

TREND_LINES = 6
DRIFTS_SHOWN = 12


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
    lead = (
        "Nights of tonight's regression panel, and of the fresh one, which is another each night: "
        "it shows drift and decides nothing."
    )
    return f'<p class=lead>{lead}</p><div class="pair">{figures}</div>{_drift(data)}'


def _drift(data: NightData) -> str:
    """Change points of the fresh panel, or that there are none."""
    nights = data.fresh_nights
    if nights < NIGHTS_MIN:
        return (
            f"<p>Drift is looked for once there are {NIGHTS_MIN} nights of the fresh panel "
            f"(now {nights}).</p>"
        )
    points = data.drift
    if not points:
        return f"<p>No drift in {nights} nights of the fresh panel.</p>"
    rows = [
        f'<tr><th scope="row">{breakable(one.config_name)}</th><td>{label(one.metric)}</td>'
        f"<td>{one.since}</td>"
        f'<td class="n">{one.before:.3g} → {one.after:.3g}</td><td class="n">{one.q:.2g}</td></tr>'
        for one in points[:DRIFTS_SHOWN]
    ]
    more = len(points) - DRIFTS_SHOWN
    hidden = f"<p class=lead>and {more} more</p>" if more > 0 else ""
    drawn = table(
        f"Drift in {nights} nights of the fresh panel: a new level since that night",
        [("configuration", ""), ("metric", ""), ("since", ""), ("medians", "n"), ("q", "n")],
        rows,
    )
    return f"{drawn}{hidden}"
