"""A git checkout made for a test."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, as Ada."""
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def checkout(folder: Path, *steps: tuple[str, Mapping[str, bytes]]) -> Path:
    """Make a repository of a few commits.

    Args:
        folder: to be made.
        steps: tag and message of each commit, and the files that it writes.
    """
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for name, files in steps:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", name)
        git(folder, "tag", name)
    return folder
