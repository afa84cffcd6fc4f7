"""What is not as it was when the baseline was made."""

from __future__ import annotations

from typing import Any

from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.changes import read_changes

WORDS = {"key": "Kafka key", "service": "service time"}
"""Kind of a change -> what it is called, if it is called otherwise."""


def values(_: Page, data: NightData) -> dict[str, Any] | None:
    """Changes with whom they concern; None without a baseline."""
    changes = read_changes(data.plan.experiment, data.plan.night)
    if not changes.baseline:
        return None
    listed = [("all", one) for one in changes.shared]
    listed += [
        (one.name, change)
        for one in data.plan.configurations
        for change in changes.of(one.config_id)
    ]
    return {
        "baseline": changes.baseline,
        "changes": [(name, WORDS.get(one.kind, one.kind), one.text) for name, one in listed],
    }
