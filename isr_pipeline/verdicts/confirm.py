"""The second look: what was flagged is run again on a panel it was not chosen by.

The DAG's confirm step asks :func:`flagged`, has the confirm panel simulated for those
configurations, and lets :func:`decide` turn each suspicion into `regressed`, leave it `suspect`, or
drop it: whether a difference is large enough to matter is asked of both panels together, for one
panel's ratio is rough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isr_pipeline.errors import Refused
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts import judge
from isr_pipeline.verdicts.comparison import Comparison, compare, is_latency
from isr_pipeline.verdicts.model import (
    ConfigVerdict,
    MetricVerdict,
    NightVerdict,
    Status,
    load_verdict,
    worst,
)
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.settings import VerdictSettings, load_settings

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan


def flagged(experiment: str, night: str) -> tuple[str, ...]:
    """config_ids whose confirm panel must be simulated; empty if nothing was flagged."""
    return load_verdict(experiment, night).awaits_confirm


def decide(plan: Plan, settings: VerdictSettings | None = None) -> NightVerdict:
    """Decide every suspicion of a night on the confirm panel; rewrite verdict.json and `verdicts`.

    Does nothing if nothing is flagged. May be run again: it decides the same.

    Raises:
        Refused: the confirm panel was not simulated for a flagged configuration.
    """
    settings = settings or load_settings()
    verdict = load_verdict(plan.experiment, plan.night)
    ids = verdict.awaits_confirm
    if not ids:
        return verdict
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was flagged, so there was a baseline"
    outcomes = judge.panel_rows("outcomes", plan.experiment, plan.night, "confirm")
    scenarios = judge.panel_rows("scenarios", plan.experiment, plan.night, "confirm")
    tonight = PanelOutcomes.from_frames(outcomes, scenarios, ids)
    if tonight.missing.any():
        raise Refused(
            f"night {plan.night}: confirm outcomes of {int(tonight.missing.any(axis=0).sum())} "
            "flagged configurations are missing; simulate the confirm panel first"
        )
    decided = _decided(verdict, tonight, baseline, settings)
    final = judge.assemble(
        plan,
        tuple(decided.get(one.config_id, one) for one in verdict.configurations),
        outcomes_digest=verdict.outcomes_digest,
        power=judge.Power(verdict.discordant_needed, verdict.tests),
        note=verdict.baseline,
        pending=False,
    )
    judge.write(final)
    return final


def _decided(
    verdict: NightVerdict,
    tonight: PanelOutcomes,
    baseline: baselines.Baseline,
    settings: VerdictSettings,
) -> dict[str, ConfigVerdict]:
    """The flagged configurations with what the confirm panel says of them."""
    decided: dict[str, ConfigVerdict] = {}
    usable: list[ConfigVerdict] = []
    for config_id in tonight.config_ids:
        one = verdict.configuration(config_id)
        assert one.baseline_config_id is not None
        before = judge.baseline_panel(baseline, "confirm", (one.baseline_config_id,))
        if tonight.failed[:, tonight.column(config_id)].any() or before.unusable.any():
            decided[config_id] = _unconfirmable(one)
        else:
            usable.append(one)
    if not usable:
        return decided
    new = tonight.select(tuple(one.config_id for one in usable))
    partners = tuple(one.baseline_config_id or "" for one in usable)
    old = judge.baseline_panel(baseline, "confirm", partners)
    metrics = confirm([one.metrics for one in usable], new, old, settings)
    for one, confirmed in zip(usable, metrics, strict=True):
        decided[one.config_id] = _confirmed(one, confirmed)
    return decided


def confirm(
    called: Sequence[tuple[MetricVerdict, ...]],
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
) -> list[tuple[MetricVerdict, ...]]:
    """Turn each suspicion into `regressed`, leave it or drop it, by what the confirm panel says.

    Args:
        called: verdicts of the flagged configurations on the regression panel.
        new: their confirm outcomes, in the same order.
        old: those of the baseline.
        settings: with the p that confirms, and what matters.
    """
    found = compare(new, old, settings)
    return [
        tuple(
            _confirmed_metric(metric, found, column, settings)
            if metric.status is Status.SUSPECT
            else metric
            for metric in metrics
        )
        for column, metrics in enumerate(called)
    ]


def _unconfirmable(one: ConfigVerdict) -> ConfigVerdict:
    reason = "a pair of the confirm panel spent its event budget or is missing in the baseline"
    metrics = tuple(
        metric.model_copy(update={"status": Status.NO_DATA, "reason": reason})
        if metric.status is Status.SUSPECT
        else metric
        for metric in one.metrics
    )
    return one.model_copy(update={"status": Status.NO_DATA, "reason": reason, "metrics": metrics})


def _confirmed(one: ConfigVerdict, metrics: tuple[MetricVerdict, ...]) -> ConfigVerdict:
    status = worst([metric.status for metric in metrics])
    deciding = [metric for metric in metrics if metric.status is status]
    reason = "; ".join(f"{metric.metric}: {metric.reason}" for metric in deciding)
    return one.model_copy(update={"status": status, "reason": reason, "metrics": metrics})


def _confirmed_metric(
    metric: MetricVerdict, found: Comparison, column: int, settings: VerdictSettings
) -> MetricVerdict:
    """Decide one suspicion."""
    assert metric.value is not None, "what is suspect was compared"
    assert metric.baseline_value is not None, "what is suspect was compared"
    at = (found.metrics.index(metric.metric), column)
    p = float(found.worse[at])
    words = f"confirmed (p {p:.2g})" if p < settings.confirm_p else f"not confirmed (p {p:.2g})"
    tuned = settings.metrics[metric.metric]
    value = (metric.value + float(found.value[at])) / 2.0
    before = (metric.baseline_value + float(found.baseline_value[at])) / 2.0
    if is_latency(metric.metric):
        assert metric.ratio is not None, "two latencies have a ratio"
        both = math.sqrt(metric.ratio * float(found.ratio[at]))
        words = f"{words}, on both panels {both:.3g} x in the geometric mean"
        matters = both >= settings.ratio_min
    else:
        words = f"{words}, on both panels {judge.describe_change(value, before)}"
        least = max(tuned.floor, (settings.ratio_min - 1.0) * before)
        matters = value > before and value - before >= least
    if matters:
        status = Status.REGRESSED if p < settings.confirm_p else Status.SUSPECT
    elif tuned.never:
        status, words = Status.SUSPECT, f"{words}: little, of what must never happen"
    else:
        status, words = Status.OK, f"{words}: too small to matter"
    reason = metric.reason.replace(judge.AWAITS_CONFIRM, words)
    return metric.model_copy(update={"status": status, "reason": reason, "p_confirm": p})
