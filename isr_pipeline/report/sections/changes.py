"""What changed since the baseline: settings, what got worse and better, and single scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isr_pipeline.report import charts, scenario
from isr_pipeline.report.data import REGRESSIONS_SHOWN, NightData
from isr_pipeline.report.page import Figure, Page
from isr_pipeline.report.scenario import Shown
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status, StratumVerdict
from isr_pipeline.verdicts.sentences import worst_first
from isr_pipeline.worlds.columns import METRICS

WORSE = (Status.REGRESSED, Status.SUSPECT)
SINGLE_SHOWN = 6

CHANGE_WORDS = {"key": "Kafka key", "service": "service time"}
"""Kind of a change -> what it is called, if it is called otherwise."""


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a metric.

    Attributes:
        metric: its verdict.
        strata: each stratum, what it is called first.
        figure: each differing scenario's change.
        decided: the scenarios that decided, if they are shown.
    """

    metric: MetricVerdict
    strata: list[tuple[str, StratumVerdict]]
    figure: Figure | None
    decided: list[Shown]


def change_of(
    page: Page,
    data: NightData,
    one: ConfigVerdict,
    metric: MetricVerdict,
    decided: list[Shown] | None = None,
) -> Change:
    """A metric's change, drawn."""
    figure = page.figure(
        charts.differences(data, one, metric.metric),
        quantities.label(metric.metric),
        f": each differing scenario's change, {METRICS[metric.metric].unit.total}",
    )
    strata = [(data.called(each.stratum), each) for each in metric.strata]
    return Change(metric, strata, figure, decided or [])


def changed(_: Page, data: NightData) -> dict[str, Any] | None:
    """Changes with whom they concern; None without a baseline."""
    changes = read_changes(data.plan.place)
    if not changes.baseline:
        return None
    listed = [("all", one) for one in changes.shared]
    listed += [
        (one.name, change)
        for one in data.plan.configurations
        for change in changes.of(one.config_id)
    ]
    return {
        "baseline": changes.baseline,
        "changes": [(name, CHANGE_WORDS.get(one.kind, one.kind), one.text) for name, one in listed],
    }


@dataclass(frozen=True, slots=True)
class Changed:
    """A configuration and its metrics that changed."""

    verdict: ConfigVerdict
    changes: list[Change]


def regressions(page: Page, data: NightData) -> dict[str, Any] | None:
    """Every configuration that got worse; None without a baseline."""
    if data.verdict.baseline is None:
        return None
    return {"worse": [Changed(one, _changes(page, data, one)) for one in data.flagged]}


def _changes(page: Page, data: NightData, one: ConfigVerdict) -> list[Change]:
    worse = worst_first([metric for metric in one.metrics if metric.status in WORSE])
    return [_change(page, data, one, metric) for metric in worse]


def _change(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> Change:
    decided = [
        scenario.shown(page, data, deciding) for deciding in data.deciding(one, metric.metric)
    ]
    return change_of(page, data, one, metric, decided)


@dataclass(frozen=True, slots=True)
class Single:
    """A metric that rose in one scenario alone, and that scenario."""

    verdict: ConfigVerdict
    metric: MetricVerdict
    sentence: str
    decided: list[Shown]


def single(page: Page, data: NightData) -> dict[str, Any] | None:
    """Every such scenario; None if there is none."""
    found = [
        (one, metric)
        for one in data.verdict.configurations
        for metric in one.metrics
        if metric.alone and metric.status not in WORSE
    ]
    if not found:
        return None
    return {
        "found": [_single(page, data, one, metric) for one, metric in found[:SINGLE_SHOWN]],
        "more": len(found) - SINGLE_SHOWN,
    }


def _single(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> Single:
    drawn = data.deciding(one, metric.metric, metric.alone[:1])
    decided = [scenario.shown(page, data, each) for each in drawn]
    return Single(one, metric, _sentence(data, one, metric), decided)


def _sentence(data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> str:
    """By how much it rose there, and that this is much although all together is not."""
    values = data.values_in(one, metric.metric, metric.alone[0])
    rose = "rose"
    if values is not None:
        before, after = values
        rose += (
            f" from {quantities.plain(before)} to {quantities.plain(after)} "
            f"{METRICS[metric.metric].unit.total}"
        )
    all_ = "are not decided" if metric.status is Status.UNDECIDED else "did not"
    return (
        f"In {metric.alone[0]} {quantities.label(metric.metric)} {rose}: this scenario alone, "
        f"weighted, rose by more than ten times what matters, although all together {all_}."
    )


def improvements(page: Page, data: NightData) -> dict[str, Any] | None:
    """Every configuration that got better; None without a baseline."""
    if data.verdict.baseline is None:
        return None
    better = [one for one in data.verdict.configurations if one.metrics_with(Status.IMPROVED)]
    return {
        "better": [_improved(page, data, one) for one in better[:REGRESSIONS_SHOWN]],
        "more": len(better) - REGRESSIONS_SHOWN,
    }


def _improved(page: Page, data: NightData, one: ConfigVerdict) -> Changed:
    improved = [metric for metric in one.metrics if metric.status is Status.IMPROVED]
    return Changed(one, [change_of(page, data, one, metric) for metric in improved])
