"""Clusters of real brokers on this machine: started, listed, ended.

One cluster a release. Everything of it is in one folder under the state folder, which the next
start empties: what a killed one left, processes too.
"""

from __future__ import annotations

import base64
import fcntl
import json
import logging
import shutil
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from isr_pipeline.base.errors import InputError, Refused, shortened
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.clusters.connection import describe_cluster
from tools.lab import disk, nodes
from tools.lab.release import Release
from tools.lab.settings import (
    BROKERS_MAX,
    LOOPBACK,
    Plan,
    Ports,
    as_properties,
    broker_properties,
    controller_properties,
    write_logging,
    zookeeper_properties,
)
from tools.lab.tools import Java, release_java, run_tool

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from isr_pipeline.base.home import Home

START_SECONDS_MAX = 180.0
"""Three brokers take 10 to 30 s on two busy cores."""

WAIT_SECONDS_MAX = 2 * START_SECONDS_MAX
"""For another lab command's end: a start, and what it removes before."""

_POLL_S = 0.3
_OPENED = (
    *("java.base/java.nio", "java.base/sun.nio.ch", "java.base/java.lang", "java.base/java.util"),
    *("java.base/java.util.concurrent", "java.base/java.io", "java.base/java.net"),
)
"""Packages that releases of the time of Java 8 look into."""


@dataclass(frozen=True, slots=True)
class Node:
    """One process of a cluster.

    Attributes:
        name: ``zookeeper``, ``controller`` or ``broker-1``.
        port: where clients reach it.
        internal_port: where other brokers reach it; 0 for what is no broker.
    """

    name: str
    port: int
    internal_port: int = 0


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that was started.

    Attributes:
        release: of Kafka.
        metadata: who keeps its metadata: ``KRaft`` or ``ZooKeeper``.
        nodes: the keeper of metadata, then the brokers.
        ready: whether every broker had answered when it was started.
        folder: settings, data and output of every node, each in a folder of its name.
    """

    release: str
    metadata: str
    nodes: tuple[Node, ...]
    ready: bool
    folder: Path

    @property
    def brokers(self) -> tuple[Node, ...]:
        """Brokers, by their ids from 1."""
        return self.nodes[1:]

    @property
    def bootstrap(self) -> str:
        """Where clients begin."""
        return ",".join(f"{LOOPBACK}:{node.port}" for node in self.brokers)

    @property
    def internal(self) -> str:
        """Where a listener without encryption and logins is, whatever clients are asked for."""
        return ",".join(f"{LOOPBACK}:{node.internal_port}" for node in self.brokers)

    def running(self) -> list[str]:
        """Names of nodes whose processes run."""
        return [n.name for n in self.nodes if nodes.recorded(self.folder / n.name) is not None]

    @property
    def state(self) -> str:
        """``up``, ``down``, or ``partly``: some processes are gone, or the start was broken off."""
        running = len(self.running())
        if not running:
            return "down"
        return "up" if self.ready and running == len(self.nodes) else "partly"


def cluster_folder(home: Home, release: Release) -> Path:
    """Folder of a release's cluster."""
    return home.path / "lab" / "clusters" / str(release)


def clusters(home: Home) -> list[Cluster]:
    """Every cluster that was started and not ended since, oldest release first."""
    files = (home.path / "lab" / "clusters").glob("*/cluster.json")
    found = [one for one in map(_read, files) if one is not None]
    return sorted(found, key=lambda one: Release.parse(one.release))


def up(
    home: Home,
    release: Release,
    plan: Plan | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
    seconds_max: float = START_SECONDS_MAX,
) -> Cluster:
    """Start a cluster and wait until every broker answers.

    What a killed start or a killed cluster of this release left is ended and removed first.

    Args:
        home: where state lives.
        release: of Kafka; its jars were fetched.
        plan: brokers and settings; three brokers with few settings if None.
        say: hears of each step.
        seconds_max: how long the brokers may take to answer.

    Raises:
        InputError: a number of brokers that is not allowed.
        Refused: already up, not fetched, no Java, no compiler for its disk, a port in use, brokers
            that do not answer, or another lab command that does not end.
    """
    plan = plan or Plan()
    if not 1 <= len(plan.brokers) <= BROKERS_MAX:
        raise InputError("--brokers", "", len(plan.brokers), f"1 to {BROKERS_MAX}")
    java = release_java(home, release)
    folder = cluster_folder(home, release)
    with _alone(home, say):
        left = _read(folder / "cluster.json")
        if left is not None and left.state == "up":
            raise Refused(
                f"Kafka {release} is up already at {left.bootstrap}; "
                f"end it first: python -m tools.lab down {release}"
            )
        _remove(folder)
        ports = _ports(plan)
        keeper = "zookeeper" if release.zookeeper else "controller"
        cluster = Cluster(
            str(release),
            "ZooKeeper" if release.zookeeper else "KRaft",
            (
                Node(keeper, ports.keeper),
                *(
                    Node(f"broker-{i}", *two)
                    for i, two in enumerate(zip(ports.client, ports.internal, strict=True), 1)
                ),
            ),
            ready=False,
            folder=folder,
        )
        try:
            _prepare(cluster, plan, release, ports)
            return _start(cluster, java, say, seconds_max)
        except BaseException:
            nodes.stop([folder / node.name for node in cluster.nodes], seconds_max=5)
            raise


def down(
    home: Home,
    release: Release | None = None,
    *,
    keep: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> list[str]:
    """End a cluster, or every one, and remove its data.

    Args:
        home: where state lives.
        release: of the cluster; None for every one.
        keep: leave settings, data and output where they are, until the next start removes them.
        say: hears of a wait.

    Returns:
        Releases whose clusters were ended.

    Raises:
        Refused: no cluster of that release was started, or another lab command does not end.
    """
    with _alone(home, say):
        found = clusters(home)
        chosen = [one for one in found if release is None or one.release == str(release)]
        if release is not None and not chosen:
            raise Refused(f"no cluster of Kafka {release} was started; python -m tools.lab list")
        for one in chosen:
            stop(one)
            if not keep:
                _remove(one.folder)
    return [one.release for one in chosen]


def stop(cluster: Cluster) -> None:
    """End the processes of a cluster: brokers first, then who keeps the metadata."""
    nodes.stop(cluster.folder / node.name for node in cluster.brokers)
    nodes.stop([cluster.folder / cluster.nodes[0].name])


@contextmanager
def _alone(home: Home, say: Callable[[str], None]) -> Iterator[None]:
    """Hold the right to start and end clusters; wait while another command holds it.

    Raises:
        Refused: it holds it for longer than a start may take.
    """
    home.locks.mkdir(parents=True, exist_ok=True)
    until, waits = time.monotonic() + WAIT_SECONDS_MAX, False
    with (home.locks / "lab.lock").open("a") as file:
        while not _locked(file):
            if time.monotonic() > until:
                raise Refused(f"lab: another lab command is at work for {WAIT_SECONDS_MAX:g} s")
            if not waits:
                say("waiting for the end of another lab command")
            waits = True
            time.sleep(_POLL_S)
        yield


def _locked(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(file: Path) -> Cluster | None:
    """Return the cluster that a file tells of, None if there is none or the file is broken."""
    try:
        raw = json.loads(file.read_text())
        Release.parse(raw["release"])
        members = tuple(Node(**one) for one in raw["nodes"])
        return Cluster(raw["release"], raw["metadata"], members, raw["ready"], file.parent)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(cluster: Cluster) -> None:
    value = asdict(cluster)
    del value["folder"]
    write_whole(cluster.folder / "cluster.json", json.dumps(value, indent=1) + "\n")


def _remove(folder: Path) -> None:
    """End whatever runs in a folder, then remove it."""
    if folder.is_dir():
        nodes.stop(part for part in folder.iterdir() if part.is_dir())
        shutil.rmtree(folder)


def _ports(plan: Plan) -> Ports:
    """Choose ports of the loopback, all different, that nothing listens on.

    Raises:
        InputError: the first port asked for leaves no room for the others.
        Refused: one that was asked for is in use.
    """
    count = len(plan.brokers)
    if plan.port and not 1024 <= plan.port <= 65535 - count + 1:
        raise InputError("--port", "", plan.port, f"0, or 1024 to {65535 - count + 1}")
    with ExitStack() as held:
        wanted = [plan.port + i if plan.port else 0 for i in range(count)] + [0] * (count + 1)
        found = []
        for port in wanted:
            probe = held.enter_context(socket.socket())
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                raise Refused(
                    f"lab up: port {port} is in use; name another --port, or none for free ones"
                ) from None
            found.append(probe.getsockname()[1])
    return Ports(found[-1], tuple(found[:count]), tuple(found[count : 2 * count]))


def _prepare(cluster: Cluster, plan: Plan, release: Release, ports: Ports) -> None:
    """Write the settings of every node, and what its disk is made of."""
    if plan.disk:
        cluster.folder.mkdir(parents=True)
        disk.build(cluster.folder)
    for number, node in enumerate(cluster.nodes):
        folder = cluster.folder / node.name
        folder.mkdir(parents=True)
        write_logging(folder, release)
        if number:
            values = broker_properties(plan, release, number, ports, folder)
            if plan.disk:
                disk.put_under(folder, plan.disk)
        elif release.zookeeper:
            values = zookeeper_properties(ports, folder)
        else:
            values = controller_properties(plan, ports, folder)
        (folder / "server.properties").write_text(as_properties(values))
    _write(cluster)


def _start(cluster: Cluster, java: Java, say: Callable[[str], None], seconds_max: float) -> Cluster:
    """Start every node, keeper first; wait for all; say so in the cluster's file."""
    until = time.monotonic() + seconds_max
    if cluster.metadata == "KRaft":
        say(f"formatting the log dirs of {len(cluster.nodes)} nodes")
        _format(cluster, java)
    say(f"starting {', '.join(node.name for node in cluster.nodes)}")
    programs = {}
    for node in cluster.nodes:
        folder = cluster.folder / node.name
        programs[node] = nodes.start(folder, node_command(cluster, node, java))
        if node is cluster.nodes[0]:
            _wait_for_port(cluster, node, programs, until, seconds_max)
    _wait_for_brokers(cluster, programs, until, seconds_max)
    ready = Cluster(cluster.release, cluster.metadata, cluster.nodes, True, cluster.folder)
    _write(ready)
    return ready


def node_command(cluster: Cluster, node: Node, java: Java) -> list[str]:
    """Return the command that runs a node."""
    folder = cluster.folder / node.name
    main = "kafka.Kafka"
    if node.name == "zookeeper":
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
    program, *rest = java.command(main, str(folder / "server.properties"))
    opened = [f"--add-opens={name}=ALL-UNNAMED" for name in _OPENED]
    return [program, *opened, write_logging(folder, java.release), *rest]


def _format(cluster: Cluster, java: Java) -> None:
    """Give every node's log dirs the cluster's id, as KRaft wants it before a first start."""
    number = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    while number.startswith("-"):  # the tool would read an option
        number = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")

    def one(node: Node) -> str:
        file = str(cluster.folder / node.name / "server.properties")
        return run_tool(java, "storage", "format", "--cluster-id", number, "--config", file)

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(one, cluster.nodes))


def _check_running(cluster: Cluster, programs: dict[Node, subprocess.Popen[bytes]]) -> None:
    """Refuse to wait for a node that has ended.

    Raises:
        Refused: with the last it said.
    """
    for node, program in programs.items():
        if program.poll() is None:
            continue
        folder = cluster.folder / node.name
        said = nodes.last_error(folder) or f"exit status {program.returncode}"
        if "already in use" in said:
            said = f"a port of it is in use: {said}"
        raise Refused(
            f"lab up: {node.name} of Kafka {cluster.release} ended: {shortened(said, 200)} "
            f"(its output: {folder / nodes.OUTPUT})"
        )


def _late(cluster: Cluster, silent: list[Node], seconds_max: float) -> Refused:
    names = ", ".join(node.name for node in silent)
    file = cluster.folder / silent[0].name / nodes.OUTPUT
    return Refused(
        f"lab up: no answer within {seconds_max:g} s from {names} of Kafka {cluster.release} "
        f"(output: {file})"
    )


def _wait_for_port(
    cluster: Cluster,
    node: Node,
    programs: dict[Node, subprocess.Popen[bytes]],
    until: float,
    seconds_max: float,
) -> None:
    while True:
        try:
            with socket.create_connection((LOOPBACK, node.port), timeout=1):
                return
        except OSError:
            _check_running(cluster, programs)
        if time.monotonic() > until:
            raise _late(cluster, [node], seconds_max)
        time.sleep(_POLL_S)


def _wait_for_brokers(
    cluster: Cluster,
    programs: dict[Node, subprocess.Popen[bytes]],
    until: float,
    seconds_max: float,
) -> None:
    """Wait until each broker tells of all."""
    wanted = set(range(1, len(cluster.brokers) + 1))
    silent = list(cluster.brokers)
    while silent:
        _check_running(cluster, programs)
        if time.monotonic() > until:
            raise _late(cluster, silent, seconds_max)
        if _known_to(silent[0]) >= wanted:
            silent.pop(0)
        else:
            time.sleep(_POLL_S)


def _known_to(node: Node) -> set[int]:
    """Ids of the brokers that one of them tells of; empty while it does not answer."""
    from kafka import KafkaAdminClient  # noqa: PLC0415 - only a start needs it
    from kafka.errors import KafkaError  # noqa: PLC0415

    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        with socket.create_connection((LOOPBACK, node.internal_port), timeout=1):
            pass
        with KafkaAdminClient(
            bootstrap_servers=f"{LOOPBACK}:{node.internal_port}",
            bootstrap_timeout_ms=5000,
            request_timeout_ms=5000,
        ) as client:
            return {broker["broker_id"] for broker in describe_cluster(client)["brokers"]}
    except (OSError, KafkaError):
        return set()
    except Exception as error:  # of the library, which no wait will change
        raise Refused(
            f"lab up: the answer of {node.name} cannot be read ({type(error).__name__}: {error})"
        ) from None
