"""How the kernel's functions are compiled."""

from __future__ import annotations

import numba
import numpy as np

import isr_pipeline.simulation.world.jit  # noqa: F401 - sets how all that follows is compiled


def _acts(w, kind):  # type: ignore[no-untyped-def]
    """Do one of eight things, as the kernel does at every event."""
    if kind == 0:
        w[0] += 1
    elif kind == 1:
        w[3] -= 2
    elif kind == 2:
        w[5] *= 3
    elif kind == 3:
        w[7] = 4
    elif kind == 4:
        w[9] += w[1]
    elif kind == 5:
        w[11] = w[2]
    elif kind == 6:
        w[1] = 7
    elif kind == 7:
        w[2] = w[3]


class TestDispatch:
    """What an event is is found by comparisons, not by a jump through a table."""

    def test_no_jump_table(self) -> None:
        """A choice of one in eight is compiled without a table of targets."""
        acts = numba.njit(_acts)
        acts(np.zeros(12, dtype=np.int64), 3)
        (code,) = acts.inspect_asm().values()
        assert ".LJTI" not in code
