"""One program at a time where several share what they write."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def alone(locks: Path, what: str) -> Iterator[None]:
    """Wait until no other program does the same, and keep others from it.

    The system frees the lock when a program dies.

    Args:
        locks: folder of the lock files; it is made.
        what: is done, a name for a file.
    """
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / f"{what}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Closing alone would leave it to a process that was forked in between.
            fcntl.flock(file, fcntl.LOCK_UN)
