"""How each fault kind is written into its row of the world's table of faults.

A kind has one entry of `ENCODINGS`: its number, the followers that it touches, and what only faults
of its kind have. What all faults have (begin, end, broker, partitions) the encoder writes itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.kafka.recovery import Lost
from isr_pipeline.scenarios.faults import us
from isr_pipeline.simulation.world.states import Appends, FaultKind, Reads, Touch
from isr_pipeline.simulation.world.tables import INF

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from isr_pipeline.simulation.world.tables import Fault
    from isr_pipeline.worlds.entities import Entities

    Values = Callable[[Fault, Any, Entities], None]
    Batches = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64], Any, Entities], None]

MILLION = 1_000_000
RATE_FACTOR_MAX = 64.0
"""A ledger is made for at most so many times the batches of an unchanged rate."""

_ERRORS = {
    "storage": Error.STORAGE,
    "unexpected": Error.UNEXPECTED,
    "fenced_epoch": Error.FENCED_EPOCH,
    "corrupt_record": Error.CORRUPT_RECORD,
}
_LOST = {"nothing": Lost.NOTHING, "tail": Lost.TAIL, "all": Lost.ALL}
_READS = {
    "direct": Reads.DIRECT,
    "completion": Reads.COMPLETION,
    "all": Reads.DIRECT | Reads.COMPLETION,
    "visits": Reads.DIRECT | Reads.VISIT,
}


_APPENDS = {
    "follower": Appends.OF_FOLLOWERS,
    "leader": Appends.OF_LEADERS,
    "both": Appends.OF_FOLLOWERS | Appends.OF_LEADERS,
}


def _nothing(row: Fault, fault: Any, entities: Entities) -> None:
    """Most of a fault is in what all faults have."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """One fault kind in the world's table.

    Attributes:
        number: by which the kernel knows the kind.
        touches: `Touch` bits: the followers whose removal from the ISR is no false positive.
        values: writes the cells that only this kind has.
        on_disk: a read or an append looks the fault up (`World.disk_faults`).
        batches: adds the batches that partitions see because of it to those of the streams, and
            to those of bursts.
        fills_log: the logs of its partition hold its `records` at the beginning.
    """

    number: FaultKind
    touches: int = 0
    values: Values = _nothing
    on_disk: bool = False
    batches: Batches | None = None
    fills_log: bool = False


def _read_stall(row: Fault, fault: Any, _: Entities) -> None:
    row.at_send = 1 if fault.stage == "send" else 0
    for name in fault.reads:
        row.reads |= _READS[name]


def _slow_append(row: Fault, fault: Any, _: Entities) -> None:
    row.value = us(fault.append_ms)
    row.appends = _APPENDS[fault.role]
    if fault.role == "leader":
        row.touches = 0  # the followers are healthy


def _slow_disk(row: Fault, fault: Any, _: Entities) -> None:
    row.log_dir = -1 if fault.log_dir is None else fault.log_dir
    row.value = round(fault.write_factor * MILLION)
    row.arg = round(fault.read_factor * MILLION)


def _cold_reader(row: Fault, fault: Any, _: Entities) -> None:
    row.value = fault.fetch_bytes
    row.arg2 = fault.connections
    if fault.bytes_per_s is not None:
        row.arg = fault.fetch_bytes * fault.connections * MILLION // fault.bytes_per_s


def _factor(row: Fault, fault: Any, _: Entities) -> None:
    row.value = round(fault.factor * MILLION)


def _link(row: Fault, fault: Any, entities: Entities) -> None:
    controller = len(entities.brokers)
    row.from_node, row.to_node = (
        controller if node == "controller" else entities.index[node]
        for node in (fault.from_, fault.to)
    )
    row.drops = 1 if fault.drop else 0
    row.value = us(fault.latency_ms or 0)
    row.both_ways = 1 if fault.both_ways else 0


def _crash(row: Fault, fault: Any, _: Entities) -> None:
    never = fault.restart_after_ms is None
    row.arg = -1 if never else us(fault.restart_after_ms)
    row.end = INF if never else min(INF, row.start + row.arg)
    row.retry_us = -1 if fault.retry_ms is None else us(fault.retry_ms)
    row.load_us = round(fault.restart_load_us)
    row.lost = _LOST[fault.lost]
    row.is_reformatted = 1 if fault.reformatted else 0
    row.recovery_bytes = fault.recovery_bytes
    row.recovery_bytes_per_s = round(fault.recovery_bytes_per_s or 0)


def _controlled_restart(row: Fault, fault: Any, _: Entities) -> None:
    row.arg = us(fault.downtime_ms)
    row.arg2 = us(fault.shutdown_ms)
    row.load_us = round(fault.restart_load_us)
    row.end = row.start + us(fault.downtime_ms)


def _log_dir_failure(row: Fault, fault: Any, _: Entities) -> None:
    row.log_dir = fault.log_dir


def _controller_outage(row: Fault, fault: Any, _: Entities) -> None:
    row.arg = 1 if fault.sessions == "resumed" else 0
    row.hangs = 1 if fault.connections == "hang" else 0


def _records(row: Fault, fault: Any, _: Entities) -> None:
    row.value = fault.records


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


def _client_surge(row: Fault, fault: Any, _: Entities) -> None:
    rate = fault.requests_per_s
    row.arg = max(1000, round(1e9 / rate)) if rate > 0 else 0
    row.value = round(fault.request_us)
    row.arg2 = fault.connections


def _partition_error(row: Fault, fault: Any, _: Entities) -> None:
    row.error = int(_ERRORS[fault.error])
    row.once = 1 if fault.duration_ms is None else 0
    if fault.fetcher == "ReplicaAlterLogDirs":
        row.fetcher = 1
        row.touches = 0  # it copies between log dirs: no follower


def _preferred_election(row: Fault, fault: Any, entities: Entities) -> None:
    row.arg = -1
    if fault.leader is not None:
        row.arg = entities.partitions[row.partition].replicas.index(fault.leader)


ENCODINGS: dict[str, Encoding] = {
    "read_stall": Encoding(FaultKind.READ_STALL, values=_read_stall, on_disk=True),
    "slow_append": Encoding(FaultKind.SLOW_APPEND, Touch.APPEND, values=_slow_append, on_disk=True),
    "slow_disk": Encoding(FaultKind.SLOW_DISK, Touch.APPEND, values=_slow_disk),
    "cold_reader": Encoding(FaultKind.COLD_READER, values=_cold_reader),
    "pause": Encoding(FaultKind.PAUSE, Touch.PROCESS),
    "cpu": Encoding(FaultKind.CPU, Touch.PROCESS, values=_factor),
    "link": Encoding(FaultKind.LINK, Touch.LINK, values=_link),
    "crash": Encoding(FaultKind.CRASH, Touch.PROCESS, values=_crash),
    "controlled_restart": Encoding(
        FaultKind.CONTROLLED_RESTART, Touch.PROCESS, values=_controlled_restart
    ),
    "log_dir_failure": Encoding(FaultKind.LOG_DIR, Touch.LOG_DIR, values=_log_dir_failure),
    "controller_outage": Encoding(FaultKind.CONTROLLER_OUTAGE, values=_controller_outage),
    "produce_burst": Encoding(FaultKind.BURST, values=_records, batches=_burst_batches),
    "produce_rate": Encoding(FaultKind.RATE, values=_factor, batches=_rate_batches),
    "client_surge": Encoding(FaultKind.SURGE, values=_client_surge),
    "partition_error": Encoding(FaultKind.PARTITION_ERROR, Touch.MOMENT, values=_partition_error),
    "stop_replica": Encoding(FaultKind.STOP_REPLICA, Touch.MOMENT),
    "preferred_election": Encoding(FaultKind.PREFERRED_LEADER, values=_preferred_election),
    "bootstrap": Encoding(FaultKind.BOOTSTRAP, Touch.MOMENT, values=_records, fills_log=True),
}
"""Fault kind -> its row. The kinds are those of `isr_pipeline.scenarios.faults`."""
