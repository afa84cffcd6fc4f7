"""What of a question would do the same as today, or as something else in it, is left out.

A night would pay for both and learn nothing. Who asked is told of each: an upgrade that changes no
simulated rule is an answer too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.configurations import RELEASE, Effects, effects_of, resolved_params
from isr_pipeline.scenarios.model import TOPICS, Scenario, apply, check
from isr_pipeline.scenarios.rule_set_files import release_named

TODAY = "today"


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
        left_out: what is dropped of the question, and why: one line each. What only repeats that
            a value changes nothing has none.
        advice_left_out: the same of the advice.
    """

    asked: list[Asked]
    advised: list[Asked]
    left_out: tuple[str, ...]
    advice_left_out: tuple[str, ...]


def distinct(asked: Sequence[Asked], advised: Sequence[Asked], today: Scenario) -> Distinct:
    """Leave out what the cluster cannot have, or what does the same as something before it."""
    first: dict[Effects, str] = {effects_of(today): TODAY}
    clashes = {_point(one.overrides): (one, why) for one in asked if (why := clash(one, today))}
    possible = [one for one in asked if _point(one.overrides) not in clashes]
    kept, same = _split(possible, first, today)
    kept_advised, same_advised = _split(advised, first, today)
    told = _told(kept, same, today)
    return Distinct(
        asked=kept,
        advised=kept_advised,
        left_out=(
            *(
                f"{settings_of(one.overrides)}: {why}"
                for point, (one, why) in clashes.items()
                if not any(other < point for other in clashes)
            ),
            *(f"{settings_of(one.overrides)}: {_why(one, name, today)}" for one, name in told),
        ),
        advice_left_out=tuple(f"{one.name}: does the same as {name}" for one, name in same_advised),
    )


def _told(
    kept: list[Asked], same: list[tuple[Asked, str]], today: Scenario
) -> list[tuple[Asked, str]]:
    """Of what does the same as something else, what does not follow from today's values.

    Args:
        kept: configurations that stay.
        same: the others, with the name of what each does the same as.
        today: the cluster as it stands.
    """
    names = {_point({}): TODAY}
    names |= {_point(one.overrides): one.name for one in kept}
    names |= {_point(one.overrides): name for one, name in same}
    todays_own = [_point(one.overrides) for one, name in same if _is_todays(one, name, today)]
    return [
        (one, name)
        for one, name in same
        if not any(
            own < (point := _point(one.overrides)) and names.get(point - own) == name
            for own in todays_own
        )
    ]


def _point(overrides: Mapping[str, Any]) -> frozenset[tuple[str, Any]]:
    """A combination, told by its values; what topics are given follows from them."""
    return frozenset(item for item in overrides.items() if not item[0].startswith(f"{TOPICS}."))


def clash(one: Asked, today: Scenario) -> str:
    """Which value, of the configuration or of the cluster, the rest does not go with, if any."""
    try:
        check(laid_over(today, one), one.name)
    except InputError as error:
        return f"does not go with {error.field}={error.given}"
    return ""


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
    if not _is_todays(one, same, today):
        return f"does the same as {same}"
    asked = _keys(one)
    values = "today's value" if len(asked) == 1 else "today's values"
    if RELEASE not in one.overrides:
        return f"{'is' if len(asked) == 1 else 'are'} {values}"
    rules = f"the same rules as today's {todays([RELEASE], today)[RELEASE]}"
    return f"{rules}, and {values}" if asked else rules


def _is_todays(one: Asked, same: str, today: Scenario) -> bool:
    """Whether what does the same as today has today's very values."""
    now = todays(_keys(one), today)
    return same == TODAY and all(one.overrides[key] == now[key] for key in now)


def _keys(one: Asked) -> list[str]:
    """What of the cluster a configuration sets, the release aside."""
    return [key for key in one.overrides if key != RELEASE and not key.startswith(f"{TOPICS}.")]


def _as_typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
