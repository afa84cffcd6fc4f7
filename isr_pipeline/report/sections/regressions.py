"""What got worse: where, by how much, and the scenarios that decided it."""

from __future__ import annotations

from collections import Counter
from html import escape

from isr_pipeline.report import charts, words
from isr_pipeline.report.change import metric_change
from isr_pipeline.report.data import (
    Deciding,
    NightData,
    replay_command,
)
from isr_pipeline.report.page import Page, badges, fold
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.model import ConfigVerdict, MetricVerdict, Status, number
from isr_pipeline.verdicts.panel import natural_unit

TITLE = "What got worse"
ORDER = 20

WORSE = (Status.REGRESSED, Status.SUSPECT)
ALONE_SHOWN = 6


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    shown = [_regression(page, data, one) for one in data.flagged]
    alone = [
        _alone(page, data, one, metric)
        for one in data.verdict.configurations
        for metric in one.metrics
        if metric.alone and metric.status not in WORSE
    ]
    hidden = len(alone) - ALONE_SHOWN
    if hidden > 0:
        more = f"<p class=lead>and {hidden} more metrics with such a scenario</p>"
        alone = [*alone[:ALONE_SHOWN], more]
    if data.verdict.baseline is None:
        return ""
    if not shown:
        shown = ["<p class=lead>Nothing regressed and nothing is suspect.</p>"]
    return "".join(shown + alone)


def _alone(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> str:
    """A scenario whose own loss is ten floors: shown whatever the verdict."""
    found = data.deciding(one, metric.metric, metric.alone[:1])
    lead = (
        f"{escape(words.reason(metric.reason))}. In {escape(metric.alone[0])} the loss alone, "
        "weighted, is more than ten times what matters."
    )
    name = escape(quantities.label(metric.metric))
    return (
        f"<h3>{escape(one.name)} {badges(one)}</h3><p><strong>{name}</strong>: "
        f"{lead}</p>" + "".join(_deciding(page, data, drawn) for drawn in found)
    )


def _regression(page: Page, data: NightData, one: ConfigVerdict) -> str:
    parts = [f"<h3>{escape(one.name)} {badges(one)}</h3>"]
    worse = words.worst_first([metric for metric in one.metrics if metric.status in WORSE])
    for index, metric in enumerate(worse):
        found = "".join(
            _deciding(page, data, deciding) for deciding in data.deciding(one, metric.metric)
        )
        changed = metric_change(page, data, one, metric)
        summary = f"Scenarios that decided on {escape(quantities.label(metric.metric))}"
        parts.append(changed + (fold(summary, found, opened=index == 0) if found else ""))
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
        return f"<p><strong>{escape(found.scenario_id)}</strong>: {change}</p>{kept}{command}"
    caption = f"<strong>{escape(found.scenario_id)}</strong>: {change}; faults shaded"
    return page.figure(charts.timeline(found), caption) + command
