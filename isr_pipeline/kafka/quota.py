"""Quotas: which replicas are throttled, when their bytes exceed the rate, how fast clients read.

A broker has two replication quotas, of what it sends to followers and of what it fetches itself
(KIP-73). Each counts the bytes of all its throttled replicas, in sync or not, in samples of one
window; a rate is what the samples hold over the time since the oldest began. Brokers count in
milliseconds, and what surrounds records in an answer as well: some fifty bytes a partition.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.rows import Cell, Ref, Row, Time, Until

RATE_MAX: Final = 1 << 36
"""A rate of so many bytes a second or more is no limit: 69 GB."""

MILLION: Final = 1_000_000


class Throttled(IntEnum):
    """Whose list of a topic's throttled replicas names this one: a bit each."""

    BY_LEADER = 1
    BY_FOLLOWER = 2


class Lag(IntEnum):
    """What a follower knows of its distance to the high watermark of its leader."""

    UNKNOWN = 0
    BEHIND = 1
    NONE = 2


class QuotaSample(Row):
    """Bytes of a while."""

    begin: Time
    expires_at: Until  # then it is forgotten
    bytes: Cell


class Quota(Row):
    """What a broker has lately sent, or fetched, of throttled replicas."""

    samples: Ref[QuotaSample]  # the newest first, so that they stand as before when all repeats
    used: Cell
    exceeded_us: Cell  # the time over which there was last too much, so that it counts as a change


def room_for(samples: int) -> int:
    """Samples that a quota has room for: from 3.8 on one more than it counts."""
    return samples + 1


@rule
def is_quota(rate: int) -> bool:
    """Whether a rate is one that can be exceeded; 0 is, by the first byte."""
    return rate < RATE_MAX


@rule
def consumer_pace_us(rate: int, size_bytes: int, connections: int) -> int:
    """Time from one fetch of a connection to its next, while its client keeps to its quota.

    A broker answers what exceeds `consumer_byte_rate` with nothing, and mutes the connection until
    the rate is the quota (KafkaApis.scala @ 3.9: `handleFetchRequest`; ClientQuotaManager.scala @
    3.9: `throttle`; KIP-13). It counts over ten seconds at least, so that the first ten seconds'
    worth passes at once; here the pace is even from the first byte on.

    Args:
        rate: bytes a second of the client on this broker.
        size_bytes: what a fetch returns.
        connections: of the client, which share the quota.
    """
    return size_bytes * connections * MILLION // rate if is_quota(rate) else 0


@rule
def forget(quota: Quota) -> None:
    """The broker's process begins: nothing has been counted."""
    quota.used = 0
    quota.exceeded_us = 0


@rule
def _begin(sample: QuotaSample, age_us: int, now: int) -> None:
    sample.begin = now
    sample.expires_at = now + age_us
    sample.bytes = 0


@rule
def _begin_expired(quota: Quota, age_us: int, now: int) -> None:
    """Samples that are too old begin anew (SampledStat.purgeObsoleteSamples @ 2.4.1, 3.9.0)."""
    for i in range(quota.used):
        if quota.samples[i].expires_at <= now:
            _begin(quota.samples[i], age_us, now)


@rule
def record(
    rules: Rules, quota: Quota, samples: int, window_us: int, size_bytes: int, now: int
) -> None:
    """Count bytes, whether or not there were too many already.

    From 3.8 on a sample grows old from its last byte on, before from its begin on
    (stats/SampledStat.java @ 2.4.1, 3.7.1, 3.8.0: `record`, `advance`).
    """
    age_us = samples * window_us
    sample = quota.samples[0]
    if quota.used == 0 or now - sample.begin >= window_us:
        quota.used = min(quota.used + 1, samples + rules.quota_counts_from_last_byte)
        for i in range(quota.used - 1, 0, -1):
            older, newer = quota.samples[i], quota.samples[i - 1]
            older.begin = newer.begin
            older.expires_at = newer.expires_at
            older.bytes = newer.bytes
        _begin(sample, age_us, now)
    sample.bytes += size_bytes
    if rules.quota_counts_from_last_byte:
        sample.expires_at = now + age_us
    _begin_expired(quota, age_us, now)


@rule
def is_exceeded(quota: Quota, samples: int, window_us: int, rate: int, now: int) -> bool:
    """Whether more bytes were counted than the rate allows since the oldest sample began.

    That is a window at least: a broker that has counted for long may have a burst at once and then
    pauses, one that has just started is held to its rate (stats/SimpleRate.java @ 3.9.0).
    """
    _begin_expired(quota, samples * window_us, now)
    oldest = now
    counted = 0
    for i in range(quota.used):
        sample = quota.samples[i]
        oldest = min(oldest, sample.begin)
        counted += sample.bytes
    elapsed = max(now - oldest, window_us)
    allowed = rate * (elapsed // MILLION) + rate * (elapsed % MILLION) // MILLION
    if counted <= allowed:
        return False
    quota.exceeded_us = elapsed
    return True


@rule
def lag_behind(high_watermark: int, log_end: int) -> Lag:
    """What a follower knows from an answer (AbstractFetcherThread.scala @ 3.9.0)."""
    return Lag.BEHIND if high_watermark > log_end else Lag.NONE
