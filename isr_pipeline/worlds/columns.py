"""The outcome of one (scenario, configuration): names and kinds of its columns, in order."""

from __future__ import annotations

OUTCOME_COLUMNS: dict[str, str] = {
    "offline_partition_rate": "float",
    "any_offline": "int",
    "under_min_isr_rate": "float",
    "under_replicated_rate": "float",
    "produce_unavailable_rate": "float",
    "isr_shrinks_per_partition_hour": "float",
    "isr_expands_per_partition_hour": "float",
    "isr_flaps_per_partition_hour": "float",
    "spurious_shrinks_per_partition_hour": "float",
    "missed_lag_ms": "float",
    "leader_changes_per_partition_hour": "float",
    "resignations_per_partition_hour": "float",
    "unclean_elections": "int",
    "commit_latency_p50_ms": "float",
    "commit_latency_p99_ms": "float",
    "commit_latency_max_ms": "float",
    "batches_uncommitted": "int",
    "records_acked": "int",
    "records_lost": "int",
    "failed_partitions_max": "int",
    "failed_partition_rate": "float",
    "dead_fetcher_threads": "int",
    "untracked_partition_rate": "float",
    "simulated_ms": "float",
    "kernel_events": "int",
    "failed": "int",
}
"""Column name -> ``int`` or ``float``. Rates are null in a row with ``failed`` = 1."""
