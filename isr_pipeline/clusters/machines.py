"""How fast a cluster's machines are: what ``--hardware`` gives, and what sources and files say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.models import validated
from isr_pipeline.base.files.words import shown
from isr_pipeline.clusters.assumptions import HARDWARE
from isr_pipeline.clusters.believed import MACHINE, named
from isr_pipeline.clusters.facts import Facts
from isr_pipeline.scenarios.cluster_file import check_hardware
from isr_pipeline.scenarios.hardware import Hardware

Json = dict[str, Any]
OPTION = "--hardware"
FIELDS = {
    "disk-write": "disk_write_bytes_per_s",
    "disk-read": "disk_read_bytes_per_s",
    "disk-seek": "disk_seek_us",
    "cache": "cache_bytes",
    "dirty": "dirty_bytes",
    "nic": "nic_bytes_per_s",
}
"""A part of ``--hardware`` -> a field of `Hardware`."""

_ASKED = {"disk-write": "125MB", "disk-read": "125MB", "cache": "24GB", "nic": "10Gbit"}
"""What is asked for where nobody says it, each with an example."""
_THE_FILE = "this file, by hand"

_POWERS = ("", "k", "M", "G", "T")
_BYTES = {
    **{f"{prefix}B": 1000**i for i, prefix in enumerate(_POWERS)},
    **{f"{prefix}iB": 1024**i for i, prefix in enumerate(("", "K", "M", "G", "T")) if i},
    **{f"{prefix}bit": 1000**i / 8 for i, prefix in enumerate(_POWERS)},
}
_TIMES = {"us": 1, "ms": 1000}
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([A-Za-z]+)")
_EXAMPLE = "disk-write=125MB,disk-seek=1ms,nic=10Gbit"


def hardware_of(
    given: Sequence[str],
    option: str = OPTION,
    names: Mapping[str, str] = FIELDS,
    example: str = _EXAMPLE,
) -> dict[str, int]:
    """Read ``--hardware disk-write=125MB,cache=24GB``: what every broker's machine has.

    Args:
        given: values of the option.
        option: named in errors.
        names: a part of a value -> a field of `Hardware`.
        example: of a value.

    Raises:
        InputError: another name, a name twice, or a value that is no such amount.
    """
    found: dict[str, int] = {}
    for part in (part.strip() for one in given for part in one.split(",")):
        name, _, value = part.partition("=")
        field = names.get(name)
        units = _TIMES if field == "disk_seek_us" else _BYTES
        amount = _AMOUNT.fullmatch(value.removesuffix("/s"))
        if field is None or amount is None or amount[2] not in units or field in found:
            allowed = f"NAME=VALUE of {', '.join(names)}, such as {example}"
            raise InputError(option, "", f"{shown(part)}{' again' * (field in found)}", allowed)
        found[field] = round(float(amount[1]) * units[amount[2]])
    return validated(Hardware, found, option).known


def with_hardware(
    merged: Mapping[str, Any],
    sources: Iterable[Facts],
    former: Mapping[str, Any],
    given: Mapping[str, int],
    path: Path,
) -> Json:
    """Say how fast the machines of an imported cluster are.

    What sources say gives way to what somebody wrote into the file, and that to the option; a
    broker's own in the file stays.

    Args:
        merged: what was found beside it.
        sources: of the import.
        former: fields of the file that an import wrote earlier; none if there is none.
        given: of ``--hardware``.
        path: of the file.

    Raises:
        InputError: the first thing in the file's hardware that cannot be used.
    """
    brokers = [one["id"] for one in merged["brokers"]]
    hand_all, hand_own = _by_hand(former, brokers, given, path)
    machines: dict[int, dict[str, _Told]] = {}
    conflicts: list[Json] = []
    for broker in brokers:
        theirs = {k: _Told(v, "") for k, v in {**hand_all, **hand_own.get(broker, {})}.items()}
        ours = {k: _Told(v, OPTION) for k, v in given.items() if k not in hand_own.get(broker, {})}
        machines[broker] = {}
        for layer in (*_told_by(sources, broker), theirs, ours):
            if layer is not ours:
                conflicts += _conflicts(f"brokers.{broker}", machines[broker], layer)
            machines[broker] |= layer
    common = _common(machines)
    own = {
        broker: {k: one for k, one in machine.items() if one.value != common.get(k, _NONE).value}
        for broker, machine in machines.items()
    }
    told_by = {f"{HARDWARE}.{field}": told.source for field, told in common.items()}
    for broker, machine in own.items():
        told_by |= {f"brokers.{broker}.{HARDWARE}.{k}": one.source for k, one in machine.items()}
    known = {field: told.value for field, told in common.items()}
    gone = [one for one in hand_own if one not in brokers]
    return {
        **merged,
        **({HARDWARE: known} if known else {}),
        "brokers": [
            {**one, **({HARDWARE: {k: told.value for k, told in mine.items()}} if mine else {})}
            for one, mine in zip(merged["brokers"], own.values(), strict=True)
        ],
        "values_from": dict(
            sorted({**merged["values_from"], **{k: v for k, v in told_by.items() if v}}.items())
        ),
        "assumed": [*merged["assumed"], *_assumed(machines)],
        "conflicts": [*merged["conflicts"], *conflicts],
        "left_out": [
            *merged["left_out"],
            *(f"hardware of broker {one}: no source has the broker" for one in gone),
        ],
    }


@dataclass(frozen=True, slots=True)
class _Told:
    """A value, and the source that has it; empty if somebody wrote it into the file."""

    value: int
    source: str


_NONE = _Told(-1, "")


def _told_by(sources: Iterable[Facts], broker: int) -> Iterator[dict[str, _Told]]:
    """What each source says of a broker's machine, the one that is believed most last."""
    for _, facts in reversed(MACHINE.sorted((True, facts) for facts in sources)):
        own = facts.brokers[broker].hardware if broker in facts.brokers else {}
        yield {k: _Told(v, named(facts)) for k, v in {**facts.hardware, **own}.items()}


def _conflicts(at: str, less: Mapping[str, _Told], more: Mapping[str, _Told]) -> Iterator[Json]:
    """What is not believed, as somebody else says something else."""
    for field, kept in more.items():
        other = less.get(field, kept)
        if other.value != kept.value:
            yield {
                "what": f"{at}.{HARDWARE}.{field}",
                "kind": field,
                "kept": kept.value,
                "from": kept.source or _THE_FILE,
                "other": other.value,
                "other_from": other.source or _THE_FILE,
            }


def _common(machines: Mapping[int, Mapping[str, _Told]]) -> dict[str, _Told]:
    """Of each field that every machine has, the most common value."""
    found = {}
    for field in FIELDS.values():
        told = [one[field] for one in machines.values() if field in one]
        if len(told) == len(machines):
            value = Counter(one.value for one in told).most_common(1)[0][0]
            found[field] = next(one for one in told if one.value == value)
    return found


def _assumed(machines: Mapping[int, Mapping[str, _Told]]) -> Iterator[Json]:
    """What has no limit on some machine, as nobody says any."""
    names = [name for name in _ASKED if any(FIELDS[name] not in one for one in machines.values())]
    if not names:
        return
    is_partly = any(machines.values())
    value = {FIELDS[name]: None for name in names} if is_partly else None
    asks = ",".join(f"{name}={_ASKED[name]}" for name in names)
    why = (
        "no source tells how fast machines are; null is no limit, so load makes nothing wait; "
        f"{OPTION} {asks} says better"
    )
    yield {"what": HARDWARE, "value": value, "why": why}


def _by_hand(
    former: Mapping[str, Any], brokers: Sequence[int], given: Mapping[str, int], path: Path
) -> tuple[dict[str, int], dict[int, dict[str, int]]]:
    """What the file says of machines and no source told it: of all, and of each broker.

    Raises:
        InputError: the first thing in it that cannot be used.
    """
    told = former.get("values_from")
    from_sources = {k for k, v in told.items() if v != OPTION} if isinstance(told, dict) else set()

    def read(said: Mapping[str, Any], *at: str | int, of: str = "") -> dict[str, int]:
        known = validated(Hardware, said.get(HARDWARE) or {}, str(path), (*at, HARDWARE)).known
        return {k: v for k, v in known.items() if f"{of}{HARDWARE}.{k}" not in from_sources}

    listed = former.get("brokers")
    places = enumerate(listed if isinstance(listed, list) else ())
    found = {
        (i, one["id"]): read(one, "brokers", i, of=f"brokers.{one['id']}.")
        for i, one in places
        if isinstance(one, Mapping) and isinstance(one.get("id"), int)
    }
    of_all = read(former)
    there = {i: Hardware(**own) for (i, broker), own in found.items() if broker in brokers}
    check_hardware(Hardware(**{**of_all, **given}), there, str(path))
    return of_all, {broker: own for (_, broker), own in found.items() if own}
