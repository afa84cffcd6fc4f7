"""A task's work in another Python than Airflow's, which may lack a night's libraries.

The Airflow Variable names that Python. Its editor must not run programs by it, so it has to be one
of an environment into which somebody installed this package, of this version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

from airflow.sdk.exceptions import AirflowException

from isr_pipeline.base.errors import USER_ERRORS, InputError, Refused
from isr_pipeline.base.version import PACKAGE, version
from isr_pipeline.night.airflow.connections import VARIABLE, settings
from isr_pipeline.night.supervisor import end_all, marked
from isr_pipeline.night.task_work import WORK

REFUSALS = frozenset(error.exit_status for error in USER_ERRORS)
"""Exit statuses after which another try would end alike."""


def checked(python: str) -> str:
    """Give back a Python that can do this package's steps; it is not run to find that out.

    Raises:
        InputError: it is no program, or its environment has no such package.
    """
    file, here = Path(python), version()
    places = file.parent.parent.glob("lib*/python3*/site-packages")
    found = metadata.distributions(name=PACKAGE, path=[str(place) for place in places])
    versions = {one.version for one in found}
    if here in versions and file.is_file() and os.access(file, os.X_OK):
        return python
    has = f"{PACKAGE} {', '.join(sorted(versions))}" if versions else f"without {PACKAGE}"
    allowed = f"a Python of an environment with {PACKAGE} {here}, on every worker of Airflow"
    where = f"Airflow Variable {VARIABLE}"
    raise InputError(where, "python", f"{python} ({has})" if file.is_file() else python, allowed)


def step_in(python: str, name: str, plan: str) -> str:
    """Do a step in another Python; what it says goes to the task's log, line by line.

    Args:
        python: that is to run it.
        name: of the step.
        plan: file of the plan.

    Returns:
        What the step says at its end.

    Raises:
        InputError: the Python cannot do it.
        Refused: the step was refused; its line.
        AirflowException: it broke off, and may be tried again.
    """
    return str(_answer(python, ["step", name, "--plan", plan, "--json"])["said"])


def do(name: str, **given: Any) -> Any:
    """Do a part of a task in the Python that the Airflow Variable names, else here.

    Args:
        name: of :data:`isr_pipeline.night.task_work.WORK`.
        given: its arguments.

    Raises:
        InputError, Refused, AirflowException: as of a step.
    """
    python = settings().python
    return _answer(python, ["task", name], given) if python else WORK[name](**given)


def _answer(python: str, arguments: list[str], given: Any = None) -> Any:
    """Run one of our commands below `night`, and read the JSON that it ends with."""
    command = [checked(python), "-P", "-u", "-m", "isr_pipeline.cli", "night", *arguments]
    # Those of Airflow's Python would have the other one import Airflow's libraries.
    own = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    last = ""
    with tempfile.TemporaryFile("w+") as asked, tempfile.TemporaryFile("w+") as answer:
        json.dump(given, asked)
        asked.seek(0)
        process = subprocess.Popen(
            command,
            env=marked(own),
            stdin=asked,
            stdout=answer,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stderr is not None
            for line in process.stderr:
                sys.stdout.write(line)
                last = line.strip() or last
            status = process.wait()
        except BaseException:  # a time limit, or the claim is lost
            end_all([process], process.pid)
            raise
        if not status:
            answer.seek(0)
            return json.load(answer)
    if status in REFUSALS:
        raise Refused(last)
    killed = f"{python} was killed (exit status {status}; was memory short?)"
    raise AirflowException(killed if status < 0 else last)
