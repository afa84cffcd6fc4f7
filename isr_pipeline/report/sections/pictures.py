"""Sections that show charts alone: their figures, each with a caption."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import charts, scatter
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

KINDS = (("fault_kinds", "fault kind"), ("strata", "stratum"))
TREND_LINES = 6


def baseline(page: Page, data: NightData) -> dict[str, Any]:
    """A figure for each metric in which something differs."""
    if data.verdict.baseline is None or data.verdict.tests == 0:
        return {"compared": False}
    drawn = ((charts.changed_forest(data, name), label(name), "") for name in data.settings.metrics)
    return {"compared": True, "forests": page.figures(drawn)}


def keys(page: Page, data: NightData) -> dict[str, Any]:
    """A heat map for each rate, as far as two keys vary."""
    drawn = (
        (charts.heat(data, name), label(name), f", {found.unit}; dark is worse")
        for name in MAIN_RATES
        if (found := data.heat(name)) is not None
    )
    return {"heats": page.figures(drawn)}


def detector(page: Page, data: NightData) -> dict[str, Any]:
    """Spurious removals against detection delay."""
    subject = "Spurious removals against detection delay"
    return {"removals": page.figure(scatter.detector(data), subject, "; lower left is better")}


def causes(page: Page, data: NightData) -> dict[str, Any] | None:
    """Each rate by fault kind and by stratum; None if nothing is above zero."""
    drawn = page.figures(
        (charts.causes(data, metric, by), label(metric), f" by {words}, %")
        for metric in MAIN_RATES
        for by, words in KINDS
    )
    return {"causes": drawn, "share_min": charts.SHARE_MIN} if drawn else None


def nights(page: Page, data: NightData) -> dict[str, Any]:
    """The curve of each rate: the reference, what got worse, then the first of the file."""
    names = [data.plan.reference, *(one.name for one in data.flagged)]
    names += [str(one.name) for one in data.plan.configurations]
    shown = list(dict.fromkeys(names))[:TREND_LINES]
    drawn = ((charts.trend(data, metric, shown), label(metric), "") for metric in MAIN_RATES)
    return {"trends": page.figures(drawn)}
