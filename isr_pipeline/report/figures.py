"""The main figures as PNG files, for MLflow's artifact viewer and for mail."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.storage.places import Place, remove_tree
from isr_pipeline.report.charts import RATIO_RANGE, RATIO_TICKS
from isr_pipeline.report.data import NightData, read_night
from isr_pipeline.verdicts.quantities import FLAPS, LATENCY, OFFLINE, PRODUCE
from isr_pipeline.verdicts.record import Status

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

INK, MUTED, ACCENT, WARM = "#1f2933", "#8896a5", "#2563a8", "#c2410c"
DPI = 130


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
    if data.verdict.against_reference:
        drawn["against_reference"] = _forest(data)
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


def _forest(data: NightData) -> Figure:
    """Ratios to the reference in the experiment's order; from none there is no ratio."""
    metrics = (PRODUCE, OFFLINE, FLAPS, LATENCY)
    against = data.verdict.against_reference
    figure = _figure(13, 1.4 + 0.24 * len(against))
    grid = figure.subplots(1, len(metrics), sharey=True, squeeze=False)
    for axes, metric in zip(grid[0], metrics, strict=True):
        for place, one in enumerate(against):
            found = one.difference(metric)
            told = None if found is None else found.pair
            if told is None or told.ratio is None:
                continue
            high = RATIO_RANGE[1] if told.high is None else told.high
            ends = np.clip([told.low or 0.0, high], *RATIO_RANGE)
            axes.hlines(place, *ends, color=ACCENT, lw=2)
            axes.plot(np.clip(told.ratio, *RATIO_RANGE), place, "o", color=INK, ms=4)
        axes.axvline(1.0, color=MUTED, lw=1)
        axes.set_xscale("log")
        low_edge, high_edge = axes.get_xlim()
        ticks = [tick for tick in RATIO_TICKS if low_edge <= tick <= high_edge]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_title(metric, loc="left", fontsize=9, color=INK)
        axes.spines[["top", "right"]].set_visible(False)
    names = [one.name for one in against]
    grid[0][0].set_yticks(range(len(names)), names, fontsize=7)
    grid[0][0].invert_yaxis()
    title = f"Ratio to {data.plan.reference}, with its interval"
    figure.suptitle(title, x=0.01, ha="left", color=INK)
    return figure
