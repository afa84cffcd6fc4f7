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

_PACKAGE = Path(__file__).resolve().parent
_COMPILED_ROOMS = ("kafka", "simulation")


@cache
def kernel_digest() -> str:
    """Digest of every source file of the compiled rooms: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for room in _COMPILED_ROOMS:
        for source in sorted((_PACKAGE / room).glob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def use_kernel_cache() -> None:
    """Point numba at the cache folder of the present sources, unless the environment names one.

    numba reads the variable when it is imported; one that somebody has imported before is told, or
    it would keep kernels beside their sources, and run them when a file that they link changed.
    """
    if "NUMBA_CACHE_DIR" not in os.environ:
        home = Path(os.environ.get("ISR_PIPELINE_HOME") or _PACKAGE.parent / ".state")
        folder = str(home / "numba" / kernel_digest())
        os.environ["NUMBA_CACHE_DIR"] = folder
        if "numba" in sys.modules:
            sys.modules["numba"].config.CACHE_DIR = folder
