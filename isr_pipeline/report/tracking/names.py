"""Names and texts in MLflow: metrics of trends with their units, tags, the note of a night."""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from isr_pipeline.base.files.words import counted
from isr_pipeline.report import differences
from isr_pipeline.report.picture import best_first
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.quantities import number
from isr_pipeline.verdicts.record import (
    WORST_FIRST,
    ConfigVerdict,
    MetricVerdict,
    NightVerdict,
    Per,
    Status,
    Word,
)
from isr_pipeline.verdicts.sentences import (
    figures_of,
    headline,
    in_order,
    one_figure,
    ratio_of,
    reason,
    unit_per,
    what_to_do,
    worse,
)
from isr_pipeline.worlds.columns import MAIN, METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.record import AgainstReference

WRITING = "writing"
COMPLETE = "complete"
REPLACED = "replaced"
NO_VERDICT = "no verdict"
"""Values of the tag `status`. A run that is being written may be debris of an attempt; one that is
replaced is of an earlier run of its night, and stays until the night is pruned."""

NOTE_CHARACTERS = 7_800
"""MLflow keeps a note in a tag, which holds 8 000 characters."""

REASON_CHARACTERS = 4_000
"""From which on a reason counts its metrics."""

RUN_NAME_CHARACTERS = 120
"""As much of a run's name as a list has room for."""

NAMES_MAX = 3
"""Configurations that a run's name lists."""

STRATA_HEAD = ("| metric | stratum | status | ratio | scenarios |", "|---|---|---|---:|---|")

ANSWERS_MAX = 6
"""Values that a night's description answers for."""

WORSE_MAX = 10
"""Lines of a night's description on what got worse."""


def metric_name(column: str) -> str:
    """Name of an outcome column in MLflow's trends, unit included."""
    return column + METRICS[column].unit.suffix


def night_tags(plan: Plan, dag_run_id: str) -> dict[str, str]:
    """Tags that the night and each of its children carry (a filter sees one run at a time)."""
    return {
        "experiment": plan.experiment,
        "night": plan.night,
        "panel_digest": plan.panel_digest,
        "confirm_digest": plan.confirm_digest,
        "experiment_digest": plan.experiment_digest,
        "code_version": plan.code_version,
        "version": plan.version,
        "dag_run_id": dag_run_id,
    }


def night_name(verdict: NightVerdict) -> str:
    """A night's name in the list of runs: its date, its verdict, and who has it.

    ``2026-11-20 regressed: lag-20s``; a list shows some twenty characters.
    """
    name = f"{verdict.night} {verdict.status}"
    if verdict.status in (Status.REGRESSED, Status.SUSPECT, Status.NO_DATA):
        who = [one.name for one in verdict.configurations if one.status is verdict.status]
        listed = f"{name}: {', '.join(who)}"
        fits = len(who) <= NAMES_MAX and len(listed) <= RUN_NAME_CHARACTERS
        name = listed if fits else f"{name}: {counted(len(who), 'configuration')}"
    return name


def experiment_note(
    name: str, description: str, links: dict[str, str], verdict: NightVerdict
) -> str:
    """Markdown of an experiment: where to go on, what it asks, its last night, how to read on.

    The links are first, for MLflow shows one line until somebody opens the rest.

    Args:
        name: of the experiment.
        description: what it asks.
        links: text -> address.
        verdict: of its latest night.
    """
    head, rows = _values(verdict)
    above = [
        " · ".join(f"[{text}]({address})" for text, address in links.items()),
        "",
        f"**{name}**: {description.strip()}",
        "",
        f"{verdict.night}, on the standing panel:",
        "",
        *head,
    ]
    return f"{_filled(above, rows, NOTE_CHARACTERS - len(HOW_TO_READ))}\n\n{HOW_TO_READ}"


HOW_TO_READ = (
    "A run named by a date is a night; below it is one run for each configuration. A red cross "
    "is a night, or a configuration, that regressed or has no data. A night that was run again "
    "keeps its former runs, marked *replaced*, until it is pruned. A simulator made every "
    "number; no broker was touched.\n\n"
    "*Ratio* is to the reference, as judged; *scenarios* says on how many. *Value* is of the "
    "standing panel. The tags *reference.better*, *reference.worse* and *reference.undecided* "
    "name what the tests call so. Intervals and all other metrics are in a night's artefacts, "
    "*tables*."
)
"""What an experiment's description says of its list of runs."""


def verdict_tags(verdict: NightVerdict) -> dict[str, str]:
    """Tags of the parent that say how the night ended."""
    regressed = {
        name for one in verdict.configurations for name in one.metrics_with(Status.REGRESSED)
    }
    return {
        "verdict": str(verdict.status),
        "red": str(verdict.red).lower(),
        "headline": headline(verdict),
        "regressed_metrics": ",".join(sorted(regressed)),
        "improved_metrics": ",".join(
            sorted({m for one in verdict.configurations for m in one.metrics_with(Status.IMPROVED)})
        ),
        "baseline_night": verdict.baseline.night if verdict.baseline else "",
    }


def config_tags(configuration: Configuration, one: ConfigVerdict) -> dict[str, str]:
    """Tags of a child."""
    return {
        "config_id": configuration.config_id,
        "config_name": configuration.name,
        "is_grid": str(configuration.is_grid).lower(),
        "verdict": str(one.status),
        "words": ", ".join(str(word) for word in one.words),
        "regressed_metrics": ",".join(one.metrics_with(Status.REGRESSED)),
        "suspect_metrics": ",".join(one.metrics_with(Status.SUSPECT)),
        "undecided_metrics": ",".join(one.metrics_with(Status.UNDECIDED)),
        "improved_metrics": ",".join(one.metrics_with(Status.IMPROVED)),
        "reason": reason(one, room=REASON_CHARACTERS),
    }


_TO_DO = "* `"
"""Begins a line of a night's note that is a command."""


def night_note(
    verdict: NightVerdict,
    links: dict[str, str],
    remarks: Sequence[str] = (),
    reference: str = "",
    asked: Plan | None = None,
) -> str:
    """Markdown of the parent run: headline, what got worse, changes, what to do, tables.

    Of a night that answers a question, the question and what each configuration gains, first.

    Args:
        verdict: the night's.
        links: text -> address.
        remarks: what changed since the baseline, and warnings about the data, one line each.
        reference: name of what the others are compared with.
        asked: the plan of a night that answers a question; see :func:`differences.is_answer`.
    """
    head, rows = _values(verdict)
    lines = [
        f"**{differences.question(asked) if asked else headline(verdict)}**",
        "",
        *(f"* {line}" for line in worse(verdict)[:WORSE_MAX]),
        *(_answers(verdict, asked) if asked else []),
        "",
        " · ".join(f"[{name}]({target})" for name, target in links.items()),
        "",
        *(f"* {line}" for line in remarks),
        *(f"{_TO_DO}{command}`" for command in ([] if asked else what_to_do(verdict))),
        "",
        *head,
    ]
    note = _filled(lines, rows, NOTE_CHARACTERS)
    if asked:
        return note
    return "\n".join([note, *_against(verdict, reference, NOTE_CHARACTERS - 80 - len(note))])


def _values(verdict: NightVerdict) -> tuple[list[str], list[str]]:
    """Head and rows of a table: each configuration's verdict and values, the worst first.

    Units have a row of their own: MLflow breaks words in columns beside wide ones.
    """
    told = [name for name in MAIN if any(name in one.own for one in verdict.configurations)]
    head = [
        f"| {' | '.join(('configuration', 'verdict', *map(quantities.label, told)))} |",
        "|---|---|" + "---:|" * len(told),
        f"| | | {' | '.join(f'*{unit_per(name, _per(name))}*' for name in told)} |",
    ]
    against = {one.config_id: one for one in verdict.against_reference}
    ranked = sorted(verdict.configurations, key=lambda one: WORST_FIRST.index(one.status))
    rows = [
        f"| {_in_markdown(one.name)}{_weaker(against.get(one.config_id))} "
        f"| {', '.join(map(str, one.words))} |"
        + "".join(f" {quantities.plain(one.own.get(name))} |" for name in told)
        for one in ranked
    ]
    return head, rows


def _answers(verdict: NightVerdict, plan: Plan) -> list[str]:
    """A line a value that was asked, the best first."""
    best = best_first(one for one in verdict.against_reference if one.config_id in plan.asked)
    lines = [
        f"* {one.name}: {'; '.join(filter(None, (differences.answer(one), beside)))}"
        for one, beside in ((each, differences.described(each)) for each in best[:ANSWERS_MAX])
    ]
    more = len(best) - ANSWERS_MAX
    return [*lines, *([f"* and {more} more: see the report"] if more > 0 else [])]


def note_of_baseline(note: str) -> str:
    """A night's note once it was accepted: nothing is left to do about it."""
    return "\n".join(line for line in note.split("\n") if not line.startswith(_TO_DO))


def _filled(lines: list[str], rows: list[str], characters: int) -> str:
    """Lines, and as many rows of a table below them as there is room for."""
    size = sum(len(line) + 1 for line in lines)
    room = characters - 80  # for how many more there are
    fit = sum(end <= room for end in accumulate((len(row) + 1 for row in rows), initial=size)) - 1
    if fit < len(rows):
        rows = [*rows[: max(0, fit)], f"\n… and {len(rows) - max(0, fit)} more: see the report"]
    return "\n".join([*lines, *rows])


def _against(verdict: NightVerdict, reference: str, room: int) -> list[str]:
    """What each configuration gains and costs, in the experiment's order, as many as fit."""
    lines = ["", f"Against {reference}:", ""] if verdict.against_reference else []
    for at, one in enumerate(verdict.against_reference):
        line = f"* {one.name}: {differences.sentence(one)}"
        room -= len(line) + 1
        if room < 0:
            return [*lines, f"* and {len(verdict.against_reference) - at} more: see the report"]
        lines.append(line)
    return lines


def _in_markdown(name: str) -> str:
    """A name of a grid's point has stars, and any may have underscores."""
    return re.sub(r"([*_])", r"\\\1", name)


def _weaker(one: AgainstReference | None) -> str:
    """A red mark with what one replica alone held, where acks=all promises less."""
    return f" 🔴 {differences.promise(one)}" if one and one.weaker else ""


def reference_tags(one: AgainstReference | None) -> dict[str, str]:
    """Tags of a child that say what differs from the reference; none of the reference itself."""
    if one is None:
        return {}
    having = {
        str(word): ",".join(each.metric for each in one.differences if each.word is word)
        for word in (Word.BETTER, Word.WORSE, Word.UNDECIDED)
    }
    tags = {f"reference.{word}": listed for word, listed in having.items()}
    return {**tags, "reference.weaker": ",".join(one.weaker)}


def config_note(
    one: ConfigVerdict, trend: str, reference: str, against: AgainstReference | None
) -> str:
    """Markdown of a child run: verdict, trend, each metric against baseline and reference."""
    lines = [
        f"**{', '.join(str(word) for word in one.words)}**: {reason(one, room=REASON_CHARACTERS)}",
        "",
        f"[its nights so far]({trend})",
        "",
        "| metric | status | baseline to tonight | ratio (interval) | scenarios | q |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for metric in in_order(one.metrics):
        pair = metric.pair
        figures, ratio = (
            (figures_of(metric.metric, pair), ratio_of(pair)) if pair else (_own(one, metric), "")
        )
        scenarios = pair.scenarios if pair else "–"
        lines.append(
            f"| {quantities.label(metric.metric)} | {metric.status} | {figures} | {ratio or '–'} | "
            f"{scenarios} | {number(metric.q)} |"
        )
    if against is not None:
        lines += ["", f"Against {reference}: {differences.sentence(against)}"]
    rows = _strata_rows(one)
    return _filled([*lines, "", *(STRATA_HEAD if rows else ())], rows, NOTE_CHARACTERS)


def _own(one: ConfigVerdict, metric: MetricVerdict) -> str:
    """What a metric that was not compared has on the standing panel."""
    value = one.own.get(metric.metric)
    return "–" if value is None else one_figure(metric.metric, _per(metric.metric), value)


def _per(metric: str) -> Per:
    return Per.TYPICAL if quantities.is_latency(metric) else Per.YEAR


def _strata_rows(one: ConfigVerdict) -> list[str]:
    """The strata of what got worse or better."""
    shown = (Status.REGRESSED, Status.SUSPECT, Status.IMPROVED)
    return [
        f"| {quantities.label(metric.metric)} | {part.stratum} | {part.status} "
        f"| {number(part.pair.ratio)} | "
        f"{part.risen} worse, {part.fallen} better of {part.scenarios} |"
        for metric in one.metrics
        if metric.status in shown
        for part in metric.strata
        if part.status is not Status.UNCHANGED
    ]
