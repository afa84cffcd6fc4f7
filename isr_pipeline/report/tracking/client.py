"""The tracking store: opened once, its errors refused in one line; old nights forgotten."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.words import without_password
from isr_pipeline.base.home import Home

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run


LOCAL_STORES = ("sqlite:", "postgresql:", "postgresql+", "mysql:", "mysql+", "mssql")
"""Stores that this process opens itself, so that it may also remove runs for good."""

KIND_TAG, KIND_CLASSIC = "mlflow.experimentKind", "custom_model_development"
"""How MLflow's pages know that an experiment's runs are not those of a language model."""

PREFIX, DEFAULT_PREFIX = "ISR_PIPELINE_MLFLOW_PREFIX", "isr-pipeline/"
"""Environment variable: begins the names of our experiments in MLflow, which others may share."""

OWN_TAG = "isr_pipeline"
"""Tag of an MLflow experiment that is ours; its value is the name in ``config/experiments``."""

BASELINE_TAG, ACCEPTED = "baseline", "accepted"
"""Tag of a night's parent run that is the baseline, or was, and its value while it is."""

MOST_RUNS = 1_000
"""Page size of a search; a night has some tens of runs."""


def connect() -> MlflowClient:
    """Open the store named by ``MLFLOW_TRACKING_URI``, or the SQLite file in the home.

    Raises:
        Refused: it cannot be opened.
    """
    # Before the import: MLflow reads these once.
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
    home = Home.from_environment()
    with refused_in_one_line():
        home.path.mkdir(parents=True, exist_ok=True)
        from mlflow import MlflowClient  # noqa: PLC0415 - two seconds, and the settings above

        for name in ("alembic", "mlflow.store.db.utils", "mlflow.tracking.fluent"):
            logging.getLogger(name).setLevel(logging.ERROR)
        return MlflowClient(tracking_uri=home.mlflow_uri)


def name_of(experiment: str) -> str:
    """Name in MLflow of an experiment, or of a part of one, such as ``smoke/trends``."""
    return f"{os.environ.get(PREFIX) or DEFAULT_PREFIX}{experiment}"


def experiment_id(client: MlflowClient, experiment: str) -> str:
    """Id of an experiment; made if it is not there, restored if it was deleted.

    It is one of the classic kind, so that a browser shows runs, and asks nobody which view to take.

    Raises:
        Refused: somebody else has an experiment of that name.
    """
    from mlflow.entities import ViewType  # noqa: PLC0415

    name = name_of(experiment)
    for found in client.search_experiments(
        view_type=ViewType.ALL, filter_string=f"name = '{name}'"
    ):
        if found.tags.get(OWN_TAG) != experiment:
            raise Refused(
                f"MLflow has an experiment {name} that is not ours (no tag {OWN_TAG} = "
                f"{experiment}); nothing was logged, set {PREFIX} to another beginning of names"
            )
        if found.lifecycle_stage == "deleted":
            client.restore_experiment(found.experiment_id)
        return str(found.experiment_id)
    home = Home.from_environment()
    location = None
    if is_local(home.mlflow_uri):
        location = (home.mlflow_artifacts / name.replace("/", ".")).as_uri()
    tags = {KIND_TAG: KIND_CLASSIC, OWN_TAG: experiment}
    return str(client.create_experiment(name, artifact_location=location, tags=tags))


def is_local(uri: str) -> bool:
    """Whether this process opens the store itself (no tracking server in between)."""
    return uri.startswith(LOCAL_STORES)


def find_runs(client: MlflowClient, experiment: str, /, **tags: str) -> list[Run]:
    """Active runs of an experiment whose tags have these values, newest first."""
    known = client.get_experiment_by_name(name_of(experiment))
    if known is None:
        return []
    wanted = " and ".join(f"tags.{name} = '{value}'" for name, value in tags.items())
    runs: list[Run] = []
    token = None
    while True:
        page = client.search_runs(
            [known.experiment_id], wanted, max_results=MOST_RUNS, page_token=token
        )
        runs.extend(page)
        token = page.token
        if not token:
            return runs


def remove_runs(client: MlflowClient, run_ids: Sequence[str]) -> None:
    """Delete runs with their artifacts; for good where no tracking server owns the store."""
    for run_id in run_ids:
        client.delete_run(run_id)
    uri = Home.from_environment().mlflow_uri
    if not run_ids or not is_local(uri):
        return
    from mlflow.cli import gc  # noqa: PLC0415 - a second, and seldom needed

    chosen = ["--backend-store-uri", uri, "--tracking-uri", uri, "--run-ids", ",".join(run_ids)]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        gc.main(args=chosen, standalone_mode=False)
    for run_id in run_ids:
        # MLflow removes what is in a run's folder and leaves the folder (a store has none).
        artifacts = Home.from_environment().mlflow_artifacts
        if isinstance(artifacts, Path):
            for folder in artifacts.glob(f"*/{run_id}"):
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def refused_in_one_line() -> Iterator[None]:
    """Turn whatever goes wrong with the store into one line that a person can act on.

    Raises:
        Refused: naming the store and what it answered.
    """
    try:
        yield
    except Refused:
        raise
    except Exception as problem:
        if not _is_store_trouble(problem):
            raise
        msg = (
            f"MLflow store {Home.from_environment().mlflow_uri} cannot be used: "
            f"{_first_words(problem)}; nothing was logged, make it writable or set "
            "MLFLOW_TRACKING_URI"
        )
        raise Refused(without_password(msg)) from problem


def _is_store_trouble(problem: Exception) -> bool:
    module = type(problem).__module__.partition(".")[0]
    return isinstance(problem, OSError) or module in {
        "mlflow",
        "sqlalchemy",
        "sqlite3",
        "requests",
        "alembic",
    }


def _first_words(problem: Exception) -> str:
    text = str(problem)
    found = re.search(r"OperationalError\) ([^\n]*)", text) or re.search(
        r"establish a new connection: (?:\[Errno \d+\] )?([\w ]+)", text
    )
    words = found.group(1) if found else next(iter(text.splitlines()), type(problem).__name__)
    return words.strip().rstrip(".")


def delete_night(experiment: str, night: str) -> int:
    """Remove every run of one night: its parent, its children, debris of attempts.

    That of the baseline stays with its children, where a later run of its date replaced it.

    Returns:
        Number of runs removed.

    Raises:
        Refused: the store cannot be read or written.
    """
    client = connect()
    with refused_in_one_line():
        found = find_runs(client, experiment, night=night)
        kept = {run.info.run_id for run in found if run.data.tags.get(BASELINE_TAG) == ACCEPTED}
        runs = [
            run.info.run_id
            for run in found
            if kept.isdisjoint((run.info.run_id, run.data.tags.get("mlflow.parentRunId")))
        ]
        remove_runs(client, runs)
    return len(runs)
