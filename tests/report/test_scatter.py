"""Circles over two metrics, and the names beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_pipeline.report import scatter
from isr_pipeline.report.data import SPURIOUS, read_night
from isr_pipeline.report.scatter import placed
from isr_pipeline.verdicts.judge import judge_night
from tests.verdicts.synthetic import NIGHT, World, scaled


class TestPlaced:
    """Names beside points."""

    def test_a_name_stands_where_it_hides_nothing(self) -> None:
        """Right of its point, unless another point or the edge is there."""
        names = ["first", "second", "edge"]
        told = placed([(30, 50), (50, 50), (290, 50)], names, [5, 5, 5], (300, 100), 20)
        assert [name for name, _ in told] == names
        assert [place for _, place in told] == ["top center", "middle right", "middle left"]

    def test_points_at_one_place_share_a_name(self) -> None:
        """The first is named, and how many others there are."""
        told = placed([(50, 50)] * 3, ["today", "b", "c"], [5, 5, 5], (300, 100), 20)
        assert told[0][0] == "today and 2 more"
        assert [name for name, _ in told[1:]] == ["", ""]

    def test_two_names_without_room_are_one_and_a_number(self) -> None:
        """What is at one place is not left out because both names do not fit."""
        told = placed([(5, 10)] * 2, ["unclean", "unclean-min-isr-1"], [5, 5], (150, 20), 20)
        assert told[0][0] == "unclean and 1 more"

    def test_a_name_without_room_is_left_out(self) -> None:
        """Rather none than one over another."""
        assert placed([(5, 5)], ["long-name"], [5], (20, 20), 20)[0][0] == ""


class TestDetector:
    """The chart of a night."""

    @pytest.fixture(autouse=True)
    def at(self, home: Path) -> None:
        """A home of our own."""
        del home

    def test_the_reference_is_named_and_marked(self) -> None:
        """It has a sign of its own and is no circle besides."""
        world = World(names=("today", "lag-20s", "min-2"))
        judge_night(world.write(NIGHT, scaled(SPURIOUS, 3.0, "lag-20s")))
        chart = scatter.detector(read_night(world.plan(NIGHT)))
        assert chart is not None
        drawn = chart["data"]
        assert drawn[-1]["name"] == "reference: today"
        assert (drawn[-1]["marker"]["symbol"], drawn[-1]["hovertext"]) == ("x", ["today"])
        assert "today" in drawn[-1]["text"][0]
        assert "today" not in [name for trace in drawn[:-1] for name in trace["hovertext"]]
