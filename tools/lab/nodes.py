"""One process of a cluster on this machine: started, known again later, ended.

A number alone does not name a process: numbers are given out again. Beside each goes the moment its
process began, so that nothing else is ever ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.night.surroundings import own
from tools.lab import disk

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROCESS = "process.json"
OUTPUT = "output.log"

STOP_SECONDS_MAX = 30.0
"""After a controlled shutdown of this time a process is killed."""

_SAME_MOMENT_S = 2.0
"""The system's clock may be set while a process runs, which moves what it says of its start."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process, named so that no other can be meant.

    Attributes:
        pid: its number.
        started_s: when it began, seconds since 1970.
    """

    pid: int
    started_s: float

    def found(self) -> psutil.Process | None:
        """Return the process, None if it has ended."""
        try:
            found = psutil.Process(self.pid)
            same = abs(found.create_time() - self.started_s) <= _SAME_MOMENT_S
            return found if same and found.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def start(folder: Path, command: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start the program of a node; its words go to a file of the folder.

    Args:
        folder: the node's own; the process is recorded there before anything else happens.
        command: program and arguments.
    """
    with (folder / OUTPUT).open("ab") as output:
        program = subprocess.Popen(
            command,
            cwd=folder,
            env=own(os.environ) | disk.environment(folder),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    found = Process(program.pid, psutil.Process(program.pid).create_time())
    write_whole(folder / PROCESS, json.dumps(asdict(found)))
    return program


def recorded(folder: Path) -> Process | None:
    """Return the process that a node's folder names, None if none was started or it has ended."""
    try:
        process = Process(**json.loads((folder / PROCESS).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return process if process.found() else None


def stop(folders: Iterable[Path], *, seconds_max: float = STOP_SECONDS_MAX) -> int:
    """End the processes of some nodes together: politely, and after a time by force.

    Returns:
        How many ran.
    """
    named = [one for one in map(recorded, folders) if one is not None]
    running = [found for one in named if (found := one.found()) is not None]
    for process in running:
        _tell(process, "terminate")
    _, left = psutil.wait_procs(running, timeout=seconds_max)
    for process in left:
        _tell(process, "kill")
    psutil.wait_procs(left, timeout=seconds_max)
    return len(running)


def kill(folder: Path) -> None:
    """Kill the process of a node, without a word before."""
    process = _running(folder)
    process.kill()
    psutil.wait_procs([process], timeout=STOP_SECONDS_MAX)


def pause(folder: Path, seconds: float) -> None:
    """Let the process of a node stand still for a time."""
    process = _running(folder)
    process.suspend()
    time.sleep(seconds)
    process.resume()


def _running(folder: Path) -> psutil.Process:
    named = recorded(folder)
    process = named.found() if named else None
    assert process is not None, f"nothing runs in {folder}"
    return process


def _tell(process: psutil.Process, what: str) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        getattr(process, what)()


def last_error(folder: Path) -> str:
    """Last line of a node's output that tells of a failure, ``""`` if there is none."""
    try:
        lines = (folder / OUTPUT).read_text(errors="replace").splitlines()
    except OSError:
        return ""
    marks = ("Exception", "ERROR", "FATAL", "Error:")
    telling = [line for line in lines if any(mark in line for mark in marks)]
    return telling[-1].strip() if telling else ""
