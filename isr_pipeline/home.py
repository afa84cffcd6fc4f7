"""Where everything that is made at run time lives: one folder, ignored by git."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
"""The checkout; where the package was installed by itself, the folder that holds it."""

IN_CHECKOUT = (REPOSITORY / "pyproject.toml").is_file()

SHIPPED = REPOSITORY if IN_CHECKOUT else Path(__file__).resolve().parent / "shipped"
"""Folder of config/, dags/, expectations/ and spark_jobs/: the wheel brings its own."""

DEFAULT_EXPERIMENT = "operators"
"""The experiment that is run, shown and accepted where none is named."""


@dataclass(frozen=True, slots=True)
class Home:
    """The state folder and the places in it.

    Attributes:
        path: the folder itself, ``ISR_PIPELINE_HOME``; else ``.state`` in the checkout; without
            one ``$XDG_STATE_HOME/isr-pipeline`` (``~/.local/state/isr-pipeline``).
        root: URI or path of the tables; ``<path>/tables`` unless ``ISR_PIPELINE_ROOT`` names
            another, which may be a place in an object store.
    """

    path: Path
    root: str

    @classmethod
    def from_environment(cls) -> Home:
        """Read ``ISR_PIPELINE_HOME`` and ``ISR_PIPELINE_ROOT``."""
        path = Path(os.environ.get("ISR_PIPELINE_HOME") or _default_home()).resolve()
        return cls(path=path, root=os.environ.get("ISR_PIPELINE_ROOT") or str(path / "tables"))

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME: its database, logs and generated password."""
        return self.path / "airflow"

    @property
    def mlflow_uri(self) -> str:
        """Tracking store: ``MLFLOW_TRACKING_URI``, else a SQLite file in the home."""
        return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{self.path / 'mlflow.db'}"

    @property
    def mlflow_artifacts(self) -> Path:
        """Artifact root of a local tracking store."""
        return self.path / "mlartifacts"

    @property
    def locks(self) -> Path:
        """Lock files: one night at a time writes."""
        return self.path / "locks"

    @property
    def numba_cache(self) -> Path:
        """Compiled kernels, one folder per digest of the kernel's sources."""
        return self.path / "numba"

    @property
    def kernels(self) -> Path:
        """Sources of kernels that ran, and what was unpacked and compiled of older ones."""
        return self.path / "kernels"

    def night_dir(self, experiment: str, night: str) -> Path:
        """Plan, verdict, report and figures of one night."""
        return self.path / "nights" / experiment / night

    def data_docs(self, experiment: str, night: str) -> Path:
        """Data Docs of one night."""
        return self.path / "data_docs" / experiment / night

    def baseline_dir(self, experiment: str) -> Path:
        """The accepted baseline of an experiment: its outcomes and who accepted it."""
        return self.path / "baselines" / experiment


def _default_home() -> Path:
    if IN_CHECKOUT:
        return REPOSITORY / ".state"
    state = os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(state) / "isr-pipeline"


def config_dir() -> Path:
    """What an operator edits: ``config/`` unless ``ISR_PIPELINE_CONFIG`` names another folder."""
    return Path(os.environ.get("ISR_PIPELINE_CONFIG") or SHIPPED / "config")
