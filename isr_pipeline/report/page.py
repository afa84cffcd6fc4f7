"""What the sections of a night's page share: the charts, and what was explained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isr_pipeline.report import charts
    from isr_pipeline.verdicts.blame.why import Explanation


@dataclass(frozen=True, slots=True)
class Figure:
    """The place of a chart.

    Attributes:
        place: its id in the page; ``height``: in pixels.
        subject: begins the caption, in bold; ``caption``: the rest.
    """

    place: str
    height: int
    subject: str
    caption: str


class Page:
    """Collects charts, so that every one is drawn under the id it was given."""

    def __init__(self) -> None:
        self.charts: dict[str, charts.Chart] = {}
        self.explained: dict[str, Explanation | str] = {}
        """Configuration -> where its history parts from the baseline's, or why nobody can say."""

    def figure(self, chart: charts.Chart | None, subject: str, caption: str = "") -> Figure | None:
        """A figure with its caption in words; None where there is nothing to draw."""
        if chart is None:
            return None
        place = f"chart-{len(self.charts) + 1}"
        self.charts[place] = chart
        return Figure(place, chart["layout"]["height"], subject, caption)

    def figures(self, captioned: Iterable[tuple[charts.Chart | None, str, str]]) -> list[Figure]:
        """Those of some figures that have something to draw."""
        drawn = (self.figure(*one) for one in captioned)
        return [one for one in drawn if one is not None]
