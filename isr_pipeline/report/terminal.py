"""Tables for the terminal: a night, and one simulated scenario."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isr_pipeline.host.pasted import pasted
from isr_pipeline.storage.places import place_of

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

FOUND = ("regressed", "suspect", "improved")
"""Statuses of a metric that are listed below the table, in this order."""

FOUND_MAX = 12
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
            console.print(Text(pasted(line)), soft_wrap=True)  # a command stays in one piece
    if shown.get("answer"):
        console.print(Text(f"answer     {shown['answer']['short']}"))
    for line in _stages(shown):
        console.print(Text(line))
    for line in _changes(shown):
        console.print(Text(line))
    if shown["configs"]:
        console.print(_configurations(shown["configs"]))
        for line in _found(shown["configs"]):
            console.print(line)
    if shown["tables"]:
        rows = "  ".join(f"{name} {one['rows']}" for name, one in shown["tables"].items())
        console.print(Text(f"rows       {rows}"))
    _print_places(console, shown["places"])


def _stages(shown: dict[str, Any]) -> list[str]:
    """What was simulated for what was not decided, in one line; nothing if all was."""
    stages = shown.get("stages")
    if not stages:
        return []
    said = [
        f"{one['panel']} {one['scenarios']} ({one['decided']} of {one['configurations']} decided)"
        for one in stages
    ]
    return [f"further    {', '.join(said)}; {shown['scenarios_used']} scenarios in all"]


def _changes(shown: dict[str, Any]) -> list[str]:
    """What changed since the baseline, one line each; alike changes of configurations in one."""
    having: dict[str, list[str]] = {}
    for one in shown["configs"]:
        for change in one.get("changed", ()):
            having.setdefault(change["text"], []).append(one["name"])
    lines = [change["text"] for change in shown.get("changed", ())]
    for text, names in having.items():
        who = ", ".join(names) if len(names) <= NAMES_MAX else f"{len(names)} configurations"
        lines.append(f"{who}: {text}")
    more = len(lines) - CHANGES_MAX
    if more > 0:
        lines = [*lines[:CHANGES_MAX], f"and {more} more: --json lists them"]
    return [f"{'changed' if not index else '':<11}{line}" for index, line in enumerate(lines)]


def _found(configs: list[dict[str, Any]]) -> list[Text]:
    """What got worse and what got better, one line for each metric: ratio, interval, strata."""
    lines = []
    for status in FOUND:
        for one in configs:
            for metric, decision in one.get("decisions", {}).items():
                if decision["status"] == status:
                    line = Text(f"{status:<11}", COLOURS[status])
                    line += Text(f"{one['name']}: {metric} {_ratio(decision)}{_strata(decision)}")
                    lines.append(line)
    more = len(lines) - FOUND_MAX
    if more > 0:
        lines = [*lines[:FOUND_MAX], Text(f"{'':<11}and {more} more: --json lists them")]
    return lines


def _ratio(decision: dict[str, Any]) -> str:
    """``1.32 x (1.1 to 1.6)``, as far as there is one."""
    if decision["ratio"] is None:
        return "from none"
    low, high = (f"{end:.3g}" if end is not None else "…" for end in decision["interval"])
    return f"{decision['ratio']:.3g} x ({low} to {high})"


def _strata(decision: dict[str, Any]) -> str:
    """``, in thrash 2 x``: strata that have the same word."""
    same = [
        f"{name} {one['ratio']:.3g} x" if one["ratio"] is not None else f"{name} from none"
        for name, one in decision["strata"].items()
        if one["status"] == decision["status"]
    ]
    return f", in {', '.join(same)}" if same else ""


def _print_places(console: Console, places: dict[str, str]) -> None:
    report, docs = place_of(places["report"]), place_of(places["data_docs"]) / "index.html"
    if report.is_file():
        console.print(Text(f"report     {report}"))
    if docs.is_file():
        console.print(Text(f"Data Docs  {docs}"))
    console.print(Text(pasted(f"MLflow     {places['mlflow']}  (in the browser: make ui)")))


def _configurations(configs: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("configuration", overflow="fold")
    for heading, _ in COLUMNS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in configs:
        words = one.get("words") or [one["verdict"] or "-"]
        numbers = [
            _number(one["metrics"].get(metric), form) for metric, (_, form) in COLUMNS.items()
        ]
        said = Text(", ").join(Text(word, COLOURS.get(word, "")) for word in words)
        table.add_row(one["name"], *numbers, said)
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
