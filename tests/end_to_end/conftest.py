"""A home of its own for real nights, and the command line as a person runs it."""

from __future__ import annotations

import ipaddress
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from isr_pipeline.base.home import REPOSITORY
from tools.soak_nights import works_on

EXPERIMENT = "smoke"
COMMAND = [str(Path(sys.executable).parent / "isr-pipeline")]
SECONDS_MAX = 900

ANOTHER_SPARK = {
    "SPARK_HOME": "/opt/spark",
    "SPARK_CONF_DIR": "/opt/spark/conf",
    "PYSPARK_PYTHON": "/usr/bin/python2",
    "PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell",
    "PYTHONPATH": "/opt/spark/python",
    "JAVA_TOOL_OPTIONS": "-Dnot=ours",
    "LC_ALL": "C",
    "http_proxy": "http://127.0.0.1:9",
}
"""A shell as somebody has it who uses Spark, behind a proxy: every night runs in it."""


@dataclass(frozen=True)
class Site:
    """A home in a temporary folder.

    Attributes:
        home: the folder.
        variables: environment of every command run on it.
    """

    home: Path
    variables: dict[str, str]

    def run(
        self, *arguments: str, status: int | None = 0, more: Mapping[str, str] | None = None
    ) -> str:
        """Run a command to its end and return what it said; fails with it if the status differs."""
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
        assert status in (None, done.returncode), done.stdout
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

    def night(self, night: str, *more: str, status: int = 0) -> str:
        """Run a smoke night."""
        return self.run("night", "run", "--experiment", EXPERIMENT, "--night", night, *more,
                        status=status, more=ANOTHER_SPARK)  # fmt: skip

    def show(self, night: str) -> dict[str, Any]:
        """Return a night's JSON."""
        text = self.run("night", "show", night, "--experiment", EXPERIMENT, "--json")
        told: dict[str, Any] = json.loads(text)
        return told

    def mlflow_runs(self, night: str) -> int:
        """MLflow runs of a night that no later run of it has replaced."""
        from mlflow import MlflowClient

        client = MlflowClient(tracking_uri=f"sqlite:///{self.home / 'mlflow.db'}")
        experiments = [one.experiment_id for one in client.search_experiments()]
        return len(
            client.search_runs(experiments, f"tags.night = '{night}' and tags.status = 'complete'")
        )

    def processes(self) -> list[str]:
        """Command lines of every process that works on this home."""
        found = []
        for one in psutil.process_iter():
            try:
                if works_on(one, self.home) and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(one.cmdline()))
            except psutil.Error:
                continue
        return found

    def open_ports(self) -> list[str]:
        """Address and program of every port of this home that other machines can reach."""
        found = []
        for one in psutil.process_iter():
            try:
                if not works_on(one, self.home):
                    continue
                for port in one.net_connections("inet"):
                    local = ipaddress.ip_address(port.laddr.ip) if port.laddr else None
                    mapped = getattr(local, "ipv4_mapped", None) or local
                    if port.status == psutil.CONN_LISTEN and mapped and not mapped.is_loopback:
                        found.append(f"{port.laddr.ip}:{port.laddr.port} {' '.join(one.cmdline())}")
            except psutil.Error:
                continue
        return found

    def debris(self) -> list[Path]:
        """Half-written tables and parts."""
        return [*self.home.rglob("_writing-*"), *self.home.rglob("_replaced-*")]


@dataclass(frozen=True)
class Started:
    """A command that runs."""

    process: subprocess.Popen[bytes]
    log: Path

    def said(self) -> str:
        """What it has said so far."""
        return self.log.read_text()

    def wait_for(self, text: str, seconds: float = SECONDS_MAX) -> None:
        """Wait until it says something; fails if it ends before."""
        limit = time.monotonic() + seconds
        while text not in self.said():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < limit, self.said()
            time.sleep(0.1)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=180)


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One home for all end-to-end tests, with compiled kernels shared with the other tests."""
    home = tmp_path_factory.mktemp("it's a home ü")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AIRFLOW", "MLFLOW", "ISR_PIPELINE", "SPARK", "PYSPARK"))
    }
    site = Site(home, kept | {"ISR_PIPELINE_HOME": str(home), "HOME": str(home)})
    yield site
    assert site.processes() == []
