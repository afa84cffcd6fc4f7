"""A scenario that decided, as the page shows it: its change, what happened, and how to see it."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.report import charts
from isr_pipeline.report.data import replay_command
from isr_pipeline.verdicts.model import number
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.report.data import Deciding, NightData
    from isr_pipeline.report.page import Page


def shown(page: Page, data: NightData, found: Deciding) -> str:
    """The scenario's HTML."""
    name = data.name(found.config_id)
    faults = Counter(str(fault["kind"]) for fault in found.scenario.get("faults", ()))
    kinds = ", ".join(f"{count} × {kind}" for kind, count in faults.items()) or "no fault"
    unit = METRICS[found.metric].unit.total
    change = f"{number(found.before)} to {number(found.after)} {unit} ({kinds})"
    command = f"<pre><code>{escape(replay_command(data.plan, found, name))}</code></pre>"
    if not found.events:
        kept = (
            "<p class=lead>The events of this pair were not kept, and its code is not the one that "
            "runs now; the command shows what became of it.</p>"
        )
        return f"<p><strong>{escape(found.scenario_id)}</strong>: {change}</p>{kept}{command}"
    caption = f"<strong>{escape(found.scenario_id)}</strong>: {change}; faults shaded"
    return page.figure(charts.timeline(found), caption) + command
