"""How large a scenario's world is, reckoned before anything of it is laid out.

A night's tasks are spread over workers for hours; what does not fit is refused while it is planned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from isr_pipeline.base.errors import InputError
from isr_pipeline.kafka.quota import room_for
from isr_pipeline.scenarios.faults import ColdReader, us
from isr_pipeline.simulation.world.columns import tables_of
from isr_pipeline.simulation.world.states import Slot
from isr_pipeline.simulation.world.tables import (
    LATENCY_SUB_BITS,
    LOG_DIRS_MAX,
    MAX_RF,
    REQUESTS_PER_STREAM,
    REQUESTS_PER_THREAD,
    SLOT_MASK,
    Batch,
    World,
)
from isr_pipeline.worlds.choices import BY_FOLLOWER, BY_LEADER, choices_for
from isr_pipeline.worlds.entities import entities_of, threads_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.worlds.choices import Choices
    from isr_pipeline.worlds.entities import Entities, Threads

EVENT_BUDGET = 100_000_000
"""Events after which a run is given up, for each so many replicas or part of them."""

REPLICAS_OF_A_BUDGET = 1000
LEDGER_MAX = 1 << 16
BYTES_MAX = 4_000_000_000
COPIES = 4  # of a world's tables: of two shapes, of its scenario, and the one that runs
JUMPS = 5  # times the tables: two snapshots, three lists of what moved, and motions
LEDGERS_MAX = 1 << 27  # cells of all of them, one gigabyte


@dataclass(frozen=True, eq=False)
class Shape:
    """How many there are of each in a world: what its tables' places depend on.

    Attributes:
        entities: what stands in the scenario.
        fetchers, io, net: num.replica.fetchers, num.io.threads, num.network.threads of each broker.
        listeners: 2 where replication has one of its own, whose network threads it has alone.
        faults: how many; ``readers``: connections of all cold readers among them.
        latency_buckets: of each histogram of latencies.
        samples_of_quota: room of each replication quota, 0 where no replica is throttled.
    """

    entities: Entities
    fetchers: tuple[int, ...]
    io: tuple[int, ...]
    net: tuple[int, ...]
    listeners: int
    faults: int
    readers: int
    latency_buckets: int
    samples_of_quota: int

    @cached_property
    def threads(self) -> Threads:
        """Fetcher threads, and what each can fetch."""
        return threads_of(self.entities, self.fetchers)

    @cached_property
    def slots(self) -> dict[Slot, int]:
        """How many slots there are of each kind, by their numbers."""
        nb, ns = len(self.entities.brokers), len(self.entities.streams)
        nt = len(self.threads.ends)
        return {
            Slot.FAULT: self.faults,
            Slot.TICK: nb,
            Slot.CONTROLLER: 1,
            Slot.SESSION: nb,
            Slot.LOG_DIR: nb,
            Slot.ALTER: nb,
            Slot.METADATA: nb,
            Slot.HANDLER: sum(self.io),
            Slot.SENDER: sum(self.net) * self.listeners,
            Slot.THREAD: nt,
            Slot.REQUEST: nt * REQUESTS_PER_THREAD + ns * REQUESTS_PER_STREAM + self.readers,
            Slot.STREAM: ns,
            Slot.CLIENT: nb,
            Slot.SURGE: nb,
            Slot.SAMPLE: 1,
        }

    @cached_property
    def header(self) -> World:
        """A header that says how many there are of each, and nothing else."""
        entities, slots = self.entities, self.slots
        world = World(np.zeros(World.size, dtype=np.int64))
        world.broker_count = len(entities.brokers)
        world.partition_count = len(entities.partitions)
        world.replica_count = entities.n_rows
        world.replicas_max = entities.max_rf
        world.thread_count = slots[Slot.THREAD]
        world.stream_count = slots[Slot.STREAM]
        world.fault_count = self.faults
        world.slot_count = sum(slots.values())
        world.handler_count = slots[Slot.HANDLER]
        world.sender_count = slots[Slot.SENDER]
        world.request_count = slots[Slot.REQUEST]
        world.fetched_count = len(self.threads.partition)
        world.latency_buckets = self.latency_buckets
        world.samples_of_quota = self.samples_of_quota
        return world

    @cached_property
    def tables(self) -> dict[str, int]:
        """Cells of each table that a world begins with, in their order."""
        return dict(tables_of(self.header))

    def formula(self) -> str:
        """How the entities, which have a slot each, are reckoned."""
        slots, brokers = self.slots, len(self.entities.brokers)
        threads, streams = slots[Slot.THREAD], slots[Slot.STREAM]
        others = self.faults + self.readers + slots[Slot.CONTROLLER] + slots[Slot.SAMPLE]
        count = self.header.slot_count
        requests = slots[Slot.REQUEST] - self.readers
        of_brokers = count - others - threads - streams - requests
        each, rest = divmod(of_brokers, brokers)
        broker = f"{of_brokers} of" if rest else f"{each} x"
        return (
            f"{count} entities = {1 + REQUESTS_PER_THREAD} x {threads} fetcher threads"
            f" + {1 + REQUESTS_PER_STREAM} x {streams} streams"
            f" + {broker} {brokers} brokers + {others}"
        )

    def bytes(self, horizon_ms: float) -> int:
        """Memory of a worker with such a world: copies of its tables, ledgers, jumps."""
        batches = np.minimum(batches_of(self.entities, horizon_ms), LEDGER_MAX)
        ledgers = min(int(batches.sum()) * Batch.size, LEDGERS_MAX)
        return 8 * ((COPIES + JUMPS) * sum(self.tables.values()) + ledgers)


def event_budget(entities: Entities) -> int:
    """Events after which a run is given up, if nobody says otherwise."""
    return EVENT_BUDGET * -(-entities.n_rows // REPLICAS_OF_A_BUDGET)


def batches_of(entities: Entities, horizon_ms: float) -> npt.NDArray[np.float64]:
    """Batches that each partition's streams can send, with some to spare."""
    batches = np.full(len(entities.partitions), 64.0)
    partitions, rates, sizes = entities.loads
    np.add.at(batches, partitions, 1.1 * (horizon_ms / 1000) * rates / sizes)
    return batches


def buckets_up_to(latency_us: int) -> int:
    """Buckets of a histogram with room for latencies up to this one, in whole octaves."""
    octaves = max(0, latency_us.bit_length() - LATENCY_SUB_BITS - 1)
    return (octaves + 2) << LATENCY_SUB_BITS


def shape_of(scenario: Scenario, choices: Choices) -> Shape:
    """Shape of a scenario's world under its configuration."""
    entities, faults = entities_of(scenario), len(scenario.faults)
    buckets = buckets_up_to(us(scenario.horizon_ms))
    listeners = 2 if scenario.cluster.replication_listener else 1
    ring = room_for(choices.quota_samples) if throttles(scenario, choices) else 0
    readers = sum(f.connections for f in scenario.faults if isinstance(f, ColdReader))
    counts = choices.fetchers, choices.io, choices.net
    return _shape(entities, *counts, listeners, faults, readers, buckets, ring)


_shape = lru_cache(maxsize=32)(Shape)


def throttles(scenario: Scenario, choices: Choices) -> bool:
    """Whether a replica may be throttled."""
    return any(choices.throttled) or any(
        topic.settings.get(key) for topic in scenario.topics for key in (BY_LEADER, BY_FOLLOWER)
    )


def check_size(scenario: Scenario, where: str) -> None:
    """Refuse a scenario under its configuration whose world does not fit.

    Raises:
        InputError: more replicas or log dirs than a row has room for, more entities than there are
            numbers of slots, or more memory than a worker should take; the line has the formula.
    """
    most, cluster = entities_of(scenario).max_rf, scenario.cluster
    if most > MAX_RF:
        raise InputError(where, "topics", f"{most} replicas", f"at most {MAX_RF}")
    for broker in cluster.brokers:
        dirs = cluster.log_dirs_of(broker)
        if dirs > LOG_DIRS_MAX:
            named = broker in cluster.log_dirs
            field = f"cluster.log_dirs.{broker}" if named else "cluster.log_dirs_per_broker"
            raise InputError(where, field, dirs, f"1..{LOG_DIRS_MAX}")
    shape = shape_of(scenario, choices_for(scenario))
    if shape.header.slot_count > SLOT_MASK:
        raise InputError(where, "topics", shape.formula(), f"at most {SLOT_MASK}")
    needed = shape.bytes(scenario.horizon_ms)
    if needed > BYTES_MAX:
        given = f"{needed / 1e9:.1f} GB a worker"
        given += f" ({shape.formula()}; horizon_ms {scenario.horizon_ms:g})"
        raise InputError(where, "topics", given, f"at most {BYTES_MAX / 1e9:g} GB")
