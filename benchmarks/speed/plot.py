"""``make bench-plot``: the recorded ratios over commits, each beside its bar."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.speed import record
from benchmarks.speed.show import WORDS
from isr_pipeline.home import REPOSITORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PICTURE = REPOSITORY / "docs" / "img" / "speed.png"
_BLUE, _GREY = "#2b6cb0", "#888888"
_LABELS_MAX = 12


def series(lines: list[dict[str, Any]], name: str) -> list[tuple[int, float, float, float]]:
    """Points of a ratio: (line's number, median, least, most), without lines that lack it."""
    return [
        (number, line["ratios"][name], *line["spread"][name][:2])
        for number, line in enumerate(lines)
        if line["ratios"].get(name) is not None
    ]


def of_one_series(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that can be compared with the newest: same machine, same reference panel."""
    if not lines:
        return []
    newest = lines[-1]
    alike = ("machine", "panel_digest")
    return [line for line in lines if all(line[key] == newest[key] for key in alike)]


def draw(lines: list[dict[str, Any]], picture: Path) -> None:
    """Draw the ratios of some lines over their commits."""
    import matplotlib as mpl  # noqa: PLC0415 - takes a second

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, grid = plt.subplots(3, 2, figsize=(10, 8), sharex=True, layout="constrained")
    for axes, name in zip(grid.flat, WORDS, strict=True):
        _panel(axes, lines, name)
    figure.suptitle(f"{lines[-1]['machine']}", fontsize=9)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    plt.close(figure)


def _panel(axes: Axes, lines: list[dict[str, Any]], name: str) -> None:
    bar = record.BARS[name]
    limit = bar.at_least if bar.at_least is not None else bar.at_most
    assert limit is not None
    points = series(lines, name)
    if points:
        numbers, medians, least, most = zip(*points, strict=True)
        below = [m - low for m, low in zip(medians, least, strict=True)]
        above = [high - m for m, high in zip(medians, most, strict=True)]
        axes.errorbar(numbers, medians, yerr=[below, above], fmt="o-", color=_BLUE, capsize=3)
    axes.axhline(limit, color=_GREY, linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0)
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
    lines = of_one_series(record.read())
    if not lines:
        print("speed.jsonl has no line: run `make bench`")
        return 1
    draw(lines, given.to)
    print(f"{len(lines)} of {len(record.read())} lines (this machine and panel): {given.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
