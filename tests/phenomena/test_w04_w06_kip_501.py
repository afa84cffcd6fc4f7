"""W4 to W6: KIP-501's two solutions, what they save and what they do not."""

from __future__ import annotations

import pytest

from tests.phenomena.playing import ELECTED, EXPAND, OFFLINE, SHRINK, events, partitions, play

ALL = {0, 1, 2}
HANDLER = "faults[0].stage=handler"
PULL_REQUEST = "rules.kip501=s1-pr"
BASE = "rules.kip501=none"


def test_w4_as_worded_the_isr_stays_whole_and_the_election_is_clean() -> None:
    """s1-doc: no shrink, nothing offline, three clean elections at the fence."""
    result = play("w4")
    assert not events(result, SHRINK, OFFLINE)
    assert {(e["partition"], e["leader"]) for e in events(result, ELECTED)} == {
        (0, 1002),
        (1, 1002),
        (2, 1002),
    }


def test_w4_without_it_the_same_stall_takes_all_three_offline() -> None:
    """Base rules: the read pins the followers' clocks, and the leader dies alone."""
    assert partitions(play("w4", BASE), OFFLINE) == ALL


PR_DIRECT = (
    PULL_REQUEST,
    "faults[0].reads=direct",
    "faults[1].start_ms=110000",
    "topics[0].produce.records_per_s=3000",
)


def test_w4_the_pull_request_drops_the_follower_as_the_read_ends() -> None:
    """s1-pr: its second branch credits the fetch before, so the next tick finds it out of sync."""
    (shrink,) = events(play("w4", *PR_DIRECT), SHRINK, partition=1)
    assert (shrink["decided_ms"], shrink["isr"]) == (55000.5, [1001])


def test_w4_and_takes_it_back_with_its_next_fetches() -> None:
    """s1-pr: both followers are back within 200 ms of the read's end."""
    back = events(play("w4", *PR_DIRECT), EXPAND, partition=1)
    assert [len(e["isr"]) for e in back[:2]] == [2, 3]
    assert all(55060 < e["t_ms"] < 55200 for e in back[:2])


def test_w4_the_text_keeps_it_at_that_same_tick() -> None:
    """s1-doc credits the read's end in both branches: the stuck partition stays."""
    settings = [s for s in PR_DIRECT if s != PULL_REQUEST]
    assert not events(play("w4", *settings), SHRINK, partition=1)


@pytest.mark.parametrize("variant", ["s1-doc", "s1-pr", "none"])
def test_w5_a_stalled_send_is_no_pending_read(variant: str) -> None:
    """Neither form of Solution 1 covers the send stage: offline as without it."""
    assert partitions(play("w5", f"rules.kip501={variant}"), OFFLINE) == ALL


def test_w5_the_pull_request_does_not_cover_the_completing_read() -> None:
    """At low load the stall meets the read that completes a delayed fetch."""
    result = play("w5", HANDLER, "faults[0].reads=completion", PULL_REQUEST)
    assert partitions(result, OFFLINE) == ALL


def test_w5_the_text_covers_it() -> None:
    """s1-doc: pending until the request is completed."""
    assert not events(play("w5", HANDLER, "faults[0].reads=completion"), SHRINK, OFFLINE)


@pytest.mark.parametrize(("variant", "lost"), [("none", {2}), ("s1-doc", set())])
def test_w5_under_todays_lock_it_saves_the_neighbour(variant: str, lost: set[int]) -> None:
    """rw_precheck: without it s-2, the stuck partition's neighbour, is what goes offline."""
    result = play("w5", HANDLER, "rules.isr_lock=rw_precheck", f"rules.kip501={variant}")
    assert partitions(result, OFFLINE) == lost


def test_w6_the_leader_resigns_half_a_second_into_a_stalled_read() -> None:
    """The timer fires follower.fetch.process.time.max.ms after the read's begin."""
    first = events(play("w6"), "leader_resigned")[0]
    assert 10500 < first["t_ms"] < 10520
    assert first["isr"] == [1002, 1003, 1001]


def test_w6_a_healthy_replica_takes_over() -> None:
    """isr_order: 30 ms of AlterPartition later the next in the ISR leads."""
    result = play("w6")
    resigned, elected = events(result, "leader_resigned")[0], events(result, ELECTED)[0]
    assert elected["t_ms"] - resigned["t_ms"] == 30
    assert elected["leader"] == 1002


def test_w6_stalls_that_go_round_make_it_flap() -> None:
    """Each of the seven stalls costs a leadership; the base rules change none."""
    assert len(events(play("w6"), ELECTED)) == 7
    assert not events(play("w6", BASE), ELECTED, "leader_resigned", SHRINK)


def test_w6_in_assignment_order_nothing_is_gained() -> None:
    """Real controllers elect the same id again: resignations, and no leader change."""
    result = play("w6", "rules.election=assignment_order")
    assert {e["leader"] for e in events(result, ELECTED)} == {1001}
    assert result.outcome["leader_changes_per_partition_hour"] == 0
    assert result.outcome["resignations_per_partition_hour"] > 0


def test_w6_purgatory_time_does_not_count() -> None:
    """Fetches wait 2 s in purgatory for data, the limit is 0.5 s: no resignation."""
    result = play(
        "w6",
        "topics[0].produce.records_per_s=0.2",
        "replica.fetch.wait.max.ms=2000",
        "faults=[]",
    )
    assert not events(result, "leader_resigned")
