"""The main figures as PNG files, for MLflow's artifact viewer and for mail."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib.figure import Figure

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.report.picture import Cell, Picture, picture
from isr_pipeline.verdicts.quantities import FLAPS, OFFLINE, label
from isr_pipeline.verdicts.record import Status, Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from isr_pipeline.experiment.plan import Plan

INK, MUTED, ACCENT, WARM = "#1f2933", "#8896a5", "#2563a8", "#c2410c"
DPI = 130

MARKS = {
    Word.BETTER: ("#00664b", "v"),
    Word.WORSE: ("#b3261e", "^"),
    Word.UNDECIDED: ("#7a5000", "D"),
    Word.NONE: (MUTED, "o"),
}
"""Word -> colour and shape, as on the page."""


def write_figures(plan: Plan) -> list[Place]:
    """Draw the figures of a judged night into its folder, replacing those of an earlier run.

    Returns:
        Paths of the PNG files, none where the night lacks the data for a figure.
    """
    data = read_night(plan)
    folder = plan.place / "figures"
    remove_tree(folder)
    drawn: dict[str, Figure | None] = {
        "verdicts": _statuses(data),
        "heat_offline": _heat(data, OFFLINE, "offline (no living leader)"),
        "heat_flaps": _heat(data, FLAPS, "ISR flaps"),
    }
    told = picture(data.verdict.against_reference)
    if told is not None:
        drawn["against_reference"] = _forest(told, data.plan.reference)
    paths = []
    for name, figure in drawn.items():
        if figure is not None:
            drawing = io.BytesIO()
            figure.savefig(drawing, format="png", dpi=DPI, bbox_inches="tight", facecolor="white")
            paths.append(write_whole(folder / f"{name}.png", drawing.getvalue()))
    return paths


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _statuses(data: NightData) -> Figure:
    counts = data.verdict.counts()
    figure = _figure(7, 2.6)
    axes = figure.subplots()
    names = [str(status) for status in Status]
    bars = axes.barh(names, [counts[status] for status in Status], color=ACCENT)
    axes.bar_label(bars, padding=3, color=INK)
    axes.invert_yaxis()
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_xticks([])
    axes.set_title(f"{data.plan.experiment}, night {data.plan.night}", loc="left", color=INK)
    return figure


def _heat(data: NightData, metric: str, title: str) -> Figure | None:
    heat = data.heat(metric)
    if heat is None:
        return None
    columns, rows, matrix = heat.columns, heat.rows, heat.matrix
    figure = _figure(2.6 + 0.9 * len(columns), 1.8 + 0.5 * len(rows))
    axes = figure.subplots()
    image = axes.imshow(matrix, cmap="cividis_r", aspect="auto")
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(data.heat_keys[0])
    axes.set_ylabel(data.heat_keys[1])
    middle = float(np.nanmean(matrix))
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            shade = "white" if value > middle else INK
            axes.text(column, row, f"{value:.3g}", ha="center", va="center", color=shade)
    axes.set_title(f"{title}, {heat.unit}", loc="left", color=INK)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def _forest(drawn: Picture, reference: str) -> Figure:
    """The picture of the page: a row a configuration, a column a metric."""
    figure = _figure(2.4 + 2.2 * len(drawn.axes), 1.4 + 0.42 * len(drawn.rows))
    grid = figure.subplots(1, len(drawn.axes), sharey=True, squeeze=False)
    for column, (axes, axis) in enumerate(zip(grid[0], drawn.axes, strict=True)):
        for place, row in enumerate(drawn.rows):
            _mark(axes, place, row.cells[column] if row.cells else None)
        axes.axvline(0.5, color=MUTED, lw=1)
        axes.set_xlim(-0.05, 1.05)
        places, texts = zip(*axis.ticks, strict=True)
        axes.set_xticks(places, texts)
        axes.set_title(label(axis.metric), loc="left", fontsize=9, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    names = [f"{row.name}\n{row.mark}" if row.mark else row.name for row in drawn.rows]
    grid[0][0].set_yticks(range(len(names)), names, fontsize=7)
    grid[0][0].set_ylim(len(names) - 0.3, -0.6)
    title = f"Ratio to {reference}, with its interval; less is better, the best first"
    figure.suptitle(title, x=0.01, ha="left", color=INK)
    return figure


def _mark(axes: Axes, place: int, cell: Cell | None) -> None:
    """A cell's bar, its verdict by colour and shape, and the two figures below."""
    if cell is None or not cell.differs:
        return
    colour, shape = MARKS[cell.word]
    said = f"{cell.word}: {cell.pair or cell.ratio}"
    axes.text(0.0, place + 0.4, said, fontsize=6, color=colour)
    bar = cell.bar
    if bar is None:
        return
    axes.hlines(place, bar.low, bar.high, color=colour, lw=2)
    for end, is_open, arrow in ((bar.low, bar.is_low_open, "<"), (bar.high, bar.is_high_open, ">")):
        if is_open:
            axes.plot(end, place, arrow, color=colour, ms=5)
    axes.plot(bar.mark, place, shape, color=colour, mfc="white" if shape == "D" else colour, ms=6)
