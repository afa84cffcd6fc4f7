"""Why Airflow does not begin a run, and what a person does then: asked of Airflow itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from isr_pipeline.night.airflow.airflow_rest import GATE, has_begun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.night.airflow.airflow_rest import Rest

FIRST = "plan"
"""The task that begins a run of a night."""

BEGINS_WITHIN = timedelta(minutes=1)
"""A run that is the next one, and of which nothing has begun after this time, hangs."""

SAYS_LITTLE = frozenset({"Task Instance State", "Dagrun Running"})
"""Airflow gives these reasons for every task that has not begun, of every run that is queued."""


def hanging(rest: Rest, prefix: str) -> list[str]:
    """A line for each run that hangs: which, why, and what ends it.

    Args:
        rest: of the Airflow that has the runs.
        prefix: how the ids of their DAGs begin.
    """
    active = rest.active_runs(prefix)
    suspects = [run for run in active if is_to_come(run) or _is_late(run, active)]
    reasons = [(run, why_not_begun(rest, run, active)) for run in suspects]
    return [f"run {run['dag_run_id']} of {run['dag_id']}: {why}" for run, why in reasons if why]


def end_marked(rest: Rest, prefix: str) -> list[Any]:
    """End the runs that a person marked as failed before anything of them began.

    Airflow leaves the gate of such a run to be run, and begins none while the run waits, or its
    logical date is to come.

    Returns:
        The runs.
    """
    marked = []
    for run in rest.active_runs(prefix):
        tasks = rest.task_instances(run["dag_id"], run["dag_run_id"])
        states = {one["state"] for one in tasks if one["task_id"] != GATE}
        if states == {"skipped"} and not has_begun(tasks):
            rest.fail_without_scheduler(run["dag_id"], run["dag_run_id"])
            marked.append(run)
    return marked


def why_not_begun(rest: Rest, run: Any, active: Sequence[Any]) -> str:
    """Why nothing of a run has begun, in one line; empty if something has.

    Args:
        rest: of its Airflow.
        run: as Airflow gives it.
        active: all runs that are queued or running.
    """
    dag_id, run_id = run["dag_id"], run["dag_run_id"]
    if has_begun(rest.task_instances(dag_id, run_id)):
        return ""
    if is_to_come(run):
        return (
            f"its logical date {run['logical_date'][:10]} is to come, so Airflow begins no task of "
            f"it, and no other run of {dag_id}; mark its task {GATE} as failed, then the run; "
            "name a night by the parameter `night`"
        )
    if (rest.ask("GET", f"dags/{dag_id}") or {}).get("is_paused"):
        return f"{dag_id} is paused; switch it on in Airflow"
    if before := _before(run, active):
        is_why = (
            f"; {why}" if is_to_come(before) and (why := why_not_begun(rest, before, ())) else ""
        )
        return f"run {before['dag_run_id']} is before it{is_why}"
    said = rest.not_begun(dag_id, run_id, FIRST)
    reasons = [one["reason"] for one in said if one["name"] not in SAYS_LITTLE]
    if reasons:
        return f"Airflow says: {' '.join(reasons)}"
    if not rest.is_well():
        return "Airflow's scheduler, or what reads its DAGs, is not well"
    return "Airflow gives no reason; its scheduler or its workers are busy"


def is_to_come(run: Any) -> bool:
    """Whether a run's logical date lies in the future."""
    return bool(run["logical_date"]) and _moment(run["logical_date"]) > datetime.now(UTC)


def _is_late(run: Any, active: Sequence[Any]) -> bool:
    asked = run["queued_at"] or run["run_after"]
    return datetime.now(UTC) - _moment(asked) > BEGINS_WITHIN and not _before(run, active)


def _before(run: Any, active: Sequence[Any]) -> Any:
    """The run of the same DAG that a queued one waits for; None if there is none."""
    if run["state"] != "queued":
        return None
    of_dag = (one for one in active if one["dag_id"] == run["dag_id"] and one["state"] == "running")
    return next(of_dag, None)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
