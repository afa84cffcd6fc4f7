"""The answer, in one screen: what got worse and why, how sure, what to do, what differs."""

from __future__ import annotations

import math
from html import escape

from isr_pipeline.blame.why import Explanation
from isr_pipeline.home import IN_CHECKOUT
from isr_pipeline.report import words
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badge, badges, command, fold, table
from isr_pipeline.report.scenario import told
from isr_pipeline.report.sections import reference
from isr_pipeline.report.sections.why import explanation
from isr_pipeline.report.story import story_of
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    MetricVerdict,
    Status,
    accept_command,
    cause_commands,
    number,
)
from isr_pipeline.verdicts.sentences import how_much, reason, stratum_change, worst_first

TITLE = "The answer"
ORDER = 0

SHOWN = 3
"""Configurations that are told here; the rest stands below."""

LANES = 3
"""Lanes of a run: of one partition with three replicas."""

P_SMALL = 0.001
"""A p-value below it is not told to its digits."""

WORSE = (Status.REGRESSED, Status.SUSPECT)
TELLING = (*WORSE, Status.IMPROVED)

COLUMNS = [
    ("metric", ""),
    ("before", "n"),
    ("tonight", "n"),
    ("ratio (interval)", "n"),
    ("scenarios", ""),
    ("most in", ""),
]


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    against, title = reference.short(data), f"Against {escape(data.plan.reference)}"
    parts = [
        _card("What got worse, and why", _worse(page, data), wide=bool(data.flagged)),
        _card("What happens in one scenario", _scenario(page, data), wide=True),
        _card("How sure", _sure(data)),
        _card("What to do", _do(data)),
    ]
    if against and data.flagged:
        parts.append(f'<div class="wide">{fold(f"<h3>{title}</h3>", against)}</div>')
    else:
        parts.append(_card(title, against, wide=True))
    return f'<div class="answer">{"".join(parts)}</div>'


def _card(title: str, text: str, *, wide: bool = False) -> str:
    """A card of the answer; nothing without text."""
    kind = ' class="wide"' if wide else ""
    return f"<div{kind}><h3>{title}</h3>{text}</div>" if text else ""


def headline(data: NightData) -> str:
    """The night in one line of plain words."""
    verdict, total = data.verdict, len(data.verdict.configurations)
    match verdict.status:
        case Status.BASELINE:
            return f"A first night: {data.plan.reference} and {total - 1} beside it"
        case Status.REGRESSED | Status.SUSPECT | Status.NO_DATA | Status.UNDECIDED:
            having = [one.name for one in verdict.configurations if one.status is verdict.status]
            said = {
                Status.REGRESSED: "got worse",
                Status.SUSPECT: "may have got worse",
                Status.NO_DATA: "without data",
                Status.UNDECIDED: "not decided",
            }[verdict.status]
            return f"{words.listed(having, 2)} {said} ({len(having)} of {total} configurations)"
        case _:
            better = verdict.counts()[Status.IMPROVED]
            beside = f", {better} of {total} configurations got better" if better else ""
            return f"Nothing got worse{beside}"


def _worse(page: Page, data: NightData) -> str:
    verdict = data.verdict
    if verdict.status is Status.BASELINE:
        return "<p>No night was accepted yet, so there is nothing to compare this one with.</p>"
    refused = [one for one in verdict.configurations if one.status is Status.NO_DATA]
    said = [f"<p>{_named(one)}: {escape(reason(one))}.</p>" for one in refused[:SHOWN]]
    said += [_one(page, data, one) for one in data.flagged[:SHOWN]]
    more = len(data.flagged[SHOWN:])
    if more:
        said.append(f'<p><a href="#regressions">and {more} more</a></p>')
    if not said:
        said.append(f"<p>Nothing.{_undecided(data)}</p>")
    better = [
        one.name
        for one in verdict.configurations
        if one.metrics_with(Status.IMPROVED) and one not in data.flagged[:SHOWN]
    ]
    if better:
        said.append(
            f'<p><a href="#improvements">Better</a>: {breakable(words.listed(better))}.</p>'
        )
    return "".join(said)


def _undecided(data: NightData) -> str:
    count = data.verdict.counts()[Status.UNDECIDED]
    return f" In {count} a rise that matters is not ruled out either." if count else ""


def _named(one: ConfigVerdict) -> str:
    return f"<strong>{breakable(one.name)}</strong> {badges(one)}"


def _one(page: Page, data: NightData, one: ConfigVerdict) -> str:
    """A configuration's settings, and each metric that got worse or better, worst first."""
    telling = [metric for metric in one.metrics if metric.status in TELLING]
    settings = words.settings(data.configuration(one.config_id), data.reference)
    note = data.verdict.baseline
    before = f", which is night {note.night}," if note is not None else ""
    caption = f"{one.name}: before{before} and tonight"
    listed = table(caption, COLUMNS, [_row(metric) for metric in worst_first(telling)])
    beside = f" <small>{breakable(settings)}</small>" if settings else ""
    return f"<p>{_named(one)}{beside}</p>{listed}<p>{_why(page, data, one)}</p>"


def _row(one: MetricVerdict) -> str:
    ends, means = (one.ratio_low, one.ratio_high), (one.baseline_value, one.value)
    counts = f"worse in {one.risen}, better in {one.fallen} of {one.scenarios}"
    return (
        f'<tr><th scope="row">{quantities.label(one.metric)}<br>'
        f"<small>{quantities.unit(one.metric)}</small></th>"
        f'<td class="n">{quantities.amount(one.metric, one.baseline_value)}</td>'
        f'<td class="n">{quantities.amount(one.metric, one.value)}</td>'
        f'<td class="n">{escape(how_much(one.metric, one.ratio, ends, means))}<br>'
        f"{badge(one.status)}</td>"
        f"<td>{counts}</td><td>{breakable(_most(one))}</td></tr>"
    )


def _most(one: MetricVerdict) -> str:
    """The stratum in which a metric changed most, of those that are called as it is."""
    same = [part for part in one.strata if part.status is one.status]
    if not same:
        return "–"
    worse = one.status in WORSE
    sizes = {part.stratum: math.inf if part.ratio is None else part.ratio for part in same}
    most = max(same, key=lambda part: sizes[part.stratum] * (1 if worse else -1))
    means = (most.baseline_value, most.value)
    return stratum_change(one.metric, most.stratum, most.ratio, means)


def _scenario(page: Page, data: NightData) -> str:
    """The scenario that decided most, told, with its worst partition before and tonight."""
    for one in data.flagged[:1]:
        found = explanation(page, data, one.name)
        if isinstance(found, Explanation):
            return told(page, story_of(found), LANES)
    return ""


def _why(page: Page, data: NightData, one: ConfigVerdict) -> str:
    """What decided the first difference, if the histories could be compared; else what changed.

    It need not be the cause: where more than one thing changed, the command that names that.
    """
    found = explanation(page, data, one.name)
    if isinstance(found, Explanation):
        text = escape(str(found.decided_by["text"]))
        said = f'<a href="#why">First differing {found.part}</a> decided by {text}.'
        if command := found.command:
            return f"{said} <code>{escape(command)}</code> names the cause."
        return said
    changes = read_changes(data.plan.experiment, data.plan.night)
    texts = [change.text for change in (*changes.of(one.config_id), *changes.shared)]
    if not texts:
        return "Why: no setting and no code differs from the baseline's."
    more = f" and {len(texts) - 1} more" if len(texts) > 1 else ""
    return f'Changed since the baseline: <a href="#changed">{escape(texts[0])}</a>{more}.'


def _sure(data: NightData) -> str:
    verdict = data.verdict
    if verdict.status is Status.BASELINE:
        return ""
    if not data.flagged:
        return f"<p>{_sure_of_nothing(data)}</p>"
    return "".join(how_sure(one) for one in data.flagged[:SHOWN]) + _looked_at(data)


def how_sure(one: ConfigVerdict) -> str:
    """On what the worst metric of a configuration rests."""
    metric = worst_first([metric for metric in one.metrics if metric.status in WORSE])[0]
    said = _again(metric) or _on_further_scenarios(metric)
    return (
        f"<p>{breakable(one.name)}: {quantities.label(metric.metric)} is worse in "
        f"{metric.risen} of {metric.scenarios} scenarios and better in {metric.fallen}; {said}.</p>"
    )


def _on_further_scenarios(metric: MetricVerdict) -> str:
    confirmed = (
        "confirmed on scenarios that had no part in finding it"
        if metric.status is Status.REGRESSED
        else "not confirmed on further scenarios"
    )
    if metric.p_confirm is None:
        return confirmed
    p = "p < 0.001" if metric.p_confirm < P_SMALL else f"p = {number(metric.p_confirm)}"
    return f"{confirmed}: chance alone would do as much there with {p}"


def _again(metric: MetricVerdict) -> str:
    """What drawing a scenario of it again in other phases said; empty if none was."""
    if not metric.redraws:
        return ""
    clearest = min(metric.redraws, key=lambda one: one.p)
    some = f"more than {clearest.above:g}" if clearest.above else "some"
    return (
        f"drawn again in {clearest.draws} other phases, scenario {escape(clearest.scenario_id)} "
        f"has {some} in {clearest.tonight}, in {clearest.before} before"
    )


def _looked_at(data: NightData) -> str:
    most = data.verdict.scenarios_used
    return f"<p>Up to {most} scenarios a configuration.</p>"


def _sure_of_nothing(data: NightData) -> str:
    counts = data.verdict.counts()
    total = len(data.verdict.configurations)
    parts = []
    if counts[Status.UNCHANGED]:
        parts.append(f"{counts[Status.UNCHANGED]} of {total} have bit-identical outcomes.")
    if counts[Status.OK]:
        parts.append(
            f"{counts[Status.OK]} differ, and a rise of {data.settings.ratio_min:g} × that reaches "
            "the floor is ruled out (one-sided, 5 %)."
        )
    if counts[Status.UNDECIDED]:
        parts.append(f"{counts[Status.UNDECIDED]} are not decided: the budget is spent.")
    parts.append('<a href="#power">How small a change is found</a>.')
    return " ".join(parts)


def _do(data: NightData) -> str:
    plan, verdict = data.plan, data.verdict
    accept = accept_command(plan.experiment, plan.night)
    match verdict.status:
        case Status.BASELINE:
            said = "<p>Look at the page; if it is right, accept it.</p>"
            return f"{said}{command(accept)}{_where()}"
        case Status.REGRESSED | Status.SUSPECT:
            why, blame = cause_commands(plan.experiment, plan.night, data.flagged[0].name)
            return (
                f"<p>See where both runs first differ:</p>{command(why)}"
                f"<p>Find the cause, in minutes:</p>{command(blame)}"
                f"<p>Fix it. Or accept it, if it is meant:</p>{command(accept)}{_where()}"
            )
        case Status.NO_DATA:
            return '<p>The reason says which pair failed; see <a href="#data">Data</a>.</p>'
        case Status.UNDECIDED:
            return "<p>Nothing, or give the experiment a larger <code>budget</code>.</p>"
        case Status.IMPROVED:
            return f"<p>If the gain is meant, accept it.</p>{command(accept)}{_where()}"
        case _:
            return "<p>Nothing.</p>"


def _where() -> str:
    """Where commands can be pasted: a page does not know the shell of its reader."""
    if not IN_CHECKOUT:
        return ""
    return "<p><small>In the checkout, after <code>. .venv/bin/activate</code>.</small></p>"
