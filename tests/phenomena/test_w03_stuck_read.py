"""W3 to W3c: a read that hangs on the leader, and what the partition lock makes of it."""

from __future__ import annotations

import pytest

from tests.phenomena.playing import (
    ELECTED,
    EXPAND,
    FENCED,
    OFFLINE,
    ONLINE,
    REMOVED,
    SHRINK,
    events,
    partitions,
    play,
    times,
)

ALL = {0, 1, 2}
KEEP_OFFLINE = "unclean.leader.election.enable=false"
OLD = ["cluster.controller=zookeeper", "rules.isr_lock=completion", KEEP_OFFLINE]


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9"])
def test_w3_without_a_lock_the_leader_ends_up_alone(release: str) -> None:
    """All three partitions of the fetch shrink to the leader at the first tick past the limit."""
    shrinks = events(play("w3", f"cluster.release={release}"), SHRINK)
    assert {e["partition"] for e in shrinks} == ALL
    assert all(e["isr"] == [1001] and 40000 < e["decided_ms"] <= 45000 for e in shrinks)


@pytest.mark.parametrize("release", ["2.7-3.2", "3.3-3.6", "3.7-3.9"])
def test_w3_and_dies_with_them(release: str) -> None:
    """They are offline from the fence (session end) until the leader is unfenced again."""
    result = play("w3", f"cluster.release={release}")
    assert partitions(result, OFFLINE) == ALL
    (fenced,) = times(result, FENCED)
    assert 57000 <= fenced <= 59000
    assert set(times(result, OFFLINE)) == {fenced}
    assert all(90002 <= t <= 90006 for t in times(result, ONLINE))


@pytest.mark.parametrize("release", ["0.8.2", "0.9-0.10.1", "0.10.2-2.0"])
@pytest.mark.parametrize(
    "load", [("reads=visits", "100"), ("reads=direct", "3000")], ids=["visits", "direct"]
)
def test_w3_the_completion_lock_does_not_protect_a_fetchs_own_read(
    release: str, load: tuple[str, str]
) -> None:
    """Up to 2.0 the handler's read holds no lock: all three go offline as well."""
    reads, rate = load
    settings = (f"cluster.release={release}", *OLD, f"faults[0].{reads}")
    result = play("w3", *settings, f"topics[0].produce.records_per_s={rate}")
    assert partitions(result, OFFLINE) == ALL


@pytest.mark.parametrize("release", ["0.8.2", "0.9-0.10.1", "0.10.2-2.0"])
def test_w3_the_completion_lock_stops_the_walk(release: str) -> None:
    """Up to 2.0 a stalled completing read holds the append's lock: its leader shrinks nothing."""
    result = play("w3", f"cluster.release={release}", *OLD)
    assert not [e for e in events(result, SHRINK) if e["leader"] == 1001]
    assert not events(result, OFFLINE)


def test_w3a_every_tick_waits_for_the_read() -> None:
    """rw_always: no partition of that broker is shrunk, and all fail over at the fence."""
    result = play("w3a")
    assert not events(result, SHRINK, OFFLINE)
    assert partitions(result, ELECTED) == ALL
    (fenced,) = times(result, FENCED)
    assert 54000 <= fenced <= 56000
    (elected,) = set(times(result, ELECTED))
    assert 0 < elected - fenced <= 10  # ZooKeeper's controller reads and writes meanwhile


def test_w3a_nothing_is_shrunk_before_the_read_ends() -> None:
    """rw_always, no death: the waiting walk goes on at the read's end and shrinks then."""
    result = play("w3a", "faults[1].start_ms=110000")
    decided = [e["decided_ms"] for e in events(result, SHRINK)]
    assert decided
    assert min(decided) == 55000
    assert max(decided) < 55050


W3B = ["2.7-3.2", "3.3-3.6", "3.7-3.9"]


@pytest.mark.parametrize("release", W3B)
def test_w3b_only_the_neighbour_before_it_in_the_walk_shrinks(release: str) -> None:
    """rw_precheck: s-2, met before the stuck s-1, leaves at the normal tick; nobody else."""
    shrinks = events(play("w3b", f"cluster.release={release}"), SHRINK)
    assert [e["partition"] for e in shrinks] == [2]
    assert 40000 < shrinks[0]["decided_ms"] <= 45000


@pytest.mark.parametrize("release", W3B)
def test_w3b_the_stuck_partition_survives_and_its_neighbour_does_not(release: str) -> None:
    """rw_precheck: s-1 and s-0 are elected at the fence, s-2 is offline until the return."""
    result = play("w3b", f"cluster.release={release}")
    assert partitions(result, OFFLINE) == {2}
    assert partitions(result, ELECTED) == {0, 1}


def test_w3b_two_releases_with_a_synchronous_write_do_the_same() -> None:
    """2.5 and 2.6 are 2.1-2.6 with rw_precheck: the neighbour is lost, the stuck one is not."""
    result = play("w3b", "cluster.release=2.1-2.6", "cluster.controller=zookeeper")
    assert partitions(result, SHRINK) == {2}
    assert partitions(result, OFFLINE) == {2}


def test_w3b_at_the_reads_end_the_waiting_tick_goes_first() -> None:
    """rw_precheck, no death: the stuck partition shrinks when its read ends, at once."""
    result = play("w3b", "faults[1].start_ms=110000")
    (shrink,) = events(result, SHRINK, partition=1)
    assert (shrink["decided_ms"], shrink["isr"]) == (55000, [1001])


def test_w3b_a_death_right_after_the_read_takes_the_stuck_one_too() -> None:
    """rw_precheck: shrunk at 55.03 s, not yet back at 55.05 s: s-1 goes offline with its leader."""
    result = play("w3b", "faults[1].start_ms=55050")
    assert 1 in partitions(result, OFFLINE)


def test_w3c_appends_wait_behind_the_walk_until_the_broker_stands_still() -> None:
    """With num.io.threads connections the other partition's followers are cut off too."""
    result = play("w3c")
    (neighbour,) = events(result, SHRINK, partition=1)
    assert 24000 < neighbour["decided_ms"] <= 26000
    assert min(times(result, EXPAND)) > 35000
    assert result.outcome["commit_latency_max_ms"] > 9000


def test_w3c_such_a_broker_is_not_fenced() -> None:
    """Heartbeats bypass the queue: no fence, no election."""
    assert not events(play("w3c"), FENCED, ELECTED, REMOVED, OFFLINE)


def _growth(threads: int) -> int:
    """Records that s-1 takes between 28 s and 34 s, with so many request handlers."""
    samples = play("w3c", f"num.io.threads={threads}", sample_ms=1000).samples
    assert samples is not None
    leo = dict(zip(samples.t_ms, samples.leo["s", 1], strict=True))
    return leo[34000] - leo[28000]


def test_w3c_with_handlers_to_spare_the_other_partition_takes_records() -> None:
    """Eight stuck connections take eight handlers: 8 of 8 leave s-1 none, 8 of 16 do."""
    assert _growth(8) == 0
    assert _growth(16) == 60
