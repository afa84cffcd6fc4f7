"""Real brokers over disks of known speed, and the same simulated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.conformance import load


@pytest.fixture(scope="module")
def found() -> list[load.Followed]:
    """Every follower of every repetition."""
    return load.compare()


class TestBars:
    """Who left leaves, who stayed stays; a constant guess passes one of both alone."""

    def test_who_left_by_load_leaves(self, found: list[load.Followed]) -> None:
        """Nine of ten at least."""
        left = [one for one in found if one.observed.left_ms is not None]
        assert sum(one.agrees for one in left) >= 0.9 * len(left) > 50

    def test_who_stayed_stays(self, found: list[load.Followed]) -> None:
        """Nine of ten at least."""
        stayed = [one for one in found if one.observed.left_ms is None]
        assert sum(one.agrees for one in stayed) >= 0.9 * len(stayed) > 30


class TestAbsences:
    """How a follower's absence is read from events."""

    FOLLOWER = ("t", 0, 3)

    @pytest.mark.parametrize(
        ("isrs", "left_ms", "back_ms"),
        [
            ([], None, None),
            ([[1, 2]], 0, None),
            ([[1, 2], [1, 2, 3]], 0, 1),
            ([[1, 2, 3], [1, 2], [1], [1, 3]], 1, 3),
            ([[1, 2], [1, 2, 3], [1, 2]], 0, None),
        ],
    )
    def test_first_out_and_last_in(
        self, isrs: list[list[int]], left_ms: int | None, back_ms: int | None
    ) -> None:
        """Times are those of the events."""
        events = [
            {
                "kind": "isr_expand" if 3 in isr else "isr_shrink",
                "topic": "t",
                "partition": 0,
                "isr": isr,
                "t_ms": at,
            }
            for at, isr in enumerate(isrs)
        ]
        assert load.absence(events, self.FOLLOWER) == load.Absence(left_ms, back_ms)


@pytest.mark.parametrize(
    "more",
    [{}, {"case": "x", "release": "3.9.1", "until_ms": 1, "observed": [], "scenario": "a word"}],
)
def test_a_damaged_line_is_refused(tmp_path: Path, more: dict[str, object]) -> None:
    """In one line that names it."""
    file = tmp_path / "load.jsonl"
    file.write_text(json.dumps({"id": "x", **more}) + "\n")
    with pytest.raises(InputError, match=r"load\.jsonl: line 1"):
        load.load_recordings(file)
