"""The claim on a night: one run writes it at a time, and other nights go on beside it."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.files.lock import alone
from isr_pipeline.base.home import Home
from isr_pipeline.base.storage.places import Place
from isr_pipeline.night import claim as claims
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE
from isr_pipeline.night.claim import (
    CLAIMS,
    STANDS_S,
    NotYet,
    claim_night,
    holds_claim,
    refuse_if_claimed,
    release_night,
    renewed,
)
from isr_pipeline.night.keep import prune
from isr_pipeline.night.life import interrupt, interrupt_run, made_by, note_of, note_of_a_line
from isr_pipeline.night.publication import clear_runs
from isr_pipeline.night.status import (
    Status,
    check_not_replaced,
    folder_of,
    read_status,
    run_folder,
    run_name,
    write_status,
)
from isr_pipeline.report.tracking.pages import remember
from tests.saying import refused

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


def own_folder(dag_run_id: str) -> Place:
    """Folder of a run of the night that is not whole."""
    return run_folder("smoke", run_name(NIGHT, dag_run_id))


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
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        assert read_status("smoke", NIGHT).state == "running"

    def test_a_killed_night_is_interrupted(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is not said to be running for ever, and the reason says what to do."""
        gone = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(gone.pid))
        claim(home, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
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
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        assert read_status("smoke", NIGHT).state == "interrupted"

    def test_a_run_that_is_taken_up_again_is_running(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The next `make ui` resumes the run: its next task claims for the new supervisor."""
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(gone.pid))
        claim(home, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        monkeypatch.setenv(SUPERVISOR_VARIABLE, str(os.getpid()))
        claim(home, "first")
        assert read_status("smoke", NIGHT).state == "running"


class Clock:
    """The time that claims are made and read by, in seconds since 1970."""

    def __init__(self) -> None:
        self.now_s = 1_700_000_000.0

    def time(self) -> float:
        """What it shows."""
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands until it is set; a claim is renewed without waiting for a minute."""
    clock = Clock()
    monkeypatch.setattr(claims, "time", clock)
    monkeypatch.setattr(claims, "RENEWED_EACH_S", 0.002)
    return clock


@pytest.fixture
def foreign(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home where somebody else's Airflow runs: no process of it is known."""
    monkeypatch.delenv(SUPERVISOR_VARIABLE)
    return home


def stands(home: Home) -> bool:
    """Whether a command is refused because the night is being written."""
    try:
        refuse_if_claimed(home)
    except Refused:
        return True
    return False


def claim_file(home: Home) -> Path:
    """Where the night's claim is."""
    return home.locks / CLAIMS / "smoke" / f"{NIGHT}.json"


def change_claim(home: Home, **fields: Any) -> None:
    """Have the claim's file say something else; a field of None it does not name."""
    with alone(home.locks, CLAIMS):
        named = {**json.loads(claim_file(home).read_text()), **fields}
        left = {key: one for key, one in named.items() if one is not None}
        claim_file(home).write_text(json.dumps(left))


def ends_s(home: Home) -> float:
    """When the claim ends, seconds since 1970."""
    return float(json.loads(claim_file(home).read_text())["until_s"])


def until(true: Callable[[], bool]) -> None:
    """Wait for another thread, at most ten seconds."""
    limit_s = time.monotonic() + 10
    while not true():
        assert time.monotonic() < limit_s
        time.sleep(0.001)


class TestRenewed:
    """A claim lives as long as its run, also where no process of it can be seen."""

    def test_stands_for_seven_hours(self, foreign: Home, clock: Clock) -> None:
        """It is renewed while a task works, so it never ends before the task does."""
        claim(foreign, "first")
        with renewed(foreign, "smoke", NIGHT, owner="first"):
            for _ in range(7 * 60 // 9):
                clock.now_s += 9 * 60
                until(lambda: ends_s(foreign) == clock.now_s + STANDS_S)
                assert stands(foreign)

    def test_ten_missed_minutes_end_it(self, foreign: Home, clock: Clock) -> None:
        """A task was killed with its worker: another program has the night after ten minutes."""
        claim(foreign, "first")
        clock.now_s += 10 * 60 - 1
        with pytest.raises(Refused, match="is being written"):
            claim(foreign, "second", airflow="elsewhere")
        clock.now_s += 1
        claim(foreign, "second", airflow="elsewhere")
        assert holds_claim(foreign, "smoke", NIGHT, owner="second")

    def test_is_read_by_its_time_on_another_host(self, home: Home, clock: Clock) -> None:
        """A process there cannot be seen: what has its number here says nothing."""
        claim(home, "first")
        change_claim(home, host=f"not-{socket.gethostname()}")
        clock.now_s += 10 * 60 - 1
        assert stands(home)
        clock.now_s += 1
        assert not stands(home)

    def test_lives_with_its_process_on_its_own_host(self, home: Home, clock: Clock) -> None:
        """Where the process can be seen no time counts."""
        claim(home, "first")
        clock.now_s += 7 * 3600
        assert stands(home)

    def test_waits_for_the_runs_next_task(self, foreign: Home, clock: Clock) -> None:
        """Between two tasks nobody renews it: a run that stands in line keeps its night."""
        claim(foreign, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        with renewed(foreign, "smoke", NIGHT, owner="first", then_s=24 * 3600):
            pass
        clock.now_s += 24 * 3600 - 1
        assert stands(foreign)
        assert read_status("smoke", NIGHT).state == "running"
        clock.now_s += 1
        assert not stands(foreign)

    def test_is_short_again_in_the_next_task(self, foreign: Home, clock: Clock) -> None:
        """What the task before left does not outlive a worker that is killed."""
        claim(foreign, "first")
        with renewed(foreign, "smoke", NIGHT, owner="first", then_s=24 * 3600):
            pass
        with renewed(foreign, "smoke", NIGHT, owner="first"):
            assert ends_s(foreign) == clock.now_s + STANDS_S

    def test_nothing_is_pruned_meanwhile(self, foreign: Home, clock: Clock) -> None:
        """Nor is anything that the night reads, seven hours after it began."""
        claim(foreign, "first")
        with renewed(foreign, "smoke", NIGHT, owner="first", then_s=24 * 3600):
            pass
        clock.now_s += 7 * 3600
        with pytest.raises(Refused, match="is being written"):
            list(prune(1, "smoke"))

    def test_one_of_the_release_before_stands_as_long_as_its_run(
        self, foreign: Home, clock: Clock
    ) -> None:
        """0.2.0 wrote no end and renewed nothing; its run may still be at work."""
        claim(foreign, "first")
        change_claim(foreign, until_s=None)
        clock.now_s += 24 * 3600 - 1
        assert stands(foreign)
        clock.now_s += 1
        assert not stands(foreign)


class TestLost:
    """A claim that ended while its run worked: the run ends in one line, and writes no more."""

    def wait(self, home: Home, lose: Callable[[], object]) -> None:
        """Wait for a program under a claim that is lost meanwhile."""
        with (
            renewed(home, "smoke", NIGHT, owner="first"),
            subprocess.Popen(["sleep", "20"]) as program,
        ):
            try:
                lose()
                program.wait()
                pytest.fail("the work went on to its end")
            finally:
                program.kill()

    def lost(self, home: Home, lose: Callable[[], object]) -> str:
        """What is said when the claim is lost."""
        claim(home, "first")
        with pytest.raises(Refused) as refused:
            self.wait(home, lose)
        return str(refused.value)

    def test_to_another_run(self, foreign: Home, clock: Clock) -> None:
        """Its process stood still for ten minutes, as on a laptop that slept."""
        assert self.lost(foreign, lambda: change_claim(foreign, owner="second")) == (
            f"night {NIGHT} of smoke is no longer that of run first: "
            "run second has claimed it; run it again"
        )
        assert holds_claim(foreign, "smoke", NIGHT, owner="second")

    def test_to_a_person(self, foreign: Home, clock: Clock) -> None:
        """Somebody thought that the run was dead."""
        said = self.lost(foreign, lambda: release_night(foreign, "smoke", NIGHT, owner="first"))
        file = claim_file(foreign)
        assert said.endswith(f"run first: somebody removed {file}; run it again")
        assert not file.exists()

    def test_to_a_full_disk(
        self, foreign: Home, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Renewals may fail for as long as the claim stands."""
        tried = 0

        def full(*_: object) -> None:
            nonlocal tried
            tried += 1
            if tried == 3:
                clock.now_s += STANDS_S
            raise OSError(28, "No space left on device")

        said = self.lost(foreign, lambda: monkeypatch.setattr(claims, "write_whole", full))
        assert said == (
            f"the claim on {NIGHT} of smoke cannot be renewed: [Errno 28] No space left on device"
        )
        assert tried == 3

    def test_in_another_thread(self, foreign: Home, clock: Clock) -> None:
        """What cannot be broken off is told when it ends."""
        claim(foreign, "first")
        said: list[str] = []

        def work() -> None:
            try:
                with renewed(foreign, "smoke", NIGHT, owner="first"):
                    release_night(foreign, "smoke", NIGHT, owner="first")
                    until(lambda: not any(one.name == "claim" for one in threading.enumerate()))
            except Refused as refusal:
                said.append(str(refusal))

        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
        assert len(said) == 1

    def test_what_the_work_says_comes_first(self, foreign: Home, clock: Clock) -> None:
        """An error of the work is not hidden by its claim's, and ends the renewals."""
        claim(foreign, "first")
        with pytest.raises(KeyError), renewed(foreign, "smoke", NIGHT, owner="first"):
            raise KeyError
        assert not any(one.name == "claim" for one in threading.enumerate())


class TestLock:
    """Under which claims are read and written, by a thread beside the work."""

    def test_is_not_left_to_a_process_that_was_forked_meanwhile(self, home: Home) -> None:
        """A fork has the open file too, and would hold the lock for as long as it lives."""
        with alone(home.locks, CLAIMS):
            child = os.fork()
            if not child:
                time.sleep(30)
                os._exit(0)
        try:
            with (home.locks / f"{CLAIMS}.lock").open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


class TestReplaced:
    """A run whose next task finds that another has made its night."""

    def test_is_refused(self, foreign: Home, clock: Clock) -> None:
        """Also when that one has ended, and holds nothing any more."""
        claim(foreign, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        clock.now_s += STANDS_S
        claim(foreign, "second", airflow="elsewhere")
        clear_runs("smoke", NIGHT)
        write_status(folder_of("smoke", NIGHT), Status("unchanged", dag_run_id="second"))
        release_night(foreign, "smoke", NIGHT, owner="second")
        assert refused(lambda: check_not_replaced("smoke", NIGHT, "first"), Refused) == (
            f"night {NIGHT} of smoke is no longer that of run first: "
            "run second has made it anew; run it again"
        )

    def test_not_where_nobody_did(self, foreign: Home, clock: Clock) -> None:
        """A run may go on though its claim has ended, or its gate gave it up and was cleared."""
        claim(foreign, "first")
        check_not_replaced("smoke", NIGHT, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        release_night(foreign, "smoke", NIGHT, owner="first")
        check_not_replaced("smoke", NIGHT, "first")

    def test_a_removed_one(self, foreign: Home) -> None:
        """There is nothing that its run could go on with."""
        with pytest.raises(Refused, match="run first: it was removed; run it again"):
            check_not_replaced("smoke", NIGHT, "first")


class TestInterrupt:
    """What a run that is stopped may clean up."""

    def test_a_run_that_waited_touches_nothing(self, home: Home) -> None:
        """Ctrl-C on a run in the queue leaves the same night of the run before it alone."""
        claim(home, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        interrupt("smoke", NIGHT, "second")
        assert read_status("smoke", NIGHT).state == "running"
        assert holds_claim(home, "smoke", NIGHT, owner="first")

    def test_the_run_that_writes_gives_up_its_night(self, home: Home) -> None:
        """Its state is interrupted, and the next run has its turn."""
        claim(home, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        interrupt("smoke", NIGHT, "first")
        assert read_status("smoke", NIGHT).state == "interrupted"
        assert not holds_claim(home, "smoke", NIGHT, owner="first")


class TestRunEnded:
    """What is noted on the run's page, and done, when a run has ended."""

    def test_note_says_the_reason(self, home: Home) -> None:
        """The page of a failed run has the one line of its gate."""
        assert note_of_a_line("smoke", NIGHT, "plan failed") == f"**{NIGHT} of smoke: plan failed**"

    def test_note_links_to_mlflow(self, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
        """A night that was logged has the addresses of its run and of its report."""
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://user:secret@mlflow.example/")
        remember(folder_of("smoke", NIGHT), experiment_id="7", run_id="abc")
        run = "https://mlflow.example/#/experiments/7/runs/abc"
        view = "?workflowType=machine_learning"
        links = f"[MLflow run]({run}{view}) · [report]({run}/artifacts/report.html{view})"
        assert note_of("smoke", NIGHT, "worse") == f"**{NIGHT} of smoke: worse**\n\n{links}"

    def test_a_task_leads_to_what_its_run_makes(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The last tasks to the report; earlier ones to where the night will be listed."""
        monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://mlflow.example/")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        assert made_by("simulate", "smoke", "first") == ""
        remember(folder_of("smoke", "2026-11-01"), experiment_id="7", run_id="old")
        listed = "https://mlflow.example/#/experiments/7/runs?searchFilter=tags.night%20%3D%20"
        assert made_by("simulate", "smoke", "first").startswith(f"{listed}%27{NIGHT}%27")
        remember(own_folder("first"), experiment_id="7", run_id="abc")
        run = "https://mlflow.example/#/experiments/7/runs/abc"
        view = "?workflowType=machine_learning"
        assert made_by("log_to_mlflow", "smoke", "first") == f"{run}{view}"
        assert made_by("gate", "smoke", "first") == f"{run}/artifacts/report.html{view}"
        assert made_by("gate", "smoke", "another") == ""

    def test_links_where_make_ui_has_mlflow(
        self, home: Home, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its port may be another when they are read: Airflow's server looks for it then."""
        monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
        monkeypatch.delenv("ISR_PIPELINE_MLFLOW_URL", raising=False)
        write_status(folder_of("smoke", NIGHT), Status("regressed", dag_run_id="manual__a+b"))
        remember(folder_of("smoke", NIGHT), experiment_id="7", run_id="abc")
        way = "/isr/runs/isr_nightly_smoke/manual__a%2Bb"
        links = f"[MLflow run]({way}/mlflow) · [report]({way}/report)"
        assert note_of("smoke", NIGHT, "worse") == f"**{NIGHT} of smoke: worse**\n\n{links}"
        assert made_by("gate", "smoke", "manual__a+b") == f"{way}/report"
        assert made_by("judge", "smoke", "manual__a+b") == f"{way}/mlflow"

    def test_a_run_without_its_gate_gives_the_night_free(self, home: Home) -> None:
        """As when Airflow ended it for its time: the next run has its turn."""
        claim(home, "first")
        write_status(own_folder("first"), Status("running", dag_run_id="first"))
        interrupt_run("smoke", "first")
        assert read_status("smoke", NIGHT).state == "interrupted"
        assert not holds_claim(home, "smoke", NIGHT, owner="first")

    def test_a_note_is_as_short_as_airflow_keeps_it(self, home: Home) -> None:
        """Its database holds 1000 characters; the end of a long reason is kept."""
        remember(folder_of("smoke", NIGHT), experiment_id="7", run_id="a" * 400)
        said = note_of("smoke", NIGHT, f"{'x' * 2000} failed")
        assert len(said) <= 1000
        assert said.partition("\n")[0].endswith("xxx failed**")
