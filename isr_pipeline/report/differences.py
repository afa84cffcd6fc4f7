"""What each configuration gains and costs against the reference, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isr_pipeline.base.files.words import counted
from isr_pipeline.verdicts import sentences
from isr_pipeline.verdicts.exercised import at_rates, not_exercised
from isr_pipeline.verdicts.quantities import (
    ONE_REPLICA,
    UNCLEAN,
    VerdictSettings,
    label,
)
from isr_pipeline.verdicts.record import (
    LOST,
    AgainstReference,
    Difference,
    NightVerdict,
    Per,
    Status,
    StratumDifference,
    Word,
    ask_again,
)
from isr_pipeline.worlds.columns import MAIN

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

IN_ORDER = (ONE_REPLICA, LOST, *MAIN, UNCLEAN)
"""Metrics in the order of a sentence: what guards records comes first."""

PROMISED = (ONE_REPLICA, LOST)
"""Metrics of what acks=all promises."""

RATE: float = VerdictSettings.model_fields["false_discovery_rate"].default
"""False discoveries that a night allows unless `verdicts.yaml` says otherwise."""

SAME = "no scenario differs"
"""Of what two configurations have alike: a statement about the panel, not about the key."""

Called = Callable[[str], str]
"""Gives what a stratum is called."""

WORDS = (Word.WORSE, Word.BETTER, Word.UNDECIDED, Word.NONE)
"""Words in the order of a sentence."""


def sentence(one: AgainstReference, called: Called = str) -> str:
    """Everything that differs: ``worse: ISR flaps 1.9 × (1.4 to 2.6); better: …``."""
    if one.problem:
        return f"not compared: {one.problem}"
    told = [*([promise(one, called)] if one.weaker else []), *effects(one, called)]
    if not any(each.differing for each in one.differences):
        told.append(SAME + at_rates(one))
    told += not_exercised(one)
    kept = [f"as compared in night {one.night}"] if one.night else []
    return "; ".join([*told, *kept])


def described(one: AgainstReference) -> str:
    """What is shown beside the tests, where it differs; empty if nothing does."""
    told = [
        f"{label(each.metric)} {sentences.how_much(each.metric, each.pair)}"
        for each in one.described
        if each.pair.before != each.pair.after
    ]
    return f"not tested: {', '.join(told)}" if told else ""


def effects(one: AgainstReference, called: Called = str) -> list[str]:
    """What differs, a part for each word, without what :func:`promise` tells.

    Strata are named as ``called`` has it.
    """
    told = ((word, _with_sizes(one, word, called)) for word in WORDS)
    return [f"{word}: {said}" for word, said in told if said]


def _with_sizes(one: AgainstReference, word: Word, called: Called) -> str:
    found = _differing(one, word)
    return ", ".join(f"{label(each.metric)} {size(each, called)}" for each in found)


def _differing(one: AgainstReference, word: Word) -> list[Difference]:
    """What differs and is called so, without what :func:`promise` tells."""
    promised = PROMISED if one.weaker else ()
    found = (each for each in one.differences if each.differing and each.word is word)
    return sorted(
        (each for each in found if each.metric not in promised), key=lambda each: place(each.metric)
    )


NO_PRICE = "no price"

ALARMS = (Status.REGRESSED, Status.SUSPECT, Status.NO_DATA)
"""What is told before anything that was asked."""


def is_answer(plan: Plan, verdict: NightVerdict) -> bool:
    """Whether a night answers what was asked, and nothing got worse that comes before that."""
    return bool(plan.asked) and verdict.status not in ALARMS


def asked(plan: Plan) -> list[str]:
    """Names of the configurations that a night was asked about."""
    return [one.name for one in plan.configurations if one.config_id in plan.asked]


def question(plan: Plan) -> str:
    """What a night was asked."""
    names = [name for name in asked(plan) if name != plan.reference]
    return f"{plan.reference}, or {sentences.some(names)}?"


def answer(one: AgainstReference, called: Called = str) -> str:
    """What a value that was asked gains, at what price, and how sure that is, in one sentence."""
    if one.problem:
        return f"not compared: {one.problem}"
    if not any(each.differing for each in one.differences):
        return f"nothing that is tested differs in any scenario: no gain, {NO_PRICE}"
    gain = _with_sizes(one, Word.BETTER, called)
    worse = _with_sizes(one, Word.WORSE, called)
    undecided = ", ".join(label(each.metric) for each in _differing(one, Word.UNDECIDED))
    price = f"price: {worse}" if worse else NO_PRICE
    if undecided and not worse:
        price = "no price found"
    found = [f"gain: {gain}" if gain else "no gain found", price]
    told = [
        *([promise(one, called)] if one.weaker else []),
        *(found if gain or worse else ["neither gain nor price found"]),
        f"on {counted(max(each.pair.scenarios for each in one.differences), 'scenario')}"
        + (f", a gain or price is not ruled out in {undecided}" if undecided else ""),
        *([f"as compared in night {one.night}"] if one.night else []),
    ]
    return "; ".join(told)


def place(metric: str) -> int:
    """Where a metric stands in a sentence or a table."""
    return IN_ORDER.index(metric) if metric in IN_ORDER else len(IN_ORDER)


def size(one: Difference, called: Called = str) -> str:
    """The ratio and the figures that it is of, and the strata that differ from it."""
    return _with(sentences.how_much(one.metric, one.pair), _beside(one, called))


def ratio(one: Difference, called: Called = str) -> str:
    """The same without the figures, which stand in columns of their own."""
    return _with(sentences.ratio_of(one.pair), _beside(one, called))


def _with(found: str, beside: str) -> str:
    return " ".join(filter(None, (found, f"({beside})" if beside else "")))


def _beside(one: Difference, called: Called) -> str:
    """What else a comparison shows; every stratum that differs where no figure is of all."""
    strata = [
        _in_stratum(one.metric, each, called(each.stratum))
        for each in one.strata
        if each.word is not one.word or one.pair.per is Per.MIX
    ]
    newly = f"newly in {', '.join(one.newly)}" if one.newly else ""
    calm = sentences.without_incident(one.metric, one.without_incident)
    return "; ".join(filter(None, (newly, _chance(one), *strata, calm)))


def _in_stratum(metric: str, one: StratumDifference, called: str) -> str:
    said = sentences.stratum_change(metric, called, one.pair)
    return f"{one.word} {said}" if one.pair.when else f"{one.word} in {said}"


def _chance(one: Difference) -> str:
    """Why it is undecided with an interval on one side of 1: by chance, or it may not matter."""
    low, high = one.pair.low, one.pair.high
    aside = (low or 0.0) > 1.0 or (high is not None and high < 1.0)
    if one.word is not Word.UNDECIDED or not aside:
        return ""
    if one.q is not None and one.q <= RATE:
        return sentences.HARDLY_CHANCE
    return sentences.MAYBE_CHANCE


def promise(one: AgainstReference, called: Called = str) -> str:
    """By which keys acks=all promises less, and what that does to records."""
    said = [f"weaker {', '.join(one.weaker)}"]
    for metric in PROMISED:
        found = one.difference(metric)
        if found is not None:
            said.append(f"{label(metric)} {_changed(found, called)}".rstrip())
    return ", ".join(said)


def _changed(one: Difference, called: Called) -> str:
    return f"{one.word} {size(one, called)}" if one.differing else same(one)


def same(one: Difference) -> str:
    """What both have where they are the same; empty of a panel whose mix says nothing of it."""
    if one.pair.per is Per.MIX:
        return "" if one.pair.after else sentences.NONE
    return sentences.one_figure(one.metric, one.pair.per, one.pair.after)


def longer(plan: Plan, against: Sequence[AgainstReference]) -> tuple[str, str]:
    """What further scenarios would decide, and the command; both empty if nothing is undecided.

    The command's budget is never below the experiment's, which decides what got worse.
    """
    undecided = [each for one in against for each in one.differences if each.word is Word.UNDECIDED]
    if not undecided:
        return "", ""
    every = sum(len(one.differences) for one in against)
    said = f"{len(undecided)} of {every} comparisons are undecided"
    budget, standing = plan.definition.budget.scenarios, plan.panels["regression"]
    known = [each.decided_by for each in undecided if each.decided_by]
    within = [scenarios for scenarios in known if standing + scenarios <= budget]
    if within:
        said = f"{said}; about {max(within)} further scenarios would decide {len(within)} of them"
        return said, ask_again(plan.experiment, plan.night, budget)
    said = f"{said}; {budget} scenarios, the budget, would not decide them"
    return f"{said}, about {min(known)} one of them (--scenarios)" if known else said, ""
