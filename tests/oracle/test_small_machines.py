"""Queues, managers, purgatory, elections and the proposals' machines."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from isr_pipeline.base.errors import InputError
from tests.oracle.fetcher_mgr import fetcher_id, java_hash
from tests.oracle.timelines import run


def at(op: str, t: int = 0, **arguments: Any) -> dict[str, Any]:
    """One step at time t."""
    return {"t": t, "op": op, **arguments}


class TestAlterManager:
    """AlterPartitionManagerTest.scala @ 1eb7644349."""

    def test_overwrite_within_batch(self) -> None:
        """A second item of a partition is refused until the first is answered."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("submit", tp="tp0", error_expected="OPERATION_NOT_ATTEMPTED", returns=False),
            at("response", expect={"unsent": [], "inflight": False}),
            at("submit", tp="tp0", expect={"sent": 2}),
        )

    def test_refused_item_need_not_be_expected(self) -> None:
        """The refusal is an answer of the queue, not a failure of the timeline."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("submit", tp="tp0", expect={"unsent": ["tp0"]}),
        )

    def test_single_batch(self) -> None:
        """What gathers while a request is out goes together."""
        run(
            "alter_mgr",
            "2.7+",
            *[at("submit", tp=f"tp{i}", expect={"sent": 1}) for i in range(10)],
            at("response", partitions=["tp0"], expect={"sent": 2}),
            at("response", expect={"unsent": [], "sent": 2, "inflight": False}),
        )

    def test_partition_missing_in_response(self) -> None:
        """What an answer leaves out goes out again at once."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("submit", tp="tp1"),
            at("submit", tp="tp2"),
            at("response", partitions=["tp0"], expect={"sent": 2, "unsent": ["tp1", "tp2"]}),
            at("response", partitions=["tp2"], expect={"sent": 3, "unsent": ["tp1"]}),
            at("response", partitions=["tp1"], expect={"sent": 3, "inflight": False}),
        )

    def test_answer_to_what_was_not_sent(self) -> None:
        """An item queued after the request is not answered by it."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("submit", tp="tp1"),
            at("response", partitions=["tp0", "tp1"], expect={"unsent": ["tp1"], "sent": 2}),
        )

    def test_retry_is_50_ms_later(self) -> None:
        """Not a ms earlier."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("response", 10, error="STALE_BROKER_EPOCH", expect={"inflight": False}),
            at("tick", 59, expect={"sent": 1}),
            at("tick", 60, expect={"sent": 2}),
            at("tick", 200, expect={"sent": 2}),
        )

    def test_submit_does_not_wait_for_the_retry(self) -> None:
        """A new item takes the failed ones along at once."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("response", error="UNKNOWN_SERVER_ERROR"),
            at("submit", 1, tp="tp1", expect={"sent": 2, "unsent": ["tp0", "tp1"]}),
            at("tick", 50, expect={"sent": 2}),
        )

    def test_error_none(self) -> None:
        """NONE is no error."""
        run(
            "alter_mgr",
            "2.7+",
            at("submit", tp="tp0"),
            at("response", error="NONE", expect={"unsent": []}),
        )

    def test_answer_to_nothing(self) -> None:
        """An answer without a request is an error of the timeline."""
        with pytest.raises(InputError) as caught:
            run("alter_mgr", "2.7+", at("response"))
        assert str(caught.value) == (
            "timeline: line 1: timeline[0].op: 'response'; allowed: a submit before it: "
            "nothing is in flight"
        )


class TestFetcherManager:
    """AbstractFetcherManagerTest.scala @ 1eb7644349, and SEMANTICS of threads."""

    def test_failed_partition_is_untracked(self) -> None:
        """And comes back when added."""
        run(
            "fetcher_mgr",
            "2.5+",
            at("add_fetcher", tp="topic-0"),
            at(
                "mark_failed",
                tp="topic-0",
                expect={"tracked": [], "FailedPartitionsCount": 1, "threads": 1},
            ),
            at("add_fetcher", tp="topic-0", expect={"FailedPartitionsCount": 0}),
        )

    def test_idle_threads_end(self) -> None:
        """Only threads without partitions do."""
        run(
            "fetcher_mgr",
            "2.5+",
            at("add_fetcher", tp="topic-0"),
            at("add_fetcher", tp="topic-1", leader=2, expect={"threads": 2}),
            at("remove_fetcher", tp="topic-1", expect={"threads": 2}),
            at("shutdown_idle", expect={"threads": 1, "tracked": ["topic-0"]}),
        )

    def test_dead_thread_stays(self) -> None:
        """It takes partitions, and goes when idle."""
        run(
            "fetcher_mgr",
            "2.5+",
            at("add_fetcher", tp="topic-0"),
            at("thread_dead", value=True),
            at("add_fetcher", tp="topic-1", expect={"threads": 1, "DeadThreadCount": 1}),
            at("remove_fetcher", tp="topic-0"),
            at("shutdown_idle", expect={"DeadThreadCount": 1}),
            at("remove_fetcher", tp="topic-1"),
            at("shutdown_idle", expect={"threads": 0, "DeadThreadCount": 0}),
        )

    @pytest.mark.parametrize(
        ("variant", "failed", "dead"),
        [("pre-461", None, None), ("2.3+", 0, None), ("2.5+", 0, 0), ("2.7-3.2", 0, 0)],
    )
    def test_metrics_by_release(self, variant: str, failed: int | None, dead: int | None) -> None:
        """FailedPartitionsCount came in 2.3, DeadThreadCount in 2.5."""
        state = run("fetcher_mgr", variant, at("nop"))
        assert (state["FailedPartitionsCount"], state["DeadThreadCount"]) == (failed, dead)

    def test_threads_by_hash(self) -> None:
        """Partitions of one leader spread over num.replica.fetchers threads."""
        state = run(
            "fetcher_mgr",
            "2.5+",
            *[at("add_fetcher", tp=f"events-{p}") for p in range(8)],
            config={"num.replica.fetchers": 4},
        )
        assert state["threads"] == 4

    @pytest.mark.parametrize(
        ("text", "value"),
        [("", 0), ("a", 97), ("topic", 110546223), ("polygenelubricants", -(2**31))],
    )
    def test_java_hash(self, text: str, value: int) -> None:
        """String.hashCode, overflow and sign included."""
        assert java_hash(text) == value

    @pytest.mark.parametrize(("partition", "thread"), [(0, 1), (1, 0), (2, 2)])
    def test_fetcher_id(self, partition: int, thread: int) -> None:
        """(31 * hash + partition) mod n, of the absolute value."""
        assert fetcher_id("topic", partition, 3) == thread


class TestDelayedFetch:
    """DelayedFetchTest.scala and DelayedFetch.tryComplete @ 1eb7644349."""

    def _one(self, min_bytes: int = 1, **partition: Any) -> tuple[bool, str | None]:
        state = run(
            "delayed_fetch",
            "3.7+",
            {"op": "try_complete", "min_bytes": min_bytes, "partitions": [partition]},
        )
        return state["complete"], state["reason"]

    @pytest.mark.parametrize("end", [0, 449])
    def test_truncated_leader(self, end: int) -> None:
        """A fetch beyond the leader's end is answered."""
        assert self._one(fetch={"offset": 450}, end={"offset": end}) == (
            True,
            "TRUNCATED_LEADER",
        )

    @pytest.mark.parametrize(
        ("epoch_end", "diverges"),
        [
            ({"epoch": 9, "end_offset": 499}, True),
            ({"epoch": 8, "end_offset": 500}, True),
            ({"epoch": 9, "end_offset": 500}, False),
            ([9, 499], True),
            (None, True),
            ({"epoch": -1, "end_offset": -1}, True),
            (499, True),
            (500, False),
        ],
    )
    def test_diverging_epoch(self, epoch_end: object, diverges: bool) -> None:
        """A smaller epoch, a smaller end, or none: the follower must truncate."""
        met = self._one(
            fetch={"offset": 500},
            end={"offset": 500, "segment": 0, "pos": 500},
            last_fetched_epoch=9,
            epoch_end=epoch_end,
        )
        assert met == ((True, "DIVERGING_EPOCH") if diverges else (False, None))

    def test_error_of_the_epoch(self) -> None:
        """An error in its place is the reason."""
        met = self._one(
            fetch={"offset": 500},
            end={"offset": 500},
            last_fetched_epoch=9,
            epoch_end={"error": "FENCED_LEADER_EPOCH"},
        )
        assert met == (True, "FENCED_LEADER_EPOCH")

    @pytest.mark.parametrize(("pos", "complete"), [(109, False), (110, True)])
    def test_bytes(self, pos: int, complete: bool) -> None:
        """Exactly the minimum is enough."""
        met = self._one(
            10,
            fetch={"offset": 1, "segment": 0, "pos": 100},
            end={"offset": 2, "segment": 0, "pos": pos},
        )
        assert met == (complete, None)

    def test_bytes_are_summed(self) -> None:
        """Over the partitions, each up to its own maximum."""
        ready = {
            "fetch": {"offset": 1, "segment": 0, "pos": 0},
            "end": {"offset": 2, "segment": 0, "pos": 60},
        }
        for most, complete in ((50, True), (49, False)):
            partition = ready | {"max_bytes": most}
            state = run(
                "delayed_fetch",
                "3.7+",
                {"op": "try_complete", "min_bytes": 100, "partitions": [partition, partition]},
            )
            assert state["complete"] is complete

    def test_older_segment(self) -> None:
        """A fetch on an older segment is answered whatever there is."""
        met = self._one(
            10**6,
            fetch={"offset": 1, "segment": 0, "pos": 0},
            end={"offset": 2, "segment": 2, "pos": 1},
        )
        assert met == (True, None)

    def test_throttled(self) -> None:
        """Unless the replica is throttled."""
        met = self._one(
            1,
            fetch={"offset": 1, "segment": 0, "pos": 0},
            end={"offset": 2, "segment": 2, "pos": 1},
            throttled=True,
        )
        assert met == (False, None)

    def test_rolled_segment_at_the_end(self) -> None:
        """At the end it waits, though the segment has just rolled."""
        met = self._one(
            1,
            fetch={"offset": 2, "segment": 0, "pos": 9},
            end={"offset": 2, "segment": 2, "pos": 0},
        )
        assert met == (False, None)

    def test_exception_of_a_later_partition(self) -> None:
        """One bad partition is enough."""
        state = run(
            "delayed_fetch",
            "3.7+",
            {
                "op": "try_complete",
                "min_bytes": 1,
                "partitions": [
                    {"fetch": {"offset": 1}, "end": {"offset": 1}},
                    {"exception": "KAFKA_STORAGE_ERROR"},
                ],
            },
        )
        assert state == {"complete": True, "reason": "KAFKA_STORAGE_ERROR"}


class TestElectionZk:
    """PartitionLeaderElectionAlgorithmsTest.scala @ 3.5.1."""

    @pytest.mark.parametrize(
        ("arguments", "leader", "unclean"),
        [
            ({"kind": "reassign", "isr": [2, 4], "live": [4]}, 4, False),
            ({"kind": "reassign", "isr": [4], "live": [2, 4], "unclean_enabled": True}, 4, False),
            ({"kind": "preferred", "isr": [4], "live": [2, 4]}, None, False),
            ({"kind": "preferred", "isr": [2, 4], "live": [4]}, None, False),
            ({"kind": "preferred", "isr": [2], "live": []}, None, False),
            (
                {"kind": "controlled", "isr": [2], "live": [2, 4], "shutting_down": [2]},
                None,
                False,
            ),
            (
                {"kind": "controlled", "isr": [2, 4], "live": [2, 4], "shutting_down": [2, 4]},
                None,
                False,
            ),
            (
                {"kind": "controlled", "isr": [2, 4], "live": [2, 4], "shutting_down": [4]},
                2,
                False,
            ),
            ({"kind": "offline", "isr": [9], "live": [9, 4], "unclean_enabled": True}, 4, True),
            ({"kind": "offline", "isr": [2], "live": [], "unclean_enabled": True}, None, False),
        ],
    )
    def test_elect(self, arguments: dict[str, Any], leader: int | None, unclean: bool) -> None:
        """Over the assignment [2, 4]."""
        state = run("election_zk", "zk", at("elect", assignment=[2, 4], **arguments))
        assert state == {"leader": leader, "unclean": unclean}

    @pytest.mark.parametrize(("variant", "leader"), [("0.10.2-2.0", 4), ("2.1-2.6", None)])
    def test_unclean_by_default(self, variant: str, leader: int | None) -> None:
        """unclean.leader.election.enable was true up to 0.10.2."""
        step = at("elect", kind="offline", assignment=[2, 4], isr=[2], live=[4])
        assert run("election_zk", variant, step)["leader"] == leader

    def test_unknown_kind(self) -> None:
        """A kind that is none is an error of the timeline."""
        with pytest.raises(InputError) as caught:
            run("election_zk", "zk", at("elect", kind="random", assignment=[], isr=[], live=[]))
        assert str(caught.value) == (
            "timeline: line 1: timeline[0].kind: 'random'; allowed: offline, reassign, "
            "preferred, controlled"
        )


class TestElectionKraft:
    """PartitionChangeBuilderTest.java @ 1eb7644349."""

    FOO: ClassVar[dict[str, Any]] = {
        "replicas": [2, 1, 3],
        "isr": [2, 1, 3],
        "leader": 1,
        "acceptable": [0, 1, 2, 4, 5],
        "min_isr": 2,
    }

    @pytest.mark.parametrize(
        ("change", "leader", "unclean"),
        [
            ({"election": "PREFERRED"}, 2, False),
            ({}, 1, False),
            ({"election": "UNCLEAN"}, 1, False),
            ({"target_isr": [1, 3]}, 1, False),
            ({"target_isr": [3]}, -1, False),
            ({"target_isr": [3], "election": "UNCLEAN"}, 2, True),
            (
                {
                    "target_isr": [4],
                    "election": "UNCLEAN",
                    "target_replicas": [2, 1, 3, 4],
                },
                4,
                False,
            ),
        ],
    )
    def test_elect_leader(self, change: dict[str, Any], leader: int, unclean: bool) -> None:
        """The election alone."""
        step = at("partition_change", **(self.FOO | {"elect_only": True} | change))
        state = run("election_kraft", "kraft", step)
        assert (state["leader"], state["unclean"]) == (leader, unclean)

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            (
                {"target_isr": [2, 1], "mv_before_3_6": True},
                {"leader": 1, "isr": [2, 1], "leader_epoch_bump": True},
            ),
            (
                {
                    "target_isr": [2, 1, 3, 4],
                    "target_replicas": [2, 1, 3, 4],
                    "mv_before_3_6": True,
                },
                {"isr": [2, 1, 3, 4], "leader_epoch_bump": False},
            ),
            (
                {"target_replicas": [2, 1, 4]},
                {"leader": 1, "isr": [2, 1, 3], "leader_epoch_bump": True},
            ),
            ({"target_replicas": [3, 2, 1]}, {"leader": 1, "leader_epoch_bump": False}),
            ({"election": "UNCLEAN"}, {"leader": 1, "leader_epoch_bump": False}),
            (
                {"target_isr": [2, 3]},
                {"leader": 2, "isr": [2, 3], "leader_epoch_bump": True, "unclean": False},
            ),
            (
                {"target_isr": [], "mv_before_3_6": True, "acceptable": [1, 2, 3]},
                {"leader": -1, "isr": [2, 1, 3]},
            ),
        ],
    )
    def test_build(self, change: dict[str, Any], expected: dict[str, Any]) -> None:
        """The whole change."""
        run(
            "election_kraft",
            "kraft",
            at("partition_change", **(self.FOO | change), expect=expected),
        )

    def test_isr_can_shrink_to_zero_without_last_known(self) -> None:
        """Without the last-known leader nobody is remembered."""
        state = run(
            "election_kraft",
            "kraft",
            at(
                "partition_change",
                replicas=[1, 2, 3, 4],
                isr=[1, 2, 3, 4],
                target_isr=[],
                leader=1,
                acceptable=[],
                min_isr=3,
                elr_enabled=True,
                use_last_known_leader=False,
                election="PREFERRED",
            ),
        )
        assert (state["leader"], state["isr"], state["elr"]) == (-1, [], [1, 2, 3, 4])
        assert state["last_known_elr"] == []

    def test_unclean_without_elr(self) -> None:
        """An offline partition, the election forced."""
        state = run(
            "election_kraft",
            "kraft",
            at(
                "partition_change",
                replicas=[2, 1, 3],
                isr=[3],
                leader=-1,
                acceptable=[1],
                min_isr=2,
                election="UNCLEAN",
            ),
        )
        assert (state["leader"], state["isr"], state["recovery"]) == (1, [1], "RECOVERING")

    def test_elr_by_config(self) -> None:
        """The feature's own key turns ELR on, too."""
        state = run(
            "election_kraft",
            "kraft",
            at("partition_change", **(self.FOO | {"target_isr": [1]})),
            config={"eligible.leader.replicas.version": 1},
        )
        assert state["elr"] == [2, 3]

    @pytest.mark.parametrize(("variant", "bump"), [("2.7-3.2", True), ("3.3-3.6", False)])
    def test_shrink_bumps_by_release(self, variant: str, bump: bool) -> None:
        """2.8's metadata version bumps, 3.6's does not."""
        step = at("partition_change", **(self.FOO | {"target_isr": [2, 1]}))
        assert run("election_kraft", variant, step)["leader_epoch_bump"] is bump

    def test_too_many_replicas_are_refused(self) -> None:
        """An election walks among sixteen."""
        many: dict[str, Any] = {"isr": [1], "leader": 1, "acceptable": [1]}
        at_most = at("partition_change", replicas=list(range(16)), **many)
        assert run("election_kraft", "kraft", at_most)["leader"] == 1
        beyond = at("partition_change", replicas=list(range(17)), **many)
        with pytest.raises(InputError, match="target_replicas: 17; allowed: at most 16 replicas"):
            run("election_kraft", "kraft", beyond)


class TestPendingSet:
    """More offsets than a follower's record holds."""

    def test_many_offsets(self) -> None:
        """Every offset counts for itself."""
        state = run(
            "pending_set",
            "501-s1-pr",
            *[at("add", offset=offset, returns=1) for offset in range(20)],
            *[at("remove", offset=offset, returns=True) for offset in range(20)],
        )
        assert state == {"empty": True}


class TestSolution2:
    """KIP-501's text."""

    def _resign(self, **changed: Any) -> dict[str, Any]:
        given: dict[str, Any] = {
            "enabled": True,
            "process_time_max_ms": 500,
            "read_ms": 501,
            "leader": 1,
            "isr": [2, 1, 3],
            "assignment": [3, 1, 2],
            "live": [1, 2, 3],
        }
        return run("s2", "501-s2", at("s2", **(given | changed)))

    def test_leader_goes_last(self) -> None:
        """The others keep their order."""
        assert self._resign()["isr"] == [2, 3, 1]

    def test_who_is_elected(self) -> None:
        """By the ISR's order the first of it, by the assignment's its own first."""
        state = self._resign()
        assert (state["leader_isr_order"], state["leader_assignment_order"]) == (2, 3)

    def test_dead_members_are_passed_over(self) -> None:
        """By either order."""
        state = self._resign(live=[1, 3])
        assert (state["leader_isr_order"], state["leader_assignment_order"]) == (3, 3)

    def test_nobody_else(self) -> None:
        """A leader alone does not resign, and stays."""
        state = self._resign(isr=[1])
        assert (state["relinquish"], state["leader_isr_order"]) == (False, 1)

    def test_limit_from_config(self) -> None:
        """Without its own limit the step takes the key's."""
        step = at("s2", read_ms=600, leader=1, isr=[1, 2], assignment=[1, 2], live=[1, 2])
        config = {"follower.fetch.process.time.max.ms": 600}
        assert run("s2", "501-s2", step)["relinquish"] is True
        assert run("s2", "501-s2", step, config=config)["relinquish"] is False


class TestReplica:
    """ReplicaTest.scala @ 1eb7644349."""

    def _fetch(self, t: int, offset: int, leo: int, **more: Any) -> dict[str, Any]:
        return at("fetch", 1_000_000 + t, offset=offset, start=1, leader_leo=leo, **more)

    def test_update_fetch_state(self) -> None:
        """First branch, second branch, first again."""
        run(
            "replica",
            "3.7+",
            self._fetch(0, 5, 10) | {"expect": {"last_caught_up": 0, "prev_leader_leo": 10}},
            self._fetch(10, 10, 15) | {"expect": {"last_caught_up": 1_000_000, "leo": 10}},
            self._fetch(20, 15, 15) | {"expect": {"last_caught_up": 1_000_020}},
        )

    @pytest.mark.parametrize(("leo", "caught_up"), [(10, True), (11, False)])
    def test_is_caught_up(self, leo: int, caught_up: bool) -> None:
        """At the log end for ever, otherwise for the lag."""
        run(
            "replica",
            "3.7+",
            self._fetch(0, 10, 10),
            at("caught_up", 1_030_000, leader_leo=leo, returns=True),
            at("caught_up", 1_030_001, leader_leo=leo, returns=caught_up),
        )

    def test_fence_stale_updates_zk(self) -> None:
        """Under ZooKeeper nothing is stale."""
        run(
            "replica",
            "3.7+",
            self._fetch(0, 5, 10, broker_epoch=2),
            self._fetch(1, 6, 10, broker_epoch=1) | {"expect": {"broker_epoch": 1, "leo": 6}},
            config={"cached_broker_epoch": 2, "mode": "zk"},
        )

    def test_read_in_two_steps(self) -> None:
        """A read that begins and ends apart takes its own fetch time."""
        run(
            "replica",
            "501-s1-doc",
            self._fetch(0, 5, 5),
            at("fetch_begin", 1_000_100, offset=5, expect={"pending": True}),
            at("caught_up", 1_060_000, leader_leo=9, returns=True),
            at(
                "fetch_end",
                1_060_000,
                offset=5,
                leader_leo=9,
                fetch_t=1_000_100,
                expect={"pending": False, "last_caught_up": 1_060_000},
            ),
        )
