"""Why Airflow does not begin a run: by answers as Airflow 3.3 gave them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from isr_pipeline.night.airflow.airflow_rest import Rest
from isr_pipeline.night.airflow.waiting import end_marked, hanging, why_not_begun

if TYPE_CHECKING:
    from tests.approved import Approved

DAG_ID = "isr_nightly_smoke"
NOW = datetime.now(UTC)
TO_COME = NOW + timedelta(days=1)


def moment(when: datetime) -> str:
    """A moment as Airflow's API writes it."""
    return when.isoformat().replace("+00:00", "Z")


def run(run_id: str, state: str = "running", *, logical: datetime | None = None) -> dict[str, Any]:
    """A run that was asked for two minutes ago."""
    asked = moment(NOW - timedelta(minutes=2))
    return {
        "dag_id": DAG_ID,
        "dag_run_id": run_id,
        "state": state,
        "logical_date": logical and moment(logical),
        "queued_at": asked,
        "run_after": asked,
    }


def task(name: str, state: str | None = None, *, began: bool = False) -> dict[str, Any]:
    """A task of a run."""
    start = moment(NOW) if began else None
    return {"task_id": name, "state": state, "start_date": start, "map_index": -1}


class Airflow(Rest):
    """One that has some runs, and notes what is changed."""

    def __init__(self, *runs: dict[str, Any]) -> None:
        super().__init__("http://127.0.0.1:1", lambda: ("", ""))
        self.runs = list(runs)
        self.tasks: dict[str, list[dict[str, Any]]] = {}
        self.reasons: list[dict[str, str]] = [
            {"name": "Task Instance State", "reason": "Task is in the 'None' state."}
        ]
        self.paused = False
        self.well = True
        self.changed: list[tuple[str, Any]] = []

    def is_well(self) -> bool:
        """As set."""
        return self.well

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Answer from what is set."""
        if method == "PATCH":
            self.changed.append((path, body))
            return {}
        if path.startswith("dags/~/dagRuns?"):
            return {"dag_runs": self.runs}
        if path.endswith("/dependencies"):
            return {"dependencies": self.reasons}
        if "/taskInstances?" in path:
            untouched = [task("plan"), task("gate")]
            return {"task_instances": self.tasks.get(path.split("/")[3], untouched)}
        assert path == f"dags/{DAG_ID}"
        return {"is_paused": self.paused}


class TestHanging:
    """Which runs are named, and with what reason."""

    def test_a_logical_date_to_come(self, approved: Approved) -> None:
        """The run is named at once, with what ends it."""
        airflow = Airflow(run("tomorrows", logical=TO_COME))
        airflow.runs[0]["queued_at"] = moment(NOW)
        approved(hanging(airflow, "isr_"), TOMORROW=TO_COME.date().isoformat())

    def test_what_waits_behind_it(self, approved: Approved) -> None:
        """Whoever asks for the later run is told of the one that holds it up."""
        airflow = Airflow(run("tomorrows", logical=TO_COME), run("mine", "queued"))
        approved(
            why_not_begun(airflow, airflow.runs[1], airflow.runs),
            TOMORROW=TO_COME.date().isoformat(),
        )

    def test_a_run_that_waits_for_its_turn_hangs_not(self) -> None:
        """A night of the same experiment may take longer than a minute."""
        airflow = Airflow(run("first"), run("second", "queued"))
        airflow.tasks["first"] = [task("plan", "running", began=True), task("gate")]
        assert hanging(airflow, "isr_") == []

    def test_a_run_of_the_last_minute_hangs_not(self) -> None:
        """Airflow takes seconds to begin one."""
        airflow = Airflow(run("new"))
        airflow.runs[0]["queued_at"] = moment(datetime.now(UTC))
        assert hanging(airflow, "isr_") == []

    def test_runs_of_others_are_left_out(self) -> None:
        """The Airflow may have other DAGs."""
        assert hanging(Airflow(run("tomorrows", logical=TO_COME)), "another_") == []

    def test_reason_is_airflows_own(self) -> None:
        """What Airflow says of every such task is left out."""
        airflow = Airflow(run("mine"))
        reason = "Not scheduling since there are 0 open slots in pool spark and require 1 slots."
        airflow.reasons.append({"name": "Pool Slots Available", "reason": reason})
        assert hanging(airflow, "isr_") == [f"run mine of {DAG_ID}: Airflow says: {reason}"]

    @pytest.mark.parametrize(
        ("paused", "well", "why"),
        [
            (True, True, f"{DAG_ID} is paused; switch it on in Airflow"),
            (False, False, "Airflow's scheduler, or what reads its DAGs, is not well"),
            (False, True, "Airflow gives no reason; its scheduler or its workers are busy"),
        ],
    )
    def test_reasons_that_airflow_does_not_give(self, paused: bool, well: bool, why: str) -> None:
        """They are asked for."""
        airflow = Airflow(run("mine"))
        airflow.paused, airflow.well = paused, well
        assert hanging(airflow, "isr_") == [f"run mine of {DAG_ID}: {why}"]


class TestEnd:
    """How a run ends of which nothing has begun."""

    GATE = (f"dags/{DAG_ID}/dagRuns/mine/taskInstances/gate", {"new_state": "failed"})
    RUN = (f"dags/{DAG_ID}/dagRuns/mine", {"state": "failed"})

    def test_a_run_that_a_person_marked(self) -> None:
        """Airflow has left out all but the gate, which it will not begin."""
        airflow = Airflow(run("mine", logical=TO_COME))
        airflow.tasks["mine"] = [task("plan", "skipped", began=True), task("gate")]
        assert end_marked(airflow, "isr_") == airflow.runs
        assert airflow.changed == [self.GATE, self.RUN]

    def test_a_run_that_nobody_marked(self) -> None:
        """It is not ended by us, whatever its date."""
        airflow = Airflow(run("mine", logical=TO_COME))
        assert end_marked(airflow, "isr_") == []
        assert airflow.changed == []

    def test_a_run_that_had_begun(self) -> None:
        """Its gate gives the night free."""
        airflow = Airflow(run("mine"))
        done, left_out = task("plan", "success", began=True), task("judge", "skipped", began=True)
        airflow.tasks["mine"] = [done, left_out, task("gate")]
        assert end_marked(airflow, "isr_") == []

    def test_stopping_what_has_not_begun(self) -> None:
        """Its gate is not left to wait with it."""
        airflow = Airflow(run("mine", "queued"))
        airflow.fail(DAG_ID, "mine")
        assert airflow.changed == [self.GATE, self.RUN]

    def test_stopping_what_has_begun(self) -> None:
        """Its gate is run by the scheduler."""
        airflow = Airflow(run("mine"))
        airflow.tasks["mine"] = [task("plan", "running", began=True), task("gate")]
        airflow.fail(DAG_ID, "mine")
        assert airflow.changed == [self.RUN]
