"""A finding as text: a table for the terminal, and one for a page."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from benchmarks.findings.question import SHOWN
from isr_pipeline.verdicts.quantities import is_latency, quantity
from isr_pipeline.verdicts.record import Per
from isr_pipeline.verdicts.sentences import one_figure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.findings.panel import Ratio
    from benchmarks.findings.question import Question

NO_RATIO = "-"
"""Where the reference's value is zero: nothing to divide by."""

NEVER = "never seen"
"""Where the configuration's value is zero: resampling zeros gives no interval."""

LEAST_SAID = 0.005
"""Smaller ratios would be rounded to nothing."""

UNDER = "under 0.01"
"""What is said of them."""

LINE = 100

BROKERS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "none": ("no read holds a lock (KIP-501's text)", {"rules.isr_lock": "none"}),
    "rw_always": ("2.1 to 2.4: every tick waits", {"rules.isr_lock": "rw_always"}),
    "rw_precheck": ("2.5 and later", {}),
    "solution-1": (
        "2.5 and later with Solution 1",
        {"rules.kip501": "s1-doc", "follower.fetch.pending.reads.insync.enable": True},
    ),
}
"""Of the count of the stuck read's neighbours: name -> what it stands for, and its settings over
the finding's cluster."""
"""Columns of a terminal that a long line is wrapped to."""

LEAST_DIFFERENCE = 0.02
"""Ratios nearer to 1 are called no difference, however narrow their intervals."""


def number(ratio: Ratio) -> str:
    """``0.47 x (0.40-0.55)``."""
    if not math.isfinite(ratio.value):
        return NO_RATIO
    if ratio.value == 0.0:
        return NEVER
    if ratio.high < LEAST_SAID:
        return f"{UNDER} x"
    if not math.isfinite(ratio.low) or not math.isfinite(ratio.high):
        return f"{ratio.value:.2f} x"
    return f"{ratio.value:.2f} x ({ratio.low:.2f}\u2013{ratio.high:.2f})"


def is_clear(ratio: Ratio) -> bool:
    """Whether the interval leaves 1 out, and the ratio is not as good as 1."""
    outside = ratio.low > 1.0 or ratio.high < 1.0
    return ratio.value > 0.0 and outside and abs(ratio.value - 1.0) >= LEAST_DIFFERENCE


def cells(
    question: Question, found: Mapping[str, Mapping[str, Ratio]]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heading and rows: a row for each configuration, the reference too."""
    rows = []
    for name, label in question.labels.items():
        if name in found:
            rows.append((label, *(number(found[name][metric]) for metric in SHOWN)))
        else:
            rows.append((label, *("1" for _ in SHOWN)))
    return ("", *SHOWN.values()), rows


ESTIMATED = "How often faults happen is an estimate."
"""What a page says once, and a terminal below its figures."""


def absolute(
    question: Question, reference: Mapping[str, float], *, is_of_a_year: bool = True
) -> str:
    """What the reference itself has, so that a ratio can be told in minutes: one line.

    Args:
        question: whose reference it is.
        reference: metric -> its figure.
        is_of_a_year: False of what was kept before figures were of a year.
    """
    label = question.labels[question.experiment.reference]
    values = ", ".join(
        f"{heading} {_figure(metric, reference[metric], is_of_a_year=is_of_a_year)}"
        for metric, heading in SHOWN.items()
    )
    return f"{label}: {values}."


def _figure(metric: str, value: float, *, is_of_a_year: bool) -> str:
    if not is_of_a_year:
        return quantity(metric, value)
    return one_figure(metric, Per.TYPICAL if is_latency(metric) else Per.YEAR, value)


def text(
    question: Question,
    found: Mapping[str, Mapping[str, Ratio]],
    reference_values: Mapping[str, float],
    scenarios: int,
    *,
    is_of_a_year: bool = True,
) -> list[str]:
    """What `make finding` ends with: question, table, sentences, words; lines of plain text."""
    reference = question.labels[question.experiment.reference]
    heading, rows = cells(question, found)
    every = [heading, *rows]
    widths = [max(len(row[k]) for row in every) for k in range(len(heading))]
    table = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in every
    ]
    return [
        question.asks,
        "",
        *table,
        "",
        f"Ratios to {reference} over {scenarios} fault scenarios, with 95 % intervals.",
        *textwrap.wrap(
            f"{absolute(question, reference_values, is_of_a_year=is_of_a_year)} {ESTIMATED}",
            LINE,
            subsequent_indent="  ",
        ),
        *sentences(question, found),
        "What the columns mean, and why: docs/findings.md",
    ]


def markdown_table(question: Question, found: Mapping[str, Mapping[str, Ratio]]) -> list[str]:
    """The same as a Markdown table."""
    heading, rows = cells(question, found)
    lines = ["| " + " | ".join(heading) + " |", "|---|" + "---:|" * len(SHOWN)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def sentences(question: Question, found: Mapping[str, Mapping[str, Ratio]]) -> list[str]:
    """What each configuration clearly gains and what it costs, a line each."""
    lines = []
    for name, ratios in found.items():
        clear = {metric: one for metric, one in ratios.items() if is_clear(one)}
        gains = ", ".join(SHOWN[metric] for metric, one in clear.items() if one.value < 1.0)
        costs = ", ".join(SHOWN[metric] for metric, one in clear.items() if one.value > 1.0)
        label = question.labels[name]
        lines.append(f"{label} is better in: {gains or 'nothing'}; worse in: {costs or 'nothing'}.")
    return lines


def neighbours_table(line: Mapping[str, Any]) -> list[str]:
    """The count of the stuck read's neighbours as a Markdown table."""
    counts = line["counts"]
    lines = [
        (
            "| broker | stuck: lost a follower | neighbours: lost a follower "
            "| stuck: offline | neighbours: offline |"
        ),
        "|---|---:|---:|---:|---:|",
    ]
    for broker, (words, _) in BROKERS.items():
        cells = [
            f"{100 * counts[broker][side][what] / counts[broker][side]['all']:.1f} %"
            for what in ("shrunk", "offline")
            for side in ("stuck", "neighbour")
        ]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    sizes = counts[next(iter(BROKERS))]
    return [
        *lines,
        "",
        (
            f"{sizes['stuck']['all']} stuck partitions and {sizes['neighbour']['all']} neighbours "
            f"in a panel of {line['scenarios']} scenarios, counted on {line['measured_at'][:10]} "
            f"with `{line['code_version']}`."
        ),
    ]
