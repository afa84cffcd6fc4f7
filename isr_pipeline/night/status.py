"""How far runs of a night came (``status.json``), and which nights there are.

The folder of a night by its date is that of its last whole run. A run that is not whole, because it
is under way, failed or was stopped, has a folder of its own among `RUNS`.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime

from isr_pipeline.base.errors import InputError, Refused
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.files.words import run_called
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place
from isr_pipeline.base.storage.remote import RemotePath
from isr_pipeline.night.claim import holds_claim, is_being_written

RUNNING, FAILED, INTERRUPTED = "running", "failed", "interrupted"
"""States of a night that has no verdict; one that has is in the state of its verdict."""

WITHOUT_VERDICT = frozenset({RUNNING, FAILED, INTERRUPTED})

KILLED = "its run was killed; run it again to have it whole"
"""Reason of a night that was being written by a run of which nothing is left."""

RUNS = "_runs"
"""Folder beside the nights of an experiment, and among the tables, of runs that are not whole."""

STATUS = "status.json"

_NIGHT = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Status:
    """How far a run of a night came: ``status.json``.

    Attributes:
        state: running, failed or interrupted; once finished, the verdict's status.
        reason: one line; empty if all is well.
        dag_run_id: the Airflow run that made or makes it.
        began: when, in UTC, ISO 8601 to the second; empty for runs of releases before 0.3.0.
    """

    state: str
    reason: str = ""
    dag_run_id: str = ""
    began: str = ""

    @property
    def when(self) -> str:
        """When the run began, in UTC, for people: ``2026-11-28, 03:11``."""
        return run_called(self.began[:10], self.began) or "an unknown time"


@dataclass(frozen=True, slots=True)
class NightRun:
    """A run of a night.

    Attributes:
        experiment: name.
        night: YYYY-MM-DD.
        folder: its own, or that of the night by its date once it is whole.
        status: how far it came.
    """

    experiment: str
    night: str
    folder: Place
    status: Status

    def told(self) -> str:
        """Say in a line how a run that is not the night came out."""
        what = {RUNNING: "is under way", FAILED: "failed", INTERRUPTED: "was interrupted"}
        reason = f": {self.status.reason}" if self.status.reason else ""
        return f"a later run, of {self.status.when}, {what[self.status.state]}{reason}"


def now() -> str:
    """This moment, as `Status.began` has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def check_has_come(text: str, source: str = "--night", field: str = "") -> str:
    """Return the date of a night that may be run.

    Raises:
        InputError: it is still to come, or no date of the form YYYY-MM-DD.
    """
    night = check_night(text, source)
    today = datetime.now(UTC).date().isoformat()
    if night > today:
        raise InputError(source, field, night, f"today ({today}, UTC) or an earlier date")
    return night


def write_status(folder: Place, status: Status) -> None:
    """Replace the ``status.json`` of a run's folder."""
    write_whole(folder / STATUS, json.dumps(asdict(status), indent=1) + "\n")


def status_in(folder: Place) -> Status:
    """Return what the ``status.json`` of a folder says; state ``failed`` if it says nothing."""
    try:
        return Status(**json.loads((folder / STATUS).read_text()))
    except (OSError, ValueError, TypeError):
        return Status(FAILED, f"{STATUS} is missing or damaged")


def read_status(experiment: str, night: str) -> Status:
    """Return how far a night came: its last whole run, else its last run at all."""
    return read_runs(experiment, night)[0]


def read_runs(experiment: str, night: str) -> tuple[Status, str]:
    """Return the same, and in a line what came of a run since the whole one; empty if none was."""
    whole, later = whole_run(experiment, night), later_run(experiment, night)
    found = whole or later
    status = found.status if found else Status(FAILED, f"{STATUS} is missing or damaged")
    return status, later.told() if whole and later else ""


def whole_run(experiment: str, night: str) -> NightRun | None:
    """Return the last whole run of a night, which is what its folder by date holds."""
    folder = folder_of(experiment, night)
    if not folder.is_dir():
        return None
    return NightRun(experiment, night, folder, _told(experiment, night, folder))


def later_run(experiment: str, night: str) -> NightRun | None:
    """Return the last run of a night that did not become whole, or is not yet; None if it did."""
    runs = [
        NightRun(experiment, night, folder, _told(experiment, night, folder))
        for folder in run_folders(experiment, night)
    ]
    return max(runs, key=lambda run: run.status.began, default=None)


def _told(experiment: str, night: str, folder: Place) -> Status:
    """What a folder says; a run that is noted as running, and is gone, was killed."""
    noted = status_in(folder)
    if noted.state != RUNNING:
        return noted
    if is_being_written(Home.from_environment(), experiment, night, owner=noted.dag_run_id):
        return noted
    # It may have ended between the two looks.
    again = status_in(folder)
    return again if again != noted else replace(noted, state=INTERRUPTED, reason=KILLED)


def find_run(experiment: str, dag_run_id: str) -> NightRun | None:
    """Return what a run of Airflow wrote: its own folder, else the night that it became.

    Returns:
        None if it wrote none, or another run has made its night anew.
    """
    of_all = Home.from_environment().nights / experiment
    own = sorted(of_all.glob(f"{RUNS}/{run_name('*', dag_run_id)}"), key=str)
    for folder in (*own, *of_all.glob("????-??-??")):
        if (noted := status_in(folder)).dag_run_id == dag_run_id:
            return NightRun(experiment, folder.name.partition(".")[0], folder, noted)
    return None


def check_not_replaced(experiment: str, night: str, dag_run_id: str) -> None:
    """Ask whether a run that has begun a night may go on with it.

    Its claim can have ended between two tasks, and another run can have made the night since.

    Raises:
        Refused: the night is another run's now, or was removed.
    """
    if holds_claim(Home.from_environment(), experiment, night, owner=dag_run_id):
        return
    found = later_run(experiment, night)
    whole = whole_run(experiment, night)
    known = [one.status.dag_run_id for one in (found, whole) if one is not None]
    if dag_run_id not in known:
        since = f"run {known[0]} has made it anew" if known else "it was removed"
        lost = f"night {night} of {experiment} is no longer that of run {dag_run_id}"
        raise Refused(f"{lost}: {since}; run it again")


def run_name(night: str, dag_run_id: str) -> str:
    """Name of a run's own folders: its id has characters that not every store takes."""
    return f"{night}.{hashlib.sha256(dag_run_id.encode()).hexdigest()[:12]}"


def run_folder(experiment: str, name: str) -> Place:
    """A run's own folder, by its `run_name`."""
    return Home.from_environment().nights / experiment / RUNS / name


def run_root(experiment: str, name: str) -> str:
    """Where a run's own tables lie, by its `run_name`."""
    return f"{Home.from_environment().root.rstrip('/')}/{RUNS}/{experiment}/{name}"


def run_folders(experiment: str, night: str) -> list[Place]:
    """Folders of the runs of a night that are not whole."""
    runs = Home.from_environment().nights / experiment / RUNS
    return sorted(runs.glob(f"{night}.*"), key=str)


def folder_of(experiment: str, night: str) -> Place:
    """Folder of a night: its plan, status, verdict and report."""
    return Home.from_environment().night_dir(experiment, night)


def nights(experiment: str | None = None) -> list[tuple[str, str]]:
    """Experiment and date of every night of which something is there, oldest first."""
    root = Home.from_environment().nights
    found = set()
    for folder in root.glob(f"{experiment or '*'}/*"):
        if _is_night(folder):
            found.add((folder.parent.name, folder.name))
        elif folder.name == RUNS:
            runs = (one.name.partition(".")[0] for one in folder.glob("*"))
            found |= {(folder.parent.name, night) for night in runs if _NIGHT.fullmatch(night)}
    return sorted(found)


def _is_night(folder: Place) -> bool:
    return bool(_NIGHT.fullmatch(folder.name)) and (
        isinstance(folder, RemotePath) or folder.is_dir()
    )
