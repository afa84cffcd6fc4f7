""".github: what runs elsewhere is what a person runs here; actions are pinned."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MINORS = ("3.11", "3.12", "3.13", "3.14")


def loaded(file: Path) -> dict[str, Any]:
    """A file as YAML."""
    found: dict[str, Any] = YAML(typ="safe").load(file)
    return found


def project() -> dict[str, Any]:
    """What pyproject.toml says of the project."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def runs() -> list[str]:
    """Every line that a workflow runs."""
    return [
        step["run"]
        for file in FILES
        for job in loaded(file)["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]


class TestWorkflows:
    """The files of .github/workflows."""

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
    def test_every_action_is_pinned(self, file: Path) -> None:
        """A commit, which nobody can move, with its release beside it."""
        uses = re.findall(r"uses: (.+)", file.read_text())
        assert uses
        for use in uses:
            assert re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
    def test_nothing_may_be_written(self, file: Path) -> None:
        """A workflow reads the repository, and ends in time."""
        found = loaded(file)
        assert found["permissions"] == {"contents": "read"}
        assert all(job["timeout-minutes"] <= 60 for job in found["jobs"].values())

    def test_what_it_runs_is_there(self) -> None:
        """Targets are those of the Makefile; lint, tests, docs and the image are among them."""
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        made = {line.split()[1] for line in runs() if line.startswith("make ")}
        assert made == {"lint", "test", "docs"}
        assert made <= targets
        assert any(line.startswith("docker build ") for line in runs())

    def test_every_python_is_tried(self) -> None:
        """The matrix, the classifiers and `requires-python` name the same minors."""
        tried = loaded(ROOT / ".github/workflows/checks.yml")["jobs"]["tests"]["strategy"]
        assert tuple(tried["matrix"]["python"]) == MINORS
        begin = "Programming Language :: Python :: 3."
        named = [one for one in project()["classifiers"] if one.startswith(begin)]
        assert named == [f"Programming Language :: Python :: {one}" for one in MINORS]
        assert project()["requires-python"] == ">=3.11,<3.15"


class TestDependabot:
    """.github/dependabot.yml."""

    def test_every_kind_of_pin_is_looked_after(self) -> None:
        """uv.lock, the image's and the services' versions, and actions, in folders that exist."""
        updates = loaded(ROOT / ".github" / "dependabot.yml")["updates"]
        kinds = {one["package-ecosystem"] for one in updates}
        assert kinds == {"uv", "docker", "docker-compose", "github-actions"}
        for one in updates:
            for folder in one.get("directories", [one.get("directory")]):
                assert (ROOT / folder.lstrip("/")).is_dir()


def test_types_are_for_users_too() -> None:
    """Who imports the package gets its annotations (PEP 561)."""
    assert (ROOT / "isr_pipeline" / "py.typed").is_file()
    assert "Typing :: Typed" in project()["classifiers"]
