"""Commands in printed texts can be pasted."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from isr_pipeline import cli
from isr_pipeline.home import REPOSITORY
from isr_pipeline.host import pasted as module
from isr_pipeline.host.pasted import COMMANDS, pasted, program
from isr_pipeline.report.terminal import print_night

OWN = Path(sys.executable).parent / "isr-pipeline"


@pytest.fixture
def off_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell that does not know the program."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


class TestProgram:
    """How this program is started."""

    def test_on_path(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By its name, if that starts this very installation."""
        monkeypatch.setenv("PATH", f"{OWN.parent}:/usr/bin")
        assert program() == "isr-pipeline"

    def test_another_on_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """By its path, if the name starts another installation."""
        other = tmp_path / "isr-pipeline"
        other.write_text("#!/bin/sh\n")
        other.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        assert program() == shlex.quote(str(OWN))

    @pytest.mark.usefixtures("off_path")
    def test_in_the_checkout(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Not on PATH: the path from here."""
        monkeypatch.chdir(OWN.parent.parent)
        assert program() == "bin/isr-pipeline"

    @pytest.mark.usefixtures("off_path")
    def test_a_path_with_a_space(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A path that the shell would take apart is quoted."""
        own = tmp_path / "My Projects" / "isr-pipeline"
        own.parent.mkdir()
        own.touch()
        monkeypatch.setattr(sys, "executable", str(own.parent / "python"))
        assert shlex.split(program()) == [str(own)]

    @pytest.mark.usefixtures("off_path")
    def test_what_is_said_runs(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A shell that gets the text runs the command."""
        monkeypatch.chdir(tmp_path)
        line = pasted("isr-pipeline keys min.insync.replicas")
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.startswith("min.insync.replicas\n")


@pytest.mark.usefixtures("off_path")
class TestTexts:
    """Which words of a text are a command."""

    def test_commands_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The name of the project, or a path that ends with it, stays."""
        monkeypatch.chdir(OWN.parent)
        text = "isr-pipeline 0.2.0: isr-pipeline night list, x/isr-pipeline night list"
        assert (
            pasted(text) == "isr-pipeline 0.2.0: isr-pipeline night list, x/isr-pipeline night list"
        )
        monkeypatch.chdir(OWN.parent.parent)
        assert pasted("see isr-pipeline night list") == "see bin/isr-pipeline night list"
        assert pasted("isr-pipeline is slow") == "isr-pipeline is slow"

    def test_make_in_the_checkout(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where the Makefile is, make's commands stay as they are."""
        monkeypatch.chdir(REPOSITORY)
        assert pasted("run `make nightly NIGHT=N`") == "run `make nightly NIGHT=N`"

    def test_make_elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Elsewhere they name the checkout."""
        monkeypatch.chdir(tmp_path)
        where = shlex.quote(str(REPOSITORY))
        assert pasted("answer: make nightly EXPERIMENT=q") == (
            f"answer: make -C {where} nightly EXPERIMENT=q"
        )

    def test_without_a_checkout(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """An installed package has no Makefile: the command that make would run."""
        monkeypatch.setattr(module, "IN_CHECKOUT", False)
        monkeypatch.chdir(OWN.parent.parent)
        assert pasted("again: make nightly NIGHT=2026-11-19 EXPERIMENT=q; or make ui") == (
            "again: bin/isr-pipeline night run --night 2026-11-19 --experiment q; "
            "or bin/isr-pipeline ui"
        )


def test_every_command_is_known() -> None:
    """The first words that count are those of the command line."""
    apps = [one.name for one in cli.app.registered_groups]
    named = [
        one.name or one.callback.__name__ for one in cli.app.registered_commands if one.callback
    ]
    assert sorted(COMMANDS) == sorted([*map(str, apps), *named])


def test_a_long_command_stays_in_one_piece(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of a night that is wider than the terminal is not broken: it could not be pasted."""
    monkeypatch.setenv("COLUMNS", "40")
    reason = f"accept this night: isr-pipeline baseline accept 2026-11-19 --why '{'x' * 200}'"
    night = {"night": "2026-11-19", "experiment": "smoke", "status": "baseline"}
    night |= {"headline": "", "reason": reason}
    places = {"report": "/no", "data_docs": "/no", "mlflow": "m"}
    print_night({**night, "configs": [], "tables": {}, "places": places})
    assert pasted(reason) in capsys.readouterr().out.splitlines()
