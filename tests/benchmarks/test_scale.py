"""Clusters of any size for the benchmark: what is laid out, and what is said of it."""

from __future__ import annotations

from benchmarks.speed import record, show
from benchmarks.speed.scale import FETCHERS, SMALL, Size, assigned, here, scenario
from isr_pipeline.worlds.entities import entities_of, threads_of


def test_partitions_are_assigned_as_kafka_does() -> None:
    """Leaders in turn; followers shifted by one more with every round over the brokers."""
    found = assigned([1, 2, 3, 4, 5], 10, 3)
    assert found[0] == [1, 2, 3]
    assert found[4] == [5, 1, 2]
    assert found[5] == [1, 3, 4]
    assert found[9] == [5, 2, 3]


def test_every_broker_follows_every_other() -> None:
    """So a cluster has nearly as many fetcher threads as one of its size can have."""
    ends = threads_of(entities_of(scenario(Size(5, 400, 3), 1000.0)), (FETCHERS,) * 5).ends
    assert len({(follower, leader) for follower, leader, _ in ends.tolist()}) == 5 * 4


def test_a_small_size_is_measured() -> None:
    """Every figure is there."""
    found = here(Size(SMALL.brokers, SMALL.partitions))
    assert found.events_per_s > 0
    assert found.entities > 700
    assert min(found.configuration_s, found.layout_s) > 0.0
    assert found.peak_mb > 50


def test_every_ratio_has_words() -> None:
    """And a bar: both tables name the same."""
    ratios = record.ratios_of(record.Figures())
    assert set(ratios) == set(show.WORDS)
    assert set(ratios) <= set(record.BARS)
