"""What was accepted since the first baseline, and what that adds up to."""

from __future__ import annotations

from typing import Any

from isr_pipeline.errors import Refused
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts import ledger

TOTALS_MAX = 12
ENTRIES_MAX = 8


def values(_: Page, data: NightData) -> dict[str, Any]:
    """The largest sums of accepted changes, where a slow decline shows; the newest acceptances."""
    try:
        entries = ledger.read(data.plan.experiment)
    except Refused as damage:
        return {"damage": str(damage)}
    totals = ledger.compounded(entries)
    return {
        "damage": "",
        "totals": totals[:TOTALS_MAX],
        "more": len(totals) - TOTALS_MAX,
        "anew": any(one.remarks for one in entries),
        "newest": entries[-ENTRIES_MAX:][::-1],
    }
