"""The cells that all scenarios of a shape have in common, laid out once.

A scenario copies them and writes what is its own (`encoder`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.kafka.fetcher import java_string_hash
from isr_pipeline.kafka.quota import Lag
from isr_pipeline.kafka.rows import LINE, Array
from isr_pipeline.scenarios.faults import us
from isr_pipeline.simulation.shortcuts.motions import motions_of
from isr_pipeline.simulation.world.columns import header_of, numbers_of, table_of, width_of
from isr_pipeline.simulation.world.states import Depends, FetchState, RequestKind, Slot, ThreadState
from isr_pipeline.simulation.world.tables import (
    EPOCHS_MAX,
    INF,
    KIND_BITS,
    LOG_DIRS_MAX,
    MAX_RF,
    REQUESTS_PER_STREAM,
    REQUESTS_PER_THREAD,
    SLOT_BITS,
    SLOT_MASK,
    World,
)
from isr_pipeline.worlds.entities import begins_of, walk_order
from isr_pipeline.worlds.memory import Memory

if TYPE_CHECKING:
    from isr_pipeline.scenarios.streams import ProduceStream
    from isr_pipeline.worlds.size import Shape

AHEAD_CELLS = 1 << 19
"""Cells of a world from which on it is larger than a core's own caches."""


class Places:
    """Hands out places in the array; ``size`` is what they take together."""

    def __init__(self, first: int) -> None:
        self.size = first

    def place(self, count: int) -> int:
        """Reserve ``count`` cells from a cache line's beginning on."""
        start = -(-self.size // LINE) * LINE
        self.size = start + max(1, count)
        return start


class Template:
    """The cells that all scenarios of a shape have in common. Nobody changes them.

    Every method is one table. What is a scenario's own is 0 here.

    Attributes:
        w: the array up to the ledgers.
        due: when each slot fires first, in microseconds, by its number.
        slot0: number of the first slot of each kind.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.entities = shape.entities
        self.threads = shape.threads
        self.row0 = self.entities.row0
        counts = shape.slots
        self.slot0 = dict(
            zip(counts, begins_of(np.array([*counts.values()])).tolist(), strict=True)
        )
        self.due = np.full(sum(counts.values()), INF, dtype=np.int64)
        self._places()
        self._brokers()
        self._partitions()
        self._replicas()
        self._threads()
        self._requests()
        self._streams()
        faults = table_of(self.w, "faults")
        faults["slot"] = self._slots(Slot.FAULT, faults.places)
        numbers = np.arange(shape.faults)
        faults["touched"] = self._at("touched", numbers * len(self.entities.partitions))

    @cached_property
    def motions(self) -> Array:
        """How each cell may move while the world repeats; asked for where it can."""
        return motions_of(self.w)

    def _places(self) -> None:
        """The array, with its header."""
        entities = self.entities
        tables = Places(World.cells_of["tree"].place + 2 * len(self.due))
        places = {name: tables.place(cells) for name, cells in self.shape.tables.items()}
        places["ledgers"] = tables.place(0)
        self.places = places
        self.w = np.zeros(places["ledgers"], dtype=np.int64)
        self.w[: World.size] = self.shape.header.memory
        header_of(self.w).begin(**places)
        self.world = world = World(self.w)
        world.compared_cells = places["entities"]
        world.tree_size = 2 * len(self.due)
        world.last_stream = world.streams
        world.fetches_ahead = tables.size > AHEAD_CELLS
        world.least_isr = entities.members.min()
        if (entities.members < entities.rfs).any():
            world.depends_on = Depends.OUTSIDE

    def _at(self, name: str, numbers: Array) -> Array:
        """Places of a table's rows, or of numbers, by their numbers."""
        places: Array = self.places[name] + numbers * width_of(name)
        return places

    def senders_at(self, numbers: Array) -> Array:
        """Places of network threads, by their numbers among those of all brokers."""
        return self._at("senders", numbers)

    def _slots(self, kind: Slot, who: Array) -> Array:
        """Slots of all entities of a kind; they stand for the places ``who``."""
        numbers = self.slot0[kind] + np.arange(len(who), dtype=np.int64)
        slots: Array = (len(self.due) + numbers) << SLOT_BITS | numbers
        numbers_of(self.w, "entities")[numbers] = who << KIND_BITS | kind
        numbers_of(self.w, "slots")[numbers] = slots
        return slots

    def _brokers(self) -> None:
        world, io, net = self.world, np.array(self.shape.io), np.array(self.shape.net)
        of_listeners = net * self.shape.listeners
        none = np.zeros(1, dtype=np.int64)
        world.check_slot = self._slots(Slot.CONTROLLER, none)[0]
        world.sample_slot = self._slots(Slot.SAMPLE, none)[0]
        brokers = table_of(self.w, "brokers")
        numbers = np.arange(len(brokers))
        hosted = np.bincount(self.entities.broker_of_row, minlength=len(brokers))
        own = np.bincount(self.threads.ends[:, 0], minlength=len(brokers))
        brokers.begin(
            number=numbers,
            handlers=self._at("handlers", begins_of(io)),
            senders=self._at("senders", begins_of(of_listeners)),
            io_threads=io,
            network_threads=net,
            sender_count=of_listeners,
            idle_handlers=io,
            metadata_capacity=4 * hosted + 64,  # `controller._merge_records` leaves two a partition
            hosted=self._at("hosted", begins_of(hosted)),
            hosted_count=hosted,
            threads=self._at("threads_by_broker", begins_of(own)),
            thread_count=own,
            log_dirs_working=self.entities.log_dirs,
            disks=self._at("disks", numbers * LOG_DIRS_MAX),
            quotas=self._at("quotas", 2 * numbers),
            returned_at=self._returned_at(hosted),
            reports=self._at("reports", numbers * len(brokers)),
            tick_slot=self._slots(Slot.TICK, brokers.places),
            session_slot=self._slots(Slot.SESSION, brokers.places),
            log_dir_slot=self._slots(Slot.LOG_DIR, brokers.places),
            alter_slot=self._slots(Slot.ALTER, brokers.places),
            metadata_slot=self._slots(Slot.METADATA, brokers.places),
            client_slot=self._slots(Slot.CLIENT, brokers.places),
            surge_slot=self._slots(Slot.SURGE, brokers.places),
        )
        table_of(self.w, "disks").begin()
        quotas = table_of(self.w, "quotas")
        numbers = np.arange(len(quotas))
        quotas.begin(samples=self._at("quota_samples", numbers * self.shape.samples_of_quota))
        handlers, senders = table_of(self.w, "handlers"), table_of(self.w, "senders")
        handlers.begin(
            broker=np.repeat(brokers.places, io), slot=self._slots(Slot.HANDLER, handlers.places)
        )
        senders.begin(
            broker=np.repeat(brokers.places, of_listeners),
            slot=self._slots(Slot.SENDER, senders.places),
        )

    def _partitions(self) -> None:
        entities = self.entities
        n = len(entities.partitions)
        rfs = entities.rfs
        bursts = np.array([entities.burst_batch(i) for i in range(n)])
        orders = np.array([sum(pos << (4 * pos) for pos in range(rf)) for rf in range(MAX_RF + 1)])
        first = np.array([entities.first_stream.get(i, 0) for i in range(n)])
        log_ends = self._log_ends()
        table_of(self.w, "partitions").begin(
            isr=entities.isrs,
            ledger_start=log_ends,
            begins_cold=log_ends > 0,
            leader=entities.leaders,
            last_leader=entities.leaders,
            min_insync_replicas=entities.min_isr,
            unclean_leader_election=entities.unclean,
            replication_factor=rfs,
            eligible=(1 << rfs) - 1,
            replicas=self._at("replicas", self.row0),
            record_bytes=bursts[:, 1],
            burst_batch_records=bursts[:, 0],
            isr_order=orders[rfs],
            streams=self._at("streams", first),
            stream_count=np.bincount([i for i, _ in entities.streams], minlength=n),
        )

    def _returned_at(self, hosted: Array) -> Array:
        """0 of a broker of which no replica is in sync at the beginning: it is just back."""
        outside = np.bincount(
            self.entities.broker_of_row[self.entities.behind > 0], minlength=len(hosted)
        )
        found: Array = np.where((outside == hosted) & (hosted > 0), 0, -1)
        return found

    def _log_ends(self) -> Array:
        """Where each partition's log ends at 0: who is behind has that many records to fetch."""
        ends: Array = np.maximum(0, np.maximum.reduceat(self.entities.behind, self.row0))
        return ends

    def _replicas(self) -> None:
        """All replicas: who is in the ISR has everything."""
        entities, n = self.entities, self.entities.n_rows
        replicas = table_of(self.w, "replicas")
        numbers = np.arange(n)
        partition = np.repeat(np.arange(len(entities.rfs)), entities.rfs)
        pos = numbers - self.row0[partition]
        leader = entities.leaders[partition]
        broker = entities.broker_of_row
        by_broker = np.argsort(broker, kind="stable")
        hosted = np.bincount(broker, minlength=len(entities.brokers))
        firsts = begins_of(hosted)
        nth = np.empty(n, dtype=np.int64)
        nth[by_broker] = numbers - np.repeat(firsts, hosted)
        log_ends = self._log_ends()[partition]
        log_end = log_ends - np.maximum(0, entities.behind)
        replicas.begin(
            log_end_offset=log_end,
            high_watermark=log_end,
            epoch_start=log_ends,
            recovery_point=log_end,
            broker=self._at("brokers", broker),
            partition=self._at("partitions", partition),
            position=pos,
            replication_factor=entities.rfs[partition],
            followers=self._at("followers", numbers * entities.max_rf),
            epochs=self._at("epochs", numbers * EPOCHS_MAX),
            fetching=self._at("fetching", numbers * entities.max_rf),
            log_dir=entities.dirs_of(nth),
            is_leader=pos == leader,
            leader=leader,
            isr=entities.isrs[partition],
            fetch_state=np.where(pos != leader, FetchState.FETCHING, FetchState.NONE),
        )
        topics = np.array([java_string_hash(name.topic) for name in entities.partitions])
        in_topic = np.array([name.number for name in entities.partitions])
        walked = np.empty(n, dtype=np.int64)
        for first, count in zip(firsts.tolist(), hosted.tolist(), strict=True):
            here = by_broker[first : first + count]
            order = walk_order(topics[partition[here]], in_topic[partition[here]])
            walked[first : first + count] = here[order]
        table_of(self.w, "hosted")["replica"] = replicas.places[walked]

    def _threads(self) -> None:
        """Fetcher threads and what they fetch."""
        entities = self.entities
        ends, counts = self.threads.ends, self.threads.counts
        threads, fetched = table_of(self.w, "threads"), table_of(self.w, "fetched")
        nodes = len(entities.brokers) + 1
        first = begins_of(counts)
        owner = np.repeat(np.arange(len(threads)), counts)
        partition, fpos, lpos = self.threads.partition, self.threads.fpos, self.threads.lpos
        follower, leader = self.row0[partition] + fpos, self.row0[partition] + lpos
        record = leader * entities.max_rf + fpos
        fetched.begin(
            follower=self._at("replicas", follower),
            leader=self._at("replicas", leader),
            record=self._at("followers", record),
            lag=np.where(entities.behind[follower] < 0, Lag.NONE, Lag.UNKNOWN),
        )
        place = np.arange(len(fetched)) - first[owner]
        table_of(self.w, "fetching").put(
            record,
            thread=threads.places[owner],
            place=place,
        )
        of_broker = np.argsort(ends[:, 0], kind="stable")
        table_of(self.w, "threads_by_broker")["thread"] = threads.places[of_broker]
        led = np.bincount(owner[lpos == entities.leaders[partition]], minlength=len(threads))
        slots = self._slots(Slot.THREAD, threads.places)
        self.due[slots[led > 0] & SLOT_MASK] = 0
        requests = np.arange(len(threads)) * REQUESTS_PER_THREAD
        threads.begin(
            follower=self._at("brokers", ends[:, 0]),
            leader=self._at("brokers", ends[:, 1]),
            requests=self._at("requests", requests),
            way=self._at("links", ends[:, 0] * nodes + ends[:, 1]),
            way_back=self._at("links", ends[:, 1] * nodes + ends[:, 0]),
            fetched=self._at("fetched", first),
            fetched_count=counts,
            used_count=led,
            slot=slots,
            state=np.where(led > 0, ThreadState.IDLE, ThreadState.DOWN),
        )

    def _requests(self) -> None:
        """Requests of threads and streams, and the entries of fetches."""
        requests, entries = table_of(self.w, "requests"), table_of(self.w, "entries")
        threads, streams = table_of(self.w, "threads"), table_of(self.w, "streams")
        requests["slot"] = self._slots(Slot.REQUEST, requests.places)
        # a thread's requests have an entry for each of its partitions
        counts = np.repeat(self.threads.counts, REQUESTS_PER_THREAD)
        fetches = requests.part(slice(len(counts)))
        fetches["kind"] = RequestKind.FETCH
        fetches["thread"] = np.repeat(threads.places, REQUESTS_PER_THREAD)
        fetches["entries"] = self._at("entries", begins_of(counts))
        fetches["validated_at"] = -1
        produces = requests.part(slice(len(counts), len(requests) - self.shape.readers))
        produces["kind"] = RequestKind.PRODUCE
        produces["stream"] = np.repeat(streams.places, REQUESTS_PER_STREAM)
        requests.part(slice(len(requests) - self.shape.readers, None))["kind"] = (
            RequestKind.COLD_READ
        )
        of_thread = np.repeat(begins_of(self.threads.counts), REQUESTS_PER_THREAD)
        fetched = np.arange(len(entries)) + np.repeat(of_thread - begins_of(counts), counts)
        entries.begin(bit=1 << self.threads.fpos[fetched])

    def _streams(self) -> None:
        """Produce streams; until their phases are known a batch comes right at their start."""
        entities = self.entities
        table = table_of(self.w, "streams")
        partition = np.array([i for i, _ in entities.streams], dtype=np.int64)
        streams = [stream for _, stream in entities.streams]
        begins = np.array([us(stream.start_ms) for stream in streams], dtype=np.int64)
        lengths = np.array(
            [INF if s.duration_ms is None else us(s.duration_ms) for s in streams],
            dtype=np.int64,
        )
        first = len(self.threads.ends) * REQUESTS_PER_THREAD
        requests = first + np.arange(len(table)) * REQUESTS_PER_STREAM
        table.begin(
            after=table.places,
            partition=self._at("partitions", partition),
            acks_all=[stream.acks == "all" for stream in streams],
            period_ns=[period_ns(stream) for stream in streams],
            batch_records=[stream.records_per_batch for stream in streams],
            record_bytes=[stream.record_bytes for stream in streams],
            request_records_max=[_most_records(stream) for stream in streams],
            counted_from=begins,
            requests=self._at("requests", requests),
            stops_at=np.minimum(begins + lengths, INF),
            leader=np.where(begins > 0, -1, entities.leaders[partition]),
            sends_again=[stream.retries is None for stream in streams],
            delivery_timeout_us=[us(stream.delivery_timeout_ms) for stream in streams],
            slot=self._slots(Slot.STREAM, table.places),
        )


_templates: Memory[Template] = Memory(32, 80_000_000, lambda template: template.w.size)


def template_of(shape: Shape) -> Template:
    """The scenarios of a panel have a few shapes: their faults are one, two, some six."""
    return _templates.get((shape,), lambda: Template(shape))


def period_ns(stream: ProduceStream) -> int:
    """Time between two batches of a stream, in nanoseconds."""
    return max(1000, round(1e9 * stream.records_per_batch / stream.records_per_s))


def _most_records(stream: ProduceStream) -> int:
    """How many records a request of a stream holds at most: whole batches, one in any case."""
    batch = stream.records_per_batch
    return max(batch, stream.request_bytes // stream.record_bytes // batch * batch)
