"""How small a change tonight's panel can find."""

from __future__ import annotations

from collections import Counter
from html import escape

from isr_pipeline.report.data import (
    NightData,
)
from isr_pipeline.report.page import Page, table
from isr_pipeline.verdicts.power import Reach, reach_of, smallest_words, uniform_ratio
from isr_pipeline.verdicts.quantities import amount, is_latency, label, unit

TITLE = "How small a change is found"
ORDER = 90
FOLDED = True


def body(_: Page, data: NightData) -> str:
    """The section's HTML."""
    reach = reach_of(data.plan.panels, data.plan.definition.budget, data.settings)
    lead = (
        f"An alarm about one configuration takes a difference in at least one of {reach.scenarios} "
        f"scenarios, and a rise in at least {reach.least} of {reach.further} further ones."
        if reach.decides
        else f"The budget has {reach.further} further scenarios; an alarm takes {reach.least}."
    )
    if data.verdict.tests:
        lead += (
            f" Tonight {data.verdict.tests} comparisons could have been significant on the "
            f"regression panel alone, from {data.verdict.discordant_needed} scenarios on."
        )
    column = data.panel.column(data.reference.config_id)
    above = {
        name: int((data.panel.values[name][:, column] > 0).sum()) for name in data.settings.metrics
    }
    metrics = [
        f'<tr><th scope="row">{label(name)}</th><td class="n">{above[name]}</td>'
        f'<td class="n">{_smallest(data, reach, name, above[name])}</td>'
        f'<td class="n">{amount(name, settings.floor)} {unit(name)}</td></tr>'
        for name, settings in data.settings.metrics.items()
    ]
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    rows = [
        f'<tr><th scope="row">{escape(kind)}</th><td class="n">{count}</td></tr>'
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
        [("fault kind", ""), ("scenarios", "n")],
        rows,
    )
    note = (
        "<p class=lead>A rise to the smallest ratio is found in 19 of 20 nights, if it comes from "
        "more scenarios that have any, each as bad as those that have some now. A latency's "
        "is the factor that every scenario must rise by.</p>"
    )
    return f"<p>{lead}</p>{first}{note}{second}"


def _smallest(data: NightData, reach: Reach, metric: str, above_zero: int) -> str:
    """The smallest ratio found of a metric that so many scenarios of the reference have any of."""
    uniform = None
    if is_latency(metric):
        column = data.panel.column(data.reference.config_id)
        uniform = uniform_ratio(
            data.panel.values[metric][:, column],
            data.panel.weights,
            data.settings.metrics[metric].floor,
            data.settings.ratio_min,
        )
    return smallest_words(above_zero, uniform, reach, data.settings)
