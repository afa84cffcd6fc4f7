"""Every configuration that differs from the baseline, with its interval."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label


def values(page: Page, data: NightData) -> dict[str, Any]:
    """A figure for each metric in which something differs."""
    if data.verdict.baseline is None or data.verdict.tests == 0:
        return {"compared": False}
    drawn = ((charts.changed_forest(data, name), label(name), "") for name in data.settings.metrics)
    return {"compared": True, "forests": page.figures(drawn)}
