"""The one place where a Spark session is configured."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from isr_pipeline.experiment.java import java_home
from isr_pipeline.home import Home
from isr_pipeline.outcomes.daemon import PRELOAD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SETTINGS: Mapping[str, str] = {
    # Without Arrow a missing text becomes the word 'nan' on its way to pandas 3.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # An error of a worker is an error: no second try without Arrow.
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "WARN",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.parquet.compression.codec": "zstd",
    # Our shuffles are of summaries; Spark's default of 200 would be 200 empty tasks.
    "spark.sql.shuffle.partitions": "8",
    # A plan of a hundred columns is not worth a warning.
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.python.daemon.module": "isr_pipeline.outcomes.daemon",
}
"""Settings of every session, wherever it runs."""

JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java whose work is short and small (the long work is the kernel's, in Python): its second
compiler would spend ten seconds of processor time a job on code that is soon thrown away. Where
spark-submit starts Java, the environment variable ``SPARK_SUBMIT_OPTS`` has to say the same."""

LOOPBACK = "127.0.0.1"

_WORKER_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def spark_session(app: str, master: str | None = None, preload: Sequence[str] = ()) -> SparkSession:
    """Start a Spark session, or return the one that runs in this process.

    Python workers are this interpreter, with one thread each for numerical libraries (Spark
    already starts one worker a core, and sums over one thread come out the same everywhere),
    and share one folder of compiled kernels.

    Args:
        app: name shown in Spark's own lists.
        master: ``local[2]``, ``spark://…``; if None what spark-submit says, else
            ``SPARK_MASTER``, else ``local[*]``.
        preload: modules that workers import before they are forked.
    """
    environment = _worker_environment()
    os.environ.update(environment)
    environment[PRELOAD] = ",".join(preload)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        os.environ["JAVA_HOME"] = str(java_home(Home.from_environment()))
        os.environ.setdefault("SPARK_SUBMIT_OPTS", JAVA_OPTIONS)
    chosen = master or os.environ.get("SPARK_MASTER") or ("" if submitted else "local[*]")

    builder = SparkSession.builder.appName(app)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    for name, value in environment.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    if chosen:
        builder = builder.master(chosen)
    if not chosen or chosen.startswith(("local", f"spark://{LOOPBACK}", "spark://localhost")):
        # On one machine nothing listens on an address that others can reach.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        builder = builder.config("spark.driver.bindAddress", LOOPBACK)
        builder = builder.config("spark.driver.host", LOOPBACK)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("WARN")
    return session


def _worker_environment() -> dict[str, str]:
    """Environment variables that Python workers need, unless the caller has set them."""
    names = ("ISR_PIPELINE_HOME", "NUMBA_CACHE_DIR")
    given = {name: os.environ[name] for name in names if name in os.environ}
    return given | {name: os.environ.get(name, "1") for name in _WORKER_THREADS}
