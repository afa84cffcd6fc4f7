"""The recipes of docs/project/adding.md, performed on a copy of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "project" / "adding.md"
COPIED = ("isr_pipeline", "config", "dags", "spark_jobs", "expectations", "tools", "tests")
STATIC_TESTS = (
    "tests/simulation/test_fences.py",
    "tests/kafka/test_one_telling.py",
    "tests/test_floors.py",
    "tests/outcomes/test_metrics.py",
)
"""Tests that read the sources or the tables: the recipes may break none."""

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of the page: its language, the file that it is, its text."""

    language: str
    file: str
    text: str


def recipes() -> dict[str, list[Block]]:
    """Heading -> its blocks."""
    parts = re.split(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        heading: [Block(*match) for match in _BLOCK.findall(text)]
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def copied(folder: Path) -> Path:
    """A copy of what the recipes touch, in which git can apply a patch."""
    ignore = shutil.ignore_patterns("__pycache__", "oracle", "compatibility")
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def environment(folder: Path) -> dict[str, str]:
    """Commands of the copy: `isr-pipeline` and `python` run its sources, without the compiler."""
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
        "NUMBA_DISABLE_JIT": "1",
        "ISR_PIPELINE_HOME": str(folder / ".state"),
    }


def applied(folder: Path, block: Block) -> None:
    """Write the file, or apply the patch, that a block is."""
    if block.file:
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    elif block.language == "diff":
        patch = re.sub(r"^$", " ", block.text[:-1], flags=re.MULTILINE) + "\n"
        subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, check=True)


def run(folder: Path, command: str) -> str:
    """What a command of the page prints in the copy, blanks at the ends of lines apart."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


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
        shown = [block for block in blocks if block.language == "console"]
        assert shown
        for block in shown:
            command, _, expected = block.text.removeprefix("$ ").partition("\n")
            assert run(folder, command) == expected.strip()

    def test_all_together_break_no_fence(self, tmp_path: Path) -> None:
        """They apply one after the other, and the tests of the sources pass with all of them."""
        folder = copied(tmp_path / "copy")
        for block in (one for blocks in recipes().values() for one in blocks):
            applied(folder, block)
        tests = " ".join(STATIC_TESTS)
        run(folder, f"python -m pytest -q -p no:cacheprovider -p no:xdist {tests}")

    def test_every_kind_has_one(self) -> None:
        """The table names the recipes, and there is none besides."""
        table = PAGE.read_text(encoding="utf-8").split("## ", maxsplit=1)[0]
        named = re.findall(r"^\| \[.+?\]\(#([a-z-]+)\)", table, re.MULTILINE)
        anchors = [re.sub(r"[^a-z ]", "", h.lower()).replace(" ", "-") for h in recipes()]
        assert named == anchors

    def test_a_recipe_that_no_longer_fits_fails(self, tmp_path: Path) -> None:
        """A patch whose place has changed is an error, not a recipe that does nothing."""
        block = next(one for one in recipes()["A metric"] if one.language == "diff")
        folder = copied(tmp_path / "copy")
        columns = folder / "isr_pipeline" / "worlds" / "columns.py"
        columns.write_text(columns.read_text().replace("Metric(", "Row("))
        with pytest.raises(subprocess.CalledProcessError):
            applied(folder, block)
