"""What a night cannot decide is simulated further: the stages of a night, look after look.

How a look calls what is open, and what it may err, is in :mod:`.looks`; here are the night's files:
which scenarios a look sees, what is drawn again in other phases, and what ends the stages.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from isr_pipeline.errors import Refused
from isr_pipeline.experiment.stages import BASELINE_SIDE, CONFIRM
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts import baseline_side, comparisons, judge, reference
from isr_pipeline.verdicts.changes import judged_at_s
from isr_pipeline.verdicts.look import Power
from isr_pipeline.verdicts.looks import Look, call_open, looks
from isr_pipeline.verdicts.model import (
    OPEN,
    ConfigVerdict,
    NightVerdict,
    NotCompared,
    StageVerdict,
    Status,
    load_verdict,
)
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.redraw import awaiting, redraw
from isr_pipeline.verdicts.settings import VerdictSettings, load_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.baseline import Baseline
    from isr_pipeline.verdicts.difference import AgainstReference

ACCEPTED = ("regression", CONFIRM)
"""Panels whose outcomes a baseline has of its own."""


def look_night(plan: Plan, number: int, settings: VerdictSettings | None = None) -> NightVerdict:
    """Look at all scenarios of the first stages; rewrite verdict.json and `verdicts`.

    Does nothing if nothing awaits it, or if it was looked at before.

    Args:
        plan: the night.
        number: of the look, from 1.
        settings: ``config/verdicts.yaml`` if None.

    Raises:
        Refused: scenarios of a stage were not simulated.
    """
    settings = settings or load_settings()
    verdict = load_verdict(plan.experiment, plan.night)
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
    scenarios, outcomes = _together(plan, look.panels)
    panel = PanelOutcomes.from_frames(outcomes, scenarios, (plan.reference_id, *asked))
    _all_there(plan, panel, look)
    first = verdict.stages[0].asked if verdict.stages else len(asked)
    return reference.called_again(
        plan, verdict.against_reference, panel, settings, look=look, kept=len(asked) / first
    )


def _redrawn(
    plan: Plan, verdicts: tuple[ConfigVerdict, ...], look: Look, settings: VerdictSettings
) -> tuple[ConfigVerdict, ...]:
    """What must never happen and did, drawn again in other phases; see :mod:`.redraw`."""
    record = baselines.show(plan.experiment)
    assert record is not None, "something was compared, so there was a baseline"
    texts: dict[str, str] = {}
    if any(awaiting(one) for one in verdicts):
        for panel in ("regression", *look.panels):
            rows = judge.panel_rows("scenarios", plan.experiment, plan.night, panel)
            texts |= dict(zip(rows["scenario_id"], rows["scenario_json"], strict=True))
    return redraw(plan, record, verdicts, texts, settings)


def stop(plan: Plan, why: str) -> NightVerdict:
    """Note why no further scenarios are simulated; what is open stays so."""
    verdict = load_verdict(plan.experiment, plan.night)
    known = verdict.model_copy(update={"stopped": why})
    return _rewritten(plan, known, verdict.configurations, final=True)


def stop_asked(plan: Plan, why: str) -> NightVerdict:
    """Note why what was asked gets no further scenarios; what got worse may get them still."""
    verdict = load_verdict(plan.experiment, plan.night)
    known = verdict.model_copy(update={"stopped": why, "awaits_reference": ()})
    known.save()
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
    verdict = load_verdict(plan.experiment, plan.night)
    if not verdict.awaiting:
        return verdict.stopped or "nothing is open that further scenarios could decide"
    if panel not in {stage.panel for stage in plan.stages}:
        return "the budget has no such stage"
    if time.time() >= until_s(plan):
        return stop(plan, time_is_over(plan)).stopped
    if panel != CONFIRM and verdict.awaits_confirm:
        without = baseline_side.without_code(plan, verdict.awaits_confirm)
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
    verdict = load_verdict(plan.experiment, plan.night)
    if verdict.awaiting:
        missing = plan.stages[len(verdict.stages)].panel
        raise Refused(
            f"night {plan.night} of {plan.experiment}: panel {missing} of "
            f"{len(verdict.awaiting)} undecided configurations was never looked at"
        )
    comparisons.keep(plan, verdict, load_settings())
    return verdict


def _rewritten(
    plan: Plan,
    verdict: NightVerdict,
    configurations: tuple[ConfigVerdict, ...],
    *,
    final: bool,
) -> NightVerdict:
    """Write a verdict with its configurations as they are now; nothing awaits a final one."""
    written = judge.assemble(
        plan,
        configurations,
        outcomes_digest=verdict.outcomes_digest,
        power=Power(verdict.discordant_needed, verdict.tests),
        note=verdict.baseline,
        pending=not final,
    )
    written = written.model_copy(
        update={
            "stages": verdict.stages,
            "stopped": verdict.stopped,
            "against_reference": verdict.against_reference,
            "awaits_reference": () if final else verdict.awaits_reference,
        }
    )
    judge.write(written)
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


def both_sides(
    plan: Plan, baseline: Baseline, partners: Mapping[str, str], panels: Sequence[str]
) -> tuple[pd.DataFrame, PanelOutcomes, PanelOutcomes]:
    """Scenarios of some panels as one, and the outcomes of tonight and of the baseline on them.

    Args:
        plan: the night.
        baseline: with its own outcomes of the regression and the confirm panel.
        partners: config_id -> config_id in the baseline; the columns, in this order.
        panels: with the confirm panel among them.

    Returns:
        rows of the scenarios table; tonight; the baseline. Pairs that nobody ran are missing.
    """
    scenarios, outcomes = _together(plan, panels)
    accepted = baseline.outcomes[baseline.outcomes["panel"].isin([*panels])]
    before = [
        accepted[accepted["config_id"] == partner].assign(config_id=config_id)
        for config_id, partner in partners.items()
    ]
    before += [
        judge.panel_rows("outcomes", plan.experiment, plan.night, panel + BASELINE_SIDE)
        for panel in panels
        if panel not in ACCEPTED
    ]
    ids = tuple(partners)
    new = PanelOutcomes.from_frames(outcomes, scenarios, ids)
    old = PanelOutcomes.from_frames(pd.concat(before, ignore_index=True), scenarios, ids)
    return scenarios, new, old


def _together(plan: Plan, panels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scenarios of some panels as one, and tonight's outcomes of them."""
    scenarios, outcomes = (
        pd.concat(
            [judge.panel_rows(table, plan.experiment, plan.night, panel) for panel in panels],
            ignore_index=True,
        )
        for table in ("scenarios", "outcomes")
    )
    return as_one_panel(scenarios), outcomes


def as_one_panel(scenarios: pd.DataFrame) -> pd.DataFrame:
    """Scenarios of several panels with the weights that they have as one panel.

    The confirm panel, which is the first and has every stratum, says what share of the population
    each has; all of them together, how many scenarios stand for it. Within a stratum they weigh as
    in the panel that each is of.
    """
    confirm = scenarios[scenarios["panel"] == CONFIRM]
    population = confirm.groupby("stratum")["weight"].sum() / confirm["weight"].sum()
    counts = scenarios["stratum"].map(scenarios["stratum"].value_counts())
    within = scenarios.groupby(["panel", "stratum"])["weight"].transform("mean")
    weights = scenarios["stratum"].map(population) * len(scenarios) / counts
    weights *= scenarios["weight"] / within
    return scenarios.assign(weight=np.asarray(weights, dtype=float))


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
