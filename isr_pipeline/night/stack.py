"""The environment in which a night's programs run: Airflow, Spark, MLflow, Great Expectations.

Everything is said by environment variables, so that the same DAG runs unchanged from
``make nightly``, from ``make ui`` and in containers (whose compose file sets its own).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.home import SHIPPED, Home, ui_port
from isr_pipeline.night.spark.java import driver_variables, java_home
from isr_pipeline.night.surroundings import own

CONNECTION = "AIRFLOW_CONN_SPARK_DEFAULT"
_CONNECTIONS = 'a URI, or JSON such as {"conn_type": "spark", "host": "local[*]"}'

LOOPBACK = "127.0.0.1"

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

DATABASE = "isr_pipeline.night.airflow.database"
"""Module that tells Airflow how to open its database."""


def environment(home: Home, *, spark_master: str | None = None) -> dict[str, str]:
    """Variables for every program of a night: the caller's own, and what the stack needs.

    A variable that the caller has set wins where it names a place or a server (``AIRFLOW_HOME``,
    ``AIRFLOW_CONN_SPARK_DEFAULT``, ``MLFLOW_TRACKING_URI``, ...); what correctness depends on
    (UTC, the interpreter of the workers, which Spark) is always set.

    Args:
        home: where state lives.
        spark_master: Spark master URL; if None ``SPARK_MASTER``, else the connection that is set,
            else ``local[*]``.

    Raises:
        Refused: no Java that Spark runs on.
    """
    binaries = Path(sys.executable).parent
    java = java_home(home)
    spark_master = spark_master or os.environ.get("SPARK_MASTER") or None
    chosen = {
        "ISR_PIPELINE_HOME": str(home.path),
        "ISR_PIPELINE_ROOT": home.root,
        **({"ISR_PIPELINE_STORE": home.store} if home.store else {}),
        "PATH": os.pathsep.join([str(binaries), os.environ.get("PATH", os.defpath)]),
        **driver_variables(java),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONUNBUFFERED": "1",
        "TZ": "UTC",
        "AIRFLOW__CORE__DAGS_FOLDER": str(SHIPPED / "dags"),
    }
    if spark_master is not None:
        chosen["AIRFLOW_CONN_SPARK_DEFAULT"] = spark_connection(spark_master)
    defaults = {
        "HOME": str(home.path),
        "SPARK_LOCAL_DIRS": str(home.path / "spark"),
        "MLFLOW_TRACKING_URI": home.mlflow_uri,
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "GX_ANALYTICS_ENABLED": "false",
        "GIT_PYTHON_REFRESH": "quiet",
        "AIRFLOW_CONN_SPARK_DEFAULT": spark_connection("local[*]"),
        **_airflow_defaults(home),
    }
    if on_this_machine(wanted_master(spark_master)):
        defaults["SPARK_LOCAL_IP"] = LOOPBACK
    return {**defaults, **_inherited(home), **chosen}


def _inherited(home: Home) -> dict[str, str]:
    """Return the caller's variables, without the kernel cache that this process chose for itself.

    Its name holds a digest of the kernel's sources: Airflow may run for days, and each task has to
    look at the sources again.
    """
    given = {name: value for name, value in own(os.environ).items() if value}
    if given.get("NUMBA_CACHE_DIR", "").startswith(f"{home.numba_cache}{os.sep}"):
        del given["NUMBA_CACHE_DIR"]
    return given


def _airflow_defaults(home: Home) -> dict[str, str]:
    """Airflow on one machine: SQLite, LocalExecutor, addresses on the loopback only."""
    port = ui_port("airflow")
    return {
        "AIRFLOW_HOME": str(home.airflow),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS": f"{DATABASE}.CONNECT_ARGS",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONNECT_ARGS_ASYNC": f"{DATABASE}.CONNECT_ARGS_ASYNC",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        # Where a file of an experiment is wrong the line that says so, and no frames of ours.
        "AIRFLOW__CORE__DAGBAG_IMPORT_ERROR_TRACEBACKS": "False",
        # A worker is a process; two are enough where Spark itself uses every core.
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__API__WORKERS": "1",
        # A worker notices the end of its task when it next says that it lives: 5 s by default.
        "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "1",
        # A run that `make ui` takes up again begins before the API serves: 5 tries are 15 s, 8 were
        # not enough on a machine with nine programs for each core, where the API took 40 s.
        "AIRFLOW__WORKERS__EXECUTION_API_RETRIES": "15",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "60",
        # Else a DAG that was written half a minute ago, without today's experiments, would stay.
        "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
        # Off on a person's machine: Airflow would follow a backfill with tonight's whole grid.
        "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    }


def spark_connection(master: str) -> str:
    """Airflow connection ``spark_default`` (JSON) for a Spark master URL."""
    return json.dumps(
        {"conn_type": "spark", "host": master, "extra": {"spark-binary": "spark-submit"}}
    )


def master_of(kind: str, host: str, port: object) -> str:
    """Master URL of a connection, by the Spark provider's rule.

    Args:
        kind: type of the connection; of one written as a URI its scheme.
        host: often the whole master URL.
        port: None or 0 for none.
    """
    end = f":{port}" if port else ""
    is_whole = kind == "spark" and host and ("://" in host or not port)
    return f"{host}{end}" if is_whole else f"{kind}://{host}{end}"


def on_this_machine(master: str) -> bool:
    """Whether a master and its workers are here, so that nothing has to listen for others."""
    return master.startswith(("local", f"spark://{LOOPBACK}:", "spark://localhost:"))


def wanted_master(named: str | None = None) -> str:
    """Master URL that nights on this machine are given.

    Args:
        named: on the command line; None: the variable's or the connection's, else ``local[*]``.

    Raises:
        InputError: the connection that is set is no connection.
    """
    master = named or os.environ.get("SPARK_MASTER")
    connection = os.environ.get(CONNECTION, "")
    if master or not connection:
        return master or "local[*]"
    try:
        if connection.lstrip().startswith("{"):
            given = json.loads(connection)
            kind, host, port = given.get("conn_type", "spark"), given["host"], given.get("port")
        else:
            kind, end = connection.split("://", 1)
            host, _, port = urlsplit(f"//{end}").netloc.rpartition("@")[2].partition(":")
        return master_of(str(kind), unquote(str(host)), port)
    except (KeyError, ValueError):
        raise InputError(CONNECTION, "", connection, _CONNECTIONS) from None


def stop_on_signals() -> None:
    """Make Ctrl-C, a polite kill and a closed terminal raise KeyboardInterrupt, once.

    What comes after the first is ignored: it would break off the stopping itself.
    """

    def stop(*_: object) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in STOP_SIGNALS:
        signal.signal(number, stop)


def migrate(home: Home, variables: Mapping[str, str]) -> None:
    """Bring Airflow's database to the installed version, once per version.

    Args:
        home: where state lives.
        variables: environment of Airflow.

    Raises:
        Refused: it cannot be brought there.
    """
    version = metadata.version("apache-airflow")
    stamp = home.airflow / ".database-version"
    if stamp.is_file() and stamp.read_text() == version:
        return
    log = home.airflow / "logs" / "migrate.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        done = subprocess.run(
            ["airflow", "db", "migrate"],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise Refused(f"Airflow's database could not be migrated to {version}; see {log}")
    stamp.write_text(version)


def free_port() -> int:
    """Return a port on the loopback that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def port_in_use(port: int) -> bool:
    """Tell whether something listens on a port of the loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
