"""The leader machine: tests of Kafka's own (named), and what tells the releases apart."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle.timelines import T, lead, run, step

SYNC = ["0.8.2", "0.9-0.10.1", "4485-doc", "0.10.2-2.0", "2.1-2.6"]
ASYNC = ["2.7-3.2", "3.3-3.6", "3.7+"]
ALL = [*SYNC, *ASYNC]
LAG = {"replica.lag.time.max.ms": 10_000}
KRAFT = {"mode": "kraft"}


class TestPartitionTest:
    """PartitionTest.scala @ 1eb7644349, test by test."""

    def test_fetch_from_unrecognized_follower(self) -> None:
        """A replica the leader does not know is told to retry, until metadata name it."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102], leo=0),
            step(
                "fetch",
                0,
                replica=103,
                offset=0,
                leader_epoch=5,
                error_expected="UNKNOWN_LEADER_EPOCH",
            ),
            step("fetch", 0, replica=104, offset=0, error_expected="NOT_LEADER_OR_FOLLOWER"),
            step(
                "make_leader",
                0,
                leader_epoch=5,
                partition_epoch=2,
                replicas=[101, 102, 103, 104],
                isr=[101, 102],
                adding=[103, 104],
                returns="stayed_leader",
                expect={"under_replicated": False, "remote": [102, 103, 104]},
            ),
            step("fetch", 0, replica=103, offset=0, leader_epoch=5),
            step("fetch", 0, replica=104, offset=0),
        )

    def test_follower_does_not_join_isr_until_caught_up_to_leader_epoch(self) -> None:
        """An offset of an earlier epoch above the HW does not join."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 103], leo=0, replicas=[101, 102, 103]),
            step("append", 0, n=2, acks=0),
            step("append", 0, n=3, acks=0, expect={"hw": 0}),
            step("fetch", 0, replica=103, offset=0),
            step("fetch", 0, replica=103, offset=1, expect={"hw": 1}),
            step(
                "make_follower",
                0,
                leader=103,
                leader_epoch=6,
                partition_epoch=1,
                replicas=[101, 102, 103],
                isr=[101, 103],
            ),
            step(
                "make_leader",
                0,
                leader_epoch=7,
                partition_epoch=1,
                replicas=[101, 102, 103],
                isr=[101, 103],
                returns="new_leader",
                expect={"epoch_start": 5},
            ),
            step("append", 0, n=2, acks=0),
            step("fetch", 0, replica=102, offset=0),
            step("fetch", 0, replica=102, offset=1, expect={"inflight": False}),
            step("fetch", 0, replica=102, offset=5),
        )
        assert state["isr"] == [101, 103]
        assert state["maximal_isr"] == state["sent_isr"] == [101, 102, 103]

    def test_at_min_isr(self) -> None:
        """An ISR of one is at the default min ISR; nobody is before becoming leader."""
        steps = lead([101], leo=0, replicas=[101, 102, 103])
        before = run("leader", "3.7+", steps[0])
        after = run("leader", "3.7+", *steps)
        assert (before["at_min_isr"], after["at_min_isr"]) == (False, True)

    def test_is_under_min_isr(self) -> None:
        """One of two needed is under min ISR."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step(
                "make_leader",
                0,
                leader_epoch=6,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101],
            ),
            config={"min.insync.replicas": 2},
        )
        assert (state["under_min_isr"], state["at_min_isr"]) == (True, False)

    def test_hw_increases_with_fenced_follower(self) -> None:
        """A fenced follower outside the ISR does not hold the HW."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("fetch", 0, replica=102, offset=10, expect={"hw": 10}),
            step("broker", 0, id=102, fenced=True),
            step("log_append", 0, n=10),
            step(
                "make_leader",
                0,
                leader_epoch=5,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101],
                expect={"hw": 20},
            ),
            config=KRAFT,
        )

    def test_isr_not_expanded_if_dead_zk(self) -> None:
        """Under ZooKeeper a broker must be alive to join."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("broker", 0, id=102, alive=False),
            step("fetch", 0, replica=102, offset=10, expect={"inflight": False}),
            step("broker", 0, id=102, alive=True),
            step("fetch", 0, replica=102, offset=10),
            config={"mode": "zk"},
        )
        assert state["maximal_isr"] == [101, 102]
        assert state["sent_epochs"] == {"101": -1, "102": -1}

    def test_isr_can_be_expanded_if_broker_epochs_match(self) -> None:
        """A broker that re-registers between record and check does not join."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 103], replicas=[101, 102, 103]),
            step("broker", 0, id=102, epoch=1101),
            step(
                "race_fetch",
                0,
                replica=102,
                offset=10,
                broker_epoch=1101,
                cached_after=1102,
                expect={
                    "inflight": False,
                    "queued": 0,
                    "replica_102": {"leo": 10, "last_caught_up": T, "broker_epoch": 1101},
                },
            ),
            step("fetch", 0, replica=102, offset=10),
            config=KRAFT,
        )
        assert state["maximal_isr"] == [101, 102, 103]
        assert state["sent_epochs"] == {"101": 1101, "102": 1102, "103": -1}

    def test_maybe_shrink_isr(self) -> None:
        """Not at first, then after the lag, committed by the answer."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102, 103], replicas=[101, 102, 103]),
            step("fetch", 0, replica=102, offset=10),
            step("maybe_shrink", 0, expect={"queued": 0}),
            step(
                "maybe_shrink",
                30_001,
                expect={
                    "queued": 1,
                    "shrinks": 0,
                    "sent_isr": [101, 102],
                    "sent_epochs": {"101": 1101, "102": 1102},
                    "isr": [101, 102, 103],
                    "maximal_isr": [101, 102, 103],
                    "hw": 0,
                },
            ),
            step("alter_ok", 30_001, partition_epoch=2),
            config=KRAFT,
        )
        assert (state["shrinks"], state["partition_epoch"], state["queued"]) == (1, 2, 0)
        assert (state["isr"], state["hw"]) == ([101, 102], 10)

    def test_hw_does_not_advance_when_under_min_isr(self) -> None:
        """The maximal ISR does not lift the freeze, the committed one does."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102], replicas=[101, 102, 103]),
            step("fetch", 0, replica=102, offset=10, expect={"hw": 0}),
            step("fetch", 0, replica=103, offset=10, expect={"hw": 0, "queued": 1}),
            step("alter_ok", 0, partition_epoch=2, expect={"hw": 10, "under_min_isr": False}),
            config={"min.insync.replicas": 3, **KRAFT},
        )

    def test_alter_isr_leader_and_isr_race(self) -> None:
        """While an old proposal is queued no new one is taken."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("maybe_shrink", 30_001, expect={"inflight": True}),
            step(
                "make_leader",
                30_001,
                leader_epoch=5,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101, 102],
                returns="stayed_leader",
                expect={"inflight": False, "hw": 0},
            ),
            step("maybe_shrink", 60_002, expect={"inflight": False, "queued": 1, "failures": 1}),
            step("alter_ok", 60_002, partition_epoch=10, expect={"isr": [101, 102]}),
            step("maybe_shrink", 60_002, expect={"inflight": True}),
        )

    def test_not_shrunk_if_follower_caught_up_to_log_end(self) -> None:
        """Equal LEO keeps it in, whatever the clock says."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("fetch", 0, replica=102, offset=10, expect={"hw": 10}),
            step("maybe_shrink", 30_001, expect={"queued": 0, "isr": [101, 102]}),
        )

    def test_alter_isr_unexpected_error(self) -> None:
        """An unexpected error is sent again at once."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("fetch", 0, replica=102, offset=10, expect={"submitted": 1}),
            step("alter_fail", 0, error="UNKNOWN_SERVER_ERROR"),
        )
        assert (state["queued"], state["submitted"], state["failures"]) == (1, 2, 1)
        assert state["maximal_isr"] == [101, 102]

    def test_single_in_flight(self) -> None:
        """No shrink while an expansion is under way, and nobody is shown as out of sync."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102, 103], replicas=[101, 102, 103, 104]),
            step("fetch", 0, replica=104, offset=10, expect={"queued": 1}),
            step("maybe_shrink", 30_001, expect={"queued": 1, "out_of_sync": []}),
        )

    def test_checkpoint_initializes_hw(self) -> None:
        """The checkpointed HW is where the leader begins."""
        state = run("leader", "3.7+", step("init_log", 0, leo=6, hw_checkpoint=4))
        assert state["hw"] == 4

    def test_checkpoint_beyond_the_log(self) -> None:
        """A HW beyond the log's end is cut to it."""
        assert run("leader", "3.7+", step("init_log", 0, leo=6, hw_checkpoint=9))["hw"] == 6

    def test_update_assignment(self) -> None:
        """Followers that leave the assignment are forgotten, new ones begin."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102], replicas=[101, 102, 103]),
            step("fetch", 0, replica=103, offset=4),
            step(
                "make_leader",
                0,
                leader_epoch=5,
                partition_epoch=2,
                replicas=[101, 103, 104],
                isr=[101, 103],
            ),
        )
        assert state["remote"] == [103, 104]
        assert (state["replica_103"]["leo"], state["replica_104"]["leo"]) == (4, -1)

    def test_follower_has_no_remote_replica_state(self) -> None:
        """A follower keeps no record of others, and no ISR."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102, 103], replicas=[101, 102, 103]),
            step(
                "make_follower",
                0,
                leader=102,
                leader_epoch=6,
                partition_epoch=2,
                replicas=[101, 102, 103],
                isr=[101, 102, 103],
                returns="new_epoch",
            ),
        )
        assert (state["remote"], state["isr"], state["epoch_start"]) == ([], [], None)
        assert state["replica_102"] is None

    def test_make_follower_with_no_leader_change(self) -> None:
        """A new epoch restarts the fetcher though the leader is the same."""
        args: dict[str, Any] = {"leader": 102, "replicas": [101, 102], "isr": [101, 102]}
        run(
            "leader",
            "3.7+",
            step("make_follower", 0, leader_epoch=1, partition_epoch=1, **args),
            step(
                "make_follower",
                0,
                leader_epoch=4,
                partition_epoch=1,
                returns="new_epoch",
                **args,
            ),
            step("make_follower", 0, leader_epoch=5, partition_epoch=0, returns="ignored", **args),
        )


class TestErrorsOfFetches:
    """What a leader answers instead of reading."""

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"offset": 11}, "OFFSET_OUT_OF_RANGE"),
            ({"offset": 1}, "OFFSET_OUT_OF_RANGE"),
            ({"offset": 5, "leader_epoch": 4}, "FENCED_LEADER_EPOCH"),
            ({"offset": 5, "leader_epoch": 6}, "UNKNOWN_LEADER_EPOCH"),
            ({"offset": 5, "error": "KAFKA_STORAGE_ERROR"}, "KAFKA_STORAGE_ERROR"),
        ],
    )
    def test_error(self, arguments: dict[str, Any], error: str) -> None:
        """Offsets outside the log, epochs that do not fit, failed reads."""
        begin, become = lead([101, 102])
        run(
            "leader",
            "3.7+",
            begin | {"start": 2},
            become,
            step("fetch", 0, replica=102, error_expected=error, **arguments),
        )

    @pytest.mark.parametrize("offset", [2, 10])
    def test_ends_of_the_log(self, offset: int) -> None:
        """The log's start and end are in range."""
        begin, become = lead([101, 102])
        run(
            "leader",
            "3.7+",
            begin | {"start": 2},
            become,
            step("fetch", replica=102, offset=offset),
        )

    @pytest.mark.parametrize(("variant", "leo"), [("2.1-2.6", -1), ("2.7-3.2", 7)])
    def test_failed_read(self, variant: str, leo: int) -> None:
        """KAFKA-8400: until 2.3 a failed read wipes the record."""
        state = run(
            "leader",
            variant,
            *lead([101, 102]),
            step("fetch", 0, replica=102, offset=7),
            step("fetch", 1, replica=102, offset=11, error_expected="OFFSET_OUT_OF_RANGE"),
        )
        assert state["replica_102"]["leo"] == leo

    def test_diverging(self) -> None:
        """A diverging answer does not touch the record."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("fetch", 0, replica=102, offset=7, diverging=True, returns="diverging"),
        )
        assert state["replica_102"]["leo"] == -1

    def test_read_ends_after_demotion(self) -> None:
        """A read that ends on a broker that leads no longer is refused."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("fetch_begin", 0, replica=102, offset=7),
            step(
                "make_follower",
                1,
                leader=102,
                leader_epoch=6,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101, 102],
            ),
            step("fetch_end", 2, replica=102, offset=7, error_expected="NOT_LEADER_OR_FOLLOWER"),
        )

    def test_stale_epoch_is_only_kraft(self) -> None:
        """Outside KRaft nobody has a broker epoch to compare with."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102]),
            step("fetch", 0, replica=102, offset=10, broker_epoch=1),
            config={"mode": "zk"},
        )

    @pytest.mark.parametrize("variant", ["3.3-3.6", "3.7+"])
    def test_older_epoch_does_not_join(self, variant: str) -> None:
        """A fetch of an older incarnation does not join, from 3.7 on it is refused."""
        extra: dict[str, Any] = {}
        if variant == "3.7+":
            extra["error_expected"] = "NOT_LEADER_OR_FOLLOWER"
        state = run(
            "leader",
            variant,
            *lead([101]),
            step("fetch", 0, replica=102, offset=10, broker_epoch=1101, **extra),
            config=KRAFT,
        )
        assert state["inflight"] is False

    def test_epoch_minus_one_bypasses(self) -> None:
        """A follower too old to name its epoch may join."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("fetch", 0, replica=102, offset=10, broker_epoch=-1),
            config=KRAFT,
        )
        assert state["maximal_isr"] == [101, 102]


class TestPropagation:
    """Synchronous and asynchronous ISR changes."""

    @pytest.mark.parametrize("variant", SYNC)
    def test_expand_at_once(self, variant: str) -> None:
        """Up to 2.6 the ISR is written within the fetch."""
        state = run(
            "leader", variant, *lead([101]), step("fetch", 0, replica=102, offset=10), config=LAG
        )
        assert (state["isr"], state["expands"], state["partition_epoch"]) == ([101, 102], 1, 2)
        assert (state["inflight"], state["queued"]) == (False, 0)

    @pytest.mark.parametrize("variant", ASYNC)
    def test_expand_is_proposed(self, variant: str) -> None:
        """From 2.7 on it is proposed."""
        state = run("leader", variant, *lead([101]), step("fetch", 0, replica=102, offset=10))
        assert (state["isr"], state["maximal_isr"]) == ([101], [101, 102])
        assert (state["pending_kind"], state["expands"]) == ("expand", 0)

    @pytest.mark.parametrize("variant", SYNC)
    def test_shrink_at_once(self, variant: str) -> None:
        """A tick shrinks at once, and the HW moves."""
        state = run("leader", variant, *lead([101, 102]), step("maybe_shrink", 10_001), config=LAG)
        assert (state["isr"], state["shrinks"], state["hw"]) == ([101], 1, 10)

    @pytest.mark.parametrize("variant", ASYNC)
    def test_shrink_is_proposed(self, variant: str) -> None:
        """A proposed shrink keeps the whole ISR, and the HW waits."""
        state = run("leader", variant, *lead([101, 102]), step("maybe_shrink", 10_001), config=LAG)
        assert (state["maximal_isr"], state["hw"]) == ([101, 102], 0)
        assert (state["pending_kind"], state["sent_isr"]) == ("shrink", [101])

    def test_old_answer(self) -> None:
        """An answer of an older partition epoch is ignored, and counted."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("fetch", 0, replica=102, offset=10),
            step("alter_ok", 0, partition_epoch=0),
        )
        assert (state["isr"], state["inflight"], state["failures"]) == ([101], True, 1)

    def test_answer_of_another_leader_epoch(self) -> None:
        """So is one of another leader epoch."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("fetch", 0, replica=102, offset=10),
            step("alter_ok", 0, partition_epoch=2, leader_epoch=4),
        )
        assert (state["isr"], state["failures"]) == ([101], 1)

    def test_new_metadata_commits(self) -> None:
        """Metadata end a proposal; its late answer is ignored."""
        state = run(
            "leader",
            "3.7+",
            *lead([101]),
            step("fetch", 0, replica=102, offset=10),
            step(
                "make_leader",
                0,
                leader_epoch=5,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101, 102],
            ),
            step("alter_ok", 0, partition_epoch=3),
        )
        assert (state["partition_epoch"], state["expands"]) == (2, 0)

    @pytest.mark.parametrize(("variant", "queued"), [("2.7-3.2", 0), ("3.7+", 1)])
    def test_make_leader_clears_the_queue_in_2_8(self, variant: str, queued: int) -> None:
        """2.8 takes the queued proposal back when it becomes leader."""
        state = run(
            "leader",
            variant,
            *lead([101]),
            step("fetch", 0, replica=102, offset=10),
            step(
                "make_leader",
                0,
                leader_epoch=6,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101],
            ),
        )
        assert state["queued"] == queued

    def test_answer_without_proposal(self) -> None:
        """An answer to nothing is an error of the timeline."""
        from isr_pipeline.base.errors import InputError

        with pytest.raises(InputError, match=r"timeline\[2\]\.op: 'alter_ok'; allowed: a fetch"):
            run("leader", "3.7+", *lead([101]), step("alter_ok", 0, partition_epoch=2))

    @pytest.mark.parametrize("variant", SYNC)
    def test_answers_mean_nothing_up_to_2_6(self, variant: str) -> None:
        """The write was done within the fetch: nothing is left to answer."""
        run(
            "leader",
            variant,
            *lead([101]),
            step("fetch", 0, replica=102, offset=10),
            step("alter_ok", 0, partition_epoch=9, expect={"partition_epoch": 2}),
            config=LAG,
        )


class TestInSyncRules:
    """One behaviour, every release."""

    @pytest.mark.parametrize("variant", ALL[1:])
    def test_lag_limit(self, variant: str) -> None:
        """At the limit in sync, one ms later out."""
        run(
            "leader",
            variant,
            *lead([101, 102], leo=0),
            step("fetch", 0, replica=102, offset=0),
            step("log_append", 0, n=5),
            step("nop", 10_000, expect={"out_of_sync": []}),
            step("nop", 10_001, expect={"out_of_sync": [102]}),
            config=LAG,
        )

    @pytest.mark.parametrize("variant", ALL)
    def test_idle_partition(self, variant: str) -> None:
        """An idle follower expires up to 2.0 only."""
        state = run(
            "leader",
            variant,
            *lead([101, 102], leo=0),
            step("fetch", 0, replica=102, offset=0),
            step("nop", 60_000),
            config=LAG,
        )
        assert state["out_of_sync"] == ([102] if variant in SYNC[:4] else [])

    @pytest.mark.parametrize("variant", ALL)
    def test_always_one_record_behind(self, variant: str) -> None:
        """KAFKA-4485's follower: only 0.9-0.10.1 evicts it."""
        fetches = [
            made
            for second in range(1, 13)
            for made in (
                step("append", second * 1000, n=1, acks=1),
                step("fetch", second * 1000, replica=102, offset=second - 1),
            )
        ]
        state = run("leader", variant, *lead([101, 102], leo=0), *fetches, config=LAG)
        assert state["out_of_sync"] == ([102] if variant == "0.9-0.10.1" else [])

    @pytest.mark.parametrize("variant", SYNC[:4])
    def test_over_lag_replica_at_the_hw(self, variant: str) -> None:
        """Only KAFKA-4485's text keeps out a replica at the HW that lags."""
        state = run(
            "leader",
            variant,
            *lead([101, 103], replicas=[101, 102, 103]),
            step("fetch", 60_000, replica=103, offset=3, expect={"hw": 3}),
            step("fetch", 60_000, replica=102, offset=3),
            config=LAG,
        )
        assert (102 in state["maximal_isr"]) is (variant != "4485-doc")

    def test_flap_19996(self) -> None:
        """3.7+: a frozen HW lets a stale replica in, and the tick throws it out again."""
        run(
            "leader",
            "3.7+",
            *lead([101], leo=0, replicas=[101, 102, 103]),
            step("append", 0, n=10, acks=1, expect={"hw": 0}),
            step("fetch", 0, replica=102, offset=0, expect={"pending_kind": "expand"}),
            step("alter_ok", 0, partition_epoch=2),
            step("maybe_shrink", 0, expect={"pending_kind": "shrink"}),
            step("alter_ok", 0, partition_epoch=3),
            step("fetch", 100, replica=102, offset=0, expect={"pending_kind": "expand"}),
            config={"min.insync.replicas": 2} | LAG,
        )

    @pytest.mark.parametrize("variant", SYNC[1:2])
    def test_slow_read_credits_its_end_in_0_9(self, variant: str) -> None:
        """A 25 s read credits 25 s later."""
        state = run(
            "leader",
            variant,
            *lead([101, 102], leo=5),
            step("fetch_begin", 0, replica=102, offset=5),
            step("fetch_end", 25_000, replica=102, offset=5),
            config=LAG,
        )
        assert state["replica_102"]["last_caught_up"] == T + 25_000

    @pytest.mark.parametrize("variant", ["501-s1-doc", "501-s1-pr", "501-s2"])
    def test_pending_read(self, variant: str) -> None:
        """A pending read keeps the follower in; with the key off it does not."""
        steps = (
            *lead([101, 102], leo=5),
            step("fetch", 0, replica=102, offset=5),
            step("fetch_begin", 100, replica=102, offset=5),
            step("log_append", 100, n=5),
            step("nop", 60_000),
        )
        key = {"follower.fetch.pending.reads.insync.enable": False}
        assert run("leader", variant, *steps, config=LAG)["out_of_sync"] == []
        assert run("leader", variant, *steps, config=LAG | key)["out_of_sync"] == [102]

    def test_duplicate_read_after_socket_timeout(self) -> None:
        """The first answer of two at one offset does not end the protection."""
        run(
            "leader",
            "501-s1-doc",
            *lead([101, 102], leo=5),
            step("fetch", 0, replica=102, offset=5),
            step("log_append", 0, n=5),
            step("fetch_begin", 100, replica=102, offset=5),
            step("fetch_begin", 30_100, replica=102, offset=5),
            step("fetch_end", 40_000, replica=102, offset=5),
            step("nop", 60_000, expect={"out_of_sync": []}),
            step("fetch_end", 60_000, replica=102, offset=5),
            step("nop", 70_001, expect={"out_of_sync": [102]}),
            config=LAG,
        )


class TestBecomingLeader:
    """What metadata do, release by release."""

    @pytest.mark.parametrize("variant", ALL)
    def test_fail_back(self, variant: str) -> None:
        """Only 0.9-0.10.1 evicts a follower that had no chance to fetch."""
        args: dict[str, Any] = {"replicas": [101, 102], "isr": [101, 102]}
        state = run(
            "leader",
            variant,
            *lead([101, 102], leo=5),
            step("fetch", 0, replica=102, offset=5),
            step("make_follower", 1, leader=102, leader_epoch=6, partition_epoch=2, **args),
            step("make_leader", 60_000, leader_epoch=7, partition_epoch=3, **args),
            config=LAG,
        )
        assert state["out_of_sync"] == ([102] if variant == "0.9-0.10.1" else [])

    @pytest.mark.parametrize("variant", ALL)
    def test_same_leader_epoch_again(self, variant: str) -> None:
        """From 0.10.2 to 3.2 any metadata reset the clock, later only a new leader epoch."""
        _, become = lead([101, 102], leo=5)
        state = run(
            "leader",
            variant,
            *lead([101, 102], leo=5),
            step("fetch", 0, replica=102, offset=5),
            step("log_append", 0, n=1),
            become | {"partition_epoch": 2, "t": T + 9_000},
            step("nop", 15_000),
            config=LAG,
        )
        expired = variant in {"0.9-0.10.1", "3.3-3.6", "3.7+"}
        assert state["out_of_sync"] == ([102] if expired else [])

    @pytest.mark.parametrize("variant", ALL)
    def test_older_partition_epoch(self, variant: str) -> None:
        """From 3.3 on metadata of an older partition epoch are ignored."""
        _, become = lead([101])
        state = run(
            "leader",
            variant,
            *lead([101, 102]),
            become | {"partition_epoch": 0},
        )
        assert state["isr"] == ([101, 102] if variant in ASYNC[1:] else [101])

    @pytest.mark.parametrize(
        ("variant", "returned"),
        [("0.10.2-2.0", "same_epoch"), ("2.1-2.6", "new_epoch"), ("3.7+", "new_epoch")],
    )
    def test_same_leader_new_epoch_restarts_fetcher(self, variant: str, returned: str) -> None:
        """Until 2.0 a follower looked at the leader's id alone."""
        args: dict[str, Any] = {"leader": 102, "replicas": [101, 102], "isr": [101, 102]}
        run(
            "leader",
            variant,
            step("make_follower", 0, leader_epoch=1, partition_epoch=1, **args),
            step("make_follower", 0, leader_epoch=2, partition_epoch=2, returns=returned, **args),
        )


class TestProduce:
    """acks=all."""

    @pytest.mark.parametrize("variant", ALL)
    def test_committed(self, variant: str) -> None:
        """Done when the HW passes it."""
        run(
            "leader",
            variant,
            *lead([101, 102], leo=0),
            step("append", 0, n=2, acks=-1, id="p", expect={"produce": {"p": None}}),
            step("fetch", 1, replica=102, offset=1, expect={"produce": {"p": None}}),
            step("fetch", 2, replica=102, offset=2, expect={"produce": {"p": "NONE"}, "hw": 2}),
            config=LAG,
        )

    @pytest.mark.parametrize("acks", [0, 1])
    def test_other_acks(self, acks: int) -> None:
        """Acks 0 and 1 are done at once."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102], leo=0),
            step("append", 0, n=2, acks=acks, id="p", expect={"produce": {"p": "NONE"}}),
        )

    def test_all_is_minus_one(self) -> None:
        """The client's word for -1 is taken, too."""
        run(
            "leader",
            "3.7+",
            *lead([101, 102], leo=0),
            step("append", 0, n=2, acks="all", id="p", expect={"produce": {"p": None}}),
        )

    def test_lost_leadership(self) -> None:
        """A broker that leads no longer says so."""
        state = run(
            "leader",
            "3.7+",
            *lead([101, 102], leo=0),
            step("append", 0, n=2, acks=-1, id="p"),
            step(
                "make_follower",
                0,
                leader=102,
                leader_epoch=6,
                partition_epoch=2,
                replicas=[101, 102],
                isr=[101, 102],
            ),
            step("append", 0, n=1, acks=1, error_expected="NOT_LEADER_OR_FOLLOWER"),
        )
        assert state["produce"] == {"p": "NOT_LEADER_OR_FOLLOWER"}

    def test_min_isr_is_capped_from_3_7(self) -> None:
        """min.insync.replicas beyond the replication factor means all of them."""
        steps = (*lead([101, 102], leo=0), step("append", 0, n=1, acks=-1))
        config = {"min.insync.replicas": 3}
        assert run("leader", "3.7+", *steps, config=config)["leo"] == 1

    def test_min_isr_is_not_capped_before(self) -> None:
        """Before, nothing can be produced."""
        run(
            "leader",
            "3.3-3.6",
            *lead([101, 102], leo=0),
            step("append", 0, n=1, acks=-1, error_expected="NOT_ENOUGH_REPLICAS"),
            config={"min.insync.replicas": 3},
        )
