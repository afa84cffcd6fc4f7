"""A world at its horizon, read once for all columns of the outcome row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.simulation.shortcuts.motions import rows_of
from isr_pipeline.simulation.world import layout as at

US_PER_HOUR = 3_600_000_000

_PARTITION_TIMES = (
    at.P_T_OFFLINE,
    at.P_T_UNDER_MIN,
    at.P_T_UNDER_REPLICATED,
    at.P_T_UNAVAILABLE,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a finished world offers to the columns.

    Attributes:
        cell: the header of the world, by the places in `layout`.
        partition_time: partitions times simulated time after warm-up, in us; here and below, a
            partition that stands for several counts as those.
        offline, under_min, under_replicated, unavailable: partition-time in that state, in us.
        latencies: how many batches have a commit latency in a bucket of the histogram or below it.
    """

    cell: list[int]
    partition_time: int
    offline: int
    under_min: int
    under_replicated: int
    unavailable: int
    latencies: npt.NDArray[np.int64]

    @property
    def hours(self) -> float:
        """Partition-hours after warm-up."""
        return self.partition_time / US_PER_HOUR

    def latency_ms(self, share: float) -> float:
        """Time from append to commit at rank ceil(share * n) of all batches, in ms."""
        return _percentile_ms(self.latencies, share, self.cell[at.G_LATENCY_MAX])


def measured_in(w: npt.NDArray[np.int64], partitions: int) -> Measured:
    """Read a world that has reached its horizon.

    Args:
        w: the world.
        partitions: how many it has.
    """
    cell = w[: at.TREE].tolist()
    table = rows_of(w, at.H_PART, partitions, at.P_SIZE)
    offline, under_min, under_replicated, unavailable = (
        table[:, at.P_WEIGHT] @ table[:, _PARTITION_TIMES]
    ).tolist()
    stand_for = int(table[:, at.P_WEIGHT].sum())
    partition_time = (cell[at.C_HORIZON] - cell[at.C_WARMUP]) * stand_for
    latencies = _latencies(w)
    return Measured(
        cell, partition_time, offline, under_min, under_replicated, unavailable, latencies
    )


def _latencies(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many batches have a commit latency in a bucket or below it."""
    return w[w[at.H_HIST] : w[at.H_HIST] + at.HIST_SIZE].cumsum()


def _percentile_ms(up_to: npt.NDArray[np.int64], share: float, largest_us: int) -> float:
    """Commit latency at rank ceil(share * n), the middle of its bucket; 0 without a batch."""
    total = int(up_to[-1])
    if total == 0:
        return 0.0
    rank = math.ceil(share * total - 1e-9)
    bucket = int(up_to.searchsorted(max(1, rank)))
    sub = 1 << at.HIST_SUB_BITS
    if bucket < 2 * sub:
        return bucket / 1000
    shift = (bucket >> at.HIST_SUB_BITS) - 1
    low = (sub + (bucket & (sub - 1))) << shift
    middle = low + ((1 << shift) - 1) / 2
    return float(min(middle, largest_us) / 1000)
