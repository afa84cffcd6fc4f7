"""Writing a cluster file: YAML with a line for each broker and each partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import flow


def write_cluster(cluster: Mapping[str, Any], path: Path, *, description: str) -> None:
    """Write a cluster file, whole or not at all.

    Args:
        cluster: its fields, as :func:`isr_pipeline.clusters.merge.merge` gives them.
        path: where.
        description: what the file says of itself.

    Raises:
        InputError: it cannot be written there.
    """
    text = "\n".join(text_lines(cluster, description)) + "\n"
    try:
        write_whole(path, text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(str(path), "", reason, "a file that can be written") from None


def text_lines(cluster: Mapping[str, Any], description: str) -> Iterator[str]:
    """Write the lines of a cluster file."""
    yield f"description: {flow(description)}"
    of_all = ("release", "controller", "features", "settings", "service", "replication_listener")
    for name in of_all:
        yield f"{name}: {flow(cluster[name])}"
    for name in ("rack_rtt_ms", "hardware"):
        if cluster.get(name):
            yield f"{name}: {flow(cluster[name])}"
    yield "brokers:"
    for broker in cluster["brokers"]:
        yield f"  - {flow({k: v for k, v in broker.items() if v not in (None, {}, [])})}"
    only = {b["id"]: b["log_dirs"] for b in cluster["brokers"] if len(b["log_dirs"]) == 1}
    yield "topics:"
    for topic in cluster["topics"]:
        yield f"  - name: {flow(topic['name'])}"
        if topic["settings"]:
            yield f"    settings: {flow(topic['settings'])}"
        yield f"    produce: {flow(topic['produce'])}"
        yield "    partitions:"
        for partition in topic["partitions"]:
            yield f"      - {flow(_shortened(partition, only))}"
    yield "# What follows says where all this is from; nothing of it is simulated."
    for name in ("assumed", "conflicts", "left_out"):
        entries = cluster[name]
        yield f"{name}:{'' if entries else ' []'}"
        for one in entries:
            yield f"  - {flow(one)}"
    yield "values_from:"
    for what, source in cluster["values_from"].items():
        yield f"  {flow(what)}: {flow(source)}"


def _shortened(partition: Mapping[str, Any], only: Mapping[int, list[str]]) -> dict[str, Any]:
    """Leave out what a reader fills in: see `isr_pipeline.scenarios.cluster_file`."""
    replicas = partition["replicas"]
    short: dict[str, Any] = {"id": partition["id"], "replicas": replicas}
    if partition["leader"] != replicas[0]:
        short["leader"] = partition["leader"]
    if sorted(partition["isr"]) != sorted(replicas):
        short["isr"] = partition["isr"]
    dirs = partition["log_dirs"]
    if dirs is not None and dirs != [only.get(broker, [None])[0] for broker in replicas]:
        short["log_dirs"] = dirs
    short["records_per_s"] = partition["records_per_s"]
    return short
