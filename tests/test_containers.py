"""docker-compose.yaml and Dockerfile: pinned, checked, closed; their commands are real commands."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """The file as YAML, anchors merged."""
    loaded: dict[str, Any] = YAML(typ="safe").load(ROOT / "docker-compose.yaml")
    return loaded


class TestServices:
    """What every service must have."""

    def test_all_parts_are_there(self, compose: dict[str, Any]) -> None:
        """Airflow's services as in its own compose file, a Spark cluster, MLflow, PostgreSQL."""
        assert set(compose["services"]) == {
            "postgres",
            "airflow-init",
            "airflow-apiserver",
            "airflow-scheduler",
            "airflow-dag-processor",
            "airflow-triggerer",
            "spark-master",
            "spark-worker-1",
            "spark-worker-2",
            "mlflow",
        }

    def test_every_service_is_checked(self, compose: dict[str, Any]) -> None:
        """Each has a health check with a limit."""
        for name, service in compose["services"].items():
            assert service["healthcheck"]["test"][0] == "CMD", name
            assert {"interval", "timeout", "retries"} <= set(service["healthcheck"]), name

    def test_versions_are_pinned(self, compose: dict[str, Any]) -> None:
        """No image without a version, in the compose file and in the Dockerfile."""
        images = {service["image"] for service in compose["services"].values()}
        images |= set(re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
        for image in images:
            assert re.search(r":\d+\.\d+", image), image

    def test_image_is_of_this_version(self, compose: dict[str, Any]) -> None:
        """The image bears the package's version."""
        version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
        assert version
        assert compose["x-image"]["image"] == f"isr-pipeline:{version.group(1)}"

    def test_ports_are_local(self, compose: dict[str, Any]) -> None:
        """Nothing listens on an address that others can reach."""
        ports = [
            one for service in compose["services"].values() for one in service.get("ports", ())
        ]
        assert ports
        assert all(port.startswith("127.0.0.1:") for port in ports)

    def test_workers_write_where_they_may(self, compose: dict[str, Any]) -> None:
        """Spark's workers have a folder of their own: the default one belongs to root."""
        for name in ("spark-worker-1", "spark-worker-2"):
            assert compose["services"][name]["environment"]["SPARK_WORKER_DIR"].startswith("/tmp/")

    def test_links_to_mlflow_open_in_a_browser(self, compose: dict[str, Any]) -> None:
        """Whoever writes the note of a run links to the port that MLflow is published on."""
        published = compose["services"]["mlflow"]["ports"][0].rpartition(":")[0]
        for name in ("airflow-scheduler", "airflow-apiserver"):
            variables = compose["services"][name]["environment"]
            assert variables["ISR_PIPELINE_MLFLOW_URL"] == f"http://{published}", name

    def test_no_secret_has_a_default(self, compose: dict[str, Any]) -> None:
        """Every secret comes from .env, and its absence is an error that says what to run."""
        text = (ROOT / "docker-compose.yaml").read_text()
        used = set(re.findall(r"\$\{(\w+)[^}]*\}", text))
        secrets = {name for name in used if re.search("PASSWORD|SECRET|KEY", name)}
        assert secrets
        for name in secrets:
            marks = set(re.findall(rf"\$\{{{name}([^}}]*)\}}", text))
            assert marks == {":?run `make env`"}, name

    def test_secrets_stay_with_airflow(self, compose: dict[str, Any]) -> None:
        """Spark and MLflow never see Airflow's keys."""
        for name in ("spark-master", "spark-worker-1", "spark-worker-2", "mlflow"):
            assert not [key for key in compose["services"][name]["environment"] if "AIRFLOW" in key]

    def test_every_command_exists(self, compose: dict[str, Any]) -> None:
        """Each service starts a program of the environment, or a file of the checkout."""
        binaries = Path(sys.executable).parent
        for name, service in compose["services"].items():
            command = service.get("command")
            if command is None:
                continue
            if command[0] == "bash":
                assert (ROOT / command[1].removeprefix("/opt/isr/")).is_file(), name
            else:
                assert (binaries / command[0]).exists(), name


class TestSecrets:
    """`make env`."""

    def test_holds_all_that_compose_asks_for(self, tmp_path: Path) -> None:
        """Every required variable is drawn; two draws differ; only the owner can read them."""
        drawn = [self.draw(tmp_path / name) for name in ("one", "two")]
        text = (ROOT / "docker-compose.yaml").read_text()
        assert set(drawn[0]) == set(re.findall(r"\$\{(\w+):\?", text))
        assert all(drawn[0][name] != drawn[1][name] for name in drawn[0])
        assert stat.S_IMODE((tmp_path / "one").stat().st_mode) == 0o600

    def test_keeps_what_is_there(self, tmp_path: Path) -> None:
        """A second call changes nothing: the database knows the first password."""
        first = self.draw(tmp_path / ".env")
        again = subprocess.run(
            [sys.executable, str(ROOT / "tools" / "make_env.py"), str(tmp_path / ".env")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert again.returncode == 1
        assert again.stderr == f"{tmp_path / '.env'} is there already and was left as it is\n"
        assert self.read(tmp_path / ".env") == first

    def draw(self, file: Path) -> dict[str, str]:
        """Write a file of secrets and read it."""
        command = [sys.executable, str(ROOT / "tools" / "make_env.py"), str(file)]
        subprocess.run(command, check=True, capture_output=True)
        return self.read(file)

    def read(self, file: Path) -> dict[str, str]:
        """Name -> value."""
        return dict(line.split("=", 1) for line in file.read_text().splitlines())


def compose_command() -> list[str] | None:
    """A compose implementation on this machine, if there is one."""
    for command in (["docker", "compose"], ["docker-compose"], ["podman-compose"]):
        if shutil.which(command[0]):
            asked = subprocess.run([*command, "version"], capture_output=True, check=False)
            if asked.returncode == 0:
                return command
    return None


@pytest.mark.skipif(compose_command() is None, reason="no compose implementation on this machine")
def test_compose_accepts_the_file(tmp_path: Path) -> None:
    """`compose config` resolves the file with drawn secrets, and refuses it without."""
    command = [*(compose_command() or []), "-f", str(ROOT / "docker-compose.yaml")]
    drawn = TestSecrets().draw(tmp_path / ".env")
    for variables, status in ((os.environ | drawn, 0), (dict(os.environ), 1)):
        done = subprocess.run(
            [*command, "config"], env=variables, cwd=tmp_path, capture_output=True, check=False
        )
        assert min(done.returncode, 1) == status, done.stderr
