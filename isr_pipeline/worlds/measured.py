"""A world at its horizon, read once for all columns of the outcome row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from isr_pipeline.simulation.world.columns import numbers_of, table_of
from isr_pipeline.simulation.world.states import Standing
from isr_pipeline.simulation.world.tables import LATENCY_SUB_BITS, World


@dataclass(frozen=True, slots=True)
class Measured:
    """What a finished world offers to the columns.

    Attributes:
        world: its header.
        exposure: partitions times simulated time after warm-up, in us.
        offline, under_min, under_replicated, unavailable, one_replica: partition-time in that
            state, in us.
        unavailable_ever: partitions that took no acks=all produce for some time after warm-up.
        unavailable_at_end: partitions that take no acks=all produce at the horizon.
        latencies: how many batches have a commit latency in a bucket of the histogram or below it;
            ``acks_1_latencies``, ``acks_all_latencies``: likewise of produce latencies.
    """

    world: World
    exposure: int
    offline: int
    under_min: int
    under_replicated: int
    unavailable: int
    one_replica: int
    unavailable_ever: int
    unavailable_at_end: int
    latencies: npt.NDArray[np.int64]
    acks_1_latencies: npt.NDArray[np.int64]
    acks_all_latencies: npt.NDArray[np.int64]

    def latency_ms(self, share: float) -> float:
        """Time from append to commit at rank ceil(share * n) of all batches, in ms."""
        return _percentile_ms(self.latencies, share, self.world.latency_max)

    def acks_1_latency_ms(self, share: float) -> float:
        """The same of the time from a batch's coming to its acknowledgement with acks=1."""
        return _percentile_ms(self.acks_1_latencies, share, self.world.horizon)

    def acks_all_latency_ms(self, share: float) -> float:
        """The same with acks=all."""
        return _percentile_ms(self.acks_all_latencies, share, self.world.horizon)


def measured_in(w: npt.NDArray[np.int64]) -> Measured:
    """Read a world that has reached its horizon."""
    world, partitions = World(w), table_of(w, "partitions")

    def time(name: str) -> int:
        return int(partitions[name].sum())

    return Measured(
        world,
        (world.horizon - world.warmup) * world.partition_count,
        time("offline_time"),
        time("under_min_isr_time"),
        time("under_replicated_time"),
        time("unavailable_time"),
        time("one_replica_time"),
        int(np.count_nonzero(partitions["unavailable_time"])),
        int(np.count_nonzero(partitions["flags"] & Standing.UNAVAILABLE)),
        numbers_of(w, "latencies").cumsum(),
        numbers_of(w, "acks_1_latencies").cumsum(),
        numbers_of(w, "acks_all_latencies").cumsum(),
    )


def _percentile_ms(up_to: npt.NDArray[np.int64], share: float, largest_us: int) -> float:
    """Latency at rank ceil(share * n), the middle of its bucket; 0 without a batch."""
    total = int(up_to[-1])
    if total == 0:
        return 0.0
    rank = math.ceil(share * total - 1e-9)
    bucket = int(up_to.searchsorted(max(1, rank)))
    sub = 1 << LATENCY_SUB_BITS
    if bucket < 2 * sub:
        return bucket / 1000
    shift = (bucket >> LATENCY_SUB_BITS) - 1
    low = (sub + (bucket & (sub - 1))) << shift
    middle = low + ((1 << shift) - 1) / 2
    return float(min(middle, largest_us) / 1000)
