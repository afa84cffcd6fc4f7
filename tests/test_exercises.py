"""Rules that jumps and reuse have never heard of, by the recipes of docs/project/adding.md.

They are built in a copy of the checkout, and run without the compiler.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from tests.test_adding import applied, copied, recipes, run

if TYPE_CHECKING:
    from pathlib import Path

MEMORY, VALUE, CONTROLLER = (
    "A rule that remembers",
    "A value of a switch",
    "A rule of the controller",
)
DATA = "tests/data/exercises"
PAIRS = {
    MEMORY: (
        f"{DATA}/two-pauses.yaml",
        "cluster.release=two (4.1+ with shrink_needs_two_misses=true)",
    ),
    VALUE: (f"{DATA}/slow-second.yaml", "rules.election=longest_log"),
    CONTROLLER: (
        "leader-returns.yaml",
        "cluster.release=f (4.1+ with leads_wait_for_full_isr=true)",
    ),
}
LISTED = '    "Follower.missed_checks": "ticks.try_walks",\n'


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout with the three recipes applied."""
    folder = copied(tmp_path_factory.mktemp("exercises") / "copy")
    for heading in PAIRS:
        for block in recipes()[heading]:
            applied(folder, block)
    return folder


def told(copy: Path, *headings: str) -> dict[str, dict[str, Any]]:
    """Heading -> what `tests.exercises` tells of it."""
    given = [shlex.quote(word) for heading in headings for word in PAIRS[heading]]
    lines = run(copy, f"python -m tests.exercises {' '.join(given)}").splitlines()
    return dict(zip(headings, map(json.loads, lines), strict=True))


@pytest.fixture(scope="module")
def known(copy: Path) -> dict[str, dict[str, Any]]:
    """What is told of each exercise as its recipe has it."""
    return told(copy, *PAIRS)


class TestExercises:
    """A new rule is simulated rightly, with shortcuts and without."""

    @pytest.mark.parametrize("heading", PAIRS)
    def test_is_exact(self, known: dict[str, dict[str, Any]], heading: str) -> None:
        """It changes what happens, and nothing else changes that."""
        today, changed = known[heading]["kinds"]
        assert today != changed
        assert min(known[heading]["one_by_one"]) > 0

    def test_a_memory_jumps(self, known: dict[str, dict[str, Any]]) -> None:
        """A follower that misses one tick, and later another, stays; most ticks are counted."""
        assert known[MEMORY]["kinds"][1] == []
        assert known[MEMORY]["unlisted"] == []
        assert max(known[MEMORY]["one_by_one"]) < known[MEMORY]["plain"] / 4

    def test_a_memory_that_nobody_listed(
        self, copy: Path, known: dict[str, dict[str, Any]]
    ) -> None:
        """The fence names its cell; every tick is simulated meanwhile, and the result is right."""
        ticks = copy / "isr_pipeline" / "simulation" / "shortcuts" / "ticks.py"
        text = ticks.read_text(encoding="utf-8")
        assert LISTED in text
        ticks.write_text(text.replace(LISTED, ""), encoding="utf-8")
        forgotten = told(copy, MEMORY)[MEMORY]
        ticks.write_text(text, encoding="utf-8")
        assert forgotten["unlisted"] == ["Follower.missed_checks"]
        assert min(forgotten["one_by_one"]) > max(known[MEMORY]["one_by_one"])
