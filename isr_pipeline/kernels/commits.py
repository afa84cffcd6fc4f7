"""What git says of the code: the commits between two kernels, and the sources of each."""

from __future__ import annotations

import io
import subprocess
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.compiling import KERNEL_ROOMS
from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.kernels.source import (
    PACKAGE,
    Source,
    is_kept,
    kernel_of,
    libraries_here,
    read_archive,
    read_package,
)

if TYPE_CHECKING:
    from pathlib import Path

    from isr_pipeline.base.home import Home


SECONDS_MAX = 60
_FORMAT = "%x01%H%x00%an%x00%aI%x00%s"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit.

    Attributes:
        sha: its whole name; ``author``, ``date``: of the author, ISO 8601; ``message``: first line.
        files: those of the kernel's rooms that it touched, from the checkout's root on.
    """

    sha: str
    author: str
    date: str
    message: str
    files: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "name": self.sha[:12],
            "sha": self.sha,
            "author": self.author,
            "date": self.date,
            "message": self.message,
            "files": list(self.files),
        }


def resolved(code_version: str, checkout: Path = REPOSITORY) -> str | None:
    """Whole name of the commit that a code version names; None if git does not know it."""
    name = code_version.partition("+kernel.")[0]
    if not name or name.startswith("-"):
        return None
    said = _git(checkout, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return said.decode().strip() if said else None


def between(old: str, new: str, checkout: Path = REPOSITORY) -> list[Commit] | None:
    """Commits after ``old`` up to ``new`` that touch the kernel, oldest first.

    A branch that was merged counts as its merge, whose parts `merged` gives.

    Returns:
        None if git cannot tell, or ``old`` is no ancestor of ``new``.
    """
    if _git(checkout, "merge-base", "--is-ancestor", old, new) is None:
        return None
    return _log(checkout, "-m", "--first-parent", f"{old}..{new}")


def merged(commit: str, checkout: Path = REPOSITORY) -> list[Commit]:
    """Commits that a merge brought, oldest first; empty if it is no merge."""
    if _git(checkout, "rev-parse", "--verify", "--quiet", f"{commit}^2") is None:
        return []
    return _log(checkout, "--no-merges", f"{commit}^1..{commit}") or []


def _log(checkout: Path, *which: str) -> list[Commit] | None:
    rooms = [f"{PACKAGE}/{room}" for room in KERNEL_ROOMS]
    options = ("--reverse", "--topo-order", "--name-only", f"--format={_FORMAT}")
    said = _git(checkout, "log", *options, *which, "--", *rooms)
    if said is None:
        return None
    return [_commit(text) for text in said.decode(errors="replace").split("\x01")[1:]]


def _commit(text: str) -> Commit:
    head, *rest = text.splitlines()
    sha, author, date, message = head.split("\0")
    return Commit(sha, author, date, message, tuple(line for line in rest if line))


def source_of(commit: str, checkout: Path = REPOSITORY) -> Source | None:
    """The kernel's sources of a commit; None if git cannot give them."""
    packed = _git(checkout, "archive", "--format=tar", commit, "--", PACKAGE)
    if packed is None:
        return None
    files = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            name = member.name.removeprefix(f"{PACKAGE}/")
            if member.isfile() and is_kept(name):
                content = archive.extractfile(member)
                files[name] = content.read() if content else b""
    return Source(files, commit[:12])


def is_clean(code_version: str, checkout: Path = REPOSITORY) -> bool:
    """Whether a commit holds the very kernel of a code version: else its tree was changed."""
    commit = resolved(code_version, checkout)
    source = source_of(commit, checkout) if commit else None
    return source is not None and source.kernel_digest.startswith(kernel_of(code_version))


def _git(checkout: Path, *arguments: str) -> bytes | None:
    """What git prints; None if it fails, or there is none."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=checkout,
            capture_output=True,
            timeout=SECONDS_MAX,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


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
    commit = resolved(code_version, checkout)
    found = source_of(commit, checkout) if commit else None
    if found is not None and found.kernel_digest.startswith(kernel):
        return found
    return None
