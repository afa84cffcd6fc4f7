"""What is asked of a cluster: every combination of some values with those that it has today.

So the effect of one key alone can be read, and the values that are asked need no today's among
them. A combination leaves a key out where the cluster's own value stays.

What would do the same as today, or as another combination, is left out: a night would pay for both
and learn nothing. Who asked is told of each: an upgrade that changes no simulated rule is an answer
too.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import parse_value
from isr_pipeline.base.files.words import shown
from isr_pipeline.experiment.configurations import (
    MIN_ISR,
    RELEASE,
    REPLICATION_LISTENER,
    SWITCHED_BY,
    Effects,
    effects_of,
    resolved_params,
)
from isr_pipeline.experiment.file import Candidate
from isr_pipeline.experiment.keys import (
    PROPOSALS,
    all_have_own,
    check_replicas,
    switched_off,
    why_not,
)
from isr_pipeline.experiment.mistakes import check_laid_over
from isr_pipeline.experiment.upgrades import is_upgrade, steps, todays_level
from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.kafka.known_keys import unknown
from isr_pipeline.scenarios.cluster_file import ELR
from isr_pipeline.scenarios.model import (
    KEYS_COMMAND,
    TOPIC_KEYS,
    TOPICS,
    Scenario,
    apply,
    check,
    check_overrides,
)
from isr_pipeline.scenarios.rule_set_files import release_named, release_names

TODAY = "today"
ASKED_RELEASE = "release"
COMBINATIONS_MAX = 200


def combined(asks: Sequence[str], today: Scenario, *, override_topics: bool) -> list[Candidate]:
    """Every combination of the asked values and of today's, but for today's alone.

    A release whose upgrade finalises a feature is two configurations: before and after that.

    Args:
        asks: ``KEY=V1,V2`` each; ``release=3.9,4.1`` asks for releases.
        today: the cluster as it stands.
        override_topics: ask a key also of topics that set it for themselves.

    Raises:
        InputError: a key that is none, twice or decides nothing here, a value that it cannot have
            or that no partition has replicas for, or too many combinations.
    """
    read_by = [today, *_under_what_is_asked(asks, today)]
    axes = [_axis(one, read_by, override_topics=override_topics) for one in asks]
    keys = [key for key, _ in axes]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError("--ask", key, "asked twice", "each key once, with all its values")
    every = [
        [part for one in values for part in _parts(key, one, keys, today, override_topics)]
        for key, values in axes
    ]
    now = todays(keys, today)
    total = prod(
        1 + sum(key not in now or part.set[key] != now[key] for part in parts)
        for key, parts in zip(keys, every, strict=True)
    )
    if total > COMBINATIONS_MAX:
        given = f"{total} combinations, those with today's values included"
        raise InputError("--ask", "", given, f"at most {COMBINATIONS_MAX}")
    found: list[Candidate] = []
    for point in itertools.product(*([None, *parts] for parts in every)):
        parts = [one for one in point if one is not None]
        if ELR in keys:
            parts += _todays_feature(parts, today)
        overrides = {key: value for part in parts for key, value in part.set.items()}
        is_asked_too = ELR in keys and overrides in [one.set for one in found]
        if overrides and not is_asked_too:
            why = " ".join(part.why for part in parts if part.why)
            found.append(Candidate(name=_named(parts), why=why, set=overrides))
    return found


@dataclass(frozen=True, slots=True)
class _Part:
    """One key at one value.

    Attributes:
        name: in a configuration's: ``lag.time.max.ms-5000``.
        set: as in an experiment file.
        why: what was done, where that is not plain from the value.
    """

    name: str
    set: Mapping[str, Any]
    why: str = ""


def _parts(
    key: str, value: Any, keys: Sequence[str], today: Scenario, override_topics: bool
) -> list[_Part]:
    """One key at one value; a release once for each step of the upgrade.

    Args:
        key: of the question.
        value: that is asked of it.
        keys: all that are asked: who asks the feature too says himself what is finalised.
        today: the cluster as it stands.
        override_topics: ask a key also of topics that set it for themselves.
    """
    name = _part_name(key, value)
    if key == ASKED_RELEASE:
        done = steps(value, today) if ELR not in keys else ()
        return [
            _Part(f"{name}-{one.name}", {RELEASE: value, ELR: one.level}, one.why) for one in done
        ] or [_Part(name, {RELEASE: value})]
    of_topics = override_topics and key in TOPIC_KEYS
    return [_Part(name, {key: value, **({f"{TOPICS}.{key}": value} if of_topics else {})})]


def _todays_feature(parts: Sequence[_Part], today: Scenario) -> list[_Part]:
    """What an upgrade leaves as the cluster has it, where the question asks other levels too."""
    chosen = {key: value for part in parts for key, value in part.set.items()}
    if RELEASE not in chosen or ELR in chosen or not is_upgrade(chosen[RELEASE], today):
        return []
    level = todays_level(today)
    return [_Part(_part_name(ELR, level), {ELR: level})]


def _under_what_is_asked(asks: Sequence[str], today: Scenario) -> Iterator[Scenario]:
    """The cluster under each asked release and switch: a key may decide something only there.

    A release that this cluster cannot have is left out here; its combinations say why.
    """
    axes = [_deciding(ask) for ask in asks]
    for point in itertools.product(*(axis for axis in axes if axis)):
        under = _laid_over(today, dict(point))
        try:
            check(under, "--ask")
        except InputError:
            continue
        yield under


def _deciding(ask: str) -> list[tuple[str, Any]]:
    """What of a question decides whether other keys are read: releases, or a switch that is on."""
    key, _, values = ask.partition("=")
    parts = [part.strip() for part in values.split(",")]
    if key == ASKED_RELEASE:
        return [(RELEASE, _asked_release(part)) for part in parts]
    return [(key, True)] if key in SWITCHED_BY.values() and "true" in parts else []


def _axis(ask: str, read_by: Sequence[Scenario], *, override_topics: bool) -> tuple[str, list[Any]]:
    """One question's key, and its values, read and checked.

    Args:
        ask: ``KEY=V1,V2``.
        read_by: the cluster today, then under each asked release and switch.
        override_topics: whether topics that set the key take the values too.
    """
    key, equals, values = ask.partition("=")
    if not equals or not values:
        raise InputError("--ask", "", shown(ask), "KEY=V1,V2")
    parts = [part.strip() for part in values.split(",")]
    if len(set(parts)) < len(parts):
        raise InputError("--ask", key, values, "each value once")
    if key == ASKED_RELEASE:
        return key, [_asked_release(part) for part in parts]
    _check_key(key, read_by)
    _check_takers(key, read_by[0], override_topics=override_topics)
    read = [parse_value(part, f"--ask {key}") for part in parts]
    checked = [check_overrides({key: one}, "--ask", "")[key] for one in read]
    if key == MIN_ISR:
        check_replicas(checked, read_by[0], override_topics=override_topics)
    return key, checked


def read_release(text: str, where: str, field: str) -> str:
    """Read a release or a rule set that a command line names.

    Args:
        text: its number or name.
        where: who names it, for the error line.
        field: likewise.

    Returns:
        What ``cluster.release`` has after files were read.

    Raises:
        InputError: there is none of this name, or its file cannot be used.
    """
    named = release_named(text, Path())
    try:
        return str(check_overrides({RELEASE: named}, where, "")[RELEASE])
    except InputError:
        allowed = f"a release of Kafka, such as 3.9.1, or {', '.join(release_names())}"
        raise InputError(where, field, shown(text), allowed) from None


def _asked_release(text: str) -> str:
    """A release as it was asked for, which its configuration is named by."""
    read_release(text, "--ask", ASKED_RELEASE)
    return text


def _check_key(key: str, read_by: Sequence[Scenario]) -> None:
    """Refuse a key that no broker can be given, or that nothing of `read_by` reads."""
    if key == REPLICATION_LISTENER:
        return
    readable = [one for one in KEYS if one not in UNREAD and one not in PROPOSALS]
    if key not in KEYS:
        askable = [ASKED_RELEASE, REPLICATION_LISTENER, *readable]
        given, allowed = unknown(key, askable, KEYS_COMMAND)
        raise InputError("--ask", key, given, allowed)
    reasons = [why_not(key, one) for one in read_by]
    if all(reasons):
        switch = switched_off(key, read_by[0])
        also = f", or --ask {switch}=true as well" if switch else ""
        allowed = f"a key that decides something in this cluster{also}"
        raise InputError("--ask", key, reasons[0], allowed)


def _check_takers(key: str, today: Scenario, *, override_topics: bool) -> None:
    """Refuse a key that nobody takes from the cluster: no value of the cluster changes anything."""
    who = all_have_own(key, today)
    if who == "topic" and override_topics:
        return
    instead = {
        "topic": "--override-topics, which asks it of the topics too",
        "broker": "a key that some broker takes from the cluster's settings",
    }
    if who:
        given = f"every {who} has its own value, and keeps it"
        raise InputError("--ask", key, given, instead[who])


def _part_name(key: str, value: Any) -> str:
    short = re.sub(r"^(replica|broker|leader|cluster|zookeeper)\.", "", key)
    return f"{short}-{str(value).lower()}"


def _named(parts: Sequence[_Part]) -> str:
    """Name a configuration by its values: ``lag.time.max.ms-5000``."""
    name = re.sub(r"[^a-z0-9._+-]", "-", "_".join(part.name for part in parts))
    return name if len(name) <= 60 else f"{name[:51]}-{_hash(name):08x}"


def _hash(text: str) -> int:
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value


# ------------------------------------------------------------------------- what changes something


@dataclass(frozen=True, slots=True)
class Distinct:
    """What of a question is worth comparing.

    Attributes:
        asked: no two of them do the same, and none the same as today.
        left_out: what is dropped, and why: one line each. What only repeats that a value changes
            nothing has none.
        effects: of today and of each that stays -> its name.
    """

    asked: list[Candidate]
    left_out: tuple[str, ...]
    effects: dict[Effects, str]


def distinct(asked: Sequence[Candidate], today: Scenario) -> Distinct:
    """Leave out what the cluster cannot have, or what does the same as something before it."""
    effects = {effects_of(today): TODAY}
    clashes = {_values(one): (one, why) for one in asked if (why := _clash(one, today))}
    possible = [one for one in asked if _values(one) not in clashes]
    kept, same = split(possible, effects, today)
    alone = (
        told for values, told in clashes.items() if not any(other < values for other in clashes)
    )
    told = [
        *alone,
        *((one, _why(one, name, today)) for one, name in _told(kept, same, today)),
    ]
    return Distinct(kept, tuple(f"{settings_of(one.set)}: {why}" for one, why in told), effects)


def split(
    those: Sequence[Candidate], effects: dict[Effects, str], today: Scenario
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    """Tell what is new from what was there before, the latter with the name of the first such.

    Args:
        those: configurations.
        effects: what was there before -> its name; new ones are added.
        today: the cluster as it stands.
    """
    new, same = [], []
    for one in those:
        mine = effects_of(_laid_over(today, one.set))
        if mine in effects:
            same.append((one, effects[mine]))
        else:
            effects[mine] = one.name
            new.append(one)
    return new, same


def _told(
    kept: list[Candidate], same: list[tuple[Candidate, str]], today: Scenario
) -> Iterator[tuple[Candidate, str]]:
    """Of what does the same as something else, what does not follow from today's values."""
    names = {frozenset[tuple[str, Any]](): TODAY}
    names |= {_values(one): one.name for one in kept}
    names |= {_values(one): name for one, name in same}
    todays_own = [_values(one) for one, name in same if _is_todays(one, name, today)]
    for one, name in same:
        values = _values(one)
        if not any(own < values and names.get(values - own) == name for own in todays_own):
            yield one, name


def _values(one: Candidate) -> frozenset[tuple[str, Any]]:
    return frozenset(_point(one.set))


def _point(overrides: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A combination's own values; what topics are given follows from them."""
    return [(key, value) for key, value in overrides.items() if not key.startswith(f"{TOPICS}.")]


def _clash(one: Candidate, today: Scenario) -> str:
    """Which value, of the configuration or of the cluster, the rest does not go with, if any."""
    try:
        check_laid_over(_laid_over(today, one.set), today, one.set, one.name)
    except InputError as error:
        key = error.field.removeprefix("config.")
        if key in KEYS:
            named = "" if [*one.set] == [key] else f"{key}={error.given} "
            return f"{named}has to be {error.allowed}"
        return f"does not go with {key}={error.given}"
    return ""


def _laid_over(today: Scenario, overrides: Mapping[str, Any]) -> Scenario:
    """The cluster under a configuration; a release's number is read as its rule set."""
    read = dict(overrides)
    if RELEASE in read:
        read[RELEASE] = release_named(read[RELEASE], Path())
    return apply(today, read)


def settings_of(overrides: Mapping[str, Any]) -> str:
    """A configuration as it was asked: ``release 4.0, replica.lag.time.max.ms=5000``."""
    return ", ".join(
        f"release {value}" if key == RELEASE else f"{key}={_as_typed(value)}"
        for key, value in _point(overrides)
    )


def _as_typed(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def todays(keys: Sequence[str], today: Scenario) -> dict[str, Any]:
    """Today's values of some keys; the release by its number, where it has one."""
    params = resolved_params(today)
    values: dict[str, Any] = {key: params[key] for key in keys if key in params}
    if RELEASE in values:
        values[RELEASE] = today.cluster.release.partition(" (")[0]
    return values


def _why(one: Candidate, same: str, today: Scenario) -> str:
    """Why a configuration is not worth comparing: it is today's, or does what `same` does."""
    if not _is_todays(one, same, today):
        return f"does the same as {same}"
    asked = _keys(one)
    values = "today's value" if len(asked) == 1 else "today's values"
    if RELEASE not in one.set:
        return f"{'is' if len(asked) == 1 else 'are'} {values}"
    rules = f"the same rules as today's {todays([RELEASE], today)[RELEASE]}"
    return f"{rules}, and {values}" if asked else rules


def _is_todays(one: Candidate, same: str, today: Scenario) -> bool:
    """Whether what does the same as today has today's very values."""
    now = todays(_keys(one), today)
    return same == TODAY and all(one.set[key] == now[key] for key in now)


def _keys(one: Candidate) -> list[str]:
    """What of the cluster a configuration sets, the release aside."""
    return [key for key, _ in _point(one.set) if key != RELEASE]
