"""How the kernel's functions are compiled."""

from __future__ import annotations

import numba
import numpy as np

from isr_pipeline.simulation.shortcuts.pending import forget_pending
from isr_pipeline.simulation.world import jit
from isr_pipeline.simulation.world.tables import request_at, rules_in, world_in
from tests.simulation.test_pending import Fetching


def _forget_twice(w, rules, q):  # type: ignore[no-untyped-def]
    """Called at two places, a function is not inlined."""
    forget_pending(rules_in(rules), request_at(world_in(w), q))
    forget_pending(rules_in(rules), request_at(world_in(w), q + 0))


def _forget(w, rules, q):  # type: ignore[no-untyped-def]
    forget_pending(rules_in(rules), request_at(world_in(w), q))


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


class TestLinking:
    """An entry's own copies of the functions that it links."""

    def test_nobody_else_is_linked_to_them(self) -> None:
        """They take other arguments: a library that calls the function gets one of its own."""
        fetching = Fetching()
        fetching.act(jit.entry(_forget_twice), fetching.fetch)
        fetching.fetch.pending = 1
        fetching.act(numba.njit(_forget), fetching.fetch)
        assert fetching.fetch.pending == 0
