"""The figures in results/sizing.md, from the newest line of results that has what they need.

``python -m benchmarks.speed.sizing`` fills them in again; a benchmark that is recorded does it too.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from benchmarks.speed import record
from isr_pipeline.base.home import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

PAGE = REPOSITORY / "benchmarks" / "results" / "sizing.md"
BEGIN, END = "<!-- figures:sizing -->", "<!-- figures:sizing:end -->"


def usable(lines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The newest line with figures of Spark and of the kernel; None without one."""
    whole = (
        line
        for line in reversed(lines)
        if line["pairs_per_core_s"] is not None and line["kernel_ms_per_pair"] is not None
    )
    return next(whole, None)


def block(line: dict[str, Any]) -> str:
    """The figures of a line as Markdown."""
    two = line["ratios"]["two_cores_over_one"]
    share = line["ratios"]["kernel_share_of_busy"]
    table = line["bytes_per_pair"]
    hours = line["broker_hours_per_core_s"]
    facts = [
        (
            "pairs per busy core-second (the kernel's share)",
            f"{line['pairs_per_core_s']:.3g} ({100 * share:.0f} %)",
        ),
        (
            "simulated broker-hours per core-second of the kernel",
            f"{hours['jumps']:.3g} ({hours['brute_force']:.3g} without jumps)",
        ),
        ("two cores / one core", f"{two:.3g}"),
        ("largest Python worker over all slices", f"{line['worker_peak_rss_mb']:.0f} MB"),
        ("Spark's Java, driver and executor in one", f"{line['java_peak_rss_mb']:.0f} MB"),
        (
            "shuffled; to the driver, a task",
            f"{line['shuffle_bytes']} bytes; {line['result_bytes_per_task'] / 1e3:.1f} kB",
        ),
        (
            "outcomes, events on disk, a pair (mean)",
            f"{table['outcomes']:.0f}, {table['events']:.0f} bytes",
        ),
    ]
    commit = (line["commit"] or "unknown")[:7]
    where = (
        f"Measured {line['date'][:10]} at {commit} on {line['machine']} (load before: "
        f"{line['load_before']:g}), pairs of 120 s on the cluster `default`:"
    )
    parts = [
        where,
        "",
        "| what | measured |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts),
        "",
        _growth(line["scaling"]),
    ]
    return "\n".join(parts)


def _growth(scaling: dict[str, dict[str, dict[str, float]]]) -> str:
    """How much longer a larger panel takes."""
    told = []
    for along, grown in scaling.items():
        for times, row in list(grown.items())[1:]:
            ratio = row["core_seconds"] / grown["1x"]["core_seconds"]
            told.append(f"{times} {along} {ratio:.2f}x")
    return f"Core-seconds grow: {', '.join(told)}."


def duration(seconds: float) -> str:
    """In words of the size: seconds below two minutes, minutes below two hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def filled(page: str, figures: str, begin: str = BEGIN, end: str = END) -> str:
    """A page with other figures between its marks.

    Raises:
        ValueError: the page has no marks.
    """
    if begin not in page or end not in page:
        msg = f"the page has no {begin} ... {end}"
        raise ValueError(msg)
    before, _, rest = page.partition(begin)
    after = rest.partition(end)[2]
    return f"{before}{begin}\n{figures}\n{end}{after}"


def fill(page: Path = PAGE, results: Path = record.RESULTS) -> bool:
    """Fill the page's figures in; False if no line has them."""
    line = usable(record.read(results))
    if line is None:
        return False
    page.write_text(filled(page.read_text(), block(line)))
    return True


def main() -> int:
    """Run as a program; 1 without a line that has the figures."""
    if fill():
        return 0
    print("no line has figures of the kernel and of Spark: run `make bench BENCH_ARGS=--record`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
