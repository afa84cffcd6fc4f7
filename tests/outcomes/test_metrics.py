"""Metrics, schemas and the outcome's own columns agree."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from isr_pipeline.tables.schemas import OUTCOMES, SUMMARY
from isr_pipeline.tables.store import digest
from isr_pipeline.tables.summary import (
    Sample,
    percentiles,
    resampled,
    share_interval,
    summarize,
)
from isr_pipeline.worlds.columns import (
    COLUMNS,
    COUNTED,
    EXPOSURE,
    METRICS,
    OF_THE_RUN,
    REACHED,
    values_of,
)
from tests.validation.tables import outcomes, tiny_plan


class TestMetrics:
    """Definitions."""

    def test_every_column_is_told(self) -> None:
        """Every column but exposure and how far a run came to bounds is the top of one metric."""
        tops = [metric.top for metric in METRICS.values()]
        assert sorted([EXPOSURE, *tops, *REACHED]) == sorted(COUNTED)

    def test_tested_and_shown(self) -> None:
        """The metrics that verdicts test are the six of the method."""
        assert {name for name, metric in METRICS.items() if metric.tested} == {
            "leaderless_rate",
            "isr_flaps_per_partition_hour",
            "led_under_min_isr_rate",
            "produce_unavailable_rate",
            "commit_latency_p99_ms",
            "records_lost",
        }

    def test_values(self) -> None:
        """Half an hour of two partition-hours is a quarter; three flaps in them are 1.5 an hour."""
        counted = dict.fromkeys(COUNTED, 0) | {
            EXPOSURE: 7_200_000_000,
            "offline_us": 1_800_000_000,
            "isr_flaps": 3,
            "records_lost": 7,
        }
        told = values_of(counted)
        assert told["offline_partition_rate"] == 0.25
        assert told["isr_flaps_per_partition_hour"] == 1.5
        assert told["records_lost"] == 7


class TestSchemas:
    """The literal schemas."""

    def test_outcomes(self) -> None:
        """Outcomes are the pair and the kernel's columns in order."""
        pair = ["panel", "scenario_id", "config_id", "config_name", "stratum", "weight"]
        assert OUTCOMES.names == [*pair, *COUNTED, *OF_THE_RUN]

    def test_kinds(self) -> None:
        """Whole numbers of the kernel are whole numbers of the table."""
        types = {"int": "int64", "float": "double"}
        found = {one.name: str(OUTCOMES.field(one.name).type) for one in COLUMNS}
        assert found == {one.name: types[one.type] for one in COLUMNS}


def rows_of(name: str) -> pd.DataFrame:
    """Return the outcomes of one configuration of the tiny night."""
    every = outcomes(tiny_plan("unused"))
    return every[every["config_name"] == name]


def row(summary: pd.DataFrame, metric: str, stratum: str = "all") -> pd.Series:
    """Return one row of a summary."""
    return summary[(summary["metric"] == metric) & (summary["stratum"] == stratum)].iloc[0]


class TestSummarize:
    """Weighted values and intervals of one configuration."""

    def test_columns(self) -> None:
        """The columns are the table's, a row per metric and stratum."""
        summary = summarize(rows_of("faster"), rows_of("today"), "s", 50)
        assert list(summary.columns) == SUMMARY.names
        assert len(summary) == len(METRICS) * 3

    def test_weighted(self) -> None:
        """A value is the weighted one; a stratum's counts its own scenarios."""
        rows = rows_of("faster")
        summary = summarize(rows, rows_of("today"), "s", 50)
        shares = rows["offline_us"] / rows[EXPOSURE]
        by_hand = (rows["weight"] * shares).sum() / rows["weight"].sum()
        assert row(summary, "offline_partition_rate")["value"] == pytest.approx(by_hand, rel=1e-12)
        assert row(summary, "any_offline")["value"] == pytest.approx(4 * 0.5 / 6)
        assert row(summary, "any_offline", "faulty")["value"] == 1.0
        assert row(summary, "any_offline", "calm")["scenarios"] == 2

    def test_order_does_not_matter(self) -> None:
        """Rows in any order give the same summary bit by bit."""
        rows, reference = rows_of("faster"), rows_of("today")
        shuffled = rows.sample(frac=1.0, random_state=3)
        one = summarize(rows, reference, "s", 100)
        other = summarize(shuffled, reference.iloc[::-1], "s", 100)
        assert digest(one) == digest(other)

    def test_paired(self) -> None:
        """Twice the reference in every scenario has ratio 2, with no width at all."""
        reference = rows_of("today")
        doubled = reference.assign(isr_flaps=reference["isr_flaps"] * 2)
        found = row(summarize(doubled, reference, "s", 200), "isr_flaps_per_partition_hour")
        assert [found["ratio"], found["ratio_low"], found["ratio_high"]] == [2.0, 2.0, 2.0]

    def test_failed_pairs_count_apart(self) -> None:
        """A failed pair is left out of values and pairs, and is counted."""
        rows = rows_of("faster").copy()
        rows["failed"] = [1, 0, 0, 0, 0, 0]
        rows.loc[rows.index[0], list(COUNTED)] = np.nan
        found = row(summarize(rows, rows_of("today"), "s", 50), "records_acked")
        assert (found["scenarios"], found["scenarios_failed"]) == (6, 1)
        assert (found["value"], found["ratio"]) == (1000.0, 1.0)

    def test_all_failed(self) -> None:
        """Nothing ran: no value, no interval, no ratio."""
        rows = rows_of("faster").assign(failed=1, **dict.fromkeys(COUNTED, np.nan))
        found = row(summarize(rows, rows_of("today"), "s", 50), "records_acked")
        assert all(math.isnan(found[name]) for name in ("value", "low", "high", "total", "ratio"))

    def test_reference_of_zero(self) -> None:
        """There is no ratio to nothing."""
        found = row(summarize(rows_of("faster"), rows_of("today"), "s", 50), "records_lost")
        assert found["reference_value"] == 0.0
        assert math.isnan(found["ratio"])

    def test_coverage(self) -> None:
        """The interval of a mean holds the truth in about 95 of 100 samples."""
        random = np.random.default_rng(0)
        strata, ones = np.repeat(["a", "b"], 30), np.ones(60)
        hits = 0
        for trial in range(200):
            drawn = Sample(random.exponential(10.0, 60), ones)
            low, high = percentiles(resampled(strata, str(trial), 300, [drawn])[0])
            hits += low <= 10.0 <= high
        assert 178 <= hits <= 198


class TestIntervals:
    """The intervals by themselves."""

    def test_clopper_pearson(self) -> None:
        """With equal weights it is scipy's exact interval."""
        low, high = share_interval(3 / 20, np.full(20, 0.7))
        exact = stats.binomtest(3, 20).proportion_ci(0.95, "exact")
        assert [low, high] == pytest.approx([exact.low, exact.high])

    def test_none_and_all(self) -> None:
        """No scenario of 20 still leaves up to 17 %; all of 20 leaves down to 83 %."""
        assert share_interval(0.0, np.ones(20)) == pytest.approx((0.0, 0.1684), abs=1e-4)
        assert share_interval(1.0, np.ones(20)) == pytest.approx((0.8316, 1.0), abs=1e-4)

    def test_percentiles_without_an_upper_end(self) -> None:
        """Draws in which the reference had nothing leave the upper end open."""
        low, high = percentiles(np.array([1.0, 2.0, np.inf, np.inf, np.nan]))
        assert low == 1.0
        assert math.isnan(high)
