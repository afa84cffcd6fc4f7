"""What a killed program leaves is ended by the supervisor of both."""

from __future__ import annotations

import os
import subprocess

import psutil

from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE, end_supervised


def test_only_its_own_and_in_whatever_session() -> None:
    """A process of this supervisor ends, one of another stays."""
    numbers = (str(os.getpid()), "1")
    started = [
        subprocess.Popen(
            ["sleep", "60"], env=os.environ | {SUPERVISOR_VARIABLE: one}, start_new_session=True
        )
        for one in numbers
    ]
    try:
        end_supervised()
        assert not psutil.pid_exists(started[0].pid)
        assert started[1].poll() is None
    finally:
        for one in started:
            one.kill()
            one.wait()
