"""What is left of a broker's logs after a hard stop, how long recovery takes, who exits over it.

A leader that lost its log leads again if it is the last in the ISR, and the others truncate to it
(KAFKA-15495; not with ELR).
"""

from __future__ import annotations

from enum import IntEnum

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, Rules


class Lost(IntEnum):
    """What a broker's logs lose when it dies."""

    NOTHING = 0
    """The process alone died: what it wrote is in the operating system's page cache."""
    TAIL = 1
    """The machine died: what neither Kafka nor the operating system had flushed."""
    ALL = 2
    """The broker comes back with an empty disk."""


@rule
def surviving_end(lost: Lost, log_end: int, recovery_point: int, flushed: int) -> int:
    """Where a log ends once it is recovered.

    Recovery reads from the recovery point on and truncates at the first batch that is not whole
    (LogLoader.recoverLog, LogSegment.recover @ 3.9, 4.3.1). Up to the recovery point Kafka itself
    has flushed, which by default it does at an orderly stop and where a segment is full.

    Args:
        lost: what the stop cost.
        log_end: log end offset before it.
        recovery_point: offset.
        flushed: log end offset at the operating system's last flush.
    """
    if lost == Lost.ALL:
        return 0
    if lost == Lost.TAIL:
        return min(log_end, max(recovery_point, flushed))
    return log_end


@rule
def recovery_us(size_bytes: int, bytes_per_s: int) -> int:
    """Time in which so many bytes of logs are recovered, in microseconds.

    What was written since the recovery point is read (LogManager.loadLogs @ 3.9).

    Args:
        size_bytes: of all logs from their recovery points on.
        bytes_per_s: what the broker's recovery threads read; 0: recovery takes no time.
    """
    if bytes_per_s <= 0:
        return 0
    seconds, rest = size_bytes // bytes_per_s, size_bytes % bytes_per_s
    return seconds * 1_000_000 + rest * 1_000_000 // bytes_per_s


@rule
def starts_on_empty_disk(rules: Rules, reformatted: bool) -> bool:
    """Whether a broker starts whose log dirs are empty.

    KRaft's refuses a dir without meta.properties, which somebody has to format
    (KafkaRaftServer.initializeLogDirs @ 3.9); ZooKeeper's writes it anew.
    """
    return reformatted or rules.controller != Controller.KRAFT


@rule
def forgets_epoch(rules: Rules, newest_epoch: int, leaders_oldest_epoch: int) -> bool:
    """Whether a leader cannot tell a follower where the follower's newest epoch ends.

    The follower then truncates to its high watermark (LeaderEpochFileCache.endOffsetFor,
    ReplicaFetcherThread.maybeTruncate @ 1.0.2, 2.0.0).
    """
    return rules.exits_over_truncation and newest_epoch < leaders_oldest_epoch


@rule
def exits_over_truncation(
    rules: Rules, fetch_offset: int, leader_end: int, unclean_enabled: bool
) -> bool:
    """Whether a follower ends its process because its leader's log is shorter than its own.

    To 2.0.0, where unclean.leader.election.enable is off (ReplicaFetcherThread.
    handleOffsetOutOfRange @ 0.10.2.2, 2.0.0; KAFKA-7414).

    Args:
        rules: the switches.
        fetch_offset: the follower's log end offset.
        leader_end: the leader's.
        unclean_enabled: the key, for the topic.
    """
    return rules.exits_over_truncation and fetch_offset > leader_end and not unclean_enabled
