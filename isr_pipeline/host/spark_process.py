"""Start and end the Spark that serves a whole run; see :mod:`isr_pipeline.host.spark_place`."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil

from isr_pipeline.home import REPOSITORY
from isr_pipeline.host.spark_place import PLACE, Place
from isr_pipeline.host.stack import spark_master

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.home import Home

END_SECONDS_MAX = 10.0


class SharedSpark:
    """A Spark that runs from the object's making until :meth:`end`, or the death of this process.

    Args:
        home: where state lives.
        variables: environment of the run's programs; says the master.
    """

    def __init__(self, home: Home, variables: Mapping[str, str]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.variables: dict[str, str] = {}
        master = spark_master(variables)
        if master is None:
            return
        folder = home.path / "spark"
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"shared-{os.getpid()}.json"
        with (folder / "shared.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "isr_pipeline.jobs.host",
                    "--master",
                    master,
                    "--place",
                    str(place),
                ],
                env=dict(variables),
                cwd=REPOSITORY,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C in the terminal reaches the supervisor alone, which ends this in order.
                start_new_session=True,
            )
        Place(self._process.pid, master).write(place)
        self.variables = {PLACE: str(place)}
        self._place = place

    def end(self) -> None:
        """End it and wait until it is gone, whatever state it is in."""
        if self._process is None:
            return
        below = _below(self._process.pid)
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(END_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for one in below:  # Java and its workers end with it; if it was killed, see to that
            if one.is_running():
                with contextlib.suppress(psutil.NoSuchProcess):
                    one.kill()
        psutil.wait_procs(below, timeout=END_SECONDS_MAX)
        self._place.unlink(missing_ok=True)
        self._process = None


def _below(pid: int) -> list[psutil.Process]:
    """Every process below one."""
    try:
        children: list[psutil.Process] = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return children
