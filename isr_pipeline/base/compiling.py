"""Where compiled kernels are cached, so that a changed rule can never run as yesterday's code.

numba keys its cache by the file of the function that is compiled; it does not notice a change in a
function which another file's kernel calls. The cache folder is therefore named by a digest of all
sources that end up in the kernel.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from isr_pipeline.base.home import Home

if TYPE_CHECKING:
    from collections.abc import Sequence

PACKAGE = Path(__file__).resolve().parents[1]
COMPILED_ROOMS = ("kafka", "simulation")
"""Folders whose functions are compiled into the kernel."""

KERNEL_ROOMS = (*COMPILED_ROOMS, "scenarios", "worlds")
"""Folders whose sources decide an outcome, with the scenario and the configuration given."""

EXACT = "ISR_PIPELINE_EXACT"
"""Environment variable: nothing that repeats is jumped over, and no run is shared. The result is
the same, which is what somebody who doubts it wants to see."""


def is_exact() -> bool:
    """Whether every event is simulated, of every configuration."""
    return os.environ.get(EXACT) == "1"


def slow_ways(*, exact: bool, plain: bool = False) -> None:
    """Let this process, and those that it starts, leave shortcuts or the compiler aside.

    Called before numba is imported, which reads its variable then.

    Args:
        exact: without jumps and shared runs.
        plain: without the compiler.
    """
    if exact:
        os.environ[EXACT] = "1"
    if plain:
        os.environ["NUMBA_DISABLE_JIT"] = "1"


def sources_digest(rooms: Sequence[str], package: Path = PACKAGE) -> str:
    """SHA-256 over the path and the content of every source file of some rooms, folders below too.

    Args:
        rooms: folders of the package.
        package: the package's folder.
    """
    digest = hashlib.sha256()
    for room in rooms:
        for source in sorted((package / room).rglob("*.py")):
            digest.update(source.relative_to(package).as_posix().encode() + b"\0")
            digest.update(source.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def compiled_digest() -> str:
    """Digest of the sources that are compiled: 16 hexadecimal digits."""
    return sources_digest(COMPILED_ROOMS)[:16]


def mark_beside_sources() -> Path:
    """File of an installation: the kernel of these sources is compiled beside them."""
    return PACKAGE / "__pycache__" / f"kernel-{compiled_digest()}"


def use_kernel_cache() -> None:
    """Point numba at the cache folder of the present sources, unless the environment names one.

    An installation that has its kernel beside the sources, as in an archive that Spark unpacks
    anywhere, needs no folder: numba looks there where none is named.

    numba reads the variable when it is imported; one that somebody has imported before is told, or
    it would keep kernels beside their sources, and run them when a file that they link changed.
    """
    if "NUMBA_CACHE_DIR" not in os.environ:
        mark = mark_beside_sources()
        beside = mark.is_file() and os.access(mark.parent, os.W_OK)  # else numba passes it over
        home = Home.from_environment()
        folder = "" if beside else str(home.numba_cache / compiled_digest())
        os.environ["NUMBA_CACHE_DIR"] = folder
        if "numba" in sys.modules:
            sys.modules["numba"].config.CACHE_DIR = folder
