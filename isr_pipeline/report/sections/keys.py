"""The reference's release by the values of two keys."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label, unit
from isr_pipeline.worlds.columns import MAIN_RATES


def values(page: Page, data: NightData) -> dict[str, Any]:
    """A heat map for each rate, as far as two keys vary."""
    drawn = (
        (charts.heat(data, name), label(name), f", {unit(name)}; dark is worse")
        for name in MAIN_RATES
    )
    return {"heats": page.figures(drawn)}
