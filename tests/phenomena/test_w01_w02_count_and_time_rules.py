"""W1, W2: what the message count and the first time rule did to healthy followers."""

from __future__ import annotations

import pytest

from tests.phenomena.playing import EXPAND, SHRINK, events, play, times

LATER = ["0.9-0.10.1", "4485-doc", "0.10.2-2.0", "2.1-2.6", "2.7-3.2", "3.3-3.6", "3.7-3.9"]
FROM_4485 = LATER[1:]


def test_w1_a_burst_with_a_tick_in_it_evicts_both_followers_at_that_tick() -> None:
    """0.8.2: at the tick 2 ms after the burst both healthy followers leave, in one change."""
    (shrink,) = events(play("w1"), SHRINK)
    assert (shrink["decided_ms"], shrink["isr"]) == (20002, [1])


def test_w1_they_are_back_with_their_next_fetches() -> None:
    """0.8.2: both are back within 150 ms: one slow append of 50 ms, a burst to copy, a fetch."""
    back = events(play("w1"), EXPAND)
    assert [e["isr"] for e in back] == [[1, 2], [1, 2, 3]]
    assert all(20002 < e["t_ms"] < 20152 for e in back)


@pytest.mark.parametrize("release", LATER)
def test_w1_later_releases_do_not_count_messages(release: str) -> None:
    """From 0.9 on the same burst changes no ISR."""
    assert not events(play("w1", f"cluster.release={release}"), SHRINK, EXPAND)


def test_w1_a_burst_as_large_as_the_limit_harms_nobody() -> None:
    """0.8.2 wants strictly more than replica.lag.max.messages, against the blog's text."""
    at_limit = play("blog-burst")
    assert [e["decided_ms"] for e in events(at_limit, SHRINK)] == [30002]


def test_w2_six_produces_a_second_evict_followers_that_keep_up() -> None:
    """0.9-0.10.1: out one lag to two lags after the load began, for as long as it lasts."""
    result = play("w2")
    (shrink,) = events(result, SHRINK)
    assert shrink["isr"] == [1]
    assert 14000 < shrink["t_ms"] <= 18250
    assert all(35000 < t < 35500 for t in times(result, EXPAND))


def test_w2_four_a_second_do_not() -> None:
    """0.9-0.10.1: with a gap longer than the fetch cycle each cycle reaches the log end."""
    assert not events(play("w2", "topics[0].produce.records_per_s=4"), SHRINK)


@pytest.mark.parametrize("release", FROM_4485)
def test_w2_kafka_4485_keeps_them(release: str) -> None:
    """From KAFKA-4485 on (its text as well) a follower that keeps up stays."""
    assert not events(play("w2", f"cluster.release={release}"), SHRINK)


def test_w2_the_older_stuck_timer_did_not_mind_either() -> None:
    """0.8.2: any fetch resets the timer."""
    assert not events(play("w2", "cluster.release=0.8.2"), SHRINK)
