"""Names beside the points of a scatter plot, where they hide no point and no other name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.report.names import shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top in pixels."""

LETTER_PX, LINE_PX = 6.8, 15.0
"""A letter's width and a line's height, as charts have them."""

AWAY_PX = 4.0
TOGETHER_PX = 8.0
"""Points as close as that share one name."""

NAMED_TOGETHER = 2
"""Names that are told of points at one place if they fit; of others, how many there are."""


def placed(
    points: Sequence[Point],
    names: Sequence[str],
    radii: Sequence[float],
    size: tuple[float, float],
    room: int,
) -> list[tuple[str, str]]:
    """A name and its place for each point, as Plotly has them; no name where none fits.

    Args:
        points: in pixels, from the lower left; the first is named first.
        names: of the points.
        radii: of their circles.
        size: of the plot.
        room: as many characters a name may have.
    """
    short = shortened(names, room)
    circles = [(x - r, y - r, x + r, y + r) for (x, y), r in zip(points, radii, strict=True)]
    told = [("", "middle right")] * len(points)
    taken: list[Box] = []
    for members in _together(points):
        others = [circles[at] for at in range(len(points)) if at not in members]
        first = max(members, key=lambda at: radii[at])
        for text, place, box in _ways(
            points[first], radii[first], [short[names[at]] for at in members]
        ):
            if _inside(box, size) and not any(_overlap(box, one) for one in (*others, *taken)):
                told[first] = text, place
                taken.append(box)
                break
    return told


def _together(points: Sequence[Point]) -> list[list[int]]:
    """Indices of the points at each place."""
    groups: list[list[int]] = []
    for at, (x, y) in enumerate(points):
        for group in groups:
            near = points[group[0]]
            if abs(near[0] - x) <= TOGETHER_PX and abs(near[1] - y) <= TOGETHER_PX:
                group.append(at)
                break
        else:
            groups.append([at])
    return groups


def _ways(point: Point, radius: float, names: list[str]) -> list[tuple[str, str, Box]]:
    """What may be written where, the fullest text and the best place first."""
    texts = [f"{names[0]} and {len(names) - 1} more"] if len(names) > 1 else []
    if len(names) <= NAMED_TOGETHER:
        texts.insert(0, ", ".join(names))
    return [(text, place, box) for text in texts for place, box in _boxes(point, radius, text)]


def _boxes(point: Point, radius: float, text: str) -> list[tuple[str, Box]]:
    """Where a name may stand about a point, the best place first."""
    (x, y), wide, away = point, LETTER_PX * len(text), radius + AWAY_PX
    half = LINE_PX / 2
    return [
        ("middle right", (x + away, y - half, x + away + wide, y + half)),
        ("middle left", (x - away - wide, y - half, x - away, y + half)),
        ("top center", (x - wide / 2, y + away, x + wide / 2, y + away + LINE_PX)),
        ("bottom center", (x - wide / 2, y - away - LINE_PX, x + wide / 2, y - away)),
    ]


def _inside(box: Box, size: tuple[float, float]) -> bool:
    return box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
