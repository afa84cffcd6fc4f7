"""Which night is being written: the claim of one DAG run on the tables.

``night.json`` is written by a run's first task, asked for by every later one, removed by its last.
It stops a second Airflow and the command line as well. Who may run Airflow on a home is another
lock (:mod:`isr_pipeline.host.airflow_lock`).
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.files.whole import write_whole
from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.host.processes import began_s, process_exists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isr_pipeline.home import Home

CLAIM_SECONDS_MAX = 6 * 3600
"""A claim made without a known supervisor (in containers) counts for dead after this time."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who writes which night.

    Attributes:
        owner: id of the DAG run, or a command in words.
        airflow: home of the Airflow that runs it; its other runs can ask it whether this one has
            ended, and wait; a run of another Airflow is refused.
        supervisor_pid: process whose end frees the claim, 0 if unknown.
        since_s: when it was made, seconds since 1970.
        supervisor_began_s: when that process started, seconds since 1970; 0 if unknown.
    """

    owner: str
    experiment: str
    night: str
    airflow: str
    host: str
    supervisor_pid: int
    since_s: float
    supervisor_began_s: float = 0.0

    def alive(self) -> bool:
        """Whether the claimant may still be at work."""
        if self.host == socket.gethostname() and self.supervisor_pid:
            return process_exists(self.supervisor_pid, self.supervisor_began_s)
        return time.time() - self.since_s < CLAIM_SECONDS_MAX

    def __str__(self) -> str:
        """``night 2026-11-19 of smoke (run X, process 4711)``."""
        process = f", process {self.supervisor_pid}" if self.supervisor_pid else ""
        return f"night {self.night} of {self.experiment} (run {self.owner}{process})"


class NotYet(Refused):
    """Another run of the same Airflow is writing a night; ask again later."""


def claim_night(
    home: Home,
    *,
    owner: str,
    experiment: str,
    night: str,
    airflow: str,
    is_running: Callable[[str], bool],
) -> None:
    """Claim the tables for one DAG run, or confirm that they are claimed for it.

    Airflow runs one run of a DAG at a time, but counts the runs of each backfill apart: two runs
    of one Airflow can be under way at once, for the same night too.

    Args:
        home: where state lives.
        owner: id of the DAG run.
        experiment: what it writes.
        night: what it writes.
        airflow: home of the Airflow that runs it.
        is_running: tells of another DAG run of the same Airflow, by its id, whether it is under
            way. One that has ended, or waits to start, holds nothing.

    Raises:
        NotYet: another run of the same Airflow is writing a night.
        Refused: another program is writing a night.
    """
    supervisor = int(os.environ.get(SUPERVISOR_VARIABLE, "0"))
    mine = Claim(
        owner=owner,
        experiment=experiment,
        night=night,
        airflow=airflow,
        host=socket.gethostname(),
        supervisor_pid=supervisor,
        since_s=time.time(),
        supervisor_began_s=began_s(supervisor) if supervisor else 0.0,
    )
    with _exclusively(home):
        held = _read_claim(home)
        if held and held.owner == owner and held.alive():
            return
        # A run that `make ui` takes up again has another supervisor now.
        if held and held.owner != owner and held.alive():
            if held.airflow != airflow:
                raise Refused(_busy(home, held))
            if is_running(held.owner):
                raise NotYet(f"{held} is being written; waiting until it ends")
        write_whole(_claim_file(home), json.dumps(asdict(mine), indent=1))


def holds_claim(home: Home, *, owner: str) -> bool:
    """Tell whether a run is the one that writes."""
    with _exclusively(home):
        held = _read_claim(home)
    return held is not None and held.owner == owner


def is_being_written(home: Home, *, owner: str) -> bool:
    """Tell whether a run is the one that writes, and may still be at work."""
    held = _read_claim(home)
    return held is not None and held.owner == owner and held.alive()


def release_night(home: Home, *, owner: str) -> None:
    """Give up a run's claim; another run's claim stays."""
    with _exclusively(home):
        held = _read_claim(home)
        if held and held.owner == owner:
            _claim_file(home).unlink()


def refuse_if_claimed(home: Home) -> None:
    """Refuse a command that changes tables while a night is being written.

    Raises:
        Refused: names the night and its run.
    """
    with _exclusively(home):
        held = _read_claim(home)
    if held and held.alive():
        raise Refused(_busy(home, held))


def _busy(home: Home, held: Claim) -> str:
    return (
        f"{held} is being written; wait until it ends, "
        f"or remove {_claim_file(home)} if that run is dead"
    )


def _claim_file(home: Home) -> Path:
    return home.locks / "night.json"


def _read_claim(home: Home) -> Claim | None:
    """Return the claim that stands, None if there is none or it cannot be read."""
    try:
        return Claim(**json.loads(_claim_file(home).read_text()))
    except (OSError, ValueError, TypeError):
        return None


@contextmanager
def _exclusively(home: Home) -> Iterator[None]:
    """Hold the short lock under which the claim is read and written."""
    home.locks.mkdir(parents=True, exist_ok=True)
    with (home.locks / "claim.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
