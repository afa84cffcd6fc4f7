"""Of several changes, those that make a difference: each was tried alone, and all but it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HALF = 0.5
"""Share of the difference from which on a trial is as tonight, not as the baseline."""

Changed = TypeVar("Changed")


def named(alone: Mapping[Changed, float], rest: Mapping[Changed, float | None]) -> list[Changed]:
    """The change that makes half alone; else all without which half is gone; else none.

    Args:
        alone: change -> share of the difference with it and no other; 0 if that cannot be run.
        rest: change -> share with all others; None if that was not tried, or cannot be run.
    """
    lost = {one: 0.0 if share is None else 1.0 - share for one, share in rest.items()}
    best = max(alone, key=lambda one: alone[one] + lost.get(one, 0.0), default=None)
    if best is not None and alone[best] >= HALF:
        return [best]
    return [one for one in alone if lost.get(one, 0.0) >= HALF]


def not_alone(causes: Sequence[object]) -> str:
    """How causes make a difference that none of them makes alone."""
    return "together, none alone" if len(causes) > 1 else "not alone, but half is gone without it"
