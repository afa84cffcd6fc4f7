"""What an import writes over: the cluster that had the name, and the experiments that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.models import validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import counted, few
from isr_pipeline.clusters.assumptions import HARDWARE
from isr_pipeline.scenarios.cluster_file import check_hardware
from isr_pipeline.scenarios.hardware import Hardware

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A cluster file whose place an import takes.

    Attributes:
        brokers: their ids.
        partitions: of the whole cluster, those that others stand for too.
        features: their levels.
        experiments: names of those that use the cluster by its name.
    """

    brokers: tuple[int, ...]
    partitions: int
    features: Json
    experiments: tuple[str, ...]

    def as_json(self) -> Json:
        """Give it as JSON has it."""
        return asdict(self)


def replaced(former: Mapping[str, Any], path: Path) -> Replaced:
    """Say what an import replaces.

    Args:
        former: fields of the file that an import wrote earlier.
        path: of the file; experiments lie beside its folder.
    """
    parts = [one for topic in former.get("topics") or () for one in topic.get("partitions") or ()]
    return Replaced(
        tuple(one.get("id") for one in former.get("brokers") or ()),
        len(parts),
        dict(former.get("features") or {}),
        tuple(_users(path.parent.parent / "experiments", path.stem)),
    )


def replaced_line(said: Mapping[str, Any], name: str, features: Mapping[str, Any]) -> str:
    """Say in a line what :meth:`Replaced.as_json` gave.

    Args:
        said: that.
        name: of the cluster.
        features: their levels now; somebody may have written others into the file by hand.
    """
    other = [
        f"; {one} {level}, now {features.get(one, 'not set')} (--feature {one}={level} keeps it)"
        for one, level in said["features"].items()
        if level != features.get(one)
    ]
    brokers = f"{counted(len(said['brokers']), 'broker')} ({few(said['brokers'])})"
    users = said["experiments"]
    used = f"used by {counted(len(users), 'experiment')} ({', '.join(users)})"
    return (
        f"replaced: {name} was a cluster of {brokers} and "
        f"{counted(said['partitions'], 'partition')}, {used if users else 'used by no experiment'}"
        f"{''.join(other)}"
    )


def with_hardware(merged: Mapping[str, Any], former: Mapping[str, Any], path: Path) -> Json:
    """Keep what somebody wrote into a cluster file of machines: no source tells it again.

    Args:
        merged: what an import found.
        former: fields of the file that an import wrote earlier; none if there is none.
        path: of the file.

    Raises:
        InputError: the first thing in its hardware that cannot be used.
    """
    listed = former.get("brokers")
    places = enumerate(listed if isinstance(listed, list) else ())
    ids = {i: one["id"] for i, one in places if isinstance(one, Mapping) and _has_id(one)}
    of_all = _hardware(former, path, ())
    own = {i: _hardware(former["brokers"][i], path, ("brokers", i)) for i in ids}
    there = [one["id"] for one in merged["brokers"]]
    check_hardware(of_all, {i: mine for i, mine in own.items() if ids[i] in there}, str(path))
    known = {ids[i]: {HARDWARE: mine.known} for i, mine in own.items() if mine.known}
    gone = [one for one in known if one not in there]
    told = [f"hardware of broker {one}: no source has the broker" for one in gone]
    found = {
        **merged,
        "brokers": [{**one, **known.get(one["id"], {})} for one in merged["brokers"]],
        "left_out": [*merged["left_out"], *told],
    }
    if not of_all.known:
        return found
    assumed = [one for one in merged["assumed"] if one["what"] != HARDWARE]
    return {**found, HARDWARE: of_all.known, "assumed": assumed}


def _has_id(broker: Mapping[str, Any]) -> bool:
    return isinstance(broker.get("id"), int)


def _hardware(said: Mapping[str, Any], path: Path, at: tuple[str | int, ...]) -> Hardware:
    return validated(Hardware, said.get(HARDWARE) or {}, str(path), (*at, HARDWARE))


def _users(folder: Path, cluster: str) -> Iterator[str]:
    """Experiments that name a cluster; one that cannot be read names none."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            said = read_mapping(path)
        except InputError:
            continue
        if said.get("cluster") == cluster:
            yield path.stem
