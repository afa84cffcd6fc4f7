"""What measurements have in common: medians with their spread, compiling, samples of the panel."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba

from benchmarks import reference
from isr_pipeline.kafka.compiling import OPTIONS
from isr_pipeline.scenarios.model import apply, scenario_from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.scenarios.model import Scenario

compiled = numba.njit(cache=True, nogil=True, **OPTIONS)
"""How what stands beside the kernel is compiled: with the kernel's own settings."""

STRIDE = 89
"""Scenarios from one pair of a sample to the next; shares no factor with the panel's size, so that
a sample of n pairs is n scenarios, from all over the panel."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure that was measured several times.

    Attributes:
        median: what is told.
        least: smallest of the runs; ``most``: largest.
        runs: how many.
    """

    median: float
    least: float
    most: float
    runs: int

    @property
    def spread(self) -> float:
        """Largest minus smallest, as a share of the median."""
        return (self.most - self.least) / abs(self.median) if self.median else 0.0


def measured(values: Sequence[float]) -> Measured:
    """Median and spread of runs.

    Raises:
        ValueError: no run.
    """
    if not values:
        msg = "a figure needs at least one run"
        raise ValueError(msg)
    return Measured(statistics.median(values), min(values), max(values), len(values))


def ratios(above: Sequence[float], below: Sequence[float]) -> Measured:
    """Ratio of two arms, run by run: each run's arms met the same moments of the machine."""
    return measured([a / b for a, b in zip(above, below, strict=True)])


def sampled_pairs(scenarios: int, configurations: int, count: int) -> list[tuple[int, int]]:
    """Choose pairs (scenario, configuration) spread evenly over a panel and its configurations.

    Always the same ones: a longer sample begins with a shorter one's.

    Args:
        scenarios: of the panel.
        configurations: of the experiment.
        count: of pairs, at most ``scenarios * configurations``.
    """
    pairs = []
    for k in range(count):
        turn, place = divmod(k, scenarios)
        pairs.append(((place * STRIDE) % scenarios, (place + turn) % configurations))
    return pairs


def sample(count: int) -> list[Scenario]:
    """Return pairs of the reference panel, each a scenario with its configuration laid over it."""
    rows = reference.scenarios()
    configured = reference.configurations()
    return [
        apply(scenario_from_json(rows[i].scenario_json), configured[j].overrides)
        for i, j in sampled_pairs(len(rows), len(configured), count)
    ]
