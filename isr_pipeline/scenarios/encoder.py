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
    from collections.abc import Callable, Mapping

    from isr_pipeline.scenarios.model import Scenario

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


def hashed(seed: int, purpose: str, entity: str, below: int) -> int:
    """A number in [0, below) that depends on nothing but its arguments."""
    if below <= 1:
        return 0
    digest = hashlib.blake2b(f"{seed}|{purpose}|{entity}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


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
class _Listed:
    """What stands in a scenario, in the kernel's order; its configurations share it.

    Attributes:
        topics: what it was listed from.
        brokers: ids; ``index``: of an id among them.
        partitions: all; ``p_index``: of a (topic, number) among them.
        streams: (partition, number of the stream in its topic, stream), grouped by partition.
        first_stream: of a partition that has any.
        n_rows: replicas of all partitions; ``max_rf``: most of one.
    """

    topics: Any
    brokers: tuple[int, ...]
    index: dict[int, int]
    partitions: list[PartitionNames]
    p_index: dict[tuple[str, int], int]
    streams: list[tuple[int, int, Any]]
    first_stream: dict[int, int]
    n_rows: int
    max_rf: int


_last_listed: _Listed | None = None


def _listed(scenario: Scenario) -> _Listed:
    """List what stands in a scenario, once for all its configurations (`model.apply`)."""
    global _last_listed  # noqa: PLW0603 - one scenario a process at a time
    last, brokers = _last_listed, scenario.cluster.brokers
    if last is not None and last.topics is scenario.topics and last.brokers == brokers:
        return last
    partitions = [
        PartitionNames(topic.name, number, tuple(replicas))
        for topic in sorted(scenario.topics, key=lambda t: t.name)
        for number, replicas in sorted(topic.assignment.items())
    ]
    streams = _streams_of(scenario, partitions)
    _last_listed = _Listed(
        scenario.topics,
        brokers,
        {b: i for i, b in enumerate(brokers)},
        partitions,
        {(p.topic, p.number): i for i, p in enumerate(partitions)},
        streams,
        {i: n for n, (i, _, _) in reversed(list(enumerate(streams)))},
        sum(len(p.replicas) for p in partitions),
        max(len(p.replicas) for p in partitions),
    )
    return _last_listed


@lru_cache(maxsize=8)
def _threads_of(
    partitions: tuple[PartitionNames, ...], brokers: tuple[int, ...], fetchers: int
) -> tuple[list[int], list[tuple[int, int, int]], list[list[tuple[int, int, int]]]]:
    """Fetcher threads of a cluster, which the scenarios of a panel share.

    Args:
        partitions: in the world's order.
        brokers: in the world's order.
        fetchers: num.replica.fetchers.

    Returns:
        First row of each partition; threads (follower's index, leader's, fetcher id); the
        candidates of each (partition, follower's position, leader's). Nobody changes them.
    """
    index = {broker: i for i, broker in enumerate(brokers)}
    row0: list[int] = []
    candidates: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    row = 0
    for i, p in enumerate(partitions):
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


def _streams_of(scenario: Scenario, partitions: list[PartitionNames]) -> list[tuple[int, int, Any]]:
    """Every produce stream of every partition: see `_Listed`."""
    topics = {topic.name: topic for topic in scenario.topics}
    found = []
    for i, name in enumerate(partitions):
        for j, stream in enumerate(topics[name.topic].produce):
            wanted = stream.partitions is None or name.number in stream.partitions
            if wanted and stream.records_per_s > 0:
                found.append((i, j, stream))
    return found


class _Encoder:
    """Fills one array; every method is one table."""

    def __init__(
        self, scenario: Scenario, *, events: bool, sample_ms: float, budget: int, jumps: bool
    ) -> None:
        self.s = scenario
        self.jumps = jumps
        self.w: Array
        self.due: Array
        self.kinds: Array
        self.pristine: Array
        self.due_pristine: Array
        self.events = events
        self.sample_us = us(sample_ms)
        self.budget = budget
        rule_set = RULE_SETS[scenario.cluster.release]
        self.keys: dict[str, Any] = resolve(scenario.cluster.release, scenario.config)
        choice = scenario.rules
        self.rules = switches(
            rule_set,
            kip501=choice.kip501 or "none",
            kip501_enabled=bool(self.keys["follower.fetch.pending.reads.insync.enable"]),
            fetcher=choice.fetcher,
            election=choice.election,
            isr_lock=choice.isr_lock,
            shrink_bumps_leader_epoch=choice.shrink_bumps_leader_epoch,
            controller=scenario.cluster.controller,
            elr=self._elr(),
        )
        self.kraft = scenario.cluster.controller == "kraft"
        listed = _listed(scenario)
        self.brokers = listed.brokers
        self.index = listed.index
        self.partitions = listed.partitions
        self.p_index = listed.p_index
        self.streams = listed.streams
        self.first_stream = listed.first_stream
        self.n_rows = listed.n_rows
        self.max_rf = listed.max_rf
        self.fetchers = int(self.keys["num.replica.fetchers"])
        self.io = int(self.keys["num.io.threads"])
        self.net = int(self.keys["num.network.threads"])
        self._refuse_what_does_not_fit()
        self.settings = self._read_settings()

    def _refuse_what_does_not_fit(self) -> None:
        where = f"scenario {self.s.scenario_id}"
        if self.max_rf > MAX_RF:
            raise InputError(where, "topics", f"{self.max_rf} replicas", f"at most {MAX_RF}")
        if self.s.cluster.log_dirs_per_broker > MAX_LOG_DIRS:
            raise InputError(
                where,
                "cluster.log_dirs_per_broker",
                self.s.cluster.log_dirs_per_broker,
                f"1..{MAX_LOG_DIRS}",
            )

    def _elr(self) -> bool:
        """Whether KIP-966 is on: a feature of KRaft from 4.0 on, unused everywhere else."""
        return (
            int(self.keys["eligible.leader.replicas.version"]) == 1
            and self.s.cluster.controller == "kraft"
            and self.s.cluster.release == "3.7+"
        )

    # ---------------------------------------------------------------- threads

    def _list_threads(self) -> None:
        """Fetcher threads that can ever have a partition, with their candidates."""
        found = _threads_of(tuple(self.partitions), self.brokers, self.fetchers)
        self.row0, self.threads, self.candidates = found

    # ---------------------------------------------------------------- slots

    def _list_slots(self) -> None:
        nb, nt, ns = len(self.brokers), len(self.threads), len(self.streams)
        counts = (
            (at.SK_FAULT, len(self.s.faults)),
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
        self.slot0: dict[int, int] = {}
        total = 0
        for kind, count in counts:
            self.slot0[kind] = total
            total += count
        self.n_slots = total
        if total > at.SLOT_MASK:
            raise InputError(
                f"scenario {self.s.scenario_id}",
                "topics",
                f"{total} entities (threads, requests, handlers, streams)",
                f"at most {at.SLOT_MASK}",
            )
        self.tree = tree_of(self._weights(counts))

    def _weights(self, counts: tuple[tuple[int, int], ...]) -> tuple[float, ...]:
        """How often each slot is planned, by its number."""
        weights: list[float] = []
        for kind, count in counts:
            if kind == at.SK_REQUEST:
                weights += len(self.threads) * plans_of_fetches()
                weights += len(self.streams) * plans_of_produces()
            else:
                group = {at.SK_HANDLER: self.io, at.SK_SENDER: self.net}.get(kind, 1)
                weights += count // group * plans(kind, group)
        return tuple(weights)

    # ---------------------------------------------------------------- the array

    def encode(self, like: _Encoder | None, used: Array | None) -> World:
        """Fill the array.

        Args:
            like: the encoder of a world of the same structure, if any.
            used: the array of a world that nobody needs any more.
        """
        if like is None:
            self._structure(used)
        else:
            self._take_structure(like, used)
        w = self.w
        w[at.C_LAG : at.C_REBALANCE + 1] = self.settings.keys[at.C_LAG :]
        self._begins()
        begin_world(w, self.rec, self.rules, self.due)
        w[at.C_EVENTS_MAX] = EVENTS_LISTED if self.events else 0
        if self.jumps and not self.sample_us:
            w[at.C_PERIOD] = self._common_period_us()
        names = tuple(self.partitions), tuple(self.brokers)
        return World(w, self.rec, self.rules, *names, self.kinds)

    def _read_settings(self) -> Settings:
        """What this world differs in from those of other configurations."""
        cluster = self.s.cluster
        same = (self.s.faults, self.s.topics)
        equal = (
            (cluster.brokers, cluster.log_dirs_per_broker, cluster.isr_expiration_phase_ms),
            self.s.service.client_requests_per_s,
            (self.s.seed, self.s.horizon_ms),
            (self.fetchers, self.io, self.net),
            (self.sample_us, self.events, self.jumps),
        )
        return Settings(same, equal, self._keys_us(), self.rules)

    def _take_structure(self, like: _Encoder, used: Array | None) -> None:
        """Copy what a world of the same structure has in common with this one.

        Args:
            like: its encoder; its own array may be another world's by now.
            used: an array to lay it out in, if it is large enough.
        """
        self.w = _array(like.size, used)
        self.w[: like.pristine.size] = like.pristine
        for name in ("size", "row0", "slot0", "n_slots", "tree", "n_requests"):
            setattr(self, name, getattr(like, name))
        self.due = like.due_pristine.copy()
        self.kinds = like.kinds
        self._view_records()

    def _structure(self, used: Array | None) -> None:
        """Places of everything, and what does not depend on configuration and rules.

        Args:
            used: an array to lay the world out in, if it is large enough.
        """
        self._list_threads()
        self._list_slots()
        nb, npart, nt, ns = (
            len(self.brokers),
            len(self.partitions),
            len(self.threads),
            len(self.streams),
        )
        self.n_requests = nt * at.REQS_PER_THREAD + ns * at.REQS_PER_STREAM
        n_cands = sum(len(c) for c in self.candidates)
        ledgers = self._ledger_sizes()
        nf = len(self.s.faults)
        rows_on = [0] * nb
        for p in self.partitions:
            for b in p.replicas:
                rows_on[self.index[b]] += 1
        surge = max(
            [
                min(f.connections, SURGE_CONNECTIONS_MAX)
                for f in self.s.faults
                if f.kind == "client_surge"
            ],
            default=0,
        )
        # neighbours of the other client requests share a cell, the rest takes one each
        queue_cap = 2 * (self.n_requests + surge) + 16
        send_cap = self.n_requests + surge + 4096
        md_caps = [4 * n + 64 for n in rows_on]
        samples = 0
        if self.sample_us:
            samples = us(self.s.horizon_ms) // self.sample_us + 2
        tables = _Tables(at.TREE + self.tree.size)
        place = {
            at.H_BRK: tables.place(nb * at.B_SIZE),
            at.H_PART: tables.place(npart * at.P_SIZE),
            at.H_ROW: tables.place(self.n_rows * at.R_SIZE),
            at.H_REC: tables.place(self.n_rows * self.max_rf * N_FIELDS),
            at.H_THR: tables.place(nt * at.T_SIZE),
            at.H_CAND: tables.place(n_cands * at.K_SIZE),
            at.H_REQ: tables.place(self.n_requests * at.Q_SIZE),
            at.H_ENT: tables.place(n_cands * at.REQS_PER_THREAD * at.E_SIZE),
            at.H_STR: tables.place(ns * at.S_SIZE),
            at.H_HND: tables.place(nb * self.io * at.D_SIZE),
            at.H_SND: tables.place(nb * self.net * at.N_SIZE),
            at.H_FLT: tables.place(nf * at.X_SIZE),
            at.H_FPART: tables.place(nf * npart),
            at.H_LINK: tables.place((nb + 1) * (nb + 1) * 2),
            at.H_HIST: tables.place(at.HIST_SIZE),
            # Everything up to here is what `quiet` compares.
            at.H_BYKIND: tables.place(self.n_slots),
            at.H_SLOT_OF: tables.place(self.n_slots),
            at.H_TOWARDS: tables.place(self.n_rows * self.max_rf * 2),
            at.H_EPOCHS: tables.place(self.n_rows * at.EPOCHS_MAX * 2),
            at.H_WALK: tables.place(self.n_rows),
            at.H_LOCKED: tables.place(at.LOCKED_MAX * at.U_SIZE),
            at.H_BFLIST: tables.place(nf),
            at.H_INNER: tables.place(self.n_slots - 1),
            # Up to here is what a world begins with; the rest is written before it is read.
            at.H_LEDGER: tables.place(sum(ledgers) * at.L_SIZE),
            at.H_QUEUE: tables.place(nb * queue_cap * 2),
            at.H_SENDQ: tables.place(nb * send_cap),
            at.H_MD: tables.place(sum(md_caps) * at.M_SIZE),
            at.H_EVENTS: tables.place(EVENTS_LISTED * at.V_SIZE if self.events else 0),
            at.H_SAMPLE: tables.place(samples * (1 + 2 * npart + nb)),
        }
        scratch = tables.place(16)
        self.size = tables.size
        self.w = w = _array(self.size, used)
        w[: place[at.H_LEDGER]] = 0
        for cell, start in place.items():
            w[cell] = start
        self._view_records()
        w[at.H_BROKERS] = nb
        w[at.H_PARTITIONS] = npart
        w[at.H_ROWS] = self.n_rows
        w[at.H_THREADS] = nt
        w[at.H_STREAMS] = ns
        w[at.H_FAULTS] = nf
        w[at.H_SLOTS] = self.n_slots
        w[at.H_TREE_SIZE] = self.tree.size
        w[place[at.H_INNER] : place[at.H_INNER] + self.n_slots - 1] = self.tree.inner
        w[at.H_MAX_RF] = self.max_rf
        w[at.H_IO] = self.io
        w[at.H_NET] = self.net
        w[at.H_REQUESTS] = self.n_requests
        w[at.G_LEAST_ISR] = min(len(p.replicas) for p in self.partitions)
        w[at.C_SCRATCH] = scratch
        w[at.C_SAMPLE] = self.sample_us
        w[at.C_SAMPLES_MAX] = samples
        self.due = np.full(self.n_slots, at.INF, dtype=np.int64)
        self._brokers(queue_cap, send_cap, md_caps, rows_on)
        self._partitions(ledgers)
        self._threads_and_requests()
        self._streams_table()
        self._faults()
        self.pristine = w[: int(w[at.H_LEDGER])].copy()
        self.due_pristine = self.due.copy()
        self.kinds = kinds_of(w)

    def _view_records(self) -> None:
        """The leaders' records in the array, as rows."""
        self.rec = self._table(at.H_REC, self.n_rows * self.max_rf, N_FIELDS)

    def _keys_us(self) -> Array:
        """Configuration and service times, in microseconds, in the header's own places."""
        w = np.zeros(at.C_REBALANCE + 1, dtype=np.int64)
        k, service = self.keys, self.s.service
        w[at.C_LAG] = us(k["replica.lag.time.max.ms"])
        w[at.C_LAG_MESSAGES] = k["replica.lag.max.messages"]
        w[at.C_TICK] = max(
            1000, 1000 * int(tick_period(self.rules, int(k["replica.lag.time.max.ms"])))
        )
        w[at.C_FETCH_WAIT] = us(k["replica.fetch.wait.max.ms"])
        w[at.C_FETCH_MIN_BYTES] = k["replica.fetch.min.bytes"]
        w[at.C_FETCH_MAX_BYTES] = k["replica.fetch.max.bytes"]
        w[at.C_RESPONSE_MAX_BYTES] = k["replica.fetch.response.max.bytes"]
        if self.s.cluster.release == "0.8.2":
            w[at.C_RESPONSE_MAX_BYTES] = at.INF  # the key came with KIP-74, in 0.10.1
        w[at.C_BACKOFF] = us(k["replica.fetch.backoff.ms"])
        w[at.C_SOCKET_TIMEOUT] = us(k["replica.socket.timeout.ms"])
        w[at.C_MIN_ISR] = k["min.insync.replicas"]
        w[at.C_UNCLEAN] = int(k["unclean.leader.election.enable"])
        w[at.C_QUEUED_MAX] = k["queued.max.requests"]
        w[at.C_REQUEST_TIMEOUT] = us(k["request.timeout.ms"])
        if self.kraft:
            w[at.C_SESSION] = us(k["broker.session.timeout.ms"])
            w[at.C_HEARTBEAT] = us(k["broker.heartbeat.interval.ms"])
        else:
            w[at.C_SESSION] = us(k["zookeeper.session.timeout.ms"])
            w[at.C_HEARTBEAT] = max(1, us(k["zookeeper.session.timeout.ms"]) // 3)
        w[at.C_S2_LIMIT] = us(k["follower.fetch.process.time.max.ms"])
        w[at.C_S2_COOLDOWN] = us(self.s.rules.s2_cooldown_ms or 0)
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
        w[at.C_HORIZON] = us(self.s.horizon_ms)
        w[at.C_WARMUP] = us(self.s.warmup_ms)
        w[at.C_SEED] = self.s.seed
        w[at.C_BUDGET] = self.budget
        rebalance = at.INF
        if k["auto.leader.rebalance.enable"]:
            rebalance = int(k["leader.imbalance.check.interval.seconds"]) * MILLION
        w[at.C_REBALANCE] = min(rebalance, at.INF)
        return w

    def _table(self, place: int, count: int, width: int) -> Array:
        """A table of the array, as rows."""
        return rows_of(self.w, place, count, width)

    def _pointers(self, place: int, count: int, width: int) -> Array:
        """Row pointers of a table."""
        return int(self.w[place]) + width * np.arange(count, dtype=np.int64)

    def _slots(self, kind: int, who: Array) -> Array:
        """Slots of all entities of a kind; they stand for the row pointers ``who``."""
        numbers = self.slot0[kind] + np.arange(len(who), dtype=np.int64)
        slots = self.tree.leaves[numbers] << at.SLOT_BITS | numbers
        self._table(at.H_BYKIND, self.n_slots, 1)[numbers, 0] = who << at.SK_BITS | kind
        self._table(at.H_SLOT_OF, self.n_slots, 1)[numbers, 0] = slots
        return slots

    def _first_due(self, slots: Array, times: Any) -> None:
        """When slots fire first, if nothing else comes."""
        self.due[slots & at.SLOT_MASK] = times

    def _brokers(
        self, queue_cap: int, send_cap: int, md_caps: list[int], rows_on: list[int]
    ) -> None:
        w, seed = self.w, self.s.seed
        service = self.s.service
        none = np.zeros(1, dtype=np.int64)
        w[at.H_SLOT_REBALANCE] = self._slots(at.SK_CONTROLLER, none)[0]
        sample = self._slots(at.SK_SAMPLE, none)
        w[at.H_SLOT_SAMPLE] = sample[0]
        if self.sample_us:
            self._first_due(sample, 0)
        nb = len(self.brokers)
        rows = self._table(at.H_BRK, nb, at.B_SIZE)
        pointers = self._pointers(at.H_BRK, nb, at.B_SIZE)
        numbers = np.arange(nb)
        hosted, md = np.array(rows_on), np.array(md_caps)
        columns: dict[int, Any] = {
            at.B_INDEX: numbers,
            at.B_HANDLERS: w[at.H_HND] + numbers * self.io * at.D_SIZE,
            at.B_SENDERS: w[at.H_SND] + numbers * self.net * at.N_SIZE,
            at.B_UP: 1,
            at.B_CPU: MILLION,
            at.B_REGISTERED: 1,
            at.B_FENCE_AT: at.INF,
            at.B_UNFENCE_AT: at.INF,
            at.B_CUT_SINCE: at.INF,
            at.B_EPOCH: 1,
            at.B_IO_IDLE: self.io,
            at.B_QBASE: numbers * queue_cap,
            at.B_QCAP: queue_cap,
            at.B_SBASE: numbers * send_cap,
            at.B_SCAP: send_cap,
            at.B_MDBASE: np.cumsum(md) - md,
            at.B_MDCAP: md,
            at.B_TICK_POS: -1,
            at.B_WALK: np.cumsum(hosted) - hosted,
            at.B_WALK_N: hosted,
            at.B_ALTER_DUE: at.INF,
            at.B_DIRS_OK: self.s.cluster.log_dirs_per_broker,
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
        if service.client_requests_per_s > 0:
            period = max(1000, round(1e9 / service.client_requests_per_s))
            rows[:, at.B_CLIENT_PERIOD] = period
            rows[:, at.B_CLIENT_NEXT] = [
                hashed(seed, "client", str(broker), period // 1000) for broker in self.brokers
            ]
            self._first_due(rows[:, at.B_SLOT_CLIENT], rows[:, at.B_CLIENT_NEXT])
        handlers = self._table(at.H_HND, nb * self.io, at.D_SIZE)
        handlers[:, at.D_BROKER] = np.repeat(pointers, self.io)
        handlers[:, [at.D_REQ, at.D_CREQ, at.D_ROW]] = -1
        which = self._pointers(at.H_HND, nb * self.io, at.D_SIZE)
        handlers[:, at.D_SLOT] = self._slots(at.SK_HANDLER, which)
        senders = self._table(at.H_SND, nb * self.net, at.N_SIZE)
        senders[:, at.N_BROKER] = np.repeat(pointers, self.net)
        senders[:, at.N_REQ] = at.SEND_NONE
        which = self._pointers(at.H_SND, nb * self.net, at.N_SIZE)
        senders[:, at.N_SLOT] = self._slots(at.SK_SENDER, which)

    def _begins(self) -> None:
        """What depends on the configuration: first ticks and heartbeats, conditions at 0."""
        w, seed = self.w, self.s.seed
        phases = self.s.cluster.isr_expiration_phase_ms
        heartbeat = int(w[at.C_HEARTBEAT])
        self.due[self.slot0[at.SK_CONTROLLER]] = w[at.C_REBALANCE]
        for i, broker in enumerate(self.brokers):
            b = int(w[at.H_BRK]) + i * at.B_SIZE
            # the session began before the scenario
            w[b + at.B_HB_PHASE] = hashed(seed, "heartbeat", str(broker), heartbeat) - heartbeat
            phase = phases.get(broker)
            first = (
                us(phase)
                if phase is not None
                else hashed(seed, "isr-expiration", str(broker), int(w[at.C_TICK]))
            )
            w[b + at.B_TICK_DUE] = first
            self.due[self.slot0[at.SK_TICK] + i] = first
        flags = [self._first_flags(rf) for rf in range(self.max_rf + 1)]
        rows = self._table(at.H_PART, len(self.partitions), at.P_SIZE)
        rows[:, at.P_FLAGS] = np.array(flags)[rows[:, at.P_RF]]

    def _ledger_sizes(self) -> list[int]:
        """Batches each partition can see at most, within reason."""
        horizon_s = self.s.horizon_ms / 1000
        sizes = [64.0] * len(self.partitions)
        bursts = [0.0] * len(self.partitions)
        for i, _, stream in self.streams:
            sizes[i] += 1.1 * horizon_s * stream.records_per_s / stream.records_per_batch
        for fault in self.s.faults:
            if fault.kind == "produce_burst":
                i = self.p_index[fault.topic, fault.partition]
                bursts[i] += fault.records / self._burst_batch(i)[0] + 1
            elif fault.kind == "produce_rate":
                for i, name in enumerate(self.partitions):
                    if name.topic == fault.topic and fault.partition in ("all", name.number):
                        sizes[i] *= max(1.0, min(fault.factor, 64.0))
        return [
            int(min(size, LEDGER_MAX) + min(burst, LEDGER_BURST_MAX))
            for size, burst in zip(sizes, bursts, strict=True)
        ]

    def _burst_batch(self, partition: int) -> tuple[int, int]:
        """(records a batch, bytes a record) of a partition's first stream; 1 and 100 if idle."""
        first = self.first_stream.get(partition)
        if first is None:
            return 1, DEFAULT_RECORD_BYTES
        stream = self.streams[first][2]
        return stream.records_per_batch, stream.record_bytes

    def _partitions(self, ledgers: list[int]) -> None:
        w = self.w
        base = [0] * len(self.partitions)
        for fault in self.s.faults:
            if fault.kind == "bootstrap":
                base[self.p_index[fault.topic, fault.partition]] += fault.records
        n = len(self.partitions)
        rfs = np.array([len(name.replicas) for name in self.partitions])
        row0, leos, caps = np.array(self.row0), np.array(base), np.array(ledgers)
        bursts = np.array([self._burst_batch(i) for i in range(n)])
        orders = np.array([sum(pos << (4 * pos) for pos in range(rf)) for rf in range(MAX_RF + 1)])
        streams = np.bincount([i for i, _, _ in self.streams], minlength=n)
        rows = self._table(at.H_PART, n, at.P_SIZE)
        columns: dict[int, Any] = {
            at.P_ISR: (1 << rfs) - 1,
            at.P_RF: rfs,
            at.P_ELIGIBLE: (1 << rfs) - 1,
            at.P_ROW0: w[at.H_ROW] + row0 * at.R_SIZE,
            at.P_STAND_SINCE: -1,
            at.P_LED_BASE: np.cumsum(caps) - caps,
            at.P_LED_CAP: caps,
            at.P_LED_OFF0: leos,
            at.P_BYTES_PER_RECORD: bursts[:, 1],
            at.P_BURST_RECORDS: bursts[:, 0],
            at.P_ORDER: orders[rfs],
            at.P_S2_LAST: at.NEVER,
            at.P_STREAM0: w[at.H_STR]
            + at.S_SIZE * np.array([self.first_stream.get(i, 0) for i in range(n)]),
            at.P_STREAMS: streams,
        }
        _fill(rows, columns)
        self._replicas(rfs, leos)

    def _replicas(self, rfs: Array, leos: Array) -> None:
        """All replicas: their leader is the first of the assignment, everybody has everything.

        Args:
            rfs: replicas of each partition.
            leos: where its log ends.
        """
        w, n = self.w, self.n_rows
        rows = self._table(at.H_ROW, n, at.R_SIZE)
        pointers = self._pointers(at.H_ROW, n, at.R_SIZE)
        numbers = np.arange(n)
        partition = np.repeat(np.arange(len(rfs)), rfs)
        pos = numbers - np.array(self.row0)[partition]
        replicas = [broker for name in self.partitions for broker in name.replicas]
        broker = np.array([self.index[replica] for replica in replicas])
        seen = dict.fromkeys(self.brokers, 0)
        hosted: dict[int, list[int]] = {b: [] for b in self.brokers}
        nth = []
        for row, replica in enumerate(replicas):
            nth.append(seen[replica])
            seen[replica] += 1
            hosted[replica].append(row)
        leo = leos[partition]
        columns: dict[int, Any] = {
            at.R_BROKER: w[at.H_BRK] + broker * at.B_SIZE,
            at.R_PART: w[at.H_PART] + partition * at.P_SIZE,
            at.R_POS: pos,
            at.R_REC0: numbers * self.max_rf,
            at.R_EPOCHS: w[at.H_EPOCHS] + numbers * at.EPOCHS_MAX * 2,
            at.R_TOWARDS: w[at.H_TOWARDS] + numbers * self.max_rf * 2,
            at.R_DIR: np.array(nth) % self.s.cluster.log_dirs_per_broker,
            at.R_LEO: leo,
            at.R_HW: leo,
            at.R_EPOCH_START: leo,
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
        for i, replica in enumerate(self.brokers):
            here = np.array(hosted[replica], dtype=np.int64)
            names = [self.partitions[j] for j in partition[here].tolist()]
            order = walk_order(tuple((name.topic, name.number) for name in names))
            start = int(w[at.H_WALK] + w[int(w[at.H_BRK]) + i * at.B_SIZE + at.B_WALK])
            w[start : start + len(order)] = pointers[here[order]]

    def _first_flags(self, rf: int) -> int:
        """Conditions of a partition of so many replicas at 0: min.insync.replicas may be more."""
        min_isr = int(self.keys["min.insync.replicas"])
        if rf < effective_min_isr(self.rules, min_isr, rf):
            return at.FLAG_UNDER_MIN | at.FLAG_UNAVAILABLE
        return 0

    def _row(self, partition: int, pos: int) -> int:
        return int(self.w[at.H_ROW]) + (self.row0[partition] + pos) * at.R_SIZE

    def _threads_and_requests(self) -> None:
        """Fetcher threads, their candidates, and all requests with their entries."""
        w, nb, nt = self.w, len(self.brokers), len(self.threads)
        ends = np.array(self.threads, dtype=np.int64).reshape(nt, 3)
        counts = np.array([len(those) for those in self.candidates], dtype=np.int64)
        first = np.cumsum(counts) - counts
        owner = np.repeat(np.arange(nt), counts)
        listed = [candidate for those in self.candidates for candidate in those]
        partition, fpos, lpos = np.array(listed, dtype=np.int64).reshape(-1, 3).T
        follower, leader = (np.array(self.row0)[partition] + pos for pos in (fpos, lpos))
        candidates = self._table(at.H_CAND, len(listed), at.K_SIZE)
        candidates[:, at.K_FROW] = w[at.H_ROW] + follower * at.R_SIZE
        candidates[:, at.K_LROW] = w[at.H_ROW] + leader * at.R_SIZE
        candidates[:, at.K_REC] = leader * self.max_rf + fpos
        threads = self._pointers(at.H_THR, nt, at.T_SIZE)
        towards = self._table(at.H_TOWARDS, self.n_rows * self.max_rf, 2)
        towards[leader * self.max_rf + fpos, 0] = threads[owner]
        towards[leader * self.max_rf + fpos, 1] = np.arange(len(listed)) - first[owner]
        led = np.bincount(owner[lpos == 0], minlength=nt)
        slots = self._slots(at.SK_THREAD, threads)
        self._first_due(slots[led > 0], 0)
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
        which = self._pointers(at.H_REQ, self.n_requests, at.Q_SIZE)
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

    def _streams_table(self) -> None:
        w, ns = self.w, len(self.streams)
        first = len(self.threads) * at.REQS_PER_THREAD
        streams = [stream for _, _, stream in self.streams]
        begins = np.array([us(stream.start_ms) for stream in streams], dtype=np.int64)
        lengths = [
            at.INF if stream.duration_ms is None else us(stream.duration_ms) for stream in streams
        ]
        stops = np.minimum(begins + np.array(lengths, dtype=np.int64), at.INF)
        periods = [
            max(1000, round(1e9 * stream.records_per_batch / stream.records_per_s))
            for stream in streams
        ]
        begins += np.array(
            [
                self._phase(i, j, period)
                for (i, j, _), period in zip(self.streams, periods, strict=True)
            ],
            dtype=np.int64,
        )
        pointers = self._pointers(at.H_STR, ns, at.S_SIZE)
        slots = self._slots(at.SK_STREAM, pointers)
        rows = self._table(at.H_STR, ns, at.S_SIZE)
        columns: dict[int, Any] = {
            at.S_PART: [w[at.H_PART] + i * at.P_SIZE for i, _, _ in self.streams],
            at.S_ACKS_ALL: [stream.acks == "all" for stream in streams],
            at.S_ACKS: 1,
            at.S_PERIOD: periods,
            at.S_BATCH: [stream.records_per_batch for stream in streams],
            at.S_RECORD_BYTES: [stream.record_bytes for stream in streams],
            at.S_BASE: begins,
            at.S_NEXT: np.where(begins < stops, begins, at.INF),
            at.S_REQ: -1,
            at.S_REQ0: w[at.H_REQ] + (first + np.arange(ns) * at.REQS_PER_STREAM) * at.Q_SIZE,
            at.S_STOP: stops,
            at.S_RATE: MILLION,
            at.S_SLOT: slots,
        }
        _fill(rows, columns)
        self._first_due(slots, rows[:, at.S_NEXT])
        produces = self._table(at.H_REQ, self.n_requests, at.Q_SIZE)[first:]
        produces[:, at.Q_KIND] = at.REQ_PRODUCE
        produces[:, at.Q_OWNER] = np.repeat(pointers, at.REQS_PER_STREAM)

    def _phase(self, partition: int, number: int, period_ns: int) -> int:
        """When the first batch of a stream comes, after its start."""
        name = self.partitions[partition]
        entity = f"{name.topic}|{name.number}|{number}"
        return hashed(self.s.seed, "produce", entity, max(1, period_ns // 1000))

    # ---------------------------------------------------------------- faults

    def _faults(self) -> None:
        w = self.w
        nb = len(self.brokers)
        by_broker: list[list[int]] = [[] for _ in self.brokers]
        slots = self._slots(at.SK_FAULT, np.arange(len(self.s.faults))).tolist()
        for n, fault in enumerate(self.s.faults):
            x = int(w[at.H_FLT]) + n * at.X_SIZE
            w[x + at.X_KIND] = _KINDS[fault.kind]
            w[x + at.X_START] = us(fault.start_ms)
            duration = getattr(fault, "duration_ms", None)
            w[x + at.X_END] = us(fault.start_ms) + us(duration or 0)
            broker = getattr(fault, "broker", None)
            w[x + at.X_BROKER] = -1
            if broker is not None:
                i = self.index[broker]
                w[x + at.X_BROKER] = w[at.H_BRK] + i * at.B_SIZE
                if fault.kind in ("read_stall", "slow_read", "slow_append"):
                    by_broker[i].append(n)
            self._touched_partitions(n, x, fault)
            self._fault_values(x, fault, nb)
            slot = slots[n]
            w[x + at.X_SLOT] = slot
            empty = duration is not None and us(duration) == 0 and fault.kind != "partition_error"
            self._first_due(slot, at.INF if empty else w[x + at.X_START])
        place = 0
        for i, numbers in enumerate(by_broker):
            b = int(w[at.H_BRK]) + i * at.B_SIZE
            w[b + at.B_FAULT0] = w[at.H_BFLIST] + place
            w[b + at.B_FAULTS] = len(numbers)
            for n in numbers:
                w[w[at.H_BFLIST] + place] = n
                place += 1

    def _touched_partitions(self, n: int, x: int, fault: Any) -> None:
        """Which partitions the fault concerns: all, those named, or its own one."""
        w = self.w
        base = int(w[at.H_FPART]) + n * len(self.partitions)
        named = getattr(fault, "partitions", None)
        if named is not None and named != "all":
            for text in named:
                topic, _, number = text.rpartition("-")
                w[base + self.p_index[topic, int(number)]] = 1
            return
        if named == "all" or fault.kind in _WHOLE_BROKER:
            w[x + at.X_ALL_PARTS] = 1
            return
        topic = getattr(fault, "topic", None)
        if topic is None:
            return
        if fault.partition == "all":
            for i, name in enumerate(self.partitions):
                if name.topic == topic:
                    w[base + i] = 1
        else:
            i = self.p_index[topic, fault.partition]
            w[base + i] = 1
            w[x + at.X_PART] = i

    def _fault_values(self, x: int, fault: Any, controller: int) -> None:
        w, kind = self.w, fault.kind
        if kind in ("read_stall", "slow_read"):
            w[x + at.X_STAGE] = 1 if fault.stage == "send" else 0
        if kind == "read_stall":
            reads = 0
            for name in fault.reads:
                reads |= _READS[name]
            w[x + at.X_READS] = reads
        elif kind == "slow_read":
            w[x + at.X_READS] = 3
            w[x + at.X_VALUE] = us(fault.read_ms)
        elif kind == "slow_append":
            w[x + at.X_VALUE] = us(fault.append_ms)
        elif kind in ("cpu", "produce_rate"):
            w[x + at.X_VALUE] = round(fault.factor * MILLION)
        elif kind == "link":
            nodes = (
                controller if n == "controller" else self.index[n] for n in (fault.from_, fault.to)
            )
            w[x + at.X_FROM], w[x + at.X_TO] = nodes
            w[x + at.X_DROP] = 1 if fault.drop else 0
            w[x + at.X_VALUE] = us(fault.latency_ms or 0)
            w[x + at.X_BOTH] = 1 if fault.both_ways else 0
        elif kind == "crash":
            w[x + at.X_ARG] = -1 if fault.restart_after_ms is None else us(fault.restart_after_ms)
            back = at.INF if fault.restart_after_ms is None else us(fault.restart_after_ms)
            w[x + at.X_END] = min(at.INF, int(w[x + at.X_START]) + back)
        elif kind == "controlled_restart":
            w[x + at.X_ARG] = us(fault.downtime_ms)
            w[x + at.X_ARG2] = us(fault.shutdown_ms)
            w[x + at.X_END] = w[x + at.X_START] + us(fault.downtime_ms)
        elif kind == "log_dir_failure":
            w[x + at.X_DIR] = fault.log_dir
            w[x + at.X_END] = w[x + at.X_START]
        elif kind == "controller_outage":
            w[x + at.X_ARG] = 1 if fault.sessions == "resumed" else 0
        elif kind in ("produce_burst", "bootstrap"):
            w[x + at.X_VALUE] = fault.records
        elif kind == "client_surge":
            rate = fault.requests_per_s
            w[x + at.X_ARG] = max(1000, round(1e9 / rate)) if rate > 0 else 0
            w[x + at.X_VALUE] = round(fault.request_us)
            w[x + at.X_ARG2] = min(fault.connections, SURGE_CONNECTIONS_MAX)
        elif kind == "partition_error":
            w[x + at.X_ERROR] = int(_ERRORS[fault.error])
            w[x + at.X_FETCHER] = 1 if fault.fetcher == "ReplicaAlterLogDirs" else 0
            w[x + at.X_ONCE] = 1 if fault.duration_ms is None else 0
        elif kind == "preferred_election":
            w[x + at.X_ARG] = -1
            if fault.leader is not None:
                replicas = self.partitions[int(w[x + at.X_PART])].replicas
                w[x + at.X_ARG] = replicas.index(fault.leader)

    # ---------------------------------------------------------------- the period

    def _common_period_us(self) -> int:
        """Time after which batches and client requests come as before: 0 if that is long."""
        streams = self._table(at.H_STR, len(self.streams), at.S_SIZE)
        brokers = self._table(at.H_BRK, len(self.brokers), at.B_SIZE)
        periods = {*streams[:, at.S_PERIOD].tolist(), *brokers[:, at.B_CLIENT_PERIOD].tolist()}
        common = math.lcm(1000, *(period for period in periods if period > 0)) // 1000
        if common > PERIOD_MAX_US:
            return 0
        return common * max(1, -(-PERIOD_MIN_US // common))


_LATEST_MAX = 2
_latest: list[_Encoder] = []
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

    def lay_out(used: Array | None) -> World:
        like = next((e for e in _latest if e.settings.alike(encoder.settings)), None)
        world = encoder.encode(like, used)
        if like is None:
            _latest[:] = [encoder, *_latest][:_LATEST_MAX]
        return world

    return encoder.settings, lay_out
