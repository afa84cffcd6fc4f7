"""What must never happen is drawn again: the same scenario in other phases, on both sides.

A scenario in which something newly happens is a fact, but one of a single draw of phases and
jitters. So it is run again under :data:`DRAWS` other seeds, which change nothing of its faults,
with tonight's code and settings and with the baseline's, and the two counts are compared by
Fisher's exact test. Counts that hint at a difference but are not certain are of too few phases:
then :data:`MORE_DRAWS` are drawn in all. Scenarios that a later look finds are drawn again once.

All these tests together may err as often as `confirm_p` says. Parts of it go to the first counts,
to the larger ones, and to scenarios found later (Bonferroni).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from scipy import stats

from isr_pipeline.errors import Refused
from isr_pipeline.home import Home
from isr_pipeline.kernels.commits import find_source
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.verdicts.baseline import BaselineRecord, source_of
from isr_pipeline.verdicts.looks import ALONE
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, Redraw, Status

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.settings import VerdictSettings

DRAWS = 20
"""Phases drawn: 7 of 20 against none has a p of 0.004, 6 of 20 one of 0.0101."""

MORE_DRAWS = 60
"""Phases drawn where fewer hint at a difference: 9 of 60 against none has a p of 0.0014."""

SCENARIOS = 3
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
    return tuple(name for name in metric.newly if name not in drawn)[:SCENARIOS]


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
