"""What real brokers answered over the wire, kept and answered again.

``python -m tools.lab.exchanges RELEASE`` records a live import of a small cluster of two brokers to
tests/recordings/live/RELEASE.json: every answer as bytes, behind the request's key and version.
In a recording the port of a broker is its id.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socketserver
import struct
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from socket import create_connection
from threading import Thread
from typing import Any

from kafka import KafkaAdminClient

from isr_pipeline.clusters.connection import connection
from isr_pipeline.clusters.live import read_live
from tools.lab.brokers import down, up
from tools.lab.record import HOME
from tools.lab.release import Release
from tools.lab.settings import Plan

HOST = "127.0.0.1"
FOLDER = Path(__file__).resolve().parents[2] / "tests" / "recordings" / "live"
TELL_PORTS = (3, 60)
"""Keys of Metadata and DescribeCluster, whose answers hold the ports of brokers."""
API_VERSIONS = 18
"""Key of the request that names the client's own version."""

Kept = list[dict[str, Any]]
"""Exchanges of one broker, in order."""

Answers = Callable[[bytes], bytes]
"""From the whole of a request to its answer behind the correlation id."""


def _frame(file: Any) -> bytes:
    """Read one request or answer without its size; empty where the other side hung up."""
    head = file.read(4)
    return file.read(struct.unpack(">i", head)[0]) if len(head) == 4 else b""


def _framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def _question(request: bytes) -> dict[str, Any]:
    """Tell what a request asks, whoever asks and whenever."""
    key, version, _number, client_id_bytes = struct.unpack(">hhih", request[:10])
    body = b"" if key == API_VERSIONS else request[10 + client_id_bytes :]
    return {"key": key, "version": version, "request": base64.b64encode(body).decode()}


@contextlib.contextmanager
def _serve(answers: Callable[[], Answers]) -> Iterator[int]:
    """Answer on a free port of the loopback, each connection by a function of its own."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            answer = answers()
            while request := _frame(self.rfile):
                self.wfile.write(_framed(request[4:8] + answer(request)))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server((HOST, 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def _with_ports(answer: bytes, key: int, ports: dict[int, int]) -> bytes:
    """Put other ports into an answer, which writes each behind its host."""
    for old, new in ports.items() if key in TELL_PORTS else ():
        here = HOST.encode()
        answer = answer.replace(here + struct.pack(">i", old), here + struct.pack(">i", new))
    return answer


@contextlib.contextmanager
def replayed(file: Path) -> Iterator[str]:
    """Let brokers that nobody runs answer as they did; give the address of the first."""
    brokers: dict[str, Kept] = json.loads(file.read_text())
    ports: dict[int, int] = {}

    def answers(kept: Kept) -> Answers:
        def answer(request: bytes) -> bytes:
            asked = _question(request)
            every = chain(kept, *brokers.values())  # a client asks any of them about the cluster
            one = next(one for one in every if asked.items() <= one.items())
            return _with_ports(base64.b64decode(one["answer"]), one["key"], ports)

        return answer

    with contextlib.ExitStack() as stack:
        for number, kept in brokers.items():
            ports[int(number)] = stack.enter_context(_serve(partial(answers, kept)))
        yield f"kafka://{HOST}:{ports[min(ports)]}"


@contextlib.contextmanager
def recorded(real: dict[int, int], file: Path) -> Iterator[str]:
    """Stand between a client and the brokers with these ports by id, and write what they answer."""
    kept: dict[int, Kept] = {number: [] for number in real}
    ports: dict[int, int] = {}

    def answers(number: int) -> Answers:
        broker = create_connection((HOST, real[number])).makefile("rwb")

        def answer(request: bytes) -> bytes:
            broker.write(_framed(request))
            broker.flush()
            asked, said = _question(request), _frame(broker)[4:]
            plain = _with_ports(said, asked["key"], {port: one for one, port in real.items()})
            if not any(asked.items() <= one.items() for one in kept[number]):
                kept[number].append({**asked, "answer": base64.b64encode(plain).decode()})
            return _with_ports(plain, asked["key"], ports)

        return answer

    with contextlib.ExitStack() as stack:
        for number in real:
            ports[number] = stack.enter_context(_serve(partial(answers, number)))
        yield f"kafka://{HOST}:{ports[min(ports)]}"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(kept, indent=1) + "\n")


def record(name: str) -> Path:
    """Start a small cluster, import it live through a recorder, end it."""
    release, file = Release.parse(name), FOLDER / f"{name}.json"
    plan = Plan(({"broker.rack": "rack-a"}, {"broker.rack": "rack-b"}))
    cluster = up(HOME, release, plan, say=print)
    try:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(",")) as client:
            made = {"assignments": {0: [1, 2], 1: [2, 1]}, "configs": {"min.insync.replicas": "2"}}
            client.create_topics({"orders": made})
            client.wait_for_topics(["orders"])
        real = {i: node.port for i, node in enumerate(cluster.brokers, 1)}
        with recorded(real, file) as address:
            read_live(connection(address), rate_s=0)
    finally:
        down(HOME, release)
    return file


if __name__ == "__main__":
    for each in sys.argv[1:]:
        sys.stdout.write(f"{record(each)}\n")
