"""What got better: where, by how much, and in which strata."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report.change import change_of
from isr_pipeline.report.data import REGRESSIONS_SHOWN, NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.sections.regressions import Changed
from isr_pipeline.verdicts.record import ConfigVerdict, Status


def values(page: Page, data: NightData) -> dict[str, Any] | None:
    """Every configuration that got better; None without a baseline."""
    if data.verdict.baseline is None:
        return None
    better = [one for one in data.verdict.configurations if one.metrics_with(Status.IMPROVED)]
    return {
        "better": [_improved(page, data, one) for one in better[:REGRESSIONS_SHOWN]],
        "more": len(better) - REGRESSIONS_SHOWN,
    }


def _improved(page: Page, data: NightData, one: ConfigVerdict) -> Changed:
    improved = [metric for metric in one.metrics if metric.status is Status.IMPROVED]
    return Changed(one, [change_of(page, data, one, metric) for metric in improved])
