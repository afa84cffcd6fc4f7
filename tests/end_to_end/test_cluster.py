"""A night on a Spark standalone cluster: same tables as on one machine, a worker lost or not."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator

import psutil
import pytest

from tests.end_to_end.conftest import Site
from tests.end_to_end.test_night import digests
from tests.spark.cluster import Cluster, end

NIGHT = "2026-11-01"
pytestmark = pytest.mark.rehearsal


@pytest.fixture(scope="module")
def cluster(site: Site) -> Iterator[Cluster]:
    """A master and two workers of one core."""
    with Cluster(site.home / "cluster", elsewhere=False) as one:
        yield one


def below(pid: int) -> list[psutil.Process]:
    """Every process below one."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def kill_one(
    worker: subprocess.Popen[bytes], killed: threading.Event, over: threading.Event
) -> None:
    """Kill a worker with its executor as soon as it simulates."""
    while not over.wait(0.05):
        if any(simulates(one) for one in below(worker.pid)):
            end(worker)
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
