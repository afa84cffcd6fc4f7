"""Spark jobs, run by spark-submit; and why one ended, in a line."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from isr_pipeline.base.errors import shortened
from isr_pipeline.base.home import SHIPPED
from isr_pipeline.night.spark.java import spark_home
from isr_pipeline.night.supervisor import end_all, marked

JOBS = SHIPPED / "spark_jobs"

LAUNCHER = "spark-submit"

STARTED = "ISR_PIPELINE_SPARK_STARTED"
"""Environment variable: file to make once a session has started, for whoever submitted the job."""


class JobFailed(Exception):
    """A Spark job failed; its text is the reason, in one line."""


class JobNotStarted(JobFailed):
    """A Spark job could not even start: a second try would not either."""


def submit(
    job: str,
    arguments: Sequence[str],
    *,
    name: str,
    master: str,
    variables: Mapping[str, str],
    launcher: str | None = None,
) -> None:
    """Run a job to its end; what it says goes to standard output, line by line.

    Args:
        job: file of ``spark_jobs/``.
        arguments: of the job.
        name: of the application.
        master: Spark's.
        variables: environment of the launcher.
        launcher: program that submits; None: that of our Spark, else the one on PATH.

    Raises:
        JobNotStarted: no session came up.
        JobFailed: the job failed, or was killed.
    """
    launcher = launcher or own_launcher()
    command = [launcher, "--master", master, "--name", name, str(JOBS / job), *arguments]
    said: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        sign = Path(folder) / "started"
        try:
            process = subprocess.Popen(
                command,
                env=marked(
                    {"PYSPARK_DRIVER_PYTHON": sys.executable, **variables, STARTED: str(sign)}
                ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                # Ctrl-C in the terminal reaches this program alone, which ends it in order.
                start_new_session=True,
            )
        except OSError as error:
            why = str(error.strerror).lower()
            raise JobNotStarted(f"{launcher} cannot be started: {why}") from None
        try:
            assert process.stdout is not None
            for line in process.stdout:
                sys.stdout.write(line)
                said = [*said[-50:], line]
            status = process.wait()
        except BaseException:
            end_all([process], process.pid)
            raise
        if status:
            raise failure(status, sign, "".join(said))


def own_launcher() -> str:
    """The spark-submit of the Spark that is installed beside us, else the one on PATH."""
    beside = spark_home() / "bin" / LAUNCHER
    return str(beside) if beside.is_file() else LAUNCHER


def failure(status: int, sign: Path, said: str) -> JobFailed:
    """Why a job ended.

    Args:
        status: exit status of the launcher.
        sign: file that the job makes once it has a session, and leaves its reason in.
        said: the last that the launcher said.
    """
    if status < 0 or status > 128:
        return JobFailed(f"{LAUNCHER} was killed (exit status {status}; was memory short?)")
    reason = sign.read_text() if sign.exists() else ""
    if reason:
        return JobFailed(reason)
    if sign.exists():
        return JobFailed(f"the job ended without a reason (exit status {status})")
    why = why_not(said)
    if why:
        return JobNotStarted(f"the job did not start (exit status {status}): {why}")
    return JobFailed(f"the job ended before it began, without a reason (exit status {status})")


def why_not(text: str) -> str:
    """Of what spark-submit said before it gave up, the line that says why; empty if none does."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = re.compile(
        r"not found|no such file|error:|exception|unrecognized|unsupported|denied|cannot|could not",
        re.IGNORECASE,
    )
    return shortened(next((line for line in lines if telling.search(line)), ""), 300)
