"""What each configuration gains and costs, as a picture: page, terminal and MLflow draw this one.

A row is a configuration, the best first; a column is a metric. A cell has the ratio to the
reference as a mark on a logarithmic axis around 1, its interval as a bar, an arrow where an end is
open or beyond the axis, and the two figures that the ratio is of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isr_pipeline.report import differences
from isr_pipeline.verdicts import sentences
from isr_pipeline.verdicts.quantities import label
from isr_pipeline.verdicts.record import AgainstReference, Difference, Per, Word

REACHES = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
"""Upper ends that an axis may have; its lower end is one over it, and 1 is in the middle."""

SHAPES = {Word.BETTER: "▼", Word.WORSE: "▲", Word.UNDECIDED: "◇", Word.NONE: "●"}
"""A verdict's shape: less of every metric is better, so what falls is."""

COLOURS = {
    Word.BETTER: "improved",
    Word.WORSE: "regressed",
    Word.UNDECIDED: "undecided",
    Word.NONE: "none",
}
"""Word -> the class of its colour in the style sheet."""

MARGIN = 1.05
"""Room beyond the furthest end, for its mark."""

ROUNDING = 1e-9

NOTHING_WORSE = "nothing worse"
NOTHING_FOUND_WORSE = "nothing found worse"


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a metric, which all rows share.

    Attributes:
        unit: of the figures beside the bars; empty of ratios alone.
        reach: its upper end.
    """

    metric: str
    unit: str
    reach: float

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Places and labels, the lower end, 1 and the upper end."""
        low = f"{1 / self.reach:.2g}"
        return ((0.0, low), (0.5, "1"), (1.0, f"{self.reach:g}"))

    def place(self, ratio: float) -> float:
        """Where a ratio stands, 0 at the lower end and 1 at the upper one, also beyond them."""
        if ratio <= 0:
            return -1.0
        return 0.5 + 0.5 * math.log(ratio) / math.log(self.reach)


@dataclass(frozen=True, slots=True)
class Bar:
    """A ratio with its interval, as places on the axis from 0 to 1.

    Attributes:
        is_low_open: the interval goes on below the axis; ``is_high_open``: above it.
    """

    low: float
    mark: float
    high: float
    is_low_open: bool
    is_high_open: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric of a configuration.

    Attributes:
        word: what the tests say.
        differs: some scenario does.
        bar: None where one figure is none, or none differs.
        ratio: in words; ``pair``: the two figures, without their unit; ``told``: all of it.
    """

    metric: str
    word: Word
    differs: bool
    bar: Bar | None
    ratio: str
    pair: str
    told: str

    @property
    def shape(self) -> str:
        """The word as a mark."""
        return SHAPES[self.word]


@dataclass(frozen=True, slots=True)
class Row:
    """A configuration.

    Attributes:
        problem: why it could not be compared; ``weaker``: by which keys acks=all promises less.
        mark: that it gains and nothing is worse, else empty.
        cells: one for each axis; None where the metric was not compared.
    """

    name: str
    config_id: str
    problem: str
    weaker: str
    mark: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """All of it.

    Attributes:
        same: metrics that no configuration changes, which have no column.
    """

    axes: tuple[Axis, ...]
    rows: tuple[Row, ...]
    same: tuple[str, ...]


def picture(
    against: Sequence[AgainstReference], called: differences.Called = str
) -> Picture | None:
    """Draw the comparisons of a night; None if there is nothing to draw.

    Args:
        against: every configuration but the reference.
        called: names strata.
    """
    metrics = sorted(
        {each.metric for one in against for each in one.differences}, key=differences.place
    )
    told = [name for name in metrics if any(one.differing for one in _of(name, against))]
    if not against or not told:
        return None
    axes = tuple(_axis(name, list(_of(name, against))) for name in told)
    rows = tuple(_row(one, axes, called) for one in best_first(against))
    return Picture(axes, rows, tuple(label(one) for one in metrics if one not in told))


def _of(metric: str, against: Iterable[AgainstReference]) -> Iterable[Difference]:
    return (each for one in against for each in one.differences if each.metric == metric)


def best_first(against: Iterable[AgainstReference]) -> list[AgainstReference]:
    """What promises as much first, then fewest losses, then most gains."""

    def rank(one: AgainstReference) -> tuple[bool, bool, int, int]:
        words = [each.word for each in one.differences]
        worse, better = words.count(Word.WORSE), words.count(Word.BETTER)
        return bool(one.problem), bool(one.weaker), worse, -better

    return sorted(against, key=rank)


def _axis(metric: str, found: Sequence[Difference]) -> Axis:
    """An axis that all finite ends fit on, or the longest one."""
    pairs = [one.pair for one in found if one.differing and one.pair.ratio]
    ends = [end for one in pairs for end in (one.low, one.ratio, one.high) if end]
    furthest = max((max(end, 1 / end) for end in ends), default=1.0)
    reach = next((one for one in REACHES if one >= MARGIN * furthest), REACHES[-1])
    per = next((one.pair.per for one in found), Per.MIX)
    return Axis(metric, "" if per is Per.MIX else sentences.unit_per(metric, per), reach)


def _row(one: AgainstReference, axes: Sequence[Axis], called: differences.Called) -> Row:
    words = {each.word for each in one.differences}
    gains = Word.BETTER in words and Word.WORSE not in words and not one.weaker
    found = NOTHING_FOUND_WORSE if Word.UNDECIDED in words else NOTHING_WORSE
    return Row(
        name=one.name,
        config_id=one.config_id,
        problem=one.problem,
        weaker=differences.promise(one, called) if one.weaker and not one.problem else "",
        mark=found if gains else "",
        cells=tuple(
            None if each is None else _cell(each, axis, called)
            for axis, each in ((axis, one.difference(axis.metric)) for axis in axes)
        ),
    )


def _cell(one: Difference, axis: Axis, called: differences.Called) -> Cell:
    if not one.differing:
        told = f"{label(one.metric)}: {differences.SAME}"
        same = differences.same(one)
        return Cell(one.metric, Word.NONE, False, None, differences.SAME, same, told)
    return Cell(
        metric=one.metric,
        word=one.word,
        differs=True,
        bar=_bar(one, axis),
        ratio=sentences.ratio_of(one.pair),
        pair=sentences.figures_of(one.metric, one.pair, unit=False),
        told=f"{label(one.metric)}, {one.word}: {differences.size(one, called)}",
    )


def _bar(one: Difference, axis: Axis) -> Bar | None:
    pair = one.pair
    if not pair.before or not pair.after or not pair.ratio:
        return None
    low = axis.place(pair.low or 0.0)
    high = math.inf if pair.high is None else axis.place(pair.high)
    ends = low < -ROUNDING, high > 1.0 + ROUNDING
    low, mark, high = (min(1.0, max(0.0, at)) for at in (low, axis.place(pair.ratio), high))
    return Bar(low, mark, high, *ends)


# -- as text --------------------------------------------------------------------------------------

TEXT_WIDTH = 21
"""Characters of an axis in text; an odd number has a middle."""


def bar_text(bar: Bar | None, shape: str) -> str:
    """``   ━━▼━━━│          ``: an interval around 1 in characters, ``◀`` and ``▶`` for arrows."""
    cells = [" "] * TEXT_WIDTH
    cells[TEXT_WIDTH // 2] = "│"
    if bar is not None:
        low, mark, high = (round(one * (TEXT_WIDTH - 1)) for one in (bar.low, bar.mark, bar.high))
        for at in range(low, high + 1):
            cells[at] = "━" if at != TEXT_WIDTH // 2 else "┿"
        if bar.is_low_open:
            cells[0] = "◀"
        if bar.is_high_open:
            cells[-1] = "▶"
        cells[mark] = shape
    return "".join(cells)
