"""A cluster file as a person or a program reads it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import counted, shown
from isr_pipeline.base.home import config_dir
from isr_pipeline.clusters.replaced import replaced_line
from isr_pipeline.scenarios.cluster_file import (
    ClusterFile,
    load_cluster_file,
    not_simulated,
    of_a_scenario,
    partitions_of,
    scenario_parts,
)
from isr_pipeline.scenarios.hardware import Hardware
from isr_pipeline.scenarios.machine_load import disks_asked, first_to_saturate
from isr_pipeline.scenarios.model import parse_scenario


def find_cluster(name_or_path: str) -> Path:
    """Find a cluster file by its name in ``config/clusters``, or by its path.

    Raises:
        InputError: no such name.
    """
    if "/" in name_or_path or name_or_path.endswith((".yaml", ".yml", ".json")):
        return Path(name_or_path)
    path = config_dir() / "clusters" / f"{name_or_path}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(p.stem for p in (config_dir() / "clusters").glob("*.yaml")))
        raise InputError("cluster", "", shown(name_or_path), names or "the path of a cluster file")
    return path


def show(name_or_path: str) -> dict[str, Any]:
    """Give all that a cluster file says, and what of it is not simulated.

    Raises:
        InputError: no such file, or the first thing in it that cannot be used.
    """
    path = find_cluster(name_or_path)
    return as_json(load_cluster_file(path, str(path)))


def told(name_or_path: str) -> Iterator[str]:
    """Tell of a cluster file in lines, and what its load asks of its machines.

    Raises:
        InputError: no such file, or the first thing in it that cannot be used.
    """
    path = find_cluster(name_or_path)
    file = load_cluster_file(path, str(path))
    asked = [*_asked(file, path)] if any(one.known for one in _machines(file)) else []
    yield from lines(as_json(file), path.stem)
    yield from asked


def _machines(file: ClusterFile) -> Iterator[Hardware]:
    """What is said of all brokers' machines, and of each broker's own."""
    yield file.hardware
    yield from (broker.hardware for broker in file.brokers)


def _asked(file: ClusterFile, path: Path) -> Iterator[str]:
    parts = scenario_parts(file, path.parent)
    frame = {"scenario_id": "healthy", "horizon_ms": 1, **of_a_scenario(parts)}
    healthy = parse_scenario(frame, str(path))
    yield from first_to_saturate(healthy, file.hourly_load)
    yield from disks_asked(healthy, file.hourly_load)


def as_json(file: ClusterFile) -> dict[str, Any]:
    """Give a checked cluster file as JSON has it; it reads as a cluster file again."""
    unused = [one for one in not_simulated(file) if one not in file.left_out]
    topics = [
        {
            "name": topic.name,
            "settings": dict(topic.settings),
            "produce": [stream.model_dump() for stream in topic.produce],
            "partitions": [
                {
                    "id": p.id,
                    "replicas": list(p.replicas),
                    "leader": p.leader,
                    "isr": list(p.isr or ()),
                    "log_dirs": None if p.log_dirs is None else list(p.log_dirs),
                    "records_per_s": _rate(p.records_per_s, topic.produce),
                }
                for p in partitions_of(topic)
            ],
        }
        for topic in file.topics
    ]
    return {
        "description": file.description,
        "release": file.release,
        "controller": file.controller,
        "features": dict(file.features),
        "settings": dict(file.settings),
        "service": dict(file.service),
        **({"hardware": known} if (known := file.hardware.known) else {}),
        **({"hourly_load": list(file.hourly_load)} if file.hourly_load else {}),
        **({"incidents": dict(file.incidents)} if file.incidents else {}),
        "rules": dict(file.rules),
        "replication_listener": file.replication_listener,
        "rack_rtt_ms": [
            {"between": list(pair.between), "rtt_ms": pair.rtt_ms} for pair in file.rack_rtt_ms
        ],
        "brokers": [
            {
                "id": broker.id,
                "rack": broker.rack,
                "log_dirs": list(broker.log_dirs),
                "settings": dict(broker.settings),
                "service": dict(broker.service),
                **({"hardware": known} if (known := broker.hardware.known) else {}),
            }
            for broker in file.brokers
        ],
        "topics": topics,
        "values_from": dict(file.values_from),
        "assumed": [one.model_dump() for one in file.assumed],
        "conflicts": list(file.conflicts),
        "left_out": [*file.left_out, *unused],
    }


def _rate(own: float | None, produce: Any) -> float:
    """Records a second of a partition: its own rate, or those of the topic's streams."""
    return own if own is not None else sum(stream.records_per_s for stream in produce)


def lines(said: dict[str, Any], name: str) -> Iterator[str]:
    """Write what :func:`as_json` gave in lines: what was assumed comes first."""
    partitions = [p for topic in said["topics"] for p in topic["partitions"]]
    if said["assumed"]:
        yield "assumed, as no source tells it:"
        for one in said["assumed"]:
            yield from _assumed(one)
    for title in ("conflicts", "left_out"):
        if said[title]:
            yield f"{title.replace('_', ' ')}:"
            for one in said[title]:
                yield f"  {_conflict(one) if isinstance(one, dict) else one}"
    racks = {broker["rack"] for broker in said["brokers"] if broker["rack"]}
    without = sum(not broker["rack"] for broker in said["brokers"])
    in_racks = counted(len(racks), "rack") + (f" ({without} without one)" if without else "")
    yield (
        f"{name}: Kafka {said['release']}, {said['controller']}, "
        f"{counted(len(said['brokers']), 'broker')}"
        f"{f' in {in_racks}' if racks else ''}, "
        f"{counted(len(said['topics']), 'topic')}, "
        f"{counted(len(partitions), 'partition')}"
    )
    if said["replication_listener"]:
        yield "  followers fetch over a listener of their own"
    for key, value in said["settings"].items():
        yield f"  {key}: {shown(value)}"
    yield f"  hardware: {_pairs(said.get('hardware', {})) or 'no limit known'}"
    for broker in said["brokers"]:
        led = sum(p["leader"] == broker["id"] for p in partitions)
        held = sum(broker["id"] in p["replicas"] for p in partitions)
        rack = f", rack {broker['rack']}" if broker["rack"] else ""
        own = _pairs({**broker["settings"], **broker.get("hardware", {})})
        yield (
            f"  broker {broker['id']}{rack}: {held} replicas, leads {led}, "
            f"log dirs {', '.join(broker['log_dirs']) or 'unknown'}{f'; {own}' if own else ''}"
        )
    if "replaced" in said:
        yield replaced_line(said["replaced"], name, said["features"])


def _pairs(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={shown(value)}" for key, value in values.items())


def _assumed(one: dict[str, Any]) -> Iterator[str]:
    """Write one thing that was assumed; of several values each has a line."""
    value = one["value"]
    if not isinstance(value, dict):
        yield f"  {one['what']}: {shown(value)} ({one['why']})"
        return
    yield f"  {one['what']} ({one['why']}):"
    for name, each in value.items():
        yield f"    {name}: {shown(each)}"


def _conflict(one: dict[str, Any]) -> str:
    if "kept" not in one:
        return str(one.get("what"))
    kept = "not set" if one["kept"] is None else shown(one["kept"])
    return (
        f"{one['what']}: {kept} from {one['from']}, "
        f"not {shown(one['other'])} from {one['other_from']}"
    )
