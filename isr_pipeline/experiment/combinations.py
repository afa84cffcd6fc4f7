"""What is asked of a cluster: every combination of some values with those that it has today.

So the effect of one key alone can be read, and the values that are asked need no today's among
them. A combination leaves a key out where the cluster's own value stays.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.configurations import MIN_ISR, RELEASE, SWITCHED_BY
from isr_pipeline.experiment.distinct import Asked, laid_over, todays
from isr_pipeline.experiment.keys import PROPOSALS
from isr_pipeline.experiment.own_values import everyone
from isr_pipeline.experiment.reads import switched_off, why_not
from isr_pipeline.experiment.replicas import check_replicas
from isr_pipeline.files.reading import parse_value
from isr_pipeline.files.words import close_or_all, shown, with_list
from isr_pipeline.kafka.broker_config import KEYS, UNREAD
from isr_pipeline.scenarios.model import (
    KEYS_COMMAND,
    TOPIC_KEYS,
    TOPICS,
    Scenario,
    check,
    check_overrides,
)
from isr_pipeline.scenarios.rule_set_files import release_named, release_names

ASKED_RELEASE = "release"
CONFIGURATIONS_MAX = 200


def combined(asks: Sequence[str], today: Scenario, *, override_topics: bool) -> list[Asked]:
    """Every combination of the asked values and of today's, but for today's alone.

    Args:
        asks: ``KEY=V1,V2`` each; ``release=3.7+,4.1`` asks for releases.
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
    now = todays(keys, today)
    total = prod(1 + sum(one != now.get(key) for one in values) for key, values in axes)
    if total > CONFIGURATIONS_MAX:
        given = f"{total} combinations, those with today's values included"
        raise InputError("--ask", "", given, f"at most {CONFIGURATIONS_MAX}")
    choices = [[{}, *(_set(key, one, override_topics) for one in values)] for key, values in axes]
    found = []
    for point in itertools.product(*choices):
        overrides = {key: value for part in point for key, value in part.items()}
        if overrides:
            found.append(Asked(_named(overrides), overrides))
    return found


def _set(key: str, value: Any, override_topics: bool) -> dict[str, Any]:
    """One key at one value, as in an experiment file."""
    if key == ASKED_RELEASE:
        return {RELEASE: value}
    of_topics = override_topics and key in TOPIC_KEYS
    return {key: value, **({f"{TOPICS}.{key}": value} if of_topics else {})}


def _under_what_is_asked(asks: Sequence[str], today: Scenario) -> Iterator[Scenario]:
    """The cluster under each asked release and switch: a key may decide something only there.

    A release that this cluster cannot have is left out here; its combinations say why.
    """
    axes = [_deciding(ask) for ask in asks]
    for point in itertools.product(*(axis for axis in axes if axis)):
        under = laid_over(today, Asked("asked", dict(point)))
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
        InputError: there is none of this name.
    """
    try:
        return str(check_overrides({RELEASE: release_named(text, Path())}, where, "")[RELEASE])
    except InputError:
        allowed = f"a release of Kafka, such as 3.9.1, or {', '.join(release_names())}"
        raise InputError(where, field, shown(text), allowed) from None


def _asked_release(text: str) -> str:
    """A release as it was asked for, which its configuration is named by."""
    read_release(text, "--ask", ASKED_RELEASE)
    return text


def _check_key(key: str, read_by: Sequence[Scenario]) -> None:
    """Refuse a key that no broker can be given, or that decides nothing.

    Args:
        key: of Kafka.
        read_by: the cluster today, then under each asked release and switch: one that reads it
            suffices.
    """
    readable = [one for one in KEYS if one not in UNREAD and one not in PROPOSALS]
    if key not in KEYS:
        allowed = with_list(close_or_all(key, [ASKED_RELEASE, *readable]), KEYS_COMMAND)
        raise InputError("--ask", key, "unknown key", allowed)
    reasons = [why_not(key, one) for one in read_by]
    if all(reasons):
        switch = switched_off(key, read_by[0])
        also = f", or --ask {switch}=true as well" if switch else ""
        allowed = f"a key that decides something in this cluster{also}"
        raise InputError("--ask", key, reasons[0], allowed)


def _check_takers(key: str, today: Scenario, *, override_topics: bool) -> None:
    """Refuse a key that nobody takes from the cluster: no value of the cluster changes anything."""
    who = everyone(today, key)
    if who == "topic" and override_topics:
        return
    instead = {
        "topic": "--override-topics, which asks it of the topics too",
        "broker": "a key that some broker takes from the cluster's settings",
    }
    if who:
        given = f"every {who} has its own value, and keeps it"
        raise InputError("--ask", key, given, instead[who])


def _named(overrides: Mapping[str, Any]) -> str:
    """Name a configuration by its values: ``lag.time.max.ms-5000``."""
    parts = []
    for key, value in overrides.items():
        if key.startswith(f"{TOPICS}."):
            continue
        short = re.sub(r"^(replica|broker|leader|cluster|zookeeper)\.", "", key)
        parts.append(f"{short}-{str(value).lower()}")
    name = re.sub(r"[^a-z0-9._+-]", "-", "_".join(parts))
    return name if len(name) <= 60 else f"{name[:51]}-{abs(hash_of(name)):08x}"


def hash_of(text: str) -> int:
    """A number of eight hexadecimal digits that stands for a text."""
    value = 0
    for letter in text:
        value = (31 * value + ord(letter)) & 0xFFFFFFFF
    return value
