"""The one place where a Spark session is configured and started."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.remote import VARIABLES as STORE_VARIABLES
from isr_pipeline.night.preconditions import check_master
from isr_pipeline.night.spark import shipping
from isr_pipeline.night.spark.java import LIGHT, java_home, spark_home
from isr_pipeline.night.spark.spark_daemon import PRELOAD
from isr_pipeline.night.spark.spark_watch import watch
from isr_pipeline.night.spark.submit import STARTED
from isr_pipeline.night.stack import LOOPBACK, on_this_machine

SETTINGS: Mapping[str, str] = {
    "spark.log.level": "WARN",
    "spark.python.daemon.module": "isr_pipeline.night.spark.spark_daemon",
    # Through TCP a task's first bytes wait 40 ms for an acknowledgement; and a socket's file keeps
    # other users of the machine out by itself.
    "spark.python.unix.domain.socket.enabled": "true",
}
"""Settings of every session; what spark-submit or Spark's own configuration says goes before."""

HERE: Mapping[str, str] = {
    # On one machine nothing listens on an address that others can reach, and there is no page.
    "spark.driver.bindAddress": LOOPBACK,
    "spark.driver.host": LOOPBACK,
    "spark.ui.enabled": "false",
}
"""Settings of a session whose workers are on this machine."""

_WORKER_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def spark_session(app: str, master: str | None = None, preload: Sequence[str] = ()) -> SparkSession:
    """Start the Spark session of this process, or return the one that it has.

    Python workers are this interpreter, with one thread each for numerical libraries (Spark
    already starts one worker a core, and sums over one thread come out the same everywhere),
    and share one folder of compiled kernels. A setting of ours never replaces one that is given.

    Args:
        app: name shown in Spark's own lists.
        master: ``local[2]``, ``spark://…``; if None what spark-submit says, else
            ``SPARK_MASTER``, else ``local[*]``.
        preload: modules that workers import before they are forked.

    Raises:
        Refused: there is no Spark or no Java to start: another try would find none either.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        os.environ.setdefault("SPARK_HOME", str(spark_home()))
        os.environ["JAVA_HOME"] = str(java_home(Home.from_environment()))
        os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(LIGHT))
        if on_this_machine(master or os.environ.get("SPARK_MASTER") or "local[*]"):
            os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    gateway = _gateway()
    given = gateway.jvm.SparkConf()
    named = given.get("spark.master", os.environ.get("SPARK_MASTER") or "local[*]")
    wherever = master or str(named)
    if wherever.startswith("spark://"):
        check_master(wherever)
    conf = SparkConf()
    for key, value in _wanted(app, wherever, preload).items():
        if not given.contains(key):
            conf.set(key, value)
    conf.setMaster(wherever)
    SparkContext(conf=conf, gateway=gateway)
    if not wherever.startswith("local"):
        watch(gateway.jvm.org.apache.spark.SparkContext.getOrCreate(), wherever)
    sign = os.environ.get(STARTED)
    if sign:
        Path(sign).touch()
    return SparkSession.builder.getOrCreate()


def _gateway() -> Any:
    """Java, in which spark-submit or we start Spark.

    Raises:
        Refused: there is none that starts.
    """
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        # A program that nobody submitted is a shell to Spark, which would draw bars.
        return launch_gateway(SparkConf().set("spark.ui.showConsoleProgress", "false"))
    except (FileNotFoundError, PermissionError) as error:
        raise Refused(f"Spark cannot be started: {error.filename}: {error.strerror}") from None
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise Refused(
            f"Spark's Java ({os.environ.get('JAVA_HOME', 'java on PATH')}) ended before it "
            "answered; what it said is above"
        ) from None


def _wanted(app: str, master: str, preload: Sequence[str]) -> dict[str, str]:
    """Every setting that we would have."""
    environment = _worker_environment(preload, master)
    os.environ.update({name: environment[name] for name in _WORKER_THREADS})
    shipped = {}
    if shipping.wanted(master):
        shipped = shipping.spark_settings(shipping.shipment(Home.from_environment()), master)
    return {
        "spark.app.name": app,
        **SETTINGS,
        **(HERE if on_this_machine(master) else {}),
        **shipped,
        **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
    }


def _worker_environment(preload: Sequence[str], master: str) -> dict[str, str]:
    """Environment variables of Python workers: the caller's own where set.

    Which Python they are is said by this process's ``PYSPARK_PYTHON``, where Spark looks for it.
    """
    # Credentials are no setting of Spark's, which shows its settings: they are the worker's own.
    store = {name: os.environ[name] for name in STORE_VARIABLES if name in os.environ}
    threads = {name: os.environ.get(name, "1") for name in _WORKER_THREADS}
    fixed = {PRELOAD: ",".join(preload), "ISR_PIPELINE_SOURCES": shipping.package_digest()}
    if shipping.wanted(master):
        os.environ["PYSPARK_PYTHON"] = shipping.PYTHON
        sent = shipping.shipment(Home.from_environment())
        return {**shipping.worker_variables(sent), **store, **threads, **fixed}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    names = ("ISR_PIPELINE_HOME", "NUMBA_CACHE_DIR")
    given = {name: os.environ[name] for name in names if name in os.environ}
    return {**given, **store, **threads, **fixed}
