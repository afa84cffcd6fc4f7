"""W12 to W16: the frozen high watermark, metadata races, shutdowns, log dirs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from isr_pipeline.worlds.run import Result
from tests.phenomena.playing import EXPAND, FENCED, REMOVED, SHRINK, events, play, times
from tests.tables import from_table


@pytest.mark.parametrize("elr", [0, 1])
def test_w12_one_shrink_every_tick(elr: int) -> None:
    """3.7-3.9, with ELR or without: while the replicas are slow, a shrink every 2 s tick."""
    result = play("w12", f"eligible.leader.replicas.version={elr}")
    decided = [e["decided_ms"] for e in events(result, SHRINK)]
    gaps = {round(b - a) for a, b in pairwise(decided)}
    assert gaps == {2000}
    assert 19 <= len(decided) <= 21


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6"])
def test_w12_before_3_7_they_stay_out(release: str) -> None:
    """The HW moves on without them: one shrink, and back when the disks are healthy again."""
    result = play("w12", f"cluster.release={release}")
    assert len(events(result, SHRINK)) == 1
    assert min(times(result, EXPAND)) > 55000


def _stands(result: Result, after_ms: float, until_ms: float) -> float:
    """Longest time in the window over which sampled HWs of the partition do not move."""
    assert result.samples is not None
    (hw,) = result.samples.hw.values()
    longest = since = 0.0
    last = None
    for t, value in zip(result.samples.t_ms, hw, strict=True):
        if not after_ms <= t <= until_ms:
            continue
        if value != last:
            since, last = t, value
        longest = max(longest, t - since)
    return longest


def test_w13_some_elections_cost_a_back_off() -> None:
    """Of eight moves some, not all, let the HW stand still for about replica.fetch.backoff.ms."""
    result = play("w13", sample_ms=20)
    stands = [_stands(result, t, t + 3000) for t in range(10000, 90000, 10000)]
    slow = [s for s in stands if s >= 900]
    assert 1 <= len(slow) <= 7
    assert all(900 <= s <= 1500 for s in slow)


def test_w13_a_shorter_back_off_costs_less() -> None:
    """With replica.fetch.backoff.ms 100 no HW stands still for as long as 0.9 s."""
    result = play("w13", "replica.fetch.backoff.ms=100", sample_ms=20)
    assert max(_stands(result, t, t + 3000) for t in range(10000, 90000, 10000)) < 900


def test_w14_the_shrink_unfails_the_partition() -> None:
    """metadata.version < 3.6: leader epoch 1 at the shrink, un-failed, back 1.1 s later."""
    result = play("w14")
    (shrink,), (unfailed,) = events(result, SHRINK), times(result, "partition_unfailed")
    (back,) = events(result, EXPAND)
    assert shrink["t_ms"] < unfailed < back["t_ms"] < shrink["t_ms"] + 1200
    assert back["leader_epoch"] == 1


@from_table
def test_w14_later_it_stays_failed(settings: list[str]) -> None:
    """Without the bump nothing un-fails it until the leader changes."""
    result = play("w14", *settings)
    assert len(events(result, SHRINK)) == 1
    assert not events(result, "partition_unfailed", EXPAND)


@pytest.mark.parametrize("release", ["0.9-0.10.1", "0.10.2-2.0", "2.1-2.6"])
def test_w15_a_stopping_leader_rejoins_before_it_is_gone(release: str) -> None:
    """Before 3.3 its last fetches bring it back where it led; its end takes it out again."""
    result = play("w15", f"cluster.release={release}")
    back = next(e["t_ms"] for e in events(result, EXPAND) if e["topic"] == "u")
    assert 10000 < back < 11500
    removed = [(e["topic"], e["t_ms"]) for e in events(result, REMOVED)]
    assert removed[:2] == [("t", 10000), ("u", 10000)]
    (fenced,) = times(result, FENCED)
    assert 11500 <= fenced < 11520
    ((topic, gone),) = removed[2:]
    assert topic == "u"
    assert 11500 < gone < 11520  # ZooKeeper's controller reads and writes meanwhile


@pytest.mark.parametrize("release", ["0.9-0.10.1", "0.10.2-2.0", "2.1-2.6"])
def test_w15_it_is_told_to_stop_following(release: str) -> None:
    """StopReplica: what it followed it joins after its restart alone."""
    result = play("w15", f"cluster.release={release}")
    assert min(e["t_ms"] for e in events(result, EXPAND) if e["topic"] == "t") > 30000


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9"])
def test_w15_under_kraft_it_joins_nothing(release: str) -> None:
    """To 3.2 the new epoch fences its fetches, from 3.3 on it may not join: one removal each."""
    result = play("w15", f"cluster.release={release}", "cluster.controller=kraft")
    assert times(result, REMOVED) == [10000, 10000]
    assert min(times(result, EXPAND)) > 30000


def test_w15_from_3_3_on_it_joins_nothing_under_zookeeper() -> None:
    """KIP-841: a broker in controlled shutdown is not eligible."""
    result = play("w15", "cluster.release=3.3-3.6")
    assert times(result, REMOVED) == [10000, 10000]
    assert min(times(result, EXPAND)) > 30000


def test_w16_the_replica_of_a_dead_disk_is_out_at_once() -> None:
    """50 ms after the append that meets it, whatever the lag limit and the session are."""
    result = play("w16")
    (removed,) = events(result, REMOVED)
    assert 15050 < removed["t_ms"] < 15075
    assert removed["isr"] == [1, 2]
    assert not events(result, FENCED, SHRINK)


@pytest.mark.parametrize("release", ["3.7-3.9", "4.1+"])
def test_w16_yet_the_high_watermark_waits_a_whole_lag(release: str) -> None:
    """It was caught up a moment ago and its broker is eligible: acks=all waits 4 s."""
    result = play("w16", f"cluster.release={release}")
    assert 3900 < result.outcome["commit_latency_max_ms"] <= 4010


def test_w16_a_controlled_stop_does_not_do_that() -> None:
    """A broker that shuts down is not eligible: the HW passes it."""
    stop = "{kind: controlled_restart, broker: 3, start_ms: 15000, downtime_ms: 15000}"
    result = play("w16", f"faults=[{stop}]")
    assert result.outcome["commit_latency_max_ms"] < 50


def test_w16_nor_does_a_crash_hold_it_longer_than_its_session() -> None:
    """At the fence the HW moves on at once, although the lag limit (20 s) is not over."""
    crash = "{kind: crash, broker: 3, start_ms: 15000}"
    result = play("w16", f"faults=[{crash}]", "replica.lag.time.max.ms=20000")
    (fenced,) = times(result, FENCED)
    assert result.outcome["commit_latency_max_ms"] == pytest.approx(fenced - 15000, abs=50)
