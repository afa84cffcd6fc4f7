"""What an Airflow that is already there says: its Variable `isr_pipeline`, and its Connections.

Our own set-up uses environment variables. In an Airflow of somebody else's these are hard to set
for every worker, while a Variable and Connections (in its database or a secret backend) reach all
of them. A value in the environment wins over the Variable. Only Airflow's public interface is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any

from airflow.sdk import BaseHook, Variable
from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError
from pydantic import Field

from isr_pipeline.errors import InputError, Refused
from isr_pipeline.files.checks import Bad, Check, number
from isr_pipeline.files.models import Strict, validated
from isr_pipeline.files.words import shown
from isr_pipeline.host.stack import master_of

VARIABLE = "isr_pipeline"
"""The Airflow Variable: a JSON object of :class:`Settings`."""

SPARK_CONNECTION = "spark_default"

LAUNCHER = "spark-submit"
"""What the Spark provider starts unless the connection's extra `spark-binary` names another."""

ENVIRONMENT = {
    "home": "ISR_PIPELINE_HOME",
    "store": "ISR_PIPELINE_STORE",
    "root": "ISR_PIPELINE_ROOT",
    "config": "ISR_PIPELINE_CONFIG",
    "notify": "ISR_PIPELINE_NOTIFY",
    "mlflow_prefix": "ISR_PIPELINE_MLFLOW_PREFIX",
}
"""Field of :class:`Settings` -> the environment variable that it stands for."""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Bad("a text that is not empty")
    return value


def _settings(value: Any) -> dict[str, str]:
    allowed = 'settings by name, such as {"spark.executor.memory": "4g"}'
    if not isinstance(value, dict):
        raise Bad(allowed)
    for name, one in value.items():
        if not isinstance(name, str) or not isinstance(one, str) or not name.startswith("spark."):
            raise Bad(allowed)
    return value


def _notifiers(value: Any) -> dict[str, dict[str, Any]]:
    if not isinstance(value, dict) or not all(
        isinstance(name, str) and "." in name and isinstance(given, dict)
        for name, given in value.items()
    ):
        raise Bad('classes and their arguments, such as {"package.module.Notifier": {"to": "…"}}')
    return value


Text = Annotated[str, Check("a text that is not empty", _text)]

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
        notify: ``ISR_PIPELINE_NOTIFY``, whom to tell.
        on_failure: Airflow's notifiers for a night that is red or was not judged: class with its
            module -> arguments, in which ``{{ line }}`` is the night's line.
        on_success: the same for a night that is green.
        airflow_connection: connection (HTTP or HTTPS) of this Airflow's own REST API, by which
            runs are given their notes; empty: the address and the generated login of this machine.
        spark_conf: settings that spark-submit is given, by name (``--conf``).
        pool: Airflow pool of the tasks that use Spark; empty: Airflow's default pool.
        run_hours: after which Airflow ends a run of an experiment.
    """

    spark_connection: Text = SPARK_CONNECTION
    spark_conf: Annotated[dict[str, str], Check("settings of Spark by name", _settings)] = Field(
        default_factory=dict
    )
    mlflow_connection: Text = ""
    mlflow_prefix: Text = ""
    home: Text = ""
    store: Text = ""
    root: Text = ""
    config: Text = ""
    notify: Text = ""
    on_failure: Notifiers = Field(default_factory=dict)
    on_success: Notifiers = Field(default_factory=dict)
    airflow_connection: Text = ""
    pool: Text = ""
    run_hours: Annotated[float, number(0, 744.001, "hours, > 0 and <= 744", low_open=True)] = 24.0


@dataclass(frozen=True, slots=True)
class SparkConnection:
    """Where Spark is.

    Attributes:
        conn_id: the connection that says so.
        master: Spark's master URL, as spark-submit is given it.
        launcher: program that submits.
        deploy_mode: `client`, `cluster` or empty, which is Spark's own default.
    """

    conn_id: str
    master: str
    launcher: str
    deploy_mode: str


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
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise InputError(where, "", shown(text), 'a JSON object such as {"home": "/shared/isr"}')
    return validated(Settings, content, where)


def into_environment(chosen: Settings) -> None:
    """Set environment variables of this process, and of what it starts, that are not yet set."""
    for name, variable in ENVIRONMENT.items():
        if getattr(chosen, name):
            os.environ.setdefault(variable, getattr(chosen, name))
    if chosen.mlflow_connection and not os.environ.get("MLFLOW_TRACKING_URI"):
        os.environ.update(_mlflow(chosen.mlflow_connection))


def spark_connection(conn_id: str) -> SparkConnection:
    """Read the connection of Spark as the Spark provider does.

    A connection made in the UI has the type `spark` and often the whole master URL as its host. One
    made from a URI has the URL's scheme as its type (`k8s://https://host:443`, `yarn://yarn`).

    Raises:
        Refused: no such connection. The provider would go on with `yarn`, which nobody said.
    """
    found = _connection(conn_id, "spark, with a master URL as its host")
    extra = found.extra_dejson
    return SparkConnection(
        conn_id,
        master_of(found.conn_type, found.host or "", found.port),
        str(extra.get("spark-binary") or LAUNCHER),
        str(extra.get("deploy-mode") or ""),
    )


def notifiers(wanted: Mapping[str, Mapping[str, Any]]) -> list[Callable[[Any], object]]:
    """Make the notifiers that the settings name.

    Args:
        wanted: class of Airflow's ``BaseNotifier``, with its module -> its arguments. What it
            renders may hold ``{{ line }}``.

    Raises:
        InputError: there is no such class, or it takes no such argument.
    """
    made = []
    for name, arguments in wanted.items():
        module, _, kind = name.rpartition(".")
        try:
            made.append(getattr(import_module(module), kind)(**arguments))
        except (ImportError, AttributeError, ValueError, TypeError) as error:
            where = f"Airflow Variable {VARIABLE}"
            allowed = f"a notifier's class and its arguments ({error})"
            raise InputError(where, "on_failure, on_success", name, allowed) from None
    return made


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
