"""A cluster that vanishes while a job runs: the job ends, with one line that says why."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from isr_pipeline.night.spark.spark_errors import only_a_person_mends
from isr_pipeline.night.spark.spark_watch import WAIT, Waiting, wait_s
from tests.saying import refused
from tests.spark.cluster import Cluster

if TYPE_CHECKING:
    from pathlib import Path

JOB = """
import sys, time
from isr_pipeline.night.spark.spark_errors import cause
from isr_pipeline.night.spark.spark_session import spark_session

def work(batches):
    for batch in batches:
        open(sign, "w").close()
        time.sleep(600)
        yield batch

spark = spark_session("job", sys.argv[1])
sign = sys.argv[2]
try:
    spark.range(0, 1, 1, 1).mapInArrow(work, "id long").count()
except Exception as error:
    print(cause(error))
"""


class TestCluster:
    """A real master and a worker of it."""

    @pytest.mark.slow
    def test_vanishes(self, tmp_path: Path) -> None:
        """The job's error is the reason; Spark by itself would wait for ever."""
        sign = tmp_path / "runs"
        with Cluster(tmp_path / "cluster", workers=1, elsewhere=False) as cluster:
            job = subprocess.Popen(
                [sys.executable, "-c", JOB, cluster.master, str(sign)],
                env=os.environ | {WAIT: "2"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            while job.poll() is None and not sign.exists():
                time.sleep(0.05)
            cluster.vanish()
            said, _ = job.communicate()
        assert said == (
            f"no executor of Spark was there for 2 s: {cluster.master} or its workers are gone, "
            "or give this program none\n"
        )
        assert only_a_person_mends(said)


class TestWaiting:
    """What counts as waiting."""

    def waiting(self, *moments: float) -> Waiting:
        """Return a count with these readings of its clock."""
        readings = iter(moments)
        return Waiting(10.0, lambda: next(readings))

    def test_too_long(self) -> None:
        """A job, and no executor from the first to the last look."""
        count = self.waiting(0.0, 0.0, 9.0, 10.0)
        assert [count.too_long(jobs=1, executors=0) for _ in range(3)] == [False, False, True]

    def test_an_executor_came(self) -> None:
        """The count begins anew."""
        count = self.waiting(0.0, 0.0, 20.0, 20.0)
        assert not count.too_long(jobs=1, executors=0)
        assert not count.too_long(jobs=1, executors=1)
        assert not count.too_long(jobs=1, executors=0)

    def test_nothing_to_do(self) -> None:
        """A session between two steps waits for nothing."""
        count = self.waiting(0.0, 0.0, 20.0, 20.0)
        assert not count.too_long(jobs=1, executors=0)
        assert not count.too_long(jobs=0, executors=0)
        assert not count.too_long(jobs=1, executors=0)


class TestSetting:
    """How long a job may wait."""

    @pytest.mark.parametrize("text", ["never", "0", "-5", "1e9", "nan"])
    def test_refused(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """One line names the variable and the range."""
        monkeypatch.setenv(WAIT, text)
        assert refused(wait_s) == f"{WAIT}: {text}; allowed: seconds, 1 to 86400"

    def test_default(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """As long as Spark waits for an executor that says nothing."""
        monkeypatch.setenv(WAIT, "")
        assert wait_s() == 120.0
