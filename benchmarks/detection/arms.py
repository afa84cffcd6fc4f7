"""The contestants: each says which (metric, configuration) of a night it would raise an alarm for.

A contestant of one stage has no confirm panel: what it flags is its alarm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.detection.draw import Night
from isr_pipeline.verdicts import look, stages
from isr_pipeline.verdicts.model import OPEN, MetricVerdict, Status
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings

Bools = npt.NDArray[np.bool_]

OWN = "isr-pipeline"
FLAGGED = (Status.SUSPECT, Status.REGRESSED)

SIGMAS = 3.0
MANN_WHITNEY_P = 0.02
"""One-sided; Kayenta's canary judge takes a confidence of 0.98."""


@dataclass(frozen=True)
class Alarms:
    """What a contestant said of a night; arrays are (metrics, configurations).

    Attributes:
        flagged: worse, at first sight.
        confirmed: worse, for good: what would wake somebody.
        undecided: said to be beyond what the panel can tell.
    """

    flagged: Bools
    confirmed: Bools
    undecided: Bools


def own(night: Night, settings: VerdictSettings) -> Alarms:
    """The method that nights are judged by, with a budget that the two panels spend."""
    new, old = night.regression
    called, _ = look.call(new, old, settings)
    asked = [
        index
        for index, metrics in enumerate(called)
        if any(metric.status in OPEN for metric in metrics)
    ]
    if asked:
        ids = tuple(new.config_ids[index] for index in asked)
        again, before = (panel.select(ids) for panel in night.confirm)
        only = stages.Look(("confirm",), len(again.scenario_ids), 1.0, is_last=True)
        decided = stages.settle([called[i] for i in asked], again, before, settings, look=only)
        for index, metrics in zip(asked, decided, strict=True):
            called[index] = metrics
    return Alarms(
        flagged=_having(called, FLAGGED),
        confirmed=_having(called, (Status.REGRESSED,)),
        undecided=_having(called, (Status.UNDECIDED,)),
    )


def _having(called: list[tuple[MetricVerdict, ...]], statuses: tuple[Status, ...]) -> Bools:
    return np.array([[metric.status in statuses for metric in metrics] for metrics in called]).T


def rise(night: Night, metrics: Sequence[str], share: float) -> Alarms:
    """An alarm wherever the value rose by that share: what a dashboard's threshold does."""
    new, old = (_means(panel, metrics) for panel in night.regression)
    return _one_stage((new > old) & (new >= (1.0 + share) * old))


def three_sigma(night: Night, metrics: Sequence[str]) -> Alarms:
    """An alarm above the past nights' mean by three of their standard deviations."""
    new = _means(night.regression[0], metrics)
    past = np.stack([night.past[name] for name in metrics])
    limit = past.mean(axis=1) + SIGMAS * past.std(axis=1, ddof=1)
    return _one_stage(new > limit)


def mann_whitney(night: Night, metrics: Sequence[str]) -> Alarms:
    """Tonight's scenarios against the baseline's as two samples, as canary judges do."""
    new, old = night.regression
    p = [
        stats.mannwhitneyu(
            new.natural(name), old.natural(name), alternative="greater", method="asymptotic"
        ).pvalue
        for name in metrics
    ]
    return _one_stage(np.array(p) < MANN_WHITNEY_P)


def series(night: Night, metrics: Sequence[str]) -> npt.NDArray[np.float64]:
    """Past nights and tonight as (metrics, configurations, nights): what Otava is fed with."""
    past = np.stack([night.past[name] for name in metrics])
    tonight = _means(night.regression[0], metrics)
    return np.concatenate([past, tonight[:, None, :]], axis=1).transpose(0, 2, 1)


def _means(panel: PanelOutcomes, metrics: Sequence[str]) -> npt.NDArray[np.float64]:
    totals = np.stack([panel.weights @ panel.values[name] for name in metrics])
    return np.asarray(totals / panel.weights.sum())


def _one_stage(alarms: Bools) -> Alarms:
    return Alarms(alarms, alarms, np.zeros_like(alarms))
