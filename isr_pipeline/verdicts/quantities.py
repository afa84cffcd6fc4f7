"""Metrics in words: their names, their units, and values in these units."""

from __future__ import annotations

import math

from isr_pipeline.worlds.columns import METRICS

PRODUCE = "produce_unavailable_rate"
OFFLINE = "offline_partition_rate"
UNDER_MIN = "under_min_isr_rate"
FLAPS = "isr_flaps_per_partition_hour"
LATENCY = "commit_latency_p99_ms"
UNCLEAN = "unclean_elections"
ONE_REPLICA = "records_acked_by_one_replica"


def label(metric: str) -> str:
    """A metric's name in words, also of one that there is no more."""
    return METRICS[metric].words if metric in METRICS else metric.replace("_", " ")


def unit(metric: str) -> str:
    """Its unit in words: ``% of time``, ``a partition and hour``, ``ms``."""
    return METRICS[metric].unit.words


def unit_of_a_year(metric: str) -> str:
    """The unit of its total in a year: ``partition-minutes a year``."""
    return f"{METRICS[metric].unit.year} a year"


def in_unit(metric: str) -> float:
    """What a stored value is multiplied with to have the unit in words."""
    return METRICS[metric].unit.factor


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
