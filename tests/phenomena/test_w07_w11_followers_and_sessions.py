"""W7 to W11: failing fetchers, detection times, sessions, pauses."""

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
    UNCLEAN,
    UNFENCED,
    events,
    partitions,
    play,
    times,
)
from tests.tables import from_table

LEGACY = "rules.fetcher=legacy"
TODAY = ["2.7-3.2", "3.3-3.6", "3.7-3.9"]


@pytest.mark.parametrize("release", TODAY)
def test_w7_kip_461_loses_one_partition_of_five(release: str) -> None:
    """Before anything else happens only f-2 shrinks, and one partition counts as failed."""
    keep = "rules.shrink_bumps_leader_epoch=false"
    result = play("w7", f"cluster.release={release}", keep)
    early = [e for e in events(result, SHRINK) if e["t_ms"] < 30000]
    assert [(e["partition"], e["isr"]) for e in early] == [(2, [1, 2])]
    assert result.outcome["failed_partitions_max"] == 1
    assert result.outcome["dead_fetcher_threads"] == 0


def test_w7_a_new_leader_epoch_clears_it() -> None:
    """Un-failed as the metadata of the election at 30 s arrive, back within 1.1 s."""
    result = play("w7")
    (unfailed,) = times(result, "partition_unfailed")
    assert 30002 <= unfailed <= 30030
    assert 30002 < times(result, EXPAND, 2)[0] < 31100


def test_w7_a_legacy_thread_takes_all_five_with_it() -> None:
    """One unexpected error, and every partition of the thread leaves the ISR."""
    result = play("w7", LEGACY)
    early = [e for e in events(result, SHRINK) if e["t_ms"] < 30000]
    assert {e["partition"] for e in early} == {0, 1, 2, 3, 4}
    assert all(14000 < e["decided_ms"] <= 16100 for e in early)
    assert result.outcome["failed_partitions_max"] == 0
    assert result.outcome["dead_fetcher_threads"] == 1


def test_w7_its_partitions_come_back_as_their_leadership_moves() -> None:
    """f-2 after its move at 30 s, the other four after the death of broker 1."""
    result = play("w7", LEGACY)
    back = {
        p: min(e["t_ms"] for e in events(result, EXPAND, partition=p) if 3 in e["isr"])
        for p in range(5)
    }
    assert 30000 < back[2] < 31100
    (fenced,) = times(result, FENCED)
    assert all(fenced < back[p] < fenced + 1100 for p in (0, 1, 3, 4))


@from_table
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_w8_removal_comes_within_one_tick_of_the_limit(
    release: str, controller: str, most: float, seed: int
) -> None:
    """Decided between lag and 1.5 lag (2 lag up to 0.10.1) after the last catch-up."""
    result = play(
        "w8",
        f"cluster.release={release}",
        f"cluster.controller={controller}",
        "broker.session.timeout.ms=60000",
        f"seed={seed}",
    )
    shrinks = events(result, SHRINK)
    assert {e["partition"] for e in shrinks} == {0, 1}
    for e in shrinks:
        # the last catch-up is at most one produce period (10 ms) before the pause
        assert 20000 - 20 + 4000 < e["decided_ms"] <= 20000 + most * 4000


@pytest.mark.parametrize("release", ["2.1-2.6", "2.7-3.2", "3.3-3.6"])
def test_w9_an_idle_partitions_paused_follower_stays(release: str) -> None:
    """From 2.1 on an equal LEO is in sync, however old the last fetch."""
    assert not events(play("w9", f"cluster.release={release}"), SHRINK)


@pytest.mark.parametrize("release", ["0.8.2", "0.9-0.10.1", "4485-doc", "0.10.2-2.0"])
def test_w9_before_2_1_it_left(release: str) -> None:
    """Up to 2.0 only the clock counts, idle or not."""
    (shrink,) = events(play("w9", f"cluster.release={release}"), SHRINK)
    assert 13500 < shrink["decided_ms"] <= 18000


def test_w10_an_isr_shrunk_to_the_isolated_leader_goes_offline_with_it() -> None:
    """Lag 4 s, session 3 s: offline from the fence to the return, for that time exactly."""
    result = play("w10")
    (offline,), (online,) = times(result, OFFLINE), times(result, ONLINE)
    assert 24500 <= offline <= 25000
    assert 37732 <= online <= 37736
    assert result.outcome["offline_partition_rate"] == pytest.approx((online - offline) / 55000)


def test_w10_a_leader_noticed_before_the_limit_fails_over() -> None:
    """It dies as it is cut off: session 3 s is over before lag 4 s, nothing goes offline."""
    result = play("w10", "faults[2].start_ms=10000")
    assert not events(result, OFFLINE, SHRINK)
    assert 12500 <= times(result, ELECTED)[0] <= 13000


def test_w10_with_elr_a_member_of_it_is_elected() -> None:
    """ELR on, min.insync.replicas 2: isr [1] becomes [2] at the fence, nothing is offline."""
    result = play("w10", "eligible.leader.replicas.version=1", "min.insync.replicas=2")
    (fenced,) = times(result, FENCED)
    (elected,) = events(result, ELECTED)
    assert (elected["t_ms"], elected["leader"], elected["isr"]) == (fenced, 2, [2])
    assert not events(result, OFFLINE, UNCLEAN)
    assert result.outcome["records_lost"] == 0


def test_w10b_the_last_known_leader_is_elected_uncleanly() -> None:
    """ELR on, min ISR 1: isr [] at the fence, then an unclean election although that is off."""
    result = play("w10b")
    assert [e["isr"] for e in events(result, REMOVED)] == [[]]
    (unclean,) = events(result, UNCLEAN)
    assert (unclean["t_ms"], unclean["leader"]) == (times(result, UNFENCED)[0], 1)
    assert result.outcome["unclean_elections"] == 1


@pytest.mark.parametrize("release", TODAY)
def test_w11_a_resumed_leader_evicts_at_once_who_was_behind(release: str) -> None:
    """Missed ticks fire at the resume, before the fetches that follow it."""
    result = play("w11", f"cluster.release={release}")
    (shrink,) = events(result, SHRINK, partition=0)
    assert 16000 <= shrink["decided_ms"] <= 16003
    assert shrink["isr"] == [1]


@pytest.mark.parametrize("release", TODAY)
def test_w11_they_are_back_within_half_a_second(release: str) -> None:
    """Both followers rejoin before 16.5 s, and no leader changes."""
    result = play("w11", f"cluster.release={release}")
    assert len(times(result, EXPAND, 0)) == 2
    assert max(times(result, EXPAND, 0)) < 16500
    assert not events(result, FENCED, ELECTED)


def test_w11_the_idle_half_of_the_rule() -> None:
    """Without load the offsets are equal: nobody is evicted."""
    result = play("w11", "topics[0].produce=[]")
    assert partitions(result, SHRINK) == set()
