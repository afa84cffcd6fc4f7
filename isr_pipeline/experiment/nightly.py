"""The DAG of an experiment: its name, and what of the experiment's file shapes it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.file import ExperimentFile, experiment_files, read_experiment_file

if TYPE_CHECKING:
    from pathlib import Path

DAG_PREFIX = "isr_nightly_"

NAMES = "a name of a-z, 0-9, . _ - (at most 60), with .yaml"
"""What the file of an experiment that has a DAG may be called: ids have no other signs."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")


@dataclass(frozen=True, slots=True)
class Nightly:
    """What shapes the DAG of an experiment.

    Attributes:
        experiment: its name.
        description: what it asks, in a sentence; often empty.
        schedule: cron expression, UTC; empty: it is run by hand.
    """

    experiment: str
    description: str
    schedule: str

    @property
    def dag_id(self) -> str:
        """Name of the DAG."""
        return dag_id_of(self.experiment)


def dag_id_of(experiment: str) -> str:
    """Name of an experiment's DAG."""
    return f"{DAG_PREFIX}{experiment}"


def experiment_of(dag_id: str) -> str:
    """Name of the experiment that a DAG runs nights of."""
    return dag_id.removeprefix(DAG_PREFIX)


def nightlies() -> tuple[list[Nightly], list[InputError]]:
    """Every experiment whose file can be read, and why the others cannot.

    Only the file itself is read: what it names is read when a night is planned.
    """
    made, broken = [], []
    for file in experiment_files():
        try:
            if not _NAME.fullmatch(file.stem):
                raise InputError(str(file), "", file.name, NAMES)
            written = _read(file, file.stat().st_mtime_ns)
        except InputError as error:
            broken.append(error)
        else:
            made.append(Nightly(file.stem, written.description, written.schedule or ""))
    return made, broken


@functools.lru_cache
def _read(file: Path, changed_ns: int) -> ExperimentFile:  # noqa: ARG001 - what is kept is of then
    """Read a file once for both DAG files, and again when it has changed."""
    return read_experiment_file(file)
