"""What got worse: where, by how much, and the scenarios that decided it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from isr_pipeline.report import scenario
from isr_pipeline.report.change import Change, change_of
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Status
from isr_pipeline.verdicts.sentences import worst_first

WORSE = (Status.REGRESSED, Status.SUSPECT)


@dataclass(frozen=True, slots=True)
class Changed:
    """A configuration and its metrics that changed."""

    verdict: ConfigVerdict
    changes: list[Change]


def values(page: Page, data: NightData) -> dict[str, Any] | None:
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
