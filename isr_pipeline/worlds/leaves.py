"""Where each slot stands in the winner tree: what is planned often stands near the root.

A plan is carried from its leaf to the root or nearly so, and slots differ by a thousand times in
how often they are planned: a broker's first handler with every request, a fault's slot twice in
all. So the tree is Huffman's: the levels that all plans pass are fewest. Where a slot stands
changes nothing else, as ties fall by its number.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from isr_pipeline.simulation.world import layout as at

Array = npt.NDArray[np.int64]

# Plans a thousand events of each entity of a kind, as counted by brute force in the three seconds
# of the default cluster that `benchmarks.speed.loops` runs. What is planned more seldom counts as
# _SELDOM, which keeps the tree from growing deep.
_SELDOM = 1.0
_PLANS = {
    at.SK_HANDLER: (72.0, 7.3, 2.5),  # a broker's first handler, second, ...: the first idle one
    at.SK_SENDER: (63.0, 16.0, 2.5),  # works, and so does the first network thread
    at.SK_CLIENT: (19.0,),
    at.SK_THREAD: (7.2,),
    at.SK_STREAM: (1.5,),
}
_PLANS_OF_FETCHES = (17.5,)  # a thread's first request; the others serve when one was given up
_PLANS_OF_PRODUCES = (3.0,)


@dataclass(frozen=True, slots=True)
class Tree:
    """A winner tree's shape. Nobody changes it: worlds share it.

    Attributes:
        leaves: node of each slot by its number, counted as in a heap: 1 is the root, and below
            ``i`` are ``2 i`` and ``2 i + 1``.
        inner: all other nodes, from the deepest on.
        size: a number above all of theirs.
    """

    leaves: Array
    inner: Array
    size: int


def plans(kind: int, group: int) -> list[float]:
    """How often the slots of a group of this kind are planned: of a broker's handlers, say."""
    return _padded(_PLANS.get(kind, ()), group)


def plans_of_fetches() -> list[float]:
    """How often the slots of a fetcher thread's requests are planned."""
    return _padded(_PLANS_OF_FETCHES, at.REQS_PER_THREAD)


def plans_of_produces() -> list[float]:
    """How often the slots of a produce stream's requests are planned."""
    return _padded(_PLANS_OF_PRODUCES, at.REQS_PER_STREAM)


def _padded(known: tuple[float, ...], group: int) -> list[float]:
    return [*known[:group], *[_SELDOM] * (group - len(known))]


@lru_cache(maxsize=64)
def tree_of(weights: tuple[float, ...]) -> Tree:
    """Huffman's tree of slots that are planned so often, in canonical order.

    Args:
        weights: of each slot, at least two, in the order in which leaves of one level shall stand.
    """
    levels = _levels(weights)
    leaves = [0] * len(weights)
    node, level = 1, 0
    for number in sorted(range(len(weights)), key=levels.__getitem__):
        node <<= levels[number] - level
        level = levels[number]
        leaves[number] = node
        node += 1
    inner = set()
    for leaf in leaves:
        above = leaf >> 1
        while above and above not in inner:
            inner.add(above)
            above >>= 1
    descending = np.array(sorted(inner, reverse=True), dtype=np.int64)
    return Tree(np.array(leaves, dtype=np.int64), descending, max(leaves) + 1)


def _levels(weights: tuple[float, ...]) -> list[int]:
    """How far each slot is from the root of Huffman's tree."""
    count = len(weights)
    heap = [(weight, number, number) for number, weight in enumerate(weights)]
    heapq.heapify(heap)
    above = [0] * (2 * count - 1)
    for node in range(count, 2 * count - 1):
        lighter, _, one = heapq.heappop(heap)
        weight, order, other = heap[0]
        above[one] = above[other] = node
        heapq.heapreplace(heap, (lighter + weight, order, node))
    levels = [0] * (2 * count - 1)
    for node in range(2 * count - 3, -1, -1):
        levels[node] = levels[above[node]] + 1
    return levels[:count]
