"""The nights so far."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

TREND_LINES = 6


def values(page: Page, data: NightData) -> dict[str, Any]:
    """The curve of each rate: the reference, what got worse, then the first of the file."""
    names = [data.plan.reference, *(one.name for one in data.flagged)]
    names += [str(one.name) for one in data.plan.configurations]
    shown = list(dict.fromkeys(names))[:TREND_LINES]
    drawn = ((charts.trend(data, metric, shown), label(metric), "") for metric in MAIN_RATES)
    return {"trends": page.figures(drawn)}
