"""Every configuration and its verdict, and what backs its rules."""

from __future__ import annotations

from html import escape

from isr_pipeline.report.backing import backing
from isr_pipeline.report.data import (
    FLAPS,
    LATENCY,
    OFFLINE,
    NightData,
)
from isr_pipeline.report.page import Page, badges, table
from isr_pipeline.verdicts.model import WORST_FIRST, ConfigVerdict, MetricVerdict, Status, number

TITLE = "Configurations"
ORDER = 10


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    ranked = sorted(data.verdict.configurations, key=lambda one: WORST_FIRST.index(one.status))
    rows = [_configuration_row(one) for one in ranked]
    head = [
        ("configuration", ""),
        ("verdict", ""),
        ("offline rate", "n"),
        ("flaps / partition-h", "n"),
        ("commit p99 ms", "n"),
        ("records lost", "n"),
        ("why", ""),
    ]
    caption = "Every configuration, worst verdict first; × is to the baseline, on n scenarios"
    drawn = table(caption, head, rows)
    return drawn + _stages(data) + _backing(data)


def _stages(data: NightData) -> str:
    """What was simulated beyond the regression panel, and what that settled."""
    verdict = data.verdict
    if not verdict.stages and not verdict.stopped:
        return ""
    rows = [
        f'<tr><th scope="row">{escape(one.panel)}</th><td class="n">{one.scenarios}</td>'
        f'<td class="n">{one.scenarios_together}</td><td class="n">{one.configurations}</td>'
        f'<td class="n">{one.decided}</td></tr>'
        for one in verdict.stages
    ]
    head = [
        ("panel", ""),
        ("scenarios", "n"),
        ("looked at together", "n"),
        ("configurations", "n"),
        ("decided", "n"),
    ]
    caption = f"Simulated for what was not decided: {verdict.scenarios_used} scenarios in all"
    stopped = f"<p>{escape(verdict.stopped)}</p>" if verdict.stopped else ""
    return "<h3>Further scenarios</h3>" + table(caption, head, rows) + stopped


def _backing(data: NightData) -> str:
    """How each rule set is backed, configurations of the same backing together."""
    groups: dict[str, list[str]] = {}
    for one in data.plan.configurations:
        groups.setdefault(backing(one, data.reference), []).append(one.name)
    rows = [
        f'<tr><th scope="row">{escape(source)}</th><td class="n">{len(names)}</td>'
        f'<td class="why">{escape(", ".join(names))}</td></tr>'
        for source, names in groups.items()
    ]
    head = [("the rules are backed by", ""), ("configurations", "n"), ("which", "")]
    return "<h3>How the rules are backed</h3>" + table("What stands behind them", head, rows)


def _configuration_row(one: ConfigVerdict) -> str:
    shown = {metric.metric: metric for metric in one.metrics}
    cells = "".join(
        f'<td class="n">{_with_ratio(shown.get(name))}</td>'
        for name in (OFFLINE, FLAPS, LATENCY, "records_lost")
    )
    return (
        f'<tr><th scope="row">{escape(one.name)}</th><td>{badges(one)}</td>{cells}'
        f'<td class="why">{escape(one.reason)}</td></tr>'
    )


def _with_ratio(metric: MetricVerdict | None) -> str:
    if metric is None:
        return "–"
    if metric.ratio is None or metric.status is Status.UNCHANGED:
        return number(metric.value)
    behind = f", n {metric.scenarios}" if metric.scenarios else ""
    return f"{number(metric.value)} <small>{metric.ratio:.2f} ×{behind}</small>"
