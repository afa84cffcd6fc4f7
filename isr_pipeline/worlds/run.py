"""One scenario through the kernel: laid out, run to its horizon, read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.simulation.kernel import run_world
from isr_pipeline.simulation.shortcuts.motions import Z_SIZE, memory_size
from isr_pipeline.worlds.encoder import World, encode
from isr_pipeline.worlds.events import events_of
from isr_pipeline.worlds.results import Result, outcome_of, samples_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.model import Scenario


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
