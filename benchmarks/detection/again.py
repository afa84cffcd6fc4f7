"""What must never happen and newly does: drawn again in other phases, as a night does.

A planted configuration is drawn again by the kernel that simulated it for the pool, its baseline by
the present one. A harmless one is not: nothing but phases is between its sides, and the same phases
would be drawn for both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from benchmarks.detection.contest import NOTHING, Arm
from benchmarks.detection.draw import Night
from benchmarks.detection.pool import NIGHT, PANEL, another_seed, source_of_mutant
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.verdicts.model import MetricVerdict, Redraw, Status
from isr_pipeline.verdicts.redraw import (
    SCENARIOS,
    Amount,
    amount_by,
    decided_by,
    drawn_again,
    levels_of,
)
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.worlds.reuse import Simulations


def confirmed(
    night: Night, column: int, called: Sequence[MetricVerdict], settings: VerdictSettings
) -> list[str]:
    """Metrics of a planted configuration that are `regressed` once they are drawn again.

    Args:
        night: with the pool that its scenarios come from.
        column: of the configuration.
        called: what was said of its metrics after all looks.
        settings: with the p that confirms.
    """
    asked = [one for one in called if one.newly and one.status is Status.SUSPECT]
    if not asked:
        return []
    arm = night.arms[column]
    before = night.pool.arm(arm.host, NOTHING, anew=False)
    with ExitStack() as stack:
        amounts = _amount(arm, stack), _amount(before, stack)
        sides = arm.overrides, before.overrides
        return [
            metric.metric
            for metric in asked
            if _again(night, column, metric, (sides, amounts), settings).status is Status.REGRESSED
        ]


def _again(
    night: Night,
    column: int,
    metric: MetricVerdict,
    sides: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], tuple[Amount, Amount]],
    settings: VerdictSettings,
) -> MetricVerdict:
    names = metric.newly[:SCENARIOS]
    levels = levels_of(settings, 1, len(names))
    redraws: tuple[Redraw, ...] = tuple(
        drawn_again(_scenario(night, column, name), metric.metric, *sides, levels) for name in names
    )
    return decided_by(metric, redraws)


def _scenario(night: Night, column: int, name: str) -> dict[str, Any]:
    """A scenario of a night with the phases that it has under the baseline."""
    row, swapped = night.place(name, column)
    text = draw_scenario(night.pool.experiment.source, PANEL, NIGHT, row).scenario_json
    scenario: dict[str, Any] = json.loads(text)
    return {**scenario, "seed": another_seed(scenario["seed"])} if swapped else scenario


def _amount(arm: Arm, stack: ExitStack) -> Amount:
    """How to run an arm's code."""
    if arm.mutant is None:
        return _amount_here
    name = f"the mutant {arm.mutant.name}"
    return amount_by(stack.enter_context(Kernel(source_of_mutant(arm.mutant), name)))


def _amount_here(scenario: Mapping[str, Any], overrides: Mapping[str, Any], metric: str) -> float:
    """By the present kernel, in this process."""
    asked = apply(scenario_from_json(json.dumps(scenario)), overrides)
    return float(Simulations().result_for(asked)[0][metric] or 0.0)
