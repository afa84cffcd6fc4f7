"""What stands in a scenario, in the kernel's order: brokers, partitions, streams, fetcher threads.

All scenarios of a panel share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.fetcher import fetcher_hash
from isr_pipeline.simulation.world.states import OwnSetting
from isr_pipeline.worlds.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isr_pipeline.scenarios.model import Cluster, Scenario, Topic
    from isr_pipeline.scenarios.streams import ProduceStream

Array = npt.NDArray[np.int64]

DEFAULT_RECORD_BYTES = 100


def begins_of(counts: Array) -> Array:
    """Where each group begins, of groups of so many that stand one behind the other."""
    begins: Array = np.cumsum(counts) - counts
    return begins


@dataclass(frozen=True, slots=True)
class PartitionNames:
    """What the kernel's partition index stands for."""

    topic: str
    number: int
    replicas: tuple[int, ...]


def walk_order(topics: Array, numbers: Array) -> Array:
    """Order in which the tick walks a broker's partitions.

    That of a Java ConcurrentHashMap of TopicPartition: buckets in turn, within one by creation.

    Args:
        topics: `java_string_hash` of each partition's topic, in order of creation.
        numbers: of the partitions in their topics.

    Returns:
        Indexes into both.
    """
    size = 16
    while len(numbers) >= size * 3 // 4:
        size *= 2
    hashes = (31 * (31 + numbers) + topics) & 0xFFFFFFFF
    return np.argsort((hashes ^ (hashes >> 16)) & (size - 1), kind="stable")


@dataclass(frozen=True, eq=False)
class Entities:
    """What stands in a scenario, in the kernel's order; all scenarios of a panel share it.

    Attributes:
        brokers: ids; ``index``: of an id among them; ``broker_names``: what their times are
            hashed by.
        partitions: all; ``p_index``: of a (topic, number) among them.
        streams: (partition, stream), grouped by partition; ``stream_names`` likewise.
        first_stream: of a partition that has any.
        n_rows: replicas of all partitions; ``max_rf``: most of one.
        rfs: replicas of each partition; ``row0``: number of its first one.
        broker_of_row: index of each replica's broker.
        leaders: position of each partition's first leader among its replicas.
        min_isr: of each partition, the topic's own min.insync.replicas, 0 if it has none.
        unclean: likewise its own unclean.leader.election.enable, or `OwnSetting.SILENT`.
        log_dirs: how many each broker has.
        placed: log dir of each replica as its topic says, -1 where it does not.
        behind: of each replica outside the ISR at the beginning, how many records it is behind
            its leader; -1 of all others.
        isrs: of each partition the ISR at the beginning; ``members``: how many are in it.
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
    rfs: Array
    row0: Array
    broker_of_row: Array
    leaders: Array
    min_isr: Array
    unclean: Array
    log_dirs: Array
    placed: Array
    behind: Array
    isrs: Array
    members: Array

    @cached_property
    def own_min_isrs(self) -> list[int]:
        """Different min.insync.replicas that topics have of their own."""
        return sorted(set(self.min_isr.tolist()) - {0})

    @cached_property
    def incomplete(self) -> list[int]:
        """Partitions with a replica outside the ISR at the beginning."""
        return list(np.flatnonzero(self.members < self.rfs).tolist())

    @cached_property
    def loads(self) -> tuple[Array, npt.NDArray[np.float64], Array]:
        """Of each stream the partition, and records a second and a batch."""
        streams = [stream for _, stream in self.streams]
        return (
            _numbers(partition for partition, _ in self.streams),
            np.array([stream.records_per_s for stream in streams], dtype=np.float64),
            _numbers(stream.records_per_batch for stream in streams),
        )

    def dirs_of(self, nth: Array) -> Array:
        """Log dir of each replica: where its topic says, else round robin on its broker.

        Args:
            nth: of each replica, how many stand before it on its broker.
        """
        robin = nth % self.log_dirs[self.broker_of_row]
        return np.where(self.placed < 0, robin, self.placed)

    def burst_batch(self, partition: int) -> tuple[int, int]:
        """(records a batch, bytes a record) of a partition's first stream; 1 and 100 if idle."""
        first = self.first_stream.get(partition)
        if first is None:
            return 1, DEFAULT_RECORD_BYTES
        stream = self.streams[first][1]
        return stream.records_per_batch, stream.record_bytes


def _list_of(cluster: Cluster, topics: tuple[Topic, ...], load_factor: float) -> Entities:
    """List what stands in such a cluster."""
    brokers = cluster.brokers
    partitions: list[PartitionNames] = []
    streams: list[tuple[int, ProduceStream]] = []
    stream_names: list[str] = []
    leaders: list[int] = []
    min_isr: list[int] = []
    unclean: list[int] = []
    placed: list[int] = []
    behind: list[int] = []
    for topic in sorted(topics, key=lambda t: t.name):
        rates = [stream.rates() for stream in topic.produce]
        own = topic.settings
        for number, replicas in sorted(topic.assignment.items()):
            for j, stream in enumerate(topic.produce):
                rate = load_factor * rates[j].get(number, stream.records_per_s)
                wanted = stream.partitions is None or number in stream.partitions
                if wanted and rate > 0:
                    streams.append((len(partitions), stream.at(rate)))
                    stream_names.append(f"{topic.name}|{number}|{j}")
            partitions.append(PartitionNames(topic.name, number, replicas))
            leaders.append(replicas.index(topic.leaders.get(number, replicas[0])))
            min_isr.append(int(own.get("min.insync.replicas", 0)))
            unclean.append(int(own.get("unclean.leader.election.enable", OwnSetting.SILENT)))
            placed.extend(topic.log_dirs.get(number, (-1,) * len(replicas)))
            missing = topic.behind.get(number, {})
            behind.extend(missing.get(broker, -1) for broker in replicas)
    index = {b: i for i, b in enumerate(brokers)}
    rfs = _numbers(len(p.replicas) for p in partitions)
    broker_of_row = _numbers(index[broker] for p in partitions for broker in p.replicas)
    in_isr = _numbers(behind) < 0
    row0 = begins_of(rfs)
    pos = np.arange(len(in_isr)) - np.repeat(row0, rfs)
    return Entities(
        brokers,
        index,
        tuple(str(broker) for broker in brokers),
        tuple(partitions),
        {(p.topic, p.number): i for i, p in enumerate(partitions)},
        streams,
        tuple(stream_names),
        {i: n for n, (i, _) in reversed(list(enumerate(streams)))},
        len(broker_of_row),
        int(rfs.max()),
        rfs,
        row0,
        broker_of_row,
        _numbers(leaders),
        _numbers(min_isr),
        _numbers(unclean),
        _numbers(cluster.log_dirs_of(broker) for broker in brokers),
        _numbers(placed),
        _numbers(behind),
        np.add.reduceat(np.where(in_isr, 1 << pos, 0), row0),
        np.add.reduceat(in_isr.astype(np.int64), row0),
    )


def _numbers(values: Iterable[int]) -> Array:
    return np.array(list(values), dtype=np.int64)


_listed: Memory[Entities] = Memory(8)


def entities_of(scenario: Scenario) -> Entities:
    """List what stands in a scenario; a panel's scenarios and their configurations share it."""
    topics, cluster, factor = scenario.topics, scenario.cluster, scenario.load_factor
    dirs = (cluster.log_dirs_per_broker, cluster.log_dirs)
    return _listed.get(
        (topics, cluster.brokers, dirs, factor), lambda: _list_of(cluster, topics, factor)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Threads:
    """Fetcher threads that can ever have a partition, and what each can fetch.

    Attributes:
        ends: (follower's index, leader's, fetcher id) of each thread.
        counts: how many fetched partitions each has.
        partition, fpos, lpos: fetched partitions, thread by thread: the partition, and the
            positions of follower and leader in its assignment.
    """

    ends: Array
    counts: Array
    partition: Array
    fpos: Array
    lpos: Array


def threads_of(entities: Entities, fetchers: tuple[int, ...]) -> Threads:
    """Fetcher threads, in the order in which partitions first need them. Nobody changes them.

    Args:
        entities: those of a cluster.
        fetchers: num.replica.fetchers of each broker.
    """
    rfs, broker = entities.rfs, entities.broker_of_row
    row0 = entities.row0
    # all pairs of replicas of a partition, by partition, follower, leader
    of_row = np.repeat(np.arange(len(rfs)), rfs)
    partition = np.repeat(of_row, rfs[of_row])
    follower = np.repeat(np.arange(entities.n_rows), rfs[of_row])
    firsts = begins_of(rfs[of_row])
    fpos = follower - row0[partition]
    lpos = np.arange(len(partition)) - np.repeat(firsts, rfs[of_row])
    pairs = np.flatnonzero(fpos != lpos)
    partition, fpos, lpos = partition[pairs], fpos[pairs], lpos[pairs]
    hashes = np.array(
        [fetcher_hash(name.topic, name.number) for name in entities.partitions], dtype=np.int64
    )
    of_follower = broker[row0[partition] + fpos]
    fetcher = hashes[partition] % np.array(fetchers, dtype=np.int64)[of_follower]
    ends = np.stack([of_follower, broker[row0[partition] + lpos], fetcher])
    keys = (ends[0] * len(entities.brokers) + ends[1]) * max(fetchers) + ends[2]
    _, first, key_of, counts = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    numbered = np.argsort(first)
    number = np.empty_like(numbered)
    number[numbered] = np.arange(len(numbered))
    # Those fetched from the beginning come first, as a fetcher appends what it is given
    # later; and a loop over a request's entries ends with the last in use.
    order = np.lexsort((lpos != entities.leaders[partition], number[key_of]))
    return Threads(
        ends[:, first[numbered]].T, counts[numbered], partition[order], fpos[order], lpos[order]
    )
