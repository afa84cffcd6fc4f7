"""One metric of a configuration that differs from the baseline, as the page shows it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from isr_pipeline.report import charts
from isr_pipeline.report.page import Page, fold, strata_table
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.sentences import reason_of_metric
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.report.data import NightData
    from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict


def metric_change(page: Page, data: NightData, one: ConfigVerdict, metric: MetricVerdict) -> str:
    """The reason, each differing scenario's change, and the table of strata."""
    label = escape(quantities.label(metric.metric))
    drawn = page.figure(
        charts.differences(data, one, metric.metric),
        f"<strong>{label}</strong>: each differing scenario's change, "
        f"{METRICS[metric.metric].unit.total}",
    )
    reason = f"<p><strong>{label}</strong>: {escape(reason_of_metric(metric))}</p>"
    each = drawn + strata_table(metric)
    return reason + (fold("Each scenario's change, and every stratum", each) if each else "")
