"""What is wrong with the configurations of an experiment file, whatever else is wrong in it.

A person who corrects a file wants every mistake at once. So the file is looked through as it was
read, before it is known to have the form of an experiment: what has not is left out here, and is
told by its form.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.broker_config import SESSION_BOUND, out_of_bounds
from isr_pipeline.kafka.known_keys import NOT_READ, UNKNOWN
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.scenarios.model import Scenario, apply, check, check_overrides


@contextlib.contextmanager
def noted(found: list[InputError]) -> Iterator[None]:
    """Add to a list what is refused inside, and go on after it."""
    try:
        yield
    except InputError as error:
        found.extend(error.each)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A configuration as it was read; ``at``: where in the file."""

    at: str
    name: str
    set: Mapping[str, Any]


def override_mistakes(raw: Mapping[str, Any], where: str) -> list[InputError]:
    """Keys that are none and values that they cannot have, in all configurations."""
    found: list[InputError] = []
    for at, overrides in _overrides(raw):
        for key, value in overrides.items():
            with noted(found):
                check_overrides({key: value}, where, at)
    for at, grid in _each(raw, "grids"):
        for key, axis in _mapping(grid.get("axes")).items():
            for v, value in enumerate(_list(_mapping(axis).get("values"))):
                with noted(found):
                    checked_point(key, value, where, f"{at}.axes.{key}", v)
    return found


def _overrides(raw: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "base", _mapping(raw.get("base"))
    for kind in ("candidates", "grids"):
        for at, one in _each(raw, kind):
            yield f"{at}.set", _mapping(one.get("set"))


def further_mistakes(
    raw: Mapping[str, Any], where: str, standing: Scenario | None
) -> list[InputError]:
    """What would be refused of the configurations next, once everything else is right.

    Args:
        raw: the file as it was read.
        where: the file.
        standing: the cluster as it stands; None if it could not be read.
    """
    base = _mapping(raw.get("base"))
    candidates = [
        _Candidate(at, one["name"], _mapping(one.get("set")))
        for at, one in _each(raw, "candidates")
        if isinstance(one.get("name"), str)
    ]
    found = name_mistakes([(one.at, one.name) for one in candidates], where)
    names = [one.name for one in candidates]
    reference = raw.get("reference")
    if isinstance(reference, str) and names and not list(_each(raw, "grids")):
        with noted(found):
            check_reference(reference, names, where)
    if standing is not None:
        for one in candidates:
            overrides, doubtful = _sound({**base, **one.set}, where)
            try:
                laid_over(standing, overrides, base, where, one.at)
            except InputError as error:
                if not any(key in f"{error.field} {error.allowed}" for key in doubtful):
                    found.append(error)
    return found


def _sound(overrides: Mapping[str, Any], where: str) -> tuple[dict[str, Any], set[str]]:
    """Of overrides those that can be, and the keys that may be meant by the others."""
    sound: dict[str, Any] = {}
    doubtful: set[str] = set()
    for key, value in overrides.items():
        try:
            sound |= check_overrides({key: value}, where, "")
        except InputError as error:
            doubtful |= {key, *error.allowed.partition(" (")[0].split(", ")}
    return sound, doubtful


def checked_point(key: str, value: Any, where: str, at: str, v: int) -> dict[str, Any]:
    """Check one value of a grid's axis.

    Args:
        key: of the axis.
        value: that is checked.
        where: the file.
        at: the axis in it.
        v: which of its values it is.

    Raises:
        InputError: an unknown key, or a value that it cannot have.
    """
    try:
        return check_overrides({key: value}, where, "")
    except InputError as error:
        is_key = str(error.given).startswith((UNKNOWN, NOT_READ))
        path = at if is_key else f"{at}.values[{v}]"
        raise InputError(where, path, error.given, error.allowed) from None


def name_mistakes(named: Iterable[tuple[str, str]], where: str) -> list[InputError]:
    """Names that are given twice; each with its place."""
    seen: dict[str, str] = {}
    found = []
    for at, name in named:
        if name in seen:
            allowed = f"a name not yet used (by {seen[name]})"
            found.append(InputError(where, f"{at}.name", name, allowed))
        seen.setdefault(name, at)
    return found


def check_reference(reference: str, names: Sequence[str], where: str) -> None:
    """Refuse a reference that is none of the configurations."""
    if reference not in names:
        raise InputError(where, "reference", reference, ", ".join(dict.fromkeys(names)))


def laid_over(
    healthy: Scenario, overrides: Mapping[str, Any], base: Mapping[str, Any], where: str, at: str
) -> Scenario:
    """Lay checked overrides over the healthy scenario, and check the result as a scenario.

    Args:
        healthy: nothing happens in it.
        overrides: of a configuration, the base's included.
        base: what every configuration has.
        where: the file.
        at: the configuration in it.

    Raises:
        InputError: settings that do not go together.
    """
    applied = apply(healthy, overrides)
    try:
        check_laid_over(applied, healthy, overrides, where)
    except InputError as error:
        key = error.field.removeprefix("config.")
        of_all = key in base and base[key] == overrides[key]
        field = f"base.{key}" if of_all else f"{at}.set.{key}"
        raise InputError(where, field, error.given, error.allowed) from None
    return applied


def check_laid_over(
    applied: Scenario, healthy: Scenario, overrides: Mapping[str, Any], where: str
) -> None:
    """Check a scenario under a configuration, and that its brokers' sessions can last.

    Args:
        applied: the scenario.
        healthy: the one that the configuration was laid over.
        overrides: of the configuration.
        where: named in the error.

    Raises:
        InputError: settings that do not go together.
    """
    check(applied, where)
    if applied.cluster.controller != "kraft":
        return
    rule_set = rule_set_of(applied.cluster.release)
    for one in out_of_bounds(rule_set, healthy.config, overrides, (SESSION_BOUND,)):
        if one.is_own:
            raise InputError(where, one.key, one.value, one.allowed)


def _each(raw: Mapping[str, Any], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Candidates or grids of all groups, with their places."""
    for g, group in enumerate(_list(raw.get("groups"))):
        for i, one in enumerate(_list(_mapping(group).get(kind))):
            yield f"groups[{g}].{kind}[{i}]", _mapping(one)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
