"""Lines that say how far a job is, while it runs, for a terminal and a task log."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LOOKS = 3.0
"""A line is said at most this often."""

SECONDS_QUIET_MAX = 15.0
"""A line is said at least this often, though no task has ended since the last one."""


def print_line(line: str) -> None:
    """Write a line to standard output at once (a task log shows it as it comes)."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Progress:
    """Counts finished pairs across workers and says a line when there are more, or now and then.

    Workers count with accumulators, which Spark brings to the driver whenever a task ends; a
    task that is run again after a failure counts once.

    Args:
        spark: the session whose workers count.
        what: what each line names, such as the shard's name.
        pairs: how many pairs there are.
        cost: their expected cost in any unit; time left follows from it.
    """

    def __init__(self, spark: SparkSession, what: str, pairs: int, cost: float) -> None:
        self._what = what
        self._pairs = pairs
        self._cost = cost
        self.pairs_done = spark.sparkContext.accumulator(0)
        self.cost_done = spark.sparkContext.accumulator(0.0)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._talk, name="progress", daemon=True)
        self._started = time.monotonic()
        self._counted = 0
        self._counted_at = self._started
        self._said_at = self._started

    def __enter__(self) -> Self:
        self._started = self._counted_at = self._said_at = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()
        print_line(self.line())

    def line(self) -> str:
        """``progress 1200/8000: regression/kraft, 310 pairs/s, 22 s left``.

        The rate and the time left are those of the last count: while tasks run nothing is counted,
        and a rate that sinks with every second of waiting would say that the work got slower.
        """
        now = time.monotonic()
        done = int(self.pairs_done.value)
        if done != self._counted:
            self._counted, self._counted_at = done, now
        elapsed = max(self._counted_at - self._started, 1e-9)
        rate = done / elapsed
        in_words = f"{rate:.0f}" if rate >= 10 or not done else f"{rate:.1f}"
        head = f"progress {done}/{self._pairs}: {self._what}, {in_words} pairs/s"
        if done >= self._pairs:
            return f"{head}, done in {elapsed:.1f} s"
        share = self.cost_done.value / self._cost if self._cost else 0.0
        if share <= 0.0:
            return f"{head}, time left not known yet"
        left = elapsed * (1.0 - share) / share - (now - self._counted_at)
        return f"{head}, {left:.0f} s left" if left >= 0.0 else f"{head}, longer than expected"

    def _talk(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_LOOKS):
            counted = self.pairs_done.value != self._counted
            quiet = time.monotonic() - self._said_at >= SECONDS_QUIET_MAX
            # The last line is printed at the end.
            if self.pairs_done.value < self._pairs and (counted or quiet):
                self._said_at = time.monotonic()
                print_line(self.line())
