"""The contest's last line as words and tables, for two pages of docs and one of results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import told as results
from benchmarks.detection.arms import OWN
from benchmarks.detection.nights import CONFIGURATIONS_TOGETHER
from benchmarks.detection.score import ANEW, AS_DRAWN, BARS, TOGETHER
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.verdicts import quantities

RESULTS = Path(__file__).resolve().parent.parent / "results" / "detection.jsonl"
MARKS = "<!-- contest:{}:begin -->", "<!-- contest:{}:end -->"
"""Around what is told of an experiment's contest."""

EDITION = 2

PLANTED_MIN, NULL_MIN = 40, 300
"""Regressions and null nights below which a contest shows too little."""

COLUMNS = {
    "offline_1.5": "offline ≥ × 1.5",
    "flaps_1.25": "flaps ≥ × 1.25",
    "p99_1.25": "commit p99 ≥ × 1.25",
}
MORE = {
    "p99_shift": "p99 + 2 ms and × 2, half of the population",
    "never": "must never happen",
}
SAID = {**COLUMNS, **MORE}
"""Sort of regression -> how the pages call it."""


SORTS = {
    ANEW: "phases drawn anew",
    TOGETHER: f"the same, among {CONFIGURATIONS_TOGETHER} configurations",
    AS_DRAWN: "phases as drawn",
}


def last_line(experiment: str = "operators") -> dict[str, Any]:
    """The last record of an experiment's contest."""
    return results.last_lines(RESULTS)[experiment]


def of_trust(told: Mapping[str, Any]) -> str:
    """What docs/trust.md says of it: what was found, what was false, which bars were missed."""
    own = told["contestants"][OWN]
    nights = sum(null["nights"] for null in told["null"].values())
    alarms = sum(null["alarms"] for null in told["null"].values())
    planted = (
        f"`make contest`{_given(told)} planted {told['planted']} regressions on "
        f"{told['date'][:10]}. Intervals of 95 % stand in brackets.{_budget(told)}"
    )
    lines = [
        planted,
        "",
        *(
            f"* Found, {said}: {_percent(own[ANEW][what], counted=True)}."
            for what, said in COLUMNS.items()
        ),
        f"* Alarms that are right: {_percent(own['right'])}.",
        f"* Nights without a plant that had an alarm: {alarms} of {nights}.",
        "",
        _missed(told),
    ]
    return "\n".join(lines)


def of_docs(told: Mapping[str, Any]) -> str:
    """The figures of docs/project/detection.md: contestants, null nights, bars that are missed."""
    own = told["contestants"][OWN]
    lines = [_made(told), "", *_contestants(told), ""]
    for size, null in told["null"].items():
        lines.append(
            f"* {null['nights']} null nights of {size} configurations, all harmlessly changed: "
            f"{null['alarms']} with an alarm. {null['tests']:.0f} tests could alarm on average; "
            f"{null['with_20_tests']} nights had 20 or more. "
            f"{100 * (null['undecided'] or 0):.1f} % of the configurations end `undecided`."
        )
    lines.append(
        f"* {own['alarms']} alarms for planted regressions and beside them: "
        f"{_percent(own['right'])} right."
    )
    lines.append(f"* {_missed(told)}")
    return "\n".join(lines)


def of_results(told: Mapping[str, Any]) -> str:
    """benchmarks/results/detection.md: bars, found by true ratio, every plant."""
    own = told["contestants"][OWN]
    played = {sort: said for sort, said in SORTS.items() if _was_played(told, sort)}
    lines = [
        f"| isr-pipeline, `regressed` | {' | '.join(played.values())} |",
        f"|---|{'---:|' * len(played)}",
    ]
    for what, said in SAID.items():
        cells = [_percent(own[sort][what], counted=True) for sort in played]
        lines.append(f"| {said} | {' | '.join(cells)} |")
    lines += ["", "Found by true ratio, phases drawn anew:", ""]
    bins = [f"from × {one['from']:g}" for one in next(iter(told["curve"][ANEW].values()))]
    lines += [f"| metric | {' | '.join(bins)} |", f"|---|{'---:|' * len(bins)}"]
    for metric, curve in told["curve"][ANEW].items():
        if any(one["of"] for one in curve):
            cells = [_percent(one, counted=True) for one in curve]
            lines.append(f"| {quantities.label(metric)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_plants(told)])


def _contestants(told: Mapping[str, Any]) -> list[str]:
    """A table: every contestant, what it found and what was false."""
    own = told["contestants"][OWN][ANEW]
    columns = [f"{said} ({own[what]['of']} planted)" for what, said in COLUMNS.items()]
    head = ["found (`regressed`, or an alarm)", *columns, "alarms that are right"]
    lines = [
        f"| {' | '.join([*head, 'null nights with an alarm'])} |",
        f"|---|{'---:|' * (len(COLUMNS) + 2)}",
    ]
    for name, one in told["contestants"].items():
        cells = [_percent(one[ANEW][what]) for what in COLUMNS]
        right = f"{_percent(one['right'])}"
        null = one["null_nights"]
        alarms = (
            f"{round((null['share'] or 0) * null['of'])} of {null['of']}" if null["of"] else "–"
        )
        shown = f"**{name}**" if name == OWN else name
        lines.append(f"| {shown} | {' | '.join(cells)} | {right} | {alarms} |")
    return lines


def _was_played(told: Mapping[str, Any], sort: str) -> bool:
    return any(one["sort"] == sort for one in told["plants"])


def _plants(told: Mapping[str, Any]) -> list[str]:
    """A table: every plant with its true ratios, and how many nights found it."""
    metrics = list(told["curve"][ANEW])
    lines = [
        f"| planted | in | {' | '.join(quantities.label(name) for name in metrics)} |",
        f"|---|---|{'---:|' * len(metrics)}",
    ]
    for one in told["plants"]:
        if one["sort"] != ANEW:
            continue
        cells = []
        for name in metrics:
            ratio = one["true"][name]
            cell = "from none" if ratio is None else f"× {ratio:.2f}"
            hits = one["found"][name]
            cells.append(f"{cell}, {hits} of {one['nights']}" if hits else cell)
        plant = one["plant"].replace("|", "\\|")
        lines.append(f"| `{plant}` | {one['host']} | {' | '.join(cells)} |")
    return lines


def _made(told: Mapping[str, Any]) -> str:
    """One paragraph: how much was simulated, where and when."""
    more = told["nights_together"]
    among = f", and {more} more among {CONFIGURATIONS_TOGETHER} configurations"
    together = among if more else ""
    return (
        f"Made by `make contest`{_given(told)} on {told['date'][:10]}, on {told['machine']}. "
        "The last line of `benchmarks/results/detection.jsonl` has it all. "
        f"{told['planted']} regressions were planted in {told['hosts']} configurations of "
        f"`{told['experiment']}`, {told['nights']} nights each{together}. "
        f"Their true sizes are over {told['pool']['scenarios']} scenarios. "
        f"Intervals of 95 % take a regression as the unit.{_budget(told)}"
    )


def _given(told: Mapping[str, Any]) -> str:
    """The command's arguments, if there were any."""
    return f" with `{' '.join(told['arguments'])}`" if told["arguments"] else ""


def _budget(told: Mapping[str, Any]) -> str:
    """That a night could spend less than a shipped one, if so."""
    spent, shipped = told["budget"], told["shipped_budget"]
    less = f" A night may spend {spent} scenarios here, not the shipped {shipped}."
    return less if spent < shipped else ""


def _missed(told: Mapping[str, Any]) -> str:
    """Bars that were missed, and what so small a contest cannot show."""
    small = []
    if told["planted"] < PLANTED_MIN:
        small.append(f"{told['planted']} regressions are planted, {PLANTED_MIN} are wanted.")
    small += [
        f"{null['nights']} null nights of {size} configurations were run; "
        f"the bar asks for {NULL_MIN}."
        for size, null in told["null"].items()
        if null["nights"] < NULL_MIN
    ]
    said = [_bar(one) for one in told["missed"]]
    missed = [f"Bars that are missed: {'; '.join(said)}."] if said else []
    few = [*_met_by_few(told["contestants"][OWN][ANEW])]
    proof = ["So few plants prove less than their bars ask.", *few] if few else []
    return " ".join([*(missed or ["Every bar is met."]), *proof, *small])


def _met_by_few(found: Mapping[str, Any]) -> Iterator[str]:
    """Bars that are met, where the interval of so few regressions reaches below the bar."""
    for what, least in BARS.items():
        share = found[what]
        low = share["interval"][0]
        if share["share"] is not None and low < least <= share["share"]:
            said = f"{SAID[what][0].upper()}{SAID[what][1:]}: {share['of']} planted"
            yield f"{said}, at least {100 * low:.0f} % found (bar {100 * least:g} %)."


def _bar(missed: str) -> str:
    """A missed bar as the results have it (``flaps_1.25: 0.857 of 7, not 0.95``), in words."""
    found = re.fullmatch(r"(.+): ([\d.]+) of (\d+), not ([\d.]+)", missed)
    if found is None:
        return missed
    name, share, of, bar = found.groups()
    said = SAID.get(name, name)
    return f"{said}, {100 * float(share):.3g} % of {of} (bar {100 * float(bar):g} %)"


def _percent(share: Mapping[str, Any], *, counted: bool = False) -> str:
    """``96 % (93–98)``, with how many regressions if wanted; a dash of nothing."""
    if share["share"] is None:
        return "–"
    low, high = (100 * end for end in share["interval"])
    of = f" of {share['of']}" if counted else ""
    return f"{100 * share['share']:.0f} %{of} ({low:.0f}–{high:.0f})"


TRUST = REPOSITORY / "docs" / "trust.md"
DOCS = REPOSITORY / "docs" / "project" / "detection.md"

PAGES = {
    (TRUST, "operators"): of_trust,
    (TRUST, "load"): of_trust,
    (DOCS, "operators"): of_docs,
    (RESULTS.with_suffix(".md"), "operators"): of_results,
}
"""(file with marks, experiment) -> what writes what stands between them."""


def targets() -> dict[tuple[Path, str], str]:
    """(file, experiment) -> what stands between its marks, after the last line."""
    return {(file, name): writer(last_line(name)) for (file, name), writer in PAGES.items()}


def write() -> list[Path]:
    """Write the tables into every file that has the marks; those that were changed."""
    changed = []
    for (file, experiment), tables in targets().items():
        text = file.read_text(encoding="utf-8")
        now = results.replaced(text, MARKS, experiment, tables)
        if now != text:
            file.write_text(now, encoding="utf-8")
            changed.append(file)
    return changed
