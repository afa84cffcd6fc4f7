"""What a world that has reached its horizon says: the outcome row, and curves for a trace."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isr_pipeline.simulation.shortcuts.kinds import rows_of
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.columns import OUTCOME_COLUMNS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from isr_pipeline.worlds.encoder import World

US_PER_HOUR = 3_600_000_000


@dataclass(frozen=True, slots=True)
class Samples:
    """Curves for a trace.

    Attributes:
        t_ms: times of the samples.
        leo: (topic, partition) -> LEO of the leader at each time, -1 without one.
        hw: the same of its high watermark.
        queue: broker id -> requests that wait.
    """

    t_ms: list[float]
    leo: dict[tuple[str, int], list[int]]
    hw: dict[tuple[str, int], list[int]]
    queue: dict[int, list[int]]


@dataclass(frozen=True, slots=True)
class Run:
    """What one scenario gave: the outcome row and, if asked for, the events and curves."""

    outcome: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    samples: Samples | None = None


def failed_outcome(horizon_ms: float, budget: int) -> dict[str, Any]:
    """The row of a pair whose event budget was spent: every measure is null."""
    row: dict[str, Any] = dict.fromkeys(OUTCOME_COLUMNS)
    row.update(simulated_ms=float(horizon_ms), kernel_events=budget, failed=1)
    return row


def _latencies(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many batches have a commit latency in a bucket or below it."""
    return w[w[at.H_HIST] : w[at.H_HIST] + at.HIST_SIZE].cumsum()


def _percentile_ms(up_to: npt.NDArray[np.int64], share: float, largest_us: int) -> float:
    """Commit latency at rank ceil(share * n), the middle of its bucket; 0 without a batch."""
    total = int(up_to[-1])
    if total == 0:
        return 0.0
    rank = math.ceil(share * total - 1e-9)
    bucket = int(up_to.searchsorted(max(1, rank)))
    sub = 1 << at.HIST_SUB_BITS
    if bucket < 2 * sub:
        return bucket / 1000
    shift = (bucket >> at.HIST_SUB_BITS) - 1
    low = (sub + (bucket & (sub - 1))) << shift
    middle = low + ((1 << shift) - 1) / 2
    return float(min(middle, largest_us) / 1000)


_PARTITION_TIMES = (
    at.P_T_OFFLINE,
    at.P_T_UNDER_MIN,
    at.P_T_UNDER_REPLICATED,
    at.P_T_UNAVAILABLE,
)


def outcome_of(world: World) -> dict[str, Any]:
    """The outcome row of a world that has reached its horizon."""
    cell = world.w[: at.TREE].tolist()
    n = len(world.partitions)
    partition_time = (cell[at.C_HORIZON] - cell[at.C_WARMUP]) * n
    hours = partition_time / US_PER_HOUR
    table = rows_of(world.w, at.H_PART, n, at.P_SIZE)
    offline, under_min, under_replicated, unavailable = (
        table[:, _PARTITION_TIMES].sum(axis=0).tolist()
    )
    latencies, largest_us = _latencies(world.w), cell[at.G_LATENCY_MAX]
    values: dict[str, Any] = {
        "offline_partition_rate": offline / partition_time,
        "any_offline": int(offline > 0),
        "under_min_isr_rate": under_min / partition_time,
        "under_replicated_rate": under_replicated / partition_time,
        "produce_unavailable_rate": (unavailable + cell[at.G_UNAVAILABLE]) / partition_time,
        "isr_shrinks_per_partition_hour": cell[at.G_SHRINKS] / hours,
        "isr_expands_per_partition_hour": cell[at.G_EXPANDS] / hours,
        "isr_flaps_per_partition_hour": cell[at.G_FLAPS] / hours,
        "spurious_shrinks_per_partition_hour": cell[at.G_SPURIOUS] / hours,
        "missed_lag_ms": cell[at.G_MISSED_LAG] / 1000,
        "leader_changes_per_partition_hour": cell[at.G_LEADER_CHANGES] / hours,
        "resignations_per_partition_hour": cell[at.G_RESIGNATIONS] / hours,
        "unclean_elections": cell[at.G_UNCLEAN],
        "commit_latency_p50_ms": _percentile_ms(latencies, 0.50, largest_us),
        "commit_latency_p99_ms": _percentile_ms(latencies, 0.99, largest_us),
        "commit_latency_max_ms": largest_us / 1000,
        "batches_uncommitted": cell[at.G_UNCOMMITTED],
        "records_acked": cell[at.G_ACKED],
        "records_lost": cell[at.G_LOST],
        "failed_partitions_max": cell[at.G_FAILED_MAX],
        "failed_partition_rate": cell[at.G_FAILED_TIME] / partition_time,
        "dead_fetcher_threads": cell[at.G_DEAD_MAX],
        "untracked_partition_rate": cell[at.G_UNTRACKED_TIME] / partition_time,
        "simulated_ms": cell[at.C_HORIZON] / 1000,
        "kernel_events": cell[at.G_EVENTS],
        "failed": 0,
    }
    assert list(values) == list(OUTCOME_COLUMNS)
    return values


def samples_of(world: World) -> Samples:
    """The curves that were sampled."""
    w = world.w
    n, nb = len(world.partitions), len(world.brokers)
    rows = rows_of(w, at.H_SAMPLE, int(w[at.G_SAMPLE_COUNT]), 1 + 2 * n + nb)
    names = [(p.topic, p.number) for p in world.partitions]
    return Samples(
        t_ms=[t / 1000 for t in rows[:, 0].tolist()],
        leo={name: rows[:, 1 + 2 * i].tolist() for i, name in enumerate(names)},
        hw={name: rows[:, 2 + 2 * i].tolist() for i, name in enumerate(names)},
        queue={b: rows[:, 1 + 2 * n + k].tolist() for k, b in enumerate(world.brokers)},
    )
