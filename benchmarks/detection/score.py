"""Counting what contestants said against the truth of the pool."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.detection.arms import Alarms
from benchmarks.detection.contest import Arm

WINDOWS = {"x1.25": (1.2, 1.3), "x1.5": (1.4, 1.6)}
"""Name of an effect -> the true ratios (over the whole pool) that count as it."""

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""

Truth = Mapping[tuple[str, str], Mapping[str, float]]
"""(configuration, change) -> metric -> true ratio."""


def wilson(hits: int, tries: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; (0, 1) of nothing."""
    if tries == 0:
        return 0.0, 1.0
    share, extra = hits / tries, Z * Z / tries
    middle = (share + extra / 2) / (1 + extra)
    half = Z * math.sqrt(share * (1 - share) / tries + extra / tries / 4) / (1 + extra)
    return max(0.0, middle - half), min(1.0, middle + half)


@dataclass
class Share:
    """Hits among tries."""

    hits: int = 0
    tries: int = 0

    def add(self, hit: bool) -> None:
        """Count one try."""
        self.hits += int(hit)
        self.tries += 1

    @property
    def value(self) -> float | None:
        """The share; None of nothing."""
        return self.hits / self.tries if self.tries else None


@dataclass
class Score:
    """What is counted of one contestant.

    Attributes:
        flagged: target (``offline_x1.5``) -> share of planted effects that were flagged.
        confirmed: likewise, confirmed.
        undecided: likewise, said to be beyond the panel.
        precision: share of confirmed (configuration, metric) that truly got worse.
        alarms: share of null nights with something confirmed.
        suspicions: share of null nights with something flagged.
    """

    flagged: dict[str, Share] = field(default_factory=dict)
    confirmed: dict[str, Share] = field(default_factory=dict)
    undecided: dict[str, Share] = field(default_factory=dict)
    precision: Share = field(default_factory=Share)
    alarms: Share = field(default_factory=Share)
    suspicions: Share = field(default_factory=Share)

    def null_night(self, alarms: Alarms) -> None:
        """Count a night in which every configuration was changed harmlessly."""
        self.alarms.add(bool(alarms.confirmed.any()))
        self.suspicions.add(bool(alarms.flagged.any()))

    def night(
        self,
        alarms: Alarms,
        arms: Sequence[Arm],
        metrics: Sequence[str],
        planted: tuple[str, str],
        truth: Truth,
    ) -> None:
        """Count a night with regressions.

        Args:
            alarms: what the contestant said.
            arms: what became of the configurations.
            metrics: rows of the alarms.
            planted: the metric that the regressions were chosen by, and the target they count for.
            truth: what is so.
        """
        for row, metric in enumerate(metrics):
            for column, arm in enumerate(arms):
                if alarms.confirmed[row, column]:
                    ratio = truth[arm.configuration, arm.change][metric]
                    self.precision.add(arm.kind == "injection" and ratio > 1.0)
                if arm.kind == "injection" and metric == planted[0]:
                    for counts, said in (
                        (self.flagged, alarms.flagged),
                        (self.confirmed, alarms.confirmed),
                        (self.undecided, alarms.undecided),
                    ):
                        counts.setdefault(planted[1], Share()).add(bool(said[row, column]))


def in_window(ratio: float, effect: str) -> bool:
    """Whether a true ratio counts as an effect."""
    low, high = WINDOWS[effect]
    return bool(np.isfinite(ratio)) and low <= ratio <= high
