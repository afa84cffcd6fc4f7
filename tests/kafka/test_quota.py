"""Replication quotas: whose bytes are counted, and when they are too many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isr_pipeline.kafka.broker_config import LONG_MAX
from isr_pipeline.kafka.quota import (
    RATE_MAX,
    Lag,
    Quota,
    QuotaSample,
    consumer_pace_us,
    is_exceeded,
    is_quota,
    lag_behind,
    record,
    room_for,
)
from isr_pipeline.kafka.releases import RULE_SETS, Rules, switches
from isr_pipeline.kafka.throttled_replicas import is_list, names_replica

SECOND = 1_000_000
SAMPLES = 11
NEW = switches(RULE_SETS["3.7-3.9"])
OLD = switches(RULE_SETS["3.3-3.6"])
WAITS = st.sampled_from([0, 1, SECOND // 2, SECOND - 1, SECOND, SECOND + 1, 11 * SECOND])
STEPS = st.lists(st.tuples(WAITS, st.integers(0, 5)), min_size=5, max_size=60)
"""Waits and bytes: few of each, so that limits are met exactly."""


def quota_of(samples: int = SAMPLES) -> Quota:
    """A quota of a process that has just begun."""
    quota = Quota(np.zeros(Quota.size + room_for(samples) * QuotaSample.size, dtype=np.int64))
    quota.samples = QuotaSample(quota.memory, Quota.size)
    return quota


def counted(rules: Rules, *bytes_at: tuple[float, int], samples: int = SAMPLES) -> Quota:
    """A quota that has counted so many bytes at these seconds."""
    quota = quota_of(samples)
    for at, size in bytes_at:
        record(rules, quota, samples, SECOND, size, round(at * SECOND))
    return quota


def exceeds(quota: Quota, rate: int, at: float, samples: int = SAMPLES) -> bool:
    """Whether that is too much at a second."""
    return is_exceeded(quota, samples, SECOND, rate, round(at * SECOND))


class Naive:
    """The same by lists and fractions: samples of Kafka's SampledStat, and SimpleRate."""

    def __init__(self, rules: Rules, samples: int) -> None:
        self.age = samples * SECOND
        self.most = samples + rules.quota_counts_from_last_byte
        self.by_last = rules.quota_counts_from_last_byte
        self.ring: list[list[int]] = []  # begin, last byte, bytes
        self.newest = 0

    def _purge(self, now: int) -> None:
        for sample in self.ring:
            if now - sample[1 if self.by_last else 0] >= self.age:
                sample[:] = [now, now, 0]

    def record(self, size: int, now: int) -> None:
        """Count bytes."""
        if not self.ring:
            self.ring.append([now, now, 0])
        elif now - self.ring[self.newest][0] >= SECOND:
            self.newest = (self.newest + 1) % self.most
            if self.newest == len(self.ring):
                self.ring.append([])
            self.ring[self.newest][:] = [now, now, 0]
        self.ring[self.newest][2] += size
        self.ring[self.newest][1] = now
        self._purge(now)

    def exceeds(self, rate: int, now: int) -> bool:
        """Whether there are more bytes than that a second."""
        self._purge(now)
        elapsed = max(now - min((sample[0] for sample in self.ring), default=now), SECOND)
        return sum(sample[2] for sample in self.ring) * SECOND > rate * elapsed


class TestWindow:
    """Samples of a second, of which so many count."""

    @given(st.sampled_from([OLD, NEW]), st.sampled_from([1, 2, 11]), STEPS, st.integers(0, 5))
    def test_is_what_lists_and_fractions_say(
        self, rules: Rules, samples: int, steps: list[tuple[int, int]], rate: int
    ) -> None:
        """At any moment, under any load."""
        quota, naive, now = quota_of(samples), Naive(rules, samples), 0
        for wait, size in steps:
            now += wait
            assert is_exceeded(quota, samples, SECOND, rate, now) == naive.exceeds(rate, now)
            record(rules, quota, samples, SECOND, size, now)
            naive.record(size, now)

    def test_a_new_one_is_held_to_its_rate(self) -> None:
        """Bytes of its first moment are those of a second."""
        quota = counted(NEW, (0, 2_000_000))
        assert exceeds(quota, 1_000_000, 1.9)
        assert not exceeds(quota, 1_000_000, 2)

    def test_one_that_has_counted_for_long_allows_a_burst(self) -> None:
        """Of what it did not use: ten seconds' worth at once."""
        quota = counted(NEW, *((second, 1) for second in range(11)), (10, 10_000_000))
        assert not exceeds(quota, 1_000_000, 10.1)
        assert exceeds(quota, 900_000, 10.1)

    def test_bytes_are_forgotten_after_the_last_of_their_sample(self) -> None:
        """From 3.8 on; before, after the first."""
        bytes_at = ((0, 1_000_000_000), (0.9, 1))
        assert [exceeds(counted(rules, *bytes_at), 10, 11.5) for rules in (OLD, NEW)] == [
            False,
            True,
        ]
        assert not exceeds(counted(NEW, *bytes_at), 10, 11.9)

    def test_zero_lets_one_answer_pass(self) -> None:
        """Kafka allows it: nothing is too much before the first byte, then everything is."""
        assert not exceeds(quota_of(), 0, 5)
        assert exceeds(counted(NEW, (0, 1)), 0, 10.9)
        assert not exceeds(counted(NEW, (0, 1)), 0, 11)

    def test_the_largest_rate_overflows_nothing(self) -> None:
        """Whatever is above it is no limit."""
        quota = counted(NEW, (0, 1 << 50))
        assert exceeds(quota, RATE_MAX - 1, 9)
        assert [is_quota(rate) for rate in (0, RATE_MAX - 1, RATE_MAX, 2**63 - 1)] == [
            True,
            True,
            False,
            False,
        ]


class TestLists:
    """Which replicas are throttled."""

    @pytest.mark.parametrize("text", ["*", "", " * ", "0:1", "0:1,1:2", "0:1, 1:2", "0:1,"])
    def test_lists(self, text: str) -> None:
        """As Kafka's validator takes them."""
        assert is_list(text)

    @pytest.mark.parametrize("text", ["none", "0", "0:1;1:2", "a:b", "*,0:1", "0:1:2", "0:-1"])
    def test_no_lists(self, text: str) -> None:
        """What it refuses."""
        assert not is_list(text)

    def test_names(self) -> None:
        """A partition's replica on a broker, or all."""
        assert names_replica("*", 7, 3)
        assert [names_replica("0:1, 1:2", *one) for one in ((0, 1), (1, 2), (1, 1), (10, 1))] == [
            True,
            True,
            False,
            False,
        ]


def test_a_follower_at_the_high_watermark_is_in_sync() -> None:
    """Or above it; the leader's end does not matter."""
    assert [lag_behind(10, log_end) for log_end in (9, 10, 11)] == [Lag.BEHIND, Lag.NONE, Lag.NONE]


class TestConsumers:
    """The quota of a client that reads."""

    @pytest.mark.parametrize(
        ("rate", "size_bytes", "connections", "pace_us"),
        [
            (1_000_000, 1_000_000, 1, 1_000_000),
            (1_000_000, 1_000_000, 4, 4_000_000),
            (20_000_000, 1_048_576, 16, 838_860),
            (LONG_MAX, 1_048_576, 16, 0),
        ],
    )
    def test_connections_share_it(
        self, rate: int, size_bytes: int, connections: int, pace_us: int
    ) -> None:
        """Each waits as long as all of them together need for what it gets; without limit not."""
        assert consumer_pace_us(rate, size_bytes, connections) == pace_us
