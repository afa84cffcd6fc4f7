"""How far the simulator is from recorded brokers, in the pages that show it.

``python -m tools.conformance`` compares every repetition that ships with the project, a minute with
a new kernel, and writes the blocks of docs/trust.md and docs/project/conformance.md anew, and every
experiment into benchmarks/results/conformance.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.conformance import load
from isr_pipeline.conformance.comparison import NUMBERS, ComparedCase, Report, compare_all
from isr_pipeline.conformance.conform import yes_no
from isr_pipeline.conformance.guesses import measures
from isr_pipeline.conformance.observations import SHIPPED, Observation, load_observations

PAGES = (
    REPOSITORY / "docs" / "trust.md",
    REPOSITORY / "benchmarks" / "results" / "conformance.md",
    REPOSITORY / "docs" / "project" / "conformance.md",
)
END = "<!-- conformance:end -->"
BLOCK = re.compile(rf"(<!-- conformance:(?P<part>[a-z]+) -->\n).*?({END})", re.DOTALL)


def filled(text: str, report: Report, observations: list[Observation]) -> str:
    """A page with its blocks as a report has them."""
    parts = {
        "figures": figures(report, observations),
        "timeline": timeline(report),
        "counts": counts(report),
        "load": _table(load.FIGURES, load.figures(under_load().followed)),
        "followers": _table(load.HEADS, load.by_experiment(under_load())),
        "returns": _table(load.RETURNS, load.by_return(under_load().caught_up)),
    }
    return BLOCK.sub(lambda found: f"{found[1]}{parts[found['part']]}{found[3]}", text)


def figures(report: Report, observations: list[Observation]) -> str:
    """What sums it up, with its bars, beside guesses."""
    repetitions = sum(len(one.repetitions) for one in report.experiments)
    rows = (
        (one.name, one.bar, f"**{one.simulated}**", one.constant, one.late)
        for one in measures(report, observations)
    )
    heads = ("measure", "bar", "simulated", "the best constant guess", "the recordings, 1 s late")
    head = f"{repetitions} repetitions of {len(report.experiments)} experiments:\n\n"
    return head + _table(heads, rows)


def timeline(report: Report) -> str:
    """A line for each experiment and release that is compared in time."""
    heads = ("experiment", "release", "repetitions that agree", "disagreement, ms per ISR change")
    return _table(heads, (_times(one) for one in report.experiments if one.compare == "timeline"))


def counts(report: Report) -> str:
    """A line for each experiment and release that is compared in numbers."""
    heads = ("experiment", "release", "in the observed range", "in that range widened", *NUMBERS)
    return _table(heads, map(_numbers, report.counts))


@cache
def under_load() -> load.Compared:
    """Followers over disks of known speed, and brokers that returned."""
    return load.compare()


def _times(case: ComparedCase) -> tuple[str, ...]:
    agreeing = f"{sum(one.agrees for one in case.repetitions)} of {len(case.repetitions)}"
    values = ", ".join(f"{one.isr_ms_per_change:.0f}" for one in case.repetitions)
    return case.case, case.release, agreeing, values


def _numbers(case: ComparedCase) -> tuple[str, ...]:
    pairs = (", ".join(f"{mine}:{seen}" for mine, seen in case.numbers(name)) for name in NUMBERS)
    return case.case, case.release, yes_no(case.in_range), yes_no(case.agrees), *pairs


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    shipped = [one for file in SHIPPED for one in load_observations(file)]
    compared = compare_all(shipped)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text, compared, shipped), encoding="utf-8")
