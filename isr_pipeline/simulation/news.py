"""Which partitions of a fetcher thread may have news: what its plain fetches look at.

Bit ``i`` of T_NEWS is candidate ``i`` of the thread. As long as the thread's fetches are plain (see
`broker.is_plain`) and it is not set, the follower is at its leader's log end, and the leader's high
watermark is the one that the follower knows and that stands in the entry of the thread's request
(E_HW): the answer says nothing new. A set bit promises nothing.

Whoever moves a leader's log end or high watermark sets the bits of its followers; the thread clears
a bit when it finds nothing left to hear. A thread of more than NEWS_MAX candidates looks at all.
"""

from __future__ import annotations

from isr_pipeline.simulation.cells import trailing_zeros
from isr_pipeline.simulation.jit import compiled, inlined
from isr_pipeline.simulation.layout import (
    E_HW,
    E_OFFSET,
    K_LROW,
    P_RF,
    R_HW,
    R_LEO,
    R_PART,
    R_POS,
    R_TOWARDS,
    T_CANDS,
    T_NEWS,
)

NEWS_MAX = 62
"""Most candidates of a thread that have a bit each: one cell's, without its sign."""
EVERYTHING = (1 << NEWS_MAX) - 1


@inlined
def expect_news(w, t):
    """Thread ``t`` looks at all of its partitions once."""
    w[t + T_NEWS] = EVERYTHING


@compiled
def thread_of(w, lr, pos):
    """Row pointer of the thread that fetches for the follower at a position from ``lr``."""
    return w[w[lr + R_TOWARDS] + 2 * pos]


@compiled
def candidate(w, lr, pos):
    """Index of that follower among the candidates of that thread."""
    return w[w[lr + R_TOWARDS] + 2 * pos + 1]


@inlined
def tell_followers(w, lr):
    """The log end or the high watermark of the leader ``lr`` has moved."""
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            w[thread_of(w, lr, pos) + T_NEWS] |= 1 << (candidate(w, lr, pos) & 63)


@inlined
def next_news(w, t, i):
    """First candidate of thread ``t``, from ``i`` on, that may have news; beyond all if none."""
    if w[t + T_CANDS] > NEWS_MAX:
        return i
    return i + trailing_zeros(w[t + T_NEWS] >> i)


@inlined
def heard(w, t, i, e, k):
    """Thread ``t`` has dealt with entry ``e`` of its candidate ``i``, which had no records."""
    lr = w[k + K_LROW]
    offset = w[e + E_OFFSET]
    if offset < 0 or (w[lr + R_LEO] == offset and w[lr + R_HW] == w[e + E_HW]):
        w[t + T_NEWS] &= ~(1 << (i & 63))
