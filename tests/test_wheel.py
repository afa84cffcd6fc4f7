"""The wheel is whole: a night outside the checkout, with what the wheel holds alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from isr_pipeline.base.home import REPOSITORY
from tests.saying import finished

NIGHT = "2026-10-06"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    left_out = shutil.ignore_patterns(".*", "tests", "benchmarks", "docs", "__pycache__")
    shutil.copytree(REPOSITORY, folder / "sources", ignore=left_out)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=folder / "sources",
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def packed(wheel: Path) -> set[str]:
    """Names of the files in it."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


class TestContent:
    """Nothing that is imported or read is missing."""

    def test_every_file_of_the_package(self, wheel: Path) -> None:
        """Sources and package data."""
        files = {
            file.relative_to(REPOSITORY).as_posix()
            for file in (REPOSITORY / "isr_pipeline").rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert files - packed(wheel) == set()

    @pytest.mark.parametrize("name", ["config", "dags", "expectations", "spark_jobs"])
    def test_every_file_that_is_read_beside_it(self, wheel: Path, name: str) -> None:
        """Where `home.SHIPPED` looks without a checkout."""
        files = {
            f"isr_pipeline/shipped/{file.relative_to(REPOSITORY).as_posix()}"
            for file in (REPOSITORY / name).rglob("*")
            if file.is_file() and "__pycache__" not in file.parts
        }
        assert files
        assert files - packed(wheel) == set()

    def test_nothing_else_is_put_beside_other_packages(self, wheel: Path) -> None:
        """No top-level name but ours."""
        tops = {name.partition("/")[0].partition("-")[0] for name in packed(wheel)}
        assert tops == {"isr_pipeline"}


class Installed:
    """An environment with the wheel, and this one's libraries."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        venv.create(folder / "environment", with_pip=False)
        self.python = folder / "environment" / "bin" / "python"
        place = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "environment")}))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(place)
        # Not as a site folder: its own path to the checkout must not be read.
        (place / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.folder = folder
        kept = ("HOME", "LANG", "PATH", "JAVA_HOME", "TMPDIR")
        self.variables = {name: os.environ[name] for name in kept if name in os.environ}
        self.variables["ISR_PIPELINE_HOME"] = str(folder / "home")

    def run(self, *arguments: str, **more: str) -> str:
        """Run a command of the wheel's, outside the checkout."""
        done = finished(
            [self.python, "-P", "-m", "isr_pipeline.cli", *arguments],
            env=self.variables | more,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheel: Path) -> Installed:
    """The wheel in an environment of its own."""
    return Installed(tmp_path_factory.mktemp("installed"), wheel)


class TestInstalled:
    """Commands outside the checkout."""

    def test_help_and_version(self, installed: Installed) -> None:
        """It starts, and is not the checkout's."""
        assert "--version" in installed.run("--help")
        assert "commit" not in installed.run("--version")

    def test_experiments_are_the_wheels(self, installed: Installed) -> None:
        """`config/` comes with it."""
        assert "solution-2" in installed.run("experiment", "check", "smoke")

    def test_doctor_finds_nothing_wrong(self, installed: Installed) -> None:
        """Its home is the one that is named, its experiments those of the wheel."""
        said = installed.run("doctor")
        assert "isr_pipeline/shipped/config" in said
        assert str(installed.folder / "home") in said

    def test_home_without_a_name(self, installed: Installed) -> None:
        """State is not put beside other packages."""
        state = str(installed.folder / "state")
        said = installed.run("doctor", ISR_PIPELINE_HOME="", XDG_STATE_HOME=state)
        assert f"{state}/isr-pipeline" in said

    @pytest.mark.slow
    def test_a_night(self, installed: Installed) -> None:
        """Whole, without Airflow."""
        words = ("--in-process", "--experiment", "smoke", "--night", NIGHT)
        assert f"night {NIGHT} of smoke: baseline" in installed.run("night", "run", *words)
        assert (installed.folder / "home/nights/smoke" / NIGHT / "report.html").is_file()
