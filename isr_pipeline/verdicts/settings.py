"""What an operator may tune about verdicts: ``config/verdicts.yaml``, checked at the border."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from isr_pipeline.errors import InputError
from isr_pipeline.home import config_dir
from isr_pipeline.simulation.outcome import OUTCOME_COLUMNS

FLAG_COLUMNS = ("any_offline",)
"""Outcome columns that are 0 or 1 and may be tested with McNemar's test."""

TESTABLE = tuple(
    name
    for name in OUTCOME_COLUMNS
    if name not in {"any_offline", "simulated_ms", "kernel_events", "failed", "records_acked"}
)
"""Outcome columns of which less is better, so that `worse` has a meaning."""

Probability = Annotated[float, Field(gt=0.0, lt=1.0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class MetricSettings(_Strict):
    """One tested metric.

    Attributes:
        floor: smallest difference of the weighted mean that matters, in the metric's unit.
        paired_flag: 0/1 column whose McNemar test joins the sign-flip test, or None.
    """

    floor: float = Field(ge=0.0)
    paired_flag: Literal["any_offline"] | None = None


class VerdictSettings(_Strict):
    """``config/verdicts.yaml``; every field is explained there."""

    false_discovery_rate: Probability = 0.05
    confirm_p: Probability = 0.01
    ratio_min: float = Field(default=1.10, gt=1.0)
    flips: int = Field(default=9_999, ge=999, le=999_999)
    flips_max: int = Field(default=99_999, ge=999, le=9_999_999)
    exact_up_to: int = Field(default=20, ge=1, le=30)
    bootstrap: int = Field(default=1_000, ge=100, le=100_000)
    metrics: dict[str, MetricSettings] = Field(min_length=1)
    pareto: tuple[str, ...] = Field(min_length=2, strict=False)

    @field_validator("metrics")
    @classmethod
    def _known_metrics(cls, metrics: dict[str, MetricSettings]) -> dict[str, MetricSettings]:
        for name in metrics:
            _known(name)
        return metrics

    @field_validator("pareto")
    @classmethod
    def _known_axes(cls, axes: tuple[str, ...]) -> tuple[str, ...]:
        for name in axes:
            _known(name)
        return axes


def _known(name: str) -> None:
    if name not in TESTABLE:
        raise ValueError(f"{name}; allowed: {', '.join(TESTABLE)}")


def load_settings(path: Path | None = None) -> VerdictSettings:
    """Read the settings.

    Args:
        path: the file; ``config/verdicts.yaml`` if omitted.

    Raises:
        InputError: the file is missing, not YAML, or holds an unknown key or a value out of range.
    """
    path = path or config_dir() / "verdicts.yaml"
    try:
        given = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, YAMLError, UnicodeDecodeError) as problem:
        first = str(problem).splitlines()[0]
        raise InputError(path.name, "", first, "a YAML file of verdict settings") from None
    return parse_settings(given, path.name)


def parse_settings(given: Any, where: str) -> VerdictSettings:
    """Check settings that were read from ``where``.

    Raises:
        InputError: with the first thing that is wrong.
    """
    if not isinstance(given, dict):
        raise InputError(where, "", type(given).__name__, "a mapping of verdict settings")
    try:
        return VerdictSettings.model_validate(given)
    except ValidationError as refusal:
        raise _input_error(where, refusal) from None


def _input_error(where: str, refusal: ValidationError) -> InputError:
    problem = refusal.errors()[0]
    path = [str(step) for step in problem["loc"]]
    if problem["type"] == "extra_forbidden":
        inside = MetricSettings if path[0] == "metrics" else VerdictSettings
        return InputError(where, ".".join(path), "unknown key", ", ".join(inside.model_fields))
    if problem["type"] == "value_error":
        name, _, allowed = str(problem["ctx"]["error"]).partition("; allowed: ")
        return InputError(where, ".".join(path), name, allowed)
    allowed = problem["msg"].removeprefix("Input should be ").lower()
    given = "missing" if problem["type"] == "missing" else problem["input"]
    return InputError(where, ".".join(path), given, allowed)
