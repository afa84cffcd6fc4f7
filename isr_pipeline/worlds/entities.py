"""What stands in a scenario, in the kernel's order: brokers, partitions, streams, fetcher threads.

All scenarios of a panel share it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import ProduceStream, Scenario

MAX_RF = 15  # an ISR order is packed into 4 bits a position
DEFAULT_RECORD_BYTES = 100


@dataclass(frozen=True, slots=True)
class PartitionNames:
    """What the kernel's partition index stands for."""

    topic: str
    number: int
    replicas: tuple[int, ...]


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


@dataclass(frozen=True, slots=True, eq=False)
class Entities:
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
def _list_of(brokers: tuple[int, ...], topics: _Topics) -> Entities:
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
    return Entities(
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


_last: tuple[Any, Entities] | None = None


def entities_of(scenario: Scenario) -> Entities:
    """List what stands in a scenario; its configurations have the very topics (`model.apply`)."""
    global _last  # noqa: PLW0603 - one scenario a process at a time
    topics, brokers = scenario.topics, scenario.cluster.brokers
    if _last is None or _last[0] is not topics or _last[1].brokers != brokers:
        given = tuple((t.name, tuple(t.assignment.items()), t.produce) for t in topics)
        _last = topics, _list_of(brokers, given)
    return _last[1]


@lru_cache(maxsize=8)
def threads_of(
    entities: Entities, fetchers: int
) -> tuple[list[int], list[tuple[int, int, int]], list[list[tuple[int, int, int]]]]:
    """Fetcher threads that can ever have a partition.

    Args:
        entities: those of a cluster.
        fetchers: num.replica.fetchers.

    Returns:
        First row of each partition; threads (follower's index, leader's, fetcher id); the
        fetched partitions of each (partition, follower's position, leader's). Nobody changes them.
    """
    index = entities.index
    row0: list[int] = []
    fetched: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    row = 0
    for i, p in enumerate(entities.partitions):
        row0.append(row)
        row += len(p.replicas)
        k = fetcher_of(p.topic, p.number, fetchers)
        for fpos, fid in enumerate(p.replicas):
            for lpos, lid in enumerate(p.replicas):
                if fpos != lpos:
                    key = (index[fid], index[lid], k)
                    fetched.setdefault(key, []).append((i, fpos, lpos))
    for ordered in fetched.values():
        # Those fetched from the beginning come first, as a fetcher appends what it is given
        # later; and a loop over a request's entries ends with the last in use.
        ordered.sort(key=lambda one: one[2] != 0)
    return row0, list(fetched), list(fetched.values())
