"""Apache Otava, in an environment of its own: it pins other versions than this project.

``python -m benchmarks.detection --set-up`` makes the environment in the state folder. Otava's own
classes (those behind ``otava analyze``, with its defaults) look for change points in every series;
an alarm is a rise that begins at the last night.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from isr_pipeline.home import REPOSITORY, Home

VERSION = "0.8.0"
WEEK = 7
"""Nights that follow with the same code, hence the same values, until Otava is asked again."""

_DRIVER = Path(__file__).with_name("otava_driver.py")


class OtavaMissing(Exception):
    """Otava could not be installed; str() is the reason, one line."""


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
            said = done.stderr.strip().splitlines() or ["no reason given"]
            raise OtavaMissing(said[-1])
    (place / "ready").touch()


def rises(
    nights: list[npt.NDArray[np.float64]],
) -> tuple[list[npt.NDArray[np.bool_]], list[npt.NDArray[np.bool_]]]:
    """Ask Otava about many nights.

    Args:
        nights: (metrics, configurations, nights) each; the last value is tonight's.

    Returns:
        per night the alarms (metrics, configurations) raised the same night, and those raised when
        it is asked again after :data:`WEEK` more nights with tonight's value.
    """
    lines = [series for night in nights for series in night.reshape(-1, night.shape[-1]).tolist()]
    command = [str(environment() / "bin" / "python"), str(_DRIVER), str(WEEK)]
    plain = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        command, input=json.dumps(lines), capture_output=True, text=True, check=True, env=plain
    )
    said = np.array(json.loads(done.stdout), dtype=bool)
    found: tuple[list[npt.NDArray[np.bool_]], list[npt.NDArray[np.bool_]]] = ([], [])
    start = 0
    for night in nights:
        count = night.shape[0] * night.shape[1]
        for which in (0, 1):
            found[which].append(said[start : start + count, which].reshape(night.shape[:2]))
        start += count
    return found
