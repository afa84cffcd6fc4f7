"""Long names: in lines of text and beside charts."""

from __future__ import annotations

import re

import pytest

from isr_pipeline.report.names import NARROW, WIDE, breakable, shortened, with_short_names

LAG = [
    f"lag.time.max.ms-{limit}_min.insync.replicas-{least}"
    for limit in (5000, 10000, 30000)
    for least in (1, 2)
]


class TestBreakable:
    """Where a line may break inside a name."""

    def test_a_line_breaks_after_a_sign_alone(self) -> None:
        """Every piece but the last ends in a sign."""
        pieces = breakable(LAG[0]).split("<wbr>")
        assert "".join(pieces) == LAG[0]
        assert len(pieces) == 9
        assert all(piece[-1] in "._-" for piece in pieces[:-1])

    @pytest.mark.parametrize("text", ["fixwikihub-lag-60s", "0.94 × (0.87 to 0.99)", "1.2.3.4" * 4])
    def test_numbers_and_short_names_stay_whole(self, text: str) -> None:
        """A decimal point is no place to break, and a short name needs none."""
        assert breakable(text) == text

    def test_is_text_and_no_markup(self) -> None:
        """What stands in a name is escaped."""
        assert re.sub("<wbr>", "", breakable("<b>-of-a-very-long-name")) == (
            "&lt;b&gt;-of-a-very-long-name"
        )


class TestShortened:
    """What a chart calls a configuration."""

    @pytest.mark.parametrize("room", [NARROW, WIDE])
    def test_names_stay_distinct_and_keep_what_differs(self, room: int) -> None:
        """The values of both keys are in each short name, which has room."""
        short = shortened([*LAG, "conduktor-latency"], room)
        assert len(set(short.values())) == len(short)
        for name in LAG:
            limit, least = re.findall(r"-(\d+)", name)
            assert re.search(rf"\b{limit}_.*{least}$", short[name])
            assert len(short[name]) <= room

    def test_a_name_that_fits_stays(self) -> None:
        """Nothing is left out for nothing."""
        assert shortened(["today", "conduktor-latency"], NARROW) == {
            "today": "today",
            "conduktor-latency": "conduktor-latency",
        }

    def test_words_that_differ_are_kept(self) -> None:
        """Not only numbers tell names apart."""
        names = [f"unclean.leader.election.enable-{word}" for word in ("true", "false")]
        assert list(shortened(names, NARROW).values()) == [
            "unclean.leader…true",
            "unclean.leader…false",
        ]

    def test_names_alike_at_both_ends_get_more_room(self) -> None:
        """A difference in the middle of one word is still seen."""
        names = [f"{'x' * 30}{letter}{'y' * 30}" for letter in "ab"]
        assert len(set(shortened(names, NARROW).values())) == 2

    def test_only_axes_of_names_are_named(self) -> None:
        """A chart of numbers is drawn as it is; hovering gives a name whole."""
        chart = {"data": [{"y": LAG}, {"y": [1.0], "yaxis": "y2"}], "layout": {"yaxis": {"a": 1}}}
        drawn = with_short_names(chart)
        assert drawn["data"] == chart["data"]
        assert drawn["layout"]["yaxis"]["tickvals"] == LAG
        assert "yaxis2" not in drawn["layout"]
        assert len(set(drawn["narrow"]["layout"]["yaxis"]["ticktext"])) == len(LAG)
