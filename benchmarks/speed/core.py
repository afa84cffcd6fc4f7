"""How much of a core this machine gives: to tell one machine's ratios, and moments, from another's.

On a host that is shared, a core may work for somebody else at the same time (two threads a core).
What could be done side by side waits for its turn then; a chain of operations that wait for each
other anyway waits less. So the same arithmetic is run as one chain and as eight. A step takes five
cycles (a multiplication three), and a core begins one multiplication a cycle: alone, it does eight
chains in the time of 1.6.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.speed.arms import compiled

STEPS = 1_000_000
CHAINS = 8

_FACTOR = np.int64(6364136223846793005)
_ADDED = np.int64(1442695040888963407)


@compiled
def _next(x):  # type: ignore[no-untyped-def]
    return (x * _FACTOR + _ADDED) ^ (x >> 7)


@compiled
def one_chain(x, steps):  # type: ignore[no-untyped-def]
    """Take steps that each wait for the one before."""
    for _ in range(steps):
        x = _next(x)
    return x


@compiled
def eight_chains(x, steps):  # type: ignore[no-untyped-def]
    """Take as many steps in each of eight chains that do not wait for each other."""
    a, b, c, d, e, f, g, h = x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7
    for _ in range(steps):
        a, b, c, d = _next(a), _next(b), _next(c), _next(d)
        e, f, g, h = _next(e), _next(f), _next(g), _next(h)
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h


def chains_at_once() -> float:
    """How many chains go on in the time of one: 5 on a core that works for nobody else."""
    return CHAINS * _seconds(one_chain) / _seconds(eight_chains)


def _seconds(chains: Any) -> float:
    """Processor time of STEPS steps."""
    chains(1, 1)  # compiled
    started = time.process_time()
    chains(1, STEPS)
    return time.process_time() - started
