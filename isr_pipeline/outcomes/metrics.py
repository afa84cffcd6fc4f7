"""Which metrics a verdict tests and a terminal shows, and a scenario's natural totals.

What each metric means stands in `isr_pipeline.worlds.columns`, the one table of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.worlds.columns import METRICS, TOTALS

if TYPE_CHECKING:
    from collections.abc import Mapping

TESTED: tuple[str, ...] = tuple(metric.name for metric in METRICS.values() if metric.tested)
"""Metrics that a verdict tests unless the experiment says otherwise."""


def natural_totals(
    outcome: Mapping[str, float | int | None], partition_hours: float
) -> dict[str, float | int | None]:
    """Turn an outcome's rates back into partition-seconds and counts.

    Args:
        outcome: an outcome row by column name; None where there is no value.
        partition_hours: partitions times hours after warm-up of that scenario.

    Returns:
        A value for every column of `TOTALS`: seconds, or a whole number of changes.
    """
    totals: dict[str, float | int | None] = {}
    for column, metric in TOTALS.items():
        rate = outcome[metric.name]
        if rate is None:
            totals[column] = None
        elif metric.kind == "share":
            totals[column] = rate * partition_hours * 3600.0
        else:
            totals[column] = round(rate * partition_hours)
    return totals
