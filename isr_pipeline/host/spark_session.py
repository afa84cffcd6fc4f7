"""The one place where a Spark session is configured, started or joined."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.finalizer import ThreadSafeFinalizer
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException, PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.host import shipping, spark_place
from isr_pipeline.host.ground import check_master
from isr_pipeline.host.java import LIGHT, java_home, spark_home
from isr_pipeline.host.spark_daemon import PRELOAD
from isr_pipeline.host.spark_errors import in_full
from isr_pipeline.host.spark_watch import watch
from isr_pipeline.host.stack import LOOPBACK, on_this_machine
from isr_pipeline.storage.remote import VARIABLES as STORE_VARIABLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from py4j.clientserver import JavaClient


class SparkFailure(Exception):
    """A job of a joined Spark failed."""


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
    # What Spark keeps of ended work for pages that nobody opens here: it grows until it is full.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "5",
    # A plan of a hundred columns is not worth a warning.
    "spark.sql.debug.maxToStringFields": "1000",
    "spark.python.daemon.module": "isr_pipeline.host.spark_daemon",
    # Through TCP a task's first bytes wait 40 ms for an acknowledgement; and a socket's file keeps
    # other users of the machine out by itself.
    "spark.python.unix.domain.socket.enabled": "true",
}
"""Settings of every session, wherever it runs."""

STARTED = "ISR_PIPELINE_SPARK_STARTED"
"""Environment variable: file to make once a session has started, for whoever submitted the job."""

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
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not submitted:
        os.environ.setdefault("SPARK_HOME", str(spark_home()))
        os.environ["JAVA_HOME"] = str(java_home(Home.from_environment()))
        os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(LIGHT))
    chosen = master or os.environ.get("SPARK_MASTER") or ("" if submitted else "local[*]")
    wherever = chosen or _submitted_master()
    environment = _worker_environment(preload, wherever)
    os.environ.update({name: environment[name] for name in _WORKER_THREADS})

    builder = SparkSession.builder.appName(app)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    if wherever.startswith("spark://"):
        check_master(wherever)
    if shipping.wanted(wherever):
        sent = shipping.shipment(Home.from_environment())
        for key, value in shipping.spark_settings(sent, wherever).items():
            builder = builder.config(key, value)
    for name, value in environment.items():
        builder = builder.config(f"spark.executorEnv.{name}", value)
    if chosen:
        builder = builder.master(chosen)
    if on_this_machine(wherever):
        # On one machine nothing listens on an address that others can reach.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        builder = builder.config("spark.driver.bindAddress", LOOPBACK)
        builder = builder.config("spark.driver.host", LOOPBACK)
    session = _started(builder)
    session.sparkContext.setLogLevel("WARN")
    if not wherever.startswith("local"):
        watch(session.sparkContext, wherever)
    sign = os.environ.get(STARTED)
    if sign:
        Path(sign).touch()
    return session


def _submitted_master() -> str:
    """Master that spark-submit was told, by its options or its configuration."""
    SparkContext._ensure_initialized()
    return str(SparkConf(_jvm=SparkContext._jvm).get("spark.master", "local[*]"))


def _started(builder: SparkSession.Builder) -> SparkSession:
    """Start the session, or join the one of this process.

    Raises:
        Refused: there is no Spark or no Java to start: another try would find none either.
    """
    try:
        return builder.getOrCreate()
    except (FileNotFoundError, PermissionError) as error:
        raise Refused(f"Spark cannot be started: {error.filename}: {error.strerror}") from None
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise Refused(
            f"Spark's Java ({os.environ.get('JAVA_HOME', 'java on PATH')}) ended before it "
            "answered; what it said is above"
        ) from None


@contextlib.contextmanager
def step_session(app: str, preload: Sequence[str] = ()) -> Iterator[SparkSession]:
    """Give a step of a run a session: on the run's Spark, else on one that ends with the step."""
    with joined(app, os.environ.get("SPARK_MASTER")) as session:
        if session is not None:
            yield session
            return
    with _own_signals():
        session = spark_session(app, preload=preload)
    try:
        yield session
    finally:
        session.stop()


@contextlib.contextmanager
def joined(app: str, master: str | None) -> Iterator[SparkSession | None]:
    """Give a session of its own on the Spark that serves the whole run; it keeps running after.

    Args:
        app: the step's name, under which Spark lists its jobs, and which cancels them.
        master: only a Spark with this master; None for any.

    Yields:
        The session; None if there is no such Spark, or it does not answer.

    Raises:
        SparkFailure: a job failed; its text is what Spark says of it.
    """
    place = spark_place.find(master)
    with _own_signals():
        session = None if place is None else _join(place, app)
    try:
        yield session
    except (PySparkException, Py4JJavaError) as error:
        # Its text comes from Java, which is left before anybody reads it.
        raise SparkFailure(in_full(error)).with_traceback(error.__traceback__) from None
    finally:
        if session is not None:
            _leave(session)


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what Ctrl-C does in this process.

    A Spark context in the main thread puts its own answer in the place: to cancel its jobs, which
    is an error of its own once the step has left it, and no KeyboardInterrupt.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _join(place: spark_place.Place, app: str) -> SparkSession | None:
    logging.getLogger("py4j").setLevel(logging.WARNING)
    environment = _worker_environment(place.preload, place.master)
    # What spark-submit tells the Python that it starts; gone again so that none is misled by it.
    variables = {"PYSPARK_GATEWAY_PORT": str(place.port), "PYSPARK_GATEWAY_SECRET": place.secret}
    os.environ.update(variables)
    try:
        gateway = launch_gateway()
        java = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
            gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
        )
        context = SparkContext(gateway=gateway, jsc=java, conf=SparkConf(_jconf=java.getConf()))
    except Exception as error:  # Java may be gone, or about to go, in any way
        logging.getLogger(__name__).warning("the run's Spark does not answer: %s", error)
        return None
    finally:
        for name in variables:
            del os.environ[name]
    context.environment.update(environment)
    context.setJobGroup(app, app, interruptOnCancel=True)
    return SparkSession(context).newSession()


def _leave(session: SparkSession) -> None:
    """End what this process has of a joined session, and leave Spark running."""
    context = session.sparkContext
    context._jsc = None  # what `stop` would stop for everyone
    context.stop()
    _release(context._gateway._gateway_client)
    context._gateway.close()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def _release(client: JavaClient) -> None:
    """Let Java forget all objects that it keeps for this process: sessions, plans, rows.

    py4j keeps an object until its twin in Python is collected and a thread of its own says so; a
    process that leaves says nothing. A Spark that serves many nights would keep all their sessions.
    """
    ours = f"{client.address}{client.port}"  # how py4j's keys begin
    left = [
        key.removeprefix(ours)
        for key in list(ThreadSafeFinalizer.finalizers)
        if key.startswith(ours)
    ]
    with contextlib.suppress(IndexError):  # collected, and not yet said
        while True:
            left.append(client.finalizer_deque.pop()[1])
    for name in left:
        client.garbage_collect_object(name, enqueue=False)


def _worker_environment(preload: Sequence[str], master: str) -> dict[str, str]:
    """Environment variables of Python workers: the caller's own where set.

    Spark keeps workers for as long as their environment is the same, so it names the sources: a
    Spark that outlives a change of them must not go on with the old.

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
