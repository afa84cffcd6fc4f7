"""How far long work is: a bar with an estimate in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

SECONDS_BETWEEN_LINES = 5.0
"""Work that is done sooner says nothing where nobody watches."""

Say = Callable[[str], None]
"""Told which part of some work is being done."""

BAR_CELLS = 24
BEGINS = "progress 0/1: "
"""How a line begins that says what has begun, where no part of it is counted."""

_DONE = re.compile(r"\bprogress (\d+)/(\d+): ")
"""How a job's line begins that says how far it is (:mod:`isr_pipeline.night.spark.progress`)."""


class Progress:
    """Counts what is done of some work, on standard error.

    In a terminal a bar shows how many there are, how many are done, and how long the rest takes at
    the pace so far; it goes when the work ends. Elsewhere a line says so every few seconds.

    Args:
        what: first words of each line.
        total: how many there are; None: not known (yet), see `expect`.
        out: where to; standard error if None.
        now: seconds of a clock that only goes on.
    """

    def __init__(
        self,
        what: str,
        total: int | None = None,
        *,
        out: TextIO | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._what = what
        self._total = total
        self._out = sys.stderr if out is None else out
        self._now = now
        self._done = 0
        self._began = self._said = now()
        self._bar: Bar | None = None
        self._task = None
        if self._out.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            times = (TimeElapsedColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, *times, console=Console(file=self._out), transient=True)
            self._task = self._bar.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._began = self._said = self._now()
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def expect(self, more: int) -> None:
        """Say how many are still to come, as far as is known now."""
        self._total = self._done + more
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=self._total)

    def step(self, text: str = "") -> None:
        """One more is done.

        Args:
            text: what came out of it, said in any case.
        """
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task)
            if text:
                self._bar.console.print(text, highlight=False, markup=False)
        elif text:
            self._line(f"{text} ({self.how_far()})")
        elif self._now() - self._said >= SECONDS_BETWEEN_LINES:
            self._line(f"{self._what}: {self.how_far()}")

    def note(self, text: str) -> None:
        """Say how far work without parts is, such as ``40 MB``."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self._what}: {text}")
        elif self._now() - self._said >= SECONDS_BETWEEN_LINES:
            self._line(f"{self._what}: {text}, {self._now() - self._began:.0f} s so far")

    def how_far(self) -> str:
        """``40 of 208, 12 s left``; what is not known is left out."""
        if self._total is None:
            return f"{self._done} done"
        left = self._total - self._done
        pace = (self._now() - self._began) / max(self._done, 1)
        return f"{self._done} of {self._total}" + (f", {left * pace:.0f} s left" if left else "")

    def _line(self, text: str) -> None:
        self._said = self._now()
        self._out.write(f"{text}\n")
        self._out.flush()


def watched(
    progress: Progress, look: Callable[[], str], seconds: float = 1.0
) -> Callable[[], None]:
    """Note from time to time how far something is that does not tell by itself.

    Args:
        progress: where to.
        look: says how far it is.
        seconds: between two looks.

    Returns:
        What ends the looking.
    """
    over = threading.Event()

    def watch() -> None:
        while not over.wait(seconds):
            progress.note(look())

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()

    def end() -> None:
        over.set()
        thread.join()

    return end


@contextlib.contextmanager
def stages(what: str, *, out: TextIO | None = None, seconds: float = 1.0) -> Iterator[Say]:
    """Note which part of some work is being done, and that it goes on, until all of it is over.

    Args:
        what: the work.
        out: where to; standard error if None.
        seconds: between two looks at a part that takes long.

    Yields:
        What is told the part, in a few words.
    """
    part = "begins"
    with Progress(what, out=out) as progress:

        def say(text: str) -> None:
            nonlocal part
            part = text
            progress.note(text)

        end = watched(progress, lambda: part, seconds)
        try:
            yield say
        finally:
            end()


class PassingLine:
    """Lines of which only the last counts: in a terminal each takes the place of the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._shown = False

    def show(self, text: str, out: TextIO) -> bool:
        """Show a line until the next; False where there is no terminal, or all is done."""
        done = _DONE.search(text)
        if not out.isatty() or done is None or done[1] == done[2]:
            return False
        filled = BAR_CELLS * int(done[1]) // max(int(done[2]), 1)
        line = f"    {'━' * filled}{'╌' * (BAR_CELLS - filled)} {text}"
        width = shutil.get_terminal_size().columns
        with self._lock:
            out.write(f"\r\x1b[2K{line[: width - 1]}")
            out.flush()
            self._shown = True
        return True

    def clear(self, out: TextIO) -> None:
        """Take the line away before another one is printed."""
        with self._lock:
            if self._shown:
                out.write("\r\x1b[2K")
                self._shown = False


def is_progress(text: str) -> bool:
    """Whether a job's line says how far it is."""
    return _DONE.search(text) is not None


class Listener(io.TextIOBase):
    """Writes everything to a log, and tells what of it says how far a job is.

    A log that a full disk does not take is no reason to end: the step that needs the disk says so.
    """

    def __init__(self, log: TextIO, say: Say) -> None:
        super().__init__()
        self._log = log
        self._say = say
        self._line = ""

    def write(self, text: str) -> int:
        """Write some text."""
        with contextlib.suppress(OSError):
            self._log.write(text)
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            if is_progress(line):
                self._say(line)
        return len(text)

    def flush(self) -> None:
        """Write what is held back."""
        if not self._log.closed:
            with contextlib.suppress(OSError):
                self._log.flush()
