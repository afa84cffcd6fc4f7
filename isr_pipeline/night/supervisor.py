"""Run programs together: when one ends, or whoever started this does, all of them end.

    python -m isr_pipeline.night.supervisor '[["airflow", "scheduler"], ["airflow", "api-server"]]'

Standard input is a pipe that the starter holds. When it closes, because the starter was killed,
nothing may run on: programs that nobody watches would hold the ports of the next start.

Whatever a program starts has the number of this process among its environment variables, or is in
the session that was made for the program. So it is found when its own parent was killed.
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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from isr_pipeline.base.errors import shortened

MARK = "ISR_PIPELINE_STARTED_BY"
"""Environment variable: number of the process that ends, with the program, all below it."""

END_SECONDS_MAX = 8.0
KILL_SECONDS_MAX = 5.0
LOOK_SECONDS = 0.5

KILLED = 128
"""Exit status that a signal's number is added to, as a shell does."""

STOP_SECONDS_MAX = 12.0
"""For this program to end those that it runs."""


@dataclass(frozen=True, slots=True)
class Program:
    """Programs that run together.

    Attributes:
        name: as a person calls them.
        process: parent of them all, leader of a session of its own.
        log: file with what they say.
    """

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def runs(self) -> bool:
        """Whether none of them has ended."""
        return self.process.poll() is None

    def why(self) -> str:
        """Why they ended: what killed one of them, or the last that they said."""
        if (status := self.process.returncode) > KILLED:
            return f"killed by signal {status - KILLED}"
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        return shortened(next((line for line in reversed(lines) if line), "no message"), 200)


def start(
    name: str, commands: Sequence[Sequence[str]], variables: Mapping[str, str], log: Path
) -> Program:
    """Start programs that end together, and with this process.

    Args:
        name: as a person calls them.
        commands: of each.
        variables: their environment.
        log: file for what they say.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "isr_pipeline.night.supervisor", json.dumps(commands)],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal reaches this process alone, which stops all in order.
            start_new_session=True,
        )
    return Program(name, process, log)


def stop(programs: Sequence[Program]) -> None:
    """Ask programs to end, all at once; after a while make them."""
    for program in programs:
        program.process.terminate()
    limit = time.monotonic() + STOP_SECONDS_MAX
    for program in programs:
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.process.wait(max(limit - time.monotonic(), 0.1))
        program.process.kill()
        program.process.wait()
        _kill_below(program.process.pid, program.process.pid)


def main() -> int:
    """Run as a program; exit status 0 if the starter asked for the end, else of what ended."""
    commands: list[list[str]] = json.loads(sys.argv[1])
    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: asked.append(got))
    programs = [
        subprocess.Popen(one, env=marked(os.environ), stdin=subprocess.DEVNULL) for one in commands
    ]
    ended = None
    while not asked and ended is None and not _starter_gone():
        ended = next((one for one in programs if one.poll() is not None), None)
    if ended is not None and len(programs) > 1:
        sys.stderr.write(f"{_words(ended)} ended by itself (status {ended.returncode})\n")
    end_all(programs, os.getpid())
    status: int = 0 if ended is None else ended.returncode
    return KILLED - status if status < 0 else status


def _starter_gone() -> bool:
    """Wait a moment for standard input to close."""
    readable, _, _ = select.select([sys.stdin], [], [], LOOK_SECONDS)
    return bool(readable) and not os.read(sys.stdin.fileno(), 1024)


def _words(program: subprocess.Popen[bytes]) -> str:
    assert isinstance(program.args, list)
    return " ".join(str(word) for word in program.args[:2])


def marked(variables: Mapping[str, str]) -> dict[str, str]:
    """Environment of a program that this process will end, with all that it starts."""
    return {**variables, MARK: str(os.getpid())}


def end_all(programs: Sequence[subprocess.Popen[Any]], session: int) -> None:
    """End programs and all that they started: these are asked first, what is below is killed.

    Airflow's scheduler would wait for its running tasks, and these for the API, which ends beside
    it. A task that is killed is started again, with its run, by the next scheduler.

    Args:
        programs: started in an environment that is :func:`marked`.
        session: number of the session that they were started in; no others are in it.
    """
    for program in programs:
        program.terminate()
    _kill_below(os.getpid(), session, but=[program.pid for program in programs])
    limit = time.monotonic() + END_SECONDS_MAX
    while time.monotonic() < limit and any(one.poll() is None for one in programs):
        time.sleep(0.1)
    for program in programs:
        program.kill()
        program.wait()
    _kill_below(os.getpid(), session)


def _kill_below(pid: int, session: int, but: Sequence[int] = ()) -> None:
    """Kill all that a process started, whoever is its parent by now.

    Args:
        pid: of the process.
        session: see :func:`end_all`.
        but: numbers of processes that stay.
    """
    limit = time.monotonic() + KILL_SECONDS_MAX
    while (left := _below(pid, session, but)) and time.monotonic() < limit:
        for one in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
        psutil.wait_procs(left, timeout=0.5)


def _below(pid: int, session: int, but: Sequence[int]) -> list[psutil.Process]:
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.pid in (pid, *but):
                continue
            # Airflow's workers write their titles over their variables, but stay in the session.
            if os.getsid(one.pid) == session or one.environ().get(MARK) == str(pid):
                found.append(one)
    return found


if __name__ == "__main__":
    sys.exit(main())
