"""What a node of a cluster on this machine is given: its settings, as Kafka's files have them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.scenarios.hardware import Hardware
    from tools.lab.release import Release

LOOPBACK = "127.0.0.1"
BROKERS_MAX = 20
CONTROLLER_ID = 100
"""Node id of the one KRaft controller; brokers are 1, 2, 3 …"""

INTERNAL = "INTERNAL"
CLIENT = "CLIENT"

OWN_KEYS = frozenset(
    {
        *("process.roles", "node.id", "broker.id", "listeners", "advertised.listeners"),
        *("inter.broker.listener.name", "listener.security.protocol.map", "zookeeper.connect"),
        *("log.dir", "log.dirs", "metadata.log.dir", "controller.listener.names"),
        *("controller.quorum.voters", "controller.quorum.bootstrap.servers", "port", "host.name"),
    }
)
"""Keys whose values make several nodes live beside each other on one machine."""

_SMALL = {
    "offsets.topic.num.partitions": "5",
    "transaction.state.log.num.partitions": "5",
    "num.network.threads": "2",
    "num.io.threads": "4",
}
"""Small enough for a laptop; ``--set`` changes them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A cluster that is to be started.

    Attributes:
        brokers: settings of each broker beside those of all; their ids are 1, 2, 3 …
        settings: settings of every node.
        log_dirs: folders of each broker for its data.
        client_protocol: how clients speak with the listener that is meant for them.
        port: client port of broker 1, the next ones those of the next; 0 for any free ones.
        disk: under each broker's first log dir, if it has another speed than this machine's.
    """

    brokers: tuple[Mapping[str, str], ...] = ({}, {}, {})
    settings: Mapping[str, str] = field(default_factory=dict)
    log_dirs: int = 1
    client_protocol: str = "PLAINTEXT"
    port: int = 0
    disk: Hardware | None = None


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports on the loopback: of the keeper of metadata, then two a broker."""

    keeper: int
    client: tuple[int, ...]
    internal: tuple[int, ...]


def read_settings(given: list[str]) -> dict[str, str]:
    """Read the values of ``--set``.

    Raises:
        InputError: no ``KEY=VALUE``, a key twice, or one that the laboratory sets itself.
    """
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"[a-z][a-z0-9._-]*", key) or re.search(r"[\r\n]", value):
            raise InputError("--set", "", text, "KEY=VALUE with a key of server.properties")
        if key in OWN_KEYS:
            raise InputError("--set", key, "set by the laboratory itself", "any other broker key")
        if key in found:
            raise InputError("--set", key, "given twice", "each key once")
        found[key] = value
    return found


def broker_properties(
    plan: Plan, release: Release, number: int, ports: Ports, folder: Path
) -> dict[str, str]:
    """Settings of one broker.

    Args:
        plan: the cluster's.
        release: of Kafka.
        number: its id, from 1.
        ports: of the cluster.
        folder: the broker's own.
    """
    replicas = str(min(3, len(plan.brokers)))
    dirs = [str(folder / f"data-{i}") for i in range(1, plan.log_dirs + 1)]
    at = {
        INTERNAL: f"{INTERNAL}://{LOOPBACK}:{ports.internal[number - 1]}",
        CLIENT: f"{CLIENT}://{LOOPBACK}:{ports.client[number - 1]}",
    }
    keeper = f"{LOOPBACK}:{ports.keeper}"
    protocols = f"{INTERNAL}:PLAINTEXT,{CLIENT}:{plan.client_protocol}"
    role = (
        {"broker.id": str(number), "zookeeper.connect": keeper}
        if release.zookeeper
        else {
            "process.roles": "broker",
            "node.id": str(number),
            "controller.quorum.voters": f"{CONTROLLER_ID}@{keeper}",
            "controller.listener.names": "CONTROLLER",
        }
    )
    if not release.zookeeper:
        protocols += ",CONTROLLER:PLAINTEXT"
    return {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(2, len(plan.brokers))),
        **_SMALL,
        **plan.settings,
        **plan.brokers[number - 1],
        **role,
        "listeners": ",".join(at.values()),
        "advertised.listeners": ",".join(at.values()),
        "inter.broker.listener.name": INTERNAL,
        "listener.security.protocol.map": protocols,
        "log.dirs": ",".join(dirs),
    }


def controller_properties(plan: Plan, ports: Ports, folder: Path) -> dict[str, str]:
    """Settings of the KRaft controller."""
    return {
        **plan.settings,
        "process.roles": "controller",
        "node.id": str(CONTROLLER_ID),
        "listeners": f"CONTROLLER://{LOOPBACK}:{ports.keeper}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"{CONTROLLER_ID}@{LOOPBACK}:{ports.keeper}",
        "log.dirs": str(folder / "data-1"),
    }


def zookeeper_properties(ports: Ports, folder: Path) -> dict[str, str]:
    """Settings of ZooKeeper."""
    return {
        "dataDir": str(folder / "data-1"),
        "clientPort": str(ports.keeper),
        "clientPortAddress": LOOPBACK,
        "tickTime": "500",
        "admin.enableServer": "false",
    }


def as_properties(values: Mapping[str, str]) -> str:
    """Write settings as Java reads them: a backslash would begin an escape."""
    escaped = ((key, value.replace("\\", "\\\\")) for key, value in values.items())
    return "".join(f"{key}={value}\n" for key, value in escaped)


LOG4J2 = """<Configuration status="error">
  <Appenders><Console name="out"><PatternLayout pattern="[%d] %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="info"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""

LOG4J1 = """log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


def write_logging(folder: Path, release: Release) -> str:
    """Write how a program logs; return Java's option that names the file."""
    file = folder / ("log4j2.xml" if release.log4j2 else "log4j.properties")
    file.write_text(LOG4J2 if release.log4j2 else LOG4J1)
    if release.log4j2:
        return f"-Dlog4j2.configurationFile={file}"
    return f"-Dlog4j.configuration={file.as_uri()}"
