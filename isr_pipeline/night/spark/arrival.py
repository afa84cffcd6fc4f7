"""What a Python worker does first where Spark brought it its code and its libraries.

Spark unpacks both into the executor's working folder, which is another one each time. Compiled
kernels are known by the path of their sources, so the code moves to a place of its own, where the
next executor finds it with what was compiled. The place is the worker's home, too: it has no other.

Standard library only: this runs before anything else does.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
import uuid
from pathlib import Path

from isr_pipeline.base.compiling import COMPILES

SHIPPED = "ISR_PIPELINE_SHIPPED"
"""Environment variable of workers that got their code from Spark: digest of that code."""

SCRATCH = "ISR_PIPELINE_WORKER_SCRATCH"
"""Environment variable: folder of a worker's machine below which code and compiled kernels lie, in
``isr-pipeline-UID``; without it the folder of temporary files."""

UMASK = "ISR_PIPELINE_WORKER_UMASK"
"""Environment variable: the driver's umask, so that it can replace what workers wrote."""

KEPT = 3
"""Versions of the code, with what was compiled of each, that stay on a worker's machine."""


def settle(module: str) -> None:
    """Start a module of the code that Spark brought, from the place where that stays.

    Returns only where Spark brought none.
    """
    digest = os.environ.pop(SHIPPED, "")
    if not digest:
        return
    os.umask(int(os.environ.get(UMASK, "022"), 8))
    home = _own_folder() / digest
    _place(Path("code").resolve(), home / "code")
    os.utime(home)
    _prune(home.parent)
    os.environ.pop("NUMBA_CACHE_DIR", None)
    os.environ.update(
        {"ISR_PIPELINE_HOME": str(home), "PYTHONPATH": str(home / "code"), COMPILES: "1"}
    )
    os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])  # noqa: S606


def _own_folder() -> Path:
    """Return the folder of this user's code on this machine.

    Raises:
        PermissionError: somebody else may write there, and with it choose what we run.
    """
    named = os.environ.get(SCRATCH) or tempfile.gettempdir()
    folder = Path(named) / f"isr-pipeline-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        msg = f"{folder} is not this user's alone; {SCRATCH} names another folder for workers"
        raise PermissionError(msg)
    return folder


def _place(brought: Path, place: Path) -> None:
    """Copy a folder, whole or not at all, unless it is there."""
    if place.is_dir():
        return
    writing = place.with_name(f"_writing-{uuid.uuid4().hex[:8]}")
    try:
        shutil.copytree(brought, writing)  # keeps the times of files, which kernels are known by
        writing.rename(place)
    except OSError:
        shutil.rmtree(writing, ignore_errors=True)
        if not place.is_dir():  # else another executor of this machine was sooner
            raise


def _prune(folder: Path) -> None:
    """Remove all versions of the code but those that were used last."""
    with contextlib.suppress(OSError):
        ours = [one for one in folder.iterdir() if (one / "code").is_dir()]
        versions = sorted(ours, key=lambda one: one.stat().st_mtime, reverse=True)
        for old in versions[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)
