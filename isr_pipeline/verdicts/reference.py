"""Each configuration of a night against the experiment's reference, as a night is against another.

The looks are those that compare tonight with the baseline (:mod:`isr_pipeline.verdicts.looks`): the
same paired tests, intervals, strata, correction and sizes that matter. One arm is the reference,
the other each configuration. What is called worse is held to the rate and the size of what is
called better. What was asked and stays undecided is looked at again on the night's further
scenarios, by the looks of the baseline's arm, which divide one error among them.

Nothing is ranked and nothing is chosen. Records that one replica alone held when they were
acknowledged are compared like everything else: who lowers what acks=all promises sees it in them.

What was asked may take thousands of scenarios. The next night would simulate the same ones under
the same rules and settings, and find the same. So a night that is decided keeps what it says of
what was asked, in one file for its experiment, and a later night takes it from there.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.files.models import Strict, format_of
from isr_pipeline.base.files.whole import write_whole
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.configurations import (
    MIN_ISR,
    effective,
    lowered,
    resolved_params,
)
from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.kernels.source import kernel_of
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.acknowledged import as_shares
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.exercised import farther, reached
from isr_pipeline.verdicts.looks import Look, call, size_of
from isr_pipeline.verdicts.quantities import (
    ONE_REPLICA,
    UNDER_MIN,
    MetricSettings,
    Size,
    VerdictSettings,
    fall_matters,
    is_latency,
    rise_matters,
)
from isr_pipeline.verdicts.record import (
    AgainstReference,
    Described,
    Difference,
    Figures,
    MetricVerdict,
    Status,
    StratumDifference,
    StratumVerdict,
    Word,
    Year,
)
from isr_pipeline.verdicts.years import until_healed, until_repaired, years

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.base.storage.places import Place
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.scenarios.profile import FaultProfile
    from isr_pipeline.verdicts.record import NightVerdict

OF_STRATA = {Status.SUSPECT: Word.WORSE, Status.IMPROVED: Word.BETTER}
"""Status of a stratum that differs -> its word."""


def against_reference(
    plan: Plan, panel: PanelOutcomes, settings: VerdictSettings
) -> tuple[AgainstReference, ...]:
    """Compare every other configuration with the reference.

    Args:
        plan: of the night.
        panel: outcomes of its standing panel, in the plan's order.
        settings: what is tested, and what matters.

    Returns:
        one for each configuration but the reference, in the experiment's order; none if the
        reference has a failed or missing pair.
    """
    reference = next(one for one in plan.configurations if one.name == plan.reference)
    usable = _usable(panel)
    if reference.config_id not in usable:
        return ()
    healthy = healthy_scenario(plan.definition)
    today = apply(healthy, reference.overrides)
    ids = tuple(one for one in usable if one != reference.config_id)
    whole, profile = panel.select(tuple(usable)), plan.definition.profile
    healed, repair = until_healed(whole, profile), until_repaired(whole, profile)
    compared = _compared(panel, ids, reference.config_id, settings, profile)
    beside = _described(panel, ids, reference.config_id, settings, profile)
    found = []
    for one in plan.configurations:
        if one is reference:
            continue
        moved = one.params.get(MIN_ISR) != reference.params.get(MIN_ISR)
        laid_over = apply(healthy, one.overrides)
        found.append(
            AgainstReference(
                name=one.name,
                config_id=one.config_id,
                weaker=lowered(laid_over, today),
                problem="" if one.config_id in compared else "some of its pairs failed",
                healed_before=healed.get(reference.config_id),
                healed_after=healed.get(one.config_id),
                repair_before=repair.get(reference.config_id),
                repair_after=repair.get(one.config_id),
                differences=_of_records(
                    plan,
                    panel,
                    tuple(
                        each
                        for each in compared.get(one.config_id, ())
                        if not (moved and each.metric == UNDER_MIN)
                    ),
                ),
                assumed_records_per_s=plan.definition.cluster.assumed_records_per_s,
                keys=_differing(one.overrides, reference.overrides),
                reached=reached(
                    panel.select((reference.config_id, one.config_id)),
                    (effective(resolved_params(today)), effective(resolved_params(laid_over))),
                ),
                described=beside.get(one.config_id, ()),
            )
        )
    return tuple(found)


def _of_records(
    plan: Plan, panel: PanelOutcomes, found: tuple[Difference, ...]
) -> tuple[Difference, ...]:
    """Counts of records as shares, where nobody gave the rates that they grow with."""
    if plan.definition.cluster.assumed_records_per_s is None:
        return found
    return as_shares(found, panel.select((plan.reference_id,)), plan.definition.profile)


def _differing(mine: Mapping[str, Any], its: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key for key in {**its, **mine} if mine.get(key) != its.get(key))


def _usable(panel: PanelOutcomes) -> list[str]:
    """config_ids without a failed or missing pair."""
    return [one for at, one in enumerate(panel.config_ids) if not panel.unusable[:, at].any()]


def undecided(plan: Plan, against: tuple[AgainstReference, ...]) -> tuple[str, ...]:
    """config_ids of what was asked and is undecided in a metric, unless that was said before."""
    asked = {one.config_id for one in against if one.is_open and not one.night} & {*plan.asked}
    return tuple(one.config_id for one in against if one.config_id in asked)


def called_again(
    plan: Plan,
    against: tuple[AgainstReference, ...],
    panel: PanelOutcomes,
    settings: VerdictSettings,
    *,
    look: Look,
    kept: float,
) -> tuple[AgainstReference, ...]:
    """Call every undecided metric of some configurations again by what a look sees.

    Args:
        plan: of the night.
        against: what was said so far.
        panel: outcomes of these configurations and of the reference on the look's scenarios.
        settings: of the night.
        look: which one.
        kept: share of the configurations of the first look that are still undecided; the others
            were chosen by what was seen, and still count in the correction.
    """
    usable = _usable(panel)
    ids = tuple(one for one in usable if one != plan.reference_id)
    if plan.reference_id not in usable:
        return against
    here = look.settings(settings, kept)
    compared = _compared(panel, ids, plan.reference_id, here, plan.definition.profile, look.share)
    seen = {config_id: _of_records(plan, panel, one) for config_id, one in compared.items()}
    return tuple(
        one.model_copy(
            update={
                "differences": _again(one, seen[one.config_id]),
                "reached": farther(one.reached, panel.select((plan.reference_id, one.config_id))),
            }
        )
        if one.config_id in seen
        else one
        for one in against
    )


def _again(before: AgainstReference, seen: tuple[Difference, ...]) -> tuple[Difference, ...]:
    looked = {one.metric: one for one in seen}
    return tuple(_called_again(one, looked[one.metric]) for one in before.differences)


def _called_again(before: Difference, seen: Difference) -> Difference:
    """One metric after a look: what is decided stays.

    That no further scenario differs bounds how often one does, not how much: then the numbers of
    the standing panel stay. So do strata that it found, and scenarios in which newly happened
    what must never happen, which no look undoes.
    """
    if before.word is not Word.UNDECIDED or not seen.differing:
        return before
    newly = tuple(dict.fromkeys((*before.newly, *seen.newly)))
    strata = {one.stratum: one for one in (*before.strata, *seen.strata)}
    word = Word.UNDECIDED if newly and seen.word is Word.NONE else seen.word
    return seen.model_copy(update={"word": word, "newly": newly, "strata": tuple(strata.values())})


def _compared(
    panel: PanelOutcomes,
    ids: tuple[str, ...],
    reference: str,
    settings: VerdictSettings,
    profile: FaultProfile,
    share: float = 1.0,
) -> dict[str, tuple[Difference, ...]]:
    """config_id -> its differences, by a look that may make such a share of all errors."""
    if not ids:
        return {}
    settings = held_alike(settings)
    new, old = panel.select(ids), panel.select((reference,) * len(ids))
    called, _ = call(new, old, settings, share=share, profile=profile)
    level = share * settings.false_discovery_rate
    found = years(panel.select((reference, *ids)), tuple(settings.metrics), profile)
    return {
        config_id: tuple(
            _difference(
                one,
                len(panel.scenario_ids),
                level,
                settings,
                (found.get((one.metric, reference)), found.get((one.metric, config_id))),
            )
            for one in metrics
        )
        for config_id, metrics in zip(ids, called, strict=True)
    }


DESCRIBED = (
    "leader_changes_per_partition_hour",
    "isr_shrinks_per_partition_hour",
    "under_replicated_rate",
    "produce_latency_acks_all_p99_ms",
)
"""What tested metrics may hide: who stays out of the ISR for longer than a minute does not flap,
and a batch that is never committed has no commit latency."""


def _described(
    panel: PanelOutcomes,
    ids: tuple[str, ...],
    reference: str,
    settings: VerdictSettings,
    profile: FaultProfile,
) -> dict[str, tuple[Described, ...]]:
    """config_id -> what is shown beside the tests, which do not count it."""
    if not ids:
        return {}
    untested = {
        name: MetricSettings(floor=0.0) for name in DESCRIBED if name not in settings.metrics
    }
    beside = settings.model_copy(update={"metrics": untested})
    new, old = panel.select(ids), panel.select((reference,) * len(ids))
    called, _ = call(new, old, beside, profile=profile)
    return {
        config_id: tuple(Described(metric=one.metric, pair=_told(one)) for one in metrics)
        for config_id, metrics in zip(ids, called, strict=True)
    }


def held_alike(settings: VerdictSettings) -> VerdictSettings:
    """Settings under which a rise is called as a fall is, and one replica's records are tested."""
    return settings.model_copy(
        update={
            "suspicion_rate": settings.false_discovery_rate,
            "suspicion_share": 1.0,
            "metrics": {ONE_REPLICA: MetricSettings(floor=0.0), **settings.metrics},
        }
    )


def _difference(
    one: MetricVerdict,
    scenarios: int,
    level: float,
    settings: VerdictSettings,
    of_years: tuple[Year | None, Year | None],
) -> Difference:
    """What is said of one metric; `level` is what a q may have at most."""
    size = size_of(one, one.metric)
    word = _word(one, size, level, settings)
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
        decided_by=scenarios_needed(one, scenarios, settings) if word is Word.UNDECIDED else None,
        strata=tuple(_in_stratum(each) for each in one.strata if each.status in OF_STRATA),
        year_before=of_years[0],
        year_after=of_years[1],
        pair=_told(one),
        without_incident=one.without_incident,
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
        pair=one.pair,
    )


def _told(one: MetricVerdict) -> Figures:
    assert one.pair is not None, "it was compared"
    return one.pair


def _word(one: MetricVerdict, size: Size, level: float, settings: VerdictSettings) -> Word:
    """The word of all scenarios together.

    A small q may be that of one stratum, or of the ranks: the interval that is printed has to say
    the same.
    """
    if one.status is Status.UNCHANGED or not one.discordant:
        return Word.NONE
    if one.q is not None and one.q <= level:
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


def scenarios_needed(one: MetricVerdict, scenarios: int, settings: VerdictSettings) -> int | None:
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


KEPT_FORMAT = 2
"""Number of the format of kept comparisons: one more when older ones cannot be read any more."""

DRAWN_FROM = frozenset({"seed", "cluster", "profile", "horizon_ms", "warmup_ms", "budget"})
"""Fields of an experiment that say which scenarios a night may look at."""


class KeptComparisons(Strict):
    """The file of an experiment.

    Attributes:
        made: :func:`_comparison_digest` -> what was said; each has the night that it was said in.
        format: `KEPT_FORMAT`.
    """

    made: dict[str, AgainstReference]
    format: int


def _comparison_digest(plan: Plan, config_id: str, settings: VerdictSettings) -> str:
    """SHA-256 over all that a comparison with the reference follows from.

    Args:
        plan: says rules, scenarios and both configurations.
        config_id: of the one that is compared.
        settings: how it is tested, and what matters.
    """
    overrides = {one.config_id: one.overrides for one in plan.configurations}
    content = {
        "kernel": kernel_of(plan.code_version),
        "sides": [overrides[plan.reference_id], overrides[config_id]],
        "panels": [plan.panel_digest, plan.confirm_digest],
        "drawn_from": plan.definition.model_dump(mode="json", include=set(DRAWN_FROM)),
        "settings": settings.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def kept_comparisons(
    plan: Plan, against: tuple[AgainstReference, ...], settings: VerdictSettings
) -> tuple[AgainstReference, ...]:
    """What was said of the same comparison before, instead of what the standing panel says."""
    made = _read_kept(_kept_file(plan.experiment))
    if not made:
        return against
    known = {
        config_id: made[key]
        for config_id in plan.asked
        if (key := _comparison_digest(plan, config_id, settings)) in made
    }
    return tuple(
        known[one.config_id].model_copy(update={"name": one.name, "described": one.described})
        if one.config_id in known and not one.problem
        else one
        for one in against
    )


def keep_comparisons(plan: Plan, verdict: NightVerdict, settings: VerdictSettings) -> None:
    """Keep what a decided night says of what was asked; what its experiment had before goes.

    What is undecided is kept as well: the budget is spent. Unless something was open against the
    baseline too, which may have taken the time.
    """
    shared = any(one.is_open for one in verdict.configurations) or any(
        stage.configurations for stage in verdict.stages
    )
    made = {
        _comparison_digest(plan, one.config_id, settings): one.model_copy(
            update={"night": one.night or plan.night}
        )
        for one in verdict.against_reference
        if one.config_id in plan.asked
        and not one.problem
        and not (verdict.stopped and shared and one.is_open)
    }
    file = _kept_file(plan.experiment)
    if made and made != _read_kept(file):
        text = KeptComparisons(made=made, format=KEPT_FORMAT).model_dump_json(indent=1)
        write_whole(file, text + "\n")


def _kept_file(experiment: str) -> Place:
    return Home.from_environment().made / "comparisons" / f"{experiment}.json"


def _read_kept(file: Place) -> dict[str, AgainstReference]:
    """What is kept; nothing where the file is damaged or of another format: it is made again."""
    try:
        raw = json.loads(file.read_text(encoding="utf-8"))
        return KeptComparisons.model_validate(raw).made if format_of(raw) == KEPT_FORMAT else {}
    except (FileNotFoundError, ValueError):
        return {}
