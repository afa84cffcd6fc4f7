"""Our command line on a home of its own: how rehearsals start nights, wait, kill and read."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from isr_pipeline.base.home import REPOSITORY

COMMAND = (str(Path(sys.executable).parent / "isr-pipeline"),)
SECONDS_MAX = 1800


class RehearsalError(Exception):
    """What did not hold."""


def wait_until(
    holds: Callable[[], object],
    failure: Callable[[], object],
    seconds: float = SECONDS_MAX,
    pause: float = 0.2,
) -> None:
    """Return when something holds.

    Raises:
        RehearsalError: it took too long; what `failure` says then.
    """
    limit = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > limit:
            raise RehearsalError(failure())
        time.sleep(pause)


@dataclass
class Site:
    """A home.

    Attributes:
        home: its folder.
        variables: environment of every command run on it.
    """

    home: Path
    variables: dict[str, str]

    def run(
        self, *arguments: str, status: int | None = 0, more: Mapping[str, str] | None = None
    ) -> str:
        """Run a command to its end and return what it said.

        Raises:
            RehearsalError: the status differs; what it said.
        """
        done = subprocess.run(
            [*COMMAND, *arguments],
            env={**self.variables, **(more or {})},
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
        if status not in (None, done.returncode):
            said = f"isr-pipeline {' '.join(arguments)}: exit status {done.returncode}"
            raise RehearsalError(f"{said}\n{done.stdout}")
        return done.stdout

    def start(self, *arguments: str) -> Started:
        """Start a command whose output is read while it runs."""
        log = self.home / f"command-{time.monotonic_ns()}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as out:
            process = subprocess.Popen(
                [*COMMAND, *arguments],
                env=self.variables,
                cwd=REPOSITORY,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return Started(process, log)

    def json(self, *arguments: str) -> Any:
        """What a command says as JSON."""
        return json.loads(self.run(*arguments, "--json"))

    def airflow(self, question: str, *values: str) -> list[tuple[Any, ...]]:
        """Ask Airflow's database."""
        file = self.home / "airflow" / "airflow.db"
        with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=60) as database:
            return database.execute(question, values).fetchall()

    def running(self) -> list[psutil.Process]:
        """Every process that works on this home."""
        found = []
        for one in psutil.process_iter():
            try:
                if _works_on(one, self.home) and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(one)
            except psutil.Error:
                continue
        return found

    def processes(self) -> list[str]:
        """Their command lines."""
        found = []
        for one in self.running():
            try:
                found.append(" ".join(one.cmdline()))
            except psutil.Error:
                continue
        return found

    def wait_for_the_end(self, seconds: float = 90) -> None:
        """Wait until no process works on this home."""
        wait_until(lambda: not self.running(), self.processes, seconds)


@dataclass(frozen=True)
class Started:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """What it has said so far."""
        return self.log.read_text()

    def wait_for(self, text: str, seconds: float = SECONDS_MAX) -> None:
        """Wait until it says something.

        Raises:
            RehearsalError: it ended before, or said it too late; what it said.
        """

        def holds() -> bool:
            ended = self.process.poll() is not None
            if text in self.said():
                return True
            if ended:
                raise RehearsalError(self.said())
            return False

        wait_until(holds, self.said, seconds)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=180)

    def kill(self) -> None:
        """Kill it alone: nobody is left to clean up."""
        self.process.kill()
        self.process.wait(timeout=10)


def _works_on(process: psutil.Process, home: Path) -> bool:
    """Whether a process, other than this one, was given a home or has a file of it open.

    Airflow's workers write their titles over the variables that they were given.
    """
    if process.pid == os.getpid():
        return False
    if process.environ().get("ISR_PIPELINE_HOME") == str(home):
        return True
    return any(Path(file.path).is_relative_to(home) for file in process.open_files())
