"""Record the logs of a cluster that faults were planted in: ``tools.lab.record_history RELEASE``.

Writes to tests/recordings/history/RELEASE: the log of each broker and of the controller, the
metadata log and what Kafka's own tool prints of it, all packed by gzip; `truth.json` says what was
planted. Lines of loggers that say nothing of faults are left out.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from tools.lab import nodes
from tools.lab.brokers import Cluster, down, node_command, up
from tools.lab.record import HOME, record_named
from tools.lab.release import Release
from tools.lab.settings import Plan
from tools.lab.tools import Java, release_java, run_tool
from tools.lab.topology import all_in_sync, client_of, wait_until

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "recordings" / "history"
SETTINGS = {
    "replica.lag.time.max.ms": "5000",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "auto.leader.rebalance.enable": "false",
}
PARTITIONS = 6
_KEPT = re.compile(r"\[20|\s+log\.dirs = ")
_LEFT_OUT = re.compile(
    r"state\.change|UnifiedLog|kafka\.log\.Log\)|LogLoader|[Cc]oordinator|zookeeper\."
    r"|ProducerState|Reaper|MetadataLoader|NetworkClient|EventProcessor|AppInfo|SocketServer"
    r"|ToController|RequestSend|KafkaRaftClient|QuorumState|EventQueue|FetchSession|Publisher"
    r"|ConnectionQuotas|KafkaZkClient|\.image\."
)


@dataclass(slots=True)
class Script:
    """Plants faults in a running cluster, one after the other, and notes them."""

    cluster: Cluster
    java: Java
    planted: list[dict[str, Any]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Two crashes, three restarts, two pauses, and the log dirs of a broker one by one."""
        with client_of(self.cluster) as client:
            replicas = {i: [1 + (i + j) % 3 for j in range(3)] for i in range(PARTITIONS)}
            client.create_topics({"t": {"assignments": replicas}}, wait_for_metadata=True)
        threading.Thread(target=self._produce, daemon=True).start()
        self._recover()
        self._restart(1)
        self._crash(2, gone_s=15)
        self._restart(3)
        self._pause(1, "pause", 7.5)  # as long as a follower leaves the ISR; sessions are longer
        self._pause(3, "lost_session", 20)
        self._crash(3, gone_s=0.5)
        self._restart(2)
        dirs = [self._folder(1) / "data-2", self._folder(1) / "data-1"]
        for one in dirs:  # the second is the last, which ends the process
            self._note("dead_disk", 1)
            one.rename(one.with_suffix(".gone"))
            time.sleep(15)
        for one in dirs:
            one.with_suffix(".gone").rename(one)
        self._start(1)
        self.ended.set()

    def _produce(self) -> None:
        """Send to every partition: a follower of an idle one never leaves the ISR."""
        while not self.ended.is_set():
            with suppress(KafkaError, OSError):
                producer = KafkaProducer(bootstrap_servers=self.cluster.internal, acks=1)
                while not self.ended.wait(0.3):
                    for partition in range(PARTITIONS):
                        producer.send("t", b"x" * 100, partition=partition)

    def _folder(self, broker: int) -> Path:
        return self.cluster.folder / f"broker-{broker}"

    def _note(self, what: str, broker: int) -> None:
        self.planted.append({"kind": what, "broker": broker, "at_ms": round(time.time() * 1000)})

    def _start(self, broker: int) -> None:
        node = self.cluster.brokers[broker - 1]
        nodes.start(self._folder(broker), node_command(self.cluster, node, self.java))
        time.sleep(8)
        self._recover()

    def _recover(self) -> None:
        with client_of(self.cluster) as client:
            wait_until(client, all_in_sync)
        time.sleep(3)

    def _restart(self, broker: int) -> None:
        self._note("controlled_restart", broker)
        nodes.stop([self._folder(broker)])
        self._start(broker)

    def _crash(self, broker: int, gone_s: float) -> None:
        self._note("crash", broker)
        nodes.kill(self._folder(broker))
        time.sleep(gone_s)
        self._start(broker)

    def _pause(self, broker: int, what: str, seconds: float) -> None:
        self._note(what, broker)
        nodes.pause(self._folder(broker), seconds)
        self._recover()


def record(release: Release) -> Path:
    """Start, plant, keep, end; return the folder of the recording."""
    java = release_java(HOME, release)
    kraft = {} if release.zookeeper else {"metadata.max.idle.interval.ms": "5000"}
    cluster = up(HOME, release, Plan(({}, {}, {}), {**SETTINGS, **kraft}, 2), say=print)
    folder = FOLDER / str(release)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        script = Script(cluster, java)
        script.run()
        (folder / "truth.json").write_text(json.dumps(script.planted, indent=1) + "\n")
        for node in cluster.nodes if not release.zookeeper else cluster.brokers:
            name = node.name.replace("broker", "server")
            _pack(folder / f"{name}.log.gz", _thinned(cluster.folder / node.name / nodes.OUTPUT))
        if not release.zookeeper:
            log = cluster.folder / cluster.nodes[0].name / "data-1" / "__cluster_metadata-0"
            log /= "00000000000000000000.log"
            _pack(folder / f"{log.name}.gz", log.read_bytes())
            dump = run_tool(java, "dump-log", "--cluster-metadata-decoder", "--files", str(log))
            _pack(folder / "metadata-log.txt.gz", dump.encode())
    finally:
        down(HOME, release)
    return folder


def _thinned(log: Path) -> bytes:
    lines = log.read_text(errors="replace").splitlines(keepends=True)
    kept = (line for line in lines if _KEPT.match(line) and not _LEFT_OUT.search(line))
    return "".join(kept).encode()


def _pack(file: Path, content: bytes) -> None:
    file.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    record_named(record)
