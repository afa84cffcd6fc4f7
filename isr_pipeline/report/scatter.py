"""Configurations as circles over two metrics, with their names where there is room."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isr_pipeline.report.charts import ACCENT, MUTED, WARM, Chart, numbers
from isr_pipeline.report.data import DETECTION_DELAY, SPURIOUS
from isr_pipeline.report.names import NARROW, WIDE
from isr_pipeline.report.placing import placed
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE, in_unit, label, plain, unit

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.report.data import NightData
    from isr_pipeline.verdicts.between import Between

    Floats = npt.NDArray[np.float64]

SMALLEST_PX = 11.0
ALIKE = 1.05
"""Values whose ratio is below that have circles of one size."""

LARGEST = 9.0
"""A circle's area is at most so many times the smallest one's."""

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
        sizes: diameters in pixels.
    """

    names: list[str]
    x: Floats
    y: Floats
    sizes: Floats


def sizes(values: Floats) -> Floats:
    """Diameters of circles whose areas are as the values.

    What is printed alike has one size, and so has everything if it differs by less than 5 %.
    """
    printed = np.array([_number(value) for value in values])
    least = float(np.min(printed[printed > 0], initial=np.inf))
    if not np.isfinite(least) or np.max(printed) < ALIKE * least:
        return np.full(len(values), SMALLEST_PX)
    return SMALLEST_PX * np.sqrt(np.clip(printed / least, 1.0, LARGEST))


def _number(value: float) -> float:
    text = plain(float(value))
    return 0.0 if text == "–" else float(text)


def alike(values: Floats) -> bool:
    """Whether every circle has the same size."""
    return len(np.unique(sizes(values))) < 2


def pareto(data: NightData, between: Between) -> Chart:
    """Offline rate against flaps; the size is the commit latency."""
    means = {name: between.panel.means(name) * in_unit(name) for name in (OFFLINE, FLAPS, LATENCY)}
    ids = np.array(between.panel.config_ids)
    points = Points(
        [data.name(one) for one in ids], means[OFFLINE], means[FLAPS], sizes(means[LATENCY])
    )
    is_reference, on_front = ids == between.reference, np.isin(ids, between.front)
    chart = _chart(
        points,
        [
            ("beaten by another", ~on_front & ~is_reference, MUTED, "circle"),
            ("on the Pareto front", on_front & ~is_reference, ACCENT, "circle"),
            (_reference(data, on_front & is_reference), is_reference, WARM, "x"),
        ],
        "offline %{x:.3g} % of time<br>flaps %{y:.3g}<br>commit p99 %{customdata:.4g} ms",
        means[LATENCY],
    )
    chart["layout"]["xaxis"]["title"] = {"text": f"{label(OFFLINE)}, {unit(OFFLINE)}"}
    chart["layout"]["yaxis"]["title"] = {"text": f"{label(FLAPS)}, {unit(FLAPS)}"}
    return chart


def _reference(data: NightData, on_front: Any) -> str:
    also = ", on the front too" if np.any(on_front) else ""
    return f"reference: {data.plan.reference}{also}"


def detector(data: NightData, between: Between) -> Chart:
    """Followers removed without a fault against the time that those with one stayed."""
    ids = np.array(between.panel.config_ids)
    names = [data.name(one) for one in ids]
    delay, wrong = between.panel.means(DETECTION_DELAY), between.panel.means(SPURIOUS)
    points = Points(names, delay, wrong, np.full(len(ids), SMALLEST_PX))
    is_reference = ids == between.reference
    chart = _chart(
        points,
        [
            ("configurations", ~is_reference, ACCENT, "circle"),
            (f"reference: {data.plan.reference}", is_reference, WARM, "x"),
        ],
        "late by %{x:.4g} ms a scenario<br>%{y:.3g} spurious removals a partition and hour",
        delay,
    )
    chart["layout"]["xaxis"]["title"] = {"text": "detection delay, ms a scenario"}
    chart["layout"]["yaxis"]["title"] = {"text": "spurious removals, a partition and hour"}
    return chart


def _chart(
    points: Points,
    groups: list[tuple[str, Any, str, str]],
    told: str,
    customdata: Floats,
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
                "customdata": numbers(customdata[members]),
                "marker": {
                    "size": numbers(points.sizes[members]),
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
    radii = [float(points.sizes[at]) / 2 for at in order]
    return dict(zip(order, placed(pixels, names, radii, size, room), strict=True))


def _texts(names: dict[int, tuple[str, str]], members: Any) -> dict[str, list[str]]:
    return {
        "text": [names[at][0] for at in members],
        "textposition": [names[at][1] for at in members],
    }
