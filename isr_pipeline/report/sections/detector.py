"""The in-sync rule as a failure detector: whom it removes without a fault, whom too late."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report import scatter
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page


def values(page: Page, data: NightData) -> dict[str, Any]:
    """Spurious removals against detection delay."""
    subject = "Spurious removals against detection delay"
    return {"removals": page.figure(scatter.detector(data), subject, "; lower left is better")}
