"""Metrics as quantities: their names, units and values in words, and how large a change matters.

This is the one place that says what matters. Of rates and counts it is a factor of ``ratio_min`` on
the weighted mean, or the metric's floor where that is more. Of latencies it is that factor on the
geometric mean of the scenarios' ratios, each of which has the floor in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.worlds.columns import METRICS, MS

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


def number(value: float | None) -> str:
    """Three significant digits, thousands without an exponent; a dash where there is no number."""
    if value is None:
        return "–"
    return f"{value:.0f}" if 1_000 <= abs(value) < 1_000_000 else f"{value:.3g}"


def times(ratio: float) -> str:
    """``1.25 ×``: a ratio as pages, terminal and sentences have it."""
    return f"{number(ratio)} ×"


def amount(metric: str, value: float | None) -> str:
    """A value without its unit, as it stands in a column that names the unit."""
    return "–" if value is None else plain(value * in_unit(metric))


def quantity(metric: str, value: float | None) -> str:
    """A value with its unit in words: ``0.114 % of time``."""
    if value is None:
        return "–"
    return f"{amount(metric, value)} {unit(metric)}"


@dataclass(frozen=True, slots=True)
class Size:
    """How large a change of one metric is.

    Attributes:
        metric: outcome column.
        value, before: weighted means in the metric's own unit.
        ratio: of a latency the geometric mean of the scenarios' ratios; else of the two means,
            infinite from zero.
    """

    metric: str
    value: float
    before: float
    ratio: float

    @classmethod
    def of(cls, metric: str, value: float, before: float, ratio: float | None) -> Size:
        """Of what a verdict keeps, in which a ratio that is infinite is None."""
        return cls(metric, value, before, math.inf if ratio is None else ratio)

    @property
    def rises(self) -> bool:
        """Whether it got worse, by however little."""
        return self.ratio > 1.0 if is_latency(self.metric) else self.value > self.before

    def __str__(self) -> str:
        """``1.32 ×`` or, where there is no ratio, ``none to 0.0042 % of time``."""
        if is_latency(self.metric):
            return f"{times(self.ratio)} in the scenarios' geometric mean"
        if self.before == 0.0:
            return f"none to {quantity(self.metric, self.value)}"
        return times(self.value / self.before)


def is_latency(metric: str) -> bool:
    """Whether a metric is a time of each scenario, of which factors are judged, not sums."""
    return METRICS[metric].unit is MS


def rise_matters(size: Size, settings: VerdictSettings, share: float = 1.0) -> bool:
    """Whether a change is a rise of at least that share of what matters."""
    if is_latency(size.metric):
        return size.ratio >= 1.0 + share * (settings.ratio_min - 1.0)
    least = max(settings.metrics[size.metric].floor, (settings.ratio_min - 1.0) * size.before)
    return size.rises and size.value - size.before >= share * least


def fall_matters(size: Size, settings: VerdictSettings) -> bool:
    """Whether a change is a fall that matters: the rise that it undoes would matter."""
    if size.ratio > 1.0 / settings.ratio_min:
        return False
    fallen = size.before - size.value
    return is_latency(size.metric) or fallen >= settings.metrics[size.metric].floor
