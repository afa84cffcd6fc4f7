"""Configurations as circles over two metrics, with their names where there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isr_pipeline.report.charts import ACCENT, WARM, Chart, numbers
from isr_pipeline.report.data import DETECTION_DELAY, SPURIOUS, NightData
from isr_pipeline.report.names import NARROW, WIDE, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


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


SIZE_PX = 11.0
"""A circle's diameter."""

MARGIN = 0.08
"""Of an axis, free on either side of the points."""

DESK, PHONE = (940.0, 330.0), (270.0, 330.0)
"""Pixels of the plot inside its axes."""


@dataclass(frozen=True, slots=True)
class Points:
    """What is drawn of the configurations, in their order.

    Attributes:
        names: whole.
        x, y: in the axes' units.
    """

    names: list[str]
    x: Floats
    y: Floats


def detector(data: NightData) -> Chart | None:
    """Followers removed without a fault against the time that those with one stayed.

    None where one of both has no figure.
    """
    late, removed = data.figures(DETECTION_DELAY), data.figures(SPURIOUS)
    if late is None or removed is None:
        return None
    there = np.array([not data.unusable(one) for one in data.panel.config_ids])
    ids = np.array(data.panel.config_ids)[there]
    names = [data.name(one) for one in ids]
    points = Points(names, late[1][there], removed[1][there])
    is_reference = ids == data.reference.config_id
    chart = _chart(
        points,
        [
            ("configurations", ~is_reference, ACCENT, "circle"),
            (f"reference: {data.plan.reference}", is_reference, WARM, "x"),
        ],
        f"detection delay: %{{x:.4g}}, {late[0]}<br>spurious removals: %{{y:.3g}}, {removed[0]}",
    )
    chart["layout"]["xaxis"]["title"] = {"text": f"detection delay, {late[0]}"}
    chart["layout"]["yaxis"]["title"] = {"text": f"spurious removals, {removed[0]}"}
    return chart


def _chart(
    points: Points,
    groups: list[tuple[str, Any, str, str]],
    told: str,
) -> Chart:
    """Circles in groups of (name, members, colour, symbol); the reference's is the last."""
    ranges = {"x": _range(points.x), "y": _range(points.y)}
    order = [int(at) for _, chosen, _, _ in reversed(groups) for at in np.flatnonzero(chosen)]
    desk = _names(points, ranges, order, DESK, WIDE)
    phone = _names(points, ranges, order, PHONE, NARROW)
    drawn = [(group, np.flatnonzero(group[1])) for group in groups if np.any(group[1])]
    return {
        "data": [
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": name,
                "x": numbers(points.x[members]),
                "y": numbers(points.y[members]),
                "hovertext": [points.names[at] for at in members],
                "marker": {
                    "size": SIZE_PX,
                    "color": colour,
                    "symbol": symbol,
                    "opacity": 0.8,
                    "line": {"width": 1, "color": "var(--paper)"},
                },
                "textfont": {"size": 12},
                "cliponaxis": False,
                **_texts(desk, members),
                "hovertemplate": f"<b>%{{hovertext}}</b><br>{told}<extra></extra>",
            }
            for (name, _, colour, symbol), members in drawn
        ],
        "narrow": {"data": [_texts(phone, members) for _, members in drawn]},
        "layout": {
            "xaxis": {"range": ranges["x"]},
            "yaxis": {"range": ranges["y"]},
            "height": 440,
        },
    }


def _range(values: Floats) -> list[float]:
    """An axis's ends: the points with a margin on either side."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    spread = (high - low) or abs(high) or 1.0
    return [low - MARGIN * spread, high + MARGIN * spread]


def _names(
    points: Points,
    ranges: dict[str, list[float]],
    order: list[int],
    size: tuple[float, float],
    room: int,
) -> dict[int, tuple[str, str]]:
    """Point -> its name and the name's place in a plot of a size."""
    (left, right), (low, high) = ranges["x"], ranges["y"]
    pixels = [
        (
            float((points.x[at] - left) / (right - left) * size[0]),
            float((points.y[at] - low) / (high - low) * size[1]),
        )
        for at in order
    ]
    names = [points.names[at] for at in order]
    radii = [SIZE_PX / 2 for _ in order]
    return dict(zip(order, placed(pixels, names, radii, size, room), strict=True))


def _texts(names: dict[int, tuple[str, str]], members: Any) -> dict[str, list[str]]:
    return {
        "text": [names[at][0] for at in members],
        "textposition": [names[at][1] for at in members],
    }
