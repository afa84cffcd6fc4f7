"""Rehearse docker-compose.yaml: start it, run nights through it, break it, and look what is left.

``make compose-test``. Needs docker with compose, or podman with docker-compose; without either it
says so and ends. It has containers, volumes, ports and secrets of its own and removes them at the
end (``--keep`` leaves them). ``--no-build`` takes the image that is there; what ``BUILD_ARGS``
holds is given to the build.
"""

import argparse
import base64
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from isr_pipeline.night.stack import free_port
from tools.rehearsal import RehearsalError, wait_until

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "isr-rehearsal"
HEALTHY_SECONDS_MAX = 900
NIGHT_SECONDS_MAX = 1800
ANSWER_SECONDS_MAX = 300
"""For a service on a machine that does much else."""
NIGHTS = ("2026-11-18", "2026-11-19")
NIGHTLY = "isr_nightly_smoke"
WORKERS = ("spark-worker-1", "spark-worker-2")

COMPOSE: dict[str, Any] = YAML(typ="safe").load(ROOT / "docker-compose.yaml")
SERVICES = tuple(name for name, one in COMPOSE["services"].items() if one["restart"] != "no")
"""Services that stay up; the others end when they have done their work."""


@dataclass
class Engine:
    """What runs containers here.

    Attributes:
        program: docker or podman.
        compose: command that reads the compose file.
        variables: environment of both.
        checks_health: whether somebody has to run health checks (podman without systemd).
    """

    program: str
    compose: list[str]
    variables: dict[str, str]
    checks_health: bool = False


@dataclass
class Site:
    """The services, started under a project name of their own.

    Attributes:
        engine: what runs them.
        folder: temporary folder with ``.env``.
        ports: variable of the compose file -> published port.
        secrets: content of ``.env``.
    """

    engine: Engine
    folder: Path
    ports: dict[str, int]
    secrets: dict[str, str] = field(default_factory=dict)

    def compose(self, *words: str, capture: bool = False, check: bool = True) -> str:
        """Run a compose command; returns its output if asked for."""
        command = [*self.engine.compose, "-f", str(ROOT / "docker-compose.yaml")]
        command += ["--env-file", str(self.folder / ".env"), "-p", PROJECT, *words]
        variables = self.engine.variables | {name: str(port) for name, port in self.ports.items()}
        done = subprocess.run(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else None,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise RehearsalError(f"compose {' '.join(words)} ended with status {done.returncode}")
        return done.stdout or ""

    def run(self, service: str, *command: str, check: bool = True) -> str:
        """Run a command in a service's container; returns what it said."""
        words = [self.engine.program, "exec", self.container(service), *command]
        done = subprocess.run(
            words,
            env=self.engine.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise RehearsalError(f"{service}: {' '.join(command)}: {done.stdout[-500:]}")
        return done.stdout

    def container(self, service: str) -> str:
        """Name of a service's container: compose writes it in one of two ways."""
        names = self.ask("ps", "--all", "--format", "{{.Names}}").split()
        for name in (f"{PROJECT}-{service}-1", f"{PROJECT}_{service}_1"):
            if name in names:
                return name
        raise RehearsalError(f"{service} has no container")

    def ask(self, *words: str) -> str:
        """Return what the engine says."""
        done = subprocess.run(
            [self.engine.program, *words],
            env=self.engine.variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        return done.stdout

    def health(self, service: str) -> str:
        """`healthy`, or what the service is instead."""
        with contextlib.suppress(RehearsalError, ValueError, KeyError, IndexError):
            state = json.loads(self.ask("inspect", self.container(service)))[0]["State"]
            health = state.get("Health") or state.get("Healthcheck") or {}
            if state.get("Status") != "running":
                return str(state.get("Status"))
            return str(health.get("Status"))
        return "missing"

    def started(self, service: str) -> str:
        """When a service's container was started, the last time if it was restarted."""
        container = self.container(service)
        return self.ask("inspect", container, "--format", "{{.State.StartedAt}}").strip()


def main() -> int:
    """Rehearse; exit status 1 and one line if something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--no-build", action="store_true", help="use the image that is there")
    parser.add_argument("--keep", action="store_true", help="leave containers and volumes")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="isr-rehearsal-")))
        engine = find_engine(folder, stack)
        if engine is None:
            say("skipped: neither docker with compose nor podman with docker-compose was found")
            return 0
        site = Site(engine, folder, {f"{name}_PORT": free_port() for name in PORTS})
        site.secrets = draw_secrets(folder / ".env")
        try:
            site.compose("down", "--volumes", check=False)  # what an earlier --keep left
            if not options.no_build:
                build(engine)
            rehearse(site, stack)
        except urllib.error.HTTPError as error:
            sys.stderr.write(f"compose-test: {error.url}: {error}\n")
            return 1
        except RehearsalError as error:
            sys.stderr.write(f"compose-test: {error}\n")
            return 1
        finally:
            if not options.keep:
                site.compose("down", "--volumes", check=False)
    say("all of it held")
    return 0


PORTS = ("AIRFLOW", "SPARK", "MLFLOW")


def find_engine(folder: Path, stack: contextlib.ExitStack) -> Engine | None:
    """Docker if its engine answers, else podman behind a socket of our own; None if neither."""
    variables = dict(os.environ)
    for program in ("docker", "podman"):
        if not answers([program, "info"], variables):
            continue
        if program == "podman":
            variables["DOCKER_HOST"] = f"unix://{folder}/podman.sock"
            service = subprocess.Popen(
                ["podman", "system", "service", "--time=0", variables["DOCKER_HOST"]],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(service.wait)
            stack.callback(service.terminate)
        for compose in (["docker", "compose"], ["docker-compose"]):
            if answers([*compose, "version"], variables):
                checks = program == "podman" and not Path("/run/systemd/system").exists()
                return Engine(program, compose, variables, checks)
    return None


def answers(command: list[str], variables: dict[str, str]) -> bool:
    """Whether a program is there and ends well."""
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, env=variables, capture_output=True, check=False).returncode == 0


def draw_secrets(file: Path) -> dict[str, str]:
    """Write an ``.env`` and read it."""
    subprocess.run(
        [sys.executable, str(ROOT / "tools" / "make_env.py"), str(file)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return dict(line.split("=", 1) for line in file.read_text().splitlines())


def image_name() -> str:
    """Name of the image in the compose file."""
    return f"docker.io/library/{COMPOSE['services']['airflow-scheduler']['image']}"


def build(engine: Engine) -> None:
    """Build the image, and say how large it is."""
    arguments = shlex.split(os.environ.get("BUILD_ARGS", ""))
    command = [engine.program, "build", *arguments, "--tag", image_name(), str(ROOT)]
    if subprocess.run(command, env=engine.variables, check=False).returncode != 0:
        raise RehearsalError("the image cannot be built")


def rehearse(site: Site, stack: contextlib.ExitStack) -> None:
    """Everything in order; raises RehearsalError at the first thing that does not hold."""
    if site.engine.checks_health:
        stack.enter_context(health_checks(site))
    size = int(json.loads(site.ask("image", "inspect", image_name()) or "[{}]")[0].get("Size", 0))
    say(f"image {size / 1e9:.2f} GB")
    start(site)
    check_ports(site)
    check_networks(site)
    for night, disturb in zip(NIGHTS, (None, kill_workers), strict=True):
        run_dag(site, NIGHTLY, {"night": night}, disturb)
        say(f"night {night} has run")
        if night == NIGHTS[0]:
            why = {"night": night, "experiment": "smoke", "why": "rehearsal", "who": "compose-test"}
            run_dag(site, "isr_baseline_accept", why)
            say(f"night {night} is accepted")
    await_health(site)
    say("both workers were killed while they simulated the second night, and are back")
    check_secrets(site)
    check_mlflow_login(site)
    before = what_is_kept(site)
    site.compose("down")
    start(site)
    if what_is_kept(site) != before:
        raise RehearsalError(f"kept before down: {before}; after up: {what_is_kept(site)}")
    say("down and up: nights, verdicts, baseline, Airflow's and MLflow's runs are all there")


def start(site: Site) -> None:
    """Bring all services up and wait until they are healthy."""
    began = time.monotonic()
    site.compose("up", "--detach", "--no-build")
    await_health(site)
    say(f"all {len(SERVICES)} services healthy after {time.monotonic() - began:.0f} s")


def await_health(site: Site) -> None:
    """Wait until all services are healthy."""

    def sick() -> dict[str, str]:
        states = {name: site.health(name) for name in SERVICES}
        return {name: state for name, state in states.items() if state != "healthy"}

    wait_until(lambda: not sick(), lambda: f"not healthy: {sick()}", HEALTHY_SECONDS_MAX, 3)


@contextlib.contextmanager
def health_checks(site: Site) -> Iterator[None]:
    """Run the containers' health checks: podman leaves that to systemd, which is not here."""
    ended = threading.Event()

    def look() -> None:
        turn = 0
        while not ended.wait(5):
            names = site.ask("ps", "--filter", f"name={PROJECT}", "--format", "{{.Names}}").split()
            for name in names:
                # What is well is asked once a minute: a check of Airflow's takes ten seconds.
                if turn % 12 == 0 or not is_healthy(site, name):
                    site.ask("healthcheck", "run", name)
            turn += 1

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(timeout=60)


def is_healthy(site: Site, name: str) -> bool:
    """Whether a container's last health check ended well."""
    return site.ask("inspect", name, "--format", "{{.State.Health.Status}}").strip() == "healthy"


def check_ports(site: Site) -> None:
    """Every published port is one of the loopback."""
    for service in SERVICES:
        state = json.loads(site.ask("inspect", site.container(service)))[0]
        for published in (state["NetworkSettings"]["Ports"] or {}).values():
            for one in published or []:
                if one["HostIp"] != "127.0.0.1":
                    raise RehearsalError(f"{service} listens on {one['HostIp'] or 'all addresses'}")
    say("published ports are on 127.0.0.1 alone")


def check_networks(site: Site) -> None:
    """A Spark worker reaches its master, and neither PostgreSQL nor MLflow nor Airflow."""
    code = (
        "import socket, sys\n"
        "try: socket.create_connection((sys.argv[1], int(sys.argv[2])), 3)\n"
        "except OSError: print('closed')\n"
        "else: print('open')\n"
    )
    places = {
        "spark-master:7077": "open",
        "postgres:5432": "closed",
        "mlflow:5000": "closed",
        "airflow-apiserver:8080": "closed",
    }
    for place, wanted in places.items():
        found = site.run("spark-worker-1", "python", "-c", code, *place.split(":")).strip()
        if found != wanted:
            raise RehearsalError(f"from a Spark worker {place} is {found}, not {wanted}")
    say("Spark's workers see neither PostgreSQL nor MLflow nor Airflow")


def check_secrets(site: Site) -> None:
    """No secret of .env lies in a volume that services share."""
    for secret, value in site.secrets.items():
        said = site.run(
            "airflow-scheduler",
            *("grep", "-rlF", "--", value, "/opt/isr/.state", "/opt/isr/airflow"),
            check=False,
        )
        if said.strip():
            raise RehearsalError(f"{secret} lies in {said.split()[0]}")
    say("no secret lies in a shared volume")


def check_mlflow_login(site: Site) -> None:
    """MLflow turns away whoever does not log in."""
    body = {"experiment_ids": ["0"], "max_results": 1}
    address = f"http://127.0.0.1:{site.ports['MLFLOW_PORT']}/api/2.0/mlflow/runs/search"
    try:
        fetch(address, body)
    except urllib.error.HTTPError as error:
        if error.code == 401:
            say("MLflow asks for its login")
            return
    raise RehearsalError("MLflow answers without a login")


def kill_workers(site: Site) -> None:
    """Kill each worker while both simulate: one is always left to go on."""
    for worker in WORKERS:
        wait_until(
            lambda: all(simulates(site, one) for one in WORKERS),
            lambda: "the night never had an executor in both workers",
            HEALTHY_SECONDS_MAX,
            1,
        )
        kill(site, worker)


def kill(site: Site, worker: str) -> None:
    """Kill a worker's Java; returns when its container was started again."""
    began = site.started(worker)
    site.run(worker, "pkill", "-KILL", "-f", "deploy.worker.Worker", check=False)
    wait_until(
        lambda: site.started(worker) != began,
        lambda: f"{worker} was killed and was not started again",
        HEALTHY_SECONDS_MAX,
        1,
    )


def simulates(site: Site, worker: str) -> bool:
    """Whether an executor of Spark runs in a worker's container."""
    executor = ("pgrep", "--oldest", "--full", "CoarseGrainedExecutorBackend")
    return site.run(worker, *executor, check=False).strip().isdecimal()


def run_dag(
    site: Site, dag: str, params: dict[str, Any], disturb: Callable[[Site], None] | None = None
) -> None:
    """Trigger a DAG through Airflow's API, as its form does, and follow the run to its end."""
    token = airflow_token(site)
    runs = f"{airflow(site)}/api/v2/dags/{dag}/dagRuns"
    await_dag(site, dag)
    fetch(f"{airflow(site)}/api/v2/dags/{dag}", {"is_paused": False}, token, method="PATCH")
    run = fetch(runs, {"logical_date": None, "conf": params}, token)["dag_run_id"]
    limit = time.monotonic() + NIGHT_SECONDS_MAX
    while True:
        state = fetch(f"{runs}/{run}", None, token)["state"]
        if state == "success":
            if disturb:
                raise RehearsalError(f"{dag} {params}: ended before it could be disturbed")
            return
        if state == "failed":
            raise RehearsalError(f"{dag} {params}: failed: {failed_tasks(site, dag, run)}")
        if time.monotonic() > limit:
            raise RehearsalError(f"{dag} {params}: still {state} after {NIGHT_SECONDS_MAX} s")
        if disturb and any(
            one["task_id"] == "simulate" and one["state"] == "running"
            for one in tasks(site, dag, run)
        ):
            disturb(site)
            disturb = None
        time.sleep(2)


def await_dag(site: Site, dag: str) -> None:
    """Wait until Airflow has read the DAG."""
    limit = time.monotonic() + HEALTHY_SECONDS_MAX
    while True:
        try:
            fetch(f"{airflow(site)}/api/v2/dags/{dag}", None, airflow_token(site))
        except urllib.error.HTTPError as error:
            if error.code != 404 or time.monotonic() > limit:
                raise RehearsalError(f"Airflow does not know {dag}: {error}") from None
            time.sleep(3)
        else:
            return


def tasks(site: Site, dag: str, run: str) -> list[dict[str, Any]]:
    """Task instances of a run."""
    address = f"{airflow(site)}/api/v2/dags/{dag}/dagRuns/{run}/taskInstances?limit=100"
    found: list[dict[str, Any]] = fetch(address, None, airflow_token(site))["task_instances"]
    return found


def failed_tasks(site: Site, dag: str, run: str) -> str:
    """Names of the tasks that failed."""
    return ", ".join(one["task_id"] for one in tasks(site, dag, run) if one["state"] == "failed")


def what_is_kept(site: Site) -> dict[str, Any]:
    """Nights, verdicts, baseline, Airflow's runs and MLflow's runs."""
    token = airflow_token(site)
    runs = fetch(f"{airflow(site)}/api/v2/dags/{NIGHTLY}/dagRuns?limit=100", None, token)
    mlflow = f"http://127.0.0.1:{site.ports['MLFLOW_PORT']}/api/2.0/mlflow"
    login = base64.b64encode(f"admin:{site.secrets['MLFLOW_ADMIN_PASSWORD']}".encode()).decode()
    experiments = fetch(f"{mlflow}/experiments/search", {"max_results": 100}, f"Basic {login}")
    ids = [one["experiment_id"] for one in experiments["experiments"]]
    search = {"experiment_ids": ids, "max_results": 1000}
    logged = fetch(f"{mlflow}/runs/search", search, f"Basic {login}")["runs"]
    return {
        "nights": site.run("airflow-scheduler", "isr-pipeline", "night", "list"),
        "baseline": site.run(
            "airflow-scheduler", "isr-pipeline", "baseline", "show", "--experiment", "smoke"
        ),
        "airflow": sorted((run["dag_run_id"], run["state"]) for run in runs["dag_runs"]),
        "mlflow": sorted(run["info"]["run_id"] for run in logged),
    }


def airflow(site: Site) -> str:
    """Address of Airflow on this machine."""
    return f"http://127.0.0.1:{site.ports['AIRFLOW_PORT']}"


def airflow_token(site: Site) -> str:
    """Log in with the password of ``.env``."""
    login = {"username": "admin", "password": site.secrets["AIRFLOW_ADMIN_PASSWORD"]}
    return f"Bearer {fetch(f'{airflow(site)}/auth/token', login)['access_token']}"


def fetch(
    address: str, body: dict[str, Any] | None, login: str = "", method: str | None = None
) -> dict[str, Any]:
    """GET, or POST if there is a body, unless a method is named; returns the JSON answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": login} if login else {})
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method=method)  # noqa: S310 - the loopback's http
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as answer:  # noqa: S310
            content: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError:
        raise  # an answer, which some callers expect
    except OSError as error:
        late = isinstance(error, TimeoutError)
        given = f"no answer within {ANSWER_SECONDS_MAX} s" if late else error
        raise RehearsalError(f"{request.get_method()} {address}: {given}") from None
    return content


def say(text: str) -> None:
    """One line of progress."""
    sys.stdout.write(f"compose-test: {text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
