"""Where the sources of a night's code are found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.home import REPOSITORY
from isr_pipeline.kernels import commits
from isr_pipeline.kernels.source import kernel_of, libraries_here, read_archive, read_package

if TYPE_CHECKING:
    from pathlib import Path

    from isr_pipeline.home import Home
    from isr_pipeline.kernels.source import Source


def find_source(code_version: str, home: Home, checkout: Path = REPOSITORY) -> Source | None:
    """Find the sources that made a night.

    They are those that run now, those that a night kept when it was planned, or those of the commit
    that the code version names: whichever has its kernel digest.

    Returns:
        None if none of these has.
    """
    kernel = kernel_of(code_version)
    present = read_package(code_version=code_version, libraries=libraries_here())
    if present.kernel_digest.startswith(kernel):
        return present
    try:
        kept = read_archive(home.kernels / f"{kernel}.tar.xz")
    except Refused:
        kept = None
    if kept is not None and kept.kernel_digest.startswith(kernel):
        return kept
    commit = commits.resolved(code_version, checkout)
    found = commits.source_of(commit, checkout) if commit else None
    if found is not None and found.kernel_digest.startswith(kernel):
        return found
    return None
