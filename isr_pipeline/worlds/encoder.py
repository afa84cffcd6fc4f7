"""A scenario and its configuration as the flat array that the kernel runs on.

Every cell is declared in `simulation.world.tables`; this module only fills them in. All
randomness that healthy parts need (phases) is spent here, by hashing the scenario's seed with what
it is for, so that another configuration never shifts the draws of another entity.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.base.compiling import is_exact
from isr_pipeline.kafka.election import Change, waits_for_imbalance
from isr_pipeline.kafka.quota import Throttled
from isr_pipeline.kafka.recovery import Lost
from isr_pipeline.kafka.rows import LINE, Array
from isr_pipeline.kafka.throttled_replicas import names_replica
from isr_pipeline.scenarios.faults import (
    ClientSurge,
    ColdReader,
    ControllerOutage,
    Crash,
    Window,
    us,
)
from isr_pipeline.simulation.clients import METADATA_MAX_AGE_US
from isr_pipeline.simulation.world import tables
from isr_pipeline.simulation.world.columns import Table, header_of, numbers_of, table_of
from isr_pipeline.simulation.world.start import begin_world
from isr_pipeline.simulation.world.states import Slot, Standing
from isr_pipeline.simulation.world.tables import (
    INF,
    LOG_DIRS_MAX,
    Batch,
    Event,
    MetadataRecord,
    Queued,
)
from isr_pipeline.worlds.choices import BY_FOLLOWER, BY_LEADER, choices_for, first_flags, flags_of
from isr_pipeline.worlds.entities import begins_of, entities_of
from isr_pipeline.worlds.fault_rows import ENCODINGS
from isr_pipeline.worlds.load import client_period_ns, common_period_us
from isr_pipeline.worlds.memory import Memory
from isr_pipeline.worlds.size import (
    LEDGER_MAX,
    LEDGERS_MAX,
    batches_of,
    check_size,
    event_budget,
    shape_of,
    throttles,
)
from isr_pipeline.worlds.template import Places, template_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isr_pipeline.kafka.releases import Rules
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.choices import Choices
    from isr_pipeline.worlds.entities import Entities, PartitionNames


EVENTS_LISTED = 20_000
Draws = npt.NDArray[np.uint64]
OF_SCENARIO = ("horizon", "warmup", "seed", "event_budget")
_OF_SCENARIO = [tables.World.cells_of[name].place for name in OF_SCENARIO]
NO_MOTIONS = np.zeros(1, dtype=np.int64)
LEDGER_LEAST = 256  # batches that a partition's ledger has room for, however many partitions
LEDGER_BURST_MAX = 1 << 20  # a burst's batches are all open at once: none may be given up


@dataclass(frozen=True, slots=True)
class World:
    """A world ready to run, and the names of what is in it.

    Attributes:
        w: the flat array.
        rules: the switches; ``switches``: as the kernel reads them.
        partitions: by kernel index, in (topic, partition) order.
        brokers: broker ids by kernel index.
        motions: how each cell may move while the world repeats (`shortcuts.motions`); none where
            it never does.
    """

    w: Array
    rules: Rules
    switches: Array
    partitions: tuple[PartitionNames, ...]
    brokers: tuple[int, ...]
    motions: Array

    @property
    def header(self) -> tables.World:
        """The array's header, from which every row can be read by its name."""
        return tables.World(self.w)


def draws(seed: int, purpose: str, names: Sequence[str]) -> Draws:
    """A number for each entity; it depends on nothing but seed, purpose and name."""
    digests = [
        hashlib.blake2b(f"{seed}|{purpose}|{name}".encode(), digest_size=8).digest()
        for name in names
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def below(drawn: Draws, limits: Array) -> Array:
    """What was drawn as numbers in [0, limit), of one limit each: at least 1."""
    return (drawn % limits.astype(np.uint64)).astype(np.int64)


def ranks_of(drawn: Draws, groups: Array | None) -> Array:
    """Place of each entity among all, or among those of its group, if they stand as drawn."""
    groups = np.zeros(len(drawn), dtype=np.int64) if groups is None else groups
    order = np.lexsort((drawn, groups))
    ranks = np.empty(len(drawn), dtype=np.int64)
    ranks[order] = np.arange(len(drawn))
    firsts = np.searchsorted(groups[order], groups)
    places: Array = ranks - firsts
    return places


def first_ticks(scenario: Scenario, drawn: Draws, periods_us: Array) -> Array:
    """First tick of each broker's isr-expiration task in microseconds, in the kernel's order.

    Args:
        scenario: with its configuration laid over it.
        drawn: for ``isr-expiration``, of each broker.
        periods_us: of each broker's ticks.
    """
    ticks = below(drawn, periods_us)
    given = scenario.cluster.isr_expiration_phase_ms
    if not given:
        return ticks
    brokers = enumerate(scenario.cluster.brokers)
    return np.array([us(given[b]) if b in given else ticks[i] for i, b in brokers], dtype=np.int64)


def _array(size: int, used: Array | None) -> Array:
    """An array for a world: new, or the first cells of one that is no longer used.

    It begins at a cache line, which numpy does not promise.

    Of the tables from the ledgers on, nine tenths of the array, only what has been written is ever
    read: a used array serves as well as one that the system has to clear.
    """
    if used is None or used.size < size:
        cells = np.zeros(size + LINE - 1, dtype=np.int64)
        first = -(cells.ctypes.data // cells.itemsize) % LINE
        return cells[first : first + size]
    return used[:size]


@dataclass(frozen=True, slots=True)
class Settings:
    """What distinguishes the worlds of a scenario's configurations.

    Attributes:
        like: all else. Worlds that agree here have the same layout and the same initial cells,
            except for what `choices` and `keys` say.
        keys: `Choices.keys`, and what the header holds of the scenario itself.
        choices: what the configuration decides by itself.
        entities: what stands in the scenario.
    """

    like: tuple[Any, ...]
    keys: Mapping[str, int]
    choices: Choices
    entities: Entities


# ---------------------------------------------------------------- what a scenario has of its own


class Layout:
    """What the worlds of a scenario have in common: all but keys, rules, and what they decide.

    Attributes:
        w: the array up to the ledgers, copied by each world.
        due: when each slot fires first, in microseconds, by its number; likewise.
        size: cells of a whole array.
        template: what it has in common with other scenarios.
        period_us: time after which batches and client requests come as before; 0 if that is long.
        ticks, heartbeats: drawn for each broker.
    """

    def __init__(
        self, scenario: Scenario, choices: Choices, sample_us: int, events: int, jumps: bool
    ) -> None:
        check_size(scenario, f"scenario {scenario.scenario_id}")
        self.s = scenario
        self.template = template_of(shape_of(scenario, choices))
        self.entities = entities = self.template.entities
        self.w = self.template.w.copy()
        self.world = tables.World(self.w)
        self.brokers = table_of(self.w, "brokers")
        self.partitions = table_of(self.w, "partitions")
        self.due = self.template.due.copy()
        self._places(sample_us, events)
        periods = [*self._clients(choices.clients_per_s), *self._streams()]
        self.period_us = common_period_us(periods) if jumps and not sample_us else 0
        self.world.period_us = self.period_us
        self._logs()
        self._connections()
        self._machines()
        if self.template.shape.samples_of_quota:
            self._throttled(choices.throttled)
        self._faults()
        self._readers()
        self.ticks = draws(scenario.seed, "isr-expiration", entities.broker_names)
        self.heartbeats = draws(scenario.seed, "heartbeat", entities.broker_names)

    def _places(self, sample_us: int, events: int) -> None:
        """Tables that are written before they are read, and the brokers' queues in them.

        Args:
            sample_us: period of the samples, 0 for none.
            events: how many are listed at most.
        """
        world, template = self.world, self.template
        brokers, partitions = self.brokers, self.partitions
        capacities = self._ledger_sizes()
        surges = [f.connections for f in self.s.faults if isinstance(f, ClientSurge)]
        surge = max(surges, default=0)
        # neighbours of the other client requests share a cell, the rest takes one each
        queued = 2 * (world.request_count + surge) + 16
        samples = us(self.s.horizon_ms) // sample_us + 2 if sample_us else 0
        metadata = brokers["metadata_capacity"]
        of_sample = 1 + 2 * len(partitions) + len(brokers)
        behind = Places(world.ledgers.first)
        places = {
            "ledgers": behind.place(int(capacities.sum()) * Batch.size),
            "queues": behind.place(len(brokers) * queued * Queued.size),
            "metadata": behind.place(int(metadata.sum()) * MetadataRecord.size),
            "events": behind.place(events * Event.size),
            "samples": behind.place(samples * of_sample),
            "change": behind.place(Change.size),
        }
        header_of(self.w).put(slice(None), **places)
        self.size = behind.size
        world.events_max = events
        world.sample_period_us = sample_us
        world.samples_max = samples
        if sample_us:
            self.due[template.slot0[Slot.SAMPLE]] = 0
        numbers = np.arange(len(brokers))
        brokers.put(
            slice(None),
            queue=places["queues"] + numbers * queued * Queued.size,
            queue_capacity=queued,
            metadata=places["metadata"] + begins_of(metadata) * MetadataRecord.size,
        )
        ledgers = places["ledgers"] + begins_of(capacities) * Batch.size
        partitions.put(slice(None), ledger=ledgers, ledger_capacity=capacities)

    def _ledger_sizes(self) -> Array:
        """Batches each partition can see at most, within reason."""
        entities = self.entities
        sizes = batches_of(entities, self.s.horizon_ms)
        bursts = np.zeros(len(sizes))
        for fault in self.s.faults:
            more = ENCODINGS[fault.kind].batches
            if more is not None:
                more(sizes, bursts, fault, entities)
        kept = np.minimum(sizes, LEDGER_MAX)
        share = min(1.0, LEDGERS_MAX / Batch.size / kept.sum())
        within = np.maximum(kept * share, np.minimum(kept, LEDGER_LEAST))
        within += np.minimum(bursts, LEDGER_BURST_MAX)
        batches: Array = within.astype(np.int64)
        return batches

    def _first_due(self, kind: Slot, times: Sequence[int] | Array) -> None:
        """When the slots of a kind fire first, if nothing else comes."""
        first = self.template.slot0[kind]
        self.due[first : first + len(times)] = times

    def _clients(self, rates: Sequence[float]) -> list[int]:
        """The brokers' client requests, so many a second; their periods in nanoseconds."""
        periods_ns = [client_period_ns(rate) for rate in rates]
        periods = np.array(periods_ns)
        drawn = draws(self.s.seed, "client", self.entities.broker_names)
        phases = below(drawn, np.maximum(1, periods // 1000))
        self.brokers.put(
            slice(None),
            client_period_ns=periods,
            client_period_us=periods // 1000,
            client_period_rest_ns=periods % 1000,
            client_next=np.where(periods > 0, phases, 0),
        )
        self._first_due(Slot.CLIENT, np.where(periods > 0, phases, INF))
        return periods_ns

    def _streams(self) -> list[int]:
        """First batches of the produce streams; their periods in nanoseconds."""
        streams = table_of(self.w, "streams")
        periods = streams["period_ns"]
        drawn = draws(self.s.seed, "produce", self.entities.stream_names)
        begins = streams["counted_from"] + below(drawn, periods // 1000)
        following = np.where(begins < streams["stops_at"], begins, INF)
        streams.put(
            slice(None),
            counted_from=begins,
            next_batch=following,
            turn=ranks_of(drawn, None),
            metadata_at=-below(drawn, np.full_like(periods, METADATA_MAX_AGE_US)),
        )
        self._first_due(Slot.STREAM, following)
        return list(periods.tolist())

    def _connections(self) -> None:
        """Network thread of its leader that each fetcher thread's connection belongs to.

        Round robin at each broker; who came first is drawn. It is one of the last listener.
        """
        shape, threads = self.template.shape, table_of(self.w, "threads")
        ends = self.template.threads.ends
        net, listeners = np.array(shape.net), shape.listeners
        names = [" ".join(map(str, end)) for end in ends.tolist()]
        turns = ranks_of(draws(self.s.seed, "accept", names), ends[:, 1])
        first = begins_of(net * listeners) + (listeners - 1) * net
        numbers = first[ends[:, 1]] + turns % net[ends[:, 1]]
        threads["sender"] = self.template.senders_at(numbers)

    def _machines(self) -> None:
        """Disks under the brokers' log dirs, and their NICs."""
        cluster = self.s.cluster
        machines = [cluster.hardware_of(broker) for broker in self.entities.brokers]
        rates = [one.disk_write_bytes_per_s or 0 for one in machines]
        dirty = [one.dirty_bytes_max for one in machines]
        reads = [one.disk_read_bytes_per_s or 0 for one in machines]
        seeks = [one.disk_seek_us or 0 for one in machines]
        table_of(self.w, "disks").put(
            slice(None),
            write_bytes_per_s=np.repeat(rates, LOG_DIRS_MAX),
            read_bytes_per_s=np.repeat(reads, LOG_DIRS_MAX),
            seek_us=np.repeat(seeks, LOG_DIRS_MAX),
            dirty_bytes_max=np.repeat(dirty, LOG_DIRS_MAX),
        )
        # without a speed of reads it does not matter what is cold
        caches = [(one.cache_bytes or INF) * bool(one.disk_read_bytes_per_s) for one in machines]
        self.brokers.put(slice(None), cache_bytes=caches)
        self.partitions.put(slice(None), clock_of=self.entities.leaders)
        nics = np.array([one.nic_bytes_per_s or 0 for one in machines])
        self.brokers["nic_bytes_per_s"] = nics
        self.world.has_nics = bool(nics.any())

    def _throttled(self, cluster: tuple[str, str]) -> None:
        """Which replicas the brokers' replication quotas count.

        Args:
            cluster: lists of throttled replicas for topics that have none of their own.
        """
        entities, threads = self.entities, self.template.threads
        topics = {topic.name: topic.settings for topic in self.s.topics}
        found = np.zeros(len(threads.partition), dtype=np.int64)
        sides = ((BY_LEADER, threads.lpos), (BY_FOLLOWER, threads.fpos))
        for bit, (key, positions), default in zip(Throttled, sides, cluster, strict=True):
            for i, (number, pos) in enumerate(zip(threads.partition, positions, strict=True)):
                name = entities.partitions[number]
                text = str(topics[name.topic].get(key, default))
                if text and names_replica(text, name.number, name.replicas[pos]):
                    found[i] |= bit
        table_of(self.w, "fetched")["throttled"] = found

    def _logs(self) -> None:
        """Where logs end that are not empty: followers that bootstrap have a way to go."""
        fault: Any
        for fault in self.s.faults:
            if ENCODINGS[fault.kind].fills_log:
                number = self.entities.p_index[fault.topic, fault.partition]
                partition = self.world.partitions[number]
                partition.ledger_start += fault.records
                partition.begins_cold = 1
                for pos in range(partition.replication_factor):
                    replica = partition.replicas[pos]
                    replica.log_end_offset += fault.records
                    replica.high_watermark += fault.records
                    replica.epoch_start += fault.records
                    replica.recovery_point += fault.records

    # ---------------------------------------------------------------- faults

    def _faults(self) -> None:
        world, rows = self.world, self.world.faults
        touched = numbers_of(self.w, "touched").reshape(-1, len(self.partitions))
        by_broker: list[list[int]] = [[] for _ in self.entities.brokers]
        due = []
        for n, fault in enumerate(self.s.faults):
            row = rows[n]
            fields = vars(fault)  # asking a model for a field that it has not takes microseconds
            encoding = ENCODINGS[fault.kind]
            row.kind, row.touches = encoding.number, encoding.touches
            row.start = us(fault.start_ms)
            row.end = row.start + us(fields.get("duration_ms") or 0)
            broker = fields.get("broker")
            if broker is not None:
                i = self.entities.index[broker]
                row.broker = world.brokers[i]
                if encoding.on_disk:
                    by_broker[i].append(n)
            self._touched_partitions(touched[n], row, fields)
            encoding.values(row, fault, self.entities)
            if isinstance(fault, Crash) and not row.recovery_bytes_per_s and broker is not None:
                machine = self.s.cluster.hardware_of(broker)
                row.recovery_bytes_per_s = machine.disk_read_bytes_per_s or 0
            empty = isinstance(fault, Window) and row.end == row.start
            if row.lost == Lost.TAIL:
                row.flushed_at = self._last_flush(fault, row.start)
            begins = row.flushed_at if row.lost == Lost.TAIL else row.start
            of_controller = isinstance(fault, ControllerOutage)  # a session may outlast it
            due.append(INF if empty and not (of_controller and broker is not None) else begins)
        self._first_due(Slot.FAULT, due)
        numbers = [n for those in by_broker for n in those]
        counts = np.array([len(those) for those in by_broker])
        numbers_of(self.w, "disk_faults")[: len(numbers)] = numbers
        first = world.disk_faults.first + begins_of(counts)
        self.brokers.put(slice(None), disk_faults=first, disk_fault_count=counts)

    def _readers(self) -> None:
        """Connections of cold readers: one after the other they belong to the network threads."""
        world = self.world
        rows = table_of(self.w, "requests")
        next_row = len(rows) - self.template.shape.readers
        for n, fault in enumerate(self.s.faults):
            if not isinstance(fault, ColdReader):
                continue
            row = world.faults[n]
            row.readers = world.requests[next_row]
            first = int(draws(self.s.seed, "accept", [f"reader {n}"])[0] % 1024)
            dirs = self.s.cluster.log_dirs_of(fault.broker)
            for k in range(fault.connections):
                request = world.requests[next_row + k]
                request.reader = row
                request.turn = first + k
                request.log_dir = k % dirs if fault.log_dir is None else fault.log_dir
            next_row += fault.connections

    def _last_flush(self, crash: Any, start: int) -> int:
        """When the operating system last wrote out the logs of a machine that dies at ``start``."""
        drawn = draws(self.s.seed, "flush", [f"{crash.broker} {start}"])
        since = below(drawn, np.array([us(crash.flush_ms)]))
        return max(0, start - int(since[0]))

    def _touched_partitions(
        self, touched: Array, row: tables.Fault, fields: Mapping[str, Any]
    ) -> None:
        """Which partitions the fault concerns: all, those named, or its own one."""
        entities = self.entities
        named, topic = fields.get("partitions"), fields.get("topic")
        if named == "all" or ("broker" in fields and named is None and topic is None):
            row.all_partitions = 1
        elif named is not None:
            for text in named:
                name, _, number = text.rpartition("-")
                touched[entities.p_index[name, int(number)]] = 1
        elif topic is not None and fields["partition"] == "all":
            touched[[i for i, name in enumerate(entities.partitions) if name.topic == topic]] = 1
        elif topic is not None:
            row.partition = entities.p_index[topic, fields["partition"]]
            touched[row.partition] = 1


# ---------------------------------------------------------------- a world


_layouts: Memory[Layout] = Memory(2, 1 << 24, lambda layout: layout.w.size)
"""A panel's configurations come scenario by scenario, and few of them (another
num.replica.fetchers) need a layout of their own."""


def lay_out(scenario: Scenario, settings: Settings, layout: Layout, used: Array | None) -> World:
    """Copy a layout, and write what the configuration decides.

    Args:
        scenario: with its configuration laid over it.
        settings: of the world.
        layout: of it and of worlds like it.
        used: the array of a world that is no longer used.
    """
    choices, slot0 = settings.choices, layout.template.slot0
    w = _array(layout.size, used)
    w[: layout.w.size] = layout.w
    due = layout.due.copy()
    places, values = choices.of_world
    w[places] = values
    w[_OF_SCENARIO] = [settings.keys[name] for name in OF_SCENARIO]
    brokers = _same(layout.brokers, w)
    places, values = choices.of_brokers
    brokers.cells[:, places] = values
    ticks = first_ticks(scenario, layout.ticks, choices.own["tick_period_us"])
    due[slot0[Slot.TICK] : slot0[Slot.TICK] + len(brokers)] = ticks
    # the session began before the scenario
    period = choices.own["heartbeat_us"]
    heard = below(layout.heartbeats, period) - period
    brokers.put(slice(None), tick_due=ticks, last_heartbeat=heard)
    if scenario.cluster.rack_rtt_ms:
        _add_distances(scenario, w)
    if settings.entities.leaders.any() or not waits_for_imbalance(choices.rules):
        due[slot0[Slot.CONTROLLER]] = settings.keys["imbalance_check_us"]
    _same(layout.partitions, w)["flags"] = _first_flags(settings)
    begin_world(w, choices.switches, due)
    motions = layout.template.motions if layout.period_us else NO_MOTIONS
    names = settings.entities
    return World(w, choices.rules, choices.switches, names.partitions, names.brokers, motions)


def _same(table: Table[Any], w: Array) -> Table[Any]:
    """The same table of another array."""
    return Table(w, table.row, table.first, len(table))


def _first_flags(settings: Settings) -> Array:
    """Conditions of the partitions at 0."""
    entities, choices = settings.entities, settings.choices
    flags: Array = choices.flags[entities.rfs]
    for own in entities.own_min_isrs:
        those = entities.min_isr == own
        flags[those] = first_flags(choices.rules, own)[entities.rfs[those]]
    for i in entities.incomplete:
        fewest = int(entities.min_isr[i]) or settings.keys["min_insync_replicas"]
        members, rf = int(entities.members[i]), int(entities.rfs[i])
        flags[i] = Standing.UNDER_REPLICATED | flags_of(choices.rules, fewest, rf, members)
    return flags


def _add_distances(scenario: Scenario, w: Array) -> None:
    """Write what the brokers' racks add to each way between two of them, before any fault."""
    cluster = scenario.cluster
    half = tables.World(w).half_rtt_us
    ways = {}
    for pair in cluster.rack_rtt_ms:
        ways[tuple(sorted(pair.between))] = us(pair.rtt_ms) // 2 - half
    racks = [cluster.racks.get(broker, "") for broker in cluster.brokers]
    nodes = len(racks) + 1
    distances = numbers_of(w, "rack_distances").reshape(nodes, nodes)
    for i, rack in enumerate(racks):
        distances[i, :-1] = [ways.get(tuple(sorted((rack, other))), 0) for other in racks]
    table_of(w, "links")["added_us"] = distances.reshape(-1)


def encode(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int | None = None,
    jumps: bool = True,
) -> World:
    """Lay a checked scenario out for the kernel.

    Args:
        scenario: the scenario with its configuration laid over it.
        events: list the events.
        sample_ms: period of the samples of LEO, HW and queues for a trace; 0 for none.
        budget: events after which the kernel gives up; `size.event_budget` if not said.
        jumps: let the kernel jump over stretches that repeat (same result, much less work), unless
            `compiling.is_exact`.

    Raises:
        InputError: the world does not fit (`size.check_size`).
    """
    _, laid_out = prepare(scenario, events=events, sample_ms=sample_ms, budget=budget, jumps=jumps)
    return laid_out(None)


def prepare(
    scenario: Scenario,
    *,
    events: bool = False,
    sample_ms: float = 0,
    budget: int | None = None,
    jumps: bool = True,
) -> tuple[Settings, Callable[[Array | None], World]]:
    """As `encode`, in two steps: the settings, and what lays the world out if that is needed.

    What lays it out is given the array of a world that is no longer used, if there is one.
    """
    cluster, sample_us, listed = scenario.cluster, us(sample_ms), EVENTS_LISTED if events else 0
    choices, entities = choices_for(scenario), entities_of(scenario)
    jumps = jumps and not is_exact()
    like = (
        scenario.seed,
        entities,
        (scenario.horizon_ms, sample_us, listed, jumps),
        (choices.fetchers, choices.io, choices.net, choices.clients_per_s),
        (cluster.isr_expiration_phase_ms, cluster.broker_settings, cluster.broker_service),
        (cluster.racks, cluster.rack_rtt_ms) if cluster.rack_rtt_ms else (),
        cluster.replication_listener,
        (cluster.hardware, tuple(cluster.broker_hardware.items())),
        scenario.faults,
        (choices.throttled, choices.quota_samples) if throttles(scenario, choices) else (),
    )
    keys = {
        **choices.keys,
        "horizon": us(scenario.horizon_ms),
        "warmup": us(scenario.warmup_ms),
        "seed": scenario.seed,
        "event_budget": event_budget(entities) if budget is None else budget,
    }
    settings = Settings(like, keys, choices, entities)

    def laid_out(used: Array | None) -> World:
        layout = _layouts.get(like, lambda: Layout(scenario, choices, sample_us, listed, jumps))
        return lay_out(scenario, settings, layout, used)

    return settings, laid_out


def planned_ticks(scenario: Scenario) -> dict[int, tuple[float, float]]:
    """Broker -> its first tick and its period, both in ms.

    A walk that waits for a lock ends later, and a broker that returns begins anew at its start.

    Args:
        scenario: its configuration laid over it.
    """
    periods_us = choices_for(scenario).own["tick_period_us"]
    entities = entities_of(scenario)
    drawn = draws(scenario.seed, "isr-expiration", entities.broker_names)
    firsts = first_ticks(scenario, drawn, periods_us)
    return {
        broker: (int(first) / 1000, int(period) / 1000)
        for broker, first, period in zip(entities.brokers, firsts, periods_us, strict=True)
    }
