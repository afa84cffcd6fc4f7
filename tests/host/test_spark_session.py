"""The Spark session is ours in every setting that matters."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from isr_pipeline.host.spark_session import SETTINGS
from isr_pipeline.jobs import host

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def describe_worker(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Say which interpreter a worker is, and what archives it imports from."""
    from pathlib import Path

    for _ in batches:
        archives = [entry for entry in sys.path_importer_cache if Path(entry).is_file()]
        row = {"python": [sys.executable], "archives": [",".join(archives)]}
        yield pa.RecordBatch.from_pydict(row)


class TestSession:
    """A session as every job starts it."""

    def test_settings(self, spark: SparkSession) -> None:
        """Every setting is in effect."""
        found = {name: spark.conf.get(name) for name in SETTINGS}
        assert found == dict(SETTINGS)

    def test_loopback(self, spark: SparkSession) -> None:
        """Nothing listens where other machines can reach it, and there is no web page."""
        assert spark.conf.get("spark.driver.bindAddress") == "127.0.0.1"
        assert spark.conf.get("spark.driver.host") == "127.0.0.1"
        assert spark.sparkContext.uiWebUrl is None

    def test_workers(self, spark: SparkSession) -> None:
        """Workers are this interpreter, and read no archive's directory before each task."""
        rows = spark.range(1).mapInArrow(describe_worker, "python string, archives string")
        (row,) = rows.collect()
        assert (row["python"], row["archives"]) == (sys.executable, "")


class TestSparkThatServes:
    """The program that holds one Spark for all steps."""

    def test_its_java_collects_garbage_while_it_waits(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Java would let its heap grow night by night, so it is told to collect in turn."""
        reads, writes = os.pipe()
        monkeypatch.setattr(host, "COLLECT_SECONDS", 0.0)
        times = []

        def collect() -> None:
            times.append(time.monotonic())
            if len(times) == 2:
                os.close(writes)

        java = subprocess.Popen(["sleep", "60"])
        try:
            with os.fdopen(reads) as stdin:
                monkeypatch.setattr("sys.stdin", stdin)
                assert host._wait_for_end(java, collect) == 0
        finally:
            java.kill()
            java.wait()
        assert len(times) == 2
