"""What matters: how large a change must be. The one place that says it.

Of rates and counts it is a factor of ``ratio_min`` on the weighted mean, or the metric's floor
where that is more. Of latencies it is that factor on the geometric mean of the scenarios' ratios,
each of which has the floor in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from isr_pipeline.verdicts.quantities import quantity
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.worlds.columns import METRICS, MS


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

    @property
    def rises(self) -> bool:
        """Whether it got worse, by however little."""
        return self.ratio > 1.0 if is_latency(self.metric) else self.value > self.before

    def __str__(self) -> str:
        """``1.32 x`` or, where there is no ratio, ``none to 0.0042 % of time``."""
        if is_latency(self.metric):
            return f"{self.ratio:.3g} x in the scenarios' geometric mean"
        if self.before == 0.0:
            return f"none to {quantity(self.metric, self.value)}"
        return f"{self.value / self.before:.3g} x"


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
