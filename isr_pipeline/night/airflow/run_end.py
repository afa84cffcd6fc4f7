"""How a run of our DAGs ends: what its last task leaves, the note on its page, and who is told.

The gate runs in a worker, which sees the home, and leaves what it says as XComs. Callbacks of a DAG
run in Airflow's dag-processor, which may see neither home nor tables: they ask for these XComs, and
write the note by Airflow's REST API. Nothing of ours runs inside the scheduler.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.configuration import conf
from airflow.sdk.exceptions import AirflowException

from isr_pipeline.base.errors import USER_ERRORS, InputError, Refused, shortened
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.file import experiment_of
from isr_pipeline.night.airflow.airflow_rest import (
    ADMIN,
    GATE,
    LINE,
    NOTE_CHARACTERS,
    WHY,
    Rest,
    Silent,
    admin_password,
)
from isr_pipeline.night.airflow.connections import VARIABLE, address_of, settings
from isr_pipeline.night.airflow.elsewhere import do
from isr_pipeline.night.airflow.notifiers import notifiers
from isr_pipeline.night.airflow.wiring import (
    GATE_MAY_SKIP,
    broken_tasks,
    night_of,
    states_of,
    take_claim,
)
from isr_pipeline.night.claim import holds_claim
from isr_pipeline.night.status import find_run

ACCEPT = "accept"
"""The task of an acceptance. The page of a run's last task has the run's note too."""

NOTE = "note"
"""Key under which that task leaves the Markdown of the run's page, beside its one line."""

NO_LOGIN = (
    "no login to Airflow's API is known; "
    f"name one in airflow_connection of the Airflow Variable {VARIABLE}"
)

Context = Mapping[str, Any]


def close(context: Context, experiment: str, tasks: frozenset[str]) -> str:
    """Finish a night: say how it ended, and fail the task where the night is red.

    A red night ends the task by its exit status: it is news about the rules or the code, and a
    traceback would hide it.

    Args:
        context: of the gate.
        experiment: of the night.
        tasks: ids of every task that the gate answers for.

    Returns:
        The headline of a night that is not red.

    Raises:
        SystemExit: the night is red; the log says all that is known.
    """
    night, run_id = night_of(context), context["dag_run"].run_id
    refused = ""
    try:
        take_claim(context)
    except Refused as busy:
        refused = str(busy)
    ended = do(
        "end",
        experiment=experiment,
        night=night,
        run=run_id,
        refused=refused,
        by_hand=ended_by_hand(states_of(context)),
        broken=broken_tasks(context, tasks),
        fail_on_regression=context["params"]["fail_on_regression"],
    )
    said: str = ended["said"]
    sys.stdout.write("\n".join([said, *ended["more"]]) + "\n")
    leave(context, f"{experiment} {night}: {said}", ended["note"])
    if ended["red"]:
        raise SystemExit(1)
    return said


def ended_by_hand(states: Mapping[str, str | None]) -> bool:
    """Whether somebody marked the run: Airflow then leaves out every task that had not begun.

    Args:
        states: of the run's tasks; none but those of further scenarios is ever left out else.
    """
    return any(state == "skipped" and name not in GATE_MAY_SKIP for name, state in states.items())


def leave(context: Context, line: str, note: str) -> None:
    """Leave what a run has to say for its callbacks, and say it where these can write no note."""
    with contextlib.suppress(Exception):  # where nothing can be kept, the log has it all the same
        context["ti"].xcom_push(key=LINE, value=line)
        context["ti"].xcom_push(key=NOTE, value=note)
        if not (settings().airflow_connection or _admin_password()):
            sys.stdout.write(f"the run will have no note: {NO_LOGIN}\n")


def note_of_lines(first: str, *more: str) -> str:
    """Markdown of a line, and of those after it that a note has room for."""
    note = f"**{shortened(first, NOTE_CHARACTERS - len('****'))}**\n"
    for line in more:
        if len(note) + len(line) + len("\n* ") > NOTE_CHARACTERS:
            break
        note += f"\n* {line}"
    return note.rstrip()


def note_end(context: Context, *, task: str = GATE) -> None:
    """A DAG's callback that puts what a task left on the pages of the run and of that task.

    Args:
        context: of the run.
        task: id of the run's last task.
    """
    try:
        _write_note(context, task)
    except (Silent, *USER_ERRORS) as error:
        sys.stdout.write(f"the run has no note: {error}\n")


def free_night(context: Context) -> None:
    """A DAG's callback: a run whose gate never ran gives its night free, where the home is seen."""
    experiment, run_id = experiment_of(context["dag"].dag_id), _run_id(context)
    with contextlib.suppress(OSError, AirflowException, *USER_ERRORS):
        run = find_run(experiment, run_id)
        if run and holds_claim(Home.from_environment(), experiment, run.night, owner=run_id):
            do("interrupt", experiment=experiment, run=run_id)


def tell_end(context: Context, *, failed: bool) -> None:
    """A DAG's callback that tells whoever the settings name that a night has ended.

    Args:
        context: of the run.
        failed: whether the run failed.
    """
    from isr_pipeline.night import notify  # noqa: PLC0415 - reads pydantic

    line = _said(context, GATE, LINE)
    notify.tell(line)
    try:
        chosen = settings()
        told = notifiers(chosen.on_failure if failed else chosen.on_success)
    except InputError as error:
        sys.stdout.write(f"nobody was told by a notifier: {error}\n")
        return
    for notifier in told:
        try:
            notifier({**context, "line": line})
        except Exception as error:
            sys.stdout.write(f"the notifier failed: {error}\n")


def _said(context: Context, task: str, key: str) -> str:
    """What a task left for the end of its run; else why it failed, or what Airflow says."""
    for one in dict.fromkeys((key, WHY)):
        if (said := _left_text(context, task, one)) is not None:
            return said
    dag_id, run_id = context["dag"].dag_id, _run_id(context)
    return f"{dag_id}: run {run_id} ended without its task {task}: {context.get('reason')}"


def _left_text(context: Context, task: str, key: str) -> str | None:
    """The text that a task left under a key; None if it left none, or nobody answers."""
    with contextlib.suppress(Exception):
        found = _left(context, task, key)
        return found if isinstance(found, str) else None
    return None


def _left(context: Context, task: str, key: str) -> Any:
    """What a task left under a key.

    Airflow gives a callback no task where none ran, and no XComs in `dag.test`: its API has them.
    """
    try:
        return context["ti"].xcom_pull(task_ids=task, key=key, default=None)
    except Exception:
        return _rest().xcom(context["dag"].dag_id, _run_id(context), task, key)


def _run_id(context: Context) -> str:
    return str(context.get("run_id") or context["dag_run"].run_id)


def _write_note(context: Context, task: str) -> None:
    """Give the note to Airflow's REST API.

    Raises:
        Silent: Airflow does not answer.
        Refused: no login is known, or Airflow does not take it.
    """
    note = _left_text(context, task, NOTE)
    if note is None:
        note = note_of_lines(_said(context, task, WHY))
    _rest().note(context["dag"].dag_id, _run_id(context), task, note)


def _rest() -> Rest:
    """Airflow's REST API, with the connection that is named, else as the admin of this machine.

    Raises:
        Refused: no login is known.
    """
    named = settings().airflow_connection
    if named:
        address, user, password = address_of(named)
    else:
        address, user = conf.get("api", "base_url", fallback="http://localhost:8080"), ADMIN
        password = _admin_password()
    if not password:
        raise Refused(NO_LOGIN)
    return Rest(address.rstrip("/"), lambda: (user, password))


def _admin_password() -> str:
    return admin_password(Path(os.environ.get("AIRFLOW_HOME", "")))
