"""A night on a Spark standalone cluster: same tables as on one machine, a worker lost or not."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.night.spark.java import java_home
from isr_pipeline.night.stack import free_port, port_in_use
from tests.end_to_end.conftest import Site
from tests.end_to_end.test_night import digests

NIGHT = "2026-11-01"
SECONDS_MAX = 120

pytestmark = pytest.mark.rehearsal


@dataclass(frozen=True)
class Cluster:
    """A master and its workers on the loopback.

    Attributes:
        master: its URL.
        workers: their processes, each the Java that starts executors.
    """

    master: str
    workers: list[subprocess.Popen[bytes]]


@pytest.fixture(scope="module")
def cluster(site: Site) -> Iterator[Cluster]:
    """A master and two workers of one core, from the package itself."""
    port = free_port()
    folder = site.home / "cluster"
    folder.mkdir()
    variables = site.variables | {
        "JAVA_HOME": str(java_home(Home(site.home, ""))),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(folder),
        "PYSPARK_PYTHON": sys.executable,
    }
    common = ["--host", "127.0.0.1", "--webui-port", "0"]
    url = f"spark://127.0.0.1:{port}"

    def start(kind: str, *words: str) -> subprocess.Popen[bytes]:
        program = str(Path(sys.executable).parent / "spark-class")
        command = [program, f"org.apache.spark.deploy.{kind}.{kind.title()}", *common, *words]
        with (folder / f"{kind}-{time.monotonic_ns()}.log").open("wb") as log:
            return subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT)

    master = start("master", "--port", str(port))
    limit = time.monotonic() + SECONDS_MAX
    while not port_in_use(port):
        assert master.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.2)
    workers = [start("worker", "--cores", "1", "--memory", "2g", url) for _ in range(2)]
    yield Cluster(url, workers)
    for process in (*workers, master):
        for one in below(process.pid):
            if one.is_running():
                one.kill()
        process.kill()
        process.wait()


def below(pid: int) -> list[psutil.Process]:
    """Every process below one."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill_one(
    worker: subprocess.Popen[bytes], killed: threading.Event, over: threading.Event
) -> None:
    """Kill a worker and all below it as soon as it simulates."""
    while not over.wait(0.05):
        family = below(worker.pid)
        if any(simulates(one) for one in family):
            worker.kill()
            for one in family:
                with contextlib.suppress(psutil.NoSuchProcess):  # ended with its parent
                    one.kill()
            worker.wait()
            killed.set()
            return


def simulates(process: psutil.Process) -> bool:
    """Whether a process is what Spark's Python daemon forks for a task."""
    try:
        family = [process, *process.parents()[:1]]
        return all("pyspark.worker" in one.cmdline() for one in family)
    except psutil.Error:
        return False


@pytest.fixture(scope="module")
def here(site: Site) -> dict[str, str]:
    """Digests of the night on one machine."""
    site.night(NIGHT)
    return digests(site.show(NIGHT))


class TestCluster:
    """One night, three ways; each replaces the one before."""

    def test_same_tables(self, site: Site, cluster: Cluster, here: dict[str, str]) -> None:
        """Where Spark runs changes no byte of any table."""
        site.night(NIGHT, "--spark-master", cluster.master)
        assert digests(site.show(NIGHT)) == here

    def test_lost_worker(self, site: Site, cluster: Cluster, here: dict[str, str]) -> None:
        """A worker killed with its executor while it simulates costs time, and no row."""
        killed = threading.Event()
        over = threading.Event()
        killer = threading.Thread(target=kill_one, args=(cluster.workers[0], killed, over))
        killer.start()
        try:
            site.night(NIGHT, "--spark-master", cluster.master)
        finally:
            over.set()
            killer.join()
        assert killed.is_set()
        assert digests(site.show(NIGHT)) == here
