"""Tables for the terminal: a night, and one simulated scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

COLOURS = {
    "regressed": "bold red",
    "no-data": "bold red",
    "failed": "bold red",
    "interrupted": "bold red",
    "suspect": "yellow",
    "undecided": "yellow",
    "improved": "green",
    "ok": "green",
    "unchanged": "green",
    "baseline": "cyan",
}

COLUMNS = {
    "offline_partition_rate": ("offline rate", "{:.2e}"),
    "under_min_isr_rate": ("under min ISR", "{:.2e}"),
    "isr_shrinks_per_partition_hour": ("shrinks /h", "{:.2f}"),
    "isr_flaps_per_partition_hour": ("flaps /h", "{:.2f}"),
    "commit_latency_p99_ms": ("commit p99 ms", "{:.1f}"),
}
"""Metric -> heading and format; rates are per partition and hour."""

EVENTS_MAX = 60
CHANGES_MAX = 12
NAMES_MAX = 3


def print_night(shown: dict[str, Any]) -> None:
    """Print what :func:`isr_pipeline.night.show.show` tells."""
    console = _console()
    title = f"night {shown['night']} of {shown['experiment']}: "
    console.print()
    console.print(Text(title, "bold") + Text(shown["status"], COLOURS.get(shown["status"], "")))
    for line in (shown["headline"], shown["reason"]):
        if line:
            console.print(Text(line))
    for line in _changes(shown):
        console.print(Text(line))
    if shown["configs"]:
        console.print(_configurations(shown["configs"]))
    if shown["tables"]:
        rows = "  ".join(f"{name} {one['rows']}" for name, one in shown["tables"].items())
        console.print(Text(f"rows       {rows}"))
    _print_places(console, shown["places"])


def _changes(told: dict[str, Any]) -> list[str]:
    """What changed since the baseline, one line each; alike changes of configurations in one."""
    having: dict[str, list[str]] = {}
    for one in told["configs"]:
        for change in one.get("changed", ()):
            having.setdefault(change["text"], []).append(one["name"])
    lines = [change["text"] for change in told.get("changed", ())]
    for text, names in having.items():
        who = ", ".join(names) if len(names) <= NAMES_MAX else f"{len(names)} configurations"
        lines.append(f"{who}: {text}")
    more = len(lines) - CHANGES_MAX
    if more > 0:
        lines = [*lines[:CHANGES_MAX], f"and {more} more: --json lists them"]
    return [f"{'changed' if not index else '':<11}{line}" for index, line in enumerate(lines)]


def _print_places(console: Console, places: dict[str, str]) -> None:
    report, docs = Path(places["report"]), Path(places["data_docs"]) / "index.html"
    if report.is_file():
        console.print(Text(f"report     {report}"))
    if docs.is_file():
        console.print(Text(f"Data Docs  {docs}"))
    console.print(Text(f"MLflow     {places['mlflow']}  (in the browser: make ui)"))


def _configurations(configs: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("configuration", overflow="fold")
    for heading, _ in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in configs:
        verdict = one["verdict"] or "-"
        numbers = [
            _number(one["metrics"].get(metric), form) for metric, (_, form) in COLUMNS.items()
        ]
        table.add_row(one["name"], *numbers, Text(verdict, COLOURS.get(verdict, "")))
    return table


def _number(value: float | None, form: str) -> str:
    if value is None:
        return "-"
    return "0" if value == 0 else form.format(value)


def print_run(scenario_id: str, outcome: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Print the outcome and the events of one scenario."""
    console = _console()
    console.print(Text(f"scenario {scenario_id}", "bold"))
    numbers = Table(box=None, pad_edge=False, show_header=False)
    for name, value in outcome.items():
        numbers.add_row(name, "-" if value is None else f"{value:g}")
    console.print(numbers)
    happened = Table(box=None, pad_edge=False, title=f"{len(events)} events", title_justify="left")
    for heading in ("t ms", "kind", "partition", "broker", "leader", "epoch", "ISR"):
        happened.add_column(heading, no_wrap=True)
    for one in events[:EVENTS_MAX]:
        happened.add_row(*_event(one))
    console.print(happened)
    if len(events) > EVENTS_MAX:
        console.print(Text(f"… and {len(events) - EVENTS_MAX} more: --json - lists them all"))


def _event(one: dict[str, Any]) -> list[str]:
    topic = one.get("topic")
    partition = f"{topic}-{one.get('partition')}" if topic else ""
    rest = [one.get(name) for name in ("broker", "leader", "leader_epoch", "isr")]
    return [
        f"{one['t_ms']:.1f}",
        str(one["kind"]),
        partition,
        *("" if value is None else str(value) for value in rest),
    ]


def _console() -> Console:
    """Return a console that cuts no table short when its output goes to a file."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)
