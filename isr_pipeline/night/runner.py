"""Run a night's DAG from the command line, and say on the terminal how far it is."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

from isr_pipeline.base.errors import LINE_MAX, Refused, shortened
from isr_pipeline.base.extras import install
from isr_pipeline.base.home import Home
from isr_pipeline.base.progress import PassingLine, is_progress
from isr_pipeline.experiment.file import DAG_PREFIX, dag_id_of, experiment_of
from isr_pipeline.night import notify, stack, supervisor
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE, AirflowLock
from isr_pipeline.night.airflow.airflow_rest import (
    ENDED,
    Rest,
    Silent,
    has_begun,
    rest_of,
    rest_of_ui,
)
from isr_pipeline.night.airflow.waiting import hanging, why_not_begun
from isr_pipeline.night.doctor import AIRFLOW
from isr_pipeline.night.life import interrupt, interrupt_run
from isr_pipeline.night.preconditions import check_night_can_start
from isr_pipeline.night.question import AS_WRITTEN, Question
from isr_pipeline.night.status import folder_of, read_status
from isr_pipeline.night.supervisor import Program
from isr_pipeline.report.tracking import pages

PROGRAM = "isr_pipeline.night.airflow.dag_test"
"""Runs in Airflow, hence in a process of its own."""

NIGHTLY, UI = "make nightly", "make ui"
POLL_SECONDS = 0.5
PATIENT_SECONDS = 15.0
"""For Airflow to begin a run, before it is asked why it does not."""

SILENT_SECONDS_MAX = 120.0
READ_SECONDS_MAX = 60.0
"""For Airflow to read the DAG files again."""
MARK_SECONDS_MAX = 20.0
"""For Airflow to mark a stopped run as failed: its database may still be held by what ended."""

QUIET_TASKS = frozenset({"removed", "scheduled", "queued", "upstream_failed"})
"""States that are not printed."""
WAITING = "up_for_reschedule"
"""State of a task that was put off because another run writes."""
PASSING = PassingLine()
"""How far the running shard is, where the terminal can take a line back."""


class Interrupted(Refused):
    """Ctrl-C: the run was stopped and cleaned up after (exit status 130)."""

    exit_status = 130


def run_night(
    experiment: str,
    night: str,
    question: Question = AS_WRITTEN,
    *,
    fail_on_regression: bool = True,
    spark_master: str | None = None,
    wait: bool = True,
) -> bool:
    """Run the DAG once for a night and follow it to its end.

    Args:
        experiment: a name from ``config/experiments``.
        night: YYYY-MM-DD.
        question: what it is asked beside what the experiment says.
        fail_on_regression: whether a confirmed regression makes the run fail.
        spark_master: Spark master URL, None: the connection that is set, else ``local[*]``.
        wait: for another ``make nightly`` to end, instead of being refused.

    Returns:
        Whether the run succeeded.

    Raises:
        InputError: a variable names a place, a server or a Java that cannot be used.
        Refused: another night is running and ``wait`` is off, or Airflow did not start, is not
            installed or too old.
        Interrupted: Ctrl-C.
    """
    check_airflow()
    home = Home.from_environment()
    check_night_can_start(home, stack.wanted_master(spark_master))
    notify.configured()  # refused now, not when the night has run
    conf = {"night": night, **asdict(question), "fail_on_regression": fail_on_regression}
    lock = AirflowLock(home)
    stack.stop_on_signals()
    try:
        elsewhere = wait_for_turn(lock, experiment, night, wait=wait)
        say_what_is_replaced(experiment, night)
        run = _Run(home, experiment, night, conf)
        return run.in_ui() if elsewhere else run.here(spark_master)
    except KeyboardInterrupt:
        raise Interrupted("stopped while waiting") from None
    except Silent as silent:
        raise Refused(f"Airflow does not answer at {silent}") from None
    finally:
        lock.release()


def check_airflow() -> None:
    """Ask whether there is an Airflow that our DAGs run in.

    Raises:
        Refused: there is none, or an older one.
    """
    without = "without Airflow: isr-pipeline night run --in-process"
    try:
        version = metadata.version("apache-airflow")
    except metadata.PackageNotFoundError:
        raise Refused(f"Airflow is not installed; {install('airflow')}, or {without}") from None
    major, minor = version.split(".")[:2]
    if (int(major), int(minor)) < AIRFLOW[0]:
        least = ".".join(map(str, AIRFLOW[0]))
        raise Refused(f"Airflow is {version}; allowed: {least} or newer; {without}")


def wait_for_turn(lock: AirflowLock, experiment: str, night: str, *, wait: bool) -> bool:
    """Hold the lock (False), or find that ``make ui`` runs Airflow and can take the run (True).

    Raises:
        Refused: another night is running and waiting is not wanted.
    """
    announced = False
    while not lock.try_hold(NIGHTLY, experiment=experiment, night=night):
        holder = lock.holder()
        if holder.get("program") == UI:
            return True
        text = (
            f"another night is running: {holder.get('night')} of {holder.get('experiment')} "
            f"(process {holder.get('pid')})"
        )
        if not wait and holder:
            raise Refused(f"{text}; wait until it ends")
        if not announced and holder:
            announced = True
            print_line(f"{text}; waiting for it to end (Ctrl-C to give up)")
        time.sleep(1)
    return False


class _Run:
    """One run of the DAG, here or in the Airflow of `make ui`."""

    def __init__(self, home: Home, experiment: str, night: str, conf: dict[str, Any]) -> None:
        self._home = home
        self._experiment, self._night, self._conf = experiment, night, conf
        self._dag_id = dag_id_of(experiment)
        # A run is called after its night, and each run of a night has a name of its own.
        moment = f"{night}T{datetime.now(UTC).time().isoformat()}+00:00"
        self._moment, self._run_id = moment, f"manual__{moment}"
        self._log = home.airflow / "logs" / "night-run.log"
        self._tail = _Tail()
        self._shown: set[tuple[str, str, int]] = set()
        self._programs: list[Program] = []
        self._heard = time.monotonic()
        self._why = ""
        self._ask_why_at = 0.0

    def in_ui(self) -> bool:
        """Hand the run to the Airflow of `make ui`, and follow it; returns whether it succeeded."""
        print_line("`make ui` is running: the run goes to its Airflow")
        rest = rest_of_ui(self._home)
        _read_again(rest, self._dag_id)
        rest.ask("PATCH", f"dags/{self._dag_id}?update_mask=is_paused", {"is_paused": False})
        for line in hanging(rest, self._dag_id):
            print_line(line)
        # Airflow begins no run whose logical date is to come: the night is a parameter.
        body = {"dag_run_id": self._run_id, "logical_date": None, "conf": self._conf}
        rest.ask("POST", f"dags/{self._dag_id}/dagRuns", body)
        return self._to_its_end(rest)

    def here(self, spark_master: str | None) -> bool:
        """Run Airflow for this run alone, and follow it; returns whether it succeeded."""
        print_line("starting Airflow (some seconds) …")
        port = stack.free_port()
        variables = stack.environment(self._home, spark_master=spark_master)
        variables[pages.AIRFLOW] = variables["AIRFLOW__API__BASE_URL"]
        variables |= _own_airflow(port) | {SUPERVISOR_VARIABLE: str(os.getpid())}
        stack.migrate(self._home, variables)
        log = self._log.with_name("night-api.log")
        server = supervisor.start("Airflow", [["airflow", "api-server"]], variables, log)
        self._programs.append(server)
        rest = rest_of(self._home, port)
        try:
            while not rest.answers():
                _check_runs(server)
                time.sleep(0.2)
            end_killed(rest)
            command = [sys.executable, "-m", PROGRAM, self._dag_id, self._moment]
            command.append(json.dumps(self._conf))
            self._programs.append(supervisor.start("Airflow", [command], variables, self._log))
            return self._to_its_end(rest)
        finally:
            supervisor.stop(self._programs)

    def _to_its_end(self, rest: Rest) -> bool:
        """Tell what happens until the run ends."""
        try:
            print_line(f"DAG {self._dag_id}, run {self._run_id}")
            self._ask_why_at = time.monotonic() + PATIENT_SECONDS
            while (state := self._hear(rest)) not in ENDED:
                time.sleep(POLL_SECONDS)
        except KeyboardInterrupt:
            print_line("stopping …")
            self._give_up(rest)
            raise Interrupted(
                f"night {self._night} of {self._experiment} stopped; run it again to have it whole"
            ) from None
        except Silent as silent:
            if self._programs:  # what `make ui` runs it takes up again
                self._give_up(rest)
            raise Refused(f"Airflow ended before the run did: {silent}") from None
        finally:
            self._tail.end()
        return state == "success"

    def _hear(self, rest: Rest) -> str:
        """Look; where other programs keep Airflow from answering, look again later.

        Raises:
            Silent: it has ended, or says nothing for long.
        """
        try:
            state = self._look(rest)
        except Silent:
            is_gone = bool(self._programs) and not self._programs[0].runs()
            if is_gone or time.monotonic() > self._heard + SILENT_SECONDS_MAX:
                raise
            return "none"
        self._heard = time.monotonic()
        return state

    def _look(self, rest: Rest) -> str:
        """Tell what is new; returns the state of the run."""
        # Asked before the tasks are, or the last of them would not be told.
        over = bool(self._programs) and not self._programs[-1].runs()
        run = rest.run(self._dag_id, self._run_id)
        tasks = rest.task_instances(self._dag_id, self._run_id) if run else []
        for task in tasks:
            if task["state"] and task["state"] not in QUIET_TASKS:
                self._show_task(rest, task)
        self._tail.read()
        state = str(run["state"]) if run else "none"
        if run and state not in ENDED and not has_begun(tasks):
            self._say_why_not_begun(rest, run)
        if over and state not in ENDED:
            self._give_up(rest)
            raise Refused(
                f"Airflow ended before the run did: {self._programs[-1].why()}; "
                f"its messages are in {self._log}"
            )
        return state

    def _say_why_not_begun(self, rest: Rest, run: dict[str, Any]) -> None:
        """Say now and then why Airflow does not begin the run, if that has changed."""
        if time.monotonic() < self._ask_why_at:
            return
        self._ask_why_at = time.monotonic() + PATIENT_SECONDS
        why = why_not_begun(rest, run, rest.active_runs(self._dag_id))
        if why and why != self._why:
            self._why = why
            print_line(f"not begun yet: {why}")

    def _give_up(self, rest: Rest) -> None:
        """End the run and everything below it, and remove what it was writing."""
        fail = rest.fail
        if self._programs:
            supervisor.stop(self._programs[1:])
            fail = rest.fail_without_scheduler
        server = self._programs[:1]
        why = mark(
            lambda: fail(self._dag_id, self._run_id),
            is_there=lambda: all(program.runs() for program in server),
        )
        if why:
            print_line(f"Airflow shows the run as running until the next night: {why}")
        interrupt(self._experiment, self._night, self._run_id)

    def _show_task(self, rest: Rest, task: dict[str, Any]) -> None:
        name, state, attempt = task["task_id"], task["state"], task["try_number"]
        shard = task["rendered_map_index"]
        if task["map_index"] >= 0:
            if state == "running" and shard in (None, str(task["map_index"])):
                return  # its worker is about to say the shard's name
            name += f" [{shard or task['map_index']}]"
        if (name, state, attempt) in self._shown:
            return
        self._shown.add((name, state, attempt))
        file = task_log(self._home, self._dag_id, self._run_id, task)
        if state == WAITING:
            print_line(f"{name:<34} waits for another night to end")
            return
        if state == "running":
            self._tail.follow(file)
        else:
            self._tail.end(file)  # the next task may have begun before this one's end is shown
        took = f"  {task['duration']:.1f} s" if task["duration"] and state != "running" else ""
        print_line(f"{name:<34} {state}{took}")
        if state in ("failed", "up_for_retry"):
            why = rest.why(self._dag_id, self._run_id, task)
            if why:
                print_line(f"    {shortened(why, LINE_MAX - 50)}")
            print_line(f"    log: {file}")


def mark(
    fail: Callable[[], None],
    *,
    is_there: Callable[[], bool],
    seconds_max: float = MARK_SECONDS_MAX,
) -> str:
    """Mark a run as failed, again and again where Airflow is too busy to do it.

    Args:
        fail: asks Airflow once.
        is_there: whether Airflow's server still runs.
        seconds_max: after which nothing more is tried.

    Returns:
        Why Airflow did not do it; empty if it did.
    """
    limit = time.monotonic() + seconds_max
    while True:
        try:
            fail()
        except (Refused, Silent) as why:
            if time.monotonic() > limit or not is_there():
                return str(why)
            time.sleep(POLL_SECONDS)
        else:
            return ""


def end_killed(rest: Rest) -> None:
    """Mark runs that were killed as failed, and remove what they were writing.

    Args:
        rest: of an Airflow that runs nothing yet.
    """
    for run in rest.fail_killed(DAG_PREFIX):
        interrupt_run(experiment_of(run["dag_id"]), run["dag_run_id"])
        print_line(f"run {run['dag_run_id']} of {run['dag_id']} was killed: it is marked as failed")


def _check_runs(server: Program) -> None:
    """Ask whether Airflow's server has not ended by itself.

    Raises:
        Refused: it has.
    """
    if not server.runs():
        raise Refused(f"Airflow did not start: {server.why()}; see {server.log}")


def _read_again(rest: Rest, dag_id: str) -> None:
    """Have the DAG as its file is now: Airflow reads it every half minute.

    Raises:
        Refused: it was not read.
    """
    asked = datetime.now(UTC).isoformat()
    for one in rest.ask("GET", f"dags?dag_id_pattern={DAG_PREFIX}&limit=1")["dags"]:
        rest.ask("PUT", f"parseDagFile/{one['file_token']}")
    limit = time.monotonic() + READ_SECONDS_MAX
    while time.monotonic() < limit:
        known = rest.ask("GET", f"dags/{dag_id}")
        if known and known["last_parsed_time"] > asked:
            return
        time.sleep(POLL_SECONDS)
    raise Refused(f"Airflow has not read {dag_id}; its home page says why")


def say_what_is_replaced(experiment: str, night: str) -> None:
    """Say that a night is there already, or that its run was killed: it is made anew."""
    if (folder_of(experiment, night) / "status.json").is_file():
        state = read_status(experiment, night).state
        there = f"night {night} of {experiment} is there ({state})"
        print_line(f"{there}: this run takes its place once it is whole")


def _own_airflow(port: int) -> dict[str, str]:
    """Variables for an Airflow of this run alone."""
    return {
        # One task at a time: `dag.test` does not know a task's own limit (one shard at a time).
        "AIRFLOW__CORE__PARALLELISM": "1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": f"http://127.0.0.1:{port}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
    }


# -- task logs --------------------------------------------------------------------------------


def task_log(home: Home, dag_id: str, run_id: str, task: dict[str, Any]) -> Path:
    """Log file of a task's attempt, where Airflow's default template puts it."""
    folder = home.airflow / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}"
    folder /= f"task_id={task['task_id']}"
    if task["map_index"] >= 0:
        folder /= f"map_index={task['map_index']}"
    return folder / f"attempt={task['try_number']}.log"


class _Tail:
    """Repeats the progress lines of the running task's log on the terminal, as they come."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._place = 0

    def follow(self, file: Path) -> None:
        """Read another log from now on."""
        self.end()
        self._file, self._place = file, 0

    def end(self, file: Path | None = None) -> None:
        """Read the rest, and no more; if a file is named, only if that is the one being read."""
        if file in (None, self._file):
            self.read()
            self._file = None

    def read(self) -> None:
        """Repeat what is new."""
        if self._file is None:
            return
        with contextlib.suppress(OSError, UnicodeDecodeError), self._file.open() as log:
            log.seek(self._place)
            for line in log:
                if line.endswith("\n"):
                    self._place += len(line.encode())
                    _print_progress(line)


def _print_progress(line: str) -> None:
    """Repeat a log line if it says how far a job is."""
    try:
        text = str(json.loads(line).get("event", ""))
    except (ValueError, AttributeError):
        return
    if is_progress(text):
        print_progress(text)


def print_progress(text: str, out: TextIO | None = None) -> None:
    """Say how far a job is: in a terminal in place of what was said before.

    Args:
        text: the job's line.
        out: as of `print_line`.
    """
    if not PASSING.show(text, out or sys.stdout):
        print_line(f"    {text}", out)


def print_line(text: str, out: TextIO | None = None) -> None:
    """Say something on the terminal, with the time.

    Args:
        text: the line.
        out: the terminal, where standard output is something else at the moment.
    """
    out = out or sys.stdout
    PASSING.clear(out)
    out.write(f"{time.strftime('%H:%M:%S')}  {text}\n")
    out.flush()
