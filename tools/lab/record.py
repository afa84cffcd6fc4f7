"""Record what Kafka's own tools print of the topology: ``python -m tools.lab.record RELEASE``.

Writes to tests/recordings/import/RELEASE. The state folder is /tmp/kafka-lab, so that the paths
in a recording name no machine.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from isr_pipeline.base.home import Home
from tools.lab import topology
from tools.lab.brokers import Cluster, down, up
from tools.lab.release import Release
from tools.lab.settings import Plan
from tools.lab.tools import Java, release_java, run_tool

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "recordings" / "import"
HOME = Home(Path("/tmp/kafka-lab"), "/tmp/kafka-lab/tables")  # noqa: S108 - in every recording

DESCRIBED = (2, 3, 4)
"""Brokers whose settings are recorded whole: each has something of its own."""


def record(release: Release) -> Path:
    """Start, make, ask every tool, end; return the folder of the recording."""
    java = release_java(HOME, release)
    plan = topology.plan()
    settings = {**plan.settings, **({} if release.zookeeper else topology.small_snapshots())}
    cluster = up(HOME, release, Plan(plan.brokers, settings, plan.log_dirs), say=print)
    folder = FOLDER / str(release)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        topology.make(cluster, java, say=print)
        (folder / "topics.txt").write_text(_ask(cluster, java, "topics", "--describe"))
        if release.zookeeper:
            keeper = f"127.0.0.1:{cluster.nodes[0].port}"
            text = run_tool(java, "topics", "--zookeeper", keeper, "--describe")
            (folder / "topics-by-zookeeper.txt").write_text(text)
        _record_settings(cluster, java, folder)
        (folder / "log-dirs.txt").write_text(_ask(cluster, java, "log-dirs", "--describe"))
        truth = topology.truth(cluster)
        truth["standing"] = topology.standing(release, killed=False)
        taken = topology.kill(cluster, say=print)
        truth["standing_after_kill"] = topology.standing(release, killed=True, reassigned=taken)
        (folder / "topics-after-kill.txt").write_text(_ask(cluster, java, "topics", "--describe"))
        if not release.zookeeper:
            _record_metadata(cluster, java, folder)
        (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    finally:
        down(HOME, release)
    return folder


def _ask(cluster: Cluster, java: Java, tool: str, *arguments: str) -> str:
    return run_tool(java, tool, "--bootstrap-server", cluster.bootstrap, *arguments)


def _record_settings(cluster: Cluster, java: Java, folder: Path) -> None:
    """server.properties of every broker, and what kafka-configs says of brokers and topics."""
    for i, node in enumerate(cluster.brokers, 1):
        given = cluster.folder / node.name / "server.properties"
        shutil.copyfile(given, folder / f"server-{i}.properties")
    of_brokers = ("--describe", "--entity-type", "brokers")
    for i in DESCRIBED:
        text = _ask(cluster, java, "configs", *of_brokers, "--entity-name", str(i), "--all")
        (folder / f"configs-broker-{i}.txt").write_text(text)
    text = _ask(cluster, java, "configs", *of_brokers)
    (folder / "configs-brokers-dynamic.txt").write_text(text)
    of_topics = ("--describe", "--entity-type", "topics")
    (folder / "configs-topics.txt").write_text(_ask(cluster, java, "configs", *of_topics, "--all"))
    text = _ask(cluster, java, "configs", *of_topics)
    (folder / "configs-topics-dynamic.txt").write_text(text)


def _record_metadata(cluster: Cluster, java: Java, folder: Path) -> None:
    """The metadata log itself, its latest snapshot, and both as Kafka's own tool dumps them."""
    source = cluster.folder / cluster.nodes[0].name / "data-1" / "__cluster_metadata-0"
    snapshots = sorted(source.glob("*.checkpoint"))
    kept = [*snapshots[-1:], *sorted(source.glob("*.log"))]
    for file in kept:
        shutil.copyfile(file, folder / file.name)
        text = run_tool(java, "dump-log", "--cluster-metadata-decoder", "--files", str(file))
        (folder / f"metadata-{file.suffix[1:]}.txt").write_text(text)


def record_named(record: Callable[[Release], Path]) -> None:
    """Record each release that the command line names."""
    for name in sys.argv[1:]:
        folder = record(Release.parse(name))
        size = sum(file.stat().st_size for file in folder.iterdir())
        sys.stdout.write(f"{folder}: {size / 1000:.0f} kB\n")


if __name__ == "__main__":
    record_named(record)
