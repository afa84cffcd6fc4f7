"""Where the worst three part from their baseline, both histories drawn one above the other."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.blame.case import read_case
from isr_pipeline.blame.why import Explanation, explain
from isr_pipeline.errors import USER_ERRORS
from isr_pipeline.report.data import NightData
from isr_pipeline.report.lanes import draw
from isr_pipeline.report.page import Page

if TYPE_CHECKING:
    from isr_pipeline.report.charts import Chart

TITLE = "Why"
ORDER = 27
WORST = 3


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    if not data.flagged:
        return "<p class=lead>Nothing got worse that could be explained.</p>"
    return "".join(_explained(page, data, one.name) for one in data.flagged[:WORST])


def _explained(page: Page, data: NightData, name: str) -> str:
    heading = f"<h3>{escape(name)}</h3>"
    try:
        case = read_case(data.plan.experiment, data.plan.night, name)
        found = explain(case, thorough=False)
    except USER_ERRORS as refusal:
        return f"{heading}<p class=lead>{escape(str(refusal))}</p>"
    lines = "\n".join(escape(line) for line in found.lines())
    caption = (
        f"<strong>{escape(found.drawn.scenario_id)}</strong>: the baseline above, tonight below; "
        "faults shaded"
    )
    return f"{heading}<pre><code>{lines}</code></pre>{page.figure(_lanes(found), caption)}"


def _lanes(found: Explanation) -> Chart:
    runs = {"baseline": found.before.events, "tonight": found.after.events}
    chart: Chart = json.loads(draw(found.scenario, runs).to_json())
    return chart
