"""What names the version and the types' rooms agrees with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_folder_with_python_has_its_types_checked() -> None:
    """A new folder beside the package is added to mypy's list."""
    ours = {file.relative_to(ROOT).parts[0] for file in ROOT.glob("[a-z]*/**/*.py")}
    assert ours == set(PROJECT["tool"]["mypy"]["files"])


def test_the_changelog_begins_with_the_version_worked_at() -> None:
    """Its topmost section is that of pyproject.toml's number, dated once released."""
    heading = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert heading is not None
    released, _, developed = PROJECT["project"]["version"].partition(".dev")
    when = "not released" if developed else r"\d{4}-\d{2}-\d{2}"
    assert re.fullmatch(rf"{re.escape(released)} \({when}\)", heading[1])


def test_the_image_bears_the_version() -> None:
    """An upgrade by docker-compose.yaml builds an image of its own."""
    compose = YAML(typ="safe").load(ROOT / "docker-compose.yaml")
    assert compose["x-image"]["image"] == f"isr-pipeline:{PROJECT['project']['version']}"
