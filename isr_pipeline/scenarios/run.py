"""One scenario through the kernel: the outcome row, and what happened when."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.scenarios.encoder import EVENT_BUDGET, World, encode
from isr_pipeline.simulation import layout as at
from isr_pipeline.simulation.kernel import run_world
from isr_pipeline.simulation.kinds import Z_SIZE, memory_size, rows_of
from isr_pipeline.simulation.outcome import OUTCOME_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.scenarios.encoder import PartitionNames
    from isr_pipeline.scenarios.model import Scenario

US_PER_HOUR = 3_600_000_000


class Names(Protocol):
    """What the kernel's indexes of partitions and brokers stand for: a `World`, or what is left."""

    @property
    def partitions(self) -> Sequence[PartitionNames]:
        """By kernel index."""

    @property
    def brokers(self) -> Sequence[int]:
        """Ids by kernel index."""


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


def run(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int = EVENT_BUDGET,
    checked: bool = False,
    jumps: bool = True,
) -> Run:
    """Simulate one scenario to its horizon.

    Args:
        scenario: a checked scenario, its configuration laid over it.
        events: list the events as well.
        sample_ms: period of the samples for a trace's curves; 0 for none.
        budget: events after which to give up.
        checked: run the debug build, which checks every invariant after every event, and check
            the outcome and (with ``events``) the events as well.
        jumps: jump over stretches that repeat; off to compare, the result is the same.

    Raises:
        BudgetSpent: the scenario needs more events than ``budget``.
        InvariantBroken: with ``checked``, an error of the simulator.
    """
    world = encode(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    if checked:
        from isr_pipeline.scenarios.checks import run_checked  # noqa: PLC0415 - a second kernel

        run_checked(scenario.scenario_id, world)
    else:
        advance(world)
    if world.w[at.G_BUDGET_SPENT]:
        raise BudgetSpent(scenario.scenario_id, budget)
    done = Run(
        outcome=outcome_of(world),
        events=events_of(world) if events else [],
        samples=_samples_of(world) if sample_ms else None,
    )
    if checked:
        from isr_pipeline.scenarios.checks import check_run  # noqa: PLC0415 - a second kernel

        check_run(scenario, world, done)
    return done


def advance(world: World) -> None:
    """Let an encoded world run to its horizon."""
    run_world(world.w, world.rec, world.rules, world.kinds, _memory_for(world))


_memory = np.zeros(Z_SIZE, dtype=np.int64)


def _memory_for(world: World) -> npt.NDArray[np.int64]:
    """Memory for the search for repetitions, kept from run to run."""
    global _memory  # noqa: PLW0603 - one buffer a process
    size = memory_size(world.w)
    if _memory.size < size:
        _memory = np.zeros(size, dtype=np.int64)
    _memory[:Z_SIZE] = 0
    return _memory


def failed_outcome(horizon_ms: float, budget: int) -> dict[str, Any]:
    """The row of a pair whose event budget was spent: every measure is null."""
    row: dict[str, Any] = dict.fromkeys(OUTCOME_COLUMNS)
    row.update(simulated_ms=float(horizon_ms), kernel_events=budget, failed=1)
    return row


def _latencies(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many batches have a commit latency in a bucket or below it."""
    return np.cumsum(w[w[at.H_HIST] : w[at.H_HIST] + at.HIST_SIZE])


def _percentile_ms(up_to: npt.NDArray[np.int64], share: float, largest_us: int) -> float:
    """Commit latency at rank ceil(share * n), the middle of its bucket; 0 without a batch."""
    total = int(up_to[-1])
    if total == 0:
        return 0.0
    rank = int(np.ceil(share * total - 1e-9))
    bucket = int(np.searchsorted(up_to, max(1, rank)))
    sub = 1 << at.HIST_SUB_BITS
    if bucket < 2 * sub:
        return bucket / 1000
    shift = (bucket >> at.HIST_SUB_BITS) - 1
    low = (sub + (bucket & (sub - 1))) << shift
    middle = low + ((1 << shift) - 1) / 2
    return float(min(middle, largest_us) / 1000)


def outcome_of(world: World) -> dict[str, Any]:
    """The outcome row of a world that has reached its horizon."""
    w = world.w
    span = int(w[at.C_HORIZON] - w[at.C_WARMUP])
    n = len(world.partitions)
    table = rows_of(w, at.H_PART, n, at.P_SIZE)
    partition_time = span * n
    hours = partition_time / US_PER_HOUR

    def share(total: int) -> float:
        return int(total) / partition_time

    def hourly(cell: int) -> float:
        return int(w[cell]) / hours

    offline = int(table[:, at.P_T_OFFLINE].sum())
    unavailable = int(table[:, at.P_T_UNAVAILABLE].sum()) + int(w[at.G_UNAVAILABLE])
    latencies, largest_us = _latencies(w), int(w[at.G_LATENCY_MAX])
    values: dict[str, Any] = {
        "offline_partition_rate": share(offline),
        "any_offline": int(offline > 0),
        "under_min_isr_rate": share(table[:, at.P_T_UNDER_MIN].sum()),
        "under_replicated_rate": share(table[:, at.P_T_UNDER_REPLICATED].sum()),
        "produce_unavailable_rate": share(unavailable),
        "isr_shrinks_per_partition_hour": hourly(at.G_SHRINKS),
        "isr_expands_per_partition_hour": hourly(at.G_EXPANDS),
        "isr_flaps_per_partition_hour": hourly(at.G_FLAPS),
        "spurious_shrinks_per_partition_hour": hourly(at.G_SPURIOUS),
        "missed_lag_ms": int(w[at.G_MISSED_LAG]) / 1000,
        "leader_changes_per_partition_hour": hourly(at.G_LEADER_CHANGES),
        "resignations_per_partition_hour": hourly(at.G_RESIGNATIONS),
        "unclean_elections": int(w[at.G_UNCLEAN]),
        "commit_latency_p50_ms": _percentile_ms(latencies, 0.50, largest_us),
        "commit_latency_p99_ms": _percentile_ms(latencies, 0.99, largest_us),
        "commit_latency_max_ms": largest_us / 1000,
        "batches_uncommitted": int(w[at.G_UNCOMMITTED]),
        "records_acked": int(w[at.G_ACKED]),
        "records_lost": int(w[at.G_LOST]),
        "failed_partitions_max": int(w[at.G_FAILED_MAX]),
        "failed_partition_rate": share(w[at.G_FAILED_TIME]),
        "dead_fetcher_threads": int(w[at.G_DEAD_MAX]),
        "untracked_partition_rate": share(w[at.G_UNTRACKED_TIME]),
        "simulated_ms": int(w[at.C_HORIZON]) / 1000,
        "kernel_events": int(w[at.G_EVENTS]),
        "failed": 0,
    }
    assert list(values) == list(OUTCOME_COLUMNS)
    return values


def _ms(time_us: int) -> float:
    """Microseconds as milliseconds: a whole number where it is one."""
    return time_us // 1000 if time_us % 1000 == 0 else time_us / 1000


def _members(world: Names, partition: int, mask: int) -> list[int]:
    """Ids of the replicas in a set, ascending."""
    replicas = world.partitions[partition].replicas
    return sorted(b for pos, b in enumerate(replicas) if (mask >> pos) & 1)


def events_of(world: World) -> list[dict[str, Any]]:
    """The events in order of time, in the names of the model page."""
    return named_events(world, event_rows(world))


def event_rows(world: World) -> npt.NDArray[np.int64]:
    """The kernel's list of events: a row of V_SIZE cells each, a view of the world."""
    return rows_of(world.w, at.H_EVENTS, int(world.w[at.G_EVENT_COUNT]), at.V_SIZE)


def named_events(names: Names, rows: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Events as mappings, in the names of the model page."""
    return [_event(names, row) for row in rows.tolist()]


def _event(world: Names, row: list[int]) -> dict[str, Any]:
    """One row of the kernel's list as a mapping."""
    kind = at.EVENT_NAMES[row[at.V_KIND]]
    partition = row[at.V_PART]
    event: dict[str, Any] = {"t_ms": _ms(row[at.V_TIME]), "kind": kind}
    event["topic"] = world.partitions[partition].topic if partition >= 0 else None
    event["partition"] = world.partitions[partition].number if partition >= 0 else None
    event["broker"] = world.brokers[row[at.V_BROKER]] if row[at.V_BROKER] >= 0 else None
    if partition < 0:
        event.update(leader=None, leader_epoch=None, isr=None, cause=None)
        return event
    leader = row[at.V_LEADER]
    event["leader"] = world.partitions[partition].replicas[leader] if leader >= 0 else -1
    event["leader_epoch"] = row[at.V_LEPOCH]
    event["isr"] = _members(world, partition, row[at.V_ISR])
    event["cause"] = _cause(world, kind, partition, row, event)
    if kind in ("isr_shrink", "isr_expand", "leader_resigned"):
        event["decided_ms"] = _ms(row[at.V_DECIDED])
    return event


def _cause(
    world: Names, kind: str, partition: int, row: list[int], event: dict[str, Any]
) -> str | None:
    """Why: a JSON object, or None."""
    if kind in ("isr_shrink", "isr_expand"):
        replicas = world.partitions[partition].replicas
        changed = {}
        for pos, broker in enumerate(replicas):
            if (row[at.V_MASK] >> pos) & 1:
                at_us = row[at.V_CAUSE0 + pos] if pos < at.V_SIZE - at.V_CAUSE0 else at.NEVER
                known = at_us > at.NEVER // 2
                changed[str(broker)] = {"lastCaughtUpTimeMs": _ms(at_us) if known else None}
        return json.dumps({"replicas": changed})
    if kind == "controller_isr_remove":
        return json.dumps({"removed": _members(world, partition, row[at.V_MASK])})
    if kind == "records_lost":
        return json.dumps({"records": row[at.V_MASK]})
    if kind == "leader_resigned":
        order, replicas = row[at.V_CAUSE0], world.partitions[partition].replicas
        positions = [(order >> (4 * k)) & 15 for k in range(len(replicas))]
        members = set(event["isr"])
        event["isr"] = [replicas[pos] for pos in positions if replicas[pos] in members]
        return json.dumps({"isr_order": event["isr"]})
    return None


def _samples_of(world: World) -> Samples:
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
