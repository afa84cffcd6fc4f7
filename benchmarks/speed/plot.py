"""``make bench-plot``: the recorded ratios over commits, each beside its bar.

Ratios are of one run, so lines of several machines stand in one picture, each machine in its own
colour: what differs between two colours may be the machine's doing.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.speed import record
from benchmarks.speed.show import WORDS
from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = REPOSITORY / "docs" / "img" / "speed.png"
_GREY = "#888888"
_LABELS_MAX = 12


def series(lines: list[dict[str, Any]], name: str) -> list[tuple[int, float, float, float]]:
    """Points of a ratio: (line's number, median, least, most), without lines that lack it."""
    return [
        (number, line["ratios"][name], *line["spread"][name][:2])
        for number, line in enumerate(lines)
        if line["ratios"].get(name) is not None
    ]


def of_one_panel(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of the newest one's reference panel: others measured something else."""
    return [line for line in lines if line["panel_digest"] == lines[-1]["panel_digest"]]


def draw(lines: list[dict[str, Any]], picture: Path) -> None:
    """Draw the ratios of some lines over their commits."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    rows = math.ceil(len(WORDS) / 2)
    size = (10, 2.7 * rows)
    figure, grid = plt.subplots(rows, 2, figsize=size, sharex=True, layout="constrained")
    for axes, name in zip(grid.flat, WORDS, strict=False):
        _panel(axes, lines, name)
    for axes in grid.flat[len(WORDS) :]:
        axes.set_visible(False)
    figure.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper left", fontsize=8)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def _panel(axes: Axes, lines: list[dict[str, Any]], name: str) -> None:
    bar = record.BARS[name]
    limit = bar.at_least if bar.at_least is not None else bar.at_most
    assert limit is not None
    points = series(lines, name)
    for k, machine in enumerate(dict.fromkeys(line["machine"] for line in lines)):
        own = [point for point in points if lines[point[0]]["machine"] == machine]
        numbers, medians, least, most = zip(*own, strict=True) if own else ((), (), (), ())
        below = [m - low for m, low in zip(medians, least, strict=True)]
        above = [high - m for m, high in zip(medians, most, strict=True)]
        axes.errorbar(
            numbers, medians, [below, above], fmt="o-", color=f"C{k}", capsize=3, label=machine
        )
    axes.axhline(limit, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(0, 1.1 * max([limit, *(most for *_, most in points)]))
    axes.set_title(f"{WORDS[name]} ({bar})", fontsize=9, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    step = -(-len(lines) // _LABELS_MAX)
    axes.set_xlim(-0.5, len(lines) - 0.5)
    axes.set_xticks(range(0, len(lines), step))
    labels = [(line["commit"] or "?")[:7] for line in lines[::step]]
    axes.set_xticklabels(labels, rotation=45, ha="right", fontsize=8)


def main() -> int:
    """Run as a program; 1 if nothing is recorded."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.plot", description=__doc__)
    parser.add_argument("--to", type=Path, default=PICTURE, help="picture to write")
    given = parser.parse_args()
    lines = of_one_panel(record.read())
    if not lines:
        print("speed.jsonl has no line: run `make bench BENCH_ARGS=--record`")
        return 1
    draw(lines, given.to)
    print(f"{len(lines)} of {len(record.read())} lines (of this panel): {given.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
