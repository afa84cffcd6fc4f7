"""The one table of what is measured: each metric, what a finished world counts for it, its meaning.

A metric is a total over something. The total is a column of the outcomes table: microseconds,
counts, milliseconds of a percentile. It is over exposure, which is partition-time after warm-up,
or over scenarios. A row says which, in which unit and words, whether the night's verdict tests it
and whether tables and charts have room for it. The outcome row, schema, checks, summary, verdicts,
report and MLflow follow from it, so a new metric is one row here and the line in the kernel that
counts it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

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
        leaderless, offline, led_under_min, under_min, under_replicated, unavailable, one_replica:
            partition-time in that state, in us.
        unavailable_ever: partitions that took no acks=all produce for some time after warm-up.
        unavailable_at_end: partitions that take no acks=all produce at the horizon.
        given_up: records that came after warm-up and that their producer gave up.
        latencies: how many batches have a commit latency in a bucket of the histogram or below it;
            ``acks_1_latencies``, ``acks_all_latencies``: likewise of produce latencies.
    """

    world: World
    exposure: int
    leaderless: int
    offline: int
    led_under_min: int
    under_min: int
    under_replicated: int
    unavailable: int
    one_replica: int
    unavailable_ever: int
    unavailable_at_end: int
    given_up: int
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

    @property
    def longest_produce_ms(self) -> float:
        """Of the batch that waited longest, with either acks."""
        return max(self.acks_1_latency_ms(1.0), self.acks_all_latency_ms(1.0))


def measured_in(w: npt.NDArray[np.int64]) -> Measured:
    """Read a world that has reached its horizon."""
    world, partitions = World(w), table_of(w, "partitions")

    def time(name: str) -> int:
        return int(partitions[name].sum())

    return Measured(
        world,
        (world.horizon - world.warmup) * world.partition_count,
        time("unled_time"),
        time("offline_time"),
        time("led_under_min_isr_time"),
        time("under_min_isr_time"),
        time("under_replicated_time"),
        time("unavailable_time"),
        time("one_replica_time"),
        int(np.count_nonzero(partitions["unavailable_time"])),
        int(np.count_nonzero(partitions["flags"] & Standing.UNAVAILABLE)),
        int(table_of(w, "streams")["given_up"].sum()),
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


Worse = Literal[1, 0, -1]
Value = Callable[[Measured], int | float]
Type = Literal["int", "float"]

EXPOSURE = "exposure_us"
"""Column of the exposure: partitions times simulated time after warm-up."""

US_PER_SECOND = 1_000_000
US_PER_HOUR = 3_600 * US_PER_SECOND


@dataclass(frozen=True, slots=True)
class Column:
    """One number of the outcome row.

    Attributes:
        name: of the column.
        type: ``int`` or ``float``.
        of: its value in a world that has reached its horizon.
    """

    name: str
    type: Type
    of: Value


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of metrics.

    Attributes:
        name: in the summary table.
        words: on a page, of values that are multiplied by ``factor`` and divided by ``words_in``.
        total: unit of a metric's total, in words.
        suffix: what ends a metric's name in MLflow, where values are multiplied likewise.
        factor: 100 of a share.
        exposure_us: partition-time that a metric is counted by; None if it is by scenarios.
        total_in: how much of the column makes one unit of the total.
        type: of the column.
        year: unit of a year's total, in words; empty where a sum means nothing.
        year_in: how many units of the total make one of a year's.
        words_in: how many of what the summary has make one unit in words.
    """

    name: str
    words: str
    total: str
    suffix: str = ""
    factor: float = 1.0
    exposure_us: int | None = None
    total_in: int = 1
    type: Type = "int"
    year: str = ""
    year_in: int = 1
    words_in: int = 1


SHARE = Unit(
    "share",
    "% of time",
    "partition-seconds",
    "_percent_of_time",
    100.0,
    1,
    US_PER_SECOND,
    year="partition-minutes",
    year_in=60,
)
SHARE_OF_REPLICAS = Unit(
    "replica-time/partition-time",
    "% of time, summed over replicas",
    "replica-seconds",
    "_percent_of_time",
    100.0,
    1,
    US_PER_SECOND,
    year="replica-minutes",
    year_in=60,
)
"""Every follower adds to it, so that it may exceed 1."""

PER_HOUR = Unit(
    "1/partition-h", "a partition and hour", "events", exposure_us=US_PER_HOUR, year="events"
)
SHARE_OF_SCENARIOS = Unit(
    "share of scenarios", "% of scenarios", "scenarios", "_percent_of_scenarios", 100.0
)
MS = Unit("ms", "ms", "ms", type="float")
"""A time of each scenario: of latencies factors are judged, not sums."""


def _summed_ms(things: str) -> Unit:
    """Times of so many things, in a scenario's total."""
    return Unit(
        f"{things}-ms",
        f"s, summed over {things}s",
        f"{things}-ms",
        words_in=1000,
        type="float",
        year=f"{things}-minutes",
        year_in=60_000,
    )


REPLICA_MS = _summed_ms("replica")
REQUEST_MS = _summed_ms("request")


def _a_scenario(things: str) -> Unit:
    return Unit(f"{things}/scenario", f"{things} a scenario", things, "_per_scenario", year=things)


@dataclass(frozen=True, slots=True)
class Metric:
    """A total over exposure, or over scenarios; of many scenarios the quotient of weighted sums.

    Attributes:
        name: in every table, in experiments' files and in MLflow.
        top: column of the total, the unit of a time at its end.
        of: the total of a world that has reached its horizon.
        unit: also says what the total is divided by.
        words: its name on a page.
        description: one sentence for reports.
        worse: 1 if higher is worse, -1 if lower is worse, 0 if neither is (a description).
        tested: whether the night's verdict tests it by default.
        main: whether tables and charts of configurations have it.
        never: nothing of it may happen: a scenario that newly has some is drawn again, and stays at
            least `suspect`; only where the baseline has none in the whole stratum, or anywhere.
        unless: key that allows it: of a configuration in which that is true it may happen.
        flag: 0/1 column whose McNemar test stands for the unweighted sign-flip test.
    """

    name: str
    top: str
    of: Value
    unit: Unit
    words: str
    description: str
    worse: Worse = 1
    tested: bool = False
    main: bool = False
    never: Literal["in_stratum", "anywhere"] | None = None
    unless: str | None = None
    flag: str | None = None

    def bottom(self, exposure_us: Any) -> Any:
        """What a total is divided by: exposure, of one scenario or summed, or 1."""
        per = self.unit.exposure_us
        return np.ones_like(exposure_us, float) if per is None else exposure_us / per

    def value(self, top: Any, exposure_us: Any) -> Any:
        """The metric of one scenario, or of each."""
        return top if self.unit.exposure_us is None else top / self.bottom(exposure_us)


_ROWS = (
    Metric(
        "produce_unavailable_rate",
        "produce_unavailable_us",
        lambda m: m.unavailable,
        SHARE,
        "produce unavailable",
        "Share of partition-time in which an acks=all producer gets nothing acknowledged.",
        tested=True,
        main=True,
    ),
    Metric(
        "leaderless_rate",
        "leaderless_us",
        lambda m: m.leaderless,
        SHARE,
        "offline (no living leader)",
        "Share of partition-time in which nobody leads, or one that is dead or paused or whose log "
        "dir is gone, whether the controller has noticed or not.",
        tested=True,
        main=True,
        never="in_stratum",
        flag="any_leaderless",
    ),
    Metric(
        "led_under_min_isr_rate",
        "led_under_min_isr_us",
        lambda m: m.led_under_min,
        SHARE,
        "time under min ISR",
        "Share of partition-time in which a living leader has fewer in-sync replicas than "
        "min.insync.replicas.",
        tested=True,
        main=True,
    ),
    Metric(
        "isr_flaps_per_partition_hour",
        "isr_flaps",
        lambda m: m.world.isr_flaps,
        PER_HOUR,
        "ISR flaps",
        "Flaps: replicas removed by a leader and back within 60 s.",
        tested=True,
        main=True,
    ),
    Metric(
        "commit_latency_p99_ms",
        "commit_latency_p99_ms",
        lambda m: m.latency_ms(0.99),
        MS,
        "commit latency p99",
        "99th percentile of append to commit, mean over scenarios.",
        tested=True,
        main=True,
    ),
    Metric(
        "records_lost",
        "records_lost",
        lambda m: m.world.lost_records,
        _a_scenario("records"),
        "acknowledged records lost",
        "Records acknowledged with acks=all that no replica which could lead has any longer.",
        tested=True,
        never="anywhere",
    ),
    Metric(
        "unclean_elections",
        "unclean_elections",
        lambda m: m.world.unclean_elections,
        _a_scenario("elections"),
        "unclean elections",
        "Elections of a replica outside the ISR.",
        never="anywhere",
        unless="unclean.leader.election.enable",
    ),
    Metric(
        "any_leaderless",
        "any_leaderless",
        lambda m: int(m.leaderless > 0),
        SHARE_OF_SCENARIOS,
        "any offline",
        "Share of scenarios in which some partition had no living leader after warm-up.",
    ),
    Metric(
        "offline_partition_rate",
        "offline_us",
        lambda m: m.offline,
        SHARE,
        "offline to the controller",
        "Share of partition-time without a leader, as the controller sees it: Kafka's "
        "OfflinePartitionsCount.",
    ),
    Metric(
        "any_offline",
        "any_offline",
        lambda m: int(m.offline > 0),
        SHARE_OF_SCENARIOS,
        "any offline to the controller",
        "Share of scenarios in which the controller had no leader for some partition after "
        "warm-up.",
    ),
    Metric(
        "under_min_isr_rate",
        "under_min_isr_us",
        lambda m: m.under_min,
        SHARE,
        "under min ISR to the controller",
        "Share of partition-time with fewer in-sync replicas than min.insync.replicas, whether "
        "the leader lives or not: Kafka's UnderMinIsrPartitionCount.",
    ),
    Metric(
        "under_replicated_rate",
        "under_replicated_us",
        lambda m: m.under_replicated,
        SHARE,
        "under-replicated",
        "Share of partition-time with a replica missing from the ISR.",
    ),
    Metric(
        "readers_wait_rate",
        "readers_wait_us",
        lambda m: m.world.readers_wait_time,
        SHARE,
        "readers wait",
        "Share of partition-time in which a live leader has records that readers may not have yet: "
        "they end above a high watermark that stands for a second or longer.",
    ),
    Metric(
        "one_replica_rate",
        "one_replica_us",
        lambda m: m.one_replica,
        SHARE,
        "one replica alone",
        "Share of partition-time in which a leader takes acks=all produce alone in the ISR.",
    ),
    Metric(
        "isr_shrinks_per_partition_hour",
        "isr_shrinks",
        lambda m: m.world.isr_shrinks,
        PER_HOUR,
        "ISR shrinks",
        "ISR changes by which a leader removed replicas, however many at once.",
    ),
    Metric(
        "isr_expands_per_partition_hour",
        "isr_expands",
        lambda m: m.world.isr_expands,
        PER_HOUR,
        "ISR expands",
        "Returns to the ISR by a leader's leave.",
        worse=0,
    ),
    Metric(
        "spurious_shrinks_per_partition_hour",
        "spurious_shrinks",
        lambda m: m.world.spurious_removals,
        PER_HOUR,
        "spurious shrinks",
        "Replicas removed that no fault touched: the in-sync rule's false positives.",
    ),
    Metric(
        "detection_delay_ms",
        "detection_delay_ms",
        lambda m: m.world.detection_delay / 1000,
        REPLICA_MS,
        "detection delay",
        "Time that faulty, lagging followers stayed in the ISR past the lag limit.",
    ),
    Metric(
        "leader_changes_per_partition_hour",
        "leader_changes",
        lambda m: m.world.leader_changes,
        PER_HOUR,
        "leader changes",
        "Changes of a leader's id.",
    ),
    Metric(
        "resignations_per_partition_hour",
        "resignations",
        lambda m: m.world.resignations,
        PER_HOUR,
        "resignations",
        "Leaders that gave up leadership because a read was pending too long.",
        worse=0,
    ),
    Metric(
        "commit_latency_p50_ms",
        "commit_latency_p50_ms",
        lambda m: m.latency_ms(0.50),
        MS,
        "commit latency p50",
        "Median time from a batch's append to its commit, mean over scenarios.",
    ),
    Metric(
        "commit_latency_max_ms",
        "commit_latency_max_ms",
        lambda m: m.world.latency_max / 1000,
        MS,
        "commit latency max",
        "Slowest batch, mean over scenarios.",
    ),
    Metric(
        "produce_latency_acks_1_p50_ms",
        "produce_latency_acks_1_p50_ms",
        lambda m: m.acks_1_latency_ms(0.50),
        MS,
        "produce latency acks=1 p50",
        "Median time of an acks=1 batch from send to acknowledgement, mean over scenarios.",
    ),
    Metric(
        "produce_latency_acks_1_p99_ms",
        "produce_latency_acks_1_p99_ms",
        lambda m: m.acks_1_latency_ms(0.99),
        MS,
        "produce latency acks=1 p99",
        "99th percentile of an acks=1 batch's send to acknowledgement, mean over scenarios.",
    ),
    Metric(
        "produce_latency_acks_all_p50_ms",
        "produce_latency_acks_all_p50_ms",
        lambda m: m.acks_all_latency_ms(0.50),
        MS,
        "produce latency acks=all p50",
        "Median time of an acks=all batch from send to acknowledgement, mean over scenarios.",
    ),
    Metric(
        "produce_latency_acks_all_p99_ms",
        "produce_latency_acks_all_p99_ms",
        lambda m: m.acks_all_latency_ms(0.99),
        MS,
        "produce latency acks=all p99",
        "99th percentile of an acks=all batch's send to acknowledgement, mean over scenarios.",
    ),
    Metric(
        "append_wait_ms",
        "append_wait_ms",
        lambda m: m.world.append_wait_time / 1000,
        REQUEST_MS,
        "appends wait",
        "Time that appends of leaders and followers waited for the log or its disk.",
    ),
    Metric(
        "log_wait_ms",
        "log_wait_ms",
        lambda m: m.world.log_wait_time / 1000,
        REQUEST_MS,
        "fetches wait for the log",
        "Time that followers' fetches, and the answers to them, waited for appends to the log.",
    ),
    Metric(
        "send_wait_ms",
        "send_wait_ms",
        lambda m: m.world.send_wait_time / 1000,
        REQUEST_MS,
        "answers wait for a network thread",
        "Time that requests and answers waited for their network thread, which others kept busy.",
    ),
    Metric(
        "cold_read_bytes",
        "cold_read_bytes",
        lambda m: m.world.cold_bytes,
        _a_scenario("bytes"),
        "cold bytes read",
        "Bytes that were read from a disk, as the page cache had them no longer.",
        worse=0,
    ),
    Metric(
        "catch_up_ms",
        "catch_up_ms",
        lambda m: m.world.catch_up_time / 1000,
        MS,
        "catch-up",
        "Time from brokers' returns to the last join of their replicas, summed over returns.",
    ),
    Metric(
        "batches_uncommitted",
        "batches_uncommitted",
        lambda m: m.world.uncommitted_batches,
        _a_scenario("batches"),
        "batches uncommitted",
        "Batches never committed by the horizon.",
    ),
    Metric(
        "records_lost_by_replaced_leaders",
        "records_lost_by_replaced_leaders",
        lambda m: m.world.lost_by_replaced_leaders,
        _a_scenario("records"),
        "records lost by replaced leaders",
        "Records that a leader acknowledged with acks=1 after the controller had replaced it, and "
        "truncated.",
    ),
    Metric(
        "record_errors",
        "record_errors",
        lambda m: m.given_up,
        _a_scenario("records"),
        "records given up by producers",
        "Records that a producer sends no more, refused for good or past their delivery timeout: "
        "Kafka's record-error-total.",
    ),
    Metric(
        "partitions_unavailable",
        "partitions_unavailable",
        lambda m: m.unavailable_ever,
        _a_scenario("partitions"),
        "partitions unavailable",
        "Partitions in which an acks=all producer got nothing acknowledged for some time.",
    ),
    Metric(
        "partitions_unavailable_at_end",
        "partitions_unavailable_at_end",
        lambda m: m.unavailable_at_end,
        _a_scenario("partitions"),
        "unavailable at the end",
        "Partitions that take no acks=all produce when the scenario ends.",
    ),
    Metric(
        "records_acked",
        "records_acked",
        lambda m: m.world.acknowledged_records,
        _a_scenario("records"),
        "records acknowledged",
        "Records acknowledged with acks=all.",
        worse=-1,
    ),
    Metric(
        "records_acked_by_one_replica",
        "records_acked_by_one_replica",
        lambda m: m.world.records_of_one_replica,
        _a_scenario("records"),
        "records acknowledged by one replica",
        "Records acknowledged with acks=all while no replica but the leader had them.",
    ),
    Metric(
        "failed_partitions_max",
        "failed_partitions_max",
        lambda m: m.world.failed_partitions_max,
        _a_scenario("replicas"),
        "failed partitions max",
        "Largest FailedPartitionsCount at one time, summed over brokers.",
    ),
    Metric(
        "failed_partition_rate",
        "failed_partition_us",
        lambda m: m.world.failed_time,
        SHARE_OF_REPLICAS,
        "failed partitions",
        "Replica-time in which a fetcher had given the partition up, over partition-time.",
    ),
    Metric(
        "dead_fetcher_threads",
        "dead_fetcher_threads",
        lambda m: m.world.dead_threads_max,
        _a_scenario("threads"),
        "dead fetcher threads",
        "Most fetcher threads dead at one time.",
    ),
    Metric(
        "untracked_partition_rate",
        "untracked_partition_us",
        lambda m: m.world.untracked_time,
        SHARE_OF_REPLICAS,
        "untracked partitions",
        "Replica-time on a dead fetcher thread, over partition-time.",
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}
"""Every metric by name, in the order of a page: what a producer feels comes first."""

MAIN: tuple[str, ...] = tuple(metric.name for metric in _ROWS if metric.main)
"""Metrics that a table of configurations has room for."""

MAIN_RATES: tuple[str, ...] = tuple(name for name in MAIN if METRICS[name].unit is not MS)
"""Those of which a sum over scenarios means something."""

_REACHED = (
    Column("largest_read_bytes", "int", lambda m: m.world.largest_read),
    Column("largest_response_bytes", "int", lambda m: m.world.largest_response),
    Column("longest_silence_ms", "float", lambda m: m.world.longest_silence / 1000),
    Column("longest_queue", "int", lambda m: m.world.longest_queue),
    Column("longest_produce_ms", "float", lambda m: m.longest_produce_ms),
    Column("least_isr", "int", lambda m: m.world.least_isr),
)
_COUNTED = (
    Column(EXPOSURE, "int", lambda m: m.exposure),
    *(Column(metric.top, metric.unit.type, metric.of) for metric in _ROWS),
    *_REACHED,
)
_OF_THE_RUN = (
    Column("simulated_ms", "float", lambda m: m.world.horizon / 1000),
    Column("kernel_events", "int", lambda m: m.world.event_count),
    Column("failed", "int", lambda _: 0),
)
COLUMNS: tuple[Column, ...] = (*_COUNTED, *_OF_THE_RUN)
"""Every number that a world gives, in the order of the outcomes table."""

COUNTED: tuple[str, ...] = tuple(column.name for column in _COUNTED)
"""Columns that are null of a pair that failed."""

OF_THE_RUN: tuple[str, ...] = tuple(column.name for column in _OF_THE_RUN)
"""Columns that it has too."""

REACHED: tuple[str, ...] = tuple(column.name for column in _REACHED)
"""How near a run came to the keys that have a bound (`verdicts.exercised`): no metrics."""

ADDED: tuple[str, ...] = (
    "leaderless_us",
    "any_leaderless",
    "led_under_min_isr_us",
    "append_wait_ms",
    "log_wait_ms",
    "send_wait_ms",
    "cold_read_bytes",
    "catch_up_ms",
    "record_errors",
    "records_lost_by_replaced_leaders",
    *REACHED,
)
"""Columns that kernels of releases before 0.3.0 do not give: null in their rows."""


def values_of(counted: Any) -> dict[str, Any]:
    """Every metric of an outcome row, or of many rows as a data frame.

    Rows of an older release lack what was not measured then.
    """
    return {
        name: metric.value(counted[metric.top], counted[EXPOSURE])
        for name, metric in METRICS.items()
        if metric.top in counted
    }
