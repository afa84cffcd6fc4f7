"""Which partitions of a fetcher thread may have news: what plain fetches look at.

A fetch is plain while nothing can stand against any of its entries. What follows holds of a thread
as long as its fetches are plain; bit ``i`` of a mask is its candidate ``i``.

T_NEWS, for the answer: if the bit is not set, the follower is at its leader's log end, and the
leader's high watermark is the one that the follower knows and that stands in the entry of the
thread's request (E_HW): the answer says nothing new. A set bit promises nothing. Whoever moves a
leader's log end or high watermark sets the bits of its followers; the thread clears a bit when it
finds nothing left to hear.

T_SETTLED, for the question: if the bit is set and there are no news, the follower is in the ISR,
and the leader's record says already that it is at the log's end, and was at the last fetch: of a
fetch the record needs the time and nothing else. The leader sets the bit when it finds that; who
changes the record or the ISR clears it.

A thread of more than NEWS_MAX candidates looks at all.
"""

from __future__ import annotations

from isr_pipeline.kafka.record import LEO, PREV_LEADER_LEO
from isr_pipeline.simulation.world.cells import trailing_zeros
from isr_pipeline.simulation.world.jit import compiled, inlined
from isr_pipeline.simulation.world.layout import (
    E_BIT,
    E_HW,
    E_OFFSET,
    G_RARE,
    K_LROW,
    K_REC,
    P_RF,
    Q_PLAIN,
    R_HW,
    R_ISR,
    R_LEO,
    R_PART,
    R_POS,
    R_TOWARDS,
    T_CANDS,
    T_NEWS,
    T_REQ,
    T_SETTLED,
)

NEWS_MAX = 62
"""Most candidates of a thread that have a bit each: one cell's, without its sign."""
EVERYTHING = (1 << NEWS_MAX) - 1


@compiled
def next_unset(bits, i):
    """First number from ``i`` on whose bit is not set."""
    return i if bits == 0 else i + trailing_zeros(~bits >> i)


@inlined
def expect_news(w, t):
    """Thread ``t`` looks at all of its partitions once, and so does the broker it fetches from."""
    w[t + T_NEWS] = EVERYTHING
    w[t + T_SETTLED] = 0


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


@compiled
def is_plain(w, q):
    """Whether nothing stands against any entry of the fetch ``q``: it need not be asked again.

    Nothing stood against any when it was sent (see `follower.fetch_next`), and since then nothing
    has happened anywhere that could: no event but those of requests.
    """
    return w[q + Q_PLAIN] == w[G_RARE]


@compiled
def is_kept(w, t, q):
    """Whether the masks of thread ``t`` are about its fetch ``q``, and not one that it gave up."""
    return w[t + T_REQ] == q and w[t + T_CANDS] <= NEWS_MAX


@compiled
def settled(w, t, q):
    """A bit for each entry of thread ``t``'s fetch ``q`` that is known to be settled."""
    return w[t + T_SETTLED] & ~w[t + T_NEWS] if is_kept(w, t, q) else 0


@inlined
def is_settled(w, rec, e, k):
    """Whether entry ``e``, of candidate ``k``, is settled."""
    lr = w[k + K_LROW]
    row = w[k + K_REC]
    offset = w[e + E_OFFSET]
    return (
        w[lr + R_LEO] == offset
        and rec[row, LEO] == offset
        and rec[row, PREV_LEADER_LEO] == offset
        and (w[lr + R_ISR] & w[e + E_BIT]) != 0
    )


@inlined
def unsettle(w, t, i):
    """Candidate ``i`` of thread ``t`` may be settled no longer: its record or the ISR changes."""
    w[t + T_SETTLED] &= ~(1 << (i & 63))


@inlined
def unsettle_followers(w, lr):
    """The ISR of the leader ``lr`` changes."""
    for pos in range(w[w[lr + R_PART] + P_RF]):
        if pos != w[lr + R_POS]:
            unsettle(w, thread_of(w, lr, pos), candidate(w, lr, pos))


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
