"""A job as a program: its exit status, and the reason it ends with in one line."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from isr_pipeline.base.errors import USER_ERRORS
from isr_pipeline.base.processes import end_with
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.night.spark.spark_errors import cause
from isr_pipeline.night.spark.submit import STARTED


def run_as_program(work: Callable[[], None]) -> int:
    """Do the work; returns the exit status.

    The reason of a failure is the last line on standard error. It is also left in the file that
    whoever submitted the job named, if a session had started: there it stands alone.
    """
    supervisor = int(os.environ.get(SUPERVISOR_VARIABLE, "0"))
    if supervisor:  # the program that started this night's: without it nobody waits for the job
        end_with(supervisor)
    try:
        work()
    except USER_ERRORS as error:
        return _ended(str(error), error.exit_status)
    except Exception as error:
        traceback.print_exc()
        return _ended(cause(error), 1)
    return 0


def _ended(reason: str, status: int) -> int:
    sys.stderr.write(f"{reason}\n")
    sign = os.environ.get(STARTED)
    if sign and Path(sign).exists():
        Path(sign).write_text(reason)
    return status
