"""Each configuration of a night against the experiment's reference, as a night is against another.

The look is the one that compares tonight with the baseline (:mod:`isr_pipeline.verdicts.look`): the
same paired tests, intervals, strata, correction and sizes that matter. One arm is the reference,
the other each configuration. No further scenarios follow, so what is called worse is held to the
rate and the size of what is called better.

Nothing is ranked and nothing is chosen. Records that one replica alone held when they were
acknowledged are compared like everything else: who lowers what acks=all promises sees it in them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.promise import lowered
from isr_pipeline.experiment.replicas import KEY as MIN_ISR
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.difference import AgainstReference, Difference, StratumDifference, Word
from isr_pipeline.verdicts.look import call, size_of
from isr_pipeline.verdicts.materiality import Size, fall_matters, is_latency, rise_matters
from isr_pipeline.verdicts.model import MetricVerdict, Status, StratumVerdict
from isr_pipeline.verdicts.quantities import ONE_REPLICA, UNDER_MIN
from isr_pipeline.verdicts.settings import MetricSettings, VerdictSettings

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.panel import PanelOutcomes

OF_STRATA = {Status.SUSPECT: Word.WORSE, Status.IMPROVED: Word.BETTER}
"""Status of a stratum that differs -> its word."""


def against_reference(
    plan: Plan, panel: PanelOutcomes, settings: VerdictSettings
) -> tuple[AgainstReference, ...]:
    """Compare every other configuration with the reference.

    Args:
        plan: of the night.
        panel: outcomes of its regression panel, in the plan's order.
        settings: what is tested, and what matters.

    Returns:
        one for each configuration but the reference, in the experiment's order; none if the
        reference has a failed or missing pair.
    """
    reference = next(one for one in plan.configurations if one.name == plan.reference)
    usable = [one for at, one in enumerate(panel.config_ids) if not panel.unusable[:, at].any()]
    if reference.config_id not in usable:
        return ()
    healthy = healthy_scenario(plan.definition, plan.definition.where)
    today = apply(healthy, reference.overrides)
    ids = tuple(one for one in usable if one != reference.config_id)
    compared = _compared(panel, ids, reference.config_id, settings)
    found = []
    for one in plan.configurations:
        if one is reference:
            continue
        moved = one.params.get(MIN_ISR) != reference.params.get(MIN_ISR)
        found.append(
            AgainstReference(
                name=one.name,
                config_id=one.config_id,
                weaker=lowered(apply(healthy, one.overrides), today),
                problem="" if one.config_id in compared else "some of its pairs failed",
                differences=tuple(
                    each
                    for each in compared.get(one.config_id, ())
                    if not (moved and each.metric == UNDER_MIN)
                ),
            )
        )
    return tuple(found)


def _compared(
    panel: PanelOutcomes, ids: tuple[str, ...], reference: str, settings: VerdictSettings
) -> dict[str, tuple[Difference, ...]]:
    """config_id -> its differences."""
    if not ids:
        return {}
    settings = _held_alike(settings)
    new, old = panel.select(ids), panel.select((reference,) * len(ids))
    called, _ = call(new, old, settings)
    scenarios = len(panel.scenario_ids)
    return {
        config_id: tuple(_difference(one, scenarios, settings) for one in metrics)
        for config_id, metrics in zip(ids, called, strict=True)
    }


def _held_alike(settings: VerdictSettings) -> VerdictSettings:
    """Settings under which a rise is called as a fall is, and one replica's records are tested."""
    return settings.model_copy(
        update={
            "suspicion_rate": settings.false_discovery_rate,
            "suspicion_share": 1.0,
            "metrics": {ONE_REPLICA: MetricSettings(floor=0.0), **settings.metrics},
        }
    )


def _difference(one: MetricVerdict, scenarios: int, settings: VerdictSettings) -> Difference:
    size = size_of(one, one.metric)
    word = _word(one, size, settings)
    return Difference(
        metric=one.metric,
        word=word,
        scenarios=scenarios,
        differing=one.discordant or 0,
        before=size.before,
        after=size.value,
        ratio=one.ratio,
        low=one.ratio_low,
        high=one.ratio_high,
        q=one.q,
        newly=one.newly,
        decided_by=decided_by(one, scenarios, settings) if word is Word.UNDECIDED else None,
        strata=tuple(_in_stratum(each) for each in one.strata if each.status in OF_STRATA),
    )


def _in_stratum(one: StratumVerdict) -> StratumDifference:
    return StratumDifference(
        stratum=one.stratum,
        word=OF_STRATA[one.status],
        scenarios=one.scenarios,
        before=one.baseline_value,
        after=one.value,
        ratio=one.ratio,
        low=one.ratio_low,
        high=one.ratio_high,
    )


def _word(one: MetricVerdict, size: Size, settings: VerdictSettings) -> Word:
    """The word of all scenarios together.

    A small q may be that of one stratum, or of the ranks: the interval that is printed has to say
    the same.
    """
    if one.status is Status.UNCHANGED or not one.discordant:
        return Word.NONE
    if one.q is not None and one.q <= settings.false_discovery_rate:
        above = one.ratio is None or (one.ratio_low or 0.0) > 1.0
        below = one.ratio_high is not None and one.ratio_high < 1.0
        if above and rise_matters(size, settings):
            return Word.WORSE
        if below and fall_matters(size, settings):
            return Word.BETTER
    if one.ratio is None:
        return Word.NONE if one.status is Status.OK else Word.UNDECIDED
    ends = one.ratio_low, one.ratio_high
    low, high = (None if end is None else _at(end, size) for end in ends)
    ruled_out = (
        low is not None
        and high is not None
        and not fall_matters(low, settings)
        and not rise_matters(high, settings)
    )
    return Word.NONE if ruled_out and not one.newly else Word.UNDECIDED


def _at(ratio: float, size: Size) -> Size:
    """The size that a change has at one end of its interval."""
    return Size(size.metric, ratio * size.before, size.before, ratio)


def decided_by(one: MetricVerdict, scenarios: int, settings: VerdictSettings) -> int | None:
    """About how many scenarios decide what these leave open, unless it is just what matters.

    An interval narrows with the root of their number. Where either half of it is half of what
    matters, it leaves 1 out or lies within what does not matter.

    Args:
        one: undecided.
        scenarios: that it was compared on.
        settings: what matters.

    Returns:
        two digits, rounded up; None from zero, where the interval lacks an end, or where it is
        narrow enough: then it is just what matters, and no number decides it.
    """
    if not one.ratio or not one.ratio_low or one.ratio_high is None:
        return None
    before = size_of(one, one.metric).before
    least = settings.ratio_min
    if not is_latency(one.metric):
        least = max(least, 1.0 + settings.metrics[one.metric].floor / before)
    half = math.log(max(one.ratio / one.ratio_low, one.ratio_high / one.ratio))
    wanted = scenarios * max(1.0, half / (math.log(least) / 2.0)) ** 2
    if wanted <= scenarios:
        return None
    unit = int(10 ** max(0, math.floor(math.log10(wanted)) - 1))
    return unit * math.ceil(wanted / unit)
