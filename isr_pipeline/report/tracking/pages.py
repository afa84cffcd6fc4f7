"""Where a browser finds a night in MLflow, without asking MLflow.

Two kinds of address outlive the server that they were written beside: one within MLflow, which is
relative to whatever shows it, and one within Airflow, whose server looks where MLflow is now.

What has no MLflow at hand (Airflow's scheduler, which writes the note of a run) reads it from the
night's folder.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import without_password
from isr_pipeline.base.home import Home, served_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.base.storage.places import Place

VARIABLE = "ISR_PIPELINE_MLFLOW_URL"
"""Environment variable: MLflow as browsers reach it, where that is not the tracking URI."""

AIRFLOW = "ISR_PIPELINE_AIRFLOW_URL"
"""Environment variable: Airflow as browsers reach it, where a run's own ends with the run."""

BY_AIRFLOW = "/isr"
"""Begins addresses within Airflow of the pages of nights."""

VIEW = "workflowType=machine_learning"
"""Without it, MLflow's pages show somebody who never chose a view the one for language models."""

ORDER = "order"
"""Tag by which runs are charted: MLflow draws the ten that its list has first."""

FILE = "mlflow.json"

NOTE_TAG = "mlflow.note.content"
"""MLflow's own tag of the description of a run or an experiment."""

IN_PROCESS = "in-process__"
"""Begins the run id of a night that ran without Airflow, which has no page of it."""


def remember(folder: Place, *, experiment_id: str, run_id: str) -> None:
    """Note in the folder of a run of a night which run in MLflow is its parent."""
    known = {"experiment_id": experiment_id, "run_id": run_id}
    write_whole(folder / FILE, json.dumps(known) + "\n")


def run_page(folder: Place) -> str | None:
    """Address of the parent run of what a folder holds; None if it was not logged."""
    known = _remembered(folder)
    return f"{server()}/{_run(*known)}?{VIEW}" if known else None


def report_page(folder: Place) -> str | None:
    """Address of the report in MLflow, which shows it; None if it was not logged."""
    known = _remembered(folder)
    return f"{server()}/{report_of(*known)}" if known else None


def report_of(experiment_id: str, run_id: str) -> str:
    """Address within MLflow of the report among the files of a night's parent run."""
    return f"{_run(experiment_id, run_id)}/artifacts/report.html?{VIEW}"


def _run(experiment_id: str, run_id: str) -> str:
    return f"#/experiments/{experiment_id}/runs/{run_id}"


def _remembered(folder: Place) -> tuple[str, str] | None:
    """MLflow's ids of the experiment and of the night's parent run; None if it was not logged."""
    try:
        kept = json.loads((folder / FILE).read_text())
        return str(kept["experiment_id"]), str(kept["run_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def runs_of(folder: Place, experiment: str, night: str) -> str | None:
    """Address of a night's run, or, before it is logged, of where it will be listed.

    Args:
        folder: of the run of the night.
        experiment: name.
        night: YYYY-MM-DD.

    Returns:
        None if no night of the experiment was ever logged.
    """
    page = run_page(folder)
    if page:
        return page
    nights = Home.from_environment().nights / experiment
    logged = (file.parent.name for file in nights.glob(f"????-??-??/{FILE}"))
    for other in sorted(logged, reverse=True):
        known = _remembered(nights / other)
        if known:
            wanted = quote(f"tags.night = '{night}'")
            return f"{server()}/#/experiments/{known[0]}/runs?searchFilter={wanted}&{VIEW}"
    return None


def logged_experiments() -> dict[str, str]:
    """Name -> MLflow's id of every experiment of which a night was logged."""
    found: dict[str, str] = {}
    for file in Home.from_environment().nights.glob(f"*/*/{FILE}"):
        known = _remembered(file.parent)
        if known:
            found[file.parent.parent.name] = known[0]
    return dict(sorted(found.items()))


def comparison(experiment_id: str, run_ids: Sequence[str]) -> str:
    """Address within MLflow of runs side by side, every param and metric of them."""
    runs, known = (quote(json.dumps(list(ids))) for ids in (run_ids, [experiment_id]))
    return f"#/compare-runs?runs={runs}&experiments={known}&{VIEW}"


def charted(experiment_id: str, wanted: str) -> str:
    """Address within MLflow of charts of an experiment's runs, drawn in the order of their tag.

    Sorted by a tag, MLflow lists children by themselves: below their parent they are folded away.

    Args:
        experiment_id: in the store.
        wanted: a filter of MLflow's.
    """
    order = quote(f"tags.`{ORDER}`")
    shown = f"compareRunsMode=CHART&orderByKey={order}&orderByAsc=true&{VIEW}"
    return f"#/experiments/{experiment_id}/runs?searchFilter={quote(wanted)}&{shown}"


def server() -> str:
    """Address of MLflow for a browser: as said, else the tracking server, else `make ui`."""
    home = Home.from_environment()
    return named_server() or f"http://127.0.0.1:{served_port(home, 'mlflow')}"


def named_server() -> str:
    """Address of an MLflow that is not that of `make ui`; empty if there is none."""
    uri = Home.from_environment().mlflow_uri
    tracked = without_password(uri) if uri.startswith("http") else ""
    return (os.environ.get(VARIABLE) or tracked).rstrip("/")


def airflow() -> str:
    """Address of Airflow for a browser: of `make ui` where this one ends with its night."""
    named = os.environ.get(AIRFLOW) or os.environ.get("AIRFLOW__API__BASE_URL")
    return (named or "http://127.0.0.1:8080").rstrip("/")


def by_airflow(experiment: str, dag_run_id: str, page: str) -> str:
    """Address within Airflow that leads to a page of a run's night, as it is found then.

    Args:
        experiment: of the run.
        dag_run_id: of the run.
        page: of `night/airflow/night_pages.py`.
    """
    from isr_pipeline.experiment.file import dag_id_of  # noqa: PLC0415 - reads pydantic

    root = urlsplit(os.environ.get("AIRFLOW__API__BASE_URL", "")).path.rstrip("/")
    return f"{root}{BY_AIRFLOW}/runs/{dag_id_of(experiment)}/{quote(dag_run_id, safe='')}/{page}"
