"""How small a change tonight's panel can find."""

from __future__ import annotations

from collections import Counter
from html import escape

from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts.statistics import discordant_found, discordant_needed

TITLE = "Power"
ORDER = 90


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    needed = _needed(data)
    lead = (
        f"If one configuration changes, in all {len(data.settings.metrics)} metrics, the change "
        f"must show in at least {needed} scenarios to be significant after correction."
    )
    if data.verdict.tests:
        lead += (
            f" Tonight {data.verdict.tests} comparisons could have been significant, from "
            f"{data.verdict.discordant_needed} scenarios on."
        )
    column = data.panel.column(data.reference.config_id)
    above = {
        name: int((data.panel.values[name][:, column] > 0).sum()) for name in data.settings.metrics
    }
    metrics = [
        f'<tr><th scope="row">{name}</th><td class="n">{above[name]}</td>'
        f'<td class="n">{_smallest(data, above[name])}</td>'
        f'<td class="n">{settings.floor:g}</td></tr>'
        for name, settings in data.settings.metrics.items()
    ]
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    rows = [
        f'<tr><th scope="row">{escape(kind)}</th><td class="n">{count}</td>'
        f"<td>{'can' if count >= needed else 'cannot'} alarm alone</td></tr>"
        for kind, count in sorted(kinds.items(), key=lambda item: item[1])
    ]
    material = f"{data.settings.ratio_min:g} x"
    first = table(
        f"Where {data.plan.reference} has any of it; an alarm takes {material} and the floor",
        [
            ("metric", ""),
            ("scenarios above zero", "n"),
            ("smallest ratio found", "n"),
            ("absolute floor", "n"),
        ],
        metrics,
    )
    second = table(
        f"Scenarios of each fault kind among {len(data.panel.scenario_ids)}",
        [("fault kind", ""), ("scenarios", "n"), ("a change confined to it", "")],
        rows,
    )
    note = (
        "<p class=lead>The smallest ratio that is found 19 times in 20, if what gets worse is that "
        "the thing happens in further scenarios, as badly as where it happens now. What makes "
        "every such scenario a little worse is found down to the ratio above which it matters.</p>"
    )
    return f"<p>{lead}</p>{first}{note}{second}"


def _needed(data: NightData) -> int:
    """Scenarios in which a change of one configuration must show, in all its metrics."""
    return discordant_needed(len(data.settings.metrics), data.settings.suspicion_rate)


def _smallest(data: NightData, above_zero: int) -> str:
    """The smallest detectable ratio of a metric that so many scenarios have any of."""
    if above_zero == 0:
        return "from zero only"
    needed = _needed(data)
    more = discordant_found(needed)
    if above_zero + more <= len(data.panel.scenario_ids):
        return f"{max(data.settings.ratio_min, 1.0 + more / above_zero):.2f} x"
    # too few scenarios are left for it to happen anew: only what all of them show can be found
    return f"{data.settings.ratio_min:.2f} x" if above_zero >= needed else "none"
