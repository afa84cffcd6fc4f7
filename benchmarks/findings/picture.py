"""A finding as a picture: a panel for each metric, a line for each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.findings import show
from benchmarks.findings.question import SHOWN
from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.findings.panel import Ratio
    from benchmarks.findings.question import Question

FOLDER = REPOSITORY / "docs" / "img"

BETTER, WORSE, NEITHER = "#0072B2", "#D55E00", "#666666"
"""Okabe and Ito's blue and vermilion: told apart by every kind of sight, and in print."""

TITLES = {
    "produce_unavailable_rate": "produce unavailable\n(acks=all)",
    "offline_partition_rate": "partitions offline",
    "isr_flaps_per_partition_hour": "ISR flaps",
    "commit_latency_p99_ms": "commit latency\n(99th percentile)",
}
LEAST, MOST = 0.04, 8.0
"""Ends of the axis."""

EDGE = 1.25
"""Factor by which a point at an end of the axis is moved inwards, so that it is seen whole."""


def draw(question: Question, found: Mapping[str, Mapping[str, Ratio]], scenarios: int) -> Path:
    """Draw a finding into the pictures of the docs."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    labels = list(question.labels)
    size = (9.6, 1.65 + 0.42 * len(labels))
    figure, grid = plt.subplots(1, len(SHOWN), figsize=size, sharey=True, layout="constrained")
    for axes, metric in zip(grid, SHOWN, strict=True):
        _panel(axes, [found.get(name, {}).get(metric) for name in labels])
        axes.set_title(TITLES[metric], fontsize=10)
    grid[0].set_yticks(range(len(labels)), [question.labels[name] for name in labels])
    grid[0].set_ylim(len(labels) - 0.5, -0.5)
    figure.suptitle(question.asks, fontsize=11, fontweight="bold")
    reference = question.labels[question.experiment.reference]
    figure.supxlabel(
        f"times {reference}; bars: 95 % intervals, {scenarios} simulated scenarios. "
        "Blue is better, orange is worse; triangles lie beyond the axis.",
        fontsize=9,
    )
    file = FOLDER / f"finding-{question.name}.png"
    figure.savefig(file, dpi=130)
    plt.close(figure)
    return file


def _marker(value: float) -> str:
    """A point; a triangle where the value lies beyond an end of the axis."""
    if value < LEAST * EDGE:
        return "<"
    return ">" if value > MOST / EDGE else "o"


def _panel(axes: Axes, ratios: list[Ratio | None]) -> None:
    """One metric: a point and its interval for each configuration; the reference at 1."""
    axes.axvline(1.0, color=NEITHER, linewidth=1, linestyle=":")
    for row, one in enumerate(ratios):
        if one is None:
            axes.plot([1.0], [row], "D", color=NEITHER, markersize=5)
        elif one.value == 0.0:
            axes.text(LEAST * 1.15, row, show.NEVER, va="center", fontsize=8.5, color=BETTER)
        elif one.value > 0.0:
            colour = NEITHER
            if show.is_clear(one):
                colour = WORSE if one.value > 1.0 else BETTER
            axes.plot([max(one.low, LEAST), min(one.high, MOST)], [row, row], "-", color=colour)
            # What lies beyond an end of the axis stands at that end, with its number.
            at = min(max(one.value, LEAST * EDGE), MOST / EDGE)
            axes.plot([at], [row], _marker(one.value), color=colour, markersize=5)
            said = f"{one.value:.2f}" if one.value >= show.LEAST_SAID else show.UNDER
            axes.annotate(
                said, (at, row), (0, 7), textcoords="offset points",
                ha="center", fontsize=8, color=colour,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(LEAST, MOST)
    axes.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"], fontsize=8)
    axes.minorticks_off()
    axes.tick_params(left=False)
    axes.spines[["top", "right", "left"]].set_visible(False)
