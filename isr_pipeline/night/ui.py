"""``make ui``: Airflow and MLflow in the browser, under one supervisor, until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, NoReturn

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import UI_PORTS, Home, port_variable, ui_port
from isr_pipeline.experiment.file import DAG_PREFIX
from isr_pipeline.night import stack, supervisor
from isr_pipeline.night.airflow.airflow_lock import SUPERVISOR_VARIABLE, AirflowLock
from isr_pipeline.night.airflow.airflow_rest import ADMIN, Rest, Silent, admin_password, rest_of
from isr_pipeline.night.airflow.waiting import end_marked
from isr_pipeline.night.preconditions import check_night_can_start
from isr_pipeline.night.runner import end_killed
from isr_pipeline.report.tracking.pages import VIEW, logged_experiments
from isr_pipeline.report.tracking.relink import relink

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.night.supervisor import Program

READY_SECONDS_MAX = 180.0
ACCEPT_DAG_ID = "isr_baseline_accept"
DAGS_SECONDS_MAX = 60.0
"""For Airflow's first reading of the DAG files, once it answers."""


MARKED_SECONDS = 10.0
"""After which a run that a person marked as failed is looked for."""


class _EndedError(Exception):
    """A program ended by itself."""


def serve() -> int:
    """Start both programs, say where they are, wait for Ctrl-C, stop both.

    Returns:
        0 after Ctrl-C, 1 if a program ended by itself.

    Raises:
        InputError: a variable names a place, a server or a Java that cannot be used.
        Refused: a port is in use, or a night is running on this home.
    """
    home = Home.from_environment()
    check_night_can_start(home, stack.wanted_master())
    ports = {name: ui_port(name) for name in UI_PORTS}
    lock = AirflowLock(home)
    if not lock.try_hold("make ui", ports=ports):
        holder = lock.holder()
        raise Refused(
            f"{holder.get('program', 'another program')} (process {holder.get('pid')}) runs "
            "Airflow on this home; wait until it ends"
        )
    stack.stop_on_signals()
    programs: list[Program] = []
    rest = rest_of(home, ports["airflow"])
    try:
        _check_ports(ports)
        variables = stack.environment(home) | {SUPERVISOR_VARIABLE: str(os.getpid())}
        _print_line("starting Airflow and MLflow (about half a minute) …")
        stack.migrate(home, variables)
        programs.append(_start_mlflow(home, variables, ports["mlflow"]))
        programs.append(_start_server(home, variables))
        named = {name: f"{port_variable(name)} is its port" for name in ports}
        silent = f"Airflow does not answer at {rest.address}; {named['airflow']}"
        _wait(programs, rest.answers, silent)
        mine = rest.can_log_in()
        if mine:
            end_killed(rest)
        programs.append(_start_scheduler(home, variables))
        _wait(programs, rest.is_well, f"Airflow is not well at {rest.address}")
        mlflow = f"http://127.0.0.1:{ports['mlflow']}"
        silent = f"MLflow does not answer at {mlflow}; {named['mlflow']}"
        _wait(programs, lambda: _answers(f"{mlflow}/health"), silent)
        with contextlib.suppress(OSError, ValueError):  # a link is not worth a server
            relink(mlflow, variables["AIRFLOW__API__BASE_URL"])
        is_known = not mine or _wait_for_dags(programs, rest)
        _print_how_to_use(home, ports)
        if not is_known:
            _print_line("Airflow has not read the DAGs yet; if it cannot, its home page says why")
        if variables["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"] == "False":
            _print_line(
                "the schedule is off here; AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE=True turns it on"
            )
        elif mine and (paused := rest.paused_schedules(DAG_PREFIX)):
            _print_line(f"scheduled, but paused: {', '.join(paused)}; switch them on in Airflow")
        _print_line("Ctrl-C stops both")
        _watch(programs, rest if mine else None)
    except KeyboardInterrupt:
        return 0
    except (_EndedError, Silent) as ended:
        sys.stderr.write(f"{ended}\n")
        return 1
    finally:
        for number in stack.STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if programs:
            _print_line("stopping …")
            supervisor.stop(programs)
            _print_line("stopped")
        lock.release()


def _check_ports(ports: dict[str, int]) -> None:
    """Ask whether both programs can listen.

    Raises:
        Refused: another program does.
    """
    for name, port in ports.items():
        if stack.port_in_use(port):
            variable = port_variable(name)
            raise Refused(
                f"port {port} for {name} is in use; choose another: {variable}={port + 1} make ui"
            )


def _start_server(home: Home, variables: dict[str, str]) -> Program:
    """Start Airflow's server alone, which can mark runs as failed before a scheduler sees them."""
    log = home.airflow / "logs" / "api-server.log"
    return supervisor.start("Airflow", [["airflow", "api-server"]], variables, log)


def _start_scheduler(home: Home, variables: dict[str, str]) -> Program:
    """Start the rest of what `airflow standalone` would, without its servers of task logs.

    Those listen on every address and cannot be told not to. Logs lie in files of this machine.
    """
    commands = [
        ["airflow", "scheduler", "--skip-serve-logs"],
        ["airflow", "dag-processor"],
        ["airflow", "triggerer", "--skip-serve-logs"],
    ]
    log = home.airflow / "logs" / "standalone.log"
    return supervisor.start("Airflow", commands, variables, log)


def _start_mlflow(home: Home, variables: dict[str, str], port: int) -> Program:
    command = ["mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", home.mlflow_uri]
    command += ["--default-artifact-root", home.mlflow_artifacts.as_uri(), "--no-serve-artifacts"]
    # Nothing here needs MLflow's own job queues, which are nine processes.
    variables = variables | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
    return supervisor.start("MLflow", [command], variables, home.path / "mlflow-server.log")


def _wait(programs: list[Program], ready: Callable[[], bool], otherwise: str) -> None:
    """Wait until something is ready.

    Raises:
        _EndedError: it takes too long, or a program has ended by itself.
    """
    limit = time.monotonic() + READY_SECONDS_MAX
    while not ready():
        _check_alive(programs)
        if time.monotonic() > limit:
            raise _EndedError(f"{otherwise}; see {programs[-1].log}")
        time.sleep(0.5)


def _answers(url: str) -> bool:
    """Tell whether a program serves a page."""
    try:
        with urllib.request.urlopen(url, timeout=5):  # noqa: S310 - our own address
            return True
    except (urllib.error.URLError, OSError):
        return False


def _wait_for_dags(programs: list[Program], rest: Rest) -> bool:
    """Wait until Airflow knows our DAGs: before, a backfill or a click finds none.

    Returns:
        Whether it does.
    """
    limit = time.monotonic() + DAGS_SECONDS_MAX
    while time.monotonic() < limit:
        _check_alive(programs)
        if rest.ask("GET", f"dags/{ACCEPT_DAG_ID}"):
            return True
        time.sleep(0.5)
    return False


def _print_how_to_use(home: Home, ports: dict[str, int]) -> None:
    _print_line(f"Airflow  http://127.0.0.1:{ports['airflow']}")
    password = admin_password(home.airflow)
    if password:
        _print_line(f"         user {ADMIN}, password {password}")
    # A bare address: one that names the view draws the switch as chosen and remembers nothing, so
    # that the first click on an experiment leaves the view again (MLflow 3.17).
    mlflow = f"http://127.0.0.1:{ports['mlflow']}"
    _print_line(f"MLflow   {mlflow}  (no login)")
    _print_line("         once, choose Model training, upper left, and close the assistant, right")
    for name, known in logged_experiments().items():
        _print_line(f"         {name}: {mlflow}/#/experiments/{known}/runs?{VIEW}")


def _watch(programs: list[Program], rest: Rest | None) -> NoReturn:
    """Wait until a program ends.

    Raises:
        _EndedError: one has.
    """
    look_at = 0.0
    while True:
        _check_alive(programs)
        if rest and time.monotonic() > look_at:
            look_at = time.monotonic() + MARKED_SECONDS
            with contextlib.suppress(Refused, Silent):  # busy: it is asked again
                for run in end_marked(rest, DAG_PREFIX):
                    _print_line(f"run {run['dag_run_id']} of {run['dag_id']}: ended, as marked")
        time.sleep(1)


def _check_alive(programs: list[Program]) -> None:
    for program in programs:
        if not program.runs():
            raise _EndedError(
                f"{program.name} ended by itself (status {program.process.returncode}); "
                f"see {program.log}"
            )


def _print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
