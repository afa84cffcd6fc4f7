"""A scenario and its configuration as the flat array that the kernel runs on.

Layout and meaning of every cell are `simulation.layout`'s; this module only fills them in. All
randomness that healthy parts need (phases) is spent here, by hashing the scenario's seed with what
it is for, so that another configuration never shifts the draws of another entity.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.errors import InputError
from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.kafka.partition import effective_min_isr, tick_period
from isr_pipeline.kafka.record import N_FIELDS
from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.scenarios.leaves import plans, plans_of_fetches, plans_of_produces, tree_of
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation import layout as at
from isr_pipeline.simulation.kinds import kinds_of, rows_of
from isr_pipeline.simulation.start import begin_world

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isr_pipeline.scenarios.model import ProduceStream, Rules, Scenario, Service

Array = npt.NDArray[np.int64]

EVENT_BUDGET = 100_000_000
EVENTS_LISTED = 20_000
LEDGER_MAX = 1 << 16
LEDGER_BURST_MAX = 1 << 20  # a burst's batches are all open at once: none may be given up
SURGE_CONNECTIONS_MAX = 20_000
MAX_RF = 15  # an ISR order is packed into 4 bits a position
MAX_LOG_DIRS = 8
DEFAULT_RECORD_BYTES = 100
MILLION = 1_000_000
PERIOD_MIN_US = 10_000
PERIOD_MAX_US = 1_000_000

_ERRORS = {
    "storage": Error.STORAGE,
    "unexpected": Error.UNEXPECTED,
    "fenced_epoch": Error.FENCED_EPOCH,
    "corrupt_record": Error.CORRUPT_RECORD,
}
_READS = {"direct": 1, "completion": 2, "all": 3, "visits": 5}
_KINDS = {
    "read_stall": at.X_READ_STALL,
    "slow_read": at.X_SLOW_READ,
    "slow_append": at.X_SLOW_APPEND,
    "pause": at.X_PAUSE,
    "cpu": at.X_CPU,
    "link": at.X_LINK,
    "crash": at.X_CRASH,
    "controlled_restart": at.X_CONTROLLED,
    "log_dir_failure": at.X_LOG_DIR,
    "controller_outage": at.X_OUTAGE,
    "produce_burst": at.X_BURST,
    "produce_rate": at.X_RATE,
    "client_surge": at.X_SURGE,
    "partition_error": at.X_PARTITION_ERROR,
    "stop_replica": at.X_STOP_REPLICA,
    "preferred_election": at.X_PREFERRED,
    "bootstrap": at.X_BOOTSTRAP,
}
_WHOLE_BROKER = {"pause", "cpu", "crash", "controlled_restart", "log_dir_failure", "client_surge"}


@dataclass(frozen=True, slots=True)
class PartitionNames:
    """What the kernel's partition index stands for."""

    topic: str
    number: int
    replicas: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class World:
    """A world ready to run, and the names of what is in it.

    Attributes:
        w: the flat array.
        rec: view of the leaders' records in it.
        rules: the switches.
        partitions: by kernel index, in (topic, partition) order.
        brokers: broker ids by kernel index.
        kinds: how each cell may behave in a stretch that repeats (`simulation.kinds`).
    """

    w: Array
    rec: Array
    rules: Array
    partitions: tuple[PartitionNames, ...]
    brokers: tuple[int, ...]
    kinds: Array


def hashed(seed: int, purpose: str, entities: tuple[str, ...], below: int | Array) -> Array:
    """A number in [0, below) for each entity; it depends on nothing but seed, purpose and entity.

    Args:
        seed: the scenario's.
        purpose: what the numbers are for.
        entities: their names.
        below: at least 1; one limit for all, or one each.
    """
    limits = np.asarray(below, dtype=np.uint64)
    return (_digests(seed, purpose, entities) % limits).astype(np.int64)


@lru_cache(maxsize=16)
def _digests(seed: int, purpose: str, entities: tuple[str, ...]) -> npt.NDArray[np.uint64]:
    """What `hashed` cuts to size: configurations of a scenario differ in nothing but the limits."""
    digests = [
        hashlib.blake2b(f"{seed}|{purpose}|{entity}".encode(), digest_size=8).digest()
        for entity in entities
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


@cache
def java_string_hash(text: str) -> int:
    """``String.hashCode``: 32 bits, signed."""
    value = 0
    for unit in _utf16_units(text):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _utf16_units(text: str) -> list[int]:
    """The text's UTF-16 code units."""
    raw = text.encode("utf-16-be")
    return [(raw[i] << 8) | raw[i + 1] for i in range(0, len(raw), 2)]


def fetcher_of(topic: str, partition: int, fetchers: int) -> int:
    """Fetcher id of a partition (AbstractFetcherManager.getFetcherId)."""
    value = (31 * java_string_hash(topic) + partition) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % fetchers


@lru_cache(maxsize=64)
def walk_order(names: tuple[tuple[str, int], ...]) -> list[int]:
    """Order in which the tick walks a broker's partitions.

    That of a Java ConcurrentHashMap of TopicPartition: buckets in turn, within one by creation.

    Args:
        names: (topic, partition) in order of creation.

    Returns:
        Indexes into ``names``.
    """
    size = 16
    while len(names) >= size * 3 // 4:
        size *= 2
    buckets: list[list[int]] = [[] for _ in range(size)]
    for index, (topic, partition) in enumerate(names):
        h = (31 * (31 + partition) + java_string_hash(topic)) & 0xFFFFFFFF
        buckets[(h ^ (h >> 16)) & (size - 1)].append(index)
    return [index for bucket in buckets for index in bucket]


def _array(size: int, used: Array | None) -> Array:
    """An array for a world: new, or the first cells of one that nobody needs any more.

    It begins at a cache line, which numpy does not promise.

    Of the tables from the ledgers on, nine tenths of the array, only what has been written is ever
    read: a used array serves as well as one that the system has to clear.
    """
    if used is None or used.size < size:
        cells = np.zeros(size + at.LINE - 1, dtype=np.int64)
        first = -(cells.ctypes.data // cells.itemsize) % at.LINE
        return cells[first : first + size]
    return used[:size]


def _fill(rows: Array, columns: Mapping[int, Any]) -> None:
    """Fill in columns of a table's rows: with one value, or one a row."""
    for column, values in columns.items():
        rows[:, column] = values


class _Tables:
    """Hands out places in the array, and makes the array in the end."""

    def __init__(self, first: int) -> None:
        self.size = first

    def place(self, count: int) -> int:
        """Reserve ``count`` cells from a cache line's beginning on."""
        start = -(-self.size // at.LINE) * at.LINE
        self.size = start + max(1, count)
        return start


@dataclass(frozen=True, slots=True)
class Settings:
    """What tells the worlds of a scenario's configurations apart.

    Attributes:
        same, equal: the rest. Worlds in which it is the same objects, and equal values, have the
            same places and the same cells but for keys and rules and what follows from them.
        keys: the header up to C_REBALANCE, of which its cells from C_LAG on are filled in.
        rules: the switches.
    """

    same: tuple[Any, ...]
    equal: tuple[Any, ...]
    keys: Array
    rules: Array

    def alike(self, other: Settings) -> bool:
        """Whether both worlds have the same structure.

        Scenarios of a panel under several configurations share the very objects.
        """
        pairs = zip(self.same, other.same, strict=True)
        return all(mine is its for mine, its in pairs) and self.equal == other.equal


@dataclass(frozen=True, slots=True)
class _Choices:
    """What a configuration decides by itself. Worlds share it: nobody changes it.

    Attributes:
        keys: `Settings.keys`, but for what every scenario has of its own.
        rules: the switches.
        flags: conditions at 0 of a partition, by how many replicas it has.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads.
    """

    keys: Array
    rules: Array
    flags: Array
    fetchers: int
    io: int
    net: int


@lru_cache(maxsize=128)
def _choices_of(
    release: str,
    controller: str,
    rules: Rules,
    config: tuple[tuple[str, Any], ...],
    service: Service,
) -> _Choices:
    """Read a configuration, once for all scenarios.

    Args:
        release: the cluster's.
        controller: the cluster's.
        rules: the switches that are no Kafka key.
        config: the Kafka keys that were given, and their values, as checked.
        service: service times.
    """
    rule_set = RULE_SETS[release]
    keys: dict[str, Any] = resolve(release, dict(config))
    vector = switches(
        rule_set,
        kip501=rules.kip501 or "none",
        kip501_enabled=bool(keys["follower.fetch.pending.reads.insync.enable"]),
        fetcher=rules.fetcher,
        election=rules.election,
        isr_lock=rules.isr_lock,
        shrink_bumps_leader_epoch=rules.shrink_bumps_leader_epoch,
        controller=controller,
        elr=_elr(keys, release, controller),
    )
    cells = np.zeros(at.C_REBALANCE + 1, dtype=np.int64)
    _write_keys(cells, keys, release, controller)
    _write_service(cells, service)
    cells[at.C_TICK] = max(
        1000, 1000 * int(tick_period(vector, int(keys["replica.lag.time.max.ms"])))
    )
    cells[at.C_S2_COOLDOWN] = us(rules.s2_cooldown_ms or 0)
    return _Choices(
        cells,
        vector,
        _first_flags(vector, int(keys["min.insync.replicas"])),
        int(keys["num.replica.fetchers"]),
        int(keys["num.io.threads"]),
        int(keys["num.network.threads"]),
    )


def _elr(keys: Mapping[str, Any], release: str, controller: str) -> bool:
    """Whether KIP-966 is on: a feature of KRaft from 4.0 on, unused everywhere else."""
    return (
        int(keys["eligible.leader.replicas.version"]) == 1
        and controller == "kraft"
        and release == "3.7+"
    )


def _write_keys(w: Array, k: Mapping[str, Any], release: str, controller: str) -> None:
    """Kafka's keys, times in microseconds, in the header's own places."""
    w[at.C_LAG] = us(k["replica.lag.time.max.ms"])
    w[at.C_LAG_MESSAGES] = k["replica.lag.max.messages"]
    w[at.C_FETCH_WAIT] = us(k["replica.fetch.wait.max.ms"])
    w[at.C_FETCH_MIN_BYTES] = k["replica.fetch.min.bytes"]
    w[at.C_FETCH_MAX_BYTES] = k["replica.fetch.max.bytes"]
    w[at.C_RESPONSE_MAX_BYTES] = k["replica.fetch.response.max.bytes"]
    if release == "0.8.2":
        w[at.C_RESPONSE_MAX_BYTES] = at.INF  # the key came with KIP-74, in 0.10.1
    w[at.C_BACKOFF] = us(k["replica.fetch.backoff.ms"])
    w[at.C_SOCKET_TIMEOUT] = us(k["replica.socket.timeout.ms"])
    w[at.C_MIN_ISR] = k["min.insync.replicas"]
    w[at.C_UNCLEAN] = int(k["unclean.leader.election.enable"])
    w[at.C_QUEUED_MAX] = k["queued.max.requests"]
    w[at.C_REQUEST_TIMEOUT] = us(k["request.timeout.ms"])
    if controller == "kraft":
        w[at.C_SESSION] = us(k["broker.session.timeout.ms"])
        w[at.C_HEARTBEAT] = us(k["broker.heartbeat.interval.ms"])
    else:
        w[at.C_SESSION] = us(k["zookeeper.session.timeout.ms"])
        w[at.C_HEARTBEAT] = max(1, us(k["zookeeper.session.timeout.ms"]) // 3)
    w[at.C_S2_LIMIT] = us(k["follower.fetch.process.time.max.ms"])
    rebalance = at.INF
    if k["auto.leader.rebalance.enable"]:
        rebalance = int(k["leader.imbalance.check.interval.seconds"]) * MILLION
    w[at.C_REBALANCE] = min(rebalance, at.INF)


def _write_service(w: Array, service: Service) -> None:
    """Service times in microseconds, in the header's own places."""
    w[at.C_READ] = round(service.handler_read_us)
    w[at.C_PRODUCE] = round(service.produce_us)
    w[at.C_SEND] = round(service.send_us)
    w[at.C_APPEND] = round(service.append_us)
    w[at.C_HALF_RTT] = us(service.network_rtt_ms) // 2
    w[at.C_ALTER] = us(service.alter_partition_ms)
    w[at.C_ZK_WRITE] = us(service.isr_zk_write_ms)
    w[at.C_MD_LOW] = us(service.metadata_ms[0])
    w[at.C_MD_HIGH] = us(service.metadata_ms[1])
    w[at.C_CLIENT] = round(service.client_request_us)


def _first_flags(rules: Array, min_isr: int) -> Array:
    """Conditions of a partition at 0, by its replicas: min.insync.replicas may be more."""
    under = at.FLAG_UNDER_MIN | at.FLAG_UNAVAILABLE
    flags = [under if rf < effective_min_isr(rules, min_isr, rf) else 0 for rf in range(MAX_RF + 1)]
    return np.array(flags, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Listed:
    """What stands in a scenario, in the kernel's order; all scenarios of a panel share it.

    Attributes:
        brokers: ids; ``index``: of an id among them; ``broker_names``: what their times are
            hashed by.
        partitions: all; ``p_index``: of a (topic, number) among them.
        streams: (partition, stream), grouped by partition; ``stream_names`` likewise.
        first_stream: of a partition that has any.
        n_rows: replicas of all partitions; ``max_rf``: most of one.
    """

    brokers: tuple[int, ...]
    index: dict[int, int]
    broker_names: tuple[str, ...]
    partitions: tuple[PartitionNames, ...]
    p_index: dict[tuple[str, int], int]
    streams: list[tuple[int, ProduceStream]]
    stream_names: tuple[str, ...]
    first_stream: dict[int, int]
    n_rows: int
    max_rf: int

    def burst_batch(self, partition: int) -> tuple[int, int]:
        """(records a batch, bytes a record) of a partition's first stream; 1 and 100 if idle."""
        first = self.first_stream.get(partition)
        if first is None:
            return 1, DEFAULT_RECORD_BYTES
        stream = self.streams[first][1]
        return stream.records_per_batch, stream.record_bytes


_Topics = tuple[
    tuple[str, tuple[tuple[int, tuple[int, ...]], ...], tuple["ProduceStream", ...]], ...
]
"""Of each topic: its name, its assignment, its streams."""


@lru_cache(maxsize=8)
def _list_of(brokers: tuple[int, ...], topics: _Topics) -> _Listed:
    """List what stands in such a cluster."""
    partitions: list[PartitionNames] = []
    streams: list[tuple[int, ProduceStream]] = []
    stream_names: list[str] = []
    for topic, assignment, produce in sorted(topics, key=lambda t: t[0]):
        for number, replicas in sorted(assignment):
            for j, stream in enumerate(produce):
                wanted = stream.partitions is None or number in stream.partitions
                if wanted and stream.records_per_s > 0:
                    streams.append((len(partitions), stream))
                    stream_names.append(f"{topic}|{number}|{j}")
            partitions.append(PartitionNames(topic, number, replicas))
    return _Listed(
        brokers,
        {b: i for i, b in enumerate(brokers)},
        tuple(str(broker) for broker in brokers),
        tuple(partitions),
        {(p.topic, p.number): i for i, p in enumerate(partitions)},
        streams,
        tuple(stream_names),
        {i: n for n, (i, _) in reversed(list(enumerate(streams)))},
        sum(len(p.replicas) for p in partitions),
        max(len(p.replicas) for p in partitions),
    )


_last_listed: tuple[Any, _Listed] | None = None


def _listed(scenario: Scenario) -> _Listed:
    """List what stands in a scenario; its configurations have the very topics (`model.apply`)."""
    global _last_listed  # noqa: PLW0603 - one scenario a process at a time
    topics, brokers = scenario.topics, scenario.cluster.brokers
    if _last_listed is None or _last_listed[0] is not topics or _last_listed[1].brokers != brokers:
        given = tuple((t.name, tuple(t.assignment.items()), t.produce) for t in topics)
        _last_listed = topics, _list_of(brokers, given)
    return _last_listed[1]


@lru_cache(maxsize=8)
def _threads_of(
    listed: _Listed, fetchers: int
) -> tuple[list[int], list[tuple[int, int, int]], list[list[tuple[int, int, int]]]]:
    """Fetcher threads that can ever have a partition.

    Args:
        listed: the cluster.
        fetchers: num.replica.fetchers.

    Returns:
        First row of each partition; threads (follower's index, leader's, fetcher id); the
        candidates of each (partition, follower's position, leader's). Nobody changes them.
    """
    index = listed.index
    row0: list[int] = []
    candidates: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    row = 0
    for i, p in enumerate(listed.partitions):
        row0.append(row)
        row += len(p.replicas)
        k = fetcher_of(p.topic, p.number, fetchers)
        for fpos, fid in enumerate(p.replicas):
            for lpos, lid in enumerate(p.replicas):
                if fpos != lpos:
                    key = (index[fid], index[lid], k)
                    candidates.setdefault(key, []).append((i, fpos, lpos))
    for ordered in candidates.values():
        # Those fetched from the beginning come first, as a fetcher appends what it is given
        # later; and a loop over a request's entries ends with the last in use.
        ordered.sort(key=lambda candidate: candidate[2] != 0)
    return row0, list(candidates), list(candidates.values())


def _pointers(w: Array, place: int, count: int, width: int) -> Array:
    """Row pointers of a table of which the header's cell ``place`` names the beginning."""
    return int(w[place]) + width * np.arange(count, dtype=np.int64)


# ---------------------------------------------------------------- what a shape has in common


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the places of the tables, and most of their cells, depend on.

    Attributes:
        listed: what stands in the scenario.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads.
        faults: how many.
        log_dirs: of a broker.
    """

    listed: _Listed
    fetchers: int
    io: int
    net: int
    faults: int
    log_dirs: int

    def slots(self) -> tuple[tuple[int, int], ...]:
        """How many slots there are of each kind, by their numbers."""
        nb, ns = len(self.listed.brokers), len(self.listed.streams)
        nt = len(_threads_of(self.listed, self.fetchers)[1])
        return (
            (at.SK_FAULT, self.faults),
            (at.SK_TICK, nb),
            (at.SK_CONTROLLER, 1),
            (at.SK_SESSION, nb),
            (at.SK_DIR, nb),
            (at.SK_ALTER, nb),
            (at.SK_METADATA, nb),
            (at.SK_HANDLER, nb * self.io),
            (at.SK_SENDER, nb * self.net),
            (at.SK_THREAD, nt),
            (at.SK_REQUEST, nt * at.REQS_PER_THREAD + ns * at.REQS_PER_STREAM),
            (at.SK_STREAM, ns),
            (at.SK_CLIENT, nb),
            (at.SK_SURGE, nb),
            (at.SK_SAMPLE, 1),
        )


class _Template:
    """The cells that all scenarios of a shape have in common. Nobody changes them.

    Every method is one table. What is a scenario's own is 0 here.

    Attributes:
        w: the array up to H_LEDGER.
        due: when each slot fires first, in microseconds, by its number.
        slot0: number of the first slot of each kind.
        n_requests: requests of all threads and streams.
        kinds: how each cell may behave in a stretch that repeats.
    """

    def __init__(self, shape: _Shape) -> None:
        self.shape = shape
        self.listed = shape.listed
        self.row0, self.threads, self.candidates = _threads_of(shape.listed, shape.fetchers)
        self._list_slots()
        self._places()
        self._brokers()
        self._partitions()
        self._threads_and_requests()
        self._streams()
        self._faults()
        self.kinds = kinds_of(self.w)

    def _list_slots(self) -> None:
        counts = self.shape.slots()
        self.slot0: dict[int, int] = {}
        self.n_slots = 0
        for kind, count in counts:
            self.slot0[kind] = self.n_slots
            self.n_slots += count
        self.n_requests = dict(counts)[at.SK_REQUEST]
        self.tree = tree_of(self._weights(counts))
        self.due = np.full(self.n_slots, at.INF, dtype=np.int64)

    def _weights(self, counts: tuple[tuple[int, int], ...]) -> tuple[float, ...]:
        """How often each slot is planned, by its number."""
        weights: list[float] = []
        for kind, count in counts:
            if kind == at.SK_REQUEST:
                weights += len(self.threads) * plans_of_fetches()
                weights += len(self.listed.streams) * plans_of_produces()
            else:
                groups = {at.SK_HANDLER: self.shape.io, at.SK_SENDER: self.shape.net}
                group = groups.get(kind, 1)
                weights += count // group * plans(kind, group)
        return tuple(weights)

    def _places(self) -> None:
        """The array, with its header."""
        shape, listed = self.shape, self.listed
        nb, npart, nt, ns = (
            len(listed.brokers),
            len(listed.partitions),
            len(self.threads),
            len(listed.streams),
        )
        n_cands = sum(len(c) for c in self.candidates)
        tables = _Tables(at.TREE + self.tree.size)
        place = {
            at.H_BRK: tables.place(nb * at.B_SIZE),
            at.H_PART: tables.place(npart * at.P_SIZE),
            at.H_ROW: tables.place(listed.n_rows * at.R_SIZE),
            at.H_REC: tables.place(listed.n_rows * listed.max_rf * N_FIELDS),
            at.H_THR: tables.place(nt * at.T_SIZE),
            at.H_CAND: tables.place(n_cands * at.K_SIZE),
            at.H_REQ: tables.place(self.n_requests * at.Q_SIZE),
            at.H_ENT: tables.place(n_cands * at.REQS_PER_THREAD * at.E_SIZE),
            at.H_STR: tables.place(ns * at.S_SIZE),
            at.H_HND: tables.place(nb * shape.io * at.D_SIZE),
            at.H_SND: tables.place(nb * shape.net * at.N_SIZE),
            at.H_FLT: tables.place(shape.faults * at.X_SIZE),
            at.H_FPART: tables.place(shape.faults * npart),
            at.H_LINK: tables.place((nb + 1) * (nb + 1) * 2),
            at.H_HIST: tables.place(at.HIST_SIZE),
            # Everything up to here is what `quiet` compares.
            at.H_BYKIND: tables.place(self.n_slots),
            at.H_SLOT_OF: tables.place(self.n_slots),
            at.H_TOWARDS: tables.place(listed.n_rows * listed.max_rf * 2),
            at.H_EPOCHS: tables.place(listed.n_rows * at.EPOCHS_MAX * 2),
            at.H_WALK: tables.place(listed.n_rows),
            at.H_LOCKED: tables.place(at.LOCKED_MAX * at.U_SIZE),
            at.H_BFLIST: tables.place(shape.faults),
            at.H_INNER: tables.place(self.n_slots - 1),
            # Up to here is what a world begins with; the rest is written before it is read.
            at.H_LEDGER: tables.place(0),
        }
        sizes = {
            at.H_BROKERS: nb,
            at.H_PARTITIONS: npart,
            at.H_ROWS: listed.n_rows,
            at.H_THREADS: nt,
            at.H_STREAMS: ns,
            at.H_FAULTS: shape.faults,
            at.H_SLOTS: self.n_slots,
            at.H_TREE_SIZE: self.tree.size,
            at.H_MAX_RF: listed.max_rf,
            at.H_IO: shape.io,
            at.H_NET: shape.net,
            at.H_REQUESTS: self.n_requests,
            at.G_LEAST_ISR: min(len(p.replicas) for p in listed.partitions),
        }
        self.w = w = np.zeros(place[at.H_LEDGER], dtype=np.int64)
        for cell, value in {**place, **sizes}.items():
            w[cell] = value
        w[place[at.H_INNER] : place[at.H_INNER] + self.n_slots - 1] = self.tree.inner

    def _table(self, place: int, count: int, width: int) -> Array:
        """A table of the array, as rows."""
        return rows_of(self.w, place, count, width)

    def _slots(self, kind: int, who: Array) -> Array:
        """Slots of all entities of a kind; they stand for the row pointers ``who``."""
        numbers = self.slot0[kind] + np.arange(len(who), dtype=np.int64)
        slots = self.tree.leaves[numbers] << at.SLOT_BITS | numbers
        self._table(at.H_BYKIND, self.n_slots, 1)[numbers, 0] = who << at.SK_BITS | kind
        self._table(at.H_SLOT_OF, self.n_slots, 1)[numbers, 0] = slots
        return slots

    def _brokers(self) -> None:
        w, io, net = self.w, self.shape.io, self.shape.net
        none = np.zeros(1, dtype=np.int64)
        w[at.H_SLOT_REBALANCE] = self._slots(at.SK_CONTROLLER, none)[0]
        w[at.H_SLOT_SAMPLE] = self._slots(at.SK_SAMPLE, none)[0]
        nb = len(self.listed.brokers)
        rows_on = dict.fromkeys(self.listed.brokers, 0)
        for partition in self.listed.partitions:
            for broker in partition.replicas:
                rows_on[broker] += 1
        rows = self._table(at.H_BRK, nb, at.B_SIZE)
        pointers = _pointers(w, at.H_BRK, nb, at.B_SIZE)
        numbers = np.arange(nb)
        hosted = np.array(list(rows_on.values()))
        md = 4 * hosted + 64
        columns: dict[int, Any] = {
            at.B_INDEX: numbers,
            at.B_HANDLERS: w[at.H_HND] + numbers * io * at.D_SIZE,
            at.B_SENDERS: w[at.H_SND] + numbers * net * at.N_SIZE,
            at.B_UP: 1,
            at.B_CPU: MILLION,
            at.B_REGISTERED: 1,
            at.B_FENCE_AT: at.INF,
            at.B_UNFENCE_AT: at.INF,
            at.B_CUT_SINCE: at.INF,
            at.B_EPOCH: 1,
            at.B_IO_IDLE: io,
            at.B_MDBASE: np.cumsum(md) - md,
            at.B_MDCAP: md,
            at.B_TICK_POS: -1,
            at.B_WALK: np.cumsum(hosted) - hosted,
            at.B_WALK_N: hosted,
            at.B_ALTER_DUE: at.INF,
            at.B_DIRS_OK: self.shape.log_dirs,
            at.B_SURGE_NEXT: at.INF,
            at.B_SLOT_TICK: self._slots(at.SK_TICK, pointers),
            at.B_SLOT_SESSION: self._slots(at.SK_SESSION, pointers),
            at.B_SLOT_DIR: self._slots(at.SK_DIR, pointers),
            at.B_SLOT_ALTER: self._slots(at.SK_ALTER, pointers),
            at.B_SLOT_MD: self._slots(at.SK_METADATA, pointers),
            at.B_SLOT_CLIENT: self._slots(at.SK_CLIENT, pointers),
            at.B_SLOT_SURGE: self._slots(at.SK_SURGE, pointers),
        }
        _fill(rows, columns)
        handlers = self._table(at.H_HND, nb * io, at.D_SIZE)
        handlers[:, at.D_BROKER] = np.repeat(pointers, io)
        handlers[:, [at.D_REQ, at.D_CREQ, at.D_ROW]] = -1
        which = _pointers(w, at.H_HND, nb * io, at.D_SIZE)
        handlers[:, at.D_SLOT] = self._slots(at.SK_HANDLER, which)
        senders = self._table(at.H_SND, nb * net, at.N_SIZE)
        senders[:, at.N_BROKER] = np.repeat(pointers, net)
        senders[:, at.N_REQ] = at.SEND_NONE
        which = _pointers(w, at.H_SND, nb * net, at.N_SIZE)
        senders[:, at.N_SLOT] = self._slots(at.SK_SENDER, which)

    def _partitions(self) -> None:
        w, listed = self.w, self.listed
        n = len(listed.partitions)
        rfs = np.array([len(name.replicas) for name in listed.partitions])
        bursts = np.array([listed.burst_batch(i) for i in range(n)])
        orders = np.array([sum(pos << (4 * pos) for pos in range(rf)) for rf in range(MAX_RF + 1)])
        first = np.array([listed.first_stream.get(i, 0) for i in range(n)])
        rows = self._table(at.H_PART, n, at.P_SIZE)
        columns: dict[int, Any] = {
            at.P_ISR: (1 << rfs) - 1,
            at.P_RF: rfs,
            at.P_ELIGIBLE: (1 << rfs) - 1,
            at.P_ROW0: w[at.H_ROW] + np.array(self.row0) * at.R_SIZE,
            at.P_STAND_SINCE: -1,
            at.P_BYTES_PER_RECORD: bursts[:, 1],
            at.P_BURST_RECORDS: bursts[:, 0],
            at.P_ORDER: orders[rfs],
            at.P_S2_LAST: at.NEVER,
            at.P_STREAM0: w[at.H_STR] + at.S_SIZE * first,
            at.P_STREAMS: np.bincount([i for i, _ in listed.streams], minlength=n),
        }
        _fill(rows, columns)
        self._replicas(rfs)

    def _replicas(self, rfs: Array) -> None:
        """All replicas: their leader is the first of the assignment, everybody has everything.

        Args:
            rfs: replicas of each partition.
        """
        w, listed, n = self.w, self.listed, self.listed.n_rows
        rows = self._table(at.H_ROW, n, at.R_SIZE)
        pointers = _pointers(w, at.H_ROW, n, at.R_SIZE)
        numbers = np.arange(n)
        partition = np.repeat(np.arange(len(rfs)), rfs)
        pos = numbers - np.array(self.row0)[partition]
        replicas = [broker for name in listed.partitions for broker in name.replicas]
        broker = np.array([listed.index[replica] for replica in replicas])
        hosted: dict[int, list[int]] = {b: [] for b in listed.brokers}
        nth = []
        for row, replica in enumerate(replicas):
            nth.append(len(hosted[replica]))
            hosted[replica].append(row)
        columns: dict[int, Any] = {
            at.R_BROKER: w[at.H_BRK] + broker * at.B_SIZE,
            at.R_PART: w[at.H_PART] + partition * at.P_SIZE,
            at.R_POS: pos,
            at.R_REC0: numbers * listed.max_rf,
            at.R_EPOCHS: w[at.H_EPOCHS] + numbers * at.EPOCHS_MAX * 2,
            at.R_TOWARDS: w[at.H_TOWARDS] + numbers * listed.max_rf * 2,
            at.R_DIR: np.array(nth) % self.shape.log_dirs,
            at.R_IS_LEADER: pos == 0,
            at.R_ISR: ((1 << rfs) - 1)[partition],
            at.R_ONLINE: 1,
            at.R_NEP: 1,
            at.R_INJECT: -1,
            at.R_REMOVED_AT: at.NEVER,
            at.R_ML_ARMED: at.INF,
            at.R_TOUCH_FROM: at.INF,
            at.R_ML_SINCE: -1,
            at.R_FSTATE: np.where(pos > 0, at.F_FETCHING, at.F_NONE),
        }
        _fill(rows, columns)
        for i, replica in enumerate(listed.brokers):
            here = np.array(hosted[replica], dtype=np.int64)
            names = [listed.partitions[j] for j in partition[here].tolist()]
            order = walk_order(tuple((name.topic, name.number) for name in names))
            start = int(w[at.H_WALK] + w[int(w[at.H_BRK]) + i * at.B_SIZE + at.B_WALK])
            w[start : start + len(order)] = pointers[here[order]]

    def _threads_and_requests(self) -> None:
        """Fetcher threads, their candidates, and all requests with their entries."""
        w, listed = self.w, self.listed
        nb, nt = len(listed.brokers), len(self.threads)
        ends = np.array(self.threads, dtype=np.int64).reshape(nt, 3)
        counts = np.array([len(those) for those in self.candidates], dtype=np.int64)
        first = np.cumsum(counts) - counts
        owner = np.repeat(np.arange(nt), counts)
        found = [candidate for those in self.candidates for candidate in those]
        partition, fpos, lpos = np.array(found, dtype=np.int64).reshape(-1, 3).T
        follower, leader = (np.array(self.row0)[partition] + pos for pos in (fpos, lpos))
        candidates = self._table(at.H_CAND, len(found), at.K_SIZE)
        candidates[:, at.K_FROW] = w[at.H_ROW] + follower * at.R_SIZE
        candidates[:, at.K_LROW] = w[at.H_ROW] + leader * at.R_SIZE
        candidates[:, at.K_REC] = leader * listed.max_rf + fpos
        threads = _pointers(w, at.H_THR, nt, at.T_SIZE)
        towards = self._table(at.H_TOWARDS, listed.n_rows * listed.max_rf, 2)
        towards[leader * listed.max_rf + fpos, 0] = threads[owner]
        towards[leader * listed.max_rf + fpos, 1] = np.arange(len(found)) - first[owner]
        led = np.bincount(owner[lpos == 0], minlength=nt)
        slots = self._slots(at.SK_THREAD, threads)
        self.due[slots[led > 0] & at.SLOT_MASK] = 0
        rows = self._table(at.H_THR, nt, at.T_SIZE)
        columns: dict[int, Any] = {
            at.T_FOLLOWER: w[at.H_BRK] + ends[:, 0] * at.B_SIZE,
            at.T_LEADER: w[at.H_BRK] + ends[:, 1] * at.B_SIZE,
            at.T_REQ0: w[at.H_REQ] + np.arange(nt) * at.REQS_PER_THREAD * at.Q_SIZE,
            at.T_PLAIN: -1,
            at.T_WAY: w[at.H_LINK] + 2 * (ends[:, 0] * (nb + 1) + ends[:, 1]),
            at.T_WAY_BACK: w[at.H_LINK] + 2 * (ends[:, 1] * (nb + 1) + ends[:, 0]),
            at.T_REQ: -1,
            at.T_CAND: w[at.H_CAND] + first * at.K_SIZE,
            at.T_CANDS: counts,
            at.T_USED: led,
            at.T_SLOT: slots,
            at.T_STATE: np.where(led > 0, at.TS_IDLE, at.TS_DOWN),
        }
        _fill(rows, columns)
        requests = self._table(at.H_REQ, self.n_requests, at.Q_SIZE)
        which = _pointers(w, at.H_REQ, self.n_requests, at.Q_SIZE)
        requests[:, at.Q_SLOT] = self._slots(at.SK_REQUEST, which)
        requests[:, at.Q_READ_ROW] = -1
        fetches = requests[: nt * at.REQS_PER_THREAD]
        entries = np.repeat(counts, at.REQS_PER_THREAD)
        fetches[:, at.Q_KIND] = at.REQ_FETCH
        fetches[:, at.Q_OWNER] = np.repeat(threads, at.REQS_PER_THREAD)
        fetches[:, at.Q_ENT] = w[at.H_ENT] + (np.cumsum(entries) - entries) * at.E_SIZE
        fetches[:, at.Q_PLAIN] = -1
        rows = self._table(at.H_ENT, int(entries.sum()), at.E_SIZE)
        rows[:, at.E_OFFSET] = -1
        # a thread's requests have an entry for each of its candidates
        begins = np.repeat(first, at.REQS_PER_THREAD) - (np.cumsum(entries) - entries)
        rows[:, at.E_POS] = fpos[np.arange(len(rows)) + np.repeat(begins, entries)]

    def _streams(self) -> None:
        """Produce streams; until their phases are known a batch comes right at their start."""
        w, listed = self.w, self.listed
        ns = len(listed.streams)
        first = len(self.threads) * at.REQS_PER_THREAD
        streams = [stream for _, stream in listed.streams]
        begins = np.array([us(stream.start_ms) for stream in streams], dtype=np.int64)
        lengths = [
            at.INF if stream.duration_ms is None else us(stream.duration_ms) for stream in streams
        ]
        pointers = _pointers(w, at.H_STR, ns, at.S_SIZE)
        columns: dict[int, Any] = {
            at.S_PART: [w[at.H_PART] + i * at.P_SIZE for i, _ in listed.streams],
            at.S_ACKS_ALL: [stream.acks == "all" for stream in streams],
            at.S_ACKS: 1,
            at.S_PERIOD: [_period_ns(stream) for stream in streams],
            at.S_BATCH: [stream.records_per_batch for stream in streams],
            at.S_RECORD_BYTES: [stream.record_bytes for stream in streams],
            at.S_BASE: begins,
            at.S_REQ: -1,
            at.S_REQ0: w[at.H_REQ] + (first + np.arange(ns) * at.REQS_PER_STREAM) * at.Q_SIZE,
            at.S_STOP: np.minimum(begins + np.array(lengths, dtype=np.int64), at.INF),
            at.S_RATE: MILLION,
            at.S_SLOT: self._slots(at.SK_STREAM, pointers),
        }
        _fill(self._table(at.H_STR, ns, at.S_SIZE), columns)
        produces = self._table(at.H_REQ, self.n_requests, at.Q_SIZE)[first:]
        produces[:, at.Q_KIND] = at.REQ_PRODUCE
        produces[:, at.Q_OWNER] = np.repeat(pointers, at.REQS_PER_STREAM)

    def _faults(self) -> None:
        rows = self._table(at.H_FLT, self.shape.faults, at.X_SIZE)
        rows[:, at.X_BROKER] = -1
        rows[:, at.X_SLOT] = self._slots(at.SK_FAULT, np.arange(self.shape.faults))


@lru_cache(maxsize=32)
def _template_of(shape: _Shape) -> _Template:
    """The scenarios of a panel have a few shapes: their faults are one, two, some six."""
    return _Template(shape)


def _period_ns(stream: ProduceStream) -> int:
    """Time between two batches of a stream, in nanoseconds."""
    return max(1000, round(1e9 * stream.records_per_batch / stream.records_per_s))


@lru_cache(maxsize=8)
def _batches_of(listed: _Listed, horizon_ms: float) -> npt.NDArray[np.float64]:
    """Batches that each partition's streams can send, with some to spare. Nobody changes them."""
    batches = [64.0] * len(listed.partitions)
    for i, stream in listed.streams:
        batches[i] += 1.1 * (horizon_ms / 1000) * stream.records_per_s / stream.records_per_batch
    return np.array(batches)


# ---------------------------------------------------------------- what a scenario has of its own


class _Structure:
    """What the worlds of a scenario have in common: all but keys, rules, and what they decide.

    Attributes:
        w: the array up to H_LEDGER, copied by each world.
        due: when each slot fires first, in microseconds, by its number; likewise.
        size: cells of a whole array.
        settings: those of the first of the worlds.
        template: what it has in common with other scenarios.
    """

    def __init__(
        self, scenario: Scenario, shape: _Shape, settings: Settings, sample_us: int, events: int
    ) -> None:
        self.s = scenario
        self.listed = shape.listed
        self.settings = settings
        self.template = _template_of(shape)
        self.w = self.template.w.copy()
        self.due = self.template.due.copy()
        self._places(sample_us, events)
        self._clients()
        self._logs()
        self._streams()
        self._faults()

    def _places(self, sample_us: int, events: int) -> None:
        """Tables that are written before they are read, and the brokers' queues in them.

        Args:
            sample_us: period of the samples, 0 for none.
            events: how many are listed at most.
        """
        w, template = self.w, self.template
        nb, npart = len(self.listed.brokers), len(self.listed.partitions)
        ledgers = self._ledger_sizes()
        surge = max(
            [
                min(f.connections, SURGE_CONNECTIONS_MAX)
                for f in self.s.faults
                if f.kind == "client_surge"
            ],
            default=0,
        )
        # neighbours of the other client requests share a cell, the rest takes one each
        queue_cap = 2 * (template.n_requests + surge) + 16
        send_cap = template.n_requests + surge + 4096
        samples = us(self.s.horizon_ms) // sample_us + 2 if sample_us else 0
        brokers = self._table(at.H_BRK, nb, at.B_SIZE)
        tables = _Tables(int(w[at.H_LEDGER]))
        tables.place(int(ledgers.sum()) * at.L_SIZE)
        cells = {
            at.H_QUEUE: tables.place(nb * queue_cap * 2),
            at.H_SENDQ: tables.place(nb * send_cap),
            at.H_MD: tables.place(int(brokers[:, at.B_MDCAP].sum()) * at.M_SIZE),
            at.H_EVENTS: tables.place(events * at.V_SIZE),
            at.H_SAMPLE: tables.place(samples * (1 + 2 * npart + nb)),
            at.C_SCRATCH: tables.place(16),
            at.C_EVENTS_MAX: events,
            at.C_SAMPLE: sample_us,
            at.C_SAMPLES_MAX: samples,
        }
        self.size = tables.size
        for cell, value in cells.items():
            w[cell] = value
        if sample_us:
            self.due[template.slot0[at.SK_SAMPLE]] = 0
        numbers = np.arange(nb)
        columns: dict[int, Any] = {
            at.B_QBASE: numbers * queue_cap,
            at.B_QCAP: queue_cap,
            at.B_SBASE: numbers * send_cap,
            at.B_SCAP: send_cap,
        }
        _fill(brokers, columns)
        partitions = self._table(at.H_PART, npart, at.P_SIZE)
        _fill(partitions, {at.P_LED_BASE: np.cumsum(ledgers) - ledgers, at.P_LED_CAP: ledgers})

    def _ledger_sizes(self) -> Array:
        """Batches each partition can see at most, within reason."""
        listed = self.listed
        sizes = _batches_of(listed, self.s.horizon_ms).copy()
        bursts = np.zeros(len(sizes))
        for fault in self.s.faults:
            if fault.kind == "produce_burst":
                i = listed.p_index[fault.topic, fault.partition]
                bursts[i] += fault.records / listed.burst_batch(i)[0] + 1
            elif fault.kind == "produce_rate":
                for i, name in enumerate(listed.partitions):
                    if name.topic == fault.topic and fault.partition in ("all", name.number):
                        sizes[i] *= max(1.0, min(fault.factor, 64.0))
        within = np.minimum(sizes, LEDGER_MAX) + np.minimum(bursts, LEDGER_BURST_MAX)
        return within.astype(np.int64)

    def _table(self, place: int, count: int, width: int) -> Array:
        """A table of the array, as rows."""
        return rows_of(self.w, place, count, width)

    def _first_due(self, kind: int, times: Sequence[int] | Array) -> None:
        """When the slots of a kind fire first, if nothing else comes."""
        first = self.template.slot0[kind]
        self.due[first : first + len(times)] = times

    def _clients(self) -> None:
        """The brokers' client requests."""
        rate, brokers = self.s.service.client_requests_per_s, self.listed.brokers
        if rate <= 0:
            return
        period = max(1000, round(1e9 / rate))
        phases = hashed(self.s.seed, "client", self.listed.broker_names, period // 1000)
        rows = self._table(at.H_BRK, len(brokers), at.B_SIZE)
        _fill(rows, {at.B_CLIENT_PERIOD: period, at.B_CLIENT_NEXT: phases})
        self._first_due(at.SK_CLIENT, phases)

    def _logs(self) -> None:
        """Where logs end that are not empty: followers that bootstrap have a way to go."""
        w = self.w
        for fault in self.s.faults:
            if fault.kind == "bootstrap":
                number = self.listed.p_index[fault.topic, fault.partition]
                p = int(w[at.H_PART]) + number * at.P_SIZE
                w[p + at.P_LED_OFF0] += fault.records
                first = int(w[p + at.P_ROW0])
                rows = w[first : first + int(w[p + at.P_RF]) * at.R_SIZE].reshape(-1, at.R_SIZE)
                rows[:, [at.R_LEO, at.R_HW, at.R_EPOCH_START]] += fault.records

    def _streams(self) -> None:
        """First batches of the produce streams."""
        rows = self._table(at.H_STR, len(self.listed.streams), at.S_SIZE)
        below = rows[:, at.S_PERIOD] // 1000
        phases = hashed(self.s.seed, "produce", self.listed.stream_names, below)
        begins = rows[:, at.S_BASE] + phases
        following = np.where(begins < rows[:, at.S_STOP], begins, at.INF)
        _fill(rows, {at.S_BASE: begins, at.S_NEXT: following})
        self._first_due(at.SK_STREAM, following)

    # ---------------------------------------------------------------- faults

    def _faults(self) -> None:
        w, nb = self.w, len(self.listed.brokers)
        by_broker: list[list[int]] = [[] for _ in self.listed.brokers]
        table = self._table(at.H_FLT, len(self.s.faults), at.X_SIZE)
        due = []
        for n, fault in enumerate(self.s.faults):
            row = table[n].tolist()
            fields = vars(fault)  # asking a model for a field that it has not takes microseconds
            row[at.X_KIND] = _KINDS[fault.kind]
            row[at.X_START] = us(fault.start_ms)
            duration = fields.get("duration_ms")
            row[at.X_END] = row[at.X_START] + us(duration or 0)
            broker = fields.get("broker")
            if broker is not None:
                i = self.listed.index[broker]
                row[at.X_BROKER] = int(w[at.H_BRK]) + i * at.B_SIZE
                if fault.kind in ("read_stall", "slow_read", "slow_append"):
                    by_broker[i].append(n)
            self._touched_partitions(n, row, fields)
            self._fault_values(row, fault)
            empty = duration is not None and us(duration) == 0 and fault.kind != "partition_error"
            due.append(at.INF if empty else row[at.X_START])
            table[n] = row
        self._first_due(at.SK_FAULT, due)
        numbers = [n for those in by_broker for n in those]
        counts = np.array([len(those) for those in by_broker])
        first = int(w[at.H_BFLIST])
        w[first : first + len(numbers)] = numbers
        brokers = self._table(at.H_BRK, nb, at.B_SIZE)
        begins = first + np.cumsum(counts) - counts
        _fill(brokers, {at.B_FAULT0: begins, at.B_FAULTS: counts})

    def _touched_partitions(self, n: int, row: list[int], fields: Mapping[str, Any]) -> None:
        """Which partitions the fault concerns: all, those named, or its own one."""
        listed = self.listed
        touched = self._table(at.H_FPART, len(self.s.faults), len(listed.partitions))[n]
        named, topic = fields.get("partitions"), fields.get("topic")
        if named == "all" or fields["kind"] in _WHOLE_BROKER:
            row[at.X_ALL_PARTS] = 1
        elif named is not None:
            for text in named:
                name, _, number = text.rpartition("-")
                touched[listed.p_index[name, int(number)]] = 1
        elif topic is not None and fields["partition"] == "all":
            touched[[i for i, name in enumerate(listed.partitions) if name.topic == topic]] = 1
        elif topic is not None:
            row[at.X_PART] = listed.p_index[topic, fields["partition"]]
            touched[row[at.X_PART]] = 1

    def _fault_values(self, row: list[int], fault: Any) -> None:
        """What only faults of its kind have."""
        kind = fault.kind
        if kind in ("read_stall", "slow_read"):
            row[at.X_STAGE] = 1 if fault.stage == "send" else 0
        if kind == "read_stall":
            reads = 0
            for name in fault.reads:
                reads |= _READS[name]
            row[at.X_READS] = reads
        elif kind == "slow_read":
            row[at.X_READS] = 3
            row[at.X_VALUE] = us(fault.read_ms)
        elif kind == "slow_append":
            row[at.X_VALUE] = us(fault.append_ms)
        elif kind in ("cpu", "produce_rate"):
            row[at.X_VALUE] = round(fault.factor * MILLION)
        elif kind == "link":
            controller = len(self.listed.brokers)
            row[at.X_FROM], row[at.X_TO] = (
                controller if n == "controller" else self.listed.index[n]
                for n in (fault.from_, fault.to)
            )
            row[at.X_DROP] = 1 if fault.drop else 0
            row[at.X_VALUE] = us(fault.latency_ms or 0)
            row[at.X_BOTH] = 1 if fault.both_ways else 0
        elif kind == "crash":
            row[at.X_ARG] = -1 if fault.restart_after_ms is None else us(fault.restart_after_ms)
            back = at.INF if fault.restart_after_ms is None else us(fault.restart_after_ms)
            row[at.X_END] = min(at.INF, row[at.X_START] + back)
        elif kind == "controlled_restart":
            row[at.X_ARG] = us(fault.downtime_ms)
            row[at.X_ARG2] = us(fault.shutdown_ms)
            row[at.X_END] = row[at.X_START] + us(fault.downtime_ms)
        elif kind == "log_dir_failure":
            row[at.X_DIR] = fault.log_dir
            row[at.X_END] = row[at.X_START]
        elif kind == "controller_outage":
            row[at.X_ARG] = 1 if fault.sessions == "resumed" else 0
        elif kind in ("produce_burst", "bootstrap"):
            row[at.X_VALUE] = fault.records
        elif kind == "client_surge":
            rate = fault.requests_per_s
            row[at.X_ARG] = max(1000, round(1e9 / rate)) if rate > 0 else 0
            row[at.X_VALUE] = round(fault.request_us)
            row[at.X_ARG2] = min(fault.connections, SURGE_CONNECTIONS_MAX)
        elif kind == "partition_error":
            row[at.X_ERROR] = int(_ERRORS[fault.error])
            row[at.X_FETCHER] = 1 if fault.fetcher == "ReplicaAlterLogDirs" else 0
            row[at.X_ONCE] = 1 if fault.duration_ms is None else 0
        elif kind == "preferred_election":
            row[at.X_ARG] = -1
            if fault.leader is not None:
                replicas = self.listed.partitions[row[at.X_PART]].replicas
                row[at.X_ARG] = replicas.index(fault.leader)

    # ---------------------------------------------------------------- the period

    def common_period_us(self) -> int:
        """Time after which batches and client requests come as before: 0 if that is long."""
        streams = self._table(at.H_STR, len(self.listed.streams), at.S_SIZE)
        brokers = self._table(at.H_BRK, len(self.listed.brokers), at.B_SIZE)
        periods = {*streams[:, at.S_PERIOD].tolist(), *brokers[:, at.B_CLIENT_PERIOD].tolist()}
        common = math.lcm(1000, *(period for period in periods if period > 0)) // 1000
        if common > PERIOD_MAX_US:
            return 0
        return common * max(1, -(-PERIOD_MIN_US // common))


# ---------------------------------------------------------------- a world


class _Encoder:
    """Lays one world out."""

    def __init__(
        self, scenario: Scenario, *, events: bool, sample_ms: float, budget: int, jumps: bool
    ) -> None:
        self.s = scenario
        self.jumps = jumps
        self.events = events
        self.sample_us = us(sample_ms)
        cluster = scenario.cluster
        self.choices = _choices_of(
            cluster.release,
            cluster.controller,
            scenario.rules,
            tuple(scenario.config.items()),
            scenario.service,
        )
        self.listed = _listed(scenario)
        self._refuse_what_does_not_fit()
        self.settings = self._read_settings(budget)

    def _refuse_what_does_not_fit(self) -> None:
        where = f"scenario {self.s.scenario_id}"
        if self.listed.max_rf > MAX_RF:
            raise InputError(where, "topics", f"{self.listed.max_rf} replicas", f"at most {MAX_RF}")
        if self.s.cluster.log_dirs_per_broker > MAX_LOG_DIRS:
            raise InputError(
                where,
                "cluster.log_dirs_per_broker",
                self.s.cluster.log_dirs_per_broker,
                f"1..{MAX_LOG_DIRS}",
            )

    def _read_settings(self, budget: int) -> Settings:
        """What this world differs in from those of other configurations."""
        scenario, cluster, choices = self.s, self.s.cluster, self.choices
        same = (scenario.faults, scenario.topics)
        equal = (
            (cluster.brokers, cluster.log_dirs_per_broker, cluster.isr_expiration_phase_ms),
            scenario.service.client_requests_per_s,
            (scenario.seed, scenario.horizon_ms),
            (choices.fetchers, choices.io, choices.net),
            (self.sample_us, self.events, self.jumps),
        )
        keys = choices.keys.copy()
        keys[at.C_HORIZON] = us(scenario.horizon_ms)
        keys[at.C_WARMUP] = us(scenario.warmup_ms)
        keys[at.C_SEED] = scenario.seed
        keys[at.C_BUDGET] = budget
        return Settings(same, equal, keys, choices.rules.copy())

    def encode(self, used: Array | None) -> World:
        """Fill an array.

        Args:
            used: the array of a world that nobody needs any more.
        """
        structure, listed = self._structure(), self.listed
        w, due = _array(structure.size, used), structure.due.copy()
        w[: structure.w.size] = structure.w
        w[at.C_LAG : at.C_REBALANCE + 1] = self.settings.keys[at.C_LAG :]
        self._begins(w, due, structure.template.slot0)
        rec = rows_of(w, at.H_REC, listed.n_rows * listed.max_rf, N_FIELDS)
        rules = self.settings.rules
        begin_world(w, rec, rules, due)
        return World(w, rec, rules, listed.partitions, listed.brokers, structure.template.kinds)

    def _structure(self) -> _Structure:
        """The structure of a world like this one, or a new one."""
        for known in _latest:
            if known.settings.alike(self.settings):
                return known
        structure = self._new_structure()
        _latest[:] = [structure, *_latest][:_LATEST_MAX]
        return structure

    def _new_structure(self) -> _Structure:
        scenario, choices = self.s, self.choices
        shape = _Shape(
            self.listed,
            choices.fetchers,
            choices.io,
            choices.net,
            len(scenario.faults),
            scenario.cluster.log_dirs_per_broker,
        )
        total = sum(count for _, count in shape.slots())
        if total > at.SLOT_MASK:
            raise InputError(
                f"scenario {scenario.scenario_id}",
                "topics",
                f"{total} entities (threads, requests, handlers, streams)",
                f"at most {at.SLOT_MASK}",
            )
        events = EVENTS_LISTED if self.events else 0
        structure = _Structure(scenario, shape, self.settings, self.sample_us, events)
        if self.jumps and not self.sample_us:
            structure.w[at.C_PERIOD] = structure.common_period_us()
        return structure

    def _begins(self, w: Array, due: Array, slot0: Mapping[int, int]) -> None:
        """What depends on the configuration: first ticks and heartbeats, conditions at 0.

        Args:
            w: the array.
            due: when each slot fires first, by its number.
            slot0: number of the first slot of each kind.
        """
        seed, brokers = self.s.seed, self.listed.brokers
        heartbeat, tick = int(w[at.C_HEARTBEAT]), int(w[at.C_TICK])
        ticks = hashed(seed, "isr-expiration", self.listed.broker_names, tick)
        given = self.s.cluster.isr_expiration_phase_ms
        if given:
            firsts = [us(given[b]) if b in given else ticks[i] for i, b in enumerate(brokers)]
            ticks = np.array(firsts, dtype=np.int64)
        # the session began before the scenario
        heartbeats = hashed(seed, "heartbeat", self.listed.broker_names, heartbeat) - heartbeat
        rows = rows_of(w, at.H_BRK, len(brokers), at.B_SIZE)
        _fill(rows, {at.B_HB_PHASE: heartbeats, at.B_TICK_DUE: ticks})
        due[slot0[at.SK_TICK] : slot0[at.SK_TICK] + len(brokers)] = ticks
        due[slot0[at.SK_CONTROLLER]] = w[at.C_REBALANCE]
        partitions = rows_of(w, at.H_PART, len(self.listed.partitions), at.P_SIZE)
        partitions[:, at.P_FLAGS] = self.choices.flags[partitions[:, at.P_RF]]


_LATEST_MAX = 2
_latest: list[_Structure] = []
"""The last structures that were laid out: a panel's configurations come scenario by scenario, and
few of them (another num.replica.fetchers) need a structure of their own."""


def encode(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int = EVENT_BUDGET,
    jumps: bool = True,
) -> World:
    """Lay a checked scenario out for the kernel.

    Args:
        scenario: the scenario with its configuration laid over it.
        events: list the events.
        sample_ms: period of the samples of LEO, HW and queues for a trace; 0 for none.
        budget: events after which the kernel gives up.
        jumps: let the kernel jump over stretches that repeat (same result, much less work).

    Raises:
        InputError: more entities than the kernel has slots for.
    """
    _, lay_out = prepare(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    return lay_out(None)


def prepare(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int = EVENT_BUDGET,
    jumps: bool = True,
) -> tuple[Settings, Callable[[Array | None], World]]:
    """As `encode`, in two steps: the settings, and what lays the world out if that is needed.

    What lays it out is given the array of a world that nobody needs any more, if there is one.
    """
    encoder = _Encoder(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    return encoder.settings, encoder.encode
