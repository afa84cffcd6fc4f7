"""A job as a program."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE

JOB = """
import time
from isr_pipeline.night.spark.program import run_as_program
print("works", flush=True)
run_as_program(lambda: time.sleep(60))
"""


@pytest.mark.parametrize("before", [True, False])
def test_ends_with_the_program_that_started_the_night(before: bool) -> None:
    """Nobody waits for it any more; also if that ended while the job was starting."""
    supervisor = subprocess.Popen(["sleep", "60"])
    if before:
        supervisor.kill()
        supervisor.wait()
    job = subprocess.Popen(
        [sys.executable, "-c", JOB],
        env=os.environ | {SUPERVISOR_VARIABLE: str(supervisor.pid)},
        stdout=subprocess.PIPE,
    )
    try:
        assert job.stdout is not None
        assert job.stdout.readline() == b"works\n"
        time.sleep(0.5)
        supervisor.kill()
        supervisor.wait()
        assert job.wait(30) == 1
    finally:
        job.kill()
        job.wait()
