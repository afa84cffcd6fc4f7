"""Published advice as a cluster can follow it: what of it does nothing there is left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.advice import Advice
from isr_pipeline.experiment.distinct import Asked, laid_over
from isr_pipeline.experiment.own_values import everyone
from isr_pipeline.experiment.reads import why_not
from isr_pipeline.scenarios.model import TOPICS, Scenario, check


@dataclass(frozen=True, slots=True)
class Rivals:
    """Advice beside which a question is measured.

    Attributes:
        followed: configurations of what this cluster can follow.
        in_part: which keys of them do nothing here and are left out, one line each.
        left_out: advice that it cannot follow at all, and why, one line each.
    """

    followed: tuple[Asked, ...]
    in_part: tuple[str, ...]
    left_out: tuple[str, ...]


def rivals_of(published: Sequence[Advice], today: Scenario, overridden: Collection[str]) -> Rivals:
    """Tell which advice a cluster can follow.

    Args:
        published: all of it.
        today: the cluster as it stands.
        overridden: keys that the question also asks of topics that set them; so does the advice.
    """
    followed, in_part, left_out = [], [], []
    for advice in published:
        one = Asked(advice.name, dict(advice.settings), advice.why)
        idle = {key: why for key in one.overrides if (why := _idle(key, today, overridden))}
        kept = {key: value for key, value in one.overrides.items() if key not in idle}
        if not kept:
            key, why = next(iter(idle.items()))
            left_out.append(f"{one.name}: {key} is {why}")
            continue
        both = {f"{TOPICS}.{key}": value for key, value in kept.items() if key in overridden}
        one = replace(one, overrides=kept | both)
        clash = _clash(one, today)
        if clash:
            left_out.append(f"{one.name}: {clash}")
            continue
        followed.append(one)
        in_part += [f"{one.name}: without {key}, {why}" for key, why in idle.items()]
    return Rivals(tuple(followed), tuple(in_part), tuple(left_out))


def _idle(key: str, today: Scenario, overridden: Collection[str]) -> str:
    """Why a key of the advice does nothing in this cluster, if so."""
    reason = why_not(key, today)
    who = "" if reason or key in overridden else everyone(today, key)
    return f"a key of which every {who} has its own value" if who else reason


def _clash(one: Asked, today: Scenario) -> str:
    """Which value of the cluster the advice does not go with, if any."""
    try:
        check(laid_over(today, one), one.name)
    except InputError as error:
        return f"does not go with {error.field}={error.given} of this cluster"
    return ""
