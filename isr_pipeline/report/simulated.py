"""A scenario that is simulated to be told: its run, and the one before a change above it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from isr_pipeline.errors import BudgetSpent, InputError
from isr_pipeline.report.story import Run, Story
from isr_pipeline.report.trace import sample_period_ms
from isr_pipeline.worlds.run import run

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.results import Result


def simulated(
    scenario: Scenario,
    read_before: Callable[[], Scenario | None],
    titles: tuple[str, str],
    *,
    sampled: bool,
    budget: int | None,
) -> tuple[Story, tuple[Result, ...]]:
    """Simulate a scenario, and what it is told beside.

    Args:
        scenario: its configuration laid over it.
        read_before: gives the scenario before the change; None if there is none. What it gives may
            be refused, or take too long: then the run is told alone.
        titles: of the run before and of this one.
        sampled: whether curves are drawn.
        budget: events after which to give up; None: as many as such a scenario needs.

    Returns:
        the runs, the one before first, and what each gave.

    Raises:
        BudgetSpent: the scenario needs more events than ``budget``.
    """
    sample_ms = sample_period_ms(scenario) if sampled else 0.0
    found = [(scenario, run(scenario, events=True, sample_ms=sample_ms, budget=budget))]
    with contextlib.suppress(InputError, BudgetSpent):
        before = read_before()
        if before is not None:
            found.insert(0, (before, run(before, events=True, budget=budget)))
    named = zip(titles[-len(found) :], found, strict=True)
    runs = tuple(Run(title, one, result.events) for title, (one, result) in named)
    return Story(runs), tuple(result for _, result in found)
