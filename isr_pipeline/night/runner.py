"""Run a night's DAG from the command line, and say on the terminal how far it is."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from isr_pipeline.errors import LINE_MAX, Refused, shortened
from isr_pipeline.home import Home
from isr_pipeline.host import stack
from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE, AirflowLock, end_supervised
from isr_pipeline.host.ground import check_night_can_start
from isr_pipeline.host.progress import PassingLine
from isr_pipeline.night.life import interrupt
from isr_pipeline.verdicts import notify

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "isr_pipeline.orchestration.run_once"
"""Runs in Airflow, hence in a process of its own."""
DAG_ID = "isr_nightly"

AIRFLOW_MIN = (3, 2)
"""Older releases have no scheduler whose parts another program can use (`run_once`)."""

NIGHTLY, UI = "make nightly", "make ui"
STOP_SECONDS_MAX = 25.0
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
    *,
    panel_size: int | None = None,
    fail_on_regression: bool = True,
    spark_master: str | None = None,
    wait: bool = True,
) -> bool:
    """Run the DAG once for a night and follow it to its end.

    Args:
        experiment: a name from ``config/experiments``.
        night: YYYY-MM-DD.
        panel_size: scenarios of the regression panel, None: as the experiment says.
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
    conf = {
        "night": night,
        "experiment": experiment,
        "panel_size": panel_size,
        "fail_on_regression": fail_on_regression,
    }
    lock = AirflowLock(home)
    stack.stop_on_signals()
    try:
        elsewhere = wait_for_turn(lock, experiment, night, wait=wait)
        return _Run(home, conf, spark_master, follow_only=elsewhere).to_its_end()
    except KeyboardInterrupt:
        raise Interrupted("stopped while waiting") from None
    finally:
        lock.release()


def check_airflow() -> None:
    """Ask whether the Airflow that is installed lets this program schedule one run.

    Raises:
        Refused: there is none, or its DAGs run under its own scheduler alone.
    """
    without = "without Airflow: isr-pipeline night run --in-process"
    try:
        version = metadata.version("apache-airflow")
    except metadata.PackageNotFoundError:
        raise Refused(f"Airflow is not installed; {without}") from None
    major, minor = version.split(".")[:2]
    if (int(major), int(minor)) < AIRFLOW_MIN:
        least = ".".join(map(str, AIRFLOW_MIN))
        raise Refused(
            f"Airflow is {version}; allowed here: {least} or newer. "
            f"Trigger the DAG isr_nightly in Airflow, or {without}"
        )


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
    """One run of the program that schedules or follows the DAG run."""

    def __init__(
        self, home: Home, conf: dict[str, Any], spark_master: str | None, *, follow_only: bool
    ) -> None:
        self._home = home
        self._conf = conf
        self._run_id = ""
        self._log = home.airflow / "logs" / "night-run.log"
        command = [sys.executable, "-m", PROGRAM, "--conf", json.dumps(conf)]
        command += ["--log", str(self._log)]
        variables = stack.environment(home, spark_master=spark_master)
        if follow_only:
            print_line("`make ui` is running: the run goes to its Airflow")
            command.append("--follow-only")
        else:
            print_line("starting Airflow (some seconds) …")
            variables |= _own_airflow(stack.free_port())
            variables[SUPERVISOR_VARIABLE] = str(os.getpid())
        self._variables = variables
        self._follow_only = follow_only
        # A session of its own: Ctrl-C reaches this process alone, which then stops the others in
        # order. The pipe on standard input stops them too if this process is killed.
        self._process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._end_with_it, daemon=True).start()
        self._tail = _Tail()
        self._shown: set[tuple[str, str, int]] = set()

    def to_its_end(self) -> bool:
        """Tell events until there are no more."""
        ended = ""
        try:
            for event in self._events():
                ended = self._show(event) or ended
            self._process.wait()
        except KeyboardInterrupt:
            self._stop()
            raise Interrupted(
                f"night {self._conf['night']} of {self._conf['experiment']} stopped; "
                "run it again to have it whole"
            ) from None
        finally:
            self._tail.end()
            if not self._follow_only:
                end_supervised()  # what a program that was killed left behind
        if not ended:
            self._give_up()
            raise Refused(
                f"Airflow ended before the run did: {self._why()}; its messages are in {self._log}"
            )
        return ended == "success"

    def _end_with_it(self) -> None:
        """End what the program leaves behind if it was killed: its workers hold our pipe open."""
        self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _give_up(self) -> None:
        """Mark the run of our program, which was killed, as failed; remove what it was writing."""
        if self._follow_only or not self._run_id:
            return
        command = [sys.executable, "-m", PROGRAM, "--give-up", self._run_id]
        command += ["--log", str(self._log.with_name("night-given-up.log"))]
        subprocess.run(command, env=self._variables, stdin=subprocess.DEVNULL, check=False)
        interrupt(self._conf["experiment"], self._conf["night"], self._run_id)

    def _why(self) -> str:
        """Say why the program ended."""
        status = self._process.returncode
        return f"killed by signal {-status}" if status < 0 else _last_line(self._log)

    def _events(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)

    def _show(self, event: dict[str, Any]) -> str:
        """Say one event; return the run's state if it is the last."""
        kind = event["event"]
        if kind == "stage":
            print_line(event["text"])
        elif kind == "run":
            self._run_id = event["run_id"]
            print_line(f"DAG run {self._run_id}")
        elif kind == "task" and event["state"] not in QUIET_TASKS:
            self._show_task(event)
        return str(event["state"]) if kind == "end" else ""

    def _show_task(self, event: dict[str, Any]) -> None:
        name = event["task"]
        if event["map_index"] >= 0:
            name += f" [{event['name'] or event['map_index']}]"
        file = task_log(self._home, self._run_id, event)
        state = event["state"]
        if (name, state, event["attempt"]) in self._shown:
            return  # a task that waits for another night asks again and again
        self._shown.add((name, state, event["attempt"]))
        if state == WAITING:
            print_line(f"{name:<34} waits for another night to end")
            return
        if state == "running":
            self._tail.follow(file)
        else:
            self._tail.end(file)  # the next task may have begun before this one's end is shown
        took = f"  {event['seconds']:.1f} s" if event["seconds"] and state != "running" else ""
        print_line(f"{name:<34} {state}{took}")
        if state in ("failed", "up_for_retry"):
            for line in last_words(file):
                print_line(f"    {line}")
            print_line(f"    log: {file}")

    def _stop(self) -> None:
        """Stop the run and everything below it, and remove what it was writing."""
        print_line("stopping …")
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        if not self._follow_only:
            end_supervised()
        interrupt(self._conf["experiment"], self._conf["night"], self._run_id)


def _own_airflow(port: int) -> dict[str, str]:
    """Variables for a scheduler and an execution API of this run alone."""
    return {
        # One task at a time: our loop does not know a task's own limit (one shard at a time).
        "AIRFLOW__CORE__PARALLELISM": "1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
    }


# -- task logs --------------------------------------------------------------------------------


def task_log(home: Home, run_id: str, event: dict[str, Any]) -> Path:
    """Log file of a task's attempt, where Airflow's default template puts it."""
    folder = home.airflow / "logs" / f"dag_id={DAG_ID}" / f"run_id={run_id}"
    folder /= f"task_id={event['task']}"
    if event["map_index"] >= 0:
        folder /= f"map_index={event['map_index']}"
    return folder / f"attempt={event['attempt']}.log"


def last_words(file: Path, count: int = 8) -> list[str]:
    """Why a task failed: the message of its exception, else the last lines it printed."""
    lines: deque[str] = deque(maxlen=count)
    said: deque[str] = deque(maxlen=count)
    for entry in _entries(file):
        if entry.get("logger") == "task.stdout":
            said.append(str(entry.get("event", "")))
        elif entry.get("event") == "Task exited":  # a red night's gate, which has no traceback
            return [line[:300] for line in said]
        details = entry.get("error_detail") or []
        for detail in details:
            if detail.get("exc_type") in ("AirflowFailException", "AirflowException"):
                return [shortened(" ".join(str(detail.get("exc_value")).split()), LINE_MAX - 50)]
        if entry.get("logger", "").endswith(("spark_submit", "SparkSubmitHook")):
            lines.append(str(entry.get("event", "")))
        elif details:
            lines.append(f"{details[-1].get('exc_type')}: {details[-1].get('exc_value')}")
    return [line[:300] for line in lines]


def _last_line(file: Path) -> str:
    """Last thing a program said; ``no message`` if it said nothing."""
    try:
        lines = [line.strip() for line in file.read_text(errors="replace").splitlines()]
    except OSError:
        lines = []
    return shortened(next((line for line in reversed(lines) if line), "no message"), 200)


def _entries(file: Path) -> Iterator[dict[str, Any]]:
    """Entries of a task log, which is one JSON object a line."""
    try:
        text = file.read_text(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict):
            yield entry


class _Tail:
    """Repeats the progress lines of the running task's log on the terminal, as they come."""

    def __init__(self) -> None:
        self._file: Path | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, file: Path) -> None:
        """Read another log from now on."""
        self.end()
        self._file = file
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(file, self._stop), daemon=True)
        self._thread.start()

    def end(self, file: Path | None = None) -> None:
        """Read the rest, and no more; if a file is named, only if that is the one being read."""
        if self._thread is not None and file in (None, self._file):
            self._stop.set()
            self._thread.join(timeout=2)
            self._thread = None

    @staticmethod
    def _read(file: Path, stop: threading.Event) -> None:
        place = 0
        last = False
        while not last:
            last = stop.wait(0.5)
            try:
                with file.open() as log:
                    log.seek(place)
                    for line in log:
                        if line.endswith("\n"):
                            place += len(line.encode())
                            _print_progress(line)
            except (OSError, UnicodeDecodeError):
                continue


def _print_progress(line: str) -> None:
    """Repeat a log line if it says how far a job is."""
    try:
        text = str(json.loads(line).get("event", ""))
    except (ValueError, AttributeError):
        return
    if is_progress(text):
        print_progress(text)


def is_progress(text: str) -> bool:
    """Whether a job's line says how far it is."""
    return "pairs/s" in text or text.startswith("compiling")


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
