"""Who runs Airflow on this home: one program at a time.

``airflow.lock`` is held with ``flock`` by the program that runs Airflow's scheduler on this home
(``make ui`` or ``make nightly``), for as long as it lives; the system frees it when the program
dies, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import TYPE_CHECKING, Any

import psutil

from isr_pipeline.host.together import family

if TYPE_CHECKING:
    from isr_pipeline.home import Home

SUPERVISOR_VARIABLE = "ISR_PIPELINE_SUPERVISOR_PID"
"""Environment variable: process that started Airflow here; its death frees the claims it made."""


END_SECONDS_MAX = 5.0


def end_supervised(but: int = 0) -> None:
    """End every process that this one is the supervisor of, whoever is its parent by now.

    A killed Airflow leaves tasks, and these Spark's Java, in sessions of their own.

    Args:
        but: number of a process that stays, with all below it.
    """
    own = str(os.getpid())
    limit = time.monotonic() + END_SECONDS_MAX
    stay = {but, *(one.pid for one in family(but))} if but else set()
    while (
        left := [
            one for one in psutil.process_iter() if _supervisor(one) == own and one.pid not in stay
        ]
    ) and time.monotonic() < limit:
        for one in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(left, timeout=0.5)


def _supervisor(process: psutil.Process) -> str:
    """Its supervisor's number, as its environment says; empty without one."""
    try:
        return "" if process.pid == os.getpid() else process.environ().get(SUPERVISOR_VARIABLE, "")
    except (psutil.Error, OSError):
        return ""


class AirflowLock:
    """The right to run Airflow's scheduler on a home, held while the object is open."""

    def __init__(self, home: Home) -> None:
        self._path = home.locks / "airflow.lock"
        self._file: Any = None

    def try_hold(self, program: str, **facts: object) -> bool:
        """Take the lock if it is free and write who holds it.

        Args:
            program: ``make ui`` or ``make nightly``.
            facts: what others should know, such as the night.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self._file = file
        file.truncate(0)
        file.write(json.dumps({"program": program, "pid": os.getpid(), **facts}))
        file.flush()
        return True

    def holder(self) -> dict[str, Any]:
        """Return what the holder wrote; empty while it has not written yet."""
        try:
            holder: dict[str, Any] = json.loads(self._path.read_text() or "{}")
        except (OSError, ValueError):
            return {}
        return holder

    def release(self) -> None:
        """Free the lock."""
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None
