"""Where a browser finds a night in MLflow, without asking MLflow.

What has no MLflow at hand (Airflow's scheduler, which writes the note of a run) reads it from the
night's folder.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import without_password
from isr_pipeline.base.home import Home, served_port

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.base.storage.places import Place

VARIABLE = "ISR_PIPELINE_MLFLOW_URL"
"""Environment variable: MLflow as browsers reach it, where that is not the tracking URI."""

VIEW = "workflowType=machine_learning"
"""Without it, MLflow's pages show somebody who never chose a view the one for language models."""

FILE = "mlflow.json"

IN_PROCESS = "in-process__"
"""Begins the run id of a night that ran without Airflow, which has no page of it."""


def remember(folder: Place, *, experiment_id: str, run_id: str) -> None:
    """Note in the folder of a run of a night which run in MLflow is its parent."""
    known = {"experiment_id": experiment_id, "run_id": run_id}
    write_whole(folder / FILE, json.dumps(known) + "\n")


def run_page(folder: Place) -> str | None:
    """Address of the parent run of what a folder holds; None if it was not logged."""
    known = _remembered(folder)
    return f"{_run(*known)}?{VIEW}" if known else None


def report_page(folder: Place) -> str | None:
    """Address of the report in MLflow, which shows it; None if it was not logged."""
    known = _remembered(folder)
    return report_of(*known) if known else None


def report_of(experiment_id: str, run_id: str) -> str:
    """Address of the report among the files of a night's parent run."""
    return f"{_run(experiment_id, run_id)}/artifacts/report.html?{VIEW}"


def _run(experiment_id: str, run_id: str) -> str:
    return f"{server()}/#/experiments/{experiment_id}/runs/{run_id}"


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
    """Address at which a browser finds runs side by side, every param and metric of them."""
    runs, known = (quote(json.dumps(list(ids))) for ids in (run_ids, [experiment_id]))
    return f"{server()}/#/compare-runs?runs={runs}&experiments={known}&{VIEW}"


def server() -> str:
    """Address of MLflow for a browser: as said, else the tracking server, else `make ui`."""
    home = Home.from_environment()
    uri = home.mlflow_uri
    tracked = without_password(uri) if uri.startswith("http") else ""
    address = os.environ.get(VARIABLE) or tracked
    return (address or f"http://127.0.0.1:{served_port(home, 'mlflow')}").rstrip("/")
