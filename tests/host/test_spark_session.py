"""The Spark session is ours in every setting that matters."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.night.spark.java import driver_variables, java_home
from isr_pipeline.night.spark.spark_session import SETTINGS
from tests.saying import finished

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


TOLD = """
import json, sys
from isr_pipeline.night.spark.spark_session import spark_session

spark = spark_session("job")
context = spark.sparkContext
names = ("spark.ui.enabled", "spark.python.daemon.module", "spark.log.level")
found = {name: spark.conf.get(name) for name in names}
variables = {"threads": context.getConf().get("spark.executorEnv.OMP_NUM_THREADS")}
print("told", json.dumps({**found, **variables, "app": context.appName, "at": context.master}))
"""


@pytest.mark.slow
def test_what_spark_submit_is_given_stays(tmp_path: Path) -> None:
    """Master, name, settings and variables of workers; of the rest ours hold."""
    job = tmp_path / "job.py"
    job.write_text(TOLD)
    given = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.log.level": "ERROR",
        "spark.executorEnv.OMP_NUM_THREADS": "3",
    }
    options = [word for name, value in given.items() for word in ("--conf", f"{name}={value}")]
    launcher = str(Path(sys.executable).parent / "spark-submit")
    done = finished(
        [launcher, "--master", "local[1]", "--name", "named", *options, str(job)],
        env={**os.environ, **driver_variables(java_home(Home.from_environment()))}
        | {"SPARK_MASTER": "local[2]", "PYSPARK_PYTHON": sys.executable}
        | {"PYSPARK_DRIVER_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.partition("told ")[2].splitlines()[0]) == {
        "spark.ui.enabled": "true",
        "spark.log.level": "ERROR",
        "spark.python.daemon.module": "isr_pipeline.night.spark.spark_daemon",
        "threads": "3",
        "app": "named",
        "at": "local[1]",
    }
