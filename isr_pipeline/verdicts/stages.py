"""What a night cannot decide is simulated further: the stages of a night, look after look.

How a look calls what is open, and what it may err, is in :mod:`.looks`; here are the night's files:
which scenarios a look sees, what is drawn again in other phases, and what ends the stages.

A stage's scenarios come from the strata where they decide most of what is open. A stratum's
scenarios help as far as its differences vary and as far as it weighs, which is Neyman's
allocation (*On the two different aspects of the representative method*, Journal of the Royal
Statistical Society 97, 1934). There are many questions at once, one for each open metric of each
open configuration. So the next scenario goes to the stratum in which it lowers the expected number
of questions that stay undecided most, if nothing had changed; of one question that is Neyman's.

What varies how much is read off the standing panel, whose scenarios no look counts: the looks
stay tests on scenarios that did not choose anything. Eight scenarios of a stratum without a
difference do not show that it has none: a change that hurts one in ten is missed by eight as often
as not. So every stratum counts as if it had one scenario more, which differs. How much that one
differs is what the panels expect of its stratum: they draw more of what they expect to vary more.
Besides, a part of every stage is shared out as the panels are.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from isr_pipeline.base.errors import Refused
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.plan import Counts, Plan, keep_strata, strata_before
from isr_pipeline.experiment.stages import CONFIRM, Stage
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.scenarios.panels import allocation as panel_allocation
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts import judge, reference
from isr_pipeline.verdicts.baseline import BaselineRecord, baseline_panel, both_sides, source_of
from isr_pipeline.verdicts.changes import judged_at_s
from isr_pipeline.verdicts.comparison import (
    ONE_SIDED,
    PanelOutcomes,
    paired_columns,
    panel_rows,
    standing_panel,
    together,
)
from isr_pipeline.verdicts.looks import ALONE, Look, call_open, looks
from isr_pipeline.verdicts.quantities import VerdictSettings, is_latency, load_settings
from isr_pipeline.verdicts.record import (
    OPEN,
    ConfigVerdict,
    MetricVerdict,
    NightVerdict,
    NotCompared,
    Redraw,
    StageVerdict,
    Status,
    Word,
    verdict_of,
)
from isr_pipeline.verdicts.reference import held_alike
from isr_pipeline.verdicts.statistics import Floats

if TYPE_CHECKING:
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.record import AgainstReference


def look_night(plan: Plan, number: int) -> NightVerdict:
    """Look at all scenarios of the first stages; rewrite verdict.json and `verdicts`.

    Does nothing if nothing awaits it, or if it was looked at before.

    Args:
        plan: the night.
        number: of the look, from 1.

    Raises:
        Refused: scenarios of a stage were not simulated.
    """
    settings = load_settings()
    verdict = verdict_of(plan)
    ids, asked = verdict.awaits_confirm, verdict.awaits_reference
    if not verdict.awaiting or len(verdict.stages) >= number:
        return verdict
    look = looks(plan.stages)[number - 1]
    configurations = _against_baseline(plan, verdict, settings, look)
    against = _against_reference(plan, verdict, settings, look)
    still = reference.undecided(plan, against)
    stage = StageVerdict(
        panel=look.panels[-1],
        scenarios=plan.stages[number - 1].scenarios,
        scenarios_together=look.scenarios,
        level=settings.confirm_p * look.share,
        configurations=len(ids),
        decided=sum(not one.is_open for one in configurations if one.config_id in ids),
        asked=len(asked),
        answered=len(set(asked) - set(still)),
    )
    known = verdict.model_copy(
        update={
            "stages": (*verdict.stages, stage),
            "against_reference": against,
            "awaits_reference": still if asked else (),
        }
    )
    return _rewritten(plan, known, configurations, final=look.is_last)


def _against_baseline(
    plan: Plan, verdict: NightVerdict, settings: VerdictSettings, look: Look
) -> tuple[ConfigVerdict, ...]:
    """All configurations, those that are open against the baseline called again."""
    if not verdict.awaits_confirm:
        return verdict.configurations
    sides = _both_sides(plan, verdict, verdict.awaits_confirm, look)
    decided = _decided(plan, verdict, sides, settings, look)
    called = tuple(decided.get(one.config_id, one) for one in verdict.configurations)
    return _redrawn(plan, called, look, settings)


def _against_reference(
    plan: Plan, verdict: NightVerdict, settings: VerdictSettings, look: Look
) -> tuple[AgainstReference, ...]:
    """All configurations, what was asked and is undecided called again.

    Raises:
        Refused: outcomes are not all there.
    """
    asked = verdict.awaits_reference
    if not asked:
        return verdict.against_reference
    scenarios, outcomes = together(plan, look.panels)
    panel = PanelOutcomes.from_frames(outcomes, scenarios, (plan.reference_id, *asked))
    _all_there(plan, panel, look)
    first = verdict.stages[0].asked if verdict.stages else len(asked)
    return reference.called_again(
        plan, verdict.against_reference, panel, settings, look=look, kept=len(asked) / first
    )


def _redrawn(
    plan: Plan, verdicts: tuple[ConfigVerdict, ...], look: Look, settings: VerdictSettings
) -> tuple[ConfigVerdict, ...]:
    """What must never happen and did, drawn again in other phases by :func:`redraw`."""
    record = baselines.show(plan.experiment)
    assert record is not None, "something was compared, so there was a baseline"
    texts: dict[str, str] = {}
    if any(awaiting(one) for one in verdicts):
        for panel in ("regression", *look.panels):
            rows = panel_rows("scenarios", plan, panel)
            texts |= dict(zip(rows["scenario_id"], rows["scenario_json"], strict=True))
    return redraw(plan, record, verdicts, texts, settings)


def stop(plan: Plan, why: str) -> NightVerdict:
    """Note why no further scenarios are simulated; what is open stays so."""
    verdict = verdict_of(plan)
    known = verdict.model_copy(update={"stopped": why})
    return _rewritten(plan, known, verdict.configurations, final=True)


def stop_asked(plan: Plan, why: str) -> NightVerdict:
    """Note why what was asked gets no further scenarios; what got worse may get them still."""
    verdict = verdict_of(plan)
    known = verdict.model_copy(update={"stopped": why, "awaits_reference": ()})
    known.save(plan.place)
    return known


def until_s(plan: Plan) -> float:
    """When time is over, seconds since 1970: the budget's minutes after the night was judged."""
    return judged_at_s(plan) + 60.0 * plan.definition.budget.minutes


def why_not(plan: Plan, panel: str) -> str:
    """Why a stage is not simulated; empty if it is.

    Where something is open that a stage of the budget could decide, the verdict says it too.

    Args:
        plan: the night.
        panel: of the stage.
    """
    verdict = verdict_of(plan)
    if not verdict.awaiting:
        return verdict.stopped or "nothing is open that further scenarios could decide"
    if panel not in {stage.panel for stage in plan.stages}:
        return "the budget has no such stage"
    if time.time() >= until_s(plan):
        return stop(plan, time_is_over(plan)).stopped
    if panel != CONFIRM and verdict.awaits_confirm:
        without = baselines.without_code(plan, verdict.awaits_confirm)
        if without and not _given_up(plan, verdict, without).awaiting:
            return next(iter(without.values()))
    return ""


def _given_up(plan: Plan, verdict: NightVerdict, without: dict[str, str]) -> NightVerdict:
    """Note of some configurations why no further scenarios are simulated for them."""
    configurations = tuple(
        one.model_copy(update={"stopped": without[one.config_id]})
        if one.config_id in without
        else one
        for one in verdict.configurations
    )
    return _rewritten(plan, verdict, configurations, final=False)


def time_is_over(plan: Plan) -> str:
    """Say that the budget's minutes ended the stages."""
    return f"stopped by the time limit of {plan.definition.budget.minutes:g} minutes"


def decide(plan: Plan) -> NightVerdict:
    """Make a night's verdict final: nothing awaits a look any more; what was asked is kept.

    Raises:
        Refused: something still awaits a stage that the budget allows.
    """
    verdict = verdict_of(plan)
    if verdict.awaiting:
        missing = plan.stages[len(verdict.stages)].panel
        raise Refused(
            f"night {plan.night} of {plan.experiment}: panel {missing} of "
            f"{len(verdict.awaiting)} undecided configurations was never looked at"
        )
    reference.keep_comparisons(plan, verdict, load_settings())
    return verdict


def _rewritten(
    plan: Plan, verdict: NightVerdict, configurations: tuple[ConfigVerdict, ...], *, final: bool
) -> NightVerdict:
    """Write a verdict with its configurations as they are now; nothing awaits a final one."""
    update = judge.facts_of(configurations, pending=not final)
    written = verdict.model_copy(update=update | ({"awaits_reference": ()} if final else {}))
    judge.write(plan, written)
    return written


# -- the scenarios of a look ------------------------------------------------------------------


def _both_sides(
    plan: Plan, verdict: NightVerdict, ids: tuple[str, ...], look: Look
) -> tuple[PanelOutcomes, PanelOutcomes]:
    """Tonight and the baseline on the look's scenarios, in the order of the ids.

    Raises:
        Refused: tonight's outcomes are not all there.
    """
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    partners = {one.config_id: one.baseline_config_id or "" for one in verdict.configurations}
    asked = {config_id: partners[config_id] for config_id in ids}
    _, new, old = both_sides(plan, baseline, asked, look.panels)
    _all_there(plan, new, look)
    return new, old


def _all_there(plan: Plan, panel: PanelOutcomes, look: Look) -> None:
    """Refuse outcomes of a look with a pair that nobody ran."""
    if panel.missing.any():
        raise Refused(
            f"night {plan.night} of {plan.experiment}: outcomes of panel {look.panels[-1]} are "
            f"missing for {int(panel.missing.any(axis=0).sum())} undecided configurations; "
            "simulate it first"
        )


# -- what a look says -------------------------------------------------------------------------


def _decided(
    plan: Plan,
    verdict: NightVerdict,
    sides: tuple[PanelOutcomes, PanelOutcomes],
    settings: VerdictSettings,
    look: Look,
) -> dict[str, ConfigVerdict]:
    """The open configurations with what a look says of them."""
    new, old = sides
    broken = new.failed.any(axis=0) | old.unusable.any(axis=0)
    decided = {
        config_id: _without_data(verdict.configuration(config_id), look.panels[-1])
        for config_id in np.array(new.config_ids)[broken]
    }
    ids = tuple(one for one in new.config_ids if one not in decided)
    if not ids:
        return decided
    first = verdict.stages[0].configurations if verdict.stages else len(new.config_ids)
    before = [verdict.configuration(one) for one in ids]
    called = call_open(
        [one.metrics for one in before],
        new.select(ids),
        old.select(ids),
        settings,
        look=look,
        kept=len(new.config_ids) / first,
        allowed=judge.allowed(plan, settings),
        profile=plan.definition.profile,
    )
    for one, metrics in zip(before, called, strict=True):
        decided[one.config_id] = one.with_metrics(metrics)
    return decided


def _without_data(one: ConfigVerdict, panel: str) -> ConfigVerdict:
    why = f"a pair of panel {panel} spent its event budget or is missing in the baseline"
    metrics = tuple(
        metric.model_copy(update={"status": Status.NO_DATA, "seen": None, "further": None})
        if metric.status in OPEN
        else metric
        for metric in one.metrics
    )
    problem = NotCompared(why=why)
    return one.model_copy(
        update={"status": Status.NO_DATA, "metrics": metrics, "not_compared": problem}
    )


# -- the strata of the next stage ----------------------------------------------------------------

AS_THE_PANEL = 0.2
"""Share of a stage that is shared out as the panels are."""

NO_VARIANCE = 1e-6
"""A thousandth of the margin, squared: nothing can stay undecided below it."""

QUANTILE = float(stats.norm.isf(ONE_SIDED))
"""Of the level at which a rise that matters is ruled out."""


def variances(
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    asked: Sequence[tuple[str, str]],
    strata: Sequence[str],
) -> Floats:
    """What one scenario of each stratum leaves uncertain of each question, in parts of a margin.

    Args:
        new: tonight's standing panel.
        old: the baseline's.
        settings: with the margins: what matters.
        asked: (metric, config_id) that are open.
        strata: their names, in the order of the result.

    Returns:
        (q, S) squares of (share of the population times the root mean square of what a scenario is
        away from the ratio, the one more among them), over the square of the margin. A question
        without a margin has none.
    """
    paired = paired_columns(new, old, settings)
    width = len(new.config_ids)
    labels = np.array(new.strata)
    members = np.array([labels == name for name in strata], dtype=float)
    counts = members.sum(axis=1)
    shares = members @ new.weights / new.weights.sum()
    found = np.zeros((len(asked), len(strata)))
    for row, (metric, config_id) in enumerate(asked):
        column = paired.metrics.index(metric) * width + new.column(config_id)
        if is_latency(metric):
            logarithms = paired.logarithms[:, column]
            away = logarithms - new.weights @ logarithms / new.weights.sum()
            margin = math.log(settings.ratio_min)
        else:
            factor = new.divisors(metric)
            left, right = paired.left[:, column] / factor, paired.right[:, column] / factor
            before = float(new.weights @ right) / float(new.weights.sum())
            after = float(new.weights @ left) / float(new.weights.sum())
            away = left - (after / before if before else 1.0) * right
            margin = max((settings.ratio_min - 1.0) * before, settings.metrics[metric].floor)
        differs = paired.left[:, column] != paired.right[:, column]
        if margin > 0.0 and differs.any():
            moved = (new.weights * away / new.weights.sum()) ** 2  # of the panel's mean, by each
            sums = shares**2 * (members @ away**2) + counts**2 * float(moved[differs].mean())
            found[row] = sums / (counts + 1.0) / margin**2
    return found


def allocate(needs: Floats, counts: Sequence[int], more: int, shares: Sequence[float]) -> list[int]:
    """Share out more scenarios among strata.

    Args:
        needs: (q, S) of :func:`variances`.
        counts: (S,) scenarios that there are, one of each at least.
        more: to share out.
        shares: (S,) of the panels, up to a common factor.

    Returns:
        (S,) further scenarios of each; they sum to ``more``.
    """
    have = np.array(counts, dtype=float)
    wanted = np.array(shares, dtype=float) / sum(shares)
    further = np.zeros(len(have), dtype=np.int64)
    asked = needs[needs.any(axis=1)]
    as_panel = math.ceil(AS_THE_PANEL * more) if len(asked) else more
    for _ in range(as_panel):
        further[int(np.argmax(wanted / (further + 0.5)))] += 1
    have += further
    for _ in range(more - as_panel):
        place = int(np.argmax(_slopes((asked / have).sum(axis=1)) @ asked / (have * (have + 1.0))))
        further[place] += 1
        have[place] += 1.0
    return [int(one) for one in further]


def _slopes(variance: Floats) -> Floats:
    """How fast the chance that a question stays undecided falls with its variance.

    A question whose estimate is normal about "no change" with a standard deviation of s margins
    stays undecided with probability P(Z > 1 / s - z), z being the quantile of the interval's level.

    Args:
        variance: (q,) s², in parts of a margin.

    Returns:
        (q,) derivatives, up to a common factor.
    """
    deviation = np.sqrt(np.maximum(variance, NO_VARIANCE))
    return np.asarray(np.exp(-0.5 * (1.0 / deviation - QUANTILE) ** 2) / deviation**3)


def open_questions(configurations: Sequence[ConfigVerdict]) -> list[tuple[str, str]]:
    """Metrics that further scenarios may decide, (metric, config_id)."""
    return [
        (metric.metric, one.config_id)
        for one in configurations
        if one.is_open
        for metric in one.metrics
        if metric.status in OPEN
    ]


def plan_stage(plan: Plan, stage: Stage) -> Counts:
    """Decide which strata a stage beyond the confirm panel takes, and keep it with the night.

    A function of the standing panel and of what is open: the same night gives the same.

    Args:
        plan: the night.
        stage: the next one.

    Returns:
        stratum -> scenarios of the stage.
    """
    settings = load_settings()
    strata = plan.definition.profile.strata
    have = Counter(panel_allocation(strata, plan.panels[CONFIRM]))
    for earlier in strata_before(plan, stage):
        have.update(earlier)
    further = allocate(
        _needs(plan, settings, list(strata)),
        [have[name] for name in strata],
        stage.scenarios,
        [one.sample for one in strata.values()],
    )
    counts = dict(zip(strata, further, strict=True))
    keep_strata(plan, stage, counts)
    return counts


def _needs(plan: Plan, settings: VerdictSettings, strata: list[str]) -> Floats:
    """:func:`variances` of what is open in a night, by its standing panel.

    What is open against the baseline decides, where something is; else what was asked.
    """
    verdict = verdict_of(plan)
    asked = open_questions(verdict.configurations)
    if not asked:
        return _needs_of_asked(plan, verdict, settings, strata)
    partners = {
        one.config_id: one.baseline_config_id
        for one in verdict.configurations
        if one.baseline_config_id is not None
    }
    ids = tuple(dict.fromkeys(config_id for _, config_id in asked))
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    _, new = standing_panel(plan, ids)
    old = baseline_panel(baseline, "regression", tuple(partners[one] for one in ids))
    return variances(new, old, settings, asked, strata)


def _needs_of_asked(
    plan: Plan, verdict: NightVerdict, settings: VerdictSettings, strata: list[str]
) -> Floats:
    """:func:`variances` of what was asked and is undecided against the reference."""
    asked = [
        (difference.metric, one.config_id)
        for one in verdict.against_reference
        if one.config_id in verdict.awaits_reference
        for difference in one.differences
        if difference.word is Word.UNDECIDED
    ]
    ids = verdict.awaits_reference
    _, panel = standing_panel(plan, (plan.reference_id, *ids))
    new, old = panel.select(ids), panel.select((plan.reference_id,) * len(ids))
    return variances(new, old, held_alike(settings), asked, strata)


# -- what must never happen -----------------------------------------------------------------------
#
# A scenario in which something newly happens is a fact, but one of a single draw of phases and
# jitters. So it is run again under DRAWS other seeds, which change nothing of its faults, with
# tonight's code and settings and with the baseline's, and the two counts are compared by Fisher's
# exact test. Counts that hint at a difference but are not certain are of too few phases: then
# MORE_DRAWS are drawn in all. Scenarios that a later look finds are drawn again once.
#
# All these tests together may err as often as `confirm_p` says. Parts of it go to the first counts,
# to the larger ones, and to scenarios found later (Bonferroni).

DRAWS = 20
"""Phases drawn: 7 of 20 against none has a p of 0.004, 6 of 20 one of 0.0101."""

MORE_DRAWS = 60
"""Phases drawn where fewer hint at a difference: 9 of 60 against none has a p of 0.0014."""

REDRAWN_MAX = 3
"""Scenarios of a metric that are drawn again at a time, those that lose most."""

PARTS = {1: (1 / 2, 1 / 4), 2: (1 / 8, 1 / 8)}
"""Number of a redraw -> parts of the error for `DRAWS` phases and for `MORE_DRAWS`; 1 in all."""

Scenario = Mapping[str, Any]
Amount = Callable[[Scenario, Mapping[str, Any], str], float]
"""How much of a metric there is in a scenario under some overrides."""


def phases(scenario: Scenario, draws: int = DRAWS) -> list[dict[str, Any]]:
    """The same scenario with other seeds: the same faults, other phases and jitters.

    Args:
        scenario: as its JSON has it.
        draws: how many.
    """
    found = []
    for draw in range(1, draws + 1):
        text = f"{scenario.get('seed', 0)}|phase {draw}".encode()
        seed = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1
        found.append({**scenario, "seed": seed})
    return found


def drawn_again(
    scenario: Scenario,
    metric: str,
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    amounts: tuple[Amount, Amount],
    levels: tuple[float, float],
) -> Redraw:
    """Run a scenario in other phases, tonight and as it was, and compare the counts.

    Args:
        scenario: as its JSON has it.
        metric: of which nothing may be, or nothing more.
        sides: overrides of tonight and of the baseline.
        amounts: how to run tonight's code and the baseline's.
        levels: below which a p is certain, of :data:`DRAWS` phases and of :data:`MORE_DRAWS`.
    """
    above = ALONE * amounts[1](scenario, sides[1], metric)
    for draws, level in zip((DRAWS, MORE_DRAWS), levels, strict=True):
        tonight, before = (
            sum(run(one, overrides, metric) > above for one in phases(scenario, draws))
            for run, overrides in zip(amounts, sides, strict=True)
        )
        counts = [[tonight, draws - tonight], [before, draws - before]]
        found = Redraw(
            scenario_id=str(scenario["scenario_id"]),
            draws=draws,
            tonight=tonight,
            before=before,
            p=float(stats.fisher_exact(counts, alternative="greater").pvalue),
            above=above,
            level=level,
        )
        if found.p < level or not found.leans:
            break
    return found


def decided_by(metric: MetricVerdict, redraws: tuple[Redraw, ...]) -> MetricVerdict:
    """A suspicion after its scenarios were drawn again: `regressed` if one of them is certain.

    Then the suspicion of a stratum is one no longer either: a look at other scenarios, which few
    of such an event may show, has nothing to add.

    Args:
        metric: `suspect` or `regressed`.
        redraws: of its scenarios, beside those that it has.
    """
    update: dict[str, Any] = {"redraws": (*metric.redraws, *redraws), "not_drawn": ""}
    if not any(one.is_certain for one in redraws):
        return metric.model_copy(update=update)
    strata = tuple(
        one.model_copy(update={"status": Status.REGRESSED}) if one.status is Status.SUSPECT else one
        for one in metric.strata
    )
    return metric.model_copy(update={**update, "status": Status.REGRESSED, "strata": strata})


def awaiting(one: ConfigVerdict) -> list[MetricVerdict]:
    """Metrics of a configuration whose scenarios must be drawn again."""
    return [metric for metric in one.metrics if _to_draw(metric)]


def _to_draw(metric: MetricVerdict) -> tuple[str, ...]:
    """Scenarios of a metric that must be drawn again: those found first, and once those later."""
    asked = (Status.SUSPECT,) if metric.redraws else (Status.SUSPECT, Status.REGRESSED)
    if metric.status not in asked or _number(metric) not in PARTS:
        return ()
    drawn = {one.scenario_id for one in metric.redraws}
    return tuple(name for name in metric.newly if name not in drawn)[:REDRAWN_MAX]


def _number(metric: MetricVerdict) -> int:
    """Which redraw of a metric would be the next, from 1."""
    return 1 + max((one.number for one in metric.redraws), default=0)


def redraw(
    plan: Plan,
    record: BaselineRecord,
    verdicts: tuple[ConfigVerdict, ...],
    scenarios: Mapping[str, str],
    settings: VerdictSettings,
) -> tuple[ConfigVerdict, ...]:
    """Draw again what must never happen and did; other verdicts stay as they are.

    Args:
        plan: the night.
        record: of the baseline, whose kept sources run its side.
        verdicts: of the night.
        scenarios: scenario_id -> JSON, of all that were looked at.
        settings: what must never happen, and the p that confirms.

    Returns:
        the verdicts; where a side's code cannot be run, they say so.
    """

    def drawn(name: str) -> Scenario:
        return dict(json.loads(scenarios[name]))

    asked = [one for one in verdicts if awaiting(one)]
    decided: dict[str, ConfigVerdict] = {}
    with ExitStack() as stack:
        kernels = Kernels(stack)
        for one in asked:
            partner = one.baseline_config_id or ""
            mine = next(c.overrides for c in plan.configurations if c.config_id == one.config_id)
            try:
                runs = (
                    kernels.amount(_tonight(plan), "the night's code"),
                    kernels.amount(source_of(record, partner), "the baseline's code"),
                )
                sides = (mine, record.configuration(partner).overrides)
                metrics = (again(each, drawn, sides, runs, settings) for each in one.metrics)
                decided[one.config_id] = one.with_metrics(tuple(metrics))
            except Refused as refusal:
                decided[one.config_id] = _not_drawn(one, str(refusal))
    return tuple(decided.get(one.config_id, one) for one in verdicts)


def _tonight(plan: Plan) -> Source:
    source = find_source(plan.code_version, Home.from_environment())
    if source is None:
        raise Refused(f"the sources of the night's code {plan.code_version} are not kept")
    return source


class Kernels:
    """Kernels that run, each once, whichever side asks for it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._running: dict[str, Amount] = {}

    def amount(self, source: Source, name: str) -> Amount:
        """Ask the kernel of some sources, which is started if it does not run yet."""
        if source.kernel_digest not in self._running:
            kernel = self._stack.enter_context(Kernel(source, name))
            self._running[source.kernel_digest] = _amount_by(kernel)
        return self._running[source.kernel_digest]


def again(
    metric: MetricVerdict,
    scenario: Callable[[str], Scenario],
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    amounts: tuple[Amount, Amount],
    settings: VerdictSettings,
) -> MetricVerdict:
    """A metric once its scenarios are drawn again; as it is if none must be.

    Args:
        metric: of one configuration.
        scenario: gives a scenario as its JSON has it, by name.
        sides: overrides of tonight and of the baseline.
        amounts: how to run tonight's code and the baseline's.
        settings: with the p that confirms.
    """
    names, number = _to_draw(metric), _number(metric)
    if not names:
        return metric
    levels = levels_of(settings, number, len(names))
    drawn = [drawn_again(scenario(one), metric.metric, sides, amounts, levels) for one in names]
    redraws = tuple(one.model_copy(update={"number": number}) for one in drawn)
    return decided_by(metric, redraws)


def levels_of(settings: VerdictSettings, number: int, scenarios: int) -> tuple[float, float]:
    """Below which p a scenario is certain, of `DRAWS` phases and of `MORE_DRAWS`.

    Args:
        settings: with the p that confirms.
        number: which redraw of the metric, from 1.
        scenarios: drawn again with it.
    """
    first, more = PARTS[number]
    return settings.confirm_p * first / scenarios, settings.confirm_p * more / scenarios


def _amount_by(kernel: Kernel) -> Amount:
    """Ask a kernel, once for each scenario and overrides."""
    known: dict[str, dict[str, Any]] = {}

    def amount(scenario: Scenario, overrides: Mapping[str, Any], metric: str) -> float:
        key = json.dumps([scenario["scenario_id"], scenario["seed"], dict(overrides)])
        if key not in known:
            ran = kernel.run(scenario, overrides, events=False)
            if ran.problem:
                raise Refused(f"{kernel.name} refuses {scenario['scenario_id']}: {ran.problem}")
            known[key] = ran.outcome
        return float(known[key].get(metric) or 0.0)

    return amount


def _not_drawn(one: ConfigVerdict, why: str) -> ConfigVerdict:
    waiting = {metric.metric for metric in awaiting(one)}
    return one.with_metrics(
        tuple(
            metric.model_copy(update={"not_drawn": why}) if metric.metric in waiting else metric
            for metric in one.metrics
        )
    )
