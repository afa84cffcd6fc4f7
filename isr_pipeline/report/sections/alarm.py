"""What an alarm takes, and how many scenarios have what it is about."""

from __future__ import annotations

from collections import Counter
from typing import Any

from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.looks import reach_of


def values(_: Page, data: NightData) -> dict[str, Any]:
    """What tonight may look at, and in how many scenarios the reference has any of each metric."""
    column = data.panel.column(data.reference.config_id)
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    return {
        "reach": reach_of(data.plan.panels, data.plan.definition.budget, data.settings),
        "tests": data.verdict.tests,
        "discordant_needed": data.verdict.discordant_needed,
        "reference": data.plan.reference,
        "ratio_min": data.settings.ratio_min,
        "metrics": [
            (name, int((data.panel.values[name][:, column] > 0).sum()), settings.floor)
            for name, settings in data.settings.metrics.items()
        ],
        "scenarios": len(data.panel.scenario_ids),
        "kinds": sorted(kinds.items(), key=lambda item: item[1]),
    }
