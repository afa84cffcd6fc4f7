"""What is measured of a configuration: names, units, and how scenarios add up to one number.

The columns are those of an outcome row (`isr_pipeline.worlds.columns.OUTCOME_COLUMNS`).
Rates over partition-time also have a *natural total* (partition-seconds, or a count of
changes): sums and permutation tests are done on totals, whose logarithm tells a heavy tail
from a light one, where the logarithm of a rate near zero does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["share", "per_hour", "indicator", "mean"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One column of an outcome, and how it is summed over scenarios.

    Attributes:
        name: the outcome column, and the metric's name in every table and in MLflow.
        unit: unit of the value.
        kind: how the value of many scenarios follows from their rows, w being the weights:
            ``share``: partition-seconds in that state / partition-seconds, both summed with w;
            ``per_hour``: count / partition-hours, both summed with w;
            ``indicator``: weighted share of scenarios with a 1;
            ``mean``: weighted mean over scenarios.
        total: column with the natural total of one scenario (the column itself if it is one).
        total_unit: unit of the total.
        worse: 1 if higher is worse, -1 if lower is worse, 0 if neither is (a description).
        tested: whether the night's verdict tests it by default.
        description: one sentence for reports.
    """

    name: str
    unit: str
    kind: Kind
    total: str
    total_unit: str
    worse: Literal[1, 0, -1]
    tested: bool
    description: str


def _share(name: str, total: str, description: str, *, tested: bool = False) -> Metric:
    return Metric(name, "share", "share", total, "partition-s", 1, tested, description)


def _per_hour(
    name: str, total: str, description: str, *, worse: Literal[1, 0, -1] = 1, tested: bool = False
) -> Metric:
    return Metric(name, "1/partition-h", "per_hour", total, "count", worse, tested, description)


def _mean(
    name: str,
    unit: str,
    description: str,
    *,
    worse: Literal[1, 0, -1] = 1,
    tested: bool = False,
) -> Metric:
    return Metric(name, unit, "mean", name, unit, worse, tested, description)


_ALL: tuple[Metric, ...] = (
    _share(
        "offline_partition_rate",
        "offline_partition_seconds",
        "Share of partition-time without a leader, as the controller sees it.",
        tested=True,
    ),
    Metric(
        "any_offline",
        "share of scenarios",
        "indicator",
        "any_offline",
        "scenarios",
        1,
        False,
        "Share of scenarios in which some partition had no leader after warm-up.",
    ),
    _share(
        "under_min_isr_rate",
        "under_min_isr_partition_seconds",
        "Share of partition-time with fewer in-sync replicas than min.insync.replicas.",
        tested=True,
    ),
    _share(
        "under_replicated_rate",
        "under_replicated_partition_seconds",
        "Share of partition-time with a replica missing from the ISR.",
    ),
    _share(
        "produce_unavailable_rate",
        "produce_unavailable_partition_seconds",
        "Share of partition-time in which an acks=all producer gets nothing acknowledged.",
        tested=True,
    ),
    _per_hour(
        "isr_shrinks_per_partition_hour", "isr_shrinks", "Removals from the ISR by a leader."
    ),
    _per_hour(
        "isr_expands_per_partition_hour",
        "isr_expands",
        "Returns to the ISR by a leader's leave.",
        worse=0,
    ),
    _per_hour(
        "isr_flaps_per_partition_hour",
        "isr_flaps",
        "ISR thrash: replicas removed by a leader and back within 60 s.",
        tested=True,
    ),
    _per_hour(
        "spurious_shrinks_per_partition_hour",
        "spurious_shrinks",
        "Removals of a follower that no fault touched: the in-sync rule's false positives.",
    ),
    _mean(
        "missed_lag_ms",
        "replica-ms",
        "Time that faulty, lagging followers stayed in the ISR past the lag limit.",
    ),
    _per_hour("leader_changes_per_partition_hour", "leader_changes", "Changes of a leader's id."),
    _per_hour(
        "resignations_per_partition_hour",
        "resignations",
        "Leaders that gave up leadership because a read was pending too long.",
        worse=0,
    ),
    _mean("unclean_elections", "elections/scenario", "Elections of a replica outside the ISR."),
    _mean(
        "commit_latency_p50_ms",
        "ms",
        "Median time from a batch's append to its commit, mean over scenarios.",
    ),
    _mean(
        "commit_latency_p99_ms",
        "ms",
        "99th percentile of append to commit, mean over scenarios.",
        tested=True,
    ),
    _mean("commit_latency_max_ms", "ms", "Slowest batch, mean over scenarios."),
    _mean("batches_uncommitted", "batches/scenario", "Batches never committed by the horizon."),
    _mean(
        "records_acked",
        "records/scenario",
        "Records acknowledged with acks=all.",
        worse=-1,
    ),
    _mean(
        "records_lost",
        "records/scenario",
        "Records acknowledged with acks=all and lost in an election.",
        tested=True,
    ),
    _mean(
        "failed_partitions_max",
        "replicas/scenario",
        "Largest FailedPartitionsCount at one time, summed over brokers.",
    ),
    _share(
        "failed_partition_rate",
        "failed_partition_seconds",
        "Replica-time in which a fetcher had given the partition up, over partition-time.",
    ),
    _mean("dead_fetcher_threads", "threads/scenario", "Most fetcher threads dead at one time."),
    _share(
        "untracked_partition_rate",
        "untracked_partition_seconds",
        "Replica-time on a dead fetcher thread, over partition-time.",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}
"""Every metric by name, in the order of the outcome's columns."""

TESTED: tuple[str, ...] = tuple(metric.name for metric in _ALL if metric.tested)
"""Metrics that a verdict tests unless the experiment says otherwise."""

KEY_METRICS: tuple[str, ...] = (
    "offline_partition_rate",
    "isr_shrinks_per_partition_hour",
    "isr_flaps_per_partition_hour",
    "commit_latency_p99_ms",
)
"""Metrics shown first, in a terminal's width."""

TOTALS: dict[str, Metric] = {
    metric.total: metric for metric in _ALL if metric.kind in ("share", "per_hour")
}
"""Columns of natural totals that the outcomes table has beside the outcome's own columns."""


def natural_totals(
    outcome: dict[str, float | int | None], partition_hours: float
) -> dict[str, float | int | None]:
    """Turn an outcome's rates back into partition-seconds and counts.

    Args:
        outcome: an outcome row by column name; None where there is no value.
        partition_hours: partitions times hours after warm-up of that scenario.

    Returns:
        A value for every column of `TOTALS`: seconds, or a whole number of changes.
    """
    totals: dict[str, float | int | None] = {}
    for column, metric in TOTALS.items():
        rate = outcome[metric.name]
        if rate is None:
            totals[column] = None
        elif metric.kind == "share":
            totals[column] = rate * partition_hours * 3600.0
        else:
            totals[column] = round(rate * partition_hours)
    return totals
