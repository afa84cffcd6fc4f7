"""A job as a program: its exit status, and the reason it ends with in one line."""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from isr_pipeline.base.errors import USER_ERRORS
from isr_pipeline.base.processes import began_s, process_exists
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.night.spark.spark_errors import cause
from isr_pipeline.night.spark.spark_session import STARTED

LOOK_SECONDS = 1.0


def run_as_program(work: Callable[[], None]) -> int:
    """Do the work; returns the exit status.

    The reason of a failure is the last line on standard error. It is also left in the file that
    whoever submitted the job named, if a session had started: there it stands alone.
    """
    _end_with_supervisor()
    try:
        work()
    except USER_ERRORS as error:
        return _ended(str(error), error.exit_status)
    except Exception as error:
        traceback.print_exc()
        return _ended(cause(error), 1)
    return 0


def _end_with_supervisor() -> None:
    """End when the program that started this night's programs is gone: nobody waits for the job."""
    pid = int(os.environ.get(SUPERVISOR_VARIABLE, "0"))
    began = began_s(pid) if pid else 0.0  # also 0 if it ended while this program started

    def look() -> None:
        while process_exists(pid, began):
            time.sleep(LOOK_SECONDS)
        os._exit(1)

    if pid:
        threading.Thread(target=look, name="supervisor", daemon=True).start()


def _ended(reason: str, status: int) -> int:
    sys.stderr.write(f"{reason}\n")
    sign = os.environ.get(STARTED)
    if sign and Path(sign).exists():
        Path(sign).write_text(reason)
    return status
