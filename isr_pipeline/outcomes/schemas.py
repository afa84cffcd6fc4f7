"""Schemas of the tables that Spark writes, as literals.

``experiment`` and ``night`` are no columns: the folder of a table says them.
"""

from __future__ import annotations

from pyspark.sql.types import (
    DataType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)

_NULLABLE = True
_GIVEN = False


def _text(name: str) -> StructField:
    return StructField(name, StringType(), _GIVEN)


def _whole(name: str, *, nullable: bool = False) -> StructField:
    return StructField(name, LongType(), nullable)


def _number(name: str, *, nullable: bool = False) -> StructField:
    return StructField(name, DoubleType(), nullable)


SCENARIOS = StructType(
    [
        _text("panel"),
        _text("scenario_id"),
        _whole("index"),
        _text("stratum"),
        _number("weight"),
        _text("fault_kinds"),
        _number("expected_cost"),
        _text("scenario_json"),
    ]
)
"""One row per scenario of each panel; `index` counts from 0 within the panel."""

OUTCOMES = StructType(
    [
        _text("panel"),
        _text("scenario_id"),
        _text("config_id"),
        _text("config_name"),
        _text("stratum"),
        _number("weight"),
        _number("partition_hours"),
        _number("offline_partition_rate", nullable=True),
        _whole("any_offline", nullable=True),
        _number("under_min_isr_rate", nullable=True),
        _number("under_replicated_rate", nullable=True),
        _number("produce_unavailable_rate", nullable=True),
        _number("isr_shrinks_per_partition_hour", nullable=True),
        _number("isr_expands_per_partition_hour", nullable=True),
        _number("isr_flaps_per_partition_hour", nullable=True),
        _number("spurious_shrinks_per_partition_hour", nullable=True),
        _number("missed_lag_ms", nullable=True),
        _number("leader_changes_per_partition_hour", nullable=True),
        _number("resignations_per_partition_hour", nullable=True),
        _whole("unclean_elections", nullable=True),
        _number("commit_latency_p50_ms", nullable=True),
        _number("commit_latency_p99_ms", nullable=True),
        _number("commit_latency_max_ms", nullable=True),
        _whole("batches_uncommitted", nullable=True),
        _whole("records_acked", nullable=True),
        _whole("records_lost", nullable=True),
        _whole("failed_partitions_max", nullable=True),
        _number("failed_partition_rate", nullable=True),
        _whole("dead_fetcher_threads", nullable=True),
        _number("untracked_partition_rate", nullable=True),
        _number("simulated_ms"),
        _whole("kernel_events"),
        _whole("failed"),
        _number("offline_partition_seconds", nullable=True),
        _number("under_min_isr_partition_seconds", nullable=True),
        _number("under_replicated_partition_seconds", nullable=True),
        _number("produce_unavailable_partition_seconds", nullable=True),
        _whole("isr_shrinks", nullable=True),
        _whole("isr_expands", nullable=True),
        _whole("isr_flaps", nullable=True),
        _whole("spurious_shrinks", nullable=True),
        _whole("leader_changes", nullable=True),
        _whole("resignations", nullable=True),
        _number("failed_partition_seconds", nullable=True),
        _number("untracked_partition_seconds", nullable=True),
    ]
)
"""One row per pair of a scenario and a configuration; null where the pair failed."""

EVENTS = StructType(
    [
        _text("panel"),
        _text("scenario_id"),
        _text("config_id"),
        _whole("seq"),
        _number("t_ms"),
        _text("kind"),
        StructField("topic", StringType(), _NULLABLE),
        _whole("partition", nullable=True),
        _whole("broker", nullable=True),
        _whole("leader", nullable=True),
        _whole("leader_epoch", nullable=True),
        StructField("isr", StringType(), _NULLABLE),
        StructField("cause", StringType(), _NULLABLE),
        _number("decided_ms", nullable=True),
    ]
)
"""Events of the pairs that are kept; `seq` counts from 0 in a pair; isr and cause are JSON."""

SUMMARY = StructType(
    [
        _text("panel"),
        _text("config_id"),
        _text("config_name"),
        _text("metric"),
        _text("stratum"),
        _text("unit"),
        _number("value", nullable=True),
        _number("low", nullable=True),
        _number("high", nullable=True),
        _text("interval"),
        _number("total", nullable=True),
        _text("total_unit"),
        _whole("scenarios"),
        _whole("scenarios_failed"),
        _number("weight"),
        _number("reference_value", nullable=True),
        _number("ratio", nullable=True),
        _number("ratio_low", nullable=True),
        _number("ratio_high", nullable=True),
    ]
)
"""One row per configuration, metric and stratum (`all`: the whole panel).

`value` with its 95 % interval (`low`, `high`, made as `interval` says); `total` is the plain sum
of the natural totals; `ratio` is value / reference_value on the scenarios both have, with a
paired interval, null if the reference is 0.
"""

SPARK_SCHEMAS: dict[str, StructType] = {
    "scenarios": SCENARIOS,
    "outcomes": OUTCOMES,
    "events": EVENTS,
    "summary": SUMMARY,
}
"""Schema of each table that Spark writes."""


def names_and_types(schema: StructType) -> list[tuple[str, DataType]]:
    """Columns of a schema without nullability, which Parquet files do not keep."""
    return [(field.name, field.dataType) for field in schema.fields]
