"""A home of its own for real nights, and the command line as a person runs it."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tools import rehearsal

EXPERIMENT = "smoke"

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


class Site(rehearsal.Site):
    """A home in a temporary folder, and what is looked for in it."""

    def night(self, night: str, *more: str, status: int = 0) -> str:
        """Run a smoke night."""
        return self.run("night", "run", "--experiment", EXPERIMENT, "--night", night, *more,
                        status=status, more=ANOTHER_SPARK)  # fmt: skip

    def show(self, night: str) -> dict[str, Any]:
        """Return a night's JSON."""
        told: dict[str, Any] = self.json("night", "show", night, "--experiment", EXPERIMENT)
        return told

    def mlflow_runs(self, night: str) -> int:
        """MLflow runs of a night that no later run of it has replaced."""
        from mlflow import MlflowClient

        client = MlflowClient(tracking_uri=f"sqlite:///{self.home / 'mlflow.db'}")
        experiments = [one.experiment_id for one in client.search_experiments()]
        return len(
            client.search_runs(experiments, f"tags.night = '{night}' and tags.status = 'complete'")
        )

    def open_ports(self) -> list[str]:
        """Address and program of every port of this home that other machines can reach."""
        found = []
        for one in self.running():
            try:
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
