"""Who runs Airflow on this home: one program at a time.

``airflow.lock`` is held with ``flock`` by the program that runs Airflow's scheduler on this home
(``make ui`` or ``make nightly``), for as long as it lives; the system frees it when the program
dies, however it dies.
"""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.processes import began_s

if TYPE_CHECKING:
    from isr_pipeline.base.home import Home

SUPERVISOR_VARIABLE = "ISR_PIPELINE_SUPERVISOR_PID"
"""Environment variable: process that started Airflow here; its death frees the claims it made."""


class AirflowLock:
    """The right to run Airflow's scheduler on a home, held while the object is open."""

    def __init__(self, home: Home) -> None:
        self._path = home.airflow_lock
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
        process = {"pid": os.getpid(), "began_s": began_s(os.getpid())}
        file.write(json.dumps({"program": program, **process, **facts}))
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
