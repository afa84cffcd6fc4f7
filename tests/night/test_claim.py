"""The claim on a night: one run writes it at a time, and other nights go on beside it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.night.claim import (
    NotYet,
    claim_night,
    holds_claim,
    refuse_if_claimed,
    release_night,
)
from isr_pipeline.night.life import interrupt, interrupt_run, made_by, note_of
from isr_pipeline.night.status import Status, read_status, write_status
from isr_pipeline.tracking.pages import remember

NIGHT = "2026-11-19"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """An empty home, whose Airflow is started by this process."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    monkeypatch.setenv(SUPERVISOR_VARIABLE, str(os.getpid()))
    return Home.from_environment()


def claim(
    home: Home,
    owner: str,
    *,
    airflow: str = "here",
    running: tuple[str, ...] = (),
    night: str = NIGHT,
) -> None:
    """Claim a night for a run; ``running`` are the runs that Airflow says are under way."""
    claim_night(
        home,
        owner=owner,
        experiment="smoke",
        night=night,
        airflow=airflow,
        is_running=lambda run: run in running,
    )


class TestClaim:
    """Who may write, and who has to wait."""

    def test_second_run_of_the_same_night_waits(self, home: Home) -> None:
        """A run of the same Airflow is told to ask again, and by whom the night is written."""
        claim(home, "first")
        with pytest.raises(NotYet, match=rf"^night {NIGHT} of smoke \(run first, process \d+\) is"):
            claim(home, "second", running=("first",))
        assert holds_claim(home, "smoke", NIGHT, owner="first")

    def test_next_run_takes_over_from_one_that_ended(self, home: Home) -> None:
        """A run that failed before its gate, or waits to start again, holds nothing."""
        claim(home, "first")
        claim(home, "second", running=())
        assert holds_claim(home, "smoke", NIGHT, owner="second")

    def test_next_run_has_its_turn_when_the_first_gives_it_up(self, home: Home) -> None:
        """The claim is free once the gate of the first run has released it."""
        claim(home, "first")
        release_night(home, "smoke", NIGHT, owner="first")
        claim(home, "second", running=("first",))
        assert holds_claim(home, "smoke", NIGHT, owner="second")

    def test_another_airflow_is_refused(self, home: Home) -> None:
        """There is no way to ask another Airflow: one line that names the night and its run."""
        claim(home, "first")
        with pytest.raises(Refused, match="is being written; wait until it ends, or remove"):
            claim(home, "second", airflow="elsewhere")

    def test_another_night_is_free(self, home: Home) -> None:
        """A backfill's runs go on beside each other."""
        claim(home, "first")
        claim(home, "second", running=("first",), night="2026-11-20")
        assert holds_claim(home, "smoke", NIGHT, owner="first")
        assert holds_claim(home, "smoke", "2026-11-20", owner="second")

    def test_what_nights_read_is_not_changed_beside_them(self, home: Home) -> None:
        """An acceptance waits for the nights of its experiment, not for those of others."""
        claim(home, "first")
        refuse_if_claimed(home, "operators")
        for experiment in ("smoke", None):
            with pytest.raises(Refused, match=rf"^night {NIGHT} of smoke \(run first, process"):
                refuse_if_claimed(home, experiment)

    def test_claim_ends_with_the_process_that_started_airflow(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A claim whose `make nightly` was killed is free, whatever Airflow's database says."""
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(gone.pid))
        claim(home, "first")
        claim(home, "second", running=("first",))
        assert holds_claim(home, "smoke", NIGHT, owner="second")


class TestKilled:
    """A night whose program was killed with everything below it, so that nobody noted its end."""

    def test_a_night_that_is_written_is_running(self, home: Home) -> None:
        """Its claim stands, and who made it lives."""
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        assert read_status("smoke", NIGHT).state == "running"

    def test_a_killed_night_is_interrupted(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is not said to be running for ever, and the reason says what to do."""
        gone = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(gone.pid))
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        assert read_status("smoke", NIGHT).state == "running"
        gone.kill()
        while psutil.Process(gone.pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        killed = Status("interrupted", "its run was killed; run it again to have it whole", "first")
        assert read_status("smoke", NIGHT) == killed
        gone.wait()
        assert read_status("smoke", NIGHT) == killed

    def test_another_process_of_the_same_number_is_not_it(self, home: Home) -> None:
        """After a restart of the machine numbers come again."""
        claim(home, "first")
        file = home.locks / "nights" / "smoke" / f"{NIGHT}.json"
        file.write_text(
            json.dumps(json.loads(file.read_text()) | {"supervisor_began_s": 1_000_000.0})
        )
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        assert read_status("smoke", NIGHT).state == "interrupted"

    def test_a_run_that_is_taken_up_again_is_running(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next `make ui` resumes the run: its next task claims for the new supervisor."""
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(gone.pid))
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(os.getpid()))
        claim(home, "first")
        assert read_status("smoke", NIGHT).state == "running"


class TestInterrupt:
    """What a run that is stopped may clean up."""

    def test_a_run_that_waited_touches_nothing(self, home: Home) -> None:
        """Ctrl-C on a run in the queue leaves the same night of the run before it alone."""
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        interrupt("smoke", NIGHT, "second")
        assert read_status("smoke", NIGHT).state == "running"
        assert holds_claim(home, "smoke", NIGHT, owner="first")

    def test_the_run_that_writes_gives_up_its_night(self, home: Home) -> None:
        """Its state is interrupted, and the next run has its turn."""
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        interrupt("smoke", NIGHT, "first")
        assert read_status("smoke", NIGHT).state == "interrupted"
        assert not holds_claim(home, "smoke", NIGHT, owner="first")


class TestRunEnded:
    """What is noted on the run's page, and done, when a run has ended."""

    def test_note_says_the_reason(self, home: Home) -> None:
        """The page of a failed run has the one line of its gate."""
        assert note_of("smoke", NIGHT, "plan failed") == f"**{NIGHT} of smoke: plan failed**"

    def test_note_links_to_mlflow(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A night that was logged has the addresses of its run and of its report."""
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:secret@mlflow.example/")
        remember("smoke", NIGHT, experiment_id="7", run_id="abc")
        run = "https://mlflow.example/#/experiments/7/runs/abc"
        view = "?workflowType=machine_learning"
        links = f"[MLflow run]({run}{view}) · [report]({run}/artifacts/report.html{view})"
        assert note_of("smoke", NIGHT, "worse") == f"**{NIGHT} of smoke: worse**\n\n{links}"

    def test_a_task_leads_to_what_its_run_makes(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last tasks to the report; earlier ones to where the night will be listed."""
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example/")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        assert made_by("simulate", "smoke", "first") == ""
        remember("smoke", "2026-11-01", experiment_id="7", run_id="old")
        listed = "https://mlflow.example/#/experiments/7/runs?searchFilter=tags.night%20%3D%20"
        assert made_by("simulate", "smoke", "first").startswith(f"{listed}%27{NIGHT}%27")
        remember("smoke", NIGHT, experiment_id="7", run_id="abc")
        run = "https://mlflow.example/#/experiments/7/runs/abc"
        view = "?workflowType=machine_learning"
        assert made_by("log_to_mlflow", "smoke", "first") == f"{run}{view}"
        assert made_by("gate", "smoke", "first") == f"{run}/artifacts/report.html{view}"
        assert made_by("gate", "smoke", "another") == ""

    def test_a_run_without_its_gate_gives_the_night_free(self, home: Home) -> None:
        """As when Airflow ended it for its time: the next run has its turn."""
        claim(home, "first")
        write_status("smoke", NIGHT, Status("running", dag_run_id="first"))
        interrupt_run("smoke", "first")
        assert read_status("smoke", NIGHT).state == "interrupted"
        assert not holds_claim(home, "smoke", NIGHT, owner="first")

    def test_a_note_is_as_short_as_airflow_keeps_it(self, home: Home) -> None:
        """Its database holds 1000 characters; the end of a long reason is kept."""
        remember("smoke", NIGHT, experiment_id="7", run_id="a" * 400)
        said = note_of("smoke", NIGHT, f"{'x' * 2000} failed")
        assert len(said) <= 1000
        assert said.partition("\n")[0].endswith("xxx failed**")
