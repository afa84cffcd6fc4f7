""".github: what runs elsewhere is what a person runs here; actions are pinned."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def loaded(file: Path) -> dict[str, Any]:
    """A file as YAML."""
    found: dict[str, Any] = YAML(typ="safe").load(file)
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
        """Targets are those of the Makefile."""
        targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        made = {line.split()[1] for line in runs() if line.startswith("make ")}
        assert made
        assert made <= targets
