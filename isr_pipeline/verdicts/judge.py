"""Judge a night: did any configuration get worse than the accepted baseline?

Exact first (bit-identical outcomes are `unchanged`, no test is run), then paired tests, correction
for many comparisons, materiality and power. What is flagged as worse here is `suspect` until the
stages of further scenarios were looked at (:mod:`isr_pipeline.verdicts.stages`).

Of a night that was judged it says which scenarios decided on a metric: those that a reader is
shown. They are of the standing panel, which is the same each night. Where that does not show what
was called, as when one further scenario alone lost records, they are of all scenarios of the night.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isr_pipeline.base.errors import Refused
from isr_pipeline.tables import store
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.baseline import Baseline, baseline_panel, both_sides
from isr_pipeline.verdicts.changes import write_changes
from isr_pipeline.verdicts.comparison import (
    PanelOutcomes,
    panel_rows,
    standing_panel,
    unusable_pairs,
)
from isr_pipeline.verdicts.figures import own_figures
from isr_pipeline.verdicts.looks import Power, call, size_of
from isr_pipeline.verdicts.quantities import VerdictSettings, load_settings, rise_matters
from isr_pipeline.verdicts.record import (
    RED,
    VERDICT,
    ConfigVerdict,
    MetricVerdict,
    NightVerdict,
    NotCompared,
    Status,
    load_verdict,
    worst,
)
from isr_pipeline.verdicts.reference import against_reference, kept_comparisons, undecided
from isr_pipeline.verdicts.sentences import reason, reason_of_metric
from isr_pipeline.verdicts.statistics import Floats, finite
from isr_pipeline.verdicts.unseen import last_compared
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from collections.abc import Callable

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.plan import Plan

COUNTS = frozenset({"discordant", "risen", "fallen", "scenarios"})
NOT_NUMBERS = frozenset({"metric", "status", "reason", "traded"})
NESTED = {
    "seen",
    "further",
    "not_drawn",
    "strata",
    "redraws",
    "alone",
    "newly",
    "pair",
    "without_incident",
}
"""What `verdict.json` has and the `verdicts` table has not."""


def judge_night(plan: Plan) -> NightVerdict:
    """Compare a night's standing panel with the baseline, and its arms with the reference.

    Writes verdict.json and `verdicts`.

    Args:
        plan: the night's plan; its scenarios and outcomes tables are there and validated.

    Raises:
        InputError: the settings cannot be used.
        TableMissing: the night has no outcomes.
    """
    settings = load_settings()
    record, times_asked = baselines.show_if_whole(plan.experiment), _times_asked(plan)
    baseline, refusal = _usable_baseline(plan)
    last = last_compared(plan, record) if refusal else None
    (plan.place / VERDICT).unlink(missing_ok=True)
    scenarios = panel_rows("scenarios", plan, "regression")
    outcomes = panel_rows("outcomes", plan, "regression")
    ids = tuple(one.config_id for one in plan.configurations)
    tonight = PanelOutcomes.from_frames(outcomes, scenarios, ids)
    if baseline is None:
        configurations, power = _without_baseline(plan, tonight, settings, refusal), Power()
    else:
        configurations, power = _against(plan, tonight, baseline, settings)
    own = own_figures(tonight, settings, plan.definition.profile)
    configurations = tuple(
        one.model_copy(update={"own": own[one.config_id]}) for one in configurations
    )
    against = kept_comparisons(plan, against_reference(plan, tonight, settings), settings)
    verdict = NightVerdict(
        experiment=plan.experiment,
        night=plan.night,
        began=plan.began,
        panel_digest=plan.panel_digest,
        code_version=plan.code_version,
        outcomes_digest=store.digest(outcomes, store.TABLES["outcomes"]),
        tests=power.tests,
        discordant_needed=power.needed,
        baseline=record.note() if record else None,
        last_compared=last,
        times_asked=times_asked,
        scenarios=plan.panels["regression"],
        against_reference=against,
        awaits_reference=undecided(plan, against),
        **facts_of(configurations, pending=True),
    )
    write(plan, verdict)
    write_changes(plan)
    return verdict


def _times_asked(plan: Plan) -> int:
    """How often a night of this date was judged on this panel, with this time."""
    try:
        before = load_verdict(plan.experiment, plan.night)
    except Refused:
        return 1
    return before.times_asked + 1 if before.panel_digest == plan.panel_digest else 1


def _usable_baseline(plan: Plan) -> tuple[baselines.Baseline | None, NotCompared | None]:
    """The baseline, or None and why it cannot be used (None if there never was one)."""
    try:
        baseline = baselines.load(plan.experiment)
    except baselines.BaselineDamaged as damage:
        return None, NotCompared(why=str(damage))
    if baseline is None:
        return None, None
    for name, ours, theirs in (
        ("standing", plan.panel_digest, baseline.record.panel_digest),
        ("confirm", plan.confirm_digest, baseline.record.confirm_digest),
    ):
        if ours != theirs:
            why = (
                f"baseline of night {baseline.record.called} is of another {name} panel "
                f"({theirs[:12]}, tonight {ours[:12]})"
            )
            return None, NotCompared(why=why)
    return baseline, None


def _without_baseline(
    plan: Plan, tonight: PanelOutcomes, settings: VerdictSettings, refusal: NotCompared | None
) -> tuple[ConfigVerdict, ...]:
    status = Status.BASELINE if refusal is None else Status.NO_DATA
    why = refusal or NotCompared(why="no baseline was accepted before")
    return tuple(
        _refused(one, problem, settings)
        if (problem := unusable_pairs(tonight, one.config_id)) and refusal is None
        else _unpaired(one, tonight, settings, status=status, why=why)
        for one in plan.configurations
    )


def _against(
    plan: Plan, tonight: PanelOutcomes, baseline: baselines.Baseline, settings: VerdictSettings
) -> tuple[tuple[ConfigVerdict, ...], Power]:
    """Verdicts of all configurations, and what could have been found."""
    partners, refused = _partnering(plan, tonight, baseline)
    ids = tuple(partners)
    judged: dict[str, tuple[tuple[MetricVerdict, ...], tuple[str, ...]]] = {}
    power = Power()
    if ids:
        new = tonight.select(ids)
        old = baseline_panel(baseline, "regression", tuple(partners.values()))
        called, power = call(
            new, old, settings, allowed=allowed(plan, settings), profile=plan.definition.profile
        )
        update = {"scenarios": len(new.scenario_ids)}
        for index, metrics in enumerate(called):
            counted = tuple(one.model_copy(update=update) for one in metrics)
            judged[ids[index]] = (counted, _changed_columns(new, old, index))

    def verdict_of(one: Configuration) -> ConfigVerdict:
        if one.config_id in refused:
            return _refused(one, refused[one.config_id], settings)
        if one.config_id in judged:
            return _compared(one, partners[one.config_id], *judged[one.config_id])
        why = NotCompared(why="new in the experiment: not part of the baseline")
        return _unpaired(one, tonight, settings, status=Status.BASELINE, why=why)

    return tuple(map(verdict_of, plan.configurations)), power


def allowed(plan: Plan, settings: VerdictSettings) -> frozenset[tuple[str, str]]:
    """(metric, config_id) of what else must never happen and these configurations allow."""
    return frozenset(
        (name, one.config_id)
        for name in settings.metrics
        if (key := METRICS[name].unless) is not None
        for one in plan.configurations
        if one.params.get(key) is True
    )


def _partnering(
    plan: Plan, tonight: PanelOutcomes, baseline: baselines.Baseline
) -> tuple[dict[str, str], dict[str, str]]:
    """Which configuration of the baseline each is compared with, and why some cannot be judged.

    Returns:
        config_id -> config_id in the baseline, and config_id -> why; one that is new has neither.
    """
    matched = baseline.record.partners(plan.configurations)
    before = baseline_panel(baseline, "regression", tuple(matched.values()))
    same_scenarios = before.scenario_ids == tonight.scenario_ids
    partners, refused = {}, {}
    for config_id in (one.config_id for one in plan.configurations):
        partner = matched.get(config_id)
        problem = unusable_pairs(tonight, config_id)
        if problem is None and partner is not None:
            if not same_scenarios:
                problem = "baseline is damaged: its scenarios are not those of its panel"
            elif trouble := unusable_pairs(before, partner):
                problem = f"baseline: {trouble}"
        if problem is not None:
            refused[config_id] = problem
        elif partner is not None:
            partners[config_id] = partner
    return partners, refused


def _changed_columns(new: PanelOutcomes, old: PanelOutcomes, index: int) -> tuple[str, ...]:
    """Metrics, and columns of the run, that are not bit-identical."""
    return tuple(
        name
        for name in new.values
        if name in old.values
        and not np.array_equal(new.values[name][:, index], old.values[name][:, index])
    )


def _compared(
    one: Configuration,
    partner: str,
    metrics: tuple[MetricVerdict, ...],
    changed: tuple[str, ...],
) -> ConfigVerdict:
    status = worst([metric.status for metric in metrics])
    only_others = changed if status is Status.UNCHANGED else ()
    return ConfigVerdict(
        name=one.name,
        config_id=one.config_id,
        baseline_config_id=partner,
        status=Status.OK if only_others else status,
        metrics=metrics,
        changed=only_others,
    )


def _refused(one: Configuration, problem: str, settings: VerdictSettings) -> ConfigVerdict:
    metrics = tuple(
        MetricVerdict(metric=metric, status=Status.NO_DATA) for metric in settings.metrics
    )
    return ConfigVerdict(
        name=one.name,
        config_id=one.config_id,
        status=Status.NO_DATA,
        metrics=metrics,
        not_compared=NotCompared(why=problem),
    )


def _unpaired(
    one: Configuration,
    tonight: PanelOutcomes,
    settings: VerdictSettings,
    *,
    status: Status,
    why: NotCompared,
) -> ConfigVerdict:
    """A configuration that has numbers of its own and nothing to compare them with."""
    alone = tonight.select((one.config_id,))
    metrics = tuple(
        MetricVerdict(
            metric=metric,
            status=status,
            total=finite(alone.totals(metric)[0]),
            value=finite(alone.means(metric)[0]),
        )
        for metric in settings.metrics
    )
    return ConfigVerdict(
        name=one.name, config_id=one.config_id, status=status, metrics=metrics, not_compared=why
    )


def facts_of(configurations: tuple[ConfigVerdict, ...], *, pending: bool) -> dict[str, Any]:
    """What a record says of its configurations together.

    Args:
        configurations: verdicts, in the plan's order.
        pending: whether what is open still awaits further scenarios.
    """
    awaits = tuple(one.config_id for one in configurations if one.is_open)
    return {
        "configurations": configurations,
        "status": worst([one.status for one in configurations]),
        "red": any(one.status in RED for one in configurations),
        "awaits_confirm": awaits if pending else (),
    }


def write(plan: Plan, verdict: NightVerdict) -> None:
    """Write the `verdicts` table, then ``verdict.json``, which says that it is whole."""
    rows = verdict_rows(verdict)
    store.write_table("verdicts", plan.experiment, plan.night, rows, root=plan.root)
    verdict.save(plan.place)


def verdict_rows(verdict: NightVerdict) -> pd.DataFrame:
    """One row per configuration and metric: the `verdicts` table."""
    rows = [
        {
            "config_id": one.config_id,
            "config_name": one.name,
            "config_status": str(one.status),
            "reason": reason_of_metric(metric) or reason(one),
            **metric.model_dump(mode="json", exclude=NESTED),
        }
        for one in verdict.configurations
        for metric in one.metrics
    ]
    frame = pd.DataFrame(rows)
    for name in MetricVerdict.model_fields.keys() - NESTED:
        if name in COUNTS:
            frame[name] = frame[name].astype("Int64")
        elif name not in NOT_NUMBERS:
            frame[name] = pd.to_numeric(frame[name]).astype(float)
    return frame


DECIDING = 3
"""How many scenarios are named as deciding."""


@dataclass(frozen=True)
class Sides:
    """One configuration on some scenarios, tonight and in the baseline.

    Attributes:
        rows: of the scenarios table.
        new: tonight's outcomes, one column; ``old``: the baseline's.
    """

    rows: pd.DataFrame
    new: PanelOutcomes
    old: PanelOutcomes

    def text(self, scenario_id: str) -> str:
        """JSON of a scenario."""
        return str(self.rows.loc[self.rows["scenario_id"] == scenario_id, "scenario_json"].iloc[0])


def on_regression(plan: Plan, baseline: Baseline, one: ConfigVerdict) -> Sides:
    """Both sides of a compared configuration on the standing panel."""
    assert one.baseline_config_id is not None, "it was compared"
    rows, new = standing_panel(plan, (one.config_id,))
    return Sides(rows, new, baseline_panel(baseline, "regression", (one.baseline_config_id,)))


def on_all(
    plan: Plan, baseline: Baseline, judged: NightVerdict, one: ConfigVerdict
) -> Sides | None:
    """The same on the standing panel and all further scenarios; None if there were none."""
    if not judged.stages:
        return None
    assert one.baseline_config_id is not None, "it was compared"
    panels = ("regression", *(stage.panel for stage in judged.stages))
    return Sides(*both_sides(plan, baseline, {one.config_id: one.baseline_config_id}, panels))


def deciding(
    asked: MetricVerdict, regression: Sides, everything: Callable[[], Sides | None]
) -> tuple[Sides, tuple[str, ...]]:
    """Scenarios that carry most of what was called of a metric, the first most.

    Args:
        asked: the metric.
        regression: see :func:`on_regression`.
        everything: see :func:`on_all`; called where the standing panel does not show it.

    Returns:
        where they are from, and their names; none if nothing differs anywhere.
    """
    worse = is_worse(asked)
    names = _carrying(asked, regression, worse=worse)
    if names and (not asked.newly or set(asked.newly) & set(names)):
        return regression, names
    sides = everything() or regression
    names = _carrying(asked, sides, worse=worse) or _carrying(asked, sides, worse=not worse)
    return sides, names


def is_worse(asked: MetricVerdict) -> bool:
    """Whether what is asked about got worse, as it was called; else by its ratio.

    A latency's ratio is of what most scenarios feel, which one long stall that got shorter hides.
    """
    if asked.status in (Status.REGRESSED, Status.SUSPECT):
        return True
    if asked.status is Status.IMPROVED:
        return False
    return asked.ratio > 1.0 if asked.ratio is not None else (asked.delta or 0.0) > 0.0


def hurt(asked: MetricVerdict) -> frozenset[str]:
    """Strata that an alarm is of; none if all together rose enough for one."""
    settings = load_settings()
    size = size_of(asked, asked.metric)
    if not is_worse(asked) or rise_matters(size, settings, settings.suspicion_share):
        return frozenset()
    return frozenset(one.stratum for one in asked.strata if one.status is asked.status)


def _carrying(asked: MetricVerdict, sides: Sides, *, worse: bool) -> tuple[str, ...]:
    """Scenarios that carry most of a change of that direction.

    First those in which newly happened what must never happen; of the strata that an alarm is of,
    if some do.
    """
    new, old = sides.new, sides.old
    change = new.weights * (new.natural(asked.metric)[:, 0] - old.natural(asked.metric)[:, 0])
    change = change if worse else -change
    inside = np.isin(new.strata, list(hurt(asked)))
    names = _most(new, np.where(inside, change, 0.0)) or _most(new, change)
    values = zip(new.scenario_ids, new.values[asked.metric], old.values[asked.metric], strict=True)
    risen = {name for name, after, before in values if after[0] > before[0]}
    newly = [name for name in asked.newly if worse and name in risen]
    return tuple(dict.fromkeys([*newly, *names]))[:DECIDING]


def _most(panel: PanelOutcomes, change: Floats) -> list[str]:
    """Scenarios that carry most of a change."""
    order = np.argsort(-change, kind="stable")[:DECIDING]
    return [panel.scenario_ids[index] for index in order if change[index] > 0]
