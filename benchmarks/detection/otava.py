"""Apache Otava, in an environment of its own: it pins other versions than this project.

The first contest makes the environment in the state folder. Otava's own classes (those behind
``otava analyze``, with its defaults and a least magnitude of 10 %) look for change points in every
series, whose nights are each on fresh scenarios; an alarm is a rise that begins at the last night.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isr_pipeline.base.home import REPOSITORY, Home

VERSION = "0.8.0"
WEEK = 7
"""Nights that follow with the same code, hence the same values, until Otava is asked again."""

_DRIVER = Path(__file__).with_name("otava_driver.py")


class OtavaMissing(Exception):
    """Otava could not be installed, or does not run; str() is the reason, one line."""


def environment() -> Path:
    """Where Otava lives."""
    return Home.from_environment().path / "contest" / f"otava-{VERSION}"


def set_up() -> None:
    """Make the environment, unless it is there.

    Raises:
        OtavaMissing: with the last line that the installer said.
    """
    place = environment()
    if (place / "ready").exists():
        return
    shutil.rmtree(place, ignore_errors=True)
    uv = shutil.which("uv") or str(REPOSITORY / ".tools" / "uv" / "bin" / "uv")
    python = str(place / "bin" / "python")
    for command in (
        [uv, "venv", "--quiet", "--python", sys.executable, str(place)],
        [uv, "pip", "install", "--quiet", "--python", python, f"apache-otava=={VERSION}"],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as problem:
            raise OtavaMissing(f"{uv}: {problem.strerror}; run `make setup` first") from None
        if done.returncode != 0:
            reasons = done.stderr.strip().splitlines() or ["no reason given"]
            raise OtavaMissing(reasons[-1])
    (place / "ready").touch()


def rises(
    nights: list[npt.NDArray[np.float64]], processes: int
) -> tuple[list[npt.NDArray[np.bool_]], list[npt.NDArray[np.bool_]]]:
    """Ask Otava about some nights.

    Args:
        nights: (metrics, configurations, nights) each; the last value is tonight's.
        processes: how many to ask at a time.

    Returns:
        per night the alarms (metrics, configurations) raised the same night, and those raised when
        it is asked again after :data:`WEEK` more nights with tonight's value.

    Raises:
        OtavaMissing: it does not run.
    """
    with ThreadPoolExecutor(processes) as asking:
        answers = list(asking.map(_ask, nights))
    return [one[..., 0] for one in answers], [one[..., 1] for one in answers]


def _ask(night: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    """Answers for every series of a night: (metrics, configurations, 2)."""
    lines = night.reshape(-1, night.shape[-1]).tolist()
    # -I: neither this folder (whose otava.py is not theirs) nor PYTHONPATH is looked at
    command = [str(environment() / "bin" / "python"), "-I", str(_DRIVER), str(WEEK)]
    done = subprocess.run(
        command, input=json.dumps(lines), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise OtavaMissing(f"Otava failed: {done.stderr.strip().splitlines()[-1]}")
    return np.array(json.loads(done.stdout), dtype=bool).reshape(*night.shape[:2], 2)
