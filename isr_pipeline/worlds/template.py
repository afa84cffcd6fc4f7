"""The cells that all scenarios of a shape have in common, laid out once.

A scenario copies them and writes what is its own (`encoder`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.record import N_FIELDS
from isr_pipeline.scenarios.model import us
from isr_pipeline.simulation.shortcuts.motions import motions_of, rows_of
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.entities import MAX_RF, Entities, java_string_hash, threads_of, walk_order
from isr_pipeline.worlds.leaves import plans, plans_of_fetches, plans_of_produces, tree_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isr_pipeline.scenarios.model import ProduceStream

Array = npt.NDArray[np.int64]

MILLION = 1_000_000
REQUEST_BYTES_MAX = 1 << 20
AHEAD_CELLS = 1 << 19
"""Cells of a world from which on it is larger than a core's own caches."""


class Places:
    """Hands out places in the array; ``size`` is what they take together."""

    def __init__(self, first: int) -> None:
        self.size = first

    def place(self, count: int) -> int:
        """Reserve ``count`` cells from a cache line's beginning on."""
        start = -(-self.size // at.LINE) * at.LINE
        self.size = start + max(1, count)
        return start


def fill(rows: Array, columns: Mapping[int, Any]) -> None:
    """Fill in columns of a table's rows: with one value, or one a row."""
    for column, values in columns.items():
        rows[:, column] = values


def row_pointers(w: Array, place: int, count: int, width: int) -> Array:
    """Row pointers of a table of which the header's cell ``place`` names the beginning."""
    return int(w[place]) + width * np.arange(count, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the places of the tables, and most of their cells, depend on.

    Attributes:
        entities: what stands in the scenario.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads of each broker.
        faults: how many.
    """

    entities: Entities
    fetchers: tuple[int, ...]
    io: tuple[int, ...]
    net: tuple[int, ...]
    faults: int

    def slots(self) -> tuple[tuple[int, int], ...]:
        """How many slots there are of each kind, by their numbers."""
        nb, ns = len(self.entities.brokers), len(self.entities.streams)
        nt = len(threads_of(self.entities, self.fetchers).ends)
        return (
            (at.SK_FAULT, self.faults),
            (at.SK_TICK, nb),
            (at.SK_CONTROLLER, 1),
            (at.SK_SESSION, nb),
            (at.SK_DIR, nb),
            (at.SK_ALTER, nb),
            (at.SK_METADATA, nb),
            (at.SK_HANDLER, sum(self.io)),
            (at.SK_SENDER, sum(self.net)),
            (at.SK_THREAD, nt),
            (at.SK_REQUEST, nt * at.REQS_PER_THREAD + ns * at.REQS_PER_STREAM),
            (at.SK_STREAM, ns),
            (at.SK_CLIENT, nb),
            (at.SK_SURGE, nb),
            (at.SK_SAMPLE, 1),
        )

    def words(self) -> Array:
        """Words of bits of each thread."""
        return -(-threads_of(self.entities, self.fetchers).counts // at.WORD_BITS)

    def tables(self) -> dict[int, int]:
        """Cells of each table, by the header's cell that names its place, in their order."""
        entities, counts = self.entities, dict(self.slots())
        nb, npart, rf = len(entities.brokers), len(entities.partitions), entities.max_rf
        nt, nk = counts[at.SK_THREAD], len(threads_of(entities, self.fetchers).partition)
        slots = sum(counts.values())
        return {
            at.H_BRK: nb * at.B_SIZE,
            at.H_PART: npart * at.P_SIZE,
            at.H_ROW: entities.n_rows * at.R_SIZE,
            at.H_REC: entities.n_rows * rf * N_FIELDS,
            at.H_THR: nt * at.T_SIZE,
            at.H_FETCHED: nk * at.K_SIZE,
            at.H_REQ: counts[at.SK_REQUEST] * at.Q_SIZE,
            at.H_ENT: nk * at.REQS_PER_THREAD * at.E_SIZE,
            at.H_STR: counts[at.SK_STREAM] * at.S_SIZE,
            at.H_HND: counts[at.SK_HANDLER] * at.D_SIZE,
            at.H_SND: counts[at.SK_SENDER] * at.N_SIZE,
            at.H_FLT: self.faults * at.X_SIZE,
            at.H_FPART: self.faults * npart,
            at.H_LINK: (nb + 1) * (nb + 1) * 2,
            at.H_SEEN: nb * nb,
            at.H_HIST: at.HIST_SIZE,
            # Everything up to here is what `cycles` compares.
            at.H_BYKIND: slots,
            at.H_SLOT_OF: slots,
            at.H_TOWARDS: entities.n_rows * rf * at.Y_SIZE,
            at.H_MASKS: int(self.words().sum()) * at.W_SIZE,
            at.H_OF_BROKER: nt,
            at.H_EPOCHS: entities.n_rows * at.EPOCHS_MAX * 2,
            at.H_WALK: entities.n_rows,
            at.H_DISTANCE: (nb + 1) * (nb + 1),
            at.H_LOCKED: at.LOCKED_MAX * at.U_SIZE,
            at.H_BFLIST: self.faults,
            at.H_INNER: slots - 1,
            # Up to here is what a world begins with; the rest is written before it is read.
            at.H_LEDGER: 0,
        }


class Template:
    """The cells that all scenarios of a shape have in common. Nobody changes them.

    Every method is one table. What is a scenario's own is 0 here.

    Attributes:
        w: the array up to H_LEDGER.
        due: when each slot fires first, in microseconds, by its number.
        slot0: number of the first slot of each kind.
        n_requests: requests of all threads and streams.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.entities = shape.entities
        self.threads = threads_of(shape.entities, shape.fetchers)
        self.row0 = np.cumsum(self.entities.rfs) - self.entities.rfs
        self._list_slots()
        self._places()
        self._brokers()
        self._partitions()
        self._threads_and_requests()
        self._streams()
        self._faults()

    @cached_property
    def motions(self) -> Array:
        """How each cell may move while the world repeats; asked for where it can."""
        return motions_of(self.w)

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

    def _weights(self, counts: tuple[tuple[int, int], ...]) -> npt.NDArray[np.float64]:
        """How often each slot is planned, by its number."""
        weights: list[npt.NDArray[np.float64]] = []
        for kind, count in counts:
            if kind == at.SK_REQUEST:
                weights.append(np.tile(plans_of_fetches(), len(self.threads.ends)))
                weights.append(np.tile(plans_of_produces(), len(self.entities.streams)))
            else:
                of_broker = {at.SK_HANDLER: self.shape.io, at.SK_SENDER: self.shape.net}
                if kind in of_broker:
                    weights += [np.array(plans(kind, group)) for group in of_broker[kind]]
                else:
                    weights.append(np.tile(plans(kind, 1), count))
        return np.concatenate(weights)

    def _places(self) -> None:
        """The array, with its header."""
        shape, entities = self.shape, self.entities
        nb, npart, nt, ns = (
            len(entities.brokers),
            len(entities.partitions),
            len(self.threads.ends),
            len(entities.streams),
        )
        tables = Places(at.TREE + self.tree.size)
        place = {cell: tables.place(count) for cell, count in shape.tables().items()}
        sizes = {
            at.H_BROKERS: nb,
            at.H_PARTITIONS: npart,
            at.H_ROWS: entities.n_rows,
            at.H_THREADS: nt,
            at.H_STREAMS: ns,
            at.H_FAULTS: shape.faults,
            at.H_SLOTS: self.n_slots,
            at.H_TREE_SIZE: self.tree.size,
            at.H_MAX_RF: entities.max_rf,
            at.H_HANDLERS: sum(shape.io),
            at.H_SENDERS: sum(shape.net),
            at.H_REQUESTS: self.n_requests,
            at.H_AHEAD: tables.size > AHEAD_CELLS,
            at.G_LEAST_ISR: entities.members.min(),
            at.G_DEPENDS: at.DEP_OUTSIDE if (entities.members < entities.rfs).any() else 0,
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
        w, io, net = self.w, np.array(self.shape.io), np.array(self.shape.net)
        none = np.zeros(1, dtype=np.int64)
        w[at.H_SLOT_REBALANCE] = self._slots(at.SK_CONTROLLER, none)[0]
        w[at.H_SLOT_SAMPLE] = self._slots(at.SK_SAMPLE, none)[0]
        nb = len(self.entities.brokers)
        rows = self._table(at.H_BRK, nb, at.B_SIZE)
        pointers = row_pointers(w, at.H_BRK, nb, at.B_SIZE)
        numbers = np.arange(nb)
        hosted = np.bincount(self.entities.broker_of_row, minlength=nb)
        md = 4 * hosted + 64
        columns: dict[int, Any] = {
            at.B_INDEX: numbers,
            at.B_HANDLERS: w[at.H_HND] + (np.cumsum(io) - io) * at.D_SIZE,
            at.B_SENDERS: w[at.H_SND] + (np.cumsum(net) - net) * at.N_SIZE,
            at.B_IO: io,
            at.B_NET: net,
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
            at.B_DIRS_OK: self.entities.log_dirs,
            at.B_SURGE_NEXT: at.INF,
            at.B_SLOT_TICK: self._slots(at.SK_TICK, pointers),
            at.B_SLOT_SESSION: self._slots(at.SK_SESSION, pointers),
            at.B_SLOT_DIR: self._slots(at.SK_DIR, pointers),
            at.B_SLOT_ALTER: self._slots(at.SK_ALTER, pointers),
            at.B_SLOT_MD: self._slots(at.SK_METADATA, pointers),
            at.B_SLOT_CLIENT: self._slots(at.SK_CLIENT, pointers),
            at.B_SLOT_SURGE: self._slots(at.SK_SURGE, pointers),
        }
        fill(rows, columns)
        handlers = self._table(at.H_HND, int(io.sum()), at.D_SIZE)
        handlers[:, at.D_BROKER] = np.repeat(pointers, io)
        handlers[:, [at.D_REQ, at.D_CREQ, at.D_ROW]] = -1
        which = row_pointers(w, at.H_HND, len(handlers), at.D_SIZE)
        handlers[:, at.D_SLOT] = self._slots(at.SK_HANDLER, which)
        senders = self._table(at.H_SND, int(net.sum()), at.N_SIZE)
        senders[:, at.N_BROKER] = np.repeat(pointers, net)
        senders[:, at.N_REQ] = at.SEND_NONE
        which = row_pointers(w, at.H_SND, len(senders), at.N_SIZE)
        senders[:, at.N_SLOT] = self._slots(at.SK_SENDER, which)

    def _partitions(self) -> None:
        w, entities = self.w, self.entities
        n = len(entities.partitions)
        rfs = entities.rfs
        bursts = np.array([entities.burst_batch(i) for i in range(n)])
        orders = np.array([sum(pos << (4 * pos) for pos in range(rf)) for rf in range(MAX_RF + 1)])
        first = np.array([entities.first_stream.get(i, 0) for i in range(n)])
        rows = self._table(at.H_PART, n, at.P_SIZE)
        columns: dict[int, Any] = {
            at.P_ISR: entities.isrs,
            at.P_LED_OFF0: self._log_ends(),
            at.P_LEADER: entities.leaders,
            at.P_LAST_LEADER: entities.leaders,
            at.P_MIN_ISR: entities.min_isr,
            at.P_UNCLEAN: entities.unclean,
            at.P_WEIGHT: 1,
            at.P_RF: rfs,
            at.P_ELIGIBLE: (1 << rfs) - 1,
            at.P_ROW0: w[at.H_ROW] + self.row0 * at.R_SIZE,
            at.P_STAND_SINCE: -1,
            at.P_BYTES_PER_RECORD: bursts[:, 1],
            at.P_BURST_RECORDS: bursts[:, 0],
            at.P_ORDER: orders[rfs],
            at.P_S2_LAST: at.NEVER,
            at.P_STREAM0: w[at.H_STR] + at.S_SIZE * first,
            at.P_STREAMS: np.bincount([i for i, _ in entities.streams], minlength=n),
        }
        fill(rows, columns)
        self._replicas(rfs)

    def _log_ends(self) -> Array:
        """Where each partition's log ends at 0: who is behind has that many records to fetch."""
        firsts = self.row0
        found: Array = np.maximum(0, np.maximum.reduceat(self.entities.behind, firsts))
        return found

    def _replicas(self, rfs: Array) -> None:
        """All replicas: who is in the ISR has everything.

        Args:
            rfs: replicas of each partition.
        """
        w, entities, n = self.w, self.entities, self.entities.n_rows
        rows = self._table(at.H_ROW, n, at.R_SIZE)
        pointers = row_pointers(w, at.H_ROW, n, at.R_SIZE)
        numbers = np.arange(n)
        partition = np.repeat(np.arange(len(rfs)), rfs)
        pos = numbers - self.row0[partition]
        leader = entities.leaders[partition]
        broker = entities.broker_of_row
        by_broker = np.argsort(broker, kind="stable")
        hosted = np.bincount(broker, minlength=len(entities.brokers))
        firsts = np.cumsum(hosted) - hosted
        nth = np.empty(n, dtype=np.int64)
        nth[by_broker] = numbers - np.repeat(firsts, hosted)
        log_ends = self._log_ends()[partition]
        leo = log_ends - np.maximum(0, entities.behind)
        columns: dict[int, Any] = {
            at.R_LEO: leo,
            at.R_HW: leo,
            at.R_EPOCH_START: log_ends,
            at.R_BROKER: w[at.H_BRK] + broker * at.B_SIZE,
            at.R_PART: w[at.H_PART] + partition * at.P_SIZE,
            at.R_POS: pos,
            at.R_REC0: numbers * entities.max_rf,
            at.R_EPOCHS: w[at.H_EPOCHS] + numbers * at.EPOCHS_MAX * 2,
            at.R_TOWARDS: w[at.H_TOWARDS] + numbers * entities.max_rf * at.Y_SIZE,
            at.R_DIR: entities.dirs_of(nth),
            at.R_IS_LEADER: pos == leader,
            at.R_LEADER: leader,
            at.R_ISR: entities.isrs[partition],
            at.R_ONLINE: 1,
            at.R_NEP: 1,
            at.R_INJECT: -1,
            at.R_REMOVED_AT: at.NEVER,
            at.R_ML_ARMED: at.INF,
            at.R_TOUCH_FROM: at.INF,
            at.R_ML_SINCE: -1,
            at.R_FSTATE: np.where(pos != leader, at.F_FETCHING, at.F_NONE),
        }
        fill(rows, columns)
        topics = np.array([java_string_hash(name.topic) for name in entities.partitions])
        in_topic = np.array([name.number for name in entities.partitions])
        for first, count in zip(firsts.tolist(), hosted.tolist(), strict=True):
            here = by_broker[first : first + count]
            order = walk_order(topics[partition[here]], in_topic[partition[here]])
            start = int(w[at.H_WALK]) + first
            w[start : start + count] = pointers[here[order]]

    def _threads_and_requests(self) -> None:
        """Fetcher threads, their partitions, and all requests with their entries."""
        w, entities = self.w, self.entities
        ends, counts = self.threads.ends, self.threads.counts
        nb, nt, nk = len(entities.brokers), len(ends), int(counts.sum())
        first = np.cumsum(counts) - counts
        owner = np.repeat(np.arange(nt), counts)
        partition, fpos, lpos = self.threads.partition, self.threads.fpos, self.threads.lpos
        follower, leader = self.row0[partition] + fpos, self.row0[partition] + lpos
        fetched = self._table(at.H_FETCHED, nk, at.K_SIZE)
        fetched[:, at.K_FROW] = w[at.H_ROW] + follower * at.R_SIZE
        fetched[:, at.K_LROW] = w[at.H_ROW] + leader * at.R_SIZE
        fetched[:, at.K_REC] = leader * entities.max_rf + fpos
        threads = row_pointers(w, at.H_THR, nt, at.T_SIZE)
        words = self.shape.words()
        masks = w[at.H_MASKS] + (np.cumsum(words) - words) * at.W_SIZE
        place = np.arange(nk) - first[owner]
        towards = self._table(at.H_TOWARDS, entities.n_rows * entities.max_rf, at.Y_SIZE)
        towards[leader * entities.max_rf + fpos] = np.stack(
            [
                threads[owner],
                place,
                masks[owner] + (place >> at.WORD_SHIFT) * at.W_SIZE,
                1 << (place & at.WORD_MASK),
            ],
            axis=1,
        )
        of_broker = np.argsort(ends[:, 0], kind="stable")
        self._table(at.H_OF_BROKER, nt, 1)[:, 0] = threads[of_broker]
        own = np.bincount(ends[:, 0], minlength=nb)
        brokers = self._table(at.H_BRK, nb, at.B_SIZE)
        fill(brokers, {at.B_THREAD0: w[at.H_OF_BROKER] + np.cumsum(own) - own, at.B_THREADS: own})
        led = np.bincount(owner[lpos == entities.leaders[partition]], minlength=nt)
        slots = self._slots(at.SK_THREAD, threads)
        self.due[slots[led > 0] & at.SLOT_MASK] = 0
        rows = self._table(at.H_THR, nt, at.T_SIZE)
        columns: dict[int, Any] = {
            at.T_FOLLOWER: w[at.H_BRK] + ends[:, 0] * at.B_SIZE,
            at.T_LEADER: w[at.H_BRK] + ends[:, 1] * at.B_SIZE,
            at.T_REQ0: w[at.H_REQ] + np.arange(nt) * at.REQS_PER_THREAD * at.Q_SIZE,
            at.T_VALIDATED: -1,
            at.T_MASKS: masks,
            at.T_WAY: w[at.H_LINK] + 2 * (ends[:, 0] * (nb + 1) + ends[:, 1]),
            at.T_WAY_BACK: w[at.H_LINK] + 2 * (ends[:, 1] * (nb + 1) + ends[:, 0]),
            at.T_REQ: -1,
            at.T_FETCHED: w[at.H_FETCHED] + first * at.K_SIZE,
            at.T_FETCHED_COUNT: counts,
            at.T_USED: led,
            at.T_SLOT: slots,
            at.T_STATE: np.where(led > 0, at.TS_IDLE, at.TS_DOWN),
        }
        fill(rows, columns)
        requests = self._table(at.H_REQ, self.n_requests, at.Q_SIZE)
        which = row_pointers(w, at.H_REQ, self.n_requests, at.Q_SIZE)
        requests[:, at.Q_SLOT] = self._slots(at.SK_REQUEST, which)
        requests[:, at.Q_READ_ROW] = -1
        fetches = requests[: nt * at.REQS_PER_THREAD]
        entries = np.repeat(counts, at.REQS_PER_THREAD)
        fetches[:, at.Q_KIND] = at.REQ_FETCH
        fetches[:, at.Q_OWNER] = np.repeat(threads, at.REQS_PER_THREAD)
        fetches[:, at.Q_ENT] = w[at.H_ENT] + (np.cumsum(entries) - entries) * at.E_SIZE
        fetches[:, at.Q_VALIDATED] = -1
        rows = self._table(at.H_ENT, int(entries.sum()), at.E_SIZE)
        rows[:, at.E_OFFSET] = -1
        # a thread's requests have an entry for each of its partitions
        begins = np.repeat(first, at.REQS_PER_THREAD) - (np.cumsum(entries) - entries)
        rows[:, at.E_BIT] = 1 << fpos[np.arange(len(rows)) + np.repeat(begins, entries)]

    def _streams(self) -> None:
        """Produce streams; until their phases are known a batch comes right at their start."""
        w, entities = self.w, self.entities
        ns = len(entities.streams)
        first = len(self.threads.ends) * at.REQS_PER_THREAD
        streams = [stream for _, stream in entities.streams]
        begins = np.array([us(stream.start_ms) for stream in streams], dtype=np.int64)
        lengths = [
            at.INF if stream.duration_ms is None else us(stream.duration_ms) for stream in streams
        ]
        pointers = row_pointers(w, at.H_STR, ns, at.S_SIZE)
        columns: dict[int, Any] = {
            at.S_PART: [w[at.H_PART] + i * at.P_SIZE for i, _ in entities.streams],
            at.S_ACKS_ALL: [stream.acks == "all" for stream in streams],
            at.S_PERIOD: [period_ns(stream) for stream in streams],
            at.S_BATCH: [stream.records_per_batch for stream in streams],
            at.S_RECORD_BYTES: [stream.record_bytes for stream in streams],
            at.S_MOST: [_most_records(stream) for stream in streams],
            at.S_BASE: begins,
            at.S_REQ: -1,
            at.S_REQ0: w[at.H_REQ] + (first + np.arange(ns) * at.REQS_PER_STREAM) * at.Q_SIZE,
            at.S_STOP: np.minimum(begins + np.array(lengths, dtype=np.int64), at.INF),
            at.S_RATE: MILLION,
            at.S_AFTER: pointers,
            at.S_SLOT: self._slots(at.SK_STREAM, pointers),
        }
        fill(self._table(at.H_STR, ns, at.S_SIZE), columns)
        produces = self._table(at.H_REQ, self.n_requests, at.Q_SIZE)[first:]
        produces[:, at.Q_KIND] = at.REQ_PRODUCE
        produces[:, at.Q_OWNER] = np.repeat(pointers, at.REQS_PER_STREAM)

    def _faults(self) -> None:
        rows = self._table(at.H_FLT, self.shape.faults, at.X_SIZE)
        rows[:, at.X_BROKER] = -1
        rows[:, at.X_SLOT] = self._slots(at.SK_FAULT, np.arange(self.shape.faults))


_KEPT_CELLS = 80_000_000
_KEPT_MAX = 32
_kept: dict[Shape, Template] = {}
"""Templates, the one asked for last at the end: as many as fit, and one."""


def template_of(shape: Shape) -> Template:
    """The scenarios of a panel have a few shapes: their faults are one, two, some six."""
    found = _kept.pop(shape, None) or Template(shape)
    _kept[shape] = found
    while len(_kept) > 1 and (
        len(_kept) > _KEPT_MAX or sum(one.w.size for one in _kept.values()) > _KEPT_CELLS
    ):
        del _kept[next(iter(_kept))]
    return found


def period_ns(stream: ProduceStream) -> int:
    """Time between two batches of a stream, in nanoseconds."""
    return max(1000, round(1e9 * stream.records_per_batch / stream.records_per_s))


def _most_records(stream: ProduceStream) -> int:
    """How many records a request of a stream holds at most: whole batches, one in any case."""
    batch = stream.records_per_batch
    return max(batch, REQUEST_BYTES_MAX // stream.record_bytes // batch * batch)
