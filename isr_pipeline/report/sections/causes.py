"""Which faults and strata make up the totals."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import charts
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.worlds.columns import MAIN_RATES

KINDS = (("fault_kinds", "fault kind"), ("strata", "stratum"))


def values(page: Page, data: NightData) -> dict[str, Any] | None:
    """Each rate by fault kind and by stratum; None if nothing is above zero."""
    drawn = page.figures(
        (charts.causes(data, metric, by), label(metric), f" by {words}, %")
        for metric in MAIN_RATES
        for by, words in KINDS
    )
    return {"causes": drawn, "share_min": charts.SHARE_MIN} if drawn else None
