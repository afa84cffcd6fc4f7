"""Single scenarios that got much worse, under configurations that did not get worse in all."""

from __future__ import annotations

from html import escape

from isr_pipeline.report import scenario
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badges
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status
from isr_pipeline.verdicts.sentences import reason, reason_of_metric

TITLE = "Single scenarios that got much worse"
ORDER = 21

WORSE = (Status.REGRESSED, Status.SUSPECT)
SHOWN = 6


def body(page: Page, data: NightData) -> str:
    """The section's HTML; nothing if there is no such scenario."""
    found = [
        (one, metric)
        for one in data.verdict.configurations
        for metric in one.metrics
        if metric.alone and metric.status not in WORSE
    ]
    told = [_told(page, data, one, metric) for one, metric in found[:SHOWN]]
    hidden = len(found) - SHOWN
    if hidden > 0:
        told.append(f"<p class=lead>and {hidden} more metrics with such a scenario</p>")
    return "".join(told)


def _told(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> str:
    drawn = data.deciding(one, metric.metric, metric.alone[:1])
    name = escape(quantities.label(metric.metric))
    why = reason_of_metric(metric) or reason(one)
    return (
        f"<h3>{breakable(one.name)} {badges(one)}</h3><p>{escape(_sentence(data, one, metric))}</p>"
        f"<p class=lead>{name} in all: {escape(why)}.</p>"
        + "".join(scenario.shown(page, data, each) for each in drawn)
    )


def _sentence(data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> str:
    """By how much it rose there, and that this is much although all together is not."""
    values = data.values_in(one, metric.metric, metric.alone[0])
    rose = "rose"
    if values is not None:
        before, after = values
        rose += (
            f" from {quantities.amount(metric.metric, before)} "
            f"to {quantities.quantity(metric.metric, after)}"
        )
    all_ = "are not decided" if metric.status is Status.UNDECIDED else "did not"
    return (
        f"In {metric.alone[0]} {quantities.label(metric.metric)} {rose}: this scenario alone, "
        f"weighted, rose by more than ten times what matters, although all together {all_}."
    )
