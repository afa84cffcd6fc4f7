"""What the terminal shows: a night, a baseline, its ledger, one simulated scenario."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isr_pipeline.base.files.words import run_called
from isr_pipeline.base.storage.places import place_of
from isr_pipeline.report import differences
from isr_pipeline.report.picture import COLOURS as WORD_COLOURS
from isr_pipeline.report.picture import Axis, Cell, Picture, bar_text, best_first, picture
from isr_pipeline.verdicts import ledger, quantities
from isr_pipeline.verdicts.baseline import BaselineRecord, damages, refused_today
from isr_pipeline.verdicts.record import (
    WORST_FIRST,
    Accepted,
    AgainstReference,
    Per,
    accept_command,
)
from isr_pipeline.verdicts.sentences import lost_first, some, unit_per
from isr_pipeline.worlds.columns import MAIN, METRICS, OF_THE_RUN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isr_pipeline.report.story import Story
    from isr_pipeline.verdicts.ledger import Entry

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

HEADING_CHARACTERS = 12
"""Width of a column whose heading is broken at its words."""

FOUND = ("regressed", "suspect", "improved")
"""Statuses of a metric that are listed above the table, in this order."""

FOUND_MAX = 12
FOUND_WIDTH = 100
"""Characters of such a line, as many as the table is wide; it goes on below its text."""

EVENTS_MAX = 60
NAME_CHARACTERS = 11
"""Width of what names a line or paragraph."""

CHANGES_MAX = 12
AGAINST_MAX = 24
DRAWN_MAX = 6

LABEL_CHARACTERS = 26
"""Width of a metric's name beside its bar."""

VALUE_CHARACTERS = 10
"""Width of the numbers of an outcome: of as many events as a kernel may count."""

UNITS = {"simulated_ms": "ms"}
"""Of what an outcome says beside its metrics: all else are counts."""


def print_night(shown: dict[str, Any]) -> None:
    """Print what :func:`isr_pipeline.night.show.show` tells."""
    console = _console()
    title = f"night {shown['night']} of {shown['experiment']}: "
    console.print()
    console.print(Text(title, "bold") + Text(shown["status"], COLOURS.get(shown["status"], "")))
    question = shown.get("question", "")
    for line in (shown.get("later"), question or shown["headline"], shown["reason"]):
        if line:
            # Not wrapped: a command stays in one piece.
            console.print(Text(line), soft_wrap=True)
    if question:
        _print_answer(console, shown)
    else:
        _print_judged(console, shown)
    if shown["tables"]:
        rows = "  ".join(f"{name} {one['rows']}" for name, one in shown["tables"].items())
        console.print(Text(f"rows       {rows}"))
    _print_places(console, shown["places"])
    for at, command in enumerate(shown.get("to_do", ())):
        console.print(Text(f"{'' if at else 'what to do':<11}{command}"), soft_wrap=True)


def _print_answer(console: Console, shown: dict[str, Any]) -> None:
    """The picture of what was asked, and a sentence a value."""
    asked = best_first(one for one in _differences(shown) if one.name in shown["asked"])
    for bar in _picture(picture(asked[:AGAINST_MAX]), shown["reference"]):
        console.print(bar, soft_wrap=True)
    for one in asked[:AGAINST_MAX]:
        console.print(Text(f"{one.name}: ", "bold") + Text(differences.answer(one)), soft_wrap=True)
        if beside := differences.described(one):
            console.print(Text(f"  {beside}"), soft_wrap=True)
    for text in filter(None, shown["longer"]):
        console.print(Text(text), soft_wrap=True)
    for line in _stages(shown):
        console.print(Text(line))


def _picture(drawn: Picture | None, reference: str) -> Iterator[Text]:
    """A line a metric that differs, below its configuration; the axis of each beside it."""
    if drawn is None:
        return
    yield Text(f"ratio to {reference}, the best first; │ is 1, less is better", "bold")
    for row in drawn.rows:
        mark = Text(f"  {row.mark}", COLOURS["improved"]) if row.mark else Text()
        yield Text(row.name, "bold") + mark
        for axis, cell in zip(drawn.axes, row.cells, strict=True):
            if cell is not None and cell.differs:
                yield _bar(axis, cell)


def _bar(axis: Axis, cell: Cell) -> Text:
    (_, low), _, (_, high) = axis.ticks
    colour = COLOURS.get(WORD_COLOURS[cell.word], "")
    said = Text(f"  {quantities.label(axis.metric):<{LABEL_CHARACTERS}}{low:>6} ")
    said += Text(bar_text(cell.bar, cell.shape), colour) + Text(f" {high:<6}")
    figures = f"{cell.pair} {axis.unit}".strip() if cell.pair else cell.ratio
    return said + Text(f"{cell.word}", colour) + Text(f"  {figures}")


def _print_judged(console: Console, shown: dict[str, Any]) -> None:
    """What changed since the baseline, then what each configuration has beside the reference."""
    for line in _asked(shown):
        console.print(Text(line), soft_wrap=True)
    for line in _stages(shown):
        console.print(Text(line))
    for line in _changes(shown):
        console.print(Text(line))
    for found in _found(shown["configs"]):
        console.print(_hanging(found, min(console.width, FOUND_WIDTH)), soft_wrap=True)
    if shown["configs"]:
        console.print(_configurations(_worst_first(shown["configs"]), _weaker(shown)))
    if shown["status"] not in differences.ALARMS:
        drawn = picture(best_first(_differences(shown))[:DRAWN_MAX])
        for bar in _picture(drawn, shown["reference"]):
            console.print(bar, soft_wrap=True)
    for compared in _against_reference(shown):
        console.print(compared, soft_wrap=True)


def _against_reference(shown: dict[str, Any]) -> list[Text]:
    """What each configuration gains and costs, in the experiment's order, then what is open."""
    against = _differences(shown)
    if not against:
        return []
    lines = [Text(f"against {shown['reference']}, in the experiment's order:", "bold")]
    for one in against[:AGAINST_MAX]:
        line = Text(f"  {one.name}: ") + Text(differences.sentence(one))
        if one.weaker:
            line.highlight_words([differences.promise(one)], "bold red")
        lines.append(line)
    more = len(against) - AGAINST_MAX
    if more > 0:
        lines.append(Text(f"  and {more} more: --json and the report have them"))
    said, command = shown["longer"]
    told = (*shown.get("limits", ()), said, command)
    return [*lines, *(Text(f"  {text}") for text in told if text)]


def _differences(shown: dict[str, Any]) -> list[AgainstReference]:
    return [AgainstReference.model_validate(one) for one in shown.get("against_reference", ())]


def _wrapped(name: str, text: str, width: int) -> str:
    """A named paragraph whose further lines begin below the first one's text."""
    return textwrap.fill(
        text,
        width,
        initial_indent=f"{name:<{NAME_CHARACTERS}}",
        subsequent_indent=" " * NAME_CHARACTERS,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _hanging(line: Text, width: int) -> Text:
    """A named line that is wrapped as :func:`_wrapped` does, its name still in its colour."""
    name, said = line.plain[:NAME_CHARACTERS], line.plain[NAME_CHARACTERS:]
    whole = Text(_wrapped(name, said, width))
    whole.stylize(COLOURS.get(name.strip(), ""), 0, NAME_CHARACTERS)
    return whole


def _asked(shown: dict[str, Any]) -> list[str]:
    """What the night was compared with, or was last, and how often that was asked."""
    baseline, times = shown.get("baseline"), shown.get("times_asked", 0)
    tonight = run_called(shown["night"], shown.get("began", ""))
    return [
        *([f"baseline   accepted {baseline}; tonight {tonight}"] if baseline else []),
        *shown.get("last_compared", ()),
        *([f"asked      {times} times of this date, on the same panel"] if times > 1 else []),
    ]


def _stages(shown: dict[str, Any]) -> list[str]:
    """What was simulated for what was not decided, in one line; nothing if all was."""
    stages = shown.get("stages")
    if not stages:
        return []
    said = [
        f"{one['scenarios']} of panel {one['panel']} "
        f"({one['decided']} of {one['configurations']} configurations decided)"
        for one in stages
    ]
    return [f"further    scenarios: {', '.join(said)}; {shown['scenarios_used']} in all"]


def _changes(shown: dict[str, Any]) -> list[str]:
    """What changed since the baseline, one line each; alike changes of configurations in one."""
    having: dict[str, list[str]] = {}
    for one in shown["configs"]:
        for change in one.get("changed", ()):
            having.setdefault(change["text"], []).append(one["name"])
    lines = [change["text"] for change in shown.get("changed", ())]
    for text, names in having.items():
        lines.append(f"{some(names)}: {text}")
    more = len(lines) - CHANGES_MAX
    if more > 0:
        lines = [*lines[:CHANGES_MAX], f"and {more} more: --json lists them"]
    return [f"{'changed' if not index else '':<11}{line}" for index, line in enumerate(lines)]


def _found(configs: list[dict[str, Any]]) -> list[Text]:
    """What got worse and what got better, one line for each metric: ratio, interval, strata."""
    lines = []
    for status in FOUND:
        for one in configs:
            decisions = one.get("decisions", {})
            for metric in sorted(decisions, key=lost_first):
                decision = decisions[metric]
                if decision["status"] == status:
                    line = Text(f"{status:<11}", COLOURS[status])
                    lines.append(line + Text(f"{one['name']}: {decision['change']}"))
    more = len(lines) - FOUND_MAX
    if more > 0:
        lines = [*lines[:FOUND_MAX], Text(f"{'':<11}and {more} more: --json lists them")]
    return lines


def _print_places(console: Console, places: dict[str, str]) -> None:
    report, docs = place_of(places["report"]), place_of(places["data_docs"])
    if report.is_file():
        console.print(Text(f"report     {report}"))
    if docs.is_file():
        console.print(Text(f"Data Docs  {docs}"))
    console.print(Text(f"MLflow     {places['mlflow']}  (in the browser: isr-pipeline ui)"))


def _weaker(shown: dict[str, Any]) -> dict[str, str]:
    """Name of each configuration that promises less than the reference -> what that does."""
    return {one.name: differences.promise(one) for one in _differences(shown) if one.weaker}


def _worst_first(configs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the table: the worst verdict first, those of one verdict as the experiment has them.

    One without a verdict is not judged yet, and stands last.
    """
    return sorted(
        configs,
        key=lambda one: WORST_FIRST.index(one["verdict"]) if one["verdict"] else len(WORST_FIRST),
    )


def _configurations(configs: list[dict[str, Any]], weaker: dict[str, str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("configuration", overflow="fold")
    own = [one.get("own", {}) for one in configs]
    told = [metric for metric in MAIN if any(metric in figures for figures in own)]
    for metric in told:
        per = Per.TYPICAL if quantities.is_latency(metric) else Per.YEAR
        unit = unit_per(metric, per).replace("-", "-\n", 1)  # partition-minutes is too long a word
        heading = f"{quantities.label(metric)}\n{unit}"
        table.add_column(heading, justify="right", max_width=HEADING_CHARACTERS)
    table.add_column("verdict", no_wrap=True)
    for one in configs:
        verdicts = one.get("words") or [one["verdict"] or "–"]
        figures = one.get("own", {})
        numbers = [quantities.plain(figures.get(name)) for name in told]
        said = Text(", ").join(Text(word, COLOURS.get(word, "")) for word in verdicts)
        mark = Text(f"\n{weaker[one['name']]}", "bold red") if one["name"] in weaker else Text()
        table.add_row(Text(one["name"]) + mark, *numbers, said)
    return table


def baseline_lines(experiment: str, record: BaselineRecord | None) -> Iterator[str]:
    """Which night is the baseline, and who accepted it, when and why; then what is amiss with it.

    Args:
        experiment: its name.
        record: the baseline; None where nothing was accepted yet.
    """
    if record is None:
        yield f"{experiment}: no baseline yet; accept one: {accept_command(experiment, 'NIGHT')}"
        return
    yield f"{experiment}: {_acceptance(record)}"
    for one in record.configurations:
        if one.alone is not None:
            yield f"  {one.name}: {_acceptance(one.alone)}"
    for line in (*damages(record), *refused_today(record)):
        yield f"  {line}"


def _acceptance(one: Accepted) -> str:
    return f"night {one.called}, accepted by {one.accepted_by} at {one.accepted_at}: {one.why}"


def ledger_lines(experiment: str, entries: Sequence[Entry]) -> Iterator[str]:
    """Every acceptance, what each absorbed, and what they add up to.

    Args:
        experiment: its name.
        entries: of its ledger, in order.
    """
    lost = ledger.lines_lost(experiment)
    if lost:
        lines = "1 line" if lost == 1 else f"each of {lost} lines"
        file = ledger.path(experiment)
        yield f"{experiment}: {lines} of {file} cannot be read and is passed over"
    if not entries:
        yield f"{experiment}: nothing was accepted yet"
    for one in entries:
        yield f"{one.accepted_at}  night {one.called}, by {one.accepted_by}: {one.why}"
        yield from (f"    {line}" for line in one.lines())
    for total in ledger.compounded(entries):
        yield f"in all  {total.text}"


def print_run(story: Story, outcomes: Sequence[Mapping[str, Any]]) -> None:
    """Print what happened in a scenario, the outcome of each run and the events of the last."""
    console = _console()
    console.print(Text(f"scenario {story.scenario.scenario_id}", "bold"))
    for line in story.lines():
        console.print(Text(f"  {line}"), soft_wrap=True)
    numbers = Table(box=None, pad_edge=False, title_justify="left", title="outcome")
    numbers.add_column("measure")
    for heading in story.headings:
        numbers.add_column(heading, justify="right", min_width=VALUE_CHARACTERS)
    numbers.add_column("unit")
    numbers.add_column("name in tables")
    for name in (*METRICS, *OF_THE_RUN):
        numbers.add_row(*_measure(name, [one[name] for one in outcomes]))
    console.print(numbers)
    events = story.runs[-1].events
    happened = Table(box=None, pad_edge=False, title=f"{len(events)} events", title_justify="left")
    for heading in ("t ms", "kind", "partition", "broker", "leader", "epoch", "ISR"):
        happened.add_column(heading, no_wrap=True)
    for one in events[:EVENTS_MAX]:
        happened.add_row(*_event(one))
    console.print(happened)
    if len(events) > EVENTS_MAX:
        console.print(Text(f"… and {len(events) - EVENTS_MAX} more: --json - lists them all"))


def _measure(name: str, values: Sequence[float | None]) -> list[str]:
    """Numbers of outcomes: in words, in their unit, and as tables and ``--json`` call them."""
    if name in METRICS:
        said = [quantities.amount(name, value) for value in values]
        return [quantities.label(name), *said, quantities.unit(name), name]
    said = [quantities.plain(value) for value in values]
    return [name.replace("_", " "), *said, UNITS.get(name, ""), name]


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
