"""Who is hurt, and who gains: what got worse or better in each stratum, side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isr_pipeline.report.data import REGRESSIONS_SHOWN, NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status, StratumVerdict
from isr_pipeline.verdicts.sentences import in_order

TOLD = (Status.REGRESSED, Status.SUSPECT, Status.IMPROVED)
WORD = {Status.REGRESSED: "worse", Status.SUSPECT: "perhaps worse", Status.IMPROVED: "better"}

Parts = list[StratumVerdict | None]
"""A stratum under each metric; None where the metric was not judged in it."""


@dataclass(frozen=True, slots=True)
class Hurt:
    """A configuration: strata down, metrics across.

    Attributes:
        verdict: the configuration's.
        head: heads of the columns.
        rows: what a stratum is called, its name and its share of the population, its verdict
            under each metric.
    """

    verdict: ConfigVerdict
    head: list[tuple[str, str]]
    rows: list[tuple[str, str, float, Parts]]


def values(_: Page, data: NightData) -> dict[str, Any] | None:
    """Every metric that is worse or better; None if there is none."""
    telling = [
        (one, metrics)
        for one in data.verdict.configurations
        if (metrics := [m for m in one.metrics if m.status in TOLD and m.strata])
    ]
    if not telling:
        return None
    telling.sort(key=lambda pair: min(TOLD.index(metric.status) for metric in pair[1]))
    return {
        "hurt": [_hurt(data, one, metrics) for one, metrics in telling[:REGRESSIONS_SHOWN]],
        "words": WORD,
        "more": len(telling) - REGRESSIONS_SHOWN,
    }


def _hurt(data: NightData, one: ConfigVerdict, metrics: list[MetricVerdict]) -> Hurt:
    ordered = in_order(metrics)
    by_metric = [{part.stratum: part for part in metric.strata} for metric in ordered]
    shares = {part.stratum: part.share for metric in metrics for part in metric.strata}
    rows = [
        (data.called(name), name, share, [of.get(name) for of in by_metric])
        for name, share in shares.items()
    ]
    head = [("scenarios with", ""), ("of the population", "n")]
    head += [(quantities.label(metric.metric), "n") for metric in ordered]
    return Hurt(one, head, sorted(rows, key=lambda row: _rank(row[-1])))


def _rank(parts: Parts) -> tuple[int, int]:
    """Strata that are worse in most metrics first."""
    present = [part for part in parts if part is not None]
    called = [TOLD.index(part.status) if part.status in TOLD else len(TOLD) for part in present]
    return min(called, default=len(TOLD)), -sum(part.risen for part in present)
