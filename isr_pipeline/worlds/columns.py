"""The one table of what is measured: each column of an outcome row, and what it means.

A row says the column's name, how a finished world gives its value, and, for a metric, its unit, how
scenarios add up, and whether the night's verdict tests it. The outcome row, the schema of the
outcomes table, the metrics of reports and MLflow and the rules that Great Expectations checks all
follow from it, so a new metric is one row here and the line in the kernel that counts it.

Rates over partition-time also have a *natural total* (partition-seconds, or a count of changes):
sums and permutation tests are done on totals, whose logarithm tells a heavy tail from a light one,
where the logarithm of a rate near zero does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from isr_pipeline.worlds.measured import Measured

Kind = Literal["share", "per_hour", "indicator", "mean"]
Worse = Literal[1, 0, -1]


Value = Callable[[Measured], int | float]


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
    worse: Worse
    tested: bool
    description: str


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an outcome row.

    Attributes:
        name: of the column.
        type: ``int`` or ``float``.
        of: its value in a world that has reached its horizon.
        metric: what it means; None for a column that is no metric, which a failed row has too.
    """

    name: str
    type: Literal["int", "float"]
    of: Value
    metric: Metric | None


def _share(name: str, total: str, description: str, of: Value, *, tested: bool = False) -> Column:
    metric = Metric(name, "share", "share", total, "partition-s", 1, tested, description)
    return Column(name, "float", of, metric)


def _per_hour(
    total: str, description: str, count: Value, *, worse: Worse = 1, tested: bool = False
) -> Column:
    """A count of changes; the column is the rate."""
    name = f"{total}_per_partition_hour"
    metric = Metric(name, "1/partition-h", "per_hour", total, "count", worse, tested, description)
    return Column(name, "float", lambda m: count(m) / m.hours, metric)


def _mean(
    name: str,
    unit: str,
    description: str,
    of: Value,
    *,
    type_: Literal["int", "float"] = "int",
    worse: Worse = 1,
    tested: bool = False,
) -> Column:
    metric = Metric(name, unit, "mean", name, unit, worse, tested, description)
    return Column(name, type_, of, metric)


COLUMNS: tuple[Column, ...] = (
    _share(
        "offline_partition_rate",
        "offline_partition_seconds",
        "Share of partition-time without a leader, as the controller sees it.",
        lambda m: m.offline / m.partition_time,
        tested=True,
    ),
    Column(
        "any_offline",
        "int",
        lambda m: int(m.offline > 0),
        Metric(
            "any_offline",
            "share of scenarios",
            "indicator",
            "any_offline",
            "scenarios",
            1,
            tested=False,
            description="Share of scenarios in which some partition had no leader after warm-up.",
        ),
    ),
    _share(
        "under_min_isr_rate",
        "under_min_isr_partition_seconds",
        "Share of partition-time with fewer in-sync replicas than min.insync.replicas.",
        lambda m: m.under_min / m.partition_time,
        tested=True,
    ),
    _share(
        "under_replicated_rate",
        "under_replicated_partition_seconds",
        "Share of partition-time with a replica missing from the ISR.",
        lambda m: m.under_replicated / m.partition_time,
    ),
    _share(
        "produce_unavailable_rate",
        "produce_unavailable_partition_seconds",
        "Share of partition-time in which an acks=all producer gets nothing acknowledged.",
        lambda m: (m.unavailable + m.world.unavailable_time) / m.partition_time,
        tested=True,
    ),
    _share(
        "readers_wait_rate",
        "readers_wait_partition_seconds",
        "Share of partition-time in which a live leader has records that readers may not have yet: "
        "they end above a high watermark that stands for a second or longer.",
        lambda m: m.world.readers_wait_time / m.partition_time,
    ),
    _share(
        "one_replica_rate",
        "one_replica_partition_seconds",
        "Share of partition-time in which a leader takes acks=all produce alone in the ISR.",
        lambda m: m.one_replica / m.partition_time,
    ),
    _per_hour(
        "isr_shrinks",
        "ISR changes by which a leader removed replicas, however many at once.",
        lambda m: m.world.isr_shrinks,
    ),
    _per_hour(
        "isr_expands",
        "Returns to the ISR by a leader's leave.",
        lambda m: m.world.isr_expands,
        worse=0,
    ),
    _per_hour(
        "isr_flaps",
        "Flaps: replicas removed by a leader and back within 60 s.",
        lambda m: m.world.isr_flaps,
        tested=True,
    ),
    _per_hour(
        "spurious_shrinks",
        "Replicas removed that no fault touched: the in-sync rule's false positives.",
        lambda m: m.world.spurious_removals,
    ),
    _mean(
        "detection_delay_ms",
        "replica-ms",
        "Time that faulty, lagging followers stayed in the ISR past the lag limit.",
        lambda m: m.world.detection_delay / 1000,
        type_="float",
    ),
    _per_hour("leader_changes", "Changes of a leader's id.", lambda m: m.world.leader_changes),
    _per_hour(
        "resignations",
        "Leaders that gave up leadership because a read was pending too long.",
        lambda m: m.world.resignations,
        worse=0,
    ),
    _mean(
        "unclean_elections",
        "elections/scenario",
        "Elections of a replica outside the ISR.",
        lambda m: m.world.unclean_elections,
    ),
    _mean(
        "commit_latency_p50_ms",
        "ms",
        "Median time from a batch's append to its commit, mean over scenarios.",
        lambda m: m.latency_ms(0.50),
        type_="float",
    ),
    _mean(
        "commit_latency_p99_ms",
        "ms",
        "99th percentile of append to commit, mean over scenarios.",
        lambda m: m.latency_ms(0.99),
        type_="float",
        tested=True,
    ),
    _mean(
        "commit_latency_max_ms",
        "ms",
        "Slowest batch, mean over scenarios.",
        lambda m: m.world.latency_max / 1000,
        type_="float",
    ),
    _mean(
        "produce_latency_acks_1_p50_ms",
        "ms",
        "Median time of an acks=1 batch from send to acknowledgement, mean over scenarios.",
        lambda m: m.acks_1_latency_ms(0.50),
        type_="float",
    ),
    _mean(
        "produce_latency_acks_1_p99_ms",
        "ms",
        "99th percentile of an acks=1 batch's send to acknowledgement, mean over scenarios.",
        lambda m: m.acks_1_latency_ms(0.99),
        type_="float",
    ),
    _mean(
        "produce_latency_acks_all_p50_ms",
        "ms",
        "Median time of an acks=all batch from send to acknowledgement, mean over scenarios.",
        lambda m: m.acks_all_latency_ms(0.50),
        type_="float",
    ),
    _mean(
        "produce_latency_acks_all_p99_ms",
        "ms",
        "99th percentile of an acks=all batch's send to acknowledgement, mean over scenarios.",
        lambda m: m.acks_all_latency_ms(0.99),
        type_="float",
    ),
    _mean(
        "batches_uncommitted",
        "batches/scenario",
        "Batches never committed by the horizon.",
        lambda m: m.world.uncommitted_batches,
    ),
    _mean(
        "records_acked",
        "records/scenario",
        "Records acknowledged with acks=all.",
        lambda m: m.world.acknowledged_records,
        worse=-1,
    ),
    _mean(
        "records_acked_by_one_replica",
        "records/scenario",
        "Records acknowledged with acks=all while no replica but the leader had them.",
        lambda m: m.world.records_of_one_replica,
    ),
    _mean(
        "records_lost",
        "records/scenario",
        "Records acknowledged with acks=all and lost in an election.",
        lambda m: m.world.lost_records,
        tested=True,
    ),
    _mean(
        "failed_partitions_max",
        "replicas/scenario",
        "Largest FailedPartitionsCount at one time, summed over brokers.",
        lambda m: m.world.failed_partitions_max,
    ),
    _share(
        "failed_partition_rate",
        "failed_partition_seconds",
        "Replica-time in which a fetcher had given the partition up, over partition-time.",
        lambda m: m.world.failed_time / m.partition_time,
    ),
    _mean(
        "dead_fetcher_threads",
        "threads/scenario",
        "Most fetcher threads dead at one time.",
        lambda m: m.world.dead_threads_max,
    ),
    _share(
        "untracked_partition_rate",
        "untracked_partition_seconds",
        "Replica-time on a dead fetcher thread, over partition-time.",
        lambda m: m.world.untracked_time / m.partition_time,
    ),
    Column("simulated_ms", "float", lambda m: m.world.horizon / 1000, None),
    Column("kernel_events", "int", lambda m: m.world.event_count, None),
    Column("failed", "int", lambda _: 0, None),
)
"""Every column, in the order of the outcomes table. Metrics are null if ``failed`` = 1."""

OUTCOME_COLUMNS: dict[str, str] = {column.name: column.type for column in COLUMNS}
"""Column name -> ``int`` or ``float``."""

METRICS: dict[str, Metric] = {c.metric.name: c.metric for c in COLUMNS if c.metric is not None}
"""Every metric by name, in the order of the outcome's columns."""

TOTALS: dict[str, Metric] = {
    metric.total: metric for metric in METRICS.values() if metric.kind in ("share", "per_hour")
}
"""Columns of natural totals that the outcomes table has beside the outcome's own columns."""

TOTAL_TYPES: dict[str, str] = {
    total: "float" if metric.kind == "share" else "int" for total, metric in TOTALS.items()
}
"""Column of a natural total -> ``int`` or ``float``."""
