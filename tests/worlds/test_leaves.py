"""The shape of the winner tree."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.simulation.world.states import Slot
from isr_pipeline.worlds.leaves import Tree, plans, tree_of

weights = st.lists(st.floats(0.5, 100), min_size=2, max_size=60).map(np.array)


def levels(tree: Tree) -> list[int]:
    """How far each slot's leaf is below the root."""
    return [leaf.bit_length() - 1 for leaf in tree.leaves.tolist()]


class TestTree:
    """Huffman's tree of any weights."""

    @given(weights)
    def test_every_place_is_taken(self, given_weights: npt.NDArray[np.float64]) -> None:
        """No leaf stands below another, and no node has one child: the levels say so (Kraft)."""
        tree = tree_of(given_weights)
        assert sum(Fraction(1, 1 << level) for level in levels(tree)) == 1
        assert not set(tree.leaves.tolist()) & set(tree.inner.tolist())

    @given(weights)
    def test_inner_nodes_are_those_with_children(
        self, given_weights: npt.NDArray[np.float64]
    ) -> None:
        """Every other node is listed once, and after whatever is below it."""
        tree = tree_of(given_weights)
        nodes = {*tree.leaves.tolist(), *tree.inner.tolist()}
        assert len(tree.inner) == len(given_weights) - 1
        assert all({2 * node, 2 * node + 1} <= nodes for node in tree.inner.tolist())
        assert np.all(np.diff(tree.inner) < 0)
        assert max(nodes) < tree.size

    @given(weights)
    def test_plans_pass_few_levels(self, given_weights: npt.NDArray[np.float64]) -> None:
        """On average fewer than the entropy and one: the mark of Huffman's tree."""
        total, depths = sum(given_weights), levels(tree_of(given_weights))
        passed = sum(w * n for w, n in zip(given_weights, depths, strict=True))
        entropy = sum(w / total * math.log2(total / w) for w in given_weights)
        assert entropy - 1e-9 <= passed / total < entropy + 1

    @given(weights)
    def test_more_plans_stand_higher(self, given_weights: npt.NDArray[np.float64]) -> None:
        """Who is planned more often is not further from the root."""
        ordered = sorted(zip(given_weights, levels(tree_of(given_weights)), strict=True))
        for (less, deep), (more, high) in pairwise(ordered):
            assert less == more or deep >= high


def test_more_of_a_kind_than_counted_are_seldom_planned() -> None:
    """Handlers beyond those counted wait deep in the tree; fewer than counted do no harm."""
    assert plans(Slot.HANDLER, 8)[3:] == [plans(Slot.FAULT, 1)[0]] * 5
    assert plans(Slot.HANDLER, 2) == plans(Slot.HANDLER, 8)[:2]
