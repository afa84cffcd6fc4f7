"""What an Airflow that is already there says: its Variable `isr_pipeline`, and its Connections.

Our own set-up uses environment variables. In an Airflow of somebody else's these are hard to set
for every worker, while a Variable and Connections (in its database or a secret backend) reach all
of them. A value in the environment wins over the Variable. Only Airflow's public interface is read.

Whoever may edit the Variable must not run programs by it. So it names no code but notifiers
(`notifiers.py` says which), of Spark's settings sizes alone, and no program but a Python for which
somebody has installed this package (`elsewhere.py`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from airflow.sdk import BaseHook, Variable
from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError
from pydantic import Field

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.extras import install
from isr_pipeline.base.files.checks import Bad, Check, number
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.words import shown
from isr_pipeline.night.stack import master_of

VARIABLE = "isr_pipeline"
"""The Airflow Variable: a JSON object of :class:`Settings`."""

SPARK_CONNECTION = "spark_default"

KUBERNETES = "apache-airflow-providers-cncf-kubernetes"

LAUNCHER = "spark-submit"
"""What the Spark provider starts unless the connection's extra `spark-binary` names another."""

ENVIRONMENT = {
    "home": "ISR_PIPELINE_HOME",
    "store": "ISR_PIPELINE_STORE",
    "root": "ISR_PIPELINE_ROOT",
    "config": "ISR_PIPELINE_CONFIG",
    "mlflow_prefix": "ISR_PIPELINE_MLFLOW_PREFIX",
}
"""Field of :class:`Settings` -> the environment variable that it stands for."""

SIZES = frozenset(
    {
        "spark.cores.max",
        "spark.default.parallelism",
        "spark.driver.maxResultSize",
        "spark.driver.memory",
        "spark.dynamicAllocation.enabled",
        "spark.dynamicAllocation.initialExecutors",
        "spark.dynamicAllocation.maxExecutors",
        "spark.dynamicAllocation.minExecutors",
        "spark.dynamicAllocation.shuffleTracking.enabled",
        "spark.executor.cores",
        "spark.executor.heartbeatInterval",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.executor.memoryOverhead",
        "spark.executor.pyspark.memory",
        "spark.kubernetes.executor.limit.cores",
        "spark.kubernetes.executor.request.cores",
        "spark.network.timeout",
        "spark.sql.shuffle.partitions",
        "spark.task.cpus",
        "spark.task.maxFailures",
    }
)
"""What the Variable may set of Spark. A list of what may not would never be whole: each release and
plug-in of Spark brings settings that name programs, jars, classes, options or files."""

_SIZE = re.compile(r"[0-9A-Za-z.]+")
"""A number with or without a unit, or a truth value. Airflow renders settings as templates, which
read the secrets of other connections: braces are none of these."""

_CLASS = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)
"""A class with its module, no part of it private: `flask.__main__` runs a program when imported."""

_PYTHON = re.compile(r"python(3(\.\d+)?)?")

_LINE = re.compile(r"(?<!\{)\{\{ *line *\}\}(?!\})")
_TEMPLATE = re.compile(r"\{[{%#]")

_TEXT = "a text that is not empty, of one line"


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise Bad(_TEXT)
    return value


def _python(value: Any) -> str:
    path = Path(_text(value))
    if not path.is_absolute() or ".." in path.parts or not _PYTHON.fullmatch(path.name):
        raise Bad("a Python by its whole path, such as /opt/isr/bin/python")
    return str(path)


def _sizes(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise Bad('sizes by name, such as {"spark.executor.memory": "4g"}')
    for name, one in value.items():
        if name not in SIZES:
            raise Bad(
                "sizes of Spark's job (docs/deploy.md lists them); "
                "other settings stand as `conf` in the extra of Spark's Connection",
                (name,),
                "no size",  # its value may be a secret
            )
        if not isinstance(one, str) or not _SIZE.fullmatch(one):
            raise Bad(
                'a number and its unit, true or false, as a text such as "4g"', (name,), shown(one)
            )
    return value


def _notifiers(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(
        _CLASS.fullmatch(name) and isinstance(given, dict) for name, given in value.items()
    ):
        raise Bad('classes and their arguments, such as {"package.module.Notifier": {"to": "…"}}')
    for name, given in value.items():
        for text in _texts(given):
            # Other templates read Connections and Variables, whose secrets the notifier would tell.
            if _TEMPLATE.search(_LINE.sub("", text)):
                raise Bad("no template but {{ line }}", (name,), shown(text))
    return value


def _texts(value: Any) -> Iterator[str]:
    """Every text in what JSON holds, keys among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from (name, *_texts(one))
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)


Text = Annotated[str, Check(_TEXT, _text)]

Python = Annotated[str, Check("a Python by its whole path", _python)]

Notifiers = Annotated[
    dict[str, dict[str, Any]], Check("classes of notifiers and their arguments", _notifiers)
]


class Settings(Strict):
    """Content of the Airflow Variable `isr_pipeline`; everything may be left out.

    Attributes:
        spark_connection: connection that says where Spark is.
        mlflow_connection: connection (HTTP or HTTPS) of the MLflow server; empty: what
            ``MLFLOW_TRACKING_URI`` names, else a file in the home.
        mlflow_prefix: ``ISR_PIPELINE_MLFLOW_PREFIX``, which begins the names of experiments there.
        home: ``ISR_PIPELINE_HOME``, a folder that all workers see.
        store: ``ISR_PIPELINE_STORE``, where all that nights make lies.
        root: ``ISR_PIPELINE_ROOT``, where tables lie.
        config: ``ISR_PIPELINE_CONFIG``, a folder of experiments.
        on_failure: Airflow's notifiers for a night that is red or was not judged: class with its
            module -> arguments, in which ``{{ line }}`` is the night's line.
        on_success: the same for a night that is green.
        airflow_connection: connection (HTTP or HTTPS) of this Airflow's own REST API, by which
            runs are given their notes; empty: the address and the generated login of this machine.
        spark_conf: sizes that spark-submit is given, by name (``--conf``): of :data:`SIZES`.
        pool: Airflow pool of the tasks that use Spark; empty: Airflow's default pool.
        run_hours: after which Airflow ends a run of an experiment.
        retry_delay: seconds before Airflow tries a task again, as its own setting has them.
        python: in which steps and Spark's drivers run, in an environment that has this package;
            empty: Airflow's own.
    """

    spark_connection: Text = SPARK_CONNECTION
    spark_conf: Annotated[dict[str, str], Check("sizes of Spark's job by name", _sizes)] = Field(
        default_factory=dict
    )
    mlflow_connection: Text = ""
    mlflow_prefix: Text = ""
    home: Text = ""
    store: Text = ""
    root: Text = ""
    config: Text = ""
    on_failure: Notifiers = Field(default_factory=dict)
    on_success: Notifiers = Field(default_factory=dict)
    airflow_connection: Text = ""
    pool: Text = ""
    run_hours: Annotated[float, number(0, 744.001, "hours, > 0 and <= 744", low_open=True)] = 24.0
    retry_delay: Annotated[float, number(0, 86_400, "seconds, 0 to 86400", high_too=True)] = 5.0
    python: Python = ""


@dataclass(frozen=True, slots=True)
class SparkConnection:
    """Where Spark is.

    Attributes:
        conn_id: the connection that says so.
        master: Spark's master URL, as spark-submit is given it.
        launcher: program that submits.
        conf: settings of Spark by name, which win over those of the Variable.
    """

    conn_id: str
    master: str
    launcher: str
    conf: dict[str, str]


def settings() -> Settings:
    """Read the Variable; defaults where there is none.

    Raises:
        InputError: it is no JSON object, or has a key or value that is not allowed.
    """
    text = Variable.get(VARIABLE, default=None)
    where = f"Airflow Variable {VARIABLE}"
    if not text:
        return Settings()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise InputError(where, "", shown(text), 'a JSON object such as {"home": "/shared/isr"}')
    if "notify" in content:
        allowed = (
            "ISR_PIPELINE_NOTIFY in the environment: it names code, which the Variable may not"
        )
        raise InputError(where, "notify", shown(content["notify"]), allowed)
    return validated(Settings, content, where)


def at_parsing() -> Settings:
    """Read the Variable where a file of DAGs is read: for what these are made of.

    Places are set as environment variables, for they say which experiments there are. No Connection
    is asked for: that is for tasks, each of which reads the Variable when it begins.
    """
    chosen = settings()
    _set_places(chosen)
    return chosen


def into_environment(chosen: Settings) -> None:
    """Set environment variables of this process, and of what it starts, that are not yet set."""
    _set_places(chosen)
    if chosen.mlflow_connection and not os.environ.get("MLFLOW_TRACKING_URI"):
        os.environ.update(_mlflow(chosen.mlflow_connection))


def _set_places(chosen: Settings) -> None:
    for name, variable in ENVIRONMENT.items():
        if getattr(chosen, name):
            os.environ.setdefault(variable, getattr(chosen, name))


def spark_connection(conn_id: str) -> SparkConnection:
    """Read the connection of Spark as the Spark provider does.

    A connection made in the UI has the type `spark` and often the whole master URL as its host. One
    made from a URI has the URL's scheme as its type (`k8s://https://host:443`, `yarn://yarn`).

    The provider reads no settings of Spark there: its extra `conf` is ours.

    Raises:
        Refused: no such connection (the provider would go on with `yarn`, which nobody said), or
            nights cannot use what it says.
    """
    found = _connection(conn_id, "spark, with a master URL as its host")
    extra = found.extra_dejson
    where = f"connection {conn_id}"
    mode = extra.get("deploy-mode") or "client"
    if mode != "client":
        raise Refused(
            f"{where}: deploy-mode: {mode}; allowed: client, for a job's driver reads files of "
            "Airflow's worker"
        )
    master = master_of(found.conn_type, found.host or "", found.port)
    _check_kubernetes(master, where)
    launcher = str(extra.get("spark-binary") or LAUNCHER)
    return SparkConnection(conn_id, master, launcher, _conf(extra.get("conf") or {}, where))


def _conf(given: Any, where: str) -> dict[str, str]:
    """Settings of Spark in a connection; a refusal shows no value, which may be a secret."""
    allowed = 'settings and their texts, such as {"spark.log.level": "INFO"}'
    if not isinstance(given, dict):
        raise Refused(f"{where}: conf: no JSON object; allowed: {allowed}")
    for name, one in given.items():
        if not name.startswith("spark.") or not isinstance(one, str):
            raise Refused(f"{where}: conf: {name}; allowed: {allowed}")
    return given


def _check_kubernetes(master: str, where: str) -> None:
    """Refuse a master for which the Spark provider needs that of Kubernetes, if it is not there."""
    if "k8s" not in master:  # the provider's own rule
        return
    try:
        metadata.version(KUBERNETES)
    except metadata.PackageNotFoundError:
        raise Refused(
            f"{where}: {master}: Airflow needs {KUBERNETES} for it; allowed: another master, or "
            f"{install('k8s')}"
        ) from None


def _mlflow(conn_id: str) -> dict[str, str]:
    """Address and login of MLflow, as its client reads them."""
    names = ("MLFLOW_TRACKING_URI", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")
    found = zip(names, address_of(conn_id), strict=True)
    return {name: value for name, value in found if value}


def address_of(conn_id: str) -> tuple[str, str, str]:
    """Address, login and password of a server that a connection names.

    Raises:
        Refused: no such connection, or it names no host.
    """
    found = _connection(conn_id, "http, with the address of the server")
    if not found.host:
        raise Refused(f"connection {conn_id}: no host; allowed: the address of the server")
    scheme = found.schema or ("https" if found.conn_type == "https" else "http")
    host = found.host if "://" in found.host else f"{scheme}://{found.host}"
    port = f":{found.port}" if found.port else ""
    return f"{host}{port}", found.login or "", found.password or ""


def _connection(conn_id: str, allowed: str) -> Any:
    try:
        return BaseHook.get_connection(conn_id)
    except (AirflowNotFoundException, AirflowRuntimeError):
        raise Refused(
            f"connection {conn_id}: Airflow has none; allowed: a connection of type {allowed}"
        ) from None
