"""A scenario and its configuration as the flat array that the kernel runs on.

Layout and meaning of every cell are `simulation.layout`'s; this module only fills them in. All
randomness that healthy parts need (phases) is spent here, by hashing the scenario's seed with what
it is for, so that another configuration never shifts the draws of another entity.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.errors import InputError
from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.fetcher import Error
from isr_pipeline.kafka.partition import effective_min_isr, tick_period
from isr_pipeline.kafka.record import N_FIELDS
from isr_pipeline.kafka.releases import RULE_SETS, switches
from isr_pipeline.kafka.replica import create, reset
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation import layout as at
from isr_pipeline.simulation.kinds import kinds_of

if TYPE_CHECKING:
    from collections.abc import Callable

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


def walk_order(names: list[tuple[str, int]]) -> list[int]:
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


class _Tables:
    """Hands out places in the array, and makes the array in the end."""

    def __init__(self, first: int) -> None:
        self.size = first

    def place(self, count: int) -> int:
        """Reserve ``count`` cells."""
        start = self.size
        self.size += max(1, count)
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
        self.brokers = scenario.cluster.brokers
        self.index = {b: i for i, b in enumerate(self.brokers)}
        self.partitions = [
            PartitionNames(topic.name, number, tuple(replicas))
            for topic in sorted(scenario.topics, key=lambda t: t.name)
            for number, replicas in sorted(topic.assignment.items())
        ]
        self.p_index = {(p.topic, p.number): i for i, p in enumerate(self.partitions)}
        self.streams = self._list_streams()
        self.n_rows = sum(len(p.replicas) for p in self.partitions)
        self.max_rf = max(len(p.replicas) for p in self.partitions)
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

    def _list_streams(self) -> list[tuple[int, int, Any]]:
        """(partition, number of the stream in its topic, stream), grouped by partition."""
        topics = {topic.name: topic for topic in self.s.topics}
        found = []
        for i, name in enumerate(self.partitions):
            for j, stream in enumerate(topics[name.topic].produce):
                wanted = stream.partitions is None or name.number in stream.partitions
                if wanted and stream.records_per_s > 0:
                    found.append((i, j, stream))
        return found

    # ---------------------------------------------------------------- threads

    def _list_threads(self) -> None:
        """Fetcher threads that can ever have a partition, with their candidates."""
        self.threads: list[tuple[int, int, int]] = []
        self.candidates: list[list[tuple[int, int, int]]] = []
        by_key: dict[tuple[int, int, int], int] = {}
        self.row0: list[int] = []
        row = 0
        for p in self.partitions:
            self.row0.append(row)
            row += len(p.replicas)
        self.cand_index = np.full((self.n_rows, self.max_rf), -1, dtype=np.int64)
        for i, p in enumerate(self.partitions):
            k = fetcher_of(p.topic, p.number, self.fetchers)
            for fpos, fid in enumerate(p.replicas):
                for lpos, lid in enumerate(p.replicas):
                    if fpos == lpos:
                        continue
                    key = (self.index[fid], self.index[lid], k)
                    if key not in by_key:
                        by_key[key] = len(self.threads)
                        self.threads.append(key)
                        self.candidates.append([])
                    self.candidates[by_key[key]].append((i, fpos, lpos))
        for ordered in self.candidates:
            # Those fetched from the beginning come first, as a fetcher appends what it is given
            # later; and a loop over a request's entries ends with the last in use.
            ordered.sort(key=lambda candidate: candidate[2] != 0)
            for place, (i, fpos, lpos) in enumerate(ordered):
                self.cand_index[self.row0[i] + fpos, lpos] = place

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
        self.tree_size = 1 << max(1, (total - 1).bit_length())

    # ---------------------------------------------------------------- the array

    def encode(self, like: _Encoder | None, used: Array | None) -> World:
        """Fill the array.

        Args:
            like: the encoder of a world of the same structure, if any.
            used: the array of a world that nobody needs any more.
        """
        if like is None:
            self._structure()
        else:
            self._take_structure(like, used)
        w = self.w
        w[at.C_LAG : at.C_REBALANCE + 1] = self.settings.keys[at.C_LAG :]
        self._begins()
        self._records()
        self._fill_tree()
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

        Of the tables behind it, which are nine tenths of the array, only what has been written is
        ever read: a used array serves as well as one that the system has to clear.
        """
        if used is None or used.size != like.w.size:
            used = np.zeros(like.w.size, dtype=np.int64)
        self.w = used
        until = int(like.w[at.H_LEDGER])
        self.w[:until] = like.pristine
        for name in ("row0", "slot0", "n_slots", "tree_size", "n_requests"):
            setattr(self, name, getattr(like, name))
        self.due = like.due_pristine.copy()
        self.kinds = like.kinds
        self._view_records()

    def _structure(self) -> None:
        """Places of everything, and what does not depend on configuration and rules."""
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
        tables = _Tables(at.TREE + 2 * self.tree_size)
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
            at.H_BYKIND: tables.place(2 * self.n_slots),
            at.H_CANDIX: tables.place(self.n_rows * self.max_rf),
            at.H_EPOCHS: tables.place(self.n_rows * at.EPOCHS_MAX * 2),
            at.H_QUEUE: tables.place(nb * queue_cap * 2),
            at.H_SENDQ: tables.place(nb * send_cap),
            at.H_MD: tables.place(sum(md_caps) * at.M_SIZE),
            at.H_WALK: tables.place(self.n_rows),
            at.H_THRIX: tables.place(nb * nb * self.fetchers),
            at.H_PSTREAM: tables.place(npart * 2),
            at.H_BFAULT: tables.place(nb * 2),
            at.H_LOCKED: tables.place(at.LOCKED_MAX * at.U_SIZE),
            at.H_BFLIST: tables.place(nf),
            at.H_LEDGER: tables.place(sum(ledgers) * at.L_SIZE),
            at.H_EVENTS: tables.place(EVENTS_LISTED * at.V_SIZE if self.events else 0),
            at.H_SAMPLE: tables.place(samples * (1 + 2 * npart + nb)),
        }
        scratch = tables.place(16)
        self.w = w = np.zeros(tables.size, dtype=np.int64)
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
        w[at.H_TREE_SIZE] = self.tree_size
        w[at.H_MAX_RF] = self.max_rf
        w[at.H_FETCHERS] = self.fetchers
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
        start = int(self.w[at.H_REC])
        count = self.n_rows * self.max_rf
        self.rec = self.w[start : start + count * N_FIELDS].reshape(count, N_FIELDS)

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

    def _slot(self, kind: int, i: int, who: int) -> int:
        """Number of the ``i``-th slot of a kind; it stands for the row pointer ``who``."""
        slot = self.slot0[kind] + i
        place = int(self.w[at.H_BYKIND]) + 2 * slot
        self.w[place] = kind
        self.w[place + 1] = who
        return slot

    def _brokers(
        self, queue_cap: int, send_cap: int, md_caps: list[int], rows_on: list[int]
    ) -> None:
        w, seed = self.w, self.s.seed
        service = self.s.service
        walk = 0
        md = 0
        self._slot(at.SK_CONTROLLER, 0, 0)
        sample = self._slot(at.SK_SAMPLE, 0, 0)
        if self.sample_us:
            self.due[sample] = 0
        for i, broker in enumerate(self.brokers):
            b = int(w[at.H_BRK]) + i * at.B_SIZE
            w[b + at.B_ID] = broker
            w[b + at.B_INDEX] = i
            w[b + at.B_HANDLERS] = int(w[at.H_HND]) + i * self.io * at.D_SIZE
            w[b + at.B_SENDERS] = int(w[at.H_SND]) + i * self.net * at.N_SIZE
            w[b + at.B_UP] = 1
            w[b + at.B_CPU] = MILLION
            w[b + at.B_REGISTERED] = 1
            w[b + at.B_FENCE_AT] = at.INF
            w[b + at.B_UNFENCE_AT] = at.INF
            w[b + at.B_CUT_SINCE] = at.INF
            w[b + at.B_EPOCH] = 1
            w[b + at.B_IO_IDLE] = self.io
            w[b + at.B_QBASE] = i * queue_cap
            w[b + at.B_QCAP] = queue_cap
            w[b + at.B_SBASE] = i * send_cap
            w[b + at.B_SCAP] = send_cap
            w[b + at.B_MDBASE] = md
            w[b + at.B_MDCAP] = md_caps[i]
            md += md_caps[i]
            w[b + at.B_TICK_POS] = -1
            w[b + at.B_WALK] = walk
            w[b + at.B_WALK_N] = rows_on[i]
            walk += rows_on[i]
            w[b + at.B_ALTER_DUE] = at.INF
            w[b + at.B_ROWS] = rows_on[i]
            w[b + at.B_DIRS_OK] = self.s.cluster.log_dirs_per_broker
            w[b + at.B_SURGE_NEXT] = at.INF
            w[b + at.B_SLOT_TICK] = self._slot(at.SK_TICK, i, b)
            w[b + at.B_SLOT_SESSION] = self._slot(at.SK_SESSION, i, b)
            w[b + at.B_SLOT_DIR] = self._slot(at.SK_DIR, i, b)
            w[b + at.B_SLOT_ALTER] = self._slot(at.SK_ALTER, i, b)
            w[b + at.B_SLOT_MD] = self._slot(at.SK_METADATA, i, b)
            w[b + at.B_SLOT_CLIENT] = self._slot(at.SK_CLIENT, i, b)
            w[b + at.B_SLOT_SURGE] = self._slot(at.SK_SURGE, i, b)
            if service.client_requests_per_s > 0:
                period = max(1000, round(1e9 / service.client_requests_per_s))
                w[b + at.B_CLIENT_PERIOD] = period
                w[b + at.B_CLIENT_NEXT] = hashed(seed, "client", str(broker), period // 1000)
                self.due[w[b + at.B_SLOT_CLIENT]] = w[b + at.B_CLIENT_NEXT]
            for j in range(self.io):
                d = int(w[at.H_HND]) + (i * self.io + j) * at.D_SIZE
                w[d + at.D_BROKER] = b
                w[d + at.D_REQ] = -1
                w[d + at.D_CREQ] = -1
                w[d + at.D_ROW] = -1
                w[d + at.D_SLOT] = self._slot(at.SK_HANDLER, i * self.io + j, d)
            for j in range(self.net):
                n = int(w[at.H_SND]) + (i * self.net + j) * at.N_SIZE
                w[n + at.N_BROKER] = b
                w[n + at.N_REQ] = at.SEND_NONE
                w[n + at.N_SLOT] = self._slot(at.SK_SENDER, i * self.net + j, n)

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
            w[b + at.B_TICK_PHASE] = first
            self.due[self.slot0[at.SK_TICK] + i] = first
        for i, name in enumerate(self.partitions):
            p = int(w[at.H_PART]) + i * at.P_SIZE
            w[p + at.P_FLAGS] = self._first_flags(len(name.replicas))

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
        for i, _, stream in self.streams:
            if i == partition:
                return stream.records_per_batch, stream.record_bytes
        return 1, DEFAULT_RECORD_BYTES

    def _partitions(self, ledgers: list[int]) -> None:
        w = self.w
        base = [0] * len(self.partitions)
        for fault in self.s.faults:
            if fault.kind == "bootstrap":
                base[self.p_index[fault.topic, fault.partition]] += fault.records
        ledger = 0
        hosted: dict[int, list[tuple[tuple[str, int], int]]] = {b: [] for b in self.brokers}
        dirs = dict.fromkeys(self.brokers, 0)
        first_stream = {i: n for n, (i, _, _) in reversed(list(enumerate(self.streams)))}
        for i, name in enumerate(self.partitions):
            p = int(w[at.H_PART]) + i * at.P_SIZE
            rf = len(name.replicas)
            full = (1 << rf) - 1
            w[p + at.P_ISR] = full
            w[p + at.P_RF] = rf
            w[p + at.P_ROW0] = w[at.H_ROW] + self.row0[i] * at.R_SIZE
            w[p + at.P_NUMBER] = name.number
            w[p + at.P_FETCHER] = fetcher_of(name.topic, name.number, self.fetchers)
            w[p + at.P_STAND_SINCE] = -1
            w[p + at.P_LED_BASE] = ledger
            w[p + at.P_LED_CAP] = ledgers[i]
            ledger += ledgers[i]
            w[p + at.P_LED_OFF0] = base[i]
            batch, record_bytes = self._burst_batch(i)
            w[p + at.P_BYTES_PER_RECORD] = record_bytes
            w[p + at.P_BURST_RECORDS] = batch
            w[p + at.P_BURST_BYTES] = record_bytes
            w[p + at.P_ORDER] = sum(pos << (4 * pos) for pos in range(rf))
            w[p + at.P_S2_LAST] = at.NEVER
            place = int(w[at.H_PSTREAM]) + 2 * i
            w[place] = first_stream.get(i, 0)
            w[place + 1] = sum(1 for j, _, _ in self.streams if j == i) if i in first_stream else 0
            for pos, broker in enumerate(name.replicas):
                row = self.row0[i] + pos
                r = int(w[at.H_ROW]) + row * at.R_SIZE
                w[r + at.R_BROKER] = w[at.H_BRK] + self.index[broker] * at.B_SIZE
                w[r + at.R_PART] = p
                w[r + at.R_POS] = pos
                w[r + at.R_DIR] = dirs[broker] % self.s.cluster.log_dirs_per_broker
                dirs[broker] += 1
                w[r + at.R_LEO] = base[i]
                w[r + at.R_HW] = base[i]
                w[r + at.R_LEADER] = 0
                w[r + at.R_IS_LEADER] = 1 if pos == 0 else 0
                w[r + at.R_ISR] = full
                w[r + at.R_EPOCH_START] = base[i]
                w[r + at.R_ONLINE] = 1
                w[r + at.R_NEP] = 1
                w[r + at.R_INJECT] = -1
                w[r + at.R_REMOVED_AT] = at.NEVER
                w[r + at.R_ML_ARMED] = at.INF
                w[r + at.R_TOUCH_FROM] = at.INF
                w[r + at.R_ML_SINCE] = -1
                w[r + at.R_FSTATE] = at.F_FETCHING if pos else at.F_NONE
                hosted[broker].append(((name.topic, name.number), r))
        for i, broker in enumerate(self.brokers):
            rows = hosted[broker]
            start = int(w[at.H_WALK] + w[int(w[at.H_BRK]) + i * at.B_SIZE + at.B_WALK])
            for k, j in enumerate(walk_order([named for named, _ in rows])):
                w[start + k] = rows[j][1]
        w[w[at.H_CANDIX] : w[at.H_CANDIX] + self.cand_index.size] = self.cand_index.ravel()

    def _first_flags(self, rf: int) -> int:
        """Conditions of a partition at 0: min.insync.replicas may exceed what there is."""
        min_isr = int(self.keys["min.insync.replicas"])
        if rf < effective_min_isr(self.rules, min_isr, rf):
            return at.FLAG_UNDER_MIN | at.FLAG_UNAVAILABLE
        return 0

    def _row(self, partition: int, pos: int) -> int:
        return int(self.w[at.H_ROW]) + (self.row0[partition] + pos) * at.R_SIZE

    def _threads_and_requests(self) -> None:
        w = self.w
        index = int(w[at.H_THRIX])
        nb = len(self.brokers)
        w[index : index + nb * nb * self.fetchers] = -1
        cand = int(w[at.H_CAND])
        entries = int(w[at.H_ENT])
        for n, (follower, leader, k) in enumerate(self.threads):
            t = int(w[at.H_THR]) + n * at.T_SIZE
            w[index + (follower * nb + leader) * self.fetchers + k] = n
            w[t + at.T_FOLLOWER] = w[at.H_BRK] + follower * at.B_SIZE
            w[t + at.T_LEADER] = w[at.H_BRK] + leader * at.B_SIZE
            w[t + at.T_REQ0] = n * at.REQS_PER_THREAD
            w[t + at.T_REQ] = -1
            w[t + at.T_CAND] = cand
            w[t + at.T_CANDS] = len(self.candidates[n])
            w[t + at.T_USED] = sum(1 for _, _, lpos in self.candidates[n] if lpos == 0)
            slot = self._slot(at.SK_THREAD, n, t)
            w[t + at.T_SLOT] = slot
            busy = False
            for i, fpos, lpos in self.candidates[n]:
                w[cand + at.K_FROW] = self._row(i, fpos)
                w[cand + at.K_LROW] = self._row(i, lpos)
                w[cand + at.K_REC] = (self.row0[i] + lpos) * self.max_rf + fpos
                cand += at.K_SIZE
                busy = busy or lpos == 0
            w[t + at.T_STATE] = at.TS_IDLE if busy else at.TS_DOWN
            if busy:
                self.due[slot] = 0
            for j in range(at.REQS_PER_THREAD):
                number = n * at.REQS_PER_THREAD + j
                q = int(w[at.H_REQ]) + number * at.Q_SIZE
                w[q + at.Q_KIND] = at.REQ_FETCH
                w[q + at.Q_OWNER] = t
                w[q + at.Q_ENT] = entries
                for i in range(len(self.candidates[n])):
                    w[entries + i * at.E_SIZE + at.E_OFFSET] = -1
                w[q + at.Q_READ_ROW] = -1
                w[q + at.Q_SLOT] = self._slot(at.SK_REQUEST, number, q)
                entries += len(self.candidates[n]) * at.E_SIZE

    def _streams_table(self) -> None:
        w, seed = self.w, self.s.seed
        first = len(self.threads) * at.REQS_PER_THREAD
        for n, (i, j, stream) in enumerate(self.streams):
            name = self.partitions[i]
            s = int(w[at.H_STR]) + n * at.S_SIZE
            period_ns = max(1000, round(1e9 * stream.records_per_batch / stream.records_per_s))
            entity = f"{name.topic}|{name.number}|{j}"
            phase = hashed(seed, "produce", entity, max(1, period_ns // 1000))
            begin = us(stream.start_ms) + phase
            stop = at.INF
            if stream.duration_ms is not None:
                stop = us(stream.start_ms) + us(stream.duration_ms)
            w[s + at.S_PART] = w[at.H_PART] + i * at.P_SIZE
            w[s + at.S_ACKS_ALL] = 1 if stream.acks == "all" else 0
            w[s + at.S_ACKS] = 1
            w[s + at.S_PERIOD] = period_ns
            w[s + at.S_BATCH] = stream.records_per_batch
            w[s + at.S_RECORD_BYTES] = stream.record_bytes
            w[s + at.S_PHASE] = begin
            w[s + at.S_BASE] = begin
            w[s + at.S_NEXT] = begin if begin < stop else at.INF
            w[s + at.S_REQ] = -1
            w[s + at.S_REQ0] = first + n * at.REQS_PER_STREAM
            w[s + at.S_STOP] = stop
            w[s + at.S_RATE] = MILLION
            slot = self._slot(at.SK_STREAM, n, s)
            w[s + at.S_SLOT] = slot
            self.due[slot] = w[s + at.S_NEXT]
            for k in range(at.REQS_PER_STREAM):
                number = first + n * at.REQS_PER_STREAM + k
                q = int(w[at.H_REQ]) + number * at.Q_SIZE
                w[q + at.Q_KIND] = at.REQ_PRODUCE
                w[q + at.Q_OWNER] = s
                w[q + at.Q_READ_ROW] = -1
                w[q + at.Q_SLOT] = self._slot(at.SK_REQUEST, number, q)

    # ---------------------------------------------------------------- faults

    def _faults(self) -> None:
        w = self.w
        nb = len(self.brokers)
        by_broker: list[list[int]] = [[] for _ in self.brokers]
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
            slot = self._slot(at.SK_FAULT, n, n)
            w[x + at.X_SLOT] = slot
            empty = duration is not None and us(duration) == 0 and fault.kind != "partition_error"
            self.due[slot] = at.INF if empty else w[x + at.X_START]
        place = 0
        for i, numbers in enumerate(by_broker):
            w[w[at.H_BFAULT] + 2 * i] = place
            w[w[at.H_BFAULT] + 2 * i + 1] = len(numbers)
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

    # ---------------------------------------------------------------- records and keys

    def _records(self) -> None:
        """Every leader has just become one, with all its followers in the ISR."""
        create(self.rules, self.rec, 0, 0)
        self.rec[:] = self.rec[0]
        followers: dict[int, list[int]] = {}  # rows by the LEO of their leader
        for i, name in enumerate(self.partitions):
            leo = int(self.w[self._row(i, 0) + at.R_LEO])
            first = self.row0[i] * self.max_rf
            followers.setdefault(leo, []).extend(range(first + 1, first + len(name.replicas)))
        for leo, rows in followers.items():
            if rows:
                reset(self.rules, self.rec, rows[0], leo, leo, True, True, 0)
                self.rec[rows] = self.rec[rows[0]]

    def _common_period_us(self) -> int:
        """Time after which batches and client requests come as before: 0 if that is long."""
        w = self.w
        streams = w[w[at.H_STR] :][: len(self.streams) * at.S_SIZE].reshape(-1, at.S_SIZE)
        brokers = w[w[at.H_BRK] :][: len(self.brokers) * at.B_SIZE].reshape(-1, at.B_SIZE)
        periods = {*streams[:, at.S_PERIOD].tolist(), *brokers[:, at.B_CLIENT_PERIOD].tolist()}
        common = math.lcm(1000, *(period for period in periods if period > 0)) // 1000
        if common > PERIOD_MAX_US:
            return 0
        return common * max(1, -(-PERIOD_MIN_US // common))

    def _fill_tree(self) -> None:
        """The winner tree over the first keys."""
        size = self.tree_size
        tree = self.w[at.TREE : at.TREE + 2 * size]
        slots = np.arange(size, dtype=np.int64)
        due = np.full(size, at.INF, dtype=np.int64)
        due[: self.n_slots] = np.minimum(self.due, at.INF)
        tree[size:] = (due << at.SLOT_BITS) | slots
        while size > 1:
            tree[size // 2 : size] = tree[size : 2 * size].reshape(-1, 2).min(axis=1)
            size //= 2


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
