"""How far the simulator is from recorded brokers, in the pages that show it.

``python -m tools.conformance`` compares every repetition that ships with the project, a minute with
a new kernel, and writes the blocks of docs/trust.md and docs/project/conformance.md anew.
"""

from __future__ import annotations

import re

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.conformance.comparison import ComparedCase, Report, compare_all
from isr_pipeline.conformance.observations import SHIPPED, load_observations

PAGES = (
    REPOSITORY / "docs" / "trust.md",
    REPOSITORY / "docs" / "project" / "conformance.md",
)
BLOCK = re.compile(
    r"(<!-- conformance:(?P<part>figures|table) -->\n).*?(<!-- conformance:end -->)", re.DOTALL
)


def filled(text: str, report: Report) -> str:
    """A page with its blocks as a report has them."""
    parts = {"figures": figures(report), "table": table(report)}
    return BLOCK.sub(lambda found: f"{found[1]}{parts[found['part']]}{found[3]}", text)


def figures(report: Report) -> str:
    """What sums it up, with its bars."""
    repetitions = sum(len(one.repetitions) for one in report.experiments)
    counts = sum(one.compare == "counts" for one in report.experiments)
    return (
        f"{repetitions} repetitions of {len(report.experiments)} experiments:\n\n"
        f"* median disagreement per observed ISR change: "
        f"**{report.median_isr_ms_per_change:.0f} ms** (bar 150 ms);\n"
        f"* timeline repetitions that agree: **{100 * report.timeline_share:.1f} %** of "
        f"{len(report.timeline)} (bar 95 %);\n"
        f"* count experiments that agree: **{100 * report.counts_share:.1f} %** of {counts} "
        f"(bar 90 %).\n"
    )


def table(report: Report) -> str:
    """A line for each experiment and release."""
    head = (
        "| experiment | release | compared | repetitions that agree | "
        "disagreement, ms per ISR change (counts: simulated : observed shrinks) |\n"
        "|---|---|---|---|---|\n"
    )
    return head + "".join(map(_row, report.experiments))


def _row(case: ComparedCase) -> str:
    if case.compare == "timeline":
        agreeing = f"{sum(one.agrees for one in case.repetitions)} of {len(case.repetitions)}"
        values = ", ".join(f"{one.isr_ms_per_change:.0f}" for one in case.repetitions)
    else:
        agreeing = "yes" if case.agrees else "no"
        values = ", ".join(f"{one.shrinks[0]}:{one.shrinks[1]}" for one in case.repetitions)
    return f"| {case.case} | {case.release} | {case.compare} | {agreeing} | {values} |\n"


if __name__ == "__main__":
    compared = compare_all([one for file in SHIPPED for one in load_observations(file)])
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), compared), encoding="utf-8")
