"""Where each slot stands in the winner tree: what is planned often stands near the root.

A plan is carried from its leaf to the root or nearly so, and slots differ by a thousand times in
how often they are planned: a broker's first handler with every request, a fault's slot twice in
all. So the tree is Huffman's: the levels that all plans pass are fewest. Where a slot stands
changes nothing else, as ties fall by its number.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.simulation.world.states import Slot
from isr_pipeline.simulation.world.tables import REQUESTS_PER_STREAM, REQUESTS_PER_THREAD

Array = npt.NDArray[np.int64]

# Plans a thousand events of each entity of a kind, as counted by brute force in the three seconds
# of the default cluster that `benchmarks.speed.loops` runs. What is planned more seldom counts as
# _SELDOM, which keeps the tree from growing deep.
_SELDOM = 1.0
_PLANS = {
    Slot.HANDLER: (72.0, 7.3, 2.5),  # a broker's first handler, second, ...: the first idle one
    Slot.SENDER: (63.0, 16.0, 2.5),  # works, and so does the first network thread
    Slot.CLIENT: (19.0,),
    Slot.THREAD: (7.2,),
    Slot.STREAM: (1.5,),
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


def plans(kind: Slot, group: int) -> list[float]:
    """How often the slots of a group of this kind are planned: of a broker's handlers, say."""
    return _padded(_PLANS.get(kind, ()), group)


def plans_of_fetches() -> list[float]:
    """How often the slots of a fetcher thread's requests are planned."""
    return _padded(_PLANS_OF_FETCHES, REQUESTS_PER_THREAD)


def plans_of_produces() -> list[float]:
    """How often the slots of a produce stream's requests are planned."""
    return _padded(_PLANS_OF_PRODUCES, REQUESTS_PER_STREAM)


def _padded(known: tuple[float, ...], group: int) -> list[float]:
    return [*known[:group], *[_SELDOM] * (group - len(known))]


def tree_of(weights: npt.NDArray[np.float64]) -> Tree:
    """Huffman's tree of slots that are planned so often, in canonical order.

    Args:
        weights: of each slot, at least two, in the order in which leaves of one level shall stand.
    """
    levels = _levels(weights)
    order = np.argsort(levels, kind="stable")
    of_level = np.bincount(levels)
    leaves = np.zeros(len(weights), dtype=np.int64)
    inner = []
    node = done = 0
    for level, count in enumerate(of_level.tolist()):
        node = 2 * node if level else 1
        leaves[order[done : done + count]] = np.arange(node, node + count)
        node += count
        done += count
        inner.append(np.arange(node, 2 << level)[::-1])
    descending = np.concatenate(inner[::-1]).astype(np.int64)
    return Tree(leaves, descending, int(leaves.max()) + 1)


def _levels(weights: npt.NDArray[np.float64]) -> Array:
    """How far each slot is from the root of Huffman's tree."""
    values, class_of, counts = np.unique(weights, return_inverse=True, return_counts=True)
    levels = np.zeros(len(weights), dtype=np.int64)
    by_class = np.argsort(class_of, kind="stable")
    begin = 0
    for count, depths in zip(
        counts.tolist(), _depths(values.tolist(), counts.tolist()), strict=True
    ):
        slots = by_class[begin : begin + count]
        levels[slots] = np.repeat(sorted(depths), [depths[depth] for depth in sorted(depths)])
        begin += count
    return levels


def _depths(values: list[float], counts: list[int]) -> list[dict[int, int]]:
    """How many leaves of each weight stand at which depth of Huffman's tree.

    Nodes of one weight and one make are counted, not listed: slots are many, weights are few.

    Args:
        values: the different weights.
        counts: how many slots have each.
    """
    left = list(counts)
    children: list[tuple[int, int]] = []
    heap = [(value, make) for make, value in enumerate(values)]
    heapq.heapify(heap)
    while len(heap) > 1 or left[heap[0][1]] > 1:
        weight, one = heapq.heappop(heap)
        if left[one] > 1:
            other, heavier, pairs = one, weight, left[one] // 2
            left[one] -= 2 * pairs
            if left[one]:
                heapq.heappush(heap, (weight, one))
        else:
            heavier, other = heap[0]
            pairs = 1
            left[one] -= 1
            left[other] -= 1
            if left[other] == 0:
                heapq.heappop(heap)
        heapq.heappush(heap, (weight + heavier, len(left)))
        children.append((one, other))
        left.append(pairs)
    depths: list[dict[int, int]] = [{} for _ in left]
    depths[-1] = {0: 1}
    for make in range(len(left) - 1, len(values) - 1, -1):
        for child in children[make - len(values)]:
            for depth, count in depths[make].items():
                depths[child][depth + 1] = depths[child].get(depth + 1, 0) + count
    return depths[: len(values)]
