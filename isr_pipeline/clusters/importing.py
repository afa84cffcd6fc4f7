"""``isr-pipeline cluster import``: sources in, a cluster file out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import text
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import counted, one_line, shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.clusters.anonymise import anonymise
from isr_pipeline.clusters.connection import ADDRESS, SCHEME, connection
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.folder import files_in, may_be_a_source
from isr_pipeline.clusters.live import RATE_S, RATE_S_MAX, read_live
from isr_pipeline.clusters.machines import hardware_of, with_hardware
from isr_pipeline.clusters.merge import KNOWN_FEATURES, merge
from isr_pipeline.clusters.recognise import BYTES_MAX as SOURCE_BYTES_MAX
from isr_pipeline.clusters.recognise import facts_of, kinds, read_source
from isr_pipeline.clusters.replaced import replaced
from isr_pipeline.clusters.show import as_json
from isr_pipeline.clusters.write import write_cluster
from isr_pipeline.scenarios.cluster_file import (
    BYTES_MAX,
    NODES_MAX,
    checked_cluster,
    of_a_scenario,
    scenario_parts,
)
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.topics import matching

_ONCE = "each file once"
NAME = text(r"[a-z0-9][a-z0-9._+-]{0,59}", "a name of a-z, 0-9, . _ + - (at most 60)")


def import_cluster(
    sources: Sequence[str],
    name: str,
    *,
    out: Path | None = None,
    release: str | None = None,
    features: Sequence[str] = (),
    anonymous: bool = False,
    command_config: Path | None = None,
    rate_s: float = RATE_S,
    topics: Sequence[str] = (),
    hardware: Sequence[str] = (),
) -> dict[str, Any]:
    """Read sources of a cluster and write its file.

    Args:
        sources: files, and addresses of live clusters (``kafka://HOST:PORT``).
        name: of the cluster, and of its file in ``config/clusters``.
        out: write there instead.
        release: of Kafka, where the operator knows it.
        features: NAME=LEVEL, where the operator knows them.
        anonymous: replace names.
        command_config: client properties for live clusters, as Kafka's own tools take them.
        rate_s: time between the two moments at which a live cluster's offsets are read.
        topics: names or patterns of those that the file has; none: all.
        hardware: NAME=VALUE,..., where the operator knows how fast machines are.

    Returns:
        All that the file says, as ``cluster show --json``, and the ``file``; where the name was
        another import's, also what is ``replaced``.

    Raises:
        InputError: the first thing that cannot be used; nothing is written then.
        Refused: a live cluster that does not answer, or not wholly.
    """
    _check_name(name)
    path = out if out is not None else config_dir() / "clusters" / f"{name}.yaml"
    former = _check_place(path, sources, chosen=out is not None)
    before = replaced(former, path) if former and out is None else None
    levels = dict(_level(one) for one in features)
    machine = hardware_of(hardware)
    facts = read_all(sources, command_config, rate_s)
    renamed = anonymise(facts) if anonymous else {}
    merged = with_hardware(merge(facts, release, levels), facts, former, machine, path)
    if topics:
        merged = _with_topics(merged, topics, {new: old for old, new in renamed.items()})
    told_by = one_line(" + ".join(one.source for one in facts))
    file = checked_cluster(merged, told_by)
    parts = of_a_scenario(scenario_parts(file, path.parent))
    parse_scenario({"scenario_id": "healthy", "horizon_ms": 1, **parts}, told_by)
    kinds = ", ".join(dict.fromkeys(one.kind for one in facts))
    description = f"Imported from {kinds}."
    write_cluster(merged, path, description=description)
    seen = {"file": str(path), **as_json(file), "description": description}
    return seen if before is None else {**seen, "replaced": before.as_json()}


def _level(given: str) -> tuple[str, int]:
    """Read a feature and its level."""
    name, _, level = given.partition("=")
    if name not in KNOWN_FEATURES or not re.fullmatch(r"[0-9]{1,5}", level):
        allowed = f"NAME=LEVEL, a number for one of {', '.join(KNOWN_FEATURES)}"
        raise InputError("--feature", "", shown(given), allowed)
    return name, int(level)


def _with_topics(
    merged: Mapping[str, Any], patterns: Sequence[str], names: Mapping[str, str]
) -> dict[str, Any]:
    """Keep some topics of what was merged, by the names that they have in the cluster."""
    of = {names.get(topic["name"], topic["name"]): topic for topic in merged["topics"]}
    every = {name: len(topic["partitions"]) for name, topic in of.items()}
    kept = matching(every, patterns, "cluster import")
    without = len(every) - len(kept)
    fewer = sum(every.values()) - sum(every[name] for name in kept)
    said = f"{counted(without, 'topic')} with {counted(fewer, 'partition')}: not named by --topics"
    left_out = [*merged["left_out"], *([said] if without else [])]
    return {**merged, "topics": [of[name] for name in kept], "left_out": left_out}


def read_all(
    sources: Sequence[str], command_config: Path | None = None, rate_s: float = RATE_S
) -> list[Facts]:
    """Read every source; files of the same name are told apart by their paths.

    Raises:
        InputError: none, one given twice, or one that cannot be used.
        Refused: a live cluster that does not answer, or not wholly.
    """
    if not sources:
        raise InputError("cluster import", "SOURCE", "nothing", "one file or more")
    if len(set(sources)) < len(sources):
        twice = next(one for one in sources if sources.count(one) > 1)
        raise InputError("cluster import", "SOURCE", f"{shown(twice)} twice", _ONCE)
    if not 0 <= rate_s <= RATE_S_MAX:
        raise InputError("--rate-seconds", "", rate_s, f"0 to {RATE_S_MAX:g}")
    live = {
        one: connection(one, command_config) for one in sources if one.lower().startswith(SCHEME)
    }
    if command_config is not None and not live:
        raise InputError("--command-config", "", "no live cluster", f"{ADDRESS} as a SOURCE")
    files = [one for one in sources if one not in live]
    if any("://" in one for one in files):
        raise InputError("SOURCE", "", "an address of another kind (not shown)", ADDRESS)
    found = facts_of(named(files))
    # asked last: no mistake in a file costs the seconds of a reading
    return [*(read_live(where, rate_s=rate_s) for where in live.values()), *found]


def named(given: Sequence[str]) -> Iterator[Source]:
    """Read files, and those of folders; of two of one name each has its path for a name.

    Raises:
        InputError: a file that cannot be read, or that is given twice.
    """
    names = [one_line(Path(one).name or one) for one in given]
    seen: set[Path] = set()
    for one, name in zip(given, names, strict=True):
        path, called = Path(one), name if names.count(name) == 1 else one_line(one)
        folder = called if path.is_dir() else ""
        files = files_in(path, called) if folder else [(path, called)]
        if not files:
            raise InputError(called, "", "an empty folder", kinds())
        for file, its_name in files:
            if file.resolve() in seen:
                raise InputError("cluster import", "SOURCE", f"{shown(its_name)} twice", _ONCE)
            seen.add(file.resolve())
            if folder and not may_be_a_source(file, SOURCE_BYTES_MAX):
                yield Source(its_name, b"", folder)  # which is listed among those of no known kind
            else:
                yield read_source(file, its_name, folder)


def _check_name(name: str) -> None:
    try:
        NAME.read(name)
    except ValueError:
        raise InputError("--name", "", shown(name), NAME.allowed) from None


def _check_place(path: Path, sources: Sequence[str], *, chosen: bool) -> dict[str, Any]:
    """Refuse to write over what is being imported, and, unless told to, what was not imported.

    Returns:
        What the file of an earlier import says; nothing if there is none.
    """
    if not path.parent.is_dir():
        raise InputError(str(path), "", "no such folder", "a file in a folder that exists")
    if not path.exists():
        return {}
    given = [Path(one) for one in sources if Path(one).exists()]
    if any(path.samefile(one) or path.resolve().is_relative_to(one.resolve()) for one in given):
        option = "--out" if chosen else "--name"
        raise InputError(option, "", shown(path.name), "another file than the sources")
    try:
        former = read_mapping(path, bytes_max=BYTES_MAX, nodes_max=NODES_MAX)
    except InputError:
        former = {}
    if "values_from" not in former and chosen:
        return {}
    if "values_from" not in former:
        allowed = "another --name: this cluster file was not imported"
        raise InputError("--name", "", path.stem, allowed)
    return former
