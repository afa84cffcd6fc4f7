"""The bare package beside an Airflow with Airflow's own constraints: its DAGs, and no night."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.saying import finished
from tests.test_wheel import wheel
from tools.setup import find_uv

__all__ = ["wheel"]

pytestmark = pytest.mark.slow

CONSTRAINTS = """
numpy==2.4.6
pandas==3.0.6
psutil==7.2.2
pyarrow==25.0.1
pydantic==2.13.5
rich==15.0.0
ruamel.yaml==0.19.1
typer==0.27.2
"""
"""What we share with Airflow's constraints-3.13.txt of September 2026 (its branch
constraints-main), and pandas, which teams have from there."""

LOAD = """
import importlib, importlib.util, sys
from airflow.dag_processing.dagbag import DagBag

for module in ("pyspark", "numba", "mlflow", "great_expectations", "pandas", "scipy"):
    assert importlib.util.find_spec(module) is None, module
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
print(*sorted(bag.dags))
# what a task imports that has its step done in another Python
for module in ("experiment.plan", "night.claim", "night.publication", "night.spark.submit"):
    importlib.import_module(f"isr_pipeline.{module}")
"""


class Bare:
    """An environment with Airflow, its Spark provider and the bare package."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder, self.programs = folder, folder / "environment" / "bin"
        excluded, constraints = folder / "excluded", folder / "constraints.txt"
        excluded.write_text("pyspark-client\n")
        constraints.write_text(CONSTRAINTS)
        uv = find_uv(sys.executable)
        airflow = f"apache-airflow=={metadata.version('apache-airflow')}"
        for command in (
            [uv, "venv", "--python", sys.executable, str(self.programs.parent)],
            [
                *(uv, "pip", "install", "--python", str(self.programs / "python")),
                *("--constraints", str(constraints), "--excludes", str(excluded)),
                *(f"{wheel}[airflow]", airflow),
            ],
        ):
            subprocess.run(command, check=True)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment, with nothing of ours in its own."""
        return finished(
            [self.programs / program, *arguments],
            cwd=self.folder,
            env={
                "PATH": str(self.programs),
                "HOME": str(self.folder),
                "AIRFLOW_HOME": str(self.folder / "airflow"),
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "ISR_PIPELINE_HOME": str(self.folder / "home"),
            },
        )


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Bare:
    """It, until the last test."""
    return Bare(tmp_path_factory.mktemp("bare"), wheel)


def test_dag_files_load(bare: Bare) -> None:
    """Without any library of nights."""
    (dags,) = bare.folder.glob("environment/lib/python3*/site-packages/isr_pipeline/shipped/dags")
    assert bare.run("airflow", "db", "migrate").returncode == 0
    done = bare.run("python", "-c", LOAD, str(dags))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "isr_nightly_smoke" in done.stdout


@pytest.mark.parametrize(
    ("command", "extra"),
    [("night run --in-process", "night"), ("experiment check smoke", "simulate")],
)
def test_a_command_says_what_it_lacks(bare: Bare, command: str, extra: str) -> None:
    """In one line, which installs it."""
    done = bare.run("isr-pipeline", *(words := command.split()))
    how = rf"pip install 'isr-pipeline\[{extra}\]'"
    said = rf"isr-pipeline {words[0]} {words[1]}: needs [\w-]+; {how}\n"
    assert done.returncode == 1
    assert re.fullmatch(said, done.stderr)
