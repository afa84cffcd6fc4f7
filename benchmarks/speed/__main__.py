"""``python -m benchmarks.speed``: measure, and print side by side.

python -m benchmarks.speed                    everything (about six minutes)
python -m benchmarks.speed --parts kernel     one part: kernel, scale, spark, night
python -m benchmarks.speed --quick            small samples
python -m benchmarks.speed --record           append a line to the results, fill the pages
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks.speed import record, show, sizing
from isr_pipeline.worlds.ready import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

LOAD_MAX = 0.5
PAIRS, RUNS, PANEL_SCENARIOS = 60, 5, 200
SCALE_TURNS = 3
QUICK_PAIRS, QUICK_RUNS, QUICK_SCENARIOS = 8, 2, 4
_REASON_MAX = 500


def main() -> int:
    """Measure; 1 if a part that was asked for could not be measured."""
    given = _arguments()
    if not Path("/proc/self/status").exists():
        sys.stderr.write("make bench needs Linux: it reads the memory of processes from /proc\n")
        return 1
    console = Console(width=None if sys.stdout.isatty() else 120)
    load = os.getloadavg()[0]
    if load > LOAD_MAX:
        console.print(f"[yellow]the machine is busy with other work (load {load:.1f})[/]")
    if set(given.parts) - {"night"}:
        compile_kernel()
    found = record.Figures()
    failed = False
    for name, measure in _parts(given.quick, given.experiment).items():
        if name not in given.parts:
            found.not_run[name] = "not asked for"
            continue
        console.print(f"measuring {name} ...")
        started = time.monotonic()
        try:
            setattr(found, name, measure())
        except Exception as error:
            found.not_run[name] = f"{type(error).__name__}: {error}"[:_REASON_MAX]
            console.print(f"[red]{name} could not be measured:[/] {error}")
            failed = True
        console.print(f"  {time.monotonic() - started:.0f} s")
    for table in show.tables(found):
        console.print(table)
    if given.record and len(found.not_run) < len(record.PARTS):
        _record(record.line(found, load), console)
    else:
        console.print("nothing recorded")
    return int(failed)


def _record(line: dict[str, Any], console: Console) -> None:
    """Keep a line, and write all that the pages show of it: they are compared with the newest."""
    record.append(line)
    console.print(f"one line appended to {record.RESULTS.name}")
    if sizing.fill():
        from benchmarks.speed import large  # noqa: PLC0415

        large.fill()
        console.print(f"figures of {sizing.PAGE.name} written from the newest line that has them")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "--parts",
        type=_names,
        default=list(record.PARTS),
        help=f"some of {','.join(record.PARTS)}; what is left out is null in the results",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--quick", action="store_true", help="small samples")
    how.add_argument("--record", action="store_true", help="append a line, fill the pages")
    parser.add_argument("--experiment", help="whose newest night to read; any if not said")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    names = text.replace(",", " ").split() or list(record.PARTS)
    for name in names:
        if name not in record.PARTS:
            allowed = ", ".join(record.PARTS)
            raise argparse.ArgumentTypeError(f"{name} is no part; there are {allowed}")
    return names


def _parts(quick: bool, experiment: str | None) -> dict[str, Callable[[], Any]]:
    """What measures each part; what it needs is imported when it is asked for."""

    def kernel() -> Any:
        from benchmarks.speed import kernel as part  # noqa: PLC0415

        if quick:
            return part.measure(QUICK_PAIRS, QUICK_RUNS, QUICK_SCENARIOS)
        return part.measure(PAIRS, RUNS, PANEL_SCENARIOS)

    def scale() -> Any:
        from benchmarks.speed import scale as part  # noqa: PLC0415

        return part.measure(1, quick=True) if quick else part.measure(SCALE_TURNS)

    def spark() -> Any:
        from benchmarks.speed import spark as part  # noqa: PLC0415

        return part.measure(part.QUICK if quick else part.FULL)

    def night() -> Any:
        from benchmarks.speed import night as part  # noqa: PLC0415

        return part.newest(experiment)

    return {"kernel": kernel, "scale": scale, "spark": spark, "night": night}


if __name__ == "__main__":
    sys.exit(main())
