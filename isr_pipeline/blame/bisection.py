"""Bisection: of many commits one after the other, the one that makes most of a change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.kernels.commits import Commit
    from isr_pipeline.kernels.source import Source


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps of the code, and how much of the change is there before and after them.

    Attributes:
        steps: commits, the oldest first; None is what was never committed, and the last.
        before: sources before the first step.
        low: share of the change before the first step; ``high``: after the last.
    """

    steps: tuple[Commit | None, ...]
    before: Source
    low: float
    high: float

    @property
    def share(self) -> float:
        """How much of the change its steps make."""
        return self.high - self.low


def halved(
    stretch: Stretch, trial: Callable[[Commit], tuple[Source, float] | None]
) -> tuple[Stretch, list[Stretch]]:
    """Halve a stretch until the step is left with which half of its share is there.

    Args:
        stretch: one step or more.
        trial: sources of a commit and the share of the change with it; None if it cannot be run.

    Returns:
        the step, as a stretch of its own; and the other stretches, each with what it makes.
    """
    goal = (stretch.low + stretch.high) / 2
    rest: list[Stretch] = []
    while len(stretch.steps) > 1:
        at = (len(stretch.steps) - 1) // 2
        commit = stretch.steps[at]
        assert commit is not None, "only the last step is no commit"
        made = trial(commit)
        if made is None:
            steps = (*stretch.steps[:at], *stretch.steps[at + 1 :])
            stretch = replace(stretch, steps=steps)
            continue
        source, share = made
        first = replace(stretch, steps=stretch.steps[: at + 1], high=share)
        second = Stretch(stretch.steps[at + 1 :], source, share, stretch.high)
        stretch, other = (first, second) if share >= goal else (second, first)
        rest.append(other)
    return stretch, rest
