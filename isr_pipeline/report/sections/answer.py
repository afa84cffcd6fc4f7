"""The answer, in one screen: what got worse and why, how sure, what to do, what differs."""

from __future__ import annotations

from html import escape

from isr_pipeline.blame.why import Explanation
from isr_pipeline.home import IN_CHECKOUT
from isr_pipeline.report import words
from isr_pipeline.report.data import NightData
from isr_pipeline.report.names import breakable
from isr_pipeline.report.page import Page, badges, command
from isr_pipeline.report.sections import reference
from isr_pipeline.report.sections.why import explanation
from isr_pipeline.verdicts import quantities
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.model import (
    ConfigVerdict,
    MetricVerdict,
    Status,
    accept_command,
    cause_commands,
    number,
)
from isr_pipeline.verdicts.sentences import change, reason, worst_first

TITLE = "The answer"
ORDER = 0

SHOWN = 3
"""Configurations and metrics that are told here; the rest stands below."""

WORSE = (Status.REGRESSED, Status.SUSPECT)


def body(page: Page, data: NightData) -> str:
    """The section's HTML."""
    parts = {
        "What got worse, and why": _worse(page, data),
        "How sure": _sure(data),
        "What to do": _do(data),
    }
    against = reference.short(data)
    return (
        '<div class="answer">'
        + "".join(f"<div><h3>{title}</h3>{text}</div>" for title, text in parts.items() if text)
        + (
            f'<div class="wide"><h3>Against {escape(data.plan.reference)}</h3>{against}</div>'
            if against
            else ""
        )
        + "</div>"
    )


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
    better = [one.name for one in verdict.configurations if one.metrics_with(Status.IMPROVED)]
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
    metrics = worst_first([metric for metric in one.metrics if metric.status in WORSE])
    told = [change(metric) for metric in metrics[:SHOWN]]
    if len(metrics) > SHOWN:
        told.append(f"and {len(metrics) - SHOWN} more metrics")
    listed = "".join(f"<li>{breakable(line)}</li>" for line in told)
    return f"<p>{_named(one)}:</p><ul>{listed}</ul><p>{_why(page, data, one)}</p>"


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
    return f"{confirmed}: chance alone would do as much there with p = {number(metric.p_confirm)}"


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
    return f"<p>Brackets hold the interval of a ratio; up to {most} scenarios a configuration.</p>"


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
