"""Single scenarios that got much worse, under configurations that did not get worse in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isr_pipeline.report import scenario
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.scenario import Shown
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status

WORSE = (Status.REGRESSED, Status.SUSPECT)
SHOWN = 6


@dataclass(frozen=True, slots=True)
class Single:
    """A metric that rose in one scenario alone, and that scenario."""

    verdict: ConfigVerdict
    metric: MetricVerdict
    sentence: str
    decided: list[Shown]


def values(page: Page, data: NightData) -> dict[str, Any] | None:
    """Every such scenario; None if there is none."""
    found = [
        (one, metric)
        for one in data.verdict.configurations
        for metric in one.metrics
        if metric.alone and metric.status not in WORSE
    ]
    if not found:
        return None
    return {
        "found": [_single(page, data, one, metric) for one, metric in found[:SHOWN]],
        "more": len(found) - SHOWN,
    }


def _single(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> Single:
    drawn = data.deciding(one, metric.metric, metric.alone[:1])
    decided = [scenario.shown(page, data, each) for each in drawn]
    return Single(one, metric, _sentence(data, one, metric), decided)


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
