"""Airflow plugin: what is done when a run of our DAGs ends, however it ends.

* The pages of a night's run and of its gate say the headline, what got worse by how much, and link
  to MLflow and the report (their notes).
* The notes of earlier runs of the same night lose their links, which lead nowhere from now on.
* A run that was ended by hand, so that its gate never ran, gives the tables back.
* The page of an acceptance says what it absorbs, or why it was refused.

Airflow finds the plugin by the entry point in pyproject.toml, and calls it where the run's state
changes: in the scheduler, or in the server whose user marked the run. Tasks are forked from the
scheduler and have to see the code as it is, not as it was when Airflow started: therefore nothing
of ours is imported here, another process is asked.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from typing import Any

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin
from sqlalchemy import select
from sqlalchemy.orm import object_session

GATE = "gate"
DAG_PREFIX = "isr_nightly_"
ACCEPT_DAG_ID, ACCEPT = "isr_baseline_accept", "accept"
SECONDS_MAX = 30.0
NOTE_CHARACTERS = 1_000
"""As much as Airflow's database keeps of a note."""

SAID, WHY = "said", "why"
"""Keys under which the task `accept` leaves what it says, or why it failed."""

ASK = """
import json, sys
from isr_pipeline.night.life import replaced_by, run_ended
from isr_pipeline.experiment.nightly import experiment_of
run = experiment_of(sys.argv[1]), sys.argv[2]
json.dump({"note": run_ended(*run), "replaced": replaced_by(*run)}, sys.stdout)
"""

AGAIN = "This night was run again since: "


@hookimpl
def on_dag_run_success(dag_run: Any, msg: str) -> None:  # noqa: ARG001 - Airflow's signature
    """Note how the run went."""
    _ended(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: Any, msg: str) -> None:  # noqa: ARG001 - Airflow's signature
    """Note why the run failed."""
    _ended(dag_run)


def _ended(dag_run: Any) -> None:
    if dag_run.dag_id.startswith(DAG_PREFIX):
        _night_ended(dag_run)
    elif dag_run.dag_id == ACCEPT_DAG_ID:
        _note_acceptance(dag_run)


def _night_ended(dag_run: Any) -> None:
    try:
        asked = subprocess.run(
            [sys.executable, "-c", ASK, dag_run.dag_id, dag_run.run_id],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=True,
        )
        told = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        logging.getLogger(__name__).warning("run %s has no note: %s", dag_run.run_id, error)
        return
    if told["note"]:
        dag_run.note = told["note"]
        _note_gate(dag_run, told["note"])
    _take_links(dag_run, told["replaced"])


def _take_links(dag_run: Any, replaced: list[str]) -> None:
    """Take the links off the notes of earlier runs of the night, and name the run that has them."""
    session = object_session(dag_run)
    if session is None or not replaced:
        return
    runs = type(dag_run)
    asked = select(runs).where(runs.dag_id == dag_run.dag_id, runs.run_id.in_(replaced))
    for earlier in session.scalars(asked):
        note = str(earlier.note or "")
        if "](" not in note:
            continue
        paragraphs = [one for one in note.split("\n\n") if "](" not in one]
        text = "\n\n".join([*paragraphs, f"{AGAIN}`{dag_run.run_id}`"])[:NOTE_CHARACTERS]
        earlier.note = text
        _note_gate(earlier, text)


def _note_acceptance(dag_run: Any) -> None:
    """Say what was accepted and what that absorbs, or why it was refused."""
    session = object_session(dag_run)
    task = dag_run.get_task_instance(ACCEPT, session=session) if session is not None else None
    if task is None:
        return
    for key in (SAID, WHY):
        said = task.xcom_pull(task_ids=ACCEPT, key=key, session=session)
        if isinstance(said, str):
            first, *more = said.splitlines()
            text = "\n".join([f"**{first}**", "", *(f"* {line.strip()}" for line in more)])
            dag_run.note = text.strip()[:NOTE_CHARACTERS]
            return


def _note_gate(dag_run: Any, text: str) -> None:
    """Say the same where a person who sees the red square of the gate looks."""
    session = object_session(dag_run)
    if session is None:  # the run was read for the listener alone: nothing would be kept
        return
    gate = dag_run.get_task_instance(GATE, session=session)
    if gate is not None:
        gate.note = text


class RunEnd(AirflowPlugin):
    """The functions above, as Airflow wants them."""

    name = "isr_run_end"
    listeners = [sys.modules[__name__]]  # noqa: RUF012 - Airflow's attribute
