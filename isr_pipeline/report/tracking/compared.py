"""The few numbers of a configuration that MLflow shows beside those of others.

MLflow sorts metrics by name, and knows neither unit nor direction. So a name begins with its place
and tells both; what stands before its slash heads a section of charts. The tables among a night's
artefacts have the limits, and every other metric.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pandas as pd

from isr_pipeline.verdicts.quantities import is_latency, label
from isr_pipeline.verdicts.record import Per
from isr_pipeline.verdicts.sentences import unit_per
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isr_pipeline.verdicts.record import AgainstReference, ConfigVerdict, NightVerdict

SHOWN_MAX = 8
"""Metrics of which a run has a ratio, a value and a number of scenarios."""

RATIO, VALUE, SCENARIOS = "1 ratio", "2 value", "3 scenarios"
"""Sections: short, since MLflow's pages cut a name after some thirty characters."""

TO_REFERENCE, LESS_IS_BETTER = "to reference", "less is better"

_NOT_IN_NAMES = re.compile(r"[^\w .-]+")
"""What MLflow's names of metrics may not have, and the slash that ends a section."""


def metrics_of(verdict: NightVerdict) -> dict[str, dict[str, float]]:
    """config_id -> name in MLflow -> number; a ratio from zero is no number.

    The reference has the ratio 1 in what another one is compared in, and as many scenarios.
    """
    shown = _shown(verdict)
    against = {one.config_id: _beside(one, shown) for one in verdict.against_reference}
    itself = {
        name: 1.0
        if name.startswith(RATIO)
        else max(each.get(name, 0.0) for each in against.values())
        for found in against.values()
        for name in found
    }
    return {
        one.config_id: against.get(one.config_id, itself) | _values(one, shown)
        for one in verdict.configurations
    }


def _shown(verdict: NightVerdict) -> list[str]:
    """The first metrics that are judged, in the order of a page."""
    tested = {each.metric for one in verdict.configurations for each in one.metrics}
    compared = {each.metric for one in verdict.against_reference for each in one.differences}
    return [name for name in METRICS if name in tested | compared][:SHOWN_MAX]


def _beside(one: AgainstReference, shown: list[str]) -> dict[str, float]:
    """Its ratios to the reference, and of how many scenarios each is."""
    numbers: dict[str, float] = {}
    for place, metric in enumerate(shown, start=1):
        found = one.difference(metric)
        ratio = None if found is None else found.pair.ratio if found.differing else 1.0
        if found is None or ratio is None:
            continue
        numbers[_name(RATIO, place, metric, TO_REFERENCE, LESS_IS_BETTER)] = ratio
        numbers[_name(SCENARIOS, place, metric)] = float(found.pair.scenarios)
    return numbers


def _values(one: ConfigVerdict, shown: list[str]) -> dict[str, float]:
    """What it has on the standing panel: in a year, or of a latency in a typical scenario."""
    numbers: dict[str, float] = {}
    for place, metric in enumerate(shown, start=1):
        per = Per.TYPICAL if is_latency(metric) else Per.YEAR
        if metric in one.own:
            name = _name(VALUE, place, metric, unit_per(metric, per), LESS_IS_BETTER)
            numbers[name] = one.own[metric]
    return numbers


def _name(section: str, place: int, metric: str, *told: str) -> str:
    parts = " - ".join((label(metric), *told))
    return f"{section}/{place} {_NOT_IN_NAMES.sub('', parts)}"


def reference_table(verdict: NightVerdict) -> pd.DataFrame:
    """One row per configuration and metric that was compared with the reference."""
    return pd.DataFrame(_rows(verdict))


def _rows(verdict: NightVerdict) -> Iterator[dict[str, object]]:
    for one in verdict.against_reference:
        for each in one.differences:
            pair = each.pair
            yield {
                "config_id": one.config_id,
                "config_name": one.name,
                "metric": each.metric,
                "word": str(each.word),
                "ratio": pair.ratio,
                "ratio_low": pair.low,
                "ratio_high": pair.high,
                "q": each.q,
                "scenarios": pair.scenarios,
                "differing": each.differing,
                "reference_value": pair.before,
                "value": pair.after,
                "per": str(pair.per),
                "night": one.night or verdict.night,
            }
