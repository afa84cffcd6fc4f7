"""What of a question would do the same as today, or as something else in it, is left out.

A night would pay for both and learn nothing. Who asked is told of each: an upgrade that changes no
simulated rule is an answer too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.experiment.effects import Effects, effects_of
from isr_pipeline.experiment.grid import resolved_params
from isr_pipeline.scenarios.model import TOPICS, Scenario, apply
from isr_pipeline.scenarios.rule_set_files import release_named

TODAY = "today"
RELEASE = "cluster.release"


@dataclass(frozen=True, slots=True)
class Asked:
    """A configuration that is asked about.

    Attributes:
        overrides: as in an experiment file; empty for today.
    """

    name: str
    overrides: dict[str, Any]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Distinct:
    """What is worth comparing.

    Attributes:
        asked, advised: no two of them do the same, and none the same as today.
        left_out: what is dropped of the question and of the advice, and why: one line each.
    """

    asked: list[Asked]
    advised: list[Asked]
    left_out: tuple[str, ...]


def distinct(asked: Sequence[Asked], advised: Sequence[Asked], today: Scenario) -> Distinct:
    """Leave out what does the same as today or as a configuration before it, and say so."""
    first: dict[Effects, str] = {effects_of(today): TODAY}
    kept, same = _split(asked, first, today)
    kept_advised, same_advised = _split(advised, first, today)
    left_out = (
        *(f"{settings_of(one.overrides)}: {_why(one, name, today)}" for one, name in same),
        *(f"{one.name}: does the same as {name}" for one, name in same_advised),
    )
    return Distinct(kept, kept_advised, left_out)


def _split(
    those: Sequence[Asked], first: dict[Effects, str], today: Scenario
) -> tuple[list[Asked], list[tuple[Asked, str]]]:
    """Tell what is new from what was there before, the latter with the name of the first such.

    Args:
        those: configurations.
        first: effects -> name of the first that has them; new ones are added.
        today: the cluster as it stands.
    """
    new, same = [], []
    for one in those:
        effects = effects_of(laid_over(today, one))
        if effects in first:
            same.append((one, first[effects]))
        else:
            first[effects] = one.name
            new.append(one)
    return new, same


def laid_over(today: Scenario, one: Asked) -> Scenario:
    """The cluster under a configuration; a release's number is read as its rule set."""
    read = dict(one.overrides)
    if RELEASE in read:
        read[RELEASE] = release_named(read[RELEASE], Path())
    return apply(today, read)


def settings_of(overrides: Mapping[str, Any]) -> str:
    """A configuration as it was asked: ``release 4.0, replica.lag.time.max.ms=5000``."""
    return ", ".join(
        f"release {value}" if key == RELEASE else f"{key}={_as_typed(value)}"
        for key, value in overrides.items()
        if not key.startswith(f"{TOPICS}.")
    )


def todays(keys: Sequence[str], today: Scenario) -> dict[str, Any]:
    """Today's values of some keys; the release by its number, where it has one."""
    params = resolved_params(today)
    values: dict[str, Any] = {key: params[key] for key in keys if key in params}
    if RELEASE in values:
        values[RELEASE] = today.cluster.release.partition(" (")[0]
    return values


def _why(one: Asked, same: str, today: Scenario) -> str:
    """Why what was asked is not worth comparing: it is today's, or does what another does.

    Args:
        one: what was asked.
        same: name of what does the same.
        today: the cluster as it stands.
    """
    asked = [key for key in one.overrides if key != RELEASE and not key.startswith(f"{TOPICS}.")]
    now = todays([RELEASE, *asked], today)
    if same != TODAY or any(one.overrides[key] != now[key] for key in asked):
        return f"does the same as {same}"
    values = "today's value" if len(asked) == 1 else "today's values"
    if RELEASE not in one.overrides:
        return f"{'is' if len(asked) == 1 else 'are'} {values}"
    rules = f"the same rules as today's {now[RELEASE]}"
    return f"{rules}, and {values}" if asked else rules


def _as_typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
