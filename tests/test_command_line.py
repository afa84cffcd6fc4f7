"""The command line as a whole: help, JSON, refusals, what the shell offers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from isr_pipeline import cli
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.night import completing
from isr_pipeline.night.status import Status, folder_of, write_status
from isr_pipeline.report.terminal import print_night
from tests.approved import Approved
from tests.saying import finished
from tests.tables import from_table

PROGRAM = Path(sys.executable).parent / "isr-pipeline"
WITHOUT_JSON = {"ui", "airflow", "night task"}
"""Two take over the terminal until they are stopped; what the third says is JSON."""


def leaves() -> Iterator[tuple[str, set[str]]]:
    """Every command with its options."""

    def below(command: object, path: str) -> Iterator[tuple[str, set[str]]]:
        inner = getattr(command, "commands", None)
        if inner is None:
            yield path, {o for p in getattr(command, "params", ()) for o in p.opts}
            return
        for name, one in inner.items():
            yield from below(one, f"{path} {name}".strip())

    yield from below(typer.main.get_command(cli.app), "")


class TestHelp:
    """`isr-pipeline --help`."""

    def test_headings(self) -> None:
        """Commands stand under what a person wants, the most wanted first."""
        said = CliRunner().invoke(cli.app, ["--help"], env={"COLUMNS": "100"}).stdout
        places = [said.index(one) for one in (cli.RUN, cli.ASK, cli.TRY, cli.KAFKA, cli.HERE)]
        assert places == sorted(places)
        assert "─ Commands ─" not in said

    @pytest.mark.parametrize(
        ("path", "options"), list(leaves()), ids=[path for path, _ in leaves()]
    )
    def test_json_everywhere(self, path: str, options: set[str]) -> None:
        """Every command that ends by itself has --json."""
        assert ("--json" in options) != (path in WITHOUT_JSON)


class TestRefusals:
    """Something written wrongly."""

    @pytest.mark.parametrize(
        ("arguments", "line"),
        [
            (["night", "shw"], "night: no such command 'shw'"),
            (["night", "show"], "night show: missing argument 'NIGHT'"),
            (["simulate", "--sett", "a=1"], "simulate: no such option: --sett"),
        ],
    )
    def test_one_line(self, arguments: list[str], line: str) -> None:
        """The command, what is wrong, and how to see what may stand there; exit status 2."""
        done = finished([str(PROGRAM), *arguments])
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert f"isr-pipeline {line}" in done.stderr
        assert f"isr-pipeline {line.partition(':')[0]} --help says" in done.stderr

    @from_table
    def test_a_number(self, arguments: list[str], line: str) -> None:
        """Each option that takes a number says which, as a file's field does."""
        done = finished([str(PROGRAM), *arguments])
        assert done.returncode == 2
        assert done.stderr.endswith(f"isr-pipeline {' '.join(arguments[:2])}: {line}\n")

    def test_json_that_goes_to_a_file(self) -> None:
        """`simulate --json` wants a file; the line says how to have it on the screen."""
        done = finished([str(PROGRAM), "simulate", "x.yaml", "--json"])
        assert "requires an argument here: a file, or - for standard output" in done.stderr

    def test_a_group_alone(self) -> None:
        """A group without a command prints its help."""
        done = finished([str(PROGRAM), "night"])
        assert "prune" in done.stdout
        assert done.stderr == ""


class TestRefused:
    """One line and status 2, before anything starts."""

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["night", "run", "--panel-size", "100001"], "-size: 100001; allowed: 1..100000"),
            (["night", "list", "--experiment", "nope"], "experiment: nope; allowed: "),
            (["night", "prune", "--keep", "1", "--experiment", "nope"], "experiment: nope; allow"),
        ],
    )
    def test_what_is_written_wrongly(self, tmp_path: Path, words: list[str], line: str) -> None:
        """More scenarios than a run may be asked for; an experiment that nobody knows."""
        done = self.run(words, tmp_path)
        assert done.returncode == 2
        assert line in done.stderr

    def test_settings_of_the_verdicts(self, tmp_path: Path) -> None:
        """A night that nobody could judge is not simulated."""
        config = tmp_path / "config"
        shutil.copytree(REPOSITORY / "config", config)
        (config / "verdicts.yaml").write_text("ratio_min: abc\n")
        words = ["night", "run", "--experiment", "smoke", "--in-process"]
        done = self.run(words, tmp_path, ISR_PIPELINE_CONFIG=str(config))
        assert done.returncode == 2
        first, second = done.stderr.splitlines()
        assert first.startswith(f"{config}/verdicts.yaml: metrics: missing; allowed: ")
        assert second == f"{config}/verdicts.yaml:1: ratio_min: abc; allowed: a number > 1"
        assert not (tmp_path / "home" / "nights").exists()

    def run(self, words: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the program on a home of its own."""
        variables = {**os.environ, "ISR_PIPELINE_HOME": str(folder / "home"), **more}
        return finished([str(PROGRAM), *words], env=variables)


class TestJson:
    """What tools read."""

    def test_check(self) -> None:
        """`experiment check` gives every configuration, what all costs, and what an alarm takes."""
        done = CliRunner().invoke(
            cli.app, ["experiment", "check", "smoke", "--json"], catch_exceptions=False
        )
        read = json.loads(done.stdout)
        assert read["panels"]["regression"] == 8
        assert [one["name"] for one in read["configurations"]][:2] == [
            "today",
            "today-without-lock",
        ]
        assert read["cost"][0].startswith("load: ")
        assert read["alarm"] == (
            "an alarm takes a difference in at least one of 8 scenarios, "
            "and a rise in at least 10 of 392 further ones"
        )

    def test_sources(self) -> None:
        """`sources` gives every citation that has the text."""
        done = CliRunner().invoke(cli.app, ["sources", "KIP-966", "--json"], catch_exceptions=False)
        assert {one["source"] for one in json.loads(done.stdout)} >= {"KIP-966"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one night, of two configurations."""
    night = tmp_path / "nights" / "smoke" / "2026-11-19"
    night.mkdir(parents=True)
    plan = {"configurations": [{"name": "today"}, {"name": "solution-1"}]}
    (night / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "nights" / "history" / "2026-11-20").mkdir(parents=True)
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    return tmp_path


class TestFiles:
    """`experiment list` and `cluster list`."""

    def test_every_file(self) -> None:
        """Every shipped experiment stands there with the first sentence of its description."""
        said = CliRunner().invoke(cli.app, ["experiment", "list"], catch_exceptions=False).stdout
        assert [line.split()[0] for line in said.splitlines()] == completing.experiments()
        assert "Settings that a broker of today's release can be given" in said
        assert "none of rules" not in said, "only the first sentence"

    def test_json(self) -> None:
        """Tools get the whole description, and where the file is."""
        done = CliRunner().invoke(cli.app, ["cluster", "list", "--json"], catch_exceptions=False)
        default = next(one for one in json.loads(done.stdout) if one["name"] == "default")
        assert default["description"].startswith("Six brokers with two disks each")
        assert Path(default["file"]).is_file()
        assert default["problem"] == ""

    def test_a_file_that_cannot_be_read(self, tmp_path: Path) -> None:
        """It is listed with what is wrong with it; the others are listed as well."""
        folder = tmp_path / "experiments"
        folder.mkdir()
        (folder / "broken.yaml").write_text("description: [\n")
        (folder / "good.yaml").write_text("description: Asks something. And more.\n")
        done = CliRunner().invoke(
            cli.app,
            ["experiment", "list"],
            env={"ISR_PIPELINE_CONFIG": str(tmp_path)},
            catch_exceptions=False,
        )
        broken, good = done.stdout.splitlines()
        assert broken.startswith(f"broken           {folder / 'broken.yaml'}:")
        assert good == "good             Asks something"


class TestNames:
    """What there is to be completed."""

    def test_nights(self, home: Path) -> None:
        """Of an experiment or of all, newest first."""
        assert completing.nights() == ["2026-11-20", "2026-11-19"]
        assert completing.nights("smoke") == ["2026-11-19"]

    def test_configurations(self, home: Path) -> None:
        """Those of the night's plan; a night without a plan has none, nor has a damaged one."""
        assert completing.configurations("2026-11-19") == ["today", "solution-1"]
        assert completing.configurations("2026-11-20") == []
        (home / "nights" / "smoke" / "2026-11-19" / "plan.json").write_text("{")
        assert completing.configurations("2026-11-19", "smoke") == []

    def test_files(self) -> None:
        """Names of files in the configuration's folders."""
        assert "operators" in completing.experiments()
        assert "tiny" in completing.clusters()
        assert "nightly" in completing.faults()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
class TestShell:
    """A real shell that asks."""

    @from_table
    def test_bash(self, home: Path, words: str, offered: list[str]) -> None:
        """The script that the program prints makes bash offer the names, and says nothing else."""
        script = finished(
            [str(PROGRAM)], env={**os.environ, "_ISR_PIPELINE_COMPLETE": "source_bash"}, check=True
        ).stdout
        listed = ["isr-pipeline", *words.split()]
        asking = (
            f"COMP_WORDS=({' '.join(listed)}); COMP_CWORD={len(listed) - 1}; "
            f'_isr_pipeline_completion "{PROGRAM}"; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        done = finished(
            ["bash", "-c", f"{script}\n{asking}"],
            env={**os.environ, "PYTHONPATH": "/left-aside"},
            cwd=REPOSITORY,
            check=True,
        )
        assert done.stdout.splitlines() == offered
        assert done.stderr == ""


@pytest.mark.parametrize("command", ["show", "ledger"])
def test_the_experiment_that_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approved: Approved, command: str
) -> None:
    """A command that nobody gave one says which it took, beside its answer and not in it."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    monkeypatch.delenv("ISR_PIPELINE_ROOT", raising=False)
    write_status(folder_of("smoke", "2026-11-19"), Status("ok"))
    taken = CliRunner().invoke(cli.app, ["baseline", command])
    named = CliRunner().invoke(cli.app, ["baseline", command, "--experiment", "smoke"])
    assert (taken.stdout, named.stderr) == (named.stdout, "")
    approved(taken.stderr)


def test_every_command_has_its_place() -> None:
    """The help lists the commands in the order of `COMMANDS`, which names them all."""
    apps = [one.name for one in cli.app.registered_groups]
    named = [
        one.name or one.callback.__name__ for one in cli.app.registered_commands if one.callback
    ]
    assert sorted(cli.COMMANDS) == sorted([*map(str, apps), *named])


def test_a_long_command_stays_in_one_piece(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of a night that is wider than the terminal is not broken: it could not be pasted."""
    monkeypatch.setenv("COLUMNS", "40")
    reason = f"accept this night: isr-pipeline baseline accept 2026-11-19 --why '{'x' * 200}'"
    night = {"night": "2026-11-19", "experiment": "smoke", "status": "baseline"}
    night |= {"headline": "", "reason": reason, "later": "", "reference": ""}
    places = {"report": "/no", "data_docs": "/no", "mlflow": "m"}
    print_night({**night, "to_do": [], "configs": [], "tables": {}, "places": places})
    assert reason in capsys.readouterr().out.splitlines()
