"""Every service of docker-compose.yaml, by its own command and health check, on the loopback.

Without containers: host names become 127.0.0.1, the image's paths a temporary folder, PostgreSQL a
SQLite file. What is left to `make compose-test` is the network between them, PostgreSQL itself,
and MLflow, whose login needs what only the image has.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ruamel.yaml import YAML

from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night.spark.java import java_home
from isr_pipeline.night.stack import free_port
from tests import test_containers
from tests.saying import finished

SECONDS_MAX = 240
HOSTS = ("airflow-apiserver", "spark-master", "mlflow", "0.0.0.0")
PORTS = ("8080", "8974", "7077", "8081", "8082", "5000")

pytestmark = pytest.mark.rehearsal


class Ground:
    """The compose file, translated to this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secrets = test_containers.TestSecrets().draw(folder / ".env")
        self.ports = {port: str(free_port()) for port in PORTS}
        loaded: dict[str, Any] = YAML(typ="safe").load(REPOSITORY / "docker-compose.yaml")
        self.services = loaded["services"]

    def here(self, text: str) -> str:
        """Translate one text: secrets, paths, hosts, ports, database."""
        text = re.sub(r"\$\{(\w+)(?::-\w+)?(?::\?[^}]*)?\}", self._value, text)
        text = text.replace("/opt/isr/.state", str(self.folder))
        text = text.replace("/opt/isr/airflow", str(self.folder / "airflow"))
        text = text.replace("/opt/isr/artifacts", str(self.folder / "artifacts"))
        text = text.replace("/run/isr-secrets", str(self.folder / "secrets"))
        text = text.replace("/opt/isr/.venv/bin/python", sys.executable)
        text = text.replace("/opt/isr/", f"{REPOSITORY}/")
        if text.startswith("postgresql"):
            return f"sqlite:///{self.folder / text.rsplit('/', 1)[1]}.db"
        for host in HOSTS:
            text = re.sub(rf"(^|[/:,]){re.escape(host)}\b", r"\g<1>127.0.0.1", text)
        for port, mine in self.ports.items():
            text = re.sub(rf"(^|:){port}\b", rf"\g<1>{mine}", text)
        return text

    def _value(self, found: re.Match[str]) -> str:
        return self.secrets.get(found.group(1), "")

    def command(self, service: str) -> list[str]:
        """Return a service's command, behind the image's entry point."""
        program, *words = self.services[service]["command"]
        enter = [sys.executable, str(REPOSITORY / "tools" / "containers" / "enter.py")]
        return [*enter, program, *(self.here(word) for word in words)]

    def check(self, service: str) -> list[str]:
        """Return a service's health check."""
        return [self.here(word) for word in self.services[service]["healthcheck"]["test"][1:]]

    def variables(self, service: str) -> dict[str, str]:
        """Return a service's environment."""
        own = {name: self.here(text) for name, text in self._environment(service).items()}
        return {
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "HOME": str(self.folder),
            "JAVA_HOME": str(java_home(Home(self.folder, ""))),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": self.ports["8974"],
            **own,
        }

    def _environment(self, service: str) -> dict[str, str]:
        given: dict[str, str] = self.services[service].get("environment", {})
        return given


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Everything prepared by the init service's own command."""
    ground = Ground(tmp_path_factory.mktemp("services"))
    subprocess.run(
        ground.command("airflow-init"),
        env=ground.variables("airflow-init"),
        check=True,
        capture_output=True,
        timeout=SECONDS_MAX,
    )
    return ground


@pytest.fixture(scope="module")
def running(ground: Ground) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """Every long-lived service, started by its own command."""
    names = [
        name
        for name, service in ground.services.items()
        if "command" in service and name not in ("airflow-init", "mlflow")
    ]
    processes = {}
    for name in names:
        with (ground.folder / f"{name}.log").open("wb") as log:
            processes[name] = subprocess.Popen(
                ground.command(name),
                env=ground.variables(name),
                cwd=ground.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    yield processes
    family = [
        one
        for process in processes.values()
        if process.poll() is None
        for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(True)]
    ]
    for process in processes.values():
        process.terminate()
    _, alive = psutil.wait_procs(family, timeout=15)
    for one in alive:
        one.kill()


class TestServices:
    """What can be tried without containers."""

    def test_all_become_healthy(
        self, ground: Ground, running: dict[str, subprocess.Popen[bytes]]
    ) -> None:
        """Each service's own health check succeeds against the service's own command."""
        waiting = dict(running)
        limit = time.monotonic() + SECONDS_MAX
        while waiting:
            for name, process in list(waiting.items()):
                log = (ground.folder / f"{name}.log").read_text(errors="replace")
                assert process.poll() is None, f"{name}: {log[-3000:]}"
                done = finished(ground.check(name), env=ground.variables(name))
                if done.returncode == 0:
                    del waiting[name]
                assert time.monotonic() < limit, f"{name}: {done.stderr}\n{log[-3000:]}"
            time.sleep(1)

    def test_server_has_the_password(
        self, ground: Ground, running: dict[str, subprocess.Popen[bytes]]
    ) -> None:
        """Airflow's login is the password of .env, in a file of its owner."""
        assert running
        file = ground.folder / "secrets" / "airflow" / "passwords.json"
        assert json.loads(file.read_text()) == {"admin": ground.secrets["AIRFLOW_ADMIN_PASSWORD"]}
        assert file.stat().st_mode & 0o077 == 0
