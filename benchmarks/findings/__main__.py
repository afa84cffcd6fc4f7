"""``make finding``: a question about Kafka's settings, answered on this machine in minutes.

Scenarios with faults are simulated under a few configurations. The table shows each one's metrics
as ratios to the reference, with 95 % intervals. No broker is touched.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.findings import panel, picture, record, show
from benchmarks.findings.question import QUESTIONS, question
from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.base.errors import InputError
from isr_pipeline.experiment.configurations import configurations
from isr_pipeline.worlds import ready

if TYPE_CHECKING:
    from isr_pipeline.experiment.file import Experiment

SECONDS_BETWEEN_LINES = 10.0


def simulated(experiment: Experiment, processes: int, console: Console) -> list[dict[str, Any]]:
    """Simulate the panel and say how far it is: a bar in a terminal, lines elsewhere."""
    scenarios, arms = experiment.panels.regression, len(configurations(experiment))
    rows: list[dict[str, Any]] = []
    if console.is_terminal:
        columns = ("scenarios", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, TextColumn("left"), console=console, transient=True) as bar:
            task = bar.add_task("", total=scenarios)
            for stretch in panel.outcomes(experiment, processes):
                rows += stretch
                bar.update(task, completed=len(rows) // arms)
        return rows
    said_at = time.monotonic()
    for stretch in panel.outcomes(experiment, processes):
        rows += stretch
        if time.monotonic() - said_at >= SECONDS_BETWEEN_LINES:
            said_at = time.monotonic()
            console.print(f"{len(rows) // arms} of {scenarios} scenarios")
    return rows


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.findings", description=__doc__)
    names = ", ".join(QUESTIONS)
    parser.add_argument("name", nargs="?", default=next(iter(QUESTIONS)), help=names)
    parser.add_argument("--scenarios", type=int, help="size of the panel (default: the file's)")
    parser.add_argument(
        "--processes", type=int, default=len(os.sched_getaffinity(0)), help="default: every core"
    )
    parser.add_argument(
        "--write", action="store_true", help="keep the result, write pages and picture"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run as a program; 2 for a name or a number that cannot be used."""
    given = parsed(arguments)
    console = Console(highlight=False, soft_wrap=True)
    try:
        asked = question(given.name)
        experiment = asked.experiment.resized(given.scenarios)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    arms = configurations(experiment)
    scenarios = experiment.panels.regression
    console.print(
        f"{scenarios} fault scenarios x {len(arms)} configurations, simulated on this machine; "
        "no broker is touched."
    )
    use_kernel_cache()
    ready.compile_kernel()
    rows = simulated(experiment, given.processes, console)
    beside = panel.compared(rows, experiment)
    found, own = panel.ratios(beside), panel.reference_values(beside)
    console.print("\n" + "\n".join(show.text(asked, found, own, scenarios)))
    if given.write:
        record.keep(asked.name, scenarios, found, own)
        record.write_pages()
        if scenarios == asked.panel:
            picture.draw(asked, found, scenarios)
    return 0


if __name__ == "__main__":
    sys.exit(main())
