"""Somebody else's Airflow and Spark: the wheel, and nothing of ours in any environment.

The home, the pool, a size of Spark's job and the notifier are in the Airflow Variable alone,
Spark's master, its other settings and Airflow's own API in connections. Spark is a standalone
cluster of two workers. A night, its acceptance and a backfill of two dates run there, and
maintenance after them. Then Airflow's Python loses the libraries of a night, which another one has.
`make airflow-test AIRFLOW=3.2` does it with another release of Airflow.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.night import supervisor
from isr_pipeline.night.airflow.airflow_rest import ADMIN, ENDED, Rest, admin_password
from isr_pipeline.night.runner import mark
from isr_pipeline.night.spark.java import java_home, spark_home
from isr_pipeline.night.stack import free_port
from isr_pipeline.night.status import RUNS
from tests.bare import bare
from tests.spark.cluster import Cluster
from tests.test_wheel import Installed, installed, wheel
from tools.setup import find_uv

__all__ = ["installed", "wheel"]

pytestmark = pytest.mark.slow

EXPERIMENT = "smoke"
NIGHT, BACKFILLED, STOPPED = "2026-11-19", ("2026-11-14", "2026-11-15"), "2026-11-16"
ELSEWHERE = "2026-11-17"
NIGHTLY, ACCEPT, MAINTENANCE = f"isr_nightly_{EXPERIMENT}", "isr_baseline_accept", "isr_maintenance"
DOCTOR = "isr_doctor"

RELEASE = "ISR_PIPELINE_FOREIGN_AIRFLOW"
"""Environment variable: a minor release of Airflow, such as 3.2."""

rehearsed = pytest.mark.skipif(
    RELEASE not in os.environ, reason="minutes more: `make airflow-test` alone has it"
)

NEWEST_OF = {"3.2": ("fastapi<0.136", "cadwyn<7", "pydantic<2.13")}
"""Release -> what it does not start with the newest of."""

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


class Application(NamedTuple):
    """What Spark's event log says of an application."""

    name: str
    settings: dict[str, str]
    executors: set[str]


def wait_for(what: Callable[[], Any], seconds: float = 240) -> Any:
    """Ask until there is an answer."""
    limit = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < limit, what
        time.sleep(0.5)
    return found


class Foreign:
    """An Airflow that knows of us what its Variable and connections say.

    Args:
        folder: for all that is made.
        python: of an environment with the wheel.
        master: Spark's.
    """

    def __init__(self, folder: Path, python: Path, master: str) -> None:
        self.folder = folder
        self.home = self.folder / "shared home"
        self.events = self.folder / "events"
        self.told = self.folder / "told"
        self.events.mkdir(parents=True)
        self.master = master
        port = free_port()
        address = f"http://127.0.0.1:{port}"
        self._airflow = self.folder / "airflow"
        self.rest = Rest(address, lambda: (ADMIN, admin_password(self._airflow)))
        programs = [python.parent, spark_home() / "bin", os.defpath]
        self._variables = {
            "PATH": os.pathsep.join(map(str, programs)),
            "HOME": str(self.folder),
            "JAVA_HOME": str(java_home(Home.from_environment())),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "AIRFLOW_HOME": str(self._airflow),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.folder / "dags"),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
            # Airflow 3.2 holds a SQLite for longer than the five seconds that others wait.
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self._airflow}/airflow.db?timeout=60",
            # On a busy machine the first file that asks for a Variable takes longer than usual.
            "AIRFLOW__CORE__DAGBAG_IMPORT_TIMEOUT": "120",
            "AIRFLOW__DAG_PROCESSOR__DAG_FILE_PROCESSOR_TIMEOUT": "180",
            "AIRFLOW__API__HOST": "127.0.0.1",
            "AIRFLOW__API__PORT": str(port),
            "AIRFLOW__API__BASE_URL": address,
        }
        # Without its own folder first on the path: that may be the checkout.
        self._command = [str(python), "-P", "-m", "airflow"]
        self._programs: list[supervisor.Program] = []
        (shipped,) = python.parents[1].rglob("isr_pipeline/shipped")
        shutil.copytree(shipped / "dags", self.folder / "dags")
        shutil.copytree(shipped / "config", self.folder / "config")
        with (self.folder / "config" / "experiments" / f"{EXPERIMENT}.yaml").open("a") as file:
            file.write('schedule: "0 0 * * *"\n')
        site = shipped.parents[1]
        self._bare = self.folder / "bare"
        (site / "sitecustomize.py").write_text(bare(f"pathlib.Path({str(self._bare)!r}).exists()"))
        (site / "office.py").write_text(NOTIFIER)
        (site / "office-1.dist-info").mkdir()
        (site / "office-1.dist-info" / "METADATA").write_text("Name: office\nVersion: 1\n")
        (site / "office-1.dist-info" / "RECORD").write_text("office.py,,\n")

    def start(self) -> None:
        """Airflow's database and API, what an operator sets, and the rest of its programs."""
        migrate = [*self._command, "db", "migrate"]
        subprocess.run(migrate, env=self._variables, check=True, capture_output=True)
        self._start(["api-server", "--workers", "1"])
        wait_for(self.rest.can_log_in)
        self._set_up()
        self._start(["scheduler", "--skip-serve-logs"], ["dag-processor"])
        wait_for(self._knows_our_dags)

    def stop(self) -> None:
        """End all programs."""
        supervisor.stop(self._programs)

    def lose_libraries(self, python: str) -> None:
        """Take the libraries of a night from Airflow's Python; the Variable names another one."""
        self._bare.touch()
        value = self.rest.ask("GET", "variables/isr_pipeline")["value"]
        said = json.dumps(json.loads(value) | {"python": python})
        body = {"key": "isr_pipeline", "value": said}
        self.rest.ask("PATCH", "variables/isr_pipeline", body)

    def trigger(self, dag_id: str, run_id: str, conf: dict[str, Any]) -> None:
        """Begin a run."""
        body = {"logical_date": None, "dag_run_id": run_id, "conf": conf}
        self.rest.ask("POST", f"dags/{dag_id}/dagRuns", body)

    def end(self, dag_id: str, run_id: str) -> str:
        """State in which a run ends."""

        def ended() -> Any:
            found = self.rest.run(dag_id, run_id)
            return found and found["state"] in ENDED and found["state"]

        return str(wait_for(ended, 900))

    def note(self, dag_id: str, run_id: str) -> str:
        """Note of a run: Airflow calls a DAG's callback some seconds after its end."""
        return str(wait_for(lambda: self.rest.run(dag_id, run_id)["note"], 60))

    def pools(self, dag_id: str, run_id: str) -> dict[str, str]:
        """Task of a run -> its pool."""
        tasks = self.rest.task_instances(dag_id, run_id)
        return {one["task_id"]: one["pool"] for one in tasks}

    def page(self, path: str, token: str = "") -> str:
        """A page of Airflow's server, as whoever has a token sees it."""
        address = f"{self.rest.address}{path}"
        asked = urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return str(answer.read().decode())

    def token(self) -> str:
        """What a login gives."""
        login = {"username": ADMIN, "password": admin_password(self._airflow)}
        asked = urllib.request.Request(
            f"{self.rest.address}/auth/token",
            data=json.dumps(login).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return str(json.load(answer)["access_token"])

    def log(self, run_id: str, task_id: str, dag_id: str = NIGHTLY) -> str:
        """What the first try of a task said, of the first shard if it has any."""
        folder = self._airflow / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}"
        return next((folder / f"task_id={task_id}").rglob("attempt=1.log")).read_text()

    def applications(self) -> list[Application]:
        """Every application that Spark ran, in order."""
        found = []
        for log in sorted(self.events.rglob("events_*")):
            entries = [json.loads(line) for line in log.read_text().splitlines()]
            kinds = [one["Event"] for one in entries]
            begun = entries[kinds.index("SparkListenerEnvironmentUpdate")]
            settings = begun["Spark Properties"]
            executors = {
                one["Executor ID"]
                for one, kind in zip(entries, kinds, strict=True)
                if kind == "SparkListenerExecutorAdded"
            }
            found.append(Application(settings["spark.app.name"], settings, executors))
        return found

    def put_off(self) -> int:
        """How often a task had to wait for another run."""
        with sqlite3.connect(self._airflow / "airflow.db") as database:
            (count,) = database.execute("select count(*) from task_reschedule").fetchone()
        return int(count)

    def _start(self, *programs: list[str]) -> None:
        commands = [[*self._command, *words] for words in programs]
        log = self.folder / f"{programs[0][0]}.log"
        self._programs.append(supervisor.start("Airflow", commands, self._variables, log))

    def _set_up(self) -> None:
        notifier = {"office.Write": {"file": str(self.told), "text": "{{ line }}"}}
        settings = {
            "home": str(self.home),
            "config": str(self.folder / "config"),
            "pool": "one-at-a-time",
            "spark_connection": "cluster",
            "spark_conf": {"spark.sql.shuffle.partitions": "64"},
            "on_success": notifier,
            "on_failure": notifier,
            "airflow_connection": "airflow_api",
        }
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.compress": "false",
            "spark.eventLog.dir": self.events.as_uri(),
        }
        host, _, port = self.master.rpartition(":")
        spark = {"conn_type": "spark", "host": host, "port": int(port)}
        password = admin_password(self._airflow)
        login = {"host": self.rest.address, "login": ADMIN, "password": password}
        for path, body in (
            ("variables", {"key": "isr_pipeline", "value": json.dumps(settings)}),
            ("pools", {"name": "one-at-a-time", "slots": 1}),
            (
                "connections",
                {"connection_id": "cluster", "extra": json.dumps({"conf": conf}), **spark},
            ),
            ("connections", {"connection_id": "airflow_api", "conn_type": "http", **login}),
        ):
            self.rest.ask("POST", path, body)

    def _knows_our_dags(self) -> bool:
        """Whether they were read; new ones are paused, and these are switched on."""
        return self.rest.ask("GET", "importErrors")["total_entries"] == 0 and all(
            self.rest.ask("PATCH", f"dags/{dag_id}?update_mask=is_paused", {"is_paused": False})
            for dag_id in (NIGHTLY, ACCEPT, MAINTENANCE, DOCTOR)
        )


def with_airflow(release: str, wheel: Path, folder: Path) -> Path:
    """Python of an environment into which uv has put the wheel and a release of Airflow."""
    excluded = folder.with_name("excluded")
    excluded.write_text("pyspark-client\n")
    uv = find_uv(sys.executable)
    install = [uv, "pip", "install", "--python", str(folder / "bin" / "python")]
    wanted = [
        f"{wheel}[night,airflow]",
        f"apache-airflow=={release}.*",
        *NEWEST_OF.get(release, ()),
    ]
    for command in (
        [uv, "venv", "--python", sys.executable, str(folder)],
        [*install, "--excludes", str(excluded), *wanted],
    ):
        subprocess.run(command, check=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def foreign(wheel: Path, installed: Installed) -> Iterator[Foreign]:
    """All of it, until the last test; with this environment's Airflow unless one is named."""
    release, folder, python = os.environ.get(RELEASE), installed.folder, installed.python
    if release:
        python = with_airflow(release, wheel, folder / "other")
    with Cluster(folder / "cluster", elsewhere=False) as cluster:
        one = Foreign(folder / "foreign", python, cluster.master)
        try:
            one.start()
            yield one
        finally:
            one.stop()


class TestForeignAirflow:
    """In the order of somebody's first days."""

    def test_a_night(self, foreign: Foreign) -> None:
        """Green; its tables and report lie in the home that the Variable names."""
        foreign.trigger(NIGHTLY, "first", {"night": NIGHT})
        assert foreign.end(NIGHTLY, "first") == "success"
        assert (foreign.home / "nights" / EXPERIMENT / NIGHT / "report.html").is_file()
        assert not (foreign.folder / ".local").exists()
        assert list((foreign.home / "locks" / "nights" / EXPERIMENT).iterdir()) == []

    def test_spark_is_the_connections(self, foreign: Foreign) -> None:
        """Nothing but simulation used Spark, on both workers, as the operator set it (D1, D4)."""
        applications = foreign.applications()
        assert 1 <= len(applications) <= 3
        for one in applications:
            assert one.name == "isr-simulate"
            assert one.settings["spark.master"] == foreign.master
            assert one.settings["spark.sql.shuffle.partitions"] == "64"
            assert len(one.executors) == 2

    def test_spark_has_its_pool_and_limit(self, foreign: Foreign) -> None:
        """Every task that used Spark was in the pool, and no other (D2)."""
        pools = foreign.pools(NIGHTLY, "first")
        in_pool = {task for task, pool in pools.items() if pool == "one-at-a-time"}
        assert in_pool == {"simulate", "confirm", "extend_1", "extend_2"}
        assert "time limit: 0:" in foreign.log("first", "simulate")

    def test_the_run_has_its_note(self, foreign: Foreign) -> None:
        """The scheduler knows nothing of the home (D3)."""
        assert foreign.note(NIGHTLY, "first").startswith(
            f"**{NIGHT} of {EXPERIMENT}: no baseline was accepted before"
        )

    def test_somebody_is_told_once(self, foreign: Foreign) -> None:
        """By the notifier that the Variable names (D7)."""
        wait_for(foreign.told.is_file, 60)
        (line,) = foreign.told.read_text().splitlines()
        assert line.startswith(f"{EXPERIMENT} {NIGHT}: no baseline was accepted before")

    def test_report_and_data_docs_are_in_airflow(self, foreign: Foreign) -> None:
        """For whoever is logged in (D8)."""
        pages, token = f"/isr/runs/{NIGHTLY}/first", foreign.token()
        assert "<!doctype html>" in foreign.page(f"{pages}/report", token)
        assert "Data Docs" in foreign.page(f"{pages}/data-docs", token)
        with pytest.raises(urllib.error.HTTPError, match="401"):
            foreign.page(f"{pages}/report")

    def test_mlflow_has_names_of_its_own(self, foreign: Foreign) -> None:
        """None that another team would choose (D6)."""
        with sqlite3.connect(foreign.home / "mlflow.db") as database:
            names = {name for (name,) in database.execute("select name from experiments")}
        ours = {f"isr-pipeline/{EXPERIMENT}", f"isr-pipeline/{EXPERIMENT}/trends"}
        assert names - {"Default"} == ours

    def test_an_acceptance(self, foreign: Foreign) -> None:
        """Its confirm panel is simulated where nights are, in the pool (D5)."""
        conf = {"experiment": EXPERIMENT, "night": NIGHT, "why": "meant", "who": "Ada"}
        foreign.trigger(ACCEPT, "accepted", conf)
        assert foreign.end(ACCEPT, "accepted") == "success"
        last = foreign.applications()[-1]
        assert (last.name, last.settings["spark.master"]) == ("isr-confirm", foreign.master)
        assert foreign.pools(ACCEPT, "accepted") == {"accept": "one-at-a-time"}
        said = f"**night {NIGHT} is the baseline of {EXPERIMENT}, accepted by Ada: meant"
        assert foreign.note(ACCEPT, "accepted").startswith(said)

    def test_others_can_wait_for_both(self, foreign: Foreign) -> None:
        """Verdict and baseline are assets, with what a reader asks."""
        events = foreign.rest.ask("GET", "assets/events")["asset_events"]
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
        foreign.rest.ask("POST", "backfills", body)
        for night in BACKFILLED:
            run_id = f"backfill__{night}T00:00:00+00:00"
            assert foreign.end(NIGHTLY, run_id) == "success"
            note = foreign.note(NIGHTLY, run_id)
            assert note.startswith(f"**{night} of {EXPERIMENT}: ")
            assert "no baseline was accepted" not in note
        assert foreign.put_off() == 0

    def test_a_run_ended_by_hand(self, foreign: Foreign) -> None:
        """Its night is free at once, and its page says so (D3)."""
        foreign.trigger(NIGHTLY, "stopped", {"night": STOPPED})
        claims = foreign.home / "locks" / "nights" / EXPERIMENT
        wait_for((claims / f"{STOPPED}.json").is_file)
        runs = foreign.home / "nights" / EXPERIMENT / RUNS
        wait_for(lambda: list(runs.glob(f"{STOPPED}.*/plan.json")))
        fail = partial(foreign.rest.fail, NIGHTLY, "stopped")
        assert mark(fail, is_there=lambda: True, seconds_max=240) == ""
        assert foreign.end(NIGHTLY, "stopped") == "failed"
        assert foreign.note(NIGHTLY, "stopped").endswith("stopped by hand**")
        assert list(claims.iterdir()) == []

    def test_maintenance(self, foreign: Foreign) -> None:
        """Older nights go, the baseline's and the newest stay; the database is its owner's (D10).

        The newest is that of today, which Airflow's schedule ran.
        """
        foreign.trigger(MAINTENANCE, "week", {"keep_nights": 1})
        assert foreign.end(MAINTENANCE, "week") == "success"
        folder = foreign.home / "nights" / EXPERIMENT
        left = {one.name for one in folder.iterdir()} - {RUNS}
        assert NIGHT in left
        assert list((folder / RUNS).glob(f"{STOPPED}.*")) == []
        assert len(left) <= 2
        assert not left & {*BACKFILLED, STOPPED}
        tasks = foreign.rest.task_instances(MAINTENANCE, "week")
        states = {one["task_id"]: one["state"] for one in tasks}
        assert states["clean_airflow"] == "skipped"

    @rehearsed
    def test_doctor(self, foreign: Foreign) -> None:
        """Its task finds nothing wrong, and asked both workers."""
        foreign.trigger(DOCTOR, "asked", {})
        assert foreign.end(DOCTOR, "asked") == "success"
        assert "2 workers on" in foreign.log("asked", "examine", DOCTOR)

    @rehearsed
    def test_a_night_elsewhere(self, foreign: Foreign) -> None:
        """All of it, though Airflow's own Python could not import a library that it needs."""
        foreign.lose_libraries(sys.executable)
        foreign.trigger(NIGHTLY, "elsewhere", {"night": ELSEWHERE})
        assert foreign.end(NIGHTLY, "elsewhere") == "success"
        assert (foreign.home / "nights" / EXPERIMENT / ELSEWHERE / "report.html").is_file()
        assert foreign.note(NIGHTLY, "elsewhere").startswith(f"**{ELSEWHERE} of {EXPERIMENT}: ")
        assert "time limit: 0:" in foreign.log("elsewhere", "simulate")

    @rehearsed
    def test_an_acceptance_elsewhere(self, foreign: Foreign) -> None:
        """Its confirm panel is simulated by Airflow's task, between two parts of it."""
        conf = {"experiment": EXPERIMENT, "night": ELSEWHERE, "why": "again", "who": "Ada"}
        before = len(foreign.applications())
        foreign.trigger(ACCEPT, "elsewhere", conf)
        assert foreign.end(ACCEPT, "elsewhere") == "success"
        assert [one.name for one in foreign.applications()[before:]] == ["isr-confirm"]

    @rehearsed
    def test_maintenance_elsewhere(self, foreign: Foreign) -> None:
        """What may go goes."""
        foreign.trigger(MAINTENANCE, "elsewhere", {"keep_nights": 1})
        assert foreign.end(MAINTENANCE, "elsewhere") == "success"
        assert not (foreign.home / "nights" / EXPERIMENT / NIGHT).exists()
