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
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page

if TYPE_CHECKING:
    from isr_pipeline.report.charts import Chart

TITLE = "Why"
ORDER = 22
WORST = 3


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    return "".join(_explained(page, data, one.name) for one in data.flagged[:WORST])


def explanation(page: Page, data: NightData, name: str) -> Explanation | str:
    """Where a configuration's history parts from the baseline's; a line if nobody can say."""
    if name not in page.explained:
        try:
            case = read_case(data.plan.experiment, data.plan.night, name)
            page.explained[name] = explain(case)
        except USER_ERRORS as refusal:
            page.explained[name] = str(refusal)
    return page.explained[name]


def _explained(page: Page, data: NightData, name: str) -> str:
    heading = f"<h3>{breakable(name)}</h3>"
    found = explanation(page, data, name)
    if isinstance(found, str):
        return f"{heading}<p class=lead>{escape(found)}</p>"
    lines = "\n".join(escape(line) for line in found.lines())
    caption = (
        f"<strong>{escape(found.drawn.scenario_id)}</strong>: the baseline above, tonight below; "
        "dark blue leads, light blue is in the ISR, orange is out of it, dark grey is on a dead "
        "broker, red is offline; white strokes are a leader's isr-expiration ticks; "
        "faults are shaded"
    )
    return f"{heading}<pre><code>{lines}</code></pre>{page.figure(_lanes(found), caption)}"


def _lanes(found: Explanation) -> Chart:
    runs = {"baseline": found.before.events, "tonight": found.after.events}
    chart: Chart = json.loads(draw(found.scenario, runs).to_json())
    del chart["layout"]["template"]
    return chart
