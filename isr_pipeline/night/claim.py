"""Which nights are being written: the claim of a run on one night of one experiment.

A claim is a file that a run's first task writes, every later one asks for, and its last removes.
It stops a second Airflow and the command line as well. Nights of other dates and experiments go on
beside it; what they share is written by one at a time (:mod:`isr_pipeline.files.lock`). Who may
run Airflow on a home is another lock (:mod:`isr_pipeline.host.airflow_lock`).
"""

from __future__ import annotations

import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.files.lock import alone
from isr_pipeline.files.whole import write_whole
from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.host.processes import began_s, process_exists

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isr_pipeline.home import Home

CLAIMS = "nights"
"""Name of the claims' folder, and of the lock under which they are read and written."""

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
    """Another run of the same Airflow is writing the night; ask again later."""


def claim_night(
    home: Home,
    *,
    owner: str,
    experiment: str,
    night: str,
    airflow: str,
    is_running: Callable[[str], bool],
) -> None:
    """Claim a night for one DAG run, or confirm that it is claimed for it.

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
        NotYet: another run of the same Airflow is writing this night.
        Refused: another program is writing this night.
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
    file = _claim_file(home, experiment, night)
    with alone(home.locks, CLAIMS):
        held = _read_claim(file)
        if held and held.owner == owner and held.alive():
            return
        # A run that `make ui` takes up again has another supervisor now.
        if held and held.owner != owner and held.alive():
            if held.airflow != airflow:
                raise Refused(_busy(held, file))
            if is_running(held.owner):
                raise NotYet(f"{held} is being written; waiting until it ends")
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(asdict(mine), indent=1))


def holds_claim(home: Home, experiment: str, night: str, *, owner: str) -> bool:
    """Tell whether a run is the one that writes a night."""
    held = _read_claim(_claim_file(home, experiment, night))
    return held is not None and held.owner == owner


def is_being_written(home: Home, experiment: str, night: str, *, owner: str) -> bool:
    """Tell whether a run is the one that writes a night, and may still be at work."""
    held = _read_claim(_claim_file(home, experiment, night))
    return held is not None and held.owner == owner and held.alive()


def release_night(home: Home, experiment: str, night: str, *, owner: str) -> None:
    """Give up a run's claim; another run's claim stays."""
    with alone(home.locks, CLAIMS):
        if holds_claim(home, experiment, night, owner=owner):
            _claim_file(home, experiment, night).unlink()


def refuse_if_claimed(home: Home, experiment: str | None = None) -> None:
    """Refuse a command that changes what nights read or write while one is being written.

    Args:
        home: where state lives.
        experiment: whose nights are meant; None: all.

    Raises:
        Refused: names the night and its run.
    """
    for file in sorted(_claims(home).glob(f"{experiment or '*'}/*.json")):
        held = _read_claim(file)
        if held and held.alive():
            raise Refused(_busy(held, file))


def _busy(held: Claim, file: Path) -> str:
    return f"{held} is being written; wait until it ends, or remove {file} if that run is dead"


def _claims(home: Home) -> Path:
    return home.locks / CLAIMS


def _claim_file(home: Home, experiment: str, night: str) -> Path:
    return _claims(home) / experiment / f"{night}.json"


def _read_claim(file: Path) -> Claim | None:
    """Return the claim that stands, None if there is none or it cannot be read."""
    try:
        return Claim(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None
