"""The compiled kernel, ready before it is needed: compiled once, loaded once a machine."""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.compiling import PACKAGE, mark_beside_sources

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST_SCENARIO = {
    "scenario_id": "smallest",
    "horizon_ms": 10,
    "cluster": {"release": "4.1+", "controller": "kraft", "brokers": [1, 2]},
    "topics": [{"name": "t", "assignment": {0: [1, 2]}}],
}


def compile_kernel(before: str = "") -> None:
    """Compile the kernel once, if it has changed, before all of Spark's workers need it at once.

    Args:
        before: how the line begins that says so.
    """
    if _mark().exists():
        return
    said = "compiling the kernel (about a minute, again only when its sources change)"
    sys.stdout.write(f"{before}{said}\n")
    _run_smallest()
    _mark().touch()


def load_kernel() -> None:
    """Load the kernel into this process; processes forked from it have it too.

    Where nobody has compiled it, as in a home that is a worker's own, one process does so first.
    """
    if not _mark().exists():
        with _alone():
            compile_kernel()
    _run_smallest()


def compile_beside_sources() -> None:
    """Compile the kernel into this installation, which may then be packed and unpacked anywhere."""
    os.environ["NUMBA_CACHE_DIR"] = ""
    _mark().parent.mkdir(exist_ok=True)
    _mark().unlink(missing_ok=True)
    for old in PACKAGE.rglob("*.nb[ci]"):  # numba would not see what changed in another file
        old.unlink()
    compile_kernel()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time in, of those with the same folder of compiled kernels."""
    folder = _mark().parent
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "compiling.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _mark() -> Path:
    """File that says: the kernel of these sources is compiled."""
    folder = os.environ["NUMBA_CACHE_DIR"]
    return Path(folder) / "kernel-is-compiled" if folder else mark_beside_sources()


def _run_smallest() -> None:
    from isr_pipeline.scenarios.model import parse_scenario  # noqa: PLC0415 - reads the kernel
    from isr_pipeline.worlds.run import run  # noqa: PLC0415

    run(parse_scenario(SMALLEST_SCENARIO, "the smallest scenario"))


if __name__ == "__main__":
    compile_beside_sources()
