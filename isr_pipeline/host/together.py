"""Run programs together: when one ends, or whoever started this does, all of them end.

    python -m isr_pipeline.host.together '[["airflow", "scheduler"], ["airflow", "api-server"]]'

Standard input is a pipe that the starter holds. When it closes, because the starter was killed,
nothing may run on: programs that nobody watches would hold the ports of the next start.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

END_SECONDS_MAX = 8.0
LOOK_SECONDS = 0.5


def main() -> int:
    """Run as a program; exit status 0 if the starter asked for the end, 1 if a program ended."""
    commands: list[list[str]] = json.loads(sys.argv[1])
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: asked.append(got))
    programs = [subprocess.Popen(one, stdin=subprocess.DEVNULL) for one in commands]
    ended = None
    while not asked and ended is None and not _starter_gone():
        ended = next((one for one in programs if one.poll() is not None), None)
    if ended is not None:
        sys.stderr.write(f"{_words(ended)} ended by itself (status {ended.returncode})\n")
    end_all(programs)
    return 0 if ended is None else 1


def _starter_gone() -> bool:
    """Wait a moment for standard input to close."""
    readable, _, _ = select.select([sys.stdin], [], [], LOOK_SECONDS)
    return bool(readable) and not os.read(sys.stdin.fileno(), 1024)


def _words(program: subprocess.Popen[bytes]) -> str:
    assert isinstance(program.args, list)
    return " ".join(str(word) for word in program.args[:2])


def end_all(programs: Sequence[subprocess.Popen[Any]]) -> None:
    """End programs and all that they started: these are asked first, what is below is killed.

    Airflow's scheduler would wait for its running tasks, and these for the API, which ends beside
    it. A task that is killed is started again, with its run, by the next scheduler.
    """
    below = [one for program in programs for one in family(program.pid)]
    for program in programs:
        program.terminate()
    each(psutil.Process.kill, below)
    limit = time.monotonic() + END_SECONDS_MAX
    while time.monotonic() < limit and any(one.poll() is None for one in programs):
        time.sleep(0.1)
    for program in programs:
        below += family(program.pid)
        program.kill()
        program.wait()
    each(psutil.Process.kill, below)


def family(pid: int) -> list[psutil.Process]:
    """Return every process below one, as far as they still exist."""
    try:
        found: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def each(action: Callable[[psutil.Process], None], processes: Iterable[psutil.Process]) -> None:
    """Do something to processes that may be gone already."""
    for one in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            action(one)


if __name__ == "__main__":
    sys.exit(main())
