"""The answer, in one screen: what got worse and why, how sure, what to do, what differs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from isr_pipeline.base.home import IN_CHECKOUT
from isr_pipeline.report import differences, words
from isr_pipeline.report.data import NightData
from isr_pipeline.report.page import Page
from isr_pipeline.report.picture import picture
from isr_pipeline.report.scenario import Told, told
from isr_pipeline.report.sections import reference
from isr_pipeline.report.sections.why import explanation
from isr_pipeline.report.story import story_of
from isr_pipeline.verdicts import quantities, sentences
from isr_pipeline.verdicts.blame.why import Explanation
from isr_pipeline.verdicts.changes import read_changes
from isr_pipeline.verdicts.record import (
    ConfigVerdict,
    Figures,
    MetricVerdict,
    Status,
    accept_command,
    ask_again,
    cause_commands,
)
from isr_pipeline.verdicts.sentences import stratum_change, worse, worst_first

SHOWN = 3
"""Configurations that are told here; the rest stands below."""

LANES = 3
"""Lanes of a run: of one partition with three replicas."""

P_SMALL = 0.001
"""A p-value below it is not told to its digits."""

WORSE = (Status.REGRESSED, Status.SUSPECT)
TELLING = (*WORSE, Status.IMPROVED)


@dataclass(frozen=True, slots=True)
class Flagged:
    """A configuration that got worse, or may have.

    Attributes:
        settings: what it sets.
        metrics: what got worse or better, worst first: its figures, and where most.
        parting: where its history parts from the baseline's. It need not be the cause: where more
            than one thing changed, a command names that. None if they could not be compared.
        changes: what changed since the baseline, where ``parting`` is None.
    """

    verdict: ConfigVerdict
    settings: str
    metrics: list[tuple[MetricVerdict, Figures, str]]
    parting: Explanation | None
    changes: list[str]


def values(page: Page, data: NightData) -> dict[str, Any]:
    """The night in one screen."""
    plan, verdict, note = data.plan, data.verdict, data.verdict.baseline
    shown = data.flagged[:SHOWN]
    flagged = [_flagged(page, data, one) for one in shown]
    got_worse = verdict.status in WORSE
    against, more_against = reference.shown(data)
    _, more_scenarios = differences.longer(plan, verdict.against_reference)
    return {
        "status": verdict.status,
        "counts": verdict.counts(),
        "total": len(verdict.configurations),
        "before": f", which is night {note.called}," if note is not None else "",
        "refused": [one for one in verdict.configurations if one.status is Status.NO_DATA][:SHOWN],
        "last_compared": worse(verdict) if verdict.last_compared else [],
        "flagged": flagged,
        "more_flagged": len(data.flagged) - len(shown),
        "better": _better(data),
        "scenario": _scenario(page, data),
        "sure": [how_sure(one) for one in shown],
        "scenarios_used": verdict.scenarios_used,
        "ratio_min": data.settings.ratio_min,
        "ask_again": ask_again(plan.experiment, plan.night, 2 * plan.definition.budget.scenarios),
        "accept": accept_command(plan.experiment, plan.night),
        "why_and_blame": cause_commands(plan.experiment, plan.night, data.flagged[0].name)
        if got_worse
        else (),
        "in_checkout": IN_CHECKOUT,
        "reference": plan.reference,
        "against": against,
        "more_against": more_against,
        "picture": None if data.flagged else picture(against, data.called),
        "asked": data.is_answer,
        "called": data.called,
        "more_scenarios": more_scenarios if against else "",
    }


def headline(data: NightData) -> str:
    """The night in one line of plain words."""
    verdict, total = data.verdict, len(data.verdict.configurations)
    if data.is_answer:
        return differences.question(data.plan)
    match verdict.status:
        case Status.BASELINE:
            return f"A first night: {data.plan.reference} and {total - 1} beside it"
        case Status.REGRESSED | Status.SUSPECT | Status.NO_DATA | Status.UNDECIDED:
            having = [one.name for one in verdict.configurations if one.status is verdict.status]
            worst = [one.name for one in sentences.worst(verdict.configurations)]
            having.sort(key=lambda name: worst.index(name) if name in worst else 0)
            said = {
                Status.REGRESSED: "got worse",
                Status.SUSPECT: "may have got worse",
                Status.NO_DATA: "without data",
                Status.UNDECIDED: "not decided",
            }[verdict.status]
            named = sentences.some(having)
            return f"{named} {said} ({len(having)} of {total} configurations)"
        case _:
            better = verdict.counts()[Status.IMPROVED]
            beside = f", {better} of {total} configurations got better" if better else ""
            return f"Nothing got worse{beside}"


def _better(data: NightData) -> str:
    """Who got better, beside those that are told."""
    return sentences.some(
        [
            one.name
            for one in data.verdict.configurations
            if one.metrics_with(Status.IMPROVED) and one not in data.flagged[:SHOWN]
        ]
    )


def _flagged(page: Page, data: NightData, one: ConfigVerdict) -> Flagged:
    telling = worst_first([metric for metric in one.metrics if metric.status in TELLING])
    found = explanation(page, data, one.name)
    parting = found if isinstance(found, Explanation) else None
    changes = read_changes(data.plan.place)
    return Flagged(
        verdict=one,
        settings=words.settings(data.configuration(one.config_id), data.reference),
        metrics=[(metric, metric.pair, _most(data, metric)) for metric in telling if metric.pair],
        parting=parting,
        changes=[change.text for change in (*changes.of(one.config_id), *changes.shared)],
    )


def _most(data: NightData, one: MetricVerdict) -> str:
    """The stratum in which a metric changed most, of those that are called as it is."""
    same = [part for part in one.strata if part.status is one.status]
    if not same:
        return "–"
    worse = one.status in WORSE
    sizes = {
        part.stratum: math.inf if part.pair.ratio is None else part.pair.ratio for part in same
    }
    most = max(same, key=lambda part: sizes[part.stratum] * (1 if worse else -1))
    return stratum_change(one.metric, data.called(most.stratum), most.pair)


def _scenario(page: Page, data: NightData) -> Told | None:
    """The scenario that decided most, told, with its worst partition before and tonight."""
    for one in data.flagged[:1]:
        found = explanation(page, data, one.name)
        if isinstance(found, Explanation):
            return told(page, story_of(found), LANES)
    return None


def how_sure(one: ConfigVerdict) -> str:
    """On what the worst metric of a configuration rests."""
    metric = worst_first([metric for metric in one.metrics if metric.status in WORSE])[0]
    said = _again(metric) or _on_further_scenarios(metric)
    return (
        f"{one.name}: {quantities.label(metric.metric)} is worse in "
        f"{metric.risen} of {metric.scenarios} scenarios and better in {metric.fallen}; {said}."
    )


def _on_further_scenarios(metric: MetricVerdict) -> str:
    confirmed = (
        "confirmed on scenarios that had no part in finding it"
        if metric.status is Status.REGRESSED
        else "not confirmed on further scenarios"
    )
    if metric.p_confirm is None:
        return confirmed
    p = "p < 0.001" if metric.p_confirm < P_SMALL else f"p = {quantities.number(metric.p_confirm)}"
    return f"{confirmed}: chance alone would do as much there with {p}"


def _again(metric: MetricVerdict) -> str:
    """What drawing a scenario of it again in other phases said; empty if none was."""
    if not metric.redraws:
        return ""
    clearest = min(metric.redraws, key=lambda one: one.p)
    some = f"more than {clearest.above:g}" if clearest.above else "some"
    return (
        f"drawn again in {clearest.draws} other phases, scenario {clearest.scenario_id} "
        f"has {some} in {clearest.tonight}, in {clearest.before} before"
    )
