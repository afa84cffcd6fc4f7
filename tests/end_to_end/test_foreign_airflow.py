"""Somebody else's Airflow and Spark: the wheel, and nothing of ours in any environment.

The home, the pool, an operator's settings of Spark and the notifier are in the Airflow Variable
alone, Spark's master and Airflow's own API in connections. Spark is a standalone cluster of two
workers. A night, its acceptance and a backfill of two dates run there, and maintenance after them.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import psutil
import pytest

from isr_pipeline.host.java import spark_home
from isr_pipeline.host.stack import free_port, port_in_use
from tests.test_wheel import Installed, installed, wheel

__all__ = ["installed", "wheel"]

pytestmark = pytest.mark.slow

EXPERIMENT = "smoke"
NIGHT, BACKFILLED = "2026-11-19", ("2026-11-14", "2026-11-15")
NIGHTLY = f"isr_nightly_{EXPERIMENT}"

SECONDS_MAX = 240

NOTIFIER = """
from airflow.sdk import BaseNotifier

class Write(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, file, text):
        super().__init__()
        self.file, self.text = file, text

    def notify(self, context):
        with open(self.file, "a") as file:
            file.write(self.text + "\\n")
"""


def wait_for(what: Callable[[], Any], seconds: float = SECONDS_MAX) -> Any:
    """Ask until there is an answer."""
    limit = time.monotonic() + seconds
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < limit, what
        time.sleep(0.5)


class Foreign:
    """An Airflow that knows of us what its Variable and connections say."""

    def __init__(self, place: Installed) -> None:
        self.folder = place.folder / "foreign"
        self.home = self.folder / "shared home"
        self.events = self.folder / "events"
        self.told = self.folder / "told"
        self.events.mkdir(parents=True)
        programs = [place.python.parent, spark_home() / "bin", "/usr/local/bin:/usr/bin:/bin"]
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self._python = place.python
        self._processes: list[subprocess.Popen[bytes]] = []
        self._airflow = {
            "PATH": ":".join(map(str, programs)),
            "HOME": str(self.folder),
            "AIRFLOW_HOME": str(self.folder / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            # The first file that asks for a Variable waits until Airflow has made the API for it.
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "180",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.address}/execution/",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": self.address,
        } | ({"JAVA_HOME": os.environ["JAVA_HOME"]} if "JAVA_HOME" in os.environ else {})
        shipped = next(place.python.parents[1].rglob("isr_pipeline/shipped/dags"))
        shutil.copytree(shipped, self.folder / "dags")
        shutil.copytree(shipped.parent / "config", self.folder / "config")
        with (self.folder / "config" / "experiments" / f"{EXPERIMENT}.yaml").open("a") as file:
            file.write('schedule: "0 0 * * *"\n')
        (shipped.parents[2] / "office.py").write_text(NOTIFIER)
        self.master = ""

    def start(self) -> None:
        """Start both."""
        self.master = f"spark://127.0.0.1:{self._start_spark()}"
        self._start_airflow()

    def airflow(self, *words: str) -> str:
        """Airflow's own command line."""
        done = subprocess.run(
            [self._python, "-m", "airflow", *words],
            env=self._airflow, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Airflow's REST API."""
        file = self.folder / "airflow" / "simple_auth_manager_passwords.json.generated"
        login = {"username": "admin", "password": json.loads(file.read_text())["admin"]}
        own = path == "/auth/token"
        token = "" if own else self.ask("POST", "/auth/token", login)["access_token"]
        asked = urllib.request.Request(
            f"{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {token}"} if token else {}),
            },
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            text = answer.read().decode()
        return json.loads(text) if "json" in answer.headers["Content-Type"] else text

    def run(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> dict[str, Any]:
        """Trigger a DAG, and wait for its end and for its note."""
        body = {"logical_date": None, "dag_run_id": run_id, "conf": conf}
        self.ask("POST", f"/api/v2/dags/{dag_id}/dagRuns", body)
        return self.ended(dag_id, run_id)

    def ended(self, dag_id: str, run_id: str) -> dict[str, Any]:
        """A run at its end."""

        def end() -> Any:
            found = self.ask("GET", self.of(dag_id, run_id))
            return found if found["state"] in ("success", "failed") else None

        found: dict[str, Any] = wait_for(end, 900)
        return found

    def note(self, dag_id: str, run_id: str) -> str:
        """Its note: Airflow calls a DAG's callback some seconds after the end."""
        return str(wait_for(lambda: self.ask("GET", self.of(dag_id, run_id))["note"], 60))

    def of(self, dag_id: str, run_id: str) -> str:
        """Path of a run in the API."""
        return f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"

    def rows(self, question: str) -> list[tuple[Any, ...]]:
        """What Airflow's database says."""
        with sqlite3.connect(self.folder / "airflow" / "airflow.db") as database:
            return database.execute(question).fetchall()

    def applications(self) -> list[tuple[str, dict[str, str], set[str]]]:
        """Name, settings and workers of every application that Spark ran, in order."""
        found = []
        for file in sorted(self.events.iterdir(), key=lambda one: one.stat().st_mtime):
            logs = [file] if file.is_file() else sorted(file.glob("events_*"))
            entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
            by_kind: dict[str, list[Any]] = {}
            for entry in entries:
                by_kind.setdefault(entry["Event"], []).append(entry)
            settings = by_kind["SparkListenerEnvironmentUpdate"][0]["Spark Properties"]
            added = by_kind.get("SparkListenerExecutorAdded", [])
            executors = {entry["Executor ID"] for entry in added}
            found.append((settings["spark.app.name"], settings, executors))
        return found

    def stop(self) -> None:
        """End everything."""
        running = [one for one in self._processes if one.poll() is None]
        for process in running:
            for one in psutil.Process(process.pid).children(recursive=True):
                one.kill()
            process.kill()
        for process in self._processes:
            process.wait()

    def _start(self, name: str, command: list[str], variables: dict[str, str]) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._processes.append(
                subprocess.Popen(
                    command, env=variables, cwd=self.folder, stdout=log, stderr=subprocess.STDOUT
                )
            )

    def _start_spark(self) -> int:
        """A master and two workers of one core; its port."""
        port = free_port()
        variables = {name: one for name, one in self._airflow.items() if "AIRFLOW" not in name}
        variables |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_WORKER_DIR": str(self.folder / "work")}
        program = str(spark_home() / "bin" / "spark-class")
        common = ["--host", "127.0.0.1", "--webui-port", "0"]
        kind = "org.apache.spark.deploy"
        master = [program, f"{kind}.master.Master", *common, "--port", str(port)]
        self._start("master", master, variables)
        wait_for(lambda: port_in_use(port))
        worker = [program, f"{kind}.worker.Worker", *common, "--cores", "1", "--memory", "2g"]
        for number in (1, 2):
            self._start(f"worker-{number}", [*worker, f"spark://127.0.0.1:{port}"], variables)
        return port

    def _start_airflow(self) -> None:
        """Its database, what an operator sets, and its programs."""
        self.airflow("db", "migrate")
        notifier = {"office.Write": {"file": str(self.told), "text": "{{ line }}"}}
        variable = {
            "home": str(self.home),
            "config": str(self.folder / "config"),
            "pool": "spark",
            "spark_conf": {
                "spark.sql.shuffle.partitions": "64",
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": self.events.as_uri(),
            },
            "on_success": notifier,
            "on_failure": notifier,
            "airflow_connection": "airflow_api",
        }
        self.airflow("variables", "set", "isr_pipeline", json.dumps(variable))
        self.airflow("pools", "set", "spark", "1", "one application at a time")
        host, port = self.master.removeprefix("spark://").split(":")
        spark = ["--conn-type", "spark", "--conn-host", f"spark://{host}", "--conn-port", port]
        self.airflow("connections", "add", "spark_default", *spark)
        for words in (
            ["api-server", "--workers", "1"],
            ["scheduler", "--skip-serve-logs"],
            ["dag-processor"],
        ):
            command = [str(self._python), "-m", "airflow", *words]
            self._start(words[0], command, self._airflow)
        file = self.folder / "airflow" / "simple_auth_manager_passwords.json.generated"
        wait_for(file.is_file)
        login = ["--conn-login", "admin", "--conn-password", json.loads(file.read_text())["admin"]]
        api = ["--conn-type", "http", "--conn-host", self.address, *login]
        self.airflow("connections", "add", "airflow_api", *api)
        wait_for(self._knows_us)

    def _knows_us(self) -> bool:
        """Whether the DAGs were read; new ones are paused, and these are switched on."""
        try:
            for dag_id in (NIGHTLY, "isr_baseline_accept", "isr_maintenance"):
                self.ask("GET", f"/api/v2/dags/{dag_id}")
                self.ask("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": False})
        except (urllib.error.URLError, OSError):
            return False
        return bool(self.ask("GET", "/api/v2/importErrors")["import_errors"] == [])


@pytest.fixture(scope="module")
def foreign(installed: Installed) -> Iterator[Foreign]:
    """All of it, until the last test."""
    one = Foreign(installed)
    try:
        one.start()
        yield one
    finally:
        one.stop()


class TestForeignAirflow:
    """In the order of somebody's first days."""

    def test_a_night(self, foreign: Foreign) -> None:
        """Green; its tables and report lie in the home that the Variable names."""
        run = foreign.run(NIGHTLY, "first", {"night": NIGHT})
        assert run["state"] == "success"
        assert (foreign.home / "nights" / EXPERIMENT / NIGHT / "report.html").is_file()
        assert not (foreign.folder / ".local").exists()
        assert list((foreign.home / "locks" / "nights" / EXPERIMENT).iterdir()) == []

    def test_spark_is_the_connections(self, foreign: Foreign) -> None:
        """Nothing but simulation used Spark, on both workers, as the operator set it (D1, D4)."""
        applications = foreign.applications()
        assert {name for name, _, _ in applications} == {"isr-simulate"}
        for _, settings, executors in applications:
            assert settings["spark.master"] == foreign.master
            assert settings["spark.sql.shuffle.partitions"] == "64"
            assert len(executors) == 2
        assert len(applications) <= 3

    def test_spark_has_its_pool_and_limit(self, foreign: Foreign) -> None:
        """Every task that used Spark was in the pool, and no other (D2)."""
        pools = foreign.rows("select task_id, pool from task_instance where run_id = 'first'")
        in_pool = {task for task, pool in pools if pool == "spark"}
        assert in_pool == {"simulate", "confirm", "extend_1", "extend_2"}
        logs = foreign.folder / "airflow" / "logs" / f"dag_id={NIGHTLY}" / "run_id=first"
        (log, *_) = logs.glob("task_id=simulate/**/attempt=1.log")
        assert "time limit: 0:" in log.read_text()

    def test_the_run_has_its_note(self, foreign: Foreign) -> None:
        """The scheduler knows nothing of the home (D3)."""
        assert foreign.note(NIGHTLY, "first").startswith("**no baseline accepted yet")

    def test_somebody_is_told_once(self, foreign: Foreign) -> None:
        """By the notifier that the Variable names (D7)."""
        wait_for(foreign.told.is_file, 60)
        (line,) = foreign.told.read_text().splitlines()
        assert line.startswith(f"{EXPERIMENT} {NIGHT}: no baseline accepted yet")

    def test_report_and_data_docs_are_in_airflow(self, foreign: Foreign) -> None:
        """For whoever is logged in (D8)."""
        assert "<!doctype html>" in foreign.ask("GET", f"/isr/runs/{NIGHTLY}/first/report")
        assert "Data Docs" in foreign.ask("GET", f"/isr/runs/{NIGHTLY}/first/data-docs")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{foreign.address}/isr/runs/{NIGHTLY}/first/report", timeout=60)

    def test_mlflow_has_names_of_its_own(self, foreign: Foreign) -> None:
        """None that another team would choose (D6)."""
        with sqlite3.connect(foreign.home / "mlflow.db") as database:
            names = {name for (name,) in database.execute("select name from experiments")}
        ours = {f"isr-pipeline/{EXPERIMENT}", f"isr-pipeline/{EXPERIMENT}/trends"}
        assert names - {"Default"} == ours

    def test_an_acceptance(self, foreign: Foreign) -> None:
        """Its confirm panel is simulated where nights are, in the pool (D5)."""
        conf = {"experiment": EXPERIMENT, "night": NIGHT, "why": "meant", "who": "Ada"}
        run = foreign.run("isr_baseline_accept", "accepted", conf)
        assert run["state"] == "success"
        name, settings, _ = foreign.applications()[-1]
        assert (name, settings["spark.master"]) == ("isr-confirm", foreign.master)
        pools = foreign.rows("select pool from task_instance where run_id = 'accepted'")
        assert pools == [("spark",)]
        said = f"**night {NIGHT} is the baseline of {EXPERIMENT}, accepted by Ada: meant"
        assert foreign.note("isr_baseline_accept", "accepted").startswith(said)

    def test_others_can_wait_for_both(self, foreign: Foreign) -> None:
        """Verdict and baseline are assets, with what a reader asks."""
        events = foreign.ask("GET", "/api/v2/assets/events")["asset_events"]
        told = {one["name"]: one["extra"] for one in events}
        assert told[f"isr-pipeline/verdict/{EXPERIMENT}"]["status"] == "baseline"
        assert told[f"isr-pipeline/baseline/{EXPERIMENT}"]["night"] == NIGHT

    def test_a_backfill_of_two_dates(self, foreign: Foreign) -> None:
        """Both are compared with the baseline; neither waits for the other but in the pool."""
        body = {
            "dag_id": NIGHTLY,
            "from_date": f"{BACKFILLED[0]}T00:00:00Z",
            "to_date": f"{BACKFILLED[1]}T00:00:00Z",
            "max_active_runs": 2,
        }
        foreign.ask("POST", "/api/v2/backfills", body)
        for night in BACKFILLED:
            run_id = f"backfill__{night}T00:00:00+00:00"
            made = f"select 1 from dag_run where run_id = '{run_id}'"
            wait_for(functools.partial(foreign.rows, made))
            assert foreign.ended(NIGHTLY, run_id)["state"] == "success"
            status = json.loads(
                (foreign.home / "nights" / EXPERIMENT / night / "status.json").read_text()
            )
            assert status["state"] in ("unchanged", "ok", "undecided", "suspect", "improved")
            assert night in foreign.note(NIGHTLY, run_id)
        assert foreign.rows("select count(*) from task_reschedule") == [(0,)]

    def test_a_run_ended_by_hand(self, foreign: Foreign) -> None:
        """Its night is free at once, and its page says so (D3)."""
        conf = {"night": "2026-11-16"}
        body = {"logical_date": None, "dag_run_id": "stopped", "conf": conf}
        foreign.ask("POST", f"/api/v2/dags/{NIGHTLY}/dagRuns", body)
        claims = foreign.home / "locks" / "nights" / EXPERIMENT
        wait_for((claims / "2026-11-16.json").is_file)
        wait_for((foreign.home / "nights" / EXPERIMENT / "2026-11-16" / "plan.json").is_file)
        foreign.ask("PATCH", foreign.of(NIGHTLY, "stopped"), {"state": "failed"})
        assert foreign.ended(NIGHTLY, "stopped")["state"] == "failed"
        assert foreign.note(NIGHTLY, "stopped").endswith("stopped by hand**")
        assert list(claims.iterdir()) == []

    def test_maintenance(self, foreign: Foreign) -> None:
        """Older nights go, the baseline's stays, and the database is its owner's (D10)."""
        assert foreign.run("isr_maintenance", "week", {"keep_nights": 1})["state"] == "success"
        left = {one.name for one in (foreign.home / "nights" / EXPERIMENT).iterdir()}
        assert left == {NIGHT}
        states = dict(
            foreign.rows("select task_id, state from task_instance where run_id = 'week'")
        )
        assert states["clean_airflow"] == "skipped"
