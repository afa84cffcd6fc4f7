"""How each fault kind is written into its row of the world's table of faults.

A kind has one entry of `ENCODINGS`: its number, the followers that it touches, and what only faults
of its kind have. What all faults have (begin, end, broker, partitions) the encoder writes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation import faults as effect
from isr_pipeline.simulation import network
from isr_pipeline.simulation.world import layout as at

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from isr_pipeline.worlds.entities import Entities

    Values = Callable[[list[int], Any, Entities], None]
    Batches = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64], Any, Entities], None]

MILLION = 1_000_000
SURGE_CONNECTIONS_MAX = 20_000
RATE_FACTOR_MAX = 64.0
"""A ledger is made for at most so many times the batches of an unchanged rate."""

_ERRORS = {
    "storage": Error.STORAGE,
    "unexpected": Error.UNEXPECTED,
    "fenced_epoch": Error.FENCED_EPOCH,
    "corrupt_record": Error.CORRUPT_RECORD,
}
_READS = {"direct": 1, "completion": 2, "all": 3, "visits": 5}


def _nothing(row: list[int], fault: Any, entities: Entities) -> None:
    """Most of a fault is in what all faults have."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """One fault kind in the world's table.

    Attributes:
        number: by which the kernel knows the kind (X_KIND).
        touches: TOUCH_ bits: the followers whose removal from the ISR is no false positive.
        values: writes the cells that only this kind has.
        on_disk: a read or an append looks the fault up (H_BFLIST).
        batches: adds the batches that partitions see because of it to those of the streams, and
            to those of bursts.
        fills_log: the logs of its partition hold its `records` at the beginning.
    """

    number: int
    touches: int = 0
    values: Values = _nothing
    on_disk: bool = False
    batches: Batches | None = None
    fills_log: bool = False


def _stage(row: list[int], fault: Any) -> None:
    row[at.X_STAGE] = 1 if fault.stage == "send" else 0


def _read_stall(row: list[int], fault: Any, _: Entities) -> None:
    _stage(row, fault)
    for name in fault.reads:
        row[at.X_READS] |= _READS[name]


def _slow_read(row: list[int], fault: Any, _: Entities) -> None:
    _stage(row, fault)
    row[at.X_READS] = 3
    row[at.X_VALUE] = us(fault.read_ms)


def _slow_append(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_VALUE] = us(fault.append_ms)


def _factor(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_VALUE] = round(fault.factor * MILLION)


def _link(row: list[int], fault: Any, entities: Entities) -> None:
    controller = len(entities.brokers)
    row[at.X_FROM], row[at.X_TO] = (
        controller if node == "controller" else entities.index[node]
        for node in (fault.from_, fault.to)
    )
    row[at.X_DROP] = 1 if fault.drop else 0
    row[at.X_VALUE] = us(fault.latency_ms or 0)
    row[at.X_BOTH] = 1 if fault.both_ways else 0


def _crash(row: list[int], fault: Any, _: Entities) -> None:
    never = fault.restart_after_ms is None
    row[at.X_ARG] = -1 if never else us(fault.restart_after_ms)
    row[at.X_END] = at.INF if never else min(at.INF, row[at.X_START] + row[at.X_ARG])
    row[at.X_RETRY] = -1 if fault.retry_ms is None else us(fault.retry_ms)
    row[at.X_LOAD] = round(fault.restart_load_us)


def _controlled_restart(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_ARG] = us(fault.downtime_ms)
    row[at.X_ARG2] = us(fault.shutdown_ms)
    row[at.X_LOAD] = round(fault.restart_load_us)
    row[at.X_END] = row[at.X_START] + us(fault.downtime_ms)


def _log_dir_failure(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_DIR] = fault.log_dir


def _controller_outage(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_ARG] = 1 if fault.sessions == "resumed" else 0


def _records(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_VALUE] = fault.records


def _burst_batches(
    _: npt.NDArray[np.float64],
    of_bursts: npt.NDArray[np.float64],
    fault: Any,
    entities: Entities,
) -> None:
    i = entities.p_index[fault.topic, fault.partition]
    of_bursts[i] += fault.records / entities.burst_batch(i)[0] + 1


def _rate_batches(
    of_streams: npt.NDArray[np.float64],
    _: npt.NDArray[np.float64],
    fault: Any,
    entities: Entities,
) -> None:
    for i, name in enumerate(entities.partitions):
        if name.topic == fault.topic and fault.partition in ("all", name.number):
            of_streams[i] *= max(1.0, min(fault.factor, RATE_FACTOR_MAX))


def _client_surge(row: list[int], fault: Any, _: Entities) -> None:
    rate = fault.requests_per_s
    row[at.X_ARG] = max(1000, round(1e9 / rate)) if rate > 0 else 0
    row[at.X_VALUE] = round(fault.request_us)
    row[at.X_ARG2] = min(fault.connections, SURGE_CONNECTIONS_MAX)


def _partition_error(row: list[int], fault: Any, _: Entities) -> None:
    row[at.X_ERROR] = int(_ERRORS[fault.error])
    row[at.X_ONCE] = 1 if fault.duration_ms is None else 0
    if fault.fetcher == "ReplicaAlterLogDirs":
        row[at.X_FETCHER] = 1
        row[at.X_TOUCHES] = 0  # it copies between log dirs: no follower


def _preferred_election(row: list[int], fault: Any, entities: Entities) -> None:
    row[at.X_ARG] = -1
    if fault.leader is not None:
        row[at.X_ARG] = entities.partitions[row[at.X_PART]].replicas.index(fault.leader)


ENCODINGS: dict[str, Encoding] = {
    "read_stall": Encoding(network.X_READ_STALL, values=_read_stall, on_disk=True),
    "slow_read": Encoding(network.X_SLOW_READ, values=_slow_read, on_disk=True),
    "slow_append": Encoding(
        network.X_SLOW_APPEND, at.TOUCH_APPEND, values=_slow_append, on_disk=True
    ),
    "pause": Encoding(effect.X_PAUSE, at.TOUCH_PROCESS),
    "cpu": Encoding(effect.X_CPU, at.TOUCH_PROCESS, values=_factor),
    "link": Encoding(effect.X_LINK, at.TOUCH_LINK, values=_link),
    "crash": Encoding(effect.X_CRASH, at.TOUCH_PROCESS, values=_crash),
    "controlled_restart": Encoding(
        effect.X_CONTROLLED, at.TOUCH_PROCESS, values=_controlled_restart
    ),
    "log_dir_failure": Encoding(effect.X_LOG_DIR, at.TOUCH_LOG_DIR, values=_log_dir_failure),
    "controller_outage": Encoding(effect.X_OUTAGE, values=_controller_outage),
    "produce_burst": Encoding(effect.X_BURST, values=_records, batches=_burst_batches),
    "produce_rate": Encoding(effect.X_RATE, values=_factor, batches=_rate_batches),
    "client_surge": Encoding(effect.X_SURGE, values=_client_surge),
    "partition_error": Encoding(effect.X_PARTITION_ERROR, at.TOUCH_MOMENT, values=_partition_error),
    "stop_replica": Encoding(effect.X_STOP_REPLICA, at.TOUCH_MOMENT),
    "preferred_election": Encoding(effect.X_PREFERRED, values=_preferred_election),
    "bootstrap": Encoding(effect.X_BOOTSTRAP, at.TOUCH_MOMENT, values=_records, fills_log=True),
}
"""Fault kind -> its row. The kinds are those of `isr_pipeline.scenarios.faults`."""
