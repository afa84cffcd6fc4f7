"""How far a night came (``status.json``), and which nights there are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place
from isr_pipeline.base.storage.remote import RemotePath
from isr_pipeline.night.claim import holds_claim, is_being_written

RUNNING, FAILED, INTERRUPTED = "running", "failed", "interrupted"
"""States of a night that has no verdict; one that has is in the state of its verdict."""

WITHOUT_VERDICT = frozenset({RUNNING, FAILED, INTERRUPTED})

KILLED = "its run was killed; run it again to have it whole"
"""Reason of a night that was being written by a run of which nothing is left."""

_NIGHT = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Status:
    """How far a night came: ``status.json``.

    Attributes:
        state: running, failed or interrupted; once finished, the verdict's status.
        reason: one line; empty if all is well.
        dag_run_id: the Airflow run that made or makes it.
    """

    state: str
    reason: str = ""
    dag_run_id: str = ""


def check_night(text: str, where: str = "--night") -> str:
    """Return a night's date as it is written everywhere.

    Raises:
        InputError: it is no date of the form YYYY-MM-DD.
    """
    try:
        if not _NIGHT.fullmatch(text):
            raise ValueError
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(where, "", text or "empty", "a date, YYYY-MM-DD") from None


def write_status(experiment: str, night: str, status: Status) -> None:
    """Replace ``status.json``."""
    file = folder_of(experiment, night) / "status.json"
    content = {"state": status.state, "reason": status.reason, "dag_run_id": status.dag_run_id}
    write_whole(file, json.dumps(content, indent=1) + "\n")


def read_status(experiment: str, night: str) -> Status:
    """Return how far a night came; state ``failed`` if its folder does not say.

    A night that is noted as running, and whose run is gone, was killed: it is interrupted.
    """
    noted = noted_status(experiment, night)
    if noted.state != RUNNING:
        return noted
    if is_being_written(Home.from_environment(), experiment, night, owner=noted.dag_run_id):
        return noted
    # It may have ended between the two looks.
    again = noted_status(experiment, night)
    return again if again != noted else Status(INTERRUPTED, KILLED, noted.dag_run_id)


def noted_status(experiment: str, night: str) -> Status:
    """Return what ``status.json`` says."""
    try:
        content = json.loads((folder_of(experiment, night) / "status.json").read_text())
        return Status(**content)
    except (OSError, ValueError, TypeError):
        return Status(FAILED, "status.json is missing or damaged")


def check_not_replaced(experiment: str, night: str, dag_run_id: str) -> None:
    """Ask whether a run that has begun a night may go on with it.

    Its claim can have ended between two tasks, and another run can have made the night since.

    Raises:
        Refused: the night is another run's now, or was removed.
    """
    if holds_claim(Home.from_environment(), experiment, night, owner=dag_run_id):
        return
    by = noted_status(experiment, night).dag_run_id
    if by != dag_run_id:
        since = f"run {by} has made it anew" if by else "it was removed"
        lost = f"night {night} of {experiment} is no longer that of run {dag_run_id}"
        raise Refused(f"{lost}: {since}; run it again")


def folder_of(experiment: str, night: str) -> Place:
    """Folder of a night: its plan, status, verdict and report."""
    return Home.from_environment().night_dir(experiment, night)


def nights(experiment: str | None = None) -> list[tuple[str, str]]:
    """Experiment and date of every night with a folder, by experiment, oldest first."""
    root = Home.from_environment().nights
    found = ((folder.parent.name, folder.name) for folder in root.glob("*/*") if _is_night(folder))
    return sorted(pair for pair in found if experiment in (None, pair[0]))


def _is_night(folder: Place) -> bool:
    return bool(_NIGHT.fullmatch(folder.name)) and (
        isinstance(folder, RemotePath) or folder.is_dir()
    )


def find_experiment(night: str, experiment: str | None) -> str:
    """Return the experiment meant by a night: the one named, else the only one that has it.

    Raises:
        Refused: none has that night, or more than one and none was named.
    """
    having = [name for name, one in nights() if one == night]
    if experiment in having:
        return str(experiment)
    if experiment is None and len(having) == 1:
        return having[0]
    if experiment is None and having:
        raise Refused(f"night {night}: name one with --experiment: {', '.join(having)}")
    of = f" of {experiment}" if experiment else ""
    known = [one for name, one in nights(experiment)]
    others = list(dict.fromkeys(name for name, _ in nights()))
    hint = "; run `isr-pipeline night run`"
    if known:
        hint = f"; there are {', '.join(known[-5:])}"
    elif others:
        hint = f"; there are nights of {', '.join(others)}"
    raise Refused(f"there is no night {night}{of}{hint}")
