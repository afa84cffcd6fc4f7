"""How small a change tonight's panel can find."""

from __future__ import annotations

from collections import Counter
from typing import Any

from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.power import Reach, reach_of, smallest_words, uniform_ratio
from isr_pipeline.verdicts.quantities import is_latency


def values(_: Page, data: NightData) -> dict[str, Any]:
    """What an alarm takes, and the smallest ratio that is found of each metric."""
    reach = reach_of(data.plan.panels, data.plan.definition.budget, data.settings)
    column = data.panel.column(data.reference.config_id)
    above = {
        name: int((data.panel.values[name][:, column] > 0).sum()) for name in data.settings.metrics
    }
    kinds = Counter(kind for kinds in data.panel.fault_kinds for kind in kinds.split(",") if kind)
    return {
        "reach": reach,
        "tests": data.verdict.tests,
        "discordant_needed": data.verdict.discordant_needed,
        "reference": data.plan.reference,
        "ratio_min": data.settings.ratio_min,
        "metrics": [
            (name, above[name], _smallest(data, reach, name, above[name]), settings.floor)
            for name, settings in data.settings.metrics.items()
        ],
        "scenarios": len(data.panel.scenario_ids),
        "kinds": sorted(kinds.items(), key=lambda item: item[1]),
    }


def _smallest(data: NightData, reach: Reach, metric: str, above_zero: int) -> str:
    """The smallest ratio found of a metric that so many scenarios of the reference have any of."""
    uniform = None
    if is_latency(metric):
        column = data.panel.column(data.reference.config_id)
        uniform = uniform_ratio(
            data.panel.values[metric][:, column],
            data.panel.weights,
            data.settings.metrics[metric].floor,
            data.settings.ratio_min,
        )
    return smallest_words(above_zero, uniform, reach, data.settings)
