"""``make ui``: Airflow and MLflow in the browser, under one supervisor, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, NoReturn

import psutil

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.host import stack
from isr_pipeline.host.airflow_lock import SUPERVISOR_VARIABLE, AirflowLock
from isr_pipeline.host.ground import check_night_can_start
from isr_pipeline.host.together import each, family
from isr_pipeline.night.keep import DAG_ID
from isr_pipeline.tracking.pages import VIEW, logged_experiments

if TYPE_CHECKING:
    from pathlib import Path

READY_SECONDS_MAX = 180.0
DAGS_SECONDS_MAX = 60.0
"""For Airflow's first reading of the DAG files, once it answers."""

STOP_SECONDS_MAX = 12.0
"""More than `together` gives its programs."""

TOGETHER = "isr_pipeline.host.together"
ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Program:
    """One of the two programs, in as many parts as it has.

    Attributes:
        name: as a person calls it.
        process: parent of its parts, leader of a session of its own.
        ready_url: answers once the program can be used.
        log: file with what it says.
    """

    name: str
    process: subprocess.Popen[bytes]
    ready_url: str
    log: Path


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
    check_night_can_start(home, stack.wanted_master(None))
    ports = {name: stack.ui_port(name) for name in stack.UI_PORTS}
    lock = AirflowLock(home)
    if not lock.try_hold("make ui", ports=ports):
        holder = lock.holder()
        raise Refused(
            f"{holder.get('program', 'another program')} (process {holder.get('pid')}) runs "
            "Airflow on this home; wait until it ends"
        )
    stack.stop_on_signals()
    programs: list[Program] = []
    try:
        _check_ports(ports)
        variables = stack.environment(home) | {SUPERVISOR_VARIABLE: str(os.getpid())}
        _print_line("starting Airflow and MLflow (about half a minute) …")
        programs.append(_start_airflow(home, variables, ports["airflow"]))
        programs.append(_start_mlflow(home, variables, ports["mlflow"]))
        _wait_until_ready(programs)
        is_known = _wait_for_dags(programs, home, ports["airflow"])
        _print_how_to_use(home, ports)
        if not is_known:
            _print_line("Airflow has not read the DAGs yet; if it cannot, its home page says why")
        if variables["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"] == "False":
            _print_line(
                "the schedule is off here; AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE=True turns it on"
            )
        _print_line("Ctrl-C stops both")
        _watch(programs)
    except KeyboardInterrupt:
        return 0
    except _EndedError as ended:
        sys.stderr.write(f"{ended}\n")
        return 1
    finally:
        for number in stack.STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if programs:
            _print_line("stopping …")
            _stop(programs)
        if programs:
            _print_line("stopped")
        lock.release()


def _check_ports(ports: dict[str, int]) -> None:
    """Ask whether both programs can listen.

    Raises:
        Refused: another program does.
    """
    for name, port in ports.items():
        if stack.port_in_use(port):
            variable = f"ISR_PIPELINE_{name.upper()}_PORT"
            raise Refused(
                f"port {port} for {name} is in use; choose another: {variable}={port + 1} make ui"
            )


def _migrate(home: Home, variables: dict[str, str]) -> None:
    """Bring Airflow's database to the installed version, once per version.

    Raises:
        Refused: it cannot be brought there.
    """
    version = metadata.version("apache-airflow")
    stamp = home.airflow / stack.DATABASE_VERSION
    if stamp.is_file() and stamp.read_text() == version:
        return
    log = home.airflow / "logs" / "migrate.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        done = subprocess.run(
            ["airflow", "db", "migrate"],
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise Refused(f"Airflow's database could not be migrated to {version}; see {log}")
    stamp.write_text(version)


def _start_airflow(home: Home, variables: dict[str, str], port: int) -> Program:
    """Start what `airflow standalone` would, without its servers of task logs.

    Those listen on every address and cannot be told not to. Logs lie in files of this machine.
    """
    _migrate(home, variables)
    return _start(
        "Airflow",
        [
            ["airflow", "api-server"],
            ["airflow", "scheduler", "--skip-serve-logs"],
            ["airflow", "dag-processor"],
            ["airflow", "triggerer", "--skip-serve-logs"],
        ],
        variables,
        ready_url=f"http://127.0.0.1:{port}/api/v2/monitor/health",
        log=home.airflow / "logs" / "standalone.log",
    )


def _start_mlflow(home: Home, variables: dict[str, str], port: int) -> Program:
    command = ["mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", home.mlflow_uri]
    command += ["--default-artifact-root", home.mlflow_artifacts.as_uri(), "--no-serve-artifacts"]
    return _start(
        "MLflow",
        [command],
        # Nothing here needs MLflow's own job queues, which are nine processes.
        variables | {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        ready_url=f"http://127.0.0.1:{port}/health",
        log=home.path / "mlflow-server.log",
    )


def _start(
    name: str, commands: list[list[str]], variables: dict[str, str], *, ready_url: str, log: Path
) -> Program:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", TOGETHER, json.dumps(commands)],
            env=variables,
            # When this process is killed the pipe closes, and the programs end.
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            # Ctrl-C in the terminal reaches the supervisor alone, which stops all in order.
            start_new_session=True,
        )
    return Program(name, process, ready_url, log)


def _wait_until_ready(programs: list[Program]) -> None:
    limit = time.monotonic() + READY_SECONDS_MAX
    waiting = list(programs)
    while waiting:
        _check_alive(programs)
        waiting = [program for program in waiting if not _answers(program.ready_url)]
        if waiting and time.monotonic() > limit:
            slow = waiting[0]
            raise _EndedError(f"{slow.name} does not answer at {slow.ready_url}; see {slow.log}")
        time.sleep(0.5)


def _answers(url: str) -> bool:
    """Tell whether a program serves its health page, and says of itself that it is well."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:  # noqa: S310 - our own address
            text = response.read().decode()
    except (urllib.error.URLError, OSError):
        return False
    try:
        parts = json.loads(text)
    except ValueError:
        return True
    wanted = ("metadatabase", "scheduler", "dag_processor")
    return all(parts.get(name, {}).get("status") == "healthy" for name in wanted)


def _wait_for_dags(programs: list[Program], home: Home, port: int) -> bool:
    """Wait until Airflow knows our DAGs: before, a backfill or a click finds none.

    Returns:
        Whether it does; True as well where only other logins may ask it.
    """
    address = f"http://127.0.0.1:{port}"
    login = {"username": ADMIN, "password": _password(home)}
    limit = time.monotonic() + DAGS_SECONDS_MAX
    while time.monotonic() < limit:
        _check_alive(programs)
        token = _token(address, login)
        if not token:
            return True
        asked = urllib.request.Request(  # noqa: S310 - our own address
            f"{address}/api/v2/dags/{DAG_ID}", headers={"Authorization": f"Bearer {token}"}
        )
        try:
            with urllib.request.urlopen(asked, timeout=5):  # noqa: S310 - our own address
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    return False


def _token(address: str, login: dict[str, str]) -> str:
    """What Airflow's API asks for; empty if it does not take this login."""
    asked = urllib.request.Request(  # noqa: S310 - our own address
        f"{address}/auth/token",
        data=json.dumps(login).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(asked, timeout=5) as answer:  # noqa: S310 - our own address
            return str(json.load(answer)["access_token"])
    except (urllib.error.URLError, OSError, ValueError, KeyError):
        return ""


def _print_how_to_use(home: Home, ports: dict[str, int]) -> None:
    _print_line(f"Airflow  http://127.0.0.1:{ports['airflow']}")
    password = _password(home)
    if password:
        _print_line(f"         user {ADMIN}, password {password}")
    # A bare address: one that names the view draws the switch as chosen and remembers nothing, so
    # that the first click on an experiment leaves the view again (MLflow 3.17).
    mlflow = f"http://127.0.0.1:{ports['mlflow']}"
    _print_line(f"MLflow   {mlflow}  (no login)")
    _print_line("         choose Model training, upper left, once: the browser remembers it")
    for name, known in logged_experiments().items():
        _print_line(f"         {name}: {mlflow}/#/experiments/{known}/runs?{VIEW}")


def _password(home: Home) -> str:
    """Return the password that Airflow generated for this home; empty if it uses other logins."""
    file = home.airflow / "simple_auth_manager_passwords.json.generated"
    try:
        return str(json.loads(file.read_text())[ADMIN])
    except (OSError, ValueError, KeyError):
        return ""


def _watch(programs: list[Program]) -> NoReturn:
    while True:
        _check_alive(programs)
        time.sleep(1)


def _check_alive(programs: list[Program]) -> None:
    for program in programs:
        if program.process.poll() is not None:
            raise _EndedError(
                f"{program.name} ended by itself (status {program.process.returncode}); "
                f"see {program.log}"
            )


def _stop(programs: list[Program]) -> None:
    """Ask every program to end, all at once; after a while make them."""
    families = [one for program in programs for one in family(program.process.pid)]
    for program in programs:
        program.process.terminate()
    limit = time.monotonic() + STOP_SECONDS_MAX
    for program in programs:
        try:
            program.process.wait(max(limit - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            families += family(program.process.pid)
            program.process.kill()
            program.process.wait()
    _, alive = psutil.wait_procs(families, timeout=1)
    each(psutil.Process.kill, alive)
    psutil.wait_procs(alive, timeout=5)


def _print_line(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
