"""What an operator may tune about verdicts: ``config/verdicts.yaml``, checked at the border."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from isr_pipeline.errors import InputError
from isr_pipeline.files.checks import Bad, number, one_of, whole
from isr_pipeline.files.models import Strict, validated
from isr_pipeline.files.reading import read_mapping, said_path
from isr_pipeline.home import config_dir
from isr_pipeline.worlds.columns import METRICS, SHARE_OF_SCENARIOS

TESTABLE = tuple(
    name
    for name, metric in METRICS.items()
    if metric.worse >= 0 and metric.unit is not SHARE_OF_SCENARIOS
)
"""Metrics of which less is better, so that `worse` has a meaning."""

PROBABILITY = number(0.0, 1.0, "a number > 0 and < 1", low_open=True)
METRIC = one_of(*TESTABLE)


def _metrics(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise Bad("")
    for name in value:
        if name not in TESTABLE:
            raise Bad(METRIC.allowed, (name,), "unknown metric")
    return value


class MetricSettings(Strict):
    """One tested metric.

    Attributes:
        floor: smallest difference of the weighted mean that matters, in the metric's unit.
    """

    floor: Annotated[float, number(0.0, 1e12, "a number >= 0")]


class VerdictSettings(Strict):
    """``config/verdicts.yaml``; every field is explained there."""

    suspicion_rate: Annotated[float, PROBABILITY] = 0.20
    false_discovery_rate: Annotated[float, PROBABILITY] = 0.05
    confirm_p: Annotated[float, PROBABILITY] = 0.01
    ratio_min: Annotated[float, number(1.0, 1e6, "a number > 1", low_open=True)] = 1.10
    suspicion_share: Annotated[float, number(0.0, 1.0, "a number >= 0 and <= 1")] = 0.5
    flips: Annotated[int, whole(999, 999_999)] = 9_999
    flips_max: Annotated[int, whole(999, 9_999_999)] = 49_999
    exact_up_to: Annotated[int, whole(1, 30)] = 20
    metrics: dict[str, MetricSettings]


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
        except Bad as bad:
            field = ".".join(("metrics", *(str(step) for step in bad.at)))
            allowed = bad.allowed or "a mapping of at least one metric to its settings"
            raise InputError(where, field, bad.given or "nothing", allowed) from None
    settings = validated(VerdictSettings, given, where)
    if settings.flips_max < settings.flips:
        allowed = f"at least flips ({settings.flips})"
        raise InputError(where, "flips_max", settings.flips_max, allowed)
    return settings
