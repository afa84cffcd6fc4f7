"""Where everything that is made at run time lives: one folder, ignored by git."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.storage.places import ALLOWED, Place, place_of

REPOSITORY = Path(__file__).resolve().parents[2]
"""The checkout; where the package was installed by itself, the folder that holds it."""

IN_CHECKOUT = (REPOSITORY / "pyproject.toml").is_file()

SHIPPED = REPOSITORY if IN_CHECKOUT else Path(__file__).resolve().parents[1] / "shipped"
"""Folder of config/, dags/, expectations/ and spark_jobs/: the wheel brings its own."""

DEFAULT_EXPERIMENT = "operators"
"""The experiment that is run, shown and accepted where none is named."""

UI_PORTS = {"airflow": 8080, "mlflow": 5000}
"""Ports of ``make ui``; ``ISR_PIPELINE_AIRFLOW_PORT`` and ``..._MLFLOW_PORT`` change them."""


@dataclass(frozen=True, slots=True)
class Home:
    """The state folder and the places in it.

    Attributes:
        path: the folder itself, ``ISR_PIPELINE_HOME``; else ``.state`` in the checkout; without
            one ``$XDG_STATE_HOME/isr-pipeline`` (``~/.local/state/isr-pipeline``).
        root: URI or path of the tables; ``<store>/tables`` unless ``ISR_PIPELINE_ROOT`` names
            another.
        store: URI or path of what nights make: nights, baselines, Data Docs, artefacts, tables.
            ``ISR_PIPELINE_STORE``; empty: the folder itself. Databases, locks and compiled kernels
            always lie in the folder.
    """

    path: Path
    root: str
    store: str = ""

    @classmethod
    def from_environment(cls) -> Home:
        """Read ``ISR_PIPELINE_HOME``, ``ISR_PIPELINE_STORE`` and ``ISR_PIPELINE_ROOT``."""
        path = Path(os.environ.get("ISR_PIPELINE_HOME") or _default_home()).resolve()
        store = os.environ.get("ISR_PIPELINE_STORE") or ""
        tables = f"{store.rstrip('/')}/tables" if store else str(path / "tables")
        return cls(path=path, root=os.environ.get("ISR_PIPELINE_ROOT") or tables, store=store)

    @property
    def made(self) -> Place:
        """Where what nights make lies.

        Raises:
            InputError: ``ISR_PIPELINE_STORE`` names no place.
        """
        if not self.store:
            return self.path
        try:
            place = place_of(self.store)
        except ValueError:
            raise InputError("ISR_PIPELINE_STORE", "", self.store, ALLOWED) from None
        return place.resolve() if isinstance(place, Path) else place

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME: its database, logs and generated password."""
        return self.path / "airflow"

    @property
    def mlflow_uri(self) -> str:
        """Tracking store: ``MLFLOW_TRACKING_URI``, else a SQLite file in the home."""
        return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{self.path / 'mlflow.db'}"

    @property
    def mlflow_artifacts(self) -> Place:
        """Artifact root of a local tracking store."""
        return self.made / "mlartifacts"

    @property
    def locks(self) -> Path:
        """Lock files: one night at a time writes."""
        return self.path / "locks"

    @property
    def airflow_lock(self) -> Path:
        """Held by the program that runs Airflow here; says which, its ports and its process."""
        return self.locks / "airflow.lock"

    @property
    def numba_cache(self) -> Path:
        """Compiled kernels, one folder per digest of the kernel's sources."""
        return self.path / "numba"

    @property
    def kernels(self) -> Path:
        """Sources of kernels that ran, and what was unpacked and compiled of older ones."""
        return self.path / "kernels"

    @property
    def nights(self) -> Place:
        """Folders of all nights, by experiment."""
        return self.made / "nights"

    def night_dir(self, experiment: str, night: str) -> Place:
        """Plan, verdict, report and figures of one night."""
        return self.nights / experiment / night

    def data_docs(self, experiment: str) -> Place:
        """Data Docs of an experiment: one site for all nights."""
        return self.made / "data_docs" / experiment

    @property
    def baselines(self) -> Place:
        """Folders of all accepted baselines, by experiment."""
        return self.made / "baselines"

    def baseline_dir(self, experiment: str) -> Place:
        """The accepted baseline of an experiment: its outcomes and who accepted it."""
        return self.baselines / experiment


def _default_home() -> Path:
    if IN_CHECKOUT:
        return REPOSITORY / ".state"
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(state) / "isr-pipeline"


def config_dir() -> Path:
    """What an operator edits: a folder of experiments, clusters and faults.

    ``ISR_PIPELINE_CONFIG`` names it; else it is ``config`` in the home if that is there, else that
    of the checkout or of the wheel.
    """
    named = os.environ.get("ISR_PIPELINE_CONFIG")
    homes = Home.from_environment().path / "config"
    return Path(named) if named else homes if homes.is_dir() else SHIPPED / "config"


def port_variable(program: str) -> str:
    """Environment variable that names the port of a program of ``make ui``."""
    return f"ISR_PIPELINE_{program.upper()}_PORT"


def ui_ports(home: Home) -> dict[str, int]:
    """Ports of the ``make ui`` that runs on a home, by program; empty where none runs."""
    from isr_pipeline.base.processes import process_exists  # noqa: PLC0415 - psutil

    try:
        holder = json.loads(home.airflow_lock.read_text())
        ports = {name: int(holder["ports"][name]) for name in UI_PORTS}
        # One that was killed has left its words.
        lives = process_exists(int(holder["pid"]), float(holder["began_s"]))
    except (OSError, ValueError, KeyError, TypeError):
        return {}  # nobody runs Airflow here, or `make nightly`, which has no pages
    return ports if lives else {}


def served_port(home: Home, program: str) -> int:
    """Port where a program of ``make ui`` is found: of the one that runs, else the one wanted.

    Raises:
        InputError: none runs, and the variable holds no port number.
    """
    return ui_ports(home).get(program) or ui_port(program)


def ui_port(program: str) -> int:
    """Port that a program of ``make ui`` is to have.

    Raises:
        InputError: the variable holds no port number.
    """
    variable = port_variable(program)
    text = os.environ.get(variable) or str(UI_PORTS[program])
    if not text.isdigit() or not 1024 <= int(text) <= 65535:
        raise InputError(variable, "", text, "a port from 1024 to 65535")
    return int(text)
