"""``python -m tests.simulation.without_internal [NAME]``: a small kernel, where numba lacks one.

NAME is one of `jit.INTERNALS`, or the private option `compiling.UNCOUNTED`. Prints JSON: whether
the hooks are in use, and what the kernel gave.
"""

from __future__ import annotations

# ruff: noqa: E402 - numba loses its internal before the kernel's modules look for it
import json
import sys
from typing import Any

import numba
import numpy as np

from benchmarks.ablations.switches import rename

OPTION = "_nrt"
for lacking in sys.argv[1:]:
    if lacking == OPTION:
        options: Any = numba.core.cpu.CPUTargetOptions
        delattr(next(one for one in options.__mro__ if OPTION in vars(one)), OPTION)
    else:
        rename(lacking)

from isr_pipeline.kafka.compiling import OPTIONS, rule
from isr_pipeline.kafka.rows import Array, Cells, cells
from isr_pipeline.simulation.world import jit


@rule
def _is_late(waited: int, limit: int) -> bool:
    return waited > limit


@jit.hot
def _wait(w: Cells, i: int) -> None:
    w[i] += 2


@jit.cold
def _give_up(w: Cells) -> None:
    w[1] = 7


@jit.compiled
def _step(w: Cells) -> int:
    _wait(w, 0)
    if _is_late(w[0], 5):
        _give_up(w)
    return w[0]


@jit.entry
def run(array: Array) -> None:
    """Wait five times."""
    w = cells(array)
    for i in range(5):
        w[2 + i] = _step(w)


def main() -> None:
    """Run it and print what came of it."""
    array: Any = np.zeros(8, dtype=np.int64)
    run(array)
    found = {"hooked": jit.HOOKED, "counted": OPTION not in OPTIONS, "cells": array.tolist()}
    print(json.dumps(found))  # noqa: T201 - its output is its purpose


if __name__ == "__main__":
    main()
