"""The checkout's own files agree with each other: linters, types, version, changelog, licence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def recipe(target: str) -> list[str]:
    """Commands of a target of the Makefile, without make's own signs."""
    text = (ROOT / "Makefile").read_text()
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert found is not None, target
    joined = found[1].replace("\\\n", " ")
    return [line.strip().lstrip("@") for line in joined.splitlines()]


class TestLinters:
    """One list of linters."""

    def test_a_commit_runs_what_make_lint_runs(self) -> None:
        """The pre-commit hooks and `make lint` are the same commands."""
        hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
        made = [
            line.removeprefix("$(RUN) ").replace("$(BIN)", ".venv/bin") for line in recipe("lint")
        ]
        assert [hook["entry"] for hook in hooks] == made

    def test_ci_runs_what_a_person_runs(self) -> None:
        """`.ci/run` is make's targets, the slow tests among them."""
        lines = (ROOT / ".ci" / "run").read_text().splitlines()
        assert [line for line in lines if line.startswith("make")] == [
            "make test",
            "make test-slow",
        ]


class TestTypes:
    """mypy sees every room."""

    def test_every_folder_with_python_is_checked(self) -> None:
        """A new folder beside the package is added to mypy's list."""
        ours = {file.relative_to(ROOT).parts[0] for file in ROOT.glob("[a-z]*/**/*.py")}
        assert ours == set(PROJECT["tool"]["mypy"]["files"])

    def test_no_room_may_leave_types_out(self) -> None:
        """Not even what numba alone reads."""
        loose = [
            override["module"]
            for override in PROJECT["tool"]["mypy"]["overrides"]
            if override.get("disallow_untyped_defs") is False
        ]
        assert loose == []


class TestReleases:
    """Numbers of versions, as docs/project/releasing.md has them."""

    def test_the_changelog_begins_with_the_version_worked_at(self) -> None:
        """Its topmost section is that of pyproject.toml's number, dated once released."""
        number = PROJECT["project"]["version"]
        heading = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
        assert heading is not None
        released, _, developed = number.partition(".dev")
        when = "not released" if developed else r"\d{4}-\d{2}-\d{2}"
        assert re.fullmatch(rf"{re.escape(released)} \({when}\)", heading[1])

    def test_sections_go_down(self) -> None:
        """Newest version first, none twice."""
        text = (ROOT / "CHANGELOG.md").read_text()
        found = re.findall(r"^## (\d+)\.(\d+)\.(\d+) ", text, re.MULTILINE)
        numbers = [tuple(map(int, one)) for one in found]
        assert numbers == sorted(set(numbers), reverse=True)
        assert numbers[-1] == (0, 1, 0)


class TestLicence:
    """What the project says of itself."""

    def test_the_text_is_that_of_the_licence_named(self) -> None:
        """pyproject.toml names Apache-2.0, and LICENSE is its text, whole."""
        assert PROJECT["project"]["license"] == "Apache-2.0"
        lines = [line.strip() for line in (ROOT / "LICENSE").read_text().splitlines() if line]
        assert lines[:2] == ["Apache License", "Version 2.0, January 2004"]
        assert "END OF TERMS AND CONDITIONS" in lines

    @pytest.mark.parametrize("name", PROJECT["project"]["license-files"])
    def test_its_files_are_there(self, name: str) -> None:
        """Every file that pyproject.toml ships with the licence exists."""
        assert (ROOT / name).is_file()
