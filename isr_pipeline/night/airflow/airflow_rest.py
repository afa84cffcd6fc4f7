"""Airflow's REST API: of a home's own Airflow, whose admin's password it generated, or another."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from isr_pipeline.base.disk import DISK_FULL, full_place
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import port_variable, served_port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from isr_pipeline.base.home import Home

ADMIN = "admin"
GATE = "gate"
"""Task of a night that Airflow leaves to be run when a run is marked as failed: a tear-down."""

WHY, LINE = "why", "line"
"""Keys under which a task leaves why it failed, and the last one how its run ended, in a line."""

NOTE_CHARACTERS = 1_000
"""As much as Airflow's database keeps of a note; PostgreSQL refuses a longer one."""

ENDED = frozenset({"success", "failed"})
"""States of a run that has ended."""

HEALTHY = ("metadatabase", "scheduler", "dag_processor")
"""Parts of `make ui` that have to be well before a run is given to them."""

SECONDS_MAX = 90.0
"""For an answer: longer than a database that another program writes keeps Airflow waiting, which
is a minute (`isr_pipeline.night.airflow.database`). Who gives up first never hears its answer."""


class Silent(Exception):
    """Nothing answers at Airflow's address."""


class Rest:
    """A client of one Airflow.

    Args:
        address: of its web server, without a slash at the end.
        login: gives user and password, once something is asked that needs them.
        named: what names the address, for who is told that nothing answers there.
    """

    def __init__(self, address: str, login: Callable[[], tuple[str, str]], named: str = "") -> None:
        self.address = address
        self._named = named
        self._login = login
        self._token = ""
        here = urlsplit(address).hostname in ("127.0.0.1", "localhost")
        proxies = [urllib.request.ProxyHandler({})] if here else []
        self._opener = urllib.request.build_opener(*proxies)

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

    def xcom(self, dag_id: str, run_id: str, task_id: str, key: str, shard: int = -1) -> Any:
        """What a task, or a shard of it, left under a key; None if it left nothing."""
        place = f"{_task(dag_id, run_id, task_id)}/xcomEntries/{key}?map_index={shard}"
        answer = self.ask("GET", place)
        return answer["value"] if answer else None

    def why(self, dag_id: str, run_id: str, task: dict[str, Any]) -> str:
        """The line that a task, or a shard, left before it failed; empty if it was killed."""
        for key in (WHY, LINE):
            left = self.xcom(dag_id, run_id, task["task_id"], key, task["map_index"])
            if isinstance(left, str):
                return left
        return ""

    def note(self, dag_id: str, run_id: str, task_id: str, note: str) -> None:
        """Put a note on the pages of a run and of one of its tasks."""
        for page in (_run(dag_id, run_id), _task(dag_id, run_id, task_id)):
            self.ask("PATCH", f"{page}?update_mask=note", {"note": note})

    def fail(self, dag_id: str, run_id: str) -> None:
        """Mark a run, and its tasks that have not ended, as failed: nothing resumes it.

        A scheduler still runs its gate, unless nothing of the run has begun: Airflow might keep
        that gate waiting for as long as the run.
        """
        if has_begun(self.task_instances(dag_id, run_id)):
            self._mark_failed(dag_id, run_id)
        else:
            self.fail_without_scheduler(dag_id, run_id)

    def fail_without_scheduler(self, dag_id: str, run_id: str) -> None:
        """Mark a run as failed, and its gate, which nothing is there to run."""
        for one in self.task_instances(dag_id, run_id):
            if one["task_id"] == GATE and one["state"] not in ENDED:
                self.ask("PATCH", _task(dag_id, run_id, GATE), {"new_state": "failed"})
        self._mark_failed(dag_id, run_id)

    def _mark_failed(self, dag_id: str, run_id: str) -> None:
        self.ask("PATCH", _run(dag_id, run_id), {"state": "failed"})

    def active_runs(self, prefix: str) -> list[Any]:
        """Runs that are queued or running, the oldest first.

        Args:
            prefix: how ids of their DAGs begin.
        """
        states = "state=queued&state=running&order_by=id&limit=100"
        runs = self.ask("GET", f"dags/~/dagRuns?{states}")["dag_runs"]
        return [one for one in runs if one["dag_id"].startswith(prefix)]

    def not_begun(self, dag_id: str, run_id: str, task_id: str) -> list[Any]:
        """Names and reasons of what keeps Airflow from beginning a task."""
        answer = self.ask("GET", f"{_task(dag_id, run_id, task_id)}/dependencies")
        return list(answer["dependencies"]) if answer else []

    def import_errors(self) -> list[str]:
        """A line for each file of DAGs that cannot be read."""
        found = self.ask("GET", "importErrors?limit=100")["import_errors"]
        return [f"{one['filename']}: {one['stack_trace'].strip()}" for one in found]

    def paused_schedules(self, prefix: str) -> list[str]:
        """Names of DAGs that have a schedule and are paused.

        Args:
            prefix: how their ids begin.
        """
        found = self.ask("GET", f"dags?paused=true&dag_id_pattern={prefix}&limit=100")["dags"]
        return [
            one["dag_id"]
            for one in found
            if one["timetable_summary"] and one["dag_id"].startswith(prefix)
        ]

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
            self.fail_without_scheduler(one["dag_id"], one["dag_run_id"])
        return killed

    def _log_in(self) -> None:
        user, password = self._login()
        answer = self._send("POST", "/auth/token", {"username": user, "password": password})
        if not answer:
            raise Refused(f"Airflow at {self.address} has other logins than its own")
        self._token = str(answer["access_token"])

    def _send(self, method: str, path: str, body: Any) -> Any:
        asked = urllib.request.Request(  # noqa: S310 - our own, or what the operator named
            f"{self.address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
        )
        try:
            with self._opener.open(asked, timeout=SECONDS_MAX) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            if error.code == 500:  # its body tells where Airflow's log has more, not what is wrong
                full = full_place()
                why = f"{full}: {DISK_FULL}" if full else "500; its log says why"
                raise Refused(f"Airflow: {method} {path}: {why}") from None
            said = " ".join(error.read().decode(errors="replace").split())[:300]
            raise Refused(f"Airflow: {method} {path}: {error.code} {said}") from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            said = str(getattr(reason, "strerror", None) or reason).lower()
            named = f"; {self._named}" if self._named else ""
            raise Silent(f"{self.address} ({said}){named}") from None


def has_begun(tasks: Iterable[Any]) -> bool:
    """Whether any task of a run was ever started; one that was left out has a start date too."""
    return any(one["start_date"] and one["state"] != "skipped" for one in tasks)


def _run(dag_id: str, run_id: str) -> str:
    return f"dags/{dag_id}/dagRuns/{quote(run_id, safe='')}"


def _task(dag_id: str, run_id: str, task_id: str) -> str:
    return f"{_run(dag_id, run_id)}/taskInstances/{task_id}"


def rest_of(home: Home, port: int) -> Rest:
    """A client of the Airflow that a home has of its own, on the loopback."""
    return Rest(f"http://127.0.0.1:{port}", lambda: (ADMIN, admin_password(home.airflow)))


def rest_of_ui(home: Home) -> Rest:
    """A client of the Airflow of ``make ui``, where that runs or would run.

    Raises:
        InputError: the variable of its port holds none.
    """
    address = f"http://127.0.0.1:{served_port(home, 'airflow')}"
    named = f"{port_variable('airflow')} is the port of `make ui`"
    return Rest(address, lambda: (ADMIN, admin_password(home.airflow)), named)


def admin_password(airflow: Path) -> str:
    """Return the password that Airflow generated for its home; empty if it uses other logins."""
    file = airflow / "simple_auth_manager_passwords.json.generated"
    try:
        return str(json.loads(file.read_text())[ADMIN])
    except (OSError, ValueError, KeyError):
        return ""
