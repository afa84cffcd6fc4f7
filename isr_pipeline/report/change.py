"""One metric of a configuration that differs from the baseline, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.report import charts
from isr_pipeline.verdicts import quantities
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.report.data import NightData
    from isr_pipeline.report.page import Figure, Page
    from isr_pipeline.report.scenario import Shown
    from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, StratumVerdict


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
