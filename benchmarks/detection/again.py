"""What must never happen and newly does: drawn again in other phases, as a night does.

A planted configuration is drawn again by the kernel that simulated it for the pool, its baseline by
the present one. A harmless one is not: nothing but phases is between its sides, and the same phases
would be drawn for both.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks.detection.contest import NOTHING, Arm
from benchmarks.detection.draw import Night
from benchmarks.detection.pool import PANEL, another_seed, source_of_mutant
from isr_pipeline.kernels.source import read_package
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.verdicts.quantities import VerdictSettings
from isr_pipeline.verdicts.record import MetricVerdict, Status
from isr_pipeline.verdicts.stages import Amount, Kernels, again


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
        kernels = Kernels(stack)
        amounts = _amount(kernels, arm), _amount(kernels, before)
        sides = arm.overrides, before.overrides
        drawn = [again(one, partial(_scenario, night, column), sides, amounts, settings)
                 for one in asked]  # fmt: skip
    return [one.metric for one in drawn if one.status is Status.REGRESSED]


def _scenario(night: Night, column: int, name: str) -> dict[str, Any]:
    """A scenario of a night with the phases that it has under the baseline."""
    row, swapped = night.place(name, column)
    text = draw_scenario(night.pool.experiment.source, PANEL, row).scenario_json
    scenario: dict[str, Any] = json.loads(text)
    return {**scenario, "seed": another_seed(scenario["seed"])} if swapped else scenario


def _amount(kernels: Kernels, arm: Arm) -> Amount:
    """How to run an arm's code."""
    if arm.mutant is None:
        return kernels.amount(read_package(), "the present kernel")
    return kernels.amount(source_of_mutant(arm.mutant), f"the mutant {arm.mutant.name}")
