"""What is asked of Airflow's REST API, by an Airflow that answers as the real one does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.night.airflow.airflow_rest import Rest, Silent, rest_of
from isr_pipeline.night.stack import free_port

RUNS = [
    {"dag_id": "isr_nightly_smoke", "dag_run_id": "manual__a+b", "triggered_by": "test"},
    {"dag_id": "another", "dag_run_id": "manual__d", "triggered_by": "test"},
    {"dag_id": "isr_nightly_smoke", "dag_run_id": "backfill__c", "triggered_by": "backfill"},
]

LEFT = "/taskInstances/simulate/xcomEntries/why?map_index=1"


class Airflow(BaseHTTPRequestHandler):
    """Answers to a login with the right password, and to what its token asks for."""

    asked: list[tuple[str, str, Any]]

    def log_message(self, *_: object) -> None:
        """Say nothing on the terminal."""

    def answer(self) -> None:
        """Answer to any method."""
        size = int(self.headers["Content-Length"] or 0)
        body = json.loads(self.rfile.read(size)) if size else None
        status, said = self.reply(body)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    do_GET = do_POST = do_PATCH = answer  # noqa: N815 - names of the library

    def reply(self, body: Any) -> tuple[int, Any]:
        """Status and content."""
        if self.path == "/auth/token":
            known = body == {"username": "admin", "password": "drawn"}
            return (201, {"access_token": "a-token"}) if known else (401, {"detail": "Invalid"})
        if self.headers["Authorization"] != "Bearer a-token":
            return 401, {"detail": "Not authenticated"}
        self.asked.append((self.command, self.path, body))
        if self.path.startswith("/api/v2/dags/~/dagRuns?"):
            return 200, {"dag_runs": RUNS}
        if self.path.startswith("/api/v2/dags?"):
            schedules = {"isr_nightly_a": "0 0 * * *", "isr_nightly_b": None, "isr_c": "0 12 * * 0"}
            return 200, {
                "dags": [
                    {"dag_id": name, "timetable_summary": one} for name, one in schedules.items()
                ]
            }
        if self.path.endswith("/taskInstances?limit=100") and "manual__" in self.path:
            tasks = [{"task_id": "plan", "state": "running"}, {"task_id": "gate", "state": None}]
            return 200, {"task_instances": tasks}
        if "/xcomEntries/" in self.path:
            return (200, {"value": "memory was short"}) if self.path.endswith(LEFT) else (404, {})
        if "dagRuns/manual__" in self.path:
            return 200, {}
        return (409, {"detail": "there is one"}) if body else (404, {"detail": "none"})


@pytest.fixture
def rest(tmp_path: Path) -> Iterator[Rest]:
    """A client whose home has the password."""
    Airflow.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Airflow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    file = tmp_path / "airflow" / "simple_auth_manager_passwords.json.generated"
    file.parent.mkdir()
    file.write_text('{"admin": "drawn"}')
    yield rest_of(Home(tmp_path, str(tmp_path)), server.server_port)
    server.shutdown()
    server.server_close()


def test_only_killed_runs_are_failed(rest: Rest) -> None:
    """Those of `dag.test`, of our DAGs, with the gate; a scheduler takes its own up again."""
    assert rest.fail_killed("isr_") == RUNS[:1]
    changed = [one for one in Airflow.asked if one[0] == "PATCH"]
    page = "/api/v2/dags/isr_nightly_smoke/dagRuns/manual__a%2Bb"
    gate = ("PATCH", f"{page}/taskInstances/gate", {"new_state": "failed"})
    assert changed == [gate, ("PATCH", page, {"state": "failed"})]


def test_what_is_not_there(rest: Rest) -> None:
    """Is no error."""
    assert rest.run("isr_nightly_smoke", "none") is None
    assert rest.task_instances("isr_nightly_smoke", "none") == []


def test_why_a_shard_failed(rest: Rest) -> None:
    """The line that it left; a task that was killed left none."""
    failed = {"task_id": "simulate", "map_index": 1}
    assert rest.why("isr_nightly_smoke", "manual__a", failed) == "memory was short"
    assert rest.why("isr_nightly_smoke", "manual__a", {**failed, "map_index": 0}) == ""


def test_what_airflow_refuses(rest: Rest) -> None:
    """One line with what was asked, and Airflow's reason."""
    with pytest.raises(Refused, match=r"^Airflow: POST /api/v2/dags/x/dagRuns: 409 .*there is one"):
        rest.ask("POST", "dags/x/dagRuns", {"conf": {}})


def test_schedules_that_are_paused(rest: Rest) -> None:
    """A DAG without a schedule waits for nothing, and what removes nights is paused on purpose."""
    assert rest.paused_schedules("isr_nightly_") == ["isr_nightly_a"]


def test_other_logins(rest: Rest, tmp_path: Path) -> None:
    """An Airflow of other logins is not asked further."""
    assert rest.can_log_in()
    (tmp_path / "airflow" / "simple_auth_manager_passwords.json.generated").unlink()
    assert not rest.can_log_in()


def test_nothing_answers(tmp_path: Path) -> None:
    """A server that is not there yet is told apart from one that refuses."""
    rest = rest_of(Home(tmp_path, str(tmp_path)), free_port())
    assert not rest.answers()
    assert not rest.is_well()
    with pytest.raises(Silent):
        rest.ask("GET", "dags")
