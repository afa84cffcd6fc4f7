"""Which version this is: the package's number, the commit, and both in one line."""

from __future__ import annotations

import subprocess
from importlib import metadata

from isr_pipeline.base.home import IN_CHECKOUT, REPOSITORY

PACKAGE = "isr-pipeline"

UNKNOWN = "0"
"""Number of a package that was never installed."""


def version() -> str:
    """Version number of the installed package (docs/project/releasing.md has the rule for it)."""
    try:
        return metadata.version(PACKAGE)
    except metadata.PackageNotFoundError:
        return UNKNOWN


def commit() -> str:
    """Name of the checkout's commit as ``git describe`` gives it; empty outside a checkout."""
    if not IN_CHECKOUT:
        return ""  # the folder may lie in somebody else's repository
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--tags"],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def version_line() -> str:
    """``isr-pipeline 0.1.0 (commit ea3dc14)``; without the commit outside a checkout."""
    name = commit()
    where = f" (commit {name})" if name else ""
    return f"{PACKAGE} {version()}{where}"
