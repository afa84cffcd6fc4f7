"""Circles over two metrics: their sizes, and the names beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isr_pipeline.report import scatter
from isr_pipeline.report.data import read_night
from isr_pipeline.report.html import render
from isr_pipeline.report.placing import placed
from isr_pipeline.report.scatter import SMALLEST_PX, sizes
from isr_pipeline.verdicts.judge import judge_night
from tests.verdicts.synthetic import NIGHT, World, scaled

FLAPS, LATENCY = "isr_flaps_per_partition_hour", "commit_latency_p99_ms"


class TestSizes:
    """A circle's area is as the value."""

    def test_noise_is_no_picture(self) -> None:
        """Values within 5 % of each other have one size."""
        assert set(sizes(np.array([4.118, 4.12, 4.123, 4.3]))) == {SMALLEST_PX}

    def test_what_is_printed_alike_has_one_size(self) -> None:
        """Three digits are printed; the fourth has no size."""
        first, second, third = sizes(np.array([4.0, 6.001, 6.004]))
        assert first == SMALLEST_PX
        assert second == third == pytest.approx(SMALLEST_PX * np.sqrt(1.5))

    def test_the_largest_is_limited(self) -> None:
        """A latency of a minute does not hide the others; none at all breaks nothing."""
        assert list(sizes(np.array([0.0, 1.0, 60_000.0]))) == [
            SMALLEST_PX,
            SMALLEST_PX,
            3 * SMALLEST_PX,
        ]


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
        told = placed([(5, 10)] * 2, ["unclean", "unclean-min-isr-2"], [5, 5], (150, 20), 20)
        assert told[0][0] == "unclean and 1 more"

    def test_a_name_without_room_is_left_out(self) -> None:
        """Rather none than one over another."""
        assert placed([(5, 5)], ["long-name"], [5], (20, 20), 20)[0][0] == ""


class TestPareto:
    """The chart of a night."""

    @pytest.fixture(autouse=True)
    def at(self, home: Path) -> None:
        """A home of our own."""
        del home

    def test_the_reference_is_named_and_marked(self) -> None:
        """It has a sign of its own and is no circle besides."""
        world = World(names=("today", "lag-20s", "min-2"))
        judge_night(world.write(NIGHT, scaled(FLAPS, 3.0, "lag-20s")))
        data = read_night(world.plan(NIGHT))
        assert data.between is not None
        drawn = scatter.pareto(data, data.between)["data"]
        assert drawn[-1]["name"].startswith("reference: today")
        assert (drawn[-1]["marker"]["symbol"], drawn[-1]["hovertext"]) == ("x", ["today"])
        assert "today" in drawn[-1]["text"][0]
        assert "today" not in [name for trace in drawn[:-1] for name in trace["hovertext"]]

    @pytest.mark.parametrize(("metric", "is_said"), [(FLAPS, True), (LATENCY, False)])
    def test_a_latency_that_no_setting_moves_is_said(self, metric: str, is_said: bool) -> None:
        """If another metric differs, the page names it; if latency itself differs, it does not."""

        def change(
            panel: str, name: str, columns: dict[str, np.ndarray], rng: np.random.Generator
        ) -> None:
            columns[LATENCY] = np.full(len(columns[LATENCY]), 4.12)
            scaled(metric, 3.0, "lag-20s")(panel, name, columns, rng)

        world = World(names=("today", "lag-20s"))
        judge_night(world.write(NIGHT, change))
        page = render(read_night(world.plan(NIGHT)))
        said = "4.12 ms everywhere, because a fault touches too few batches to reach the slowest"
        assert (said in page) is is_said
        assert ("commit latency p99 is alike" in page) is is_said
