"""Links in MLflow that lead to servers of this machine, made to lead to those that run now.

A night's note in MLflow links to its run in Airflow, which has no address within MLflow. Where
`make ui` has other ports than when the note was written, that link led nowhere.
"""

from __future__ import annotations

import json
import re
import urllib.request
from typing import Any

from isr_pipeline.report.tracking.pages import NOTE_TAG, logged_experiments

RUNS_MAX = 5000
SECONDS_MAX = 30.0

_DAG_RUN = re.compile(r"\(http://127\.0\.0\.1:\d+(?=/dags/)")
_IN_MLFLOW = re.compile(r"\(http://127\.0\.0\.1:\d+/(?=#/)")
"""Of notes that releases before 0.3.0 wrote."""


def relinked(note: str, airflow: str) -> str:
    """A note whose links to DAG runs lead to this Airflow, and those to MLflow stay within it."""
    return _IN_MLFLOW.sub("(", _DAG_RUN.sub(f"({airflow}", note))


def relink(mlflow: str, airflow: str) -> int:
    """Correct the notes of every night that was logged, and count those that changed.

    Args:
        mlflow: address of MLflow's server.
        airflow: address of Airflow for a browser.

    Raises:
        OSError: MLflow does not do it.
        ValueError: MLflow's answer is no JSON.
    """
    known = list(logged_experiments().values())
    if not known:
        return 0
    wanted = {"experiment_ids": known, "filter": "tags.kind = 'night'", "max_results": RUNS_MAX}
    changed = 0
    for run in _ask(mlflow, "runs/search", wanted).get("runs", []):
        tags = {one["key"]: one["value"] for one in run["data"].get("tags", [])}
        note = tags.get(NOTE_TAG, "")
        if (anew := relinked(note, airflow)) != note:
            tag = {"run_id": run["info"]["run_id"], "key": NOTE_TAG, "value": anew}
            _ask(mlflow, "runs/set-tag", tag)
            changed += 1
    return changed


def _ask(mlflow: str, what: str, body: dict[str, Any]) -> dict[str, Any]:
    asked = urllib.request.Request(  # noqa: S310 - our own address
        f"{mlflow}/api/2.0/mlflow/{what}",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=SECONDS_MAX) as answer:  # noqa: S310
        found: dict[str, Any] = json.loads(answer.read())
        return found
