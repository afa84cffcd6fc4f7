"""How a run of our DAGs ends: what its last task leaves, the note on its page, and who is told.

The gate runs in a worker, which sees the home, and leaves what it says as XComs. Callbacks of a DAG
run in Airflow's dag-processor, which may see neither home nor tables: they ask for these XComs, and
write the note by Airflow's REST API. Nothing of ours runs inside the scheduler.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from airflow.configuration import conf

from isr_pipeline.errors import USER_ERRORS, Refused
from isr_pipeline.experiment.nightly import experiment_of
from isr_pipeline.orchestration.connections import address_of, notifiers, settings
from isr_pipeline.orchestration.wiring import (
    GATE_MAY_SKIP,
    WHY,
    broken_tasks,
    night_of,
    states_of,
    take_claim,
)

GATE, ACCEPT = "gate", "accept"
"""The last task of a night and of an acceptance, whose pages have the run's note too."""

LINE, NOTE = "line", "note"
"""Keys under which that task leaves its one line, and the Markdown of the run's page."""

NOTE_CHARACTERS = 1_000
"""As much as Airflow's database keeps of a note."""

API_SECONDS_MAX = 10.0

GENERATED = "simple_auth_manager_passwords.json.generated"
"""File of AIRFLOW_HOME in which Airflow's simple auth manager keeps the logins that it made."""

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
    from isr_pipeline.night.life import ending, note_of  # noqa: PLC0415 - parse fast

    night = night_of(context)
    red = False
    try:
        said = _finished(context, experiment, night, broken_tasks(context, tasks))
    except Refused as refusal:
        said, red = str(refusal), True
    sys.stdout.write("\n".join([said, *(ending(experiment, night) if red else [])]) + "\n")
    leave(context, f"{experiment} {night}: {said}", note_of(experiment, night, said))
    if red:
        raise SystemExit(1)
    return said


def _finished(context: Context, experiment: str, night: str, broken: list[str]) -> str:
    """Note how the night ended, unless another run writes it, or this one was ended by hand.

    Raises:
        Refused: the night is red.
    """
    from isr_pipeline.night.life import finish, interrupt  # noqa: PLC0415 - parse fast

    run_id = context["dag_run"].run_id
    try:
        take_claim(context)
    except Refused as busy:
        raise Refused("; ".join(broken) or str(busy)) from None
    if ended_by_hand(states_of(context)):
        interrupt(experiment, night, run_id)
        raise Refused(f"night {night} of {experiment}: stopped by hand")
    return finish(
        experiment,
        night,
        broken=broken,
        fail_on_regression=context["params"]["fail_on_regression"],
        dag_run_id=run_id,
    )


def ended_by_hand(states: Mapping[str, str | None]) -> bool:
    """Whether somebody marked the run: Airflow then leaves out every task that had not begun.

    Args:
        states: of the run's tasks; none but those of further scenarios is ever left out else.
    """
    return any(state == "skipped" and name not in GATE_MAY_SKIP for name, state in states.items())


def leave(context: Context, line: str, note: str) -> None:
    """Leave what a run has to say for its callbacks."""
    with contextlib.suppress(Exception):  # where nothing can be kept, the log has it all the same
        context["ti"].xcom_push(key=LINE, value=line)
        context["ti"].xcom_push(key=NOTE, value=note)


def note_end(context: Context, *, task: str = GATE) -> None:
    """A DAG's callback that puts what a task left on the pages of the run and of that task.

    Args:
        context: of the run.
        task: id of the run's last task.
    """
    try:
        _write_note(context, task)
    except (OSError, ValueError, KeyError, *USER_ERRORS) as error:
        sys.stdout.write(f"the run has no note: {error}\n")


def free_night(context: Context) -> None:
    """A DAG's callback: a run whose gate never ran gives its night free, where the home is seen."""
    from isr_pipeline.night.life import interrupt_run  # noqa: PLC0415 - reads Arrow

    with contextlib.suppress(OSError, *USER_ERRORS):
        interrupt_run(experiment_of(context["dag"].dag_id), _run_id(context))


def tell_end(context: Context, *, failed: bool) -> None:
    """A DAG's callback that tells whoever the settings name that a night has ended.

    Args:
        context: of the run.
        failed: whether the run failed.
    """
    from isr_pipeline.verdicts import notify  # noqa: PLC0415 - reads pydantic

    line = _said(context, GATE, LINE)
    notify.tell(line)
    chosen = settings()
    for notifier in notifiers(chosen.on_failure if failed else chosen.on_success):
        try:
            notifier({**context, "line": line})
        except Exception as error:
            sys.stdout.write(f"the notifier failed: {error}\n")


def _said(context: Context, task: str, key: str) -> str:
    """What a task left for the end of its run; else why it failed, or what Airflow says."""
    for one in (key, WHY):
        # Airflow gives no task where none ran, and no XComs beyond a task in `dag.test`.
        with contextlib.suppress(Exception):
            said = context["ti"].xcom_pull(task_ids=task, key=one, default=None)
            if isinstance(said, str):
                return said
    dag_id, run_id = context["dag"].dag_id, _run_id(context)
    from isr_pipeline.night.life import note_of, said_by  # noqa: PLC0415 - parse fast

    experiment = experiment_of(dag_id)
    found = said_by(experiment, run_id)
    if found and key == NOTE:
        return note_of(experiment, *found)
    if found:
        return f"{experiment} {found[0]}: {found[1]}"
    return f"{dag_id}: run {run_id} ended without its task {task}: {context.get('reason')}"


def _run_id(context: Context) -> str:
    return str(context.get("run_id") or context["dag_run"].run_id)


def _write_note(context: Context, task: str) -> None:
    """Give the note to Airflow's REST API.

    Raises:
        OSError: Airflow does not answer, or does not take the login.
        Refused: no login is known.
    """
    address, login = _api()
    dag, run = (quote(one, safe="") for one in (context["dag"].dag_id, _run_id(context)))
    said = _said(context, task, NOTE)
    note = {"note": (said if said.startswith("**") else f"**{said}**")[:NOTE_CHARACTERS]}
    token = _asked(f"{address}/auth/token", login)["access_token"]
    page = f"{address}/api/v2/dags/{dag}/dagRuns/{run}"
    _asked(f"{page}?update_mask=note", note, token)
    _asked(f"{page}/taskInstances/{task}?update_mask=note", note, token)


def _api() -> tuple[str, dict[str, str]]:
    """Where Airflow's REST API is, and a login: those of the connection, else of this machine.

    Raises:
        Refused: no login is known.
    """
    named = settings().airflow_connection
    if named:
        address, user, password = address_of(named)
        return address, {"username": user, "password": password}
    try:
        made = json.loads((Path(os.environ["AIRFLOW_HOME"]) / GENERATED).read_text())
        user, password = next(iter(made.items()))
    except (OSError, ValueError, KeyError, StopIteration):
        raise Refused("no login to Airflow's API is known; name an airflow_connection") from None
    return conf.get("api", "base_url").rstrip("/"), {"username": user, "password": password}


def _asked(address: str, content: Mapping[str, str], token: str = "") -> dict[str, Any]:
    """What Airflow answers to a change, or to a login without a token."""
    asked = urllib.request.Request(  # noqa: S310 - what the operator named
        address,
        data=json.dumps(content).encode(),
        method="PATCH" if token else "POST",
        headers={
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        },
    )
    with urllib.request.urlopen(asked, timeout=API_SECONDS_MAX) as answer:  # noqa: S310
        found: dict[str, Any] = json.load(answer)
        return found
