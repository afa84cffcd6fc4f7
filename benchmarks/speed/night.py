"""Where a night's time goes: the newest night that came to its end, as Airflow recorded it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from isr_pipeline.base.home import Home
from isr_pipeline.night.status import nights, read_status

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

UNFINISHED = frozenset({"running", "failed", "interrupted"})
SIMULATION_AND_VALIDATION = (
    "simulate",
    "validate_scenarios",
    "validate_outcomes",
    "validate_summary",
)
START, BETWEEN = "start", "between tasks"


class NoNight(RuntimeError):
    """No finished night can be read; says what to do."""


@dataclass(frozen=True, slots=True)
class NightFigures:
    """A night by task.

    Attributes:
        experiment, night: which one; ``begun``: when, UTC; ``code_version``: what made it.
        pairs: scenarios x configurations of its standing panel.
        seconds: task -> seconds (of a mapped task: all its instances); ``start`` is what came
            before the first task, ``between tasks`` what lay between them.
        total: from the program's start to the end of the last task.
        simulation_and_validation: their share of it.
    """

    experiment: str
    night: str
    begun: str
    code_version: str
    pairs: int
    seconds: dict[str, float]
    total: float
    simulation_and_validation: float


@dataclass(frozen=True, slots=True)
class Instance:
    """One run of a task: its name, start and end in seconds since the epoch."""

    task: str
    start: float
    end: float


def newest(experiment: str | None = None) -> NightFigures:
    """Read the newest finished night of `make nightly` (of an experiment, or of any).

    Raises:
        NoNight: there is none, or Airflow's database does not know it.
    """
    home = Home.from_environment()
    finished = []
    unknown = NoNight("no finished night: run `make nightly` first")
    for name, night in nights(experiment):
        status = read_status(name, night)
        named = _named(status.dag_run_id)
        if status.state in UNFINISHED or named is None:
            continue
        try:
            instances = recorded(home.airflow / "airflow.db", status.dag_run_id)
        except NoNight as error:
            unknown = error
        else:
            finished.append((_begun(named, instances), name, night, instances))
    if not finished:
        raise unknown
    begun, name, night, instances = max(finished, key=lambda one: one[0])
    seconds = by_task(begun, instances)
    total = max(one.end for one in instances) - begun
    plan = json.loads((home.night_dir(name, night) / "plan.json").read_text())
    return NightFigures(
        experiment=name,
        night=night,
        begun=datetime.fromtimestamp(begun, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        code_version=plan["code_version"],
        pairs=plan["panels"]["regression"] * len(plan["configurations"]),
        seconds=seconds,
        total=round(total, 2),
        simulation_and_validation=round(
            sum(seconds.get(task, 0.0) for task in SIMULATION_AND_VALIDATION) / total, 3
        ),
    )


def by_task(begun: float, instances: Iterable[Instance]) -> dict[str, float]:
    """Divide a night's time among its tasks, its start, and what lay between tasks.

    Args:
        begun: when the program started, seconds since the epoch.
        instances: every task instance that ran.
    """
    ordered = sorted(instances, key=lambda one: one.start)
    seconds = {START: ordered[0].start - begun}
    for one in ordered:
        seconds[one.task] = seconds.get(one.task, 0.0) + one.end - one.start
    spent = sum(seconds.values())
    seconds[BETWEEN] = max(0.0, max(one.end for one in ordered) - begun - spent)
    return {task: round(value, 2) for task, value in seconds.items()}


def recorded(database: Path, run_id: str) -> list[Instance]:
    """Task instances of a run, from Airflow's own database on this machine.

    Raises:
        NoNight: the database is not there (a server elsewhere), or has no such run.
    """
    if not database.is_file():
        raise NoNight(f"Airflow's database is not a file of this home ({database.name})")
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        rows = connection.execute(
            "select task_id, start_date, end_date from task_instance"
            " where run_id = ? and start_date is not null and end_date is not null",
            (run_id,),
        ).fetchall()
    if not rows:
        raise NoNight(f"Airflow's database has no tasks of {run_id}")
    return [Instance(task, _utc(start), _utc(end)) for task, start, end in rows]


def _named(run_id: str) -> datetime | None:
    """Date of the night, and time of day (UTC) at which `make nightly` started its run.

    Returns:
        None for runs that something else began.
    """
    kind, _, moment = run_id.partition("__")
    try:
        named = datetime.fromisoformat(moment)
    except ValueError:
        return None
    return named if kind == "manual" and named.tzinfo else None


def _begun(named: datetime, instances: Iterable[Instance]) -> float:
    """When the run's program started, seconds since the epoch: the last such time of day.

    The date is the night's, for which a run may begin on any day. Airflow keeps no time of its own
    before that of the first task: `dag.test` notes the logical date as the run's start.
    """
    first = datetime.fromtimestamp(min(one.start for one in instances), UTC)
    return (named + timedelta(days=(first - named) // timedelta(days=1))).timestamp()


def _utc(written: str) -> float:
    """A time of Airflow's database, which is in UTC without saying so."""
    return datetime.fromisoformat(written).replace(tzinfo=UTC).timestamp()
