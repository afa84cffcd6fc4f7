"""Metrics in words: their names, their units, and values in these units."""

from __future__ import annotations

import math

from isr_pipeline.verdicts.model import LOST
from isr_pipeline.worlds.columns import METRICS

PRODUCE = "produce_unavailable_rate"
OFFLINE = "offline_partition_rate"
UNDER_MIN = "under_min_isr_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
UNCLEAN = "unclean_elections"

TABLE = (PRODUCE, OFFLINE, UNDER_MIN, FLAPS, LATENCY)
"""Metrics that a table of configurations has room for, in the order of a page."""

SHOWN = (*TABLE, LOST, UNCLEAN)
"""Metrics in the order in which a page has them: what a producer feels comes first."""

LABELS = {
    PRODUCE: "produce unavailable",
    OFFLINE: "offline (no leader)",
    UNDER_MIN: "time under min ISR",
    FLAPS: "ISR flaps",
    LATENCY: "commit latency p99",
    LOST: "acknowledged records lost",
    UNCLEAN: "unclean elections",
}

UNITS = {
    "share": "% of time",
    "1/partition-h": "a partition and hour",
    "share of scenarios": "% of scenarios",
}


def label(metric: str) -> str:
    """A metric's name in words."""
    return LABELS.get(metric, metric.replace("_", " "))


def unit(metric: str) -> str:
    """Its unit in words: ``% of time``, ``a partition and hour``, ``ms``."""
    given = METRICS[metric].unit
    return UNITS.get(given, given.replace("/scenario", " a scenario"))


def in_unit(metric: str) -> float:
    """What a stored value is multiplied with to have the unit in words."""
    return 100.0 if METRICS[metric].unit.startswith("share") else 1.0


def plain(value: float | None) -> str:
    """Three significant digits, never an exponent: ``0.000012``, ``1323``."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount(metric: str, value: float | None) -> str:
    """A value without its unit, as it stands in a column that names the unit."""
    return "–" if value is None else plain(value * in_unit(metric))


def quantity(metric: str, value: float | None) -> str:
    """A value with its unit in words: ``0.114 % of time``."""
    if value is None:
        return "–"
    return f"{amount(metric, value)} {unit(metric)}"
