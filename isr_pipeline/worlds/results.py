"""What a world that has reached its horizon says: the outcome row, and curves for a trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isr_pipeline.worlds.columns import COLUMNS, COUNTED, METRICS, values_of
from isr_pipeline.worlds.measured import measured_in

if TYPE_CHECKING:
    from isr_pipeline.worlds.encoder import World


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
class Result:
    """What one scenario gave: the outcome row and, if asked for, the events and curves."""

    outcome: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    samples: Samples | None = None


def failed_outcome(horizon_ms: float, budget: int) -> dict[str, Any]:
    """The row of a pair whose event budget was spent: every measure is null."""
    measures: dict[str, Any] = dict.fromkeys((*COUNTED, *METRICS))
    return measures | {"simulated_ms": float(horizon_ms), "kernel_events": budget, "failed": 1}


def outcome_of(world: World) -> dict[str, Any]:
    """What a world that has reached its horizon counted, and the metrics of it."""
    measured = measured_in(world.w)
    counted = {column.name: column.of(measured) for column in COLUMNS}
    return counted | values_of(counted)


def samples_of(world: World) -> Samples:
    """The curves that were sampled."""
    n, nb = len(world.partitions), len(world.brokers)
    count, width, first = world.header.sample_count, 1 + 2 * n + nb, world.header.samples.first
    rows = world.w[first : first + count * width].reshape(count, width)
    names = [(p.topic, p.number) for p in world.partitions]
    return Samples(
        t_ms=[t / 1000 for t in rows[:, 0].tolist()],
        leo={name: rows[:, 1 + 2 * i].tolist() for i, name in enumerate(names)},
        hw={name: rows[:, 2 + 2 * i].tolist() for i, name in enumerate(names)},
        queue={b: rows[:, 1 + 2 * n + k].tolist() for k, b in enumerate(world.brokers)},
    )
