"""Airflow plugin: what is done when a run of `isr_nightly` ends, however it ends.

* The pages of the run and of its gate say the headline, what got worse by how much, and link to
  MLflow and the report (their notes).
* A run that was ended by hand, so that its gate never ran, gives the tables back.

Airflow finds the plugin by the entry point in pyproject.toml, and calls it where the run's state
changes: in the scheduler, or in the server whose user marked the run. Tasks are forked from the
scheduler and have to see the code as it is, not as it was when Airflow started: therefore nothing
of ours is imported here, another process is asked.
"""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin
from sqlalchemy.orm import object_session

DAG_ID, GATE = "isr_nightly", "gate"
SECONDS_MAX = 30.0

ASK = """
import sys
from isr_pipeline.night.life import run_ended
sys.stdout.write(run_ended(sys.argv[1]))
"""


@hookimpl
def on_dag_run_success(dag_run: Any, msg: str) -> None:  # noqa: ARG001 - Airflow's signature
    """Note how the run went."""
    _ended(dag_run)


@hookimpl
def on_dag_run_failed(dag_run: Any, msg: str) -> None:  # noqa: ARG001 - Airflow's signature
    """Note why the run failed."""
    _ended(dag_run)


def _ended(dag_run: Any) -> None:
    if dag_run.dag_id != DAG_ID:
        return
    try:
        asked = subprocess.run(
            [sys.executable, "-c", ASK, dag_run.run_id],
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        logging.getLogger(__name__).warning("run %s has no note: %s", dag_run.run_id, error)
        return
    if asked.stdout:
        dag_run.note = asked.stdout
        _note_gate(dag_run, asked.stdout)


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
