"""Lines that say how far a job is, while it runs, for a terminal and a task log."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import SparkSession

SECONDS_BETWEEN_LINES = 3.0


def print_line(line: str) -> None:
    """Write a line to standard output at once (a task log shows it as it comes)."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class Progress:
    """Counts finished pairs across workers and says a line every few seconds.

    Workers count with accumulators, which Spark brings to the driver whenever a task ends; a
    task that is run again after a failure counts once.

    Args:
        spark: the session whose workers count.
        what: first words of each line, such as the shard's name.
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

    def __enter__(self) -> Self:
        self._started = time.monotonic()
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
        """``regression/kraft: pairs 1200/8000, 310 pairs/s, 22 s left``."""
        elapsed = max(time.monotonic() - self._started, 1e-9)
        done = int(self.pairs_done.value)
        head = f"{self._what}: pairs {done}/{self._pairs}, {done / elapsed:.0f} pairs/s"
        if done >= self._pairs:
            return f"{head}, done in {elapsed:.1f} s"
        share = self.cost_done.value / self._cost if self._cost else 0.0
        if share <= 0.0:
            return f"{head}, time left not known yet"
        return f"{head}, {elapsed * (1.0 - share) / share:.0f} s left"

    def _talk(self) -> None:
        while not self._stopped.wait(SECONDS_BETWEEN_LINES):
            if self.pairs_done.value < self._pairs:  # the last line is printed at the end
                print_line(self.line())
