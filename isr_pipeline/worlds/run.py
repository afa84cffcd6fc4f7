"""One scenario through the kernel: laid out, run to its horizon, read back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isr_pipeline.base.errors import BudgetSpent
from isr_pipeline.simulation.kernel import run_world
from isr_pipeline.simulation.shortcuts.motions import Z_SIZE, memory_size
from isr_pipeline.worlds.columns import COLUMNS, COUNTED, METRICS, measured_in, values_of
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.events import events_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.model import Scenario


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
    """What one scenario gave: the outcome row and, if asked for, the events and curves.

    Attributes:
        outcome: the row.
        events: the first `encoder.EVENTS_LISTED`.
        unlisted: how many events came after those.
        samples: the curves.
    """

    outcome: dict[str, Any]
    events: list[dict[str, Any]] = field(default_factory=list)
    unlisted: int = 0
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


def run(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int | None = None,
    jumps: bool = True,
) -> Result:
    """Simulate one scenario to its horizon.

    Args:
        scenario: a checked scenario, its configuration laid over it.
        events: list the events as well.
        sample_ms: period of the samples for a trace's curves; 0 for none.
        budget: events after which to give up; `size.event_budget` if not said.
        jumps: jump over stretches that repeat; off to compare, the result is the same.

    Raises:
        BudgetSpent: the scenario needs more events than ``budget``.
    """
    world = encode(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    advance(world)
    return result_of(scenario, world, events=events, samples=bool(sample_ms))


def result_of(scenario: Scenario, world: World, *, events: bool, samples: bool) -> Result:
    """Read the result of a world that ran to its horizon.

    Raises:
        BudgetSpent: it gave up before.
    """
    if world.header.budget_spent:
        raise BudgetSpent(scenario.scenario_id, world.header.event_budget)
    return Result(
        outcome=outcome_of(world),
        events=events_of(world).named() if events else [],
        unlisted=world.header.dropped_events if events else 0,
        samples=samples_of(world) if samples else None,
    )


def advance(world: World) -> None:
    """Let an encoded world run to its horizon."""
    run_world(world.w, world.switches, world.motions, _memory_for(world))


_memory = np.zeros(Z_SIZE, dtype=np.int64)


def _memory_for(world: World) -> npt.NDArray[np.int64]:
    """Memory for the search for cycles, kept from simulation to simulation."""
    global _memory  # noqa: PLW0603 - one buffer a process
    size = memory_size(world.w) if world.header.period_us > 0 else Z_SIZE
    if _memory.size < size:
        _memory = np.zeros(size, dtype=np.int64)
    _memory[:Z_SIZE] = 0
    return _memory
