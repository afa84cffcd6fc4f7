"""docker-compose.yaml and Dockerfile: pinned, checked, closed; their commands are real commands."""

from __future__ import annotations

import configparser
import json
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

from tests.saying import finished
from tools import compose_test
from tools.rehearsal import RehearsalError

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tools with some variables and no others."""
    return finished([sys.executable, str(ROOT / "tools" / command[0]), *command[1:]], env=variables)


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

    def test_config_is_mounted(self, compose: dict[str, Any]) -> None:
        """Whoever reads an experiment reads the checkout's, which nobody in a container changes."""
        for name in ("airflow-scheduler", "airflow-dag-processor", "spark-worker-1"):
            assert "./config:/opt/isr/config:ro" in compose["services"][name]["volumes"], name

    def test_all_wait_for_what_is_healthy(self, compose: dict[str, Any]) -> None:
        """No service starts on another that merely runs."""
        for name, service in compose["services"].items():
            for other, wanted in service.get("depends_on", {}).items():
                ends = other == "airflow-init"
                said = "service_completed_successfully" if ends else "service_healthy"
                assert wanted == {"condition": said}, name

    def test_workers_write_where_they_may(self, compose: dict[str, Any]) -> None:
        """Spark's workers have a folder of their own: the default one belongs to root."""
        for name in ("spark-worker-1", "spark-worker-2"):
            assert compose["services"][name]["environment"]["SPARK_WORKER_DIR"].startswith("/tmp/")

    def test_versions_are_pinned(self, compose: dict[str, Any]) -> None:
        """No image without a version, in the compose file and in the Dockerfile."""
        images = {service["image"] for service in compose["services"].values()}
        images |= set(re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
        assert [image for image in images if not re.search(r":\d+\.\d+", image)] == []

    def test_every_package_is_in_the_lock(self) -> None:
        """By pip comes uv alone, and by uv what uv.lock has."""
        text = (ROOT / "Dockerfile").read_text()
        assert re.findall(r"pip install .*", text) == [
            'pip install --no-cache-dir "uv==${UV_VERSION}"'
        ]
        assert re.findall(r"uv sync (\S+)", text) == ["--frozen", "--frozen"]

    def test_no_service_may_do_more_than_it_needs(self, compose: dict[str, Any]) -> None:
        """Local ports, no needless capability, limits of memory and of the log."""
        for name, service in compose["services"].items():
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ())), name
            assert service["cap_drop"] == ["ALL"], name
            assert "cap_add" not in service or name == "postgres"
            assert service["security_opt"] == ["no-new-privileges:true"], name
            assert service["mem_limit"], name
            assert service["logging"]["options"]["max-size"], name

    def test_each_application_has_its_own_database(self) -> None:
        """Airflow and MLflow log in to PostgreSQL under two names, neither its superuser's."""
        text = (ROOT / "docker-compose.yaml").read_text()
        found = set(re.findall(r"psycopg2://(\w+):\$\{(\w+)[^@]*@postgres/(\w+)", text))
        assert {role for role, _, _ in found} == {"airflow", "mlflow"}
        made = (ROOT / "tools" / "containers" / "databases.sql").read_text()
        for role, variable, database in found:
            assert f"CREATE DATABASE {database} OWNER {role} ENCODING 'UTF8' " in made
            assert f"\\getenv {role}_password {variable}" in made

    def test_executors_see_no_store(self, compose: dict[str, Any]) -> None:
        """No network of a Spark worker holds PostgreSQL, MLflow or Airflow's server."""
        services = compose["services"]
        theirs = set(services["spark-worker-1"]["networks"])
        assert theirs == set(services["spark-worker-2"]["networks"])
        for name in ("postgres", "mlflow", "airflow-apiserver"):
            assert not theirs & set(services[name]["networks"]), name
        assert services["postgres"]["networks"] == ["stores"]
        assert compose["networks"]["stores"]["internal"] is True

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
        """Spark and MLflow never see Airflow's keys, Spark none of MLflow's."""
        for name in ("spark-master", "spark-worker-1", "spark-worker-2", "mlflow"):
            assert not [key for key in compose["services"][name]["environment"] if "AIRFLOW" in key]
        for name in ("spark-master", "spark-worker-1", "spark-worker-2"):
            keys = compose["services"][name]["environment"]
            assert not [key for key in keys if re.search("PASSWORD|_URI", key)], name

    def test_admin_password_is_the_servers(self, compose: dict[str, Any]) -> None:
        """Only the API server is told Airflow's login, and keeps it in its own memory."""
        for name, service in compose["services"].items():
            told = "AIRFLOW_ADMIN_PASSWORD" in service["environment"]
            assert told == (name == "airflow-apiserver")
        variables = compose["services"]["airflow-apiserver"]["environment"]
        file = variables["AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"]
        assert file.startswith(compose["x-image"]["tmpfs"][0].partition(":")[0] + "/")

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
        again = run("make_env.py", str(tmp_path / ".env"))
        assert again.returncode == 1
        assert again.stderr == f"{tmp_path / '.env'} is there already and was left as it is\n"
        assert self.read(tmp_path / ".env") == first

    def draw(self, file: Path) -> dict[str, str]:
        """Write a file of secrets and read it."""
        assert run("make_env.py", str(file)).returncode == 0
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


class TestEnter:
    """The entry point of every container."""

    def enter(
        self, folder: Path, *command: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run it with these variables."""
        variables |= {"PATH": os.environ["PATH"], "ISR_PIPELINE_SECRETS": str(folder)}
        return run("containers/enter.py", *command, **variables)

    def test_becomes_the_command(self, tmp_path: Path) -> None:
        """Its output and exit status are the command's; without secrets it writes nothing."""
        done = self.enter(tmp_path, "sh", "-c", "echo here; exit 3")
        assert (done.returncode, done.stdout) == (3, "here\n")
        assert list(tmp_path.iterdir()) == []

    def test_writes_what_only_the_container_reads(self, tmp_path: Path) -> None:
        """Spark's secret, Airflow's login, MLflow's store of users: files of their owner alone."""
        done = self.enter(
            tmp_path,
            "true",
            SPARK_AUTH_SECRET="s3cret",
            SPARK_DRIVER_NAME="driver",
            AIRFLOW_ADMIN_PASSWORD='a"b',
            MLFLOW_USERS_URI="postgresql://u:p%40@h/d",
        )
        assert done.returncode == 0, done.stderr
        spark = (tmp_path / "spark" / "spark-defaults.conf").read_text().splitlines()
        assert "spark.authenticate true" in spark
        assert "spark.authenticate.secret s3cret" in spark
        assert "spark.driver.host driver" in spark
        logins = json.loads((tmp_path / "airflow" / "passwords.json").read_text())
        assert logins == {"admin": 'a"b'}
        users = configparser.ConfigParser()
        users.read(tmp_path / "mlflow" / "auth.ini")
        assert users["mlflow"]["database_uri"] == "postgresql://u:p%40@h/d"
        assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.rglob("*"))

    def test_mistakes_are_one_line(self, tmp_path: Path) -> None:
        """No command, and one that is not there."""
        none, unknown = self.enter(tmp_path), self.enter(tmp_path, "no-such-program")
        assert none.returncode == 2
        assert none.stderr == (
            "enter.py: no command was given; allowed: a program and its arguments\n"
        )
        assert unknown.returncode == 127
        assert unknown.stderr == (
            "enter.py: no-such-program cannot be run: No such file or directory\n"
        )


class TestRehearsal:
    """`make compose-test`."""

    def test_says_that_it_was_skipped(self, tmp_path: Path) -> None:
        """Without docker and podman it ends well, with one line that says so."""
        done = run("compose_test.py", PATH=str(tmp_path))
        assert done.returncode == 0
        assert done.stdout == (
            "compose-test: skipped: neither docker with compose nor podman with docker-compose "
            "was found\n"
        )

    def test_a_night_that_nothing_disturbed_is_no_proof(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A night that ended before its workers could be killed says nothing about killed ones."""

        def answer(address: str, *_: object, **__: object) -> dict[str, Any]:
            return {"access_token": "", "dag_run_id": "run", "state": "success"}

        monkeypatch.setattr(compose_test, "fetch", answer)
        engine = compose_test.Engine("docker", ["docker", "compose"], {})
        secrets = {"AIRFLOW_ADMIN_PASSWORD": ""}
        site = compose_test.Site(engine, tmp_path, {"AIRFLOW_PORT": 1}, secrets)
        compose_test.run_dag(site, compose_test.NIGHTLY, {})
        with pytest.raises(RehearsalError, match="ended before it could be disturbed"):
            compose_test.run_dag(site, compose_test.NIGHTLY, {}, compose_test.kill_workers)


@pytest.mark.skipif(compose_command() is None, reason="no compose implementation on this machine")
def test_compose_accepts_the_file(tmp_path: Path) -> None:
    """`compose config` resolves the file with drawn secrets, and refuses it without."""
    (tmp_path / "empty").touch()
    command = [*(compose_command() or []), "-f", str(ROOT / "docker-compose.yaml")]
    command += ["--env-file", str(tmp_path / "empty")]  # not the .env of this checkout
    drawn = TestSecrets().draw(tmp_path / ".env")
    for variables, status in ((os.environ | drawn, 0), (dict(os.environ), 1)):
        done = subprocess.run(
            [*command, "config"], env=variables, cwd=tmp_path, capture_output=True, check=False
        )
        assert min(done.returncode, 1) == status, done.stderr
