"""Metrics as quantities: their names, units and values in words, and how large a change matters.

What an operator may tune about verdicts is ``config/verdicts.yaml``, which is read here.

This is the one place that says what matters. Of rates and counts it is a factor of ``ratio_min`` on
the weighted mean, or the metric's floor where that is more. Of latencies it is that factor on the
geometric mean of the scenarios' ratios, each of which has the floor in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files import checks
from isr_pipeline.base.files.lines import with_lines
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping, said_path
from isr_pipeline.base.home import config_dir
from isr_pipeline.worlds.columns import METRICS, MS, SHARE_OF_SCENARIOS

TESTABLE = tuple(
    name
    for name, metric in METRICS.items()
    if metric.worse >= 0 and metric.unit is not SHARE_OF_SCENARIOS
)
"""Metrics of which less is better, so that `worse` has a meaning."""

PROBABILITY = checks.number(0.0, 1.0, "a number > 0 and < 1", low_open=True)
METRIC = checks.one_of(*TESTABLE)


def _metrics(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise checks.Bad("")
    for name in value:
        if name not in TESTABLE:
            raise checks.Bad(METRIC.allowed, (name,), "unknown metric")
    return value


class MetricSettings(Strict):
    """One tested metric.

    Attributes:
        floor: smallest difference of the weighted mean that matters, in the metric's unit.
    """

    floor: Annotated[float, checks.number(0.0, 1e12, "a number >= 0")]


class VerdictSettings(Strict):
    """``config/verdicts.yaml``; every field is explained there."""

    suspicion_rate: Annotated[float, PROBABILITY] = 0.20
    false_discovery_rate: Annotated[float, PROBABILITY] = 0.05
    confirm_p: Annotated[float, PROBABILITY] = 0.01
    ratio_min: Annotated[float, checks.number(1.0, 1e6, "a number > 1", low_open=True)] = 1.10
    suspicion_share: Annotated[float, checks.number(0.0, 1.0, "a number >= 0 and <= 1")] = 0.5
    flips: Annotated[int, checks.whole(999, 999_999)] = 9_999
    flips_max: Annotated[int, checks.whole(999, 9_999_999)] = 49_999
    exact_up_to: Annotated[int, checks.whole(1, 30)] = 20
    metrics: dict[str, MetricSettings]


@with_lines()
def load_settings(path: Path | None = None) -> VerdictSettings:
    """Read the settings.

    Args:
        path: the file; ``config/verdicts.yaml`` if omitted.

    Raises:
        InputError: the file is missing, not YAML, or holds an unknown key or a value out of range.
    """
    path = path or config_dir() / "verdicts.yaml"
    where = said_path(path)
    try:
        given = read_mapping(path)
    except InputError as error:
        raise InputError(where, error.field, error.given, error.allowed) from None
    return parse_settings(given, where)


def parse_settings(given: dict[str, Any], where: str) -> VerdictSettings:
    """Check settings that were read from ``where``.

    Raises:
        InputError: with the first thing that is wrong.
    """
    if "metrics" in given:
        try:
            _metrics(given["metrics"])
        except checks.Bad as bad:
            field = ".".join(("metrics", *(str(step) for step in bad.at)))
            allowed = bad.allowed or "a mapping of at least one metric to its settings"
            raise InputError(where, field, bad.given or "nothing", allowed) from None
    settings = validated(VerdictSettings, given, where)
    if settings.flips_max < settings.flips:
        allowed = f"at least flips ({settings.flips})"
        raise InputError(where, "flips_max", settings.flips_max, allowed)
    return settings


PRODUCE = "produce_unavailable_rate"
OFFLINE = "leaderless_rate"
UNDER_MIN = "led_under_min_isr_rate"
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


def in_unit(metric: str) -> float:
    """What a stored value is multiplied with to have the unit in words."""
    unit_of = METRICS[metric].unit
    return unit_of.factor / unit_of.words_in


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
