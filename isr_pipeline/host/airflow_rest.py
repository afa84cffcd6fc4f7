"""Airflow's REST API, asked as the admin whose password a home's own Airflow generated."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from isr_pipeline.errors import Refused

if TYPE_CHECKING:
    from pathlib import Path

    from isr_pipeline.home import Home

ADMIN = "admin"
ENDED = frozenset({"success", "failed"})
"""States of a run that has ended."""

HEALTHY = ("metadatabase", "scheduler", "dag_processor")
"""Parts of `make ui` that have to be well before a run is given to them."""

SECONDS_MAX = 60.0
"""For an answer: marking a run as failed waits for what is done at its end."""

_LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Silent(Exception):
    """Nothing answers at Airflow's port."""


class Rest:
    """A client of one Airflow on the loopback."""

    def __init__(self, home: Home, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._home = home
        self._token = ""

    def answers(self) -> bool:
        """Whether Airflow's server is there."""
        try:
            return self._send("GET", "/api/v2/version", None) is not None
        except Silent:
            return False

    def is_well(self) -> bool:
        """Whether all that a run needs is well, as Airflow says of itself."""
        try:
            parts = self._send("GET", "/api/v2/monitor/health", None)
        except Silent:
            return False
        return all(parts.get(name, {}).get("status") == "healthy" for name in HEALTHY)

    def can_log_in(self) -> bool:
        """Whether this Airflow takes the login that it generated for its home."""
        try:
            self._log_in()
        except (Refused, Silent):
            return False
        return True

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Ask for something below ``/api/v2/``; None where there is no such thing.

        Raises:
            Refused: Airflow does not do it; why.
            Silent: nothing answers.
        """
        if not self._token:
            self._log_in()
        return self._send(method, f"/api/v2/{path}", body)

    def run(self, dag_id: str, run_id: str) -> Any:
        """A DAG run; None if there is none."""
        return self.ask("GET", _run(dag_id, run_id))

    def task_instances(self, dag_id: str, run_id: str) -> list[Any]:
        """Every task of a run, shards one by one."""
        answer = self.ask("GET", f"{_run(dag_id, run_id)}/taskInstances?limit=100")
        return list(answer["task_instances"]) if answer else []

    def fail(self, dag_id: str, run_id: str) -> None:
        """Mark a run, and its tasks that have not ended, as failed: nothing resumes it."""
        self.ask("PATCH", _run(dag_id, run_id), {"state": "failed"})

    def paused_schedules(self) -> list[str]:
        """Names of DAGs that have a schedule and are paused."""
        found = self.ask("GET", "dags?paused=true&limit=100")["dags"]
        return [one["dag_id"] for one in found if one["timetable_summary"]]

    def fail_killed(self, prefix: str) -> list[Any]:
        """Mark runs of `dag.test` as failed that were killed; to be asked while none can run.

        Args:
            prefix: how ids of their DAGs begin.

        Returns:
            The runs.
        """
        running = self.ask("GET", "dags/~/dagRuns?state=running&limit=100")["dag_runs"]
        of_test = [one for one in running if one["triggered_by"] == "test"]
        killed = [one for one in of_test if one["dag_id"].startswith(prefix)]
        for one in killed:
            self.fail(one["dag_id"], one["dag_run_id"])
        return killed

    def _log_in(self) -> None:
        password = admin_password(self._home)
        answer = self._send("POST", "/auth/token", {"username": ADMIN, "password": password})
        if not answer:
            raise Refused(f"Airflow at {self.address} has other logins than its own")
        self._token = str(answer["access_token"])

    def _send(self, method: str, path: str, body: Any) -> Any:
        asked = urllib.request.Request(  # noqa: S310 - our own address
            f"{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
        )
        try:
            with _LOOPBACK.open(asked, timeout=SECONDS_MAX) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            said = " ".join(error.read().decode(errors="replace").split())[:300]
            raise Refused(f"Airflow: {method} {path}: {error.code} {said}") from None
        except (OSError, http.client.HTTPException) as error:
            raise Silent(str(error)) from None


def _run(dag_id: str, run_id: str) -> str:
    return f"dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"


def admin_password(home: Home) -> str:
    """Return the password that Airflow generated for this home; empty if it uses other logins."""
    file: Path = home.airflow / "simple_auth_manager_passwords.json.generated"
    try:
        return str(json.loads(file.read_text())[ADMIN])
    except (OSError, ValueError, KeyError):
        return ""
