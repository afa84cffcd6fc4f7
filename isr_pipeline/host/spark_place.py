"""One Spark for all steps of a run: Java starts once, and every step's Python joins it.

Whoever starts a run (``make nightly``, ``make ui``) starts :mod:`isr_pipeline.jobs.host` beside it,
which holds a Spark session and says in a file of its owner where it can be reached on the loopback.
A step that finds the file named by ``ISR_PIPELINE_SPARK`` joins that session; one that does not, or
that wants another master, starts a Spark of its own, and everything else is the same.

Whatever a step does to its session stays in it. Python workers are shared by steps whose sources
are the same: their environment holds a digest of them, and Spark forks others for another digest.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from isr_pipeline.files.whole import write_whole
from isr_pipeline.host.processes import process_exists

PLACE = "ISR_PIPELINE_SPARK"
"""Environment variable: file that says where the run's Spark is."""

READY_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a shared Spark is.

    Attributes:
        pid: process that holds it.
        master: its master URL.
        port: of its Py4J gateway on the loopback; 0 until it is ready.
        secret: that the gateway asks for.
        preload: modules that its Python workers have imported; a step asks for the same ones,
            since Spark keeps workers for as long as their environment stays the same.
    """

    pid: int
    master: str
    port: int = 0
    secret: str = ""
    preload: tuple[str, ...] = ()

    def write(self, file: Path) -> None:
        """Write the file, whole or not at all, readable by its owner only."""
        write_whole(file, json.dumps(asdict(self)), mode=0o600)

    @property
    def alive(self) -> bool:
        """Whether the process that holds it still exists."""
        return process_exists(self.pid)


def find(master: str | None) -> Place | None:
    """Return the run's Spark once it is ready; None if there is none with that master.

    Args:
        master: the master that is wanted; None for whichever it has.
    """
    limit = time.monotonic() + READY_SECONDS_MAX
    while time.monotonic() < limit:
        place = _read()
        if place is None or not place.alive or master not in (None, place.master):
            return None
        if place.port:
            return place
        time.sleep(0.1)
    return None


def _read() -> Place | None:
    named = os.environ.get(PLACE)
    if not named:
        return None
    try:
        content = json.loads(Path(named).read_text())
        return Place(**content | {"preload": tuple(content.get("preload", ()))})
    except (OSError, ValueError, TypeError):
        return None
