"""How small a change tonight's panel can find."""

from __future__ import annotations

from collections import Counter
from html import escape

from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts.power import needed, smallest_ratio
from isr_pipeline.verdicts.quantities import amount, label, unit

TITLE = "Power"
ORDER = 90
FOLDED = True


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    least = needed(data.settings)
    lead = (
        f"If one configuration changes, in all {len(data.settings.metrics)} metrics, the change "
        f"must show in at least {least} scenarios to be significant after correction."
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
        f'<tr><th scope="row">{label(name)}</th><td class="n">{above[name]}</td>'
        f'<td class="n">{_smallest(data, above[name])}</td>'
        f'<td class="n">{amount(name, settings.floor)} {unit(name)}</td></tr>'
        for name, settings in data.settings.metrics.items()
    ]
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    rows = [
        f'<tr><th scope="row">{escape(kind)}</th><td class="n">{count}</td>'
        f"<td>{'can' if count >= least else 'cannot'} alarm alone</td></tr>"
        for kind, count in sorted(kinds.items(), key=lambda item: item[1])
    ]
    material = f"{data.settings.ratio_min:g} x"
    first = table(
        f"Where {data.plan.reference} has any of it; an alarm takes a rise to {material} and by "
        "the floor",
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
        "<p class=lead>A rise to the smallest ratio is found in 19 of 20 nights, if it comes from "
        "more scenarios that have any, each as bad as those that have some now. A change that "
        "makes all of these a little worse is found from the ratio on at which it matters.</p>"
    )
    return f"<p>{lead}</p>{first}{note}{second}"


def _smallest(data: NightData, above_zero: int) -> str:
    """The smallest detectable ratio of a metric that so many scenarios have any of."""
    if above_zero == 0:
        return "from zero only"
    ratio = smallest_ratio(above_zero, len(data.panel.scenario_ids), data.settings)
    return "none" if ratio is None else f"{ratio:.2f} x"
