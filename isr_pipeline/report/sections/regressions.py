"""What got worse: where, by how much, and the scenarios that decided it."""

from __future__ import annotations

from collections import Counter
from html import escape

from isr_pipeline.report import charts
from isr_pipeline.report.data import (
    Deciding,
    NightData,
    replay_command,
)
from isr_pipeline.report.page import Page, badge
from isr_pipeline.verdicts.model import ConfigVerdict, Status, number
from isr_pipeline.verdicts.panel import natural_unit

TITLE = "What got worse"
ORDER = 20


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    if not data.flagged:
        return "<p class=lead>Nothing regressed and nothing is suspect.</p>"
    return "".join(_regression(page, data, one) for one in data.flagged)


def _regression(page: Page, data: NightData, one: ConfigVerdict) -> str:
    parts = [f"<h3>{escape(one.name)} {badge(one.status)}</h3>"]
    for metric in one.metrics:
        if metric.status not in (Status.REGRESSED, Status.SUSPECT):
            continue
        label = escape(metric.metric)
        parts.append(f"<p><strong>{label}</strong>: {escape(metric.reason)}</p>")
        parts.append(
            page.figure(
                charts.differences(data, one, metric.metric),
                f"<strong>{label}</strong>: each differing scenario's change, "
                f"{natural_unit(metric.metric)}",
            )
        )
        parts += [_deciding(page, data, found) for found in data.deciding(one, metric.metric)]
    return "".join(parts)


def _deciding(page: Page, data: NightData, found: Deciding) -> str:
    name = data.name(found.config_id)
    faults = Counter(str(fault["kind"]) for fault in found.scenario.get("faults", ()))
    kinds = ", ".join(f"{count} × {kind}" for kind, count in faults.items()) or "no fault"
    change = (
        f"{number(found.before)} to {number(found.after)} {natural_unit(found.metric)} ({kinds})"
    )
    command = f"<pre><code>{escape(replay_command(data.plan, found, name))}</code></pre>"
    if not found.events:
        kept = (
            "<p class=lead>The events of this pair were not kept, and its code is not the one that "
            "runs now; the command shows what became of it.</p>"
        )
        return f"<h3>{escape(found.scenario_id)}: {change}</h3>{kept}{command}"
    caption = f"<strong>{escape(found.scenario_id)}</strong>: {change}; faults shaded"
    return page.figure(charts.timeline(found), caption) + command
