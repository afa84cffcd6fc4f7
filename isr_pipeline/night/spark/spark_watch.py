"""Ends what waits for a cluster that is gone.

A standalone master that vanishes is no error to Spark: its driver waits for it to come back, and a
job whose executors were lost waits with it, for ever. Spark has no setting for that. So whoever
starts a session looks every few seconds whether anything could do its jobs, and cancels them with a
reason when nothing could for too long. What runs on executors that are left goes on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Any

from isr_pipeline.base.errors import InputError

WAIT = "ISR_PIPELINE_EXECUTOR_WAIT_S"
"""Environment variable: how long a job may wait without any executor, in seconds."""

WAIT_S = 120.0
"""Without the variable: as long as Spark itself waits for an executor that says nothing
(``spark.network.timeout``)."""

LOOK_EVERY_S = 2.0

NO_EXECUTOR = "no executor of Spark was there for"
"""What a reason begins with; the error that a cancelled job ends with holds it."""


def wait_s() -> float:
    """How long a job may wait.

    Raises:
        InputError: the variable holds no such number.
    """
    text = os.environ.get(WAIT) or str(WAIT_S)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 1.0 <= seconds <= 86_400.0:
        raise InputError(WAIT, "", text, "seconds, 1 to 86400")
    return seconds


class Waiting:
    """How long jobs have waited with no executor to run them.

    Args:
        most_s: how long they may.
        clock: seconds.
    """

    def __init__(self, most_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most_s = most_s
        self._clock = clock
        self._since: float | None = None

    def too_long(self, *, jobs: int, executors: int) -> bool:
        """Note how many there are at this moment; whether that has lasted too long."""
        if executors or not jobs:
            self._since = None
            return False
        self._since = self._clock() if self._since is None else self._since
        return self._clock() - self._since >= self._most_s


def watch(spark: Any, master: str) -> None:
    """Watch a session that was just started, as long as it lives.

    Args:
        spark: the session's SparkContext in Java, which cancels a job with a reason.
        master: as it was asked for.
    """
    most_s = wait_s()
    thread = threading.Thread(
        target=_watch, args=(spark, master, most_s), name="spark-watch", daemon=True
    )
    thread.start()


def _watch(spark: Any, master: str, most_s: float) -> None:
    waiting = Waiting(most_s)
    reason = (
        f"{NO_EXECUTOR} {most_s:g} s: {master} or its workers are gone, or give this program none"
    )
    try:
        status = spark.statusTracker()
        while not spark.isStopped():
            jobs = list(status.getActiveJobIds())
            executors = len(status.getExecutorInfos()) - 1  # the driver is one
            if waiting.too_long(jobs=len(jobs), executors=executors):
                for job in jobs:
                    spark.cancelJob(job, reason)
            time.sleep(LOOK_EVERY_S)
    except Exception:  # Java has ended, in whatever way; who waits for it is told by that
        return
