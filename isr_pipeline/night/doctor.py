"""What is wrong with an installation: each part asked once, a line for each.

For one that somebody made beside an Airflow, a Spark and an MLflow of their own. Asks by metadata
and by starting programs; imports none of the heavy libraries.
"""

from __future__ import annotations

import base64
import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata

from isr_pipeline.base.errors import USER_ERRORS, Refused
from isr_pipeline.base.extras import install
from isr_pipeline.base.files.words import without_password
from isr_pipeline.base.home import Home, config_dir, ui_ports
from isr_pipeline.night import preconditions, stack
from isr_pipeline.night.airflow.airflow_rest import Silent, rest_of_ui
from isr_pipeline.night.airflow.waiting import hanging

PYTHON = ((3, 11), (3, 15))
SPARK = ((4, 1), (4, 4))
AIRFLOW = ((3, 2), (4, 0))
"""From the first version on, below the second."""

AIRFLOW_TRIED = ("3.2", "3.3")
"""Minor releases of Airflow that nights were run on."""

CLIENT = "pyspark-client"
PROVIDER = "apache-airflow-providers-apache-spark"
_NAMED_MAX = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one part.

    Attributes:
        part: its name.
        good: whether nights can run with it.
        text: one line; what to do if it is not good.
    """

    part: str
    good: bool
    text: str

    def __str__(self) -> str:
        """Its line."""
        return f"{'ok   ' if self.good else 'WRONG'}  {self.part:<13} {self.text}"


def examine(
    read_settings: Callable[[], object], read_baselines: Callable[[], str]
) -> list[Finding]:
    """Ask for every part.

    Args:
        read_settings: reads what verdicts are made by, and raises where it cannot be used.
        read_baselines: reads and names the accepted baselines, and raises where one is damaged.
    """
    home = Home.from_environment()
    checks: tuple[tuple[str, Callable[[], str]], ...] = (
        ("Python", _python),
        ("home", lambda: _home(home)),
        ("config", lambda: _config(read_settings)),
        ("baselines", read_baselines),
        ("Spark", _spark),
        ("Java", lambda: _java(home)),
        ("Spark master", _master),
        ("Spark workers", lambda: _workers(home)),
        ("MLflow", lambda: _mlflow(home)),
        ("Airflow", _airflow),
        ("make ui", lambda: _ui(home)),
    )
    return [_asked(part, check) for part, check in checks]


def _asked(part: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(part, good=True, text=check())
    except USER_ERRORS as error:
        return Finding(part, good=False, text=str(error))


def _python() -> str:
    found = sys.version_info[:2]
    if not PYTHON[0] <= found < PYTHON[1]:
        raise Refused(f"this is {_dotted(found)}; allowed: 3.11 to 3.14")
    return f"{_dotted(sys.version_info[:3])}, {sys.prefix}"


def _home(home: Home) -> str:
    preconditions.check_places(home)
    return f"{home.path}; what nights make in {home.made}" if home.store else str(home.path)


def _config(read_settings: Callable[[], object]) -> str:
    folder = config_dir() / "experiments"
    names = sorted(file.stem for file in folder.glob("*.yaml"))
    if not names:
        raise Refused(f"ISR_PIPELINE_CONFIG: no experiment in {folder}; allowed: a folder with one")
    read_settings()
    return f"{config_dir()}: {', '.join(names)}"


def _spark() -> str:
    version = _within("pyspark", SPARK)
    bad = overwritten(metadata.distribution("pyspark"))
    if bad:
        by = f" ({CLIENT} {_version(CLIENT)} has written there)" if _version(CLIENT) else ""
        raise Refused(
            f"{len(bad)} files of pyspark {version} are not its own{by}: "
            f"{', '.join(bad[:_NAMED_MAX])}; "
            f"pip install --force-reinstall --no-deps pyspark=={version}"
        )
    beside = f"; {CLIENT} {_version(CLIENT)} is there too, and has overwritten nothing"
    return f"pyspark {version}{beside if _version(CLIENT) else ''}"


def overwritten(distribution: metadata.Distribution) -> list[str]:
    """Names of the Python files of a package that are not as it installed them, or gone.

    Args:
        distribution: an installed package that says the digests of its files.
    """
    bad = []
    for file in distribution.files or ():
        if file.suffix != ".py" or file.hash is None:
            continue
        try:
            content = file.locate().read_bytes()  # type: ignore[attr-defined]
        except OSError:
            bad.append(str(file))
            continue
        digest = hashlib.new(file.hash.mode, content).digest()
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != file.hash.value:
            bad.append(str(file))
    return bad


def _java(home: Home) -> str:
    preconditions.check_java(home)
    from isr_pipeline.night.spark.java import java_home  # noqa: PLC0415 - after it was found to be there

    return str(java_home(home))


def _master() -> str:
    master = stack.wanted_master()
    preconditions.check_master(master)
    return master


def _workers(home: Home) -> str:
    """Ask the workers of a cluster, which takes the start of a Spark session."""
    master = stack.wanted_master()
    if master.startswith("local"):
        return "on this machine"
    preconditions.check_master(master)
    done = subprocess.run(
        [sys.executable, "-m", "isr_pipeline.night.spark.spark_workers", master, home.root],
        env=stack.environment(home, spark_master=master),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    if done.returncode:
        raise Refused(lines[-1] if lines else f"no answer (exit status {done.returncode})")
    return lines[-1]


def _mlflow(home: Home) -> str:
    version = _version("mlflow")
    if not version:
        raise Refused(f"mlflow is not installed; {install('night')}")
    preconditions.check_store(home)
    return f"{version}, {without_password(home.mlflow_uri)}"


def _airflow() -> str:
    if not _version("apache-airflow"):
        return "not installed; nights run with `isr-pipeline night run --in-process`"
    version = _within("apache-airflow", AIRFLOW)
    provider = _version(PROVIDER)
    if not provider:
        raise Refused(f"{PROVIDER} is not installed: the DAGs need it; {install('airflow')}")
    is_tried = version.rpartition(".")[0] in AIRFLOW_TRIED
    tried = "" if is_tried else f" (tried: {', '.join(AIRFLOW_TRIED)})"
    folder = os.environ.get("AIRFLOW__CORE__DAGS_FOLDER", "")
    return f"{version}{tried}, provider {provider}{', DAGs in ' + folder if folder else ''}"


def _ui(home: Home) -> str:
    """Ask the Airflow of `make ui` for DAGs that it cannot read and for runs that hang.

    Raises:
        Refused: there are such, or it does not answer.
    """
    from isr_pipeline.experiment.file import DAG_PREFIX  # noqa: PLC0415 - reads pydantic

    if not ui_ports(home):
        return "does not run"
    rest = rest_of_ui(home)
    try:
        wrong = [*rest.import_errors(), *hanging(rest, DAG_PREFIX)]
    except Silent as silent:
        raise Refused(f"Airflow does not answer at {silent}") from None
    if wrong:
        raise Refused("; ".join(" ".join(one.split()) for one in wrong))
    return rest.address


def _within(package: str, allowed: tuple[tuple[int, int], tuple[int, int]]) -> str:
    """Version of an installed package.

    Raises:
        Refused: it is not installed, or of a version that is not allowed.
    """
    version = _version(package)
    least, below = allowed
    limits = f"{_dotted(least)} or newer, below {_dotted(below)}"
    if not version:
        raise Refused(f"{package} is not installed; {install('night')}")
    major, minor = version.split(".")[:2]
    if not least <= (int(major), int(minor)) < below:
        raise Refused(f"{package} is {version}; allowed: {limits}")
    return version


def _version(package: str) -> str:
    """Version of an installed package, empty if it is not."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _dotted(numbers: Iterable[int]) -> str:
    return ".".join(str(number) for number in numbers)
