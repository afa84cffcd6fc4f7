"""Airflow plugin: what is done when a run of `isr_nightly` ends, however it ends.

* The page of the run says the headline and links to MLflow and the report (the run's note).
* A run that was ended by hand, so that its gate never ran, gives the tables back.

Airflow finds the plugin by the entry point in pyproject.toml, and calls it where the run's state
changes: in the scheduler, or in the server whose user marked the run.
"""

from __future__ import annotations

import sys
from typing import Any

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

from dags.isr_wiring import EXPERIMENT, night_of

DAG_ID = "isr_nightly"


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
    from isr_pipeline.experiment.night import interrupt, run_note  # noqa: PLC0415 - parse fast

    conf = dag_run.conf or {}
    experiment = conf.get("experiment") or EXPERIMENT.value
    night = night_of({"params": conf, "dag_run": dag_run})
    interrupt(experiment, night, dag_run.run_id)
    note = run_note(experiment, night, dag_run.run_id)
    if note:
        dag_run.note = note


class RunEnd(AirflowPlugin):
    """The functions above, as Airflow wants them."""

    name = "isr_run_end"
    listeners = [sys.modules[__name__]]  # noqa: RUF012 - Airflow's attribute
