"""The recipes of docs/project/adding.md, performed on a copy of the checkout."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.saying import finished
from tests.tables import data_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "project" / "adding.md"
TESTS_OF_THE_RULES = (
    *("kafka", "oracle", "cases", "phenomena", "simulation", "worlds"),
    *("outcomes/test_metrics.py", "test_floors.py", "test_reference.py"),
)
"""What rules, keys, faults and metrics are tested by, and their tables in the docs."""
COMPILED_ANEW = (
    *("simulation/test_assertions.py", "simulation/test_determinism.py"),
    *("simulation/test_invariants.py", "simulation/test_wide_threads.py"),
    *("worlds/test_first_isr.py", "worlds/test_own_settings.py::Test", "worlds/test_standing.py"),
)
"""Those of them that need the debug build: one more minute of compiling."""
NIGHT = "2026-10-05"
EXPERIMENT: str = data_of(__file__, "EXPERIMENT")
"""A night of what the recipes add."""

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of the page: its language, the file that it is, its text."""

    language: str
    file: str
    text: str

    @property
    def command(self) -> str:
        """What a block of the console types."""
        return self.text.removeprefix("$ ").partition("\n")[0]

    @property
    def is_patch(self) -> bool:
        """Whether it applies a patch."""
        return self.command.startswith("git apply ")


def recipes() -> dict[str, list[Block]]:
    """Heading -> its blocks."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        heading: [Block(*match) for match in _BLOCK.findall(text)]
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def copied(folder: Path) -> Path:
    """A copy of the checkout, in which git can apply a patch."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "uv.lock"))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def environment(folder: Path, *, compiled: bool) -> dict[str, str]:
    """Commands of the copy: `isr-pipeline` and `python` run its sources."""
    programs = folder / ".programs"
    programs.mkdir(exist_ok=True)
    # The command itself would leave PYTHONPATH aside, and run the sources that are installed.
    call = "-c 'from isr_pipeline.cli import app; app()'"
    for name, arguments in (("python", ""), ("isr-pipeline", call)):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        program.chmod(0o755)
    return os.environ | {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        "ISR_PIPELINE_HOME": str(folder / ".state"),
    }


def applied(folder: Path, block: Block) -> None:
    """Write the file that a block is, or apply the patch that it names."""
    if block.file:
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif block.is_patch:
        run(folder, block.command)


def run(folder: Path, command: str, *, compiled: bool = False) -> str:
    """What a command prints in the copy, blanks at the ends of lines apart."""
    done = finished(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment(folder, compiled=compiled),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with all recipes applied, one after the other; its kernel is compiled once."""
    folder = copied(tmp_path_factory.mktemp("together") / "copy")
    for block in (one for blocks in recipes().values() for one in blocks):
        applied(folder, block)
    run(folder, "python -m tools.reference --write")
    return folder


@pytest.mark.slow
class TestRecipes:
    """Each recipe works as the page says."""

    @pytest.mark.parametrize("heading", recipes())
    def test_works(self, heading: str, tmp_path: Path) -> None:
        """Its changes apply, and its commands print what the page shows."""
        blocks = recipes()[heading]
        folder = copied(tmp_path / "copy")
        for block in blocks:
            applied(folder, block)
        shown = [one for one in blocks if one.language == "console" and not one.is_patch]
        assert shown
        for block in shown:
            expected = block.text.partition("\n")[2]
            assert run(folder, block.command) == expected.strip()

    def test_every_patch_belongs_to_a_recipe(self) -> None:
        """One that no recipe applies would grow old unseen."""
        named = {
            Path(block.command.split()[-1]).name
            for blocks in recipes().values()
            for block in blocks
            if block.is_patch
        }
        assert named == {file.name for file in PAGE.with_suffix("").glob("*")}

    def test_tests_of_the_rules_pass(self, together: Path) -> None:
        """With all of them applied, and nothing else done but what `make reference` does."""
        tests = " ".join(f"tests/{one}" for one in TESTS_OF_THE_RULES)
        left = " ".join(f"--deselect tests/{one}" for one in COMPILED_ANEW)
        run(together, f"python -m pytest -q -p no:cacheprovider {tests} {left}", compiled=True)

    def test_a_night_runs(self, together: Path) -> None:
        """What they add is simulated under its own rules, counted and reported."""
        (together / "config" / "experiments" / "recipes.yaml").write_text(EXPERIMENT)
        of = f"{NIGHT} --experiment recipes"
        run(together, f"isr-pipeline night run --in-process --night {of}", compiled=True)
        told = json.loads(run(together, f"isr-pipeline night show {of} --json", compiled=True))
        metrics = {one["name"]: one["metrics"] for one in told["configs"]}
        assert metrics["today"]["under_min_isr_rate"] > 0
        assert metrics["keeps"]["under_min_isr_rate"] == 0
        assert metrics["retries"] != metrics["today"]
        assert all(one["broker_fencings"] > 0 for one in metrics.values())
        report = Path(told["places"]["report"]).read_text(encoding="utf-8")
        assert "No configuration lost a record that it had acknowledged." in report

    def test_every_kind_has_one(self) -> None:
        """The table names the recipes, and there is none besides."""
        table = PAGE.read_text(encoding="utf-8").split("## ", maxsplit=1)[0]
        named = re.findall(r"^\| \[.+?\]\(#([a-z-]+)\)", table, re.MULTILINE)
        anchors = [re.sub(r"[^a-z ]", "", h.lower()).replace(" ", "-") for h in recipes()]
        assert named == anchors

    def test_a_recipe_that_no_longer_fits_fails(self, tmp_path: Path) -> None:
        """A patch whose place has changed is an error, not a recipe that does nothing."""
        block = next(one for one in recipes()["A metric"] if one.is_patch)
        folder = copied(tmp_path / "copy")
        columns = folder / "isr_pipeline" / "worlds" / "columns.py"
        columns.write_text(columns.read_text().replace("Metric(", "Row("))
        with pytest.raises(AssertionError, match="patch does not apply"):
            applied(folder, block)
