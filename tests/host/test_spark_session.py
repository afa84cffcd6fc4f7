"""The Spark session is ours in every setting that matters."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyarrow as pa

from isr_pipeline.host.spark_session import SETTINGS

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
