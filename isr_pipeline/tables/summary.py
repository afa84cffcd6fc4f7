"""Weighted values of a configuration's metrics, with intervals, from its outcome rows.

One row per configuration, metric and stratum. A configuration of 400 scenarios takes half a second.

Intervals are of the panel as a sample: scenarios are drawn anew with replacement *within each
stratum* (the strata's shares are fixed by design). The draws depend on the panel alone, so all
configurations are resampled alike and a ratio of two of them is a paired one. Sums are exact
(`math.fsum`) and scenarios are taken in order of their id: the result does not depend on how
Spark cut the rows.
"""

from __future__ import annotations

import hashlib
import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from scipy import stats

from isr_pipeline.base.errors import Refused
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SUMMARY
from isr_pipeline.worlds.columns import EXPOSURE, METRICS, SHARE_OF_SCENARIOS, Metric

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from isr_pipeline.experiment.plan import Plan


RESAMPLES = 2_000
CONFIDENCE = 0.95
WHOLE_PANEL = "all"
"""Name of the stratum that is the whole panel."""

Columns = dict[str, "NDArray[Any]"]
"""Rows of the outcomes table as arrays: a data frame takes its time for every column asked for."""

_NUMBERS = (
    "failed",
    "weight",
    EXPOSURE,
    *(metric.top for metric in METRICS.values()),
)
_TEXTS = ("stratum", "panel", "config_id", "config_name")

_RESAMPLED_AT_ONCE = 250
_SIGNIFICANT_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Sample:
    """One metric over some scenarios: its value is sum(top) / sum(bottom).

    Attributes:
        top: per scenario weight times the metric's column; 0 where the pair failed.
        bottom: per scenario weight times what that is divided by; 0 where the pair failed.
    """

    top: NDArray[np.float64]
    bottom: NDArray[np.float64]

    def value(self) -> float:
        """Divide the exact sums; NaN if no scenario counts."""
        below = math.fsum(self.bottom)
        return math.fsum(self.top) / below if below else math.nan


def summarize(
    rows: pd.DataFrame, reference: pd.DataFrame, seed: str, resamples: int = RESAMPLES
) -> pd.DataFrame:
    """Summarize one configuration's outcomes of one panel.

    Args:
        rows: its rows of the outcomes table.
        reference: the reference configuration's rows of the same panel.
        seed: what the resampling follows from, such as the panel's digest; the same for all
            configurations that are to be compared.
        resamples: how many bootstrap draws.

    Returns:
        Rows of the summary table (`isr_pipeline.tables.schemas.SUMMARY`): one per metric and
        stratum, and one per metric for the whole panel.
    """
    rows = rows.sort_values("scenario_id", ignore_index=True)
    strata = [WHOLE_PANEL, *sorted(set(rows["stratum"]))]
    reference = reference.set_index("scenario_id").reindex(rows["scenario_id"]).reset_index()
    result = []
    mine, other = _columns(rows, _NUMBERS + _TEXTS), _columns(reference, _NUMBERS)
    for stratum in strata:
        inside = np.full(len(rows), fill_value=True)
        if stratum != WHOLE_PANEL:
            inside = mine["stratum"] == stratum
        here, there = (
            {name: values[inside] for name, values in columns.items()} for columns in (mine, other)
        )
        result += list(_summarize_stratum(here, there, stratum, f"{seed}/{stratum}", resamples))
    return pd.DataFrame(result)


def _columns(rows: pd.DataFrame, names: Iterable[str]) -> Columns:
    """Some columns as arrays: numbers, where nothing is NaN, and texts."""
    return {
        name: rows[name].to_numpy(str)
        if name in _TEXTS
        else rows[name].to_numpy(np.float64, na_value=np.nan)
        for name in names
    }


def _summarize_stratum(
    rows: Columns, reference: Columns, stratum: str, seed: str, resamples: int
) -> Iterator[dict[str, Any]]:
    """Rows of one stratum (or the whole panel), in order of the metrics."""
    ran = rows["failed"] == 0
    both = ran & (reference["failed"] == 0)
    mine = [sample(rows, metric, ran) for metric in METRICS.values()]
    paired = [sample(rows, metric, both) for metric in METRICS.values()]
    theirs = [sample(reference, metric, both) for metric in METRICS.values()]
    draws = resampled(rows["stratum"], seed, resamples, [*mine, *paired, *theirs])
    count = len(METRICS)
    for place, metric in enumerate(METRICS.values()):
        weights = rows["weight"][ran]
        value = mine[place].value()
        if metric.unit is SHARE_OF_SCENARIOS:
            interval = "clopper-pearson"
            low, high = share_interval(value, weights)
        else:
            interval = "bootstrap"
            low, high = percentiles(draws[place])
        reference_value = theirs[place].value()
        ratio, ratio_low, ratio_high = math.nan, math.nan, math.nan
        if reference_value > 0.0:
            ratio = paired[place].value() / reference_value
            with np.errstate(divide="ignore", invalid="ignore"):
                ratios = draws[count + place] / draws[2 * count + place]
            ratio_low, ratio_high = percentiles(ratios)
        totals = rows[metric.top][ran]
        yield {
            "panel": str(rows["panel"][0]),
            "config_id": str(rows["config_id"][0]),
            "config_name": str(rows["config_name"][0]),
            "metric": metric.name,
            "stratum": stratum,
            "unit": metric.unit.name,
            "value": value,
            "low": low,
            "high": high,
            "interval": interval,
            "total": math.fsum(totals) / metric.unit.total_in if len(totals) else math.nan,
            "total_unit": metric.unit.total,
            "scenarios": len(ran),
            "scenarios_failed": len(ran) - int(ran.sum()),
            "weight": math.fsum(rows["weight"]),
            "reference_value": reference_value,
            "ratio": ratio,
            "ratio_low": ratio_low,
            "ratio_high": ratio_high,
        }


def sample(rows: Columns, metric: Metric, ran: NDArray[np.bool_]) -> Sample:
    """What a metric sums over scenarios; zero above and below where the pair failed."""
    top, bottom = rows[metric.top], metric.bottom(rows[EXPOSURE])
    return Sample(*(np.where(ran, rows["weight"] * one, 0.0) for one in (top, bottom)))


def resampled(
    strata: NDArray[Any], seed: str, resamples: int, samples: list[Sample]
) -> NDArray[np.float64]:
    """Values of each sample under each draw of scenarios, stratum by stratum.

    Returns:
        Array (samples, resamples); NaN where a draw has nothing to divide by.
    """
    tops = np.column_stack([one.top for one in samples])
    bottoms = np.column_stack([one.bottom for one in samples])
    above = np.zeros((resamples, len(samples)))
    below = np.zeros((resamples, len(samples)))
    for stratum in sorted(set(strata)):
        members = np.flatnonzero(strata == stratum)
        generator = np.random.Generator(np.random.PCG64(_seed(f"{seed}/{stratum}")))
        for start in range(0, resamples, _RESAMPLED_AT_ONCE):
            stop = min(start + _RESAMPLED_AT_ONCE, resamples)
            times = _draw(generator, stop - start, len(members))
            above[start:stop] += times @ tops[members]
            below[start:stop] += times @ bottoms[members]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0.0, above / below, np.nan).T


def _draw(generator: np.random.Generator, draws: int, number: int) -> NDArray[np.float64]:
    """How often each of `number` scenarios is drawn in each of some draws with replacement."""
    drawn = generator.integers(0, number, size=(draws, number))
    drawn += np.arange(draws)[:, None] * number
    times = np.bincount(drawn.ravel(), minlength=draws * number)
    return times.reshape(draws, number).astype(np.float64)


def percentiles(values: NDArray[np.float64]) -> tuple[float, float]:
    """Percentile interval of the finite values, to 12 digits; NaN if there are none.

    Infinite ratios (nothing of the reference in a draw) count as larger than any number, and an
    upper end among them is not a number but open: NaN.
    """
    values = np.sort(values[~np.isnan(values)])
    if not len(values):
        return math.nan, math.nan
    tail = (1.0 - CONFIDENCE) / 2.0
    low = values[math.floor(tail * (len(values) - 1))]
    high = values[math.ceil((1.0 - tail) * (len(values) - 1))]
    return _rounded(float(low)), _rounded(float(high))


def share_interval(share: float, weights: NDArray[np.float64]) -> tuple[float, float]:
    """Clopper-Pearson interval of a weighted share.

    With equal weights (within a stratum) it is the exact one. With unequal weights the number
    of scenarios is replaced by Kish's effective number, (sum w)^2 / sum w^2.
    """
    if not len(weights) or math.isnan(share):
        return math.nan, math.nan
    number = math.fsum(weights) ** 2 / math.fsum(weights**2)
    ones = min(share * number, number)
    tail = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if share <= 0.0 else float(stats.beta.ppf(tail, ones, number - ones + 1.0))
    high = 1.0 if share >= 1.0 else float(stats.beta.ppf(1.0 - tail, ones + 1.0, number - ones))
    return _rounded(low), _rounded(high)


def _rounded(value: float) -> float:
    """Drop the last digits: they depend on the order in which a matrix product sums."""
    if not math.isfinite(value):
        return math.nan
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


def summarize_night(plan: Plan, resamples: int = RESAMPLES) -> None:
    """Summarize every panel that the outcomes table holds; replace the summary table.

    Args:
        plan: of the night.
        resamples: bootstrap draws behind each interval.

    Raises:
        Refused: there are no outcomes of this plan.
    """
    held = parts.assembled(plan)
    if not held:
        msg = f"night {plan.night} of {plan.experiment}: no outcomes of this plan to summarize"
        raise Refused(msg)
    reference_id = next(c.config_id for c in plan.configurations if c.name == plan.reference)

    def read(panel: str, config_id: str) -> pd.DataFrame:
        where = (pc.field("panel") == panel) & (pc.field("config_id") == config_id)
        return store.read_table(
            "outcomes", plan.experiment, plan.night, where=where, root=plan.root
        )

    work = [(panel, config_id) for panel in plan.panels for config_id in held.get(panel, [])]
    rows = [
        summarize(read(panel, one), read(panel, reference_id), plan.panel_digest, resamples)
        for panel, one in work
    ]
    store.write_table(
        "summary",
        plan.experiment,
        plan.night,
        pd.concat(rows, ignore_index=True),
        schema=SUMMARY,
        root=plan.root,
        lineage={"plan": parts.plan_key(plan)},
    )
    sys.stdout.write(f"summary: {len(work)} configurations, {', '.join(held)}\n")
