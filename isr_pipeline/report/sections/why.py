"""Where the worst three part from their baseline, both histories drawn one above the other."""

from __future__ import annotations

from html import escape

from isr_pipeline.blame.case import read_case
from isr_pipeline.blame.why import Explanation, explain
from isr_pipeline.errors import USER_ERRORS
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, fold
from isr_pipeline.report.scenario import told
from isr_pipeline.report.story import story_of
from isr_pipeline.report.trace import LEGEND

TITLE = "Why"
ORDER = 22
WORST = 3
LANES = 12
"""Lanes of a run: of four partitions with three replicas."""


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    told = [_explained(page, data, one.name) for one in data.flagged[:WORST]]
    rest = "".join(told[1:])
    return "".join(told[:1]) + (fold(f"Why {_others(data)}", rest) if rest else "")


def _others(data: NightData) -> str:
    """Those that are explained beside the worst."""
    return breakable(" and ".join(one.name for one in data.flagged[1:WORST]))


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
    return (
        f"{heading}<pre><code>{lines}</code></pre>{told(page, story_of(found), LANES)}"
        f"<p class=lead>{LEGEND}</p>"
    )
