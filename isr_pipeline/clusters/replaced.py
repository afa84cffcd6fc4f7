"""What an import writes over: the cluster that had the name, and the experiments that use it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import counted, few

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


def _users(folder: Path, cluster: str) -> Iterator[str]:
    """Experiments that name a cluster; one that cannot be read names none."""
    for path in sorted(folder.glob("*.yaml")):
        try:
            said = read_mapping(path)
        except InputError:
            continue
        if said.get("cluster") == cluster:
            yield path.stem
