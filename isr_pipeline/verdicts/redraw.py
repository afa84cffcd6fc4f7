"""What must never happen is drawn again: the same scenario in other phases, on both sides.

A scenario in which something newly happens is a fact, but one of a single draw of phases and
jitters. So it is run again under :data:`DRAWS` other seeds, which change nothing of its faults,
with tonight's code and settings and with the baseline's, and the two counts are compared by
Fisher's exact test.
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
from isr_pipeline.kernels.finding import find_source
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.verdicts.kept import source_of
from isr_pipeline.verdicts.look import AWAITS_CONFIRM, NOT_CONFIRMED
from isr_pipeline.verdicts.model import ConfigVerdict, MetricVerdict, Redraw, Status

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.kernels.source import Source
    from isr_pipeline.verdicts.baseline import BaselineRecord
    from isr_pipeline.verdicts.settings import VerdictSettings

DRAWS = 20
"""Phases drawn: 7 of 20 against none has a p of 0.004, 6 of 20 one of 0.0101."""

SCENARIOS = 3
"""Scenarios of a metric that are drawn again, those that lose most."""

Scenario = Mapping[str, Any]
Happened = Callable[[Scenario, Mapping[str, Any], str], bool]
"""Whether a metric is above zero in a scenario under some overrides."""


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
    happened: tuple[Happened, Happened],
) -> Redraw:
    """Run a scenario in other phases, tonight and as it was, and compare the counts.

    Args:
        scenario: as its JSON has it.
        metric: of which nothing may be.
        sides: overrides of tonight and of the baseline.
        happened: how to run tonight's code and the baseline's.
    """
    tonight, before = (
        sum(run(one, overrides, metric) for one in phases(scenario))
        for run, overrides in zip(happened, sides, strict=True)
    )
    counts = [[tonight, DRAWS - tonight], [before, DRAWS - before]]
    p = float(stats.fisher_exact(counts, alternative="greater").pvalue)
    return Redraw(
        scenario_id=str(scenario["scenario_id"]),
        draws=DRAWS,
        tonight=tonight,
        before=before,
        p=p,
    )


def decided_by(
    metric: MetricVerdict, redraws: tuple[Redraw, ...], settings: VerdictSettings
) -> MetricVerdict:
    """A suspicion after its scenarios were drawn again: `regressed` if one of them is certain.

    Then its reason begins with that, and the suspicion of a stratum is one no longer either: a
    look at other scenarios, which few of such an event may show, has nothing to add.

    Args:
        metric: `suspect` or `regressed`.
        redraws: of its scenarios; the p that confirms is divided among them.
        settings: with the p that confirms.
    """
    if not redraws:
        return metric
    worst = min(redraws, key=lambda one: (one.p, one.scenario_id))
    certain = worst.p * len(redraws) < settings.confirm_p
    if not certain:
        counts = _counts(worst, f"{worst.scenario_id}: in")
        return metric.model_copy(
            update={"redraws": redraws, "reason": f"{metric.reason}; {counts}"}
        )
    counts = _counts(worst, "confirmed: in", f" of {worst.scenario_id}")
    found = metric.reason.partition(NOT_CONFIRMED)[0].replace(f"; {AWAITS_CONFIRM}", "")
    strata = tuple(
        one.model_copy(update={"status": Status.REGRESSED}) if one.status is Status.SUSPECT else one
        for one in metric.strata
    )
    return metric.model_copy(
        update={
            "status": Status.REGRESSED,
            "redraws": redraws,
            "reason": f"{counts}; {found}",
            "strata": strata,
        }
    )


def _counts(one: Redraw, first: str, of: str = "") -> str:
    """``confirmed: in 20 of 20 phase draws of regression-00042, 0 of 20 before``."""
    return (
        f"{first} {one.tonight} of {one.draws} phase draws{of}, {one.before} of {one.draws} before"
    )


def awaiting(one: ConfigVerdict) -> list[MetricVerdict]:
    """Metrics of a configuration whose scenarios must be drawn again."""
    return [
        metric
        for metric in one.metrics
        if metric.newly
        and not metric.redraws
        and metric.status in (Status.SUSPECT, Status.REGRESSED)
    ]


def redraw(
    plan: Plan,
    record: BaselineRecord,
    verdicts: tuple[ConfigVerdict, ...],
    scenarios: Mapping[str, str],
    settings: VerdictSettings,
    *,
    compiled: bool = True,
) -> tuple[ConfigVerdict, ...]:
    """Draw again what must never happen and did; other verdicts stay as they are.

    Args:
        plan: the night.
        record: of the baseline, whose kept sources run its side.
        verdicts: of the night.
        scenarios: scenario_id -> JSON, of all that were looked at.
        settings: what must never happen, and the p that confirms.
        compiled: False runs the kernels as plain Python.

    Returns:
        the verdicts; where a side's code cannot be run, the reason says so.
    """
    asked = [one for one in verdicts if awaiting(one)]
    decided: dict[str, ConfigVerdict] = {}
    with ExitStack() as stack:
        kernels = _Kernels(stack, compiled=compiled)
        for one in asked:
            partner = one.baseline_config_id or ""
            mine = next(c.overrides for c in plan.configurations if c.config_id == one.config_id)
            try:
                runs = (
                    kernels.happened(_tonight(plan), "the night's code"),
                    kernels.happened(source_of(record, partner), "the baseline's code"),
                )
                sides = (mine, record.configuration(partner).overrides)
                decided[one.config_id] = _redrawn(one, sides, scenarios, settings, runs)
            except Refused as refusal:
                decided[one.config_id] = _not_drawn(one, str(refusal))
    return tuple(decided.get(one.config_id, one) for one in verdicts)


def _tonight(plan: Plan) -> Source:
    source = find_source(plan.code_version, Home.from_environment())
    if source is None:
        raise Refused(f"the sources of the night's code {plan.code_version} are not kept")
    return source


class _Kernels:
    """Kernels that run, each once, whichever side asks for it."""

    def __init__(self, stack: ExitStack, *, compiled: bool) -> None:
        self._stack = stack
        self._compiled = compiled
        self._running: dict[str, Happened] = {}

    def happened(self, source: Source, name: str) -> Happened:
        """Ask the kernel of some sources, which is started if it does not run yet."""
        if source.kernel_digest not in self._running:
            kernel = self._stack.enter_context(Kernel(source, name, compiled=self._compiled))
            self._running[source.kernel_digest] = _happened(kernel)
        return self._running[source.kernel_digest]


def _redrawn(
    one: ConfigVerdict,
    sides: tuple[Mapping[str, Any], Mapping[str, Any]],
    scenarios: Mapping[str, str],
    settings: VerdictSettings,
    runs: tuple[Happened, Happened],
) -> ConfigVerdict:
    found = {
        metric.metric: decided_by(
            metric,
            tuple(
                drawn_again(json.loads(scenarios[name]), metric.metric, sides, runs)
                for name in metric.newly[:SCENARIOS]
            ),
            settings,
        )
        for metric in awaiting(one)
    }
    return one.with_metrics(tuple(found.get(metric.metric, metric) for metric in one.metrics))


def _happened(kernel: Kernel) -> Happened:
    """Ask a kernel, once for each scenario and overrides."""
    known: dict[str, dict[str, Any]] = {}

    def happened(scenario: Scenario, overrides: Mapping[str, Any], metric: str) -> bool:
        key = json.dumps([scenario["scenario_id"], scenario["seed"], dict(overrides)])
        if key not in known:
            ran = kernel.run(scenario, overrides, events=False)
            if ran.problem:
                raise Refused(f"{kernel.name} refuses {scenario['scenario_id']}: {ran.problem}")
            known[key] = ran.outcome
        return float(known[key].get(metric) or 0.0) > 0.0

    return happened


def _not_drawn(one: ConfigVerdict, why: str) -> ConfigVerdict:
    waiting = {metric.metric for metric in awaiting(one)}
    return one.with_metrics(
        tuple(
            metric.model_copy(update={"reason": f"{metric.reason}; not drawn again: {why}"})
            if metric.metric in waiting
            else metric
            for metric in one.metrics
        )
    )
