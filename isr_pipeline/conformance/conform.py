"""`isr-pipeline conform`: compare the simulator with real brokers, print or draw the result."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.progress import Progress
from isr_pipeline.conformance import load
from isr_pipeline.conformance.comparison import NUMBERS, Report, compare_all
from isr_pipeline.conformance.guesses import Measure, measures
from isr_pipeline.conformance.observations import (
    SHIPPED,
    Observation,
    load_observations,
    save_agreement,
)
from isr_pipeline.kafka.release_numbers import released_range
from isr_pipeline.scenarios.model import Scenario
from isr_pipeline.worlds.run import run

Draw = Callable[[Scenario, dict[str, list[dict[str, Any]]], Path], Path]
"""Draws event lists, by their titles, one above the other into a file; returns the file."""


def _table(report: Report) -> Table:
    """One line an experiment and release."""
    table = Table("experiment", "release", "compared", "agrees", "simulated against observed")
    for e in report.experiments:
        good = sum(r.agrees for r in e.repetitions)
        agrees = f"{good} of {len(e.repetitions)}"
        if e.compare == "timeline":
            values = ", ".join(
                f"{r.isr_ms_per_change:.0f} ms a change"
                + (f", leader {r.leader_ms:.0f} ms" if r.leader_changes else "")
                + ("" if r.agrees else " (!)")
                for r in e.repetitions
            )
        else:
            agrees = f"{yes_no(e.in_range)} (widened: {yes_no(e.agrees)})"
            values = ", ".join(
                f"{name} {' '.join(f'{mine}:{seen}' for mine, seen in e.numbers(name))}"
                for name in NUMBERS
            )
        table.add_row(e.case, e.release, e.compare, agrees, values)
    return table


def yes_no(agrees: bool) -> str:
    """As tables say it."""
    return "yes" if agrees else "no"


def _figures(found: list[Measure]) -> Table:
    """The measures, beside guesses."""
    table = Table("measure", "bar", "simulated", "the best constant guess", "recordings, 1 s late")
    for one in found:
        table.add_row(one.name, one.bar, one.simulated, one.constant, one.late)
    return table


def _tables_of_load(found: load.Compared) -> list[Table]:
    """Who leaves by load, by experiment and all together; how long who returned took."""
    tables = []
    for heads, rows in (
        (load.HEADS, load.by_experiment(found)),
        (load.FIGURES, load.figures(found.followed)),
        (load.RETURNS, load.by_return(found.caught_up)),
    ):
        table = Table(*heads)
        for row in rows:
            table.add_row(*row)
        tables.append(table)
    return tables


def _named(heads: Sequence[str], rows: Iterable[tuple[str, ...]]) -> list[dict[str, str]]:
    """A table's lines by the heads of its columns."""
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _record_agreement(report: Report, observations: list[Observation]) -> None:
    """Keep, per rule set, how many repetitions agree: what a report's backing column says."""
    rule_set = {o.id: released_range(o.scenario.cluster.release) for o in observations}
    agreeing: dict[str, int] = defaultdict(int)
    for e in report.experiments:
        for r in e.repetitions:
            ok = r.agrees if e.compare == "timeline" else e.agrees
            agreeing[str(rule_set[r.id])] += int(ok)
    save_agreement(agreeing)


def _trace(observations: list[Observation], wanted: str, draw: Draw, folder: Path) -> Path:
    """Draw one repetition: what was simulated above what was observed."""
    by_id = {o.id: o for o in observations}
    if wanted not in by_id:
        raise InputError("--trace", "", wanted, "the id of a repetition in the file")
    chosen = by_id[wanted]
    simulated = run(chosen.scenario, events=True).events
    return draw(
        chosen.scenario,
        {"simulated": simulated, f"observed on Kafka {chosen.release}": chosen.observed},
        folder / f"conform-{wanted}.html",
    )


def conform(
    path: Path | None = None,
    json_out: str | None = None,
    trace_id: str | None = None,
    *,
    draw: Draw | None = None,
    record: bool = False,
) -> int:
    """The command: compare, print, and draw if asked.

    Args:
        path: file of observations; all those that ship with the project if None.
        json_out: where the report goes as JSON, ``-`` for standard output; a table is printed if
            it goes to a file or nowhere.
        trace_id: draw this repetition instead of comparing all.
        draw: how a repetition is drawn; needed for ``trace_id`` only.
        record: keep the agreement per rule set for the report's backing column.

    Returns:
        Exit status 0.

    Raises:
        InputError: a file that cannot be used, an unknown id, a place that cannot be written.
    """
    files = SHIPPED if path is None else (path,)
    observations = [one for file in files for one in load_observations(file)]
    console = Console()
    if trace_id is not None and draw is not None:
        console.print(f"wrote {_trace(observations, trace_id, draw, Path.cwd())}")
        return 0
    with Progress("repetitions compared", len(observations)) as progress:
        report = compare_all(observations, progress.step)
    found = measures(report, observations)
    loaded = None if path else load.compare()
    told = report.as_json() | {"measures": list(map(asdict, found))}
    if loaded:
        told |= {
            "load": _named(load.HEADS, load.by_experiment(loaded)),
            "returns": _named(load.RETURNS, load.by_return(loaded.caught_up)),
        }
    text = json.dumps(told, indent=1)
    if json_out == "-":
        print(text)  # noqa: T201 - the command's output
        return 0
    if json_out is not None:
        try:
            Path(json_out).write_text(text + "\n")
        except OSError as error:
            raise InputError("--json", "", error.strerror, "a file that can be written") from None
    if record:
        _record_agreement(report, observations)
    console.print(_table(report))
    console.print(_figures(found))
    for table in _tables_of_load(loaded) if loaded else ():
        console.print(table)
    return 0
