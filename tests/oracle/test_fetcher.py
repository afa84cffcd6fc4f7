"""The fetcher machine: AbstractFetcherThreadTest.scala @ 1eb7644349, and the releases before."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from tests.oracle.timelines import run

MODERN = "2.3+"
LEGACY = "pre-461"
BATCH = {"base": 0, "epoch": 0, "n": 2}


def at(op: str, t: int = 0, **arguments: Any) -> dict[str, Any]:
    """One step at time t."""
    return {"t": t, "op": op, **arguments}


def logs(*epochs: int) -> list[dict[str, int]]:
    """One record an offset, with these leader epochs."""
    return [{"base": base, "epoch": epoch, "n": 1} for base, epoch in enumerate(epochs)]


def follow(
    name: str = "tp", *, leader: list[dict[str, int]] | None = None, **add: Any
) -> list[dict[str, Any]]:
    """An empty follower of a leader with two records."""
    return [
        at("set_replica", tp=name, leader_epoch=0, log=[], hw=0),
        at("add", tp=name, offset=0, leader_epoch=0, **add),
        at("set_leader", tp=name, leader_epoch=0, log=leader or [BATCH], hw=2),
    ]


class TestKafkasTests:
    """By the names of Kafka's tests."""

    def test_unknown_leader_epoch_while_fetching(self) -> None:
        """A leader behind the follower's epoch stops it, until it catches up."""
        run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=1, log=[], hw=0),
            at("add", offset=0, leader_epoch=1),
            at("set_leader", leader_epoch=1, log=logs(0, 0), hw=2),
            at("do_work", expect={"leo": 1, "state": "Fetching"}),
            at("mod_leader", epoch=0),
            at("do_work", expect={"leo": 1, "state": "Fetching", "failed_count": 0}),
            at("mod_leader", epoch=1),
            at("do_work", expect={"leo": 2, "state": "Fetching"}),
        )

    def test_follower_fetch_out_of_range_high(self) -> None:
        """A leader that lost its log takes the follower's with it."""
        run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=4, log=logs(0, 2, 4), hw=0),
            at("add", offset=3, leader_epoch=4),
            at("set_leader", leader_epoch=4, log=logs(0, 2, 4), hw=2),
            at("do_work", expect={"leo": 3, "state": "Fetching"}),
            at("clear_leader_log"),
            at("do_work", expect={"leo": 0, "lso": 0, "hw": 0, "fetch_offset": 0}),
        )

    def test_retry_after_unknown_leader_epoch_in_latest_offset_fetch(self) -> None:
        """A leader that cannot say its offset yet is asked again."""
        state = run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=0, log=logs(0), hw=0),
            at("add", offset=3, leader_epoch=0),
            at("set_leader", leader_epoch=0, log=[{"base": 2, "epoch": 4, "n": 1}], hw=2),
            at(
                "inject",
                where="list_offsets_latest",
                error="UnknownLeaderEpochException",
                once=True,
            ),
            *[at("do_work") for _ in range(8)],
        )
        assert (state["lso"], state["leo"], state["epochs"], state["hw"]) == (2, 3, [4], 2)

    @pytest.mark.parametrize("error", ["CorruptRecordException", "InvalidRecordException"])
    def test_corrupt_message(self, error: str) -> None:
        """A corrupt batch is fetched again."""
        run(
            "fetcher",
            MODERN,
            *follow(),
            at("inject", where="append", error=error, once=True),
            at("do_work", expect={"leo": 0, "failed_count": 0}),
            at("do_work", expect={"leo": 2}),
        )

    @pytest.mark.parametrize("where", ["append", "truncate"])
    def test_partition_failure(self, where: str) -> None:
        """A partition that fails leaves the others alone, and comes back with an epoch."""
        run(
            "fetcher",
            MODERN,
            *follow("p1", force_truncation=True),
            *follow("p2", force_truncation=True),
            at("inject", tp="p1", where=where, error="KafkaException"),
            at("do_work", expect={"failed": ["p1"], "state_p1": None}),
            at("do_work", expect={"state_p2": "Fetching", "failed": ["p1"]}),
            at("remove", tp="p1", clear_failed=True, expect={"failed": []}),
            at(
                "add",
                tp="p1",
                offset=0,
                leader_epoch=1,
                force_truncation=True,
                expect={"state_p1": "Truncating", "failed": [], "tracked": ["p1", "p2"]},
            ),
        )

    def test_truncate_on_fetch_does_not_process_partition_data(self) -> None:
        """A diverging answer truncates; HW and log end follow with the next fetch."""
        state = run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=5, log=logs(0, 0, 2, 4, 4, 4), hw=1),
            at("add", offset=3, leader_epoch=5, expect={"leo": 6, "last_fetched_epoch": 4}),
            at("set_leader", leader_epoch=5, log=logs(0, 0, 2, 5, 5), hw=4),
            at(
                "do_work",
                expect={"truncations": 1, "process_calls": 0, "leo": 3, "hw": 1},
            ),
            at("do_work"),
            at("do_work"),
        )
        assert (state["truncations"], state["leo"], state["hw"]) == (1, 5, 4)
        assert (state["epochs"], state["last_fetched_epoch"]) == ([0, 0, 2, 5, 5], 5)

    def test_negative_offset_is_looked_up(self) -> None:
        """A follower without an offset begins where the leader's log and its own meet."""
        run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=4, log=logs(0, 2), hw=0),
            at("set_leader", leader_epoch=4, log=logs(0, 2, 4), hw=2),
            at(
                "add",
                offset=-1,
                leader_epoch=4,
                expect={"fetch_offset": 2, "lag": 1, "state": "Fetching"},
            ),
        )


class TestFailures:
    """What each failure does, before and after KIP-461."""

    @pytest.mark.parametrize(
        ("variant", "where", "error", "expected"),
        [
            (MODERN, "append", "KafkaStorageException", {"failed": ["p1"], "thread_dead": False}),
            (MODERN, "truncate", "KafkaStorageException", {"failed": ["p1"]}),
            (LEGACY, "append", "KafkaException", {"thread_dead": True, "failed": []}),
            (LEGACY, "append", "CorruptRecordException", {"delayed_p1": True, "failed": []}),
            (LEGACY, "truncate", "KafkaStorageException", {"delayed_p1": True, "failed": []}),
            (LEGACY, "truncate", "Exception", {"thread_dead": True}),
            (LEGACY, "response", "FENCED_LEADER_EPOCH", {"tracked": ["p2"], "failed": []}),
            (LEGACY, "response", "NOT_LEADER_OR_FOLLOWER", {"delayed_p1": True}),
            (MODERN, "response", "FENCED_LEADER_EPOCH", {"tracked": ["p2"], "failed": ["p1"]}),
            (MODERN, "response", "UNKNOWN_LEADER_EPOCH", {"delayed_p1": True, "failed": []}),
            (MODERN, "response", "NOT_LEADER_OR_FOLLOWER", {"delayed_p1": True, "failed": []}),
            (MODERN, "epoch_end_offsets", "FENCED_LEADER_EPOCH", {"failed": ["p1"]}),
            (MODERN, "offsets_for_leader_epoch", "UNKNOWN_SERVER_ERROR", {"delayed_p1": True}),
            ("0.8.2", "append", "CorruptRecordException", {"thread_dead": True}),
            ("0.8.2", "response", "NOT_LEADER_OR_FOLLOWER", {"delayed_p1": False}),
        ],
    )
    def test_failure(self, variant: str, where: str, error: str, expected: dict[str, Any]) -> None:
        """One partition of two meets it."""
        truncating = where in {"truncate", "epoch_end_offsets", "offsets_for_leader_epoch"}
        state = run(
            "fetcher",
            variant,
            *follow("p1", force_truncation=truncating),
            *follow("p2", force_truncation=truncating),
            at("inject", tp="p1", where=where, error=error),
            at("do_work"),
            config={"replica.fetch.backoff.ms": 1000},
        )
        assert {key: state[key] for key in expected} == expected

    def test_dead_thread_does_nothing(self) -> None:
        """A dead legacy thread fetches nothing any more."""
        run(
            "fetcher",
            LEGACY,
            *follow("p1"),
            *follow("p2"),
            at("inject", tp="p1", where="append", error="KafkaException", once=True),
            at("do_work", returns="dead"),
            at("do_work", returns="dead", expect={"leo_p1": 0, "leo_p2": 0}),
        )

    @pytest.mark.parametrize(("variant", "waits"), [(LEGACY, 2), ("2.7-3.2", 2), (MODERN, 1)])
    def test_backoff_after_a_failed_request(self, variant: str, waits: int) -> None:
        """Up to 3.2 the thread waits a back-off itself, and the partitions another."""
        run(
            "fetcher",
            variant,
            *follow(),
            at("inject", tp="*", where="rpc", error="IOException", once=True),
            at("do_work"),
            at("do_work", 250 * waits - 1, returns="backoff"),
            at("do_work", 250 * waits, expect={"leo": 2}),
            config={"replica.fetch.backoff.ms": 250},
        )

    def test_no_backoff_in_0_8(self) -> None:
        """0.8.2 asks again at once."""
        run(
            "fetcher",
            "0.8.2",
            *follow(),
            at("inject", tp="*", where="rpc", error="IOException", once=True),
            at("do_work", expect={"delayed": False}),
            at("do_work", expect={"leo": 2}),
            config={"replica.fetch.backoff.ms": 250},
        )

    def test_backoff_is_not_prolonged(self) -> None:
        """A partition that waits already goes on with its own back-off."""
        run(
            "fetcher",
            MODERN,
            *follow("p1"),
            *follow("p2"),
            at("inject", tp="p1", where="response", error="UNKNOWN_TOPIC_ID", once=True),
            at("do_work"),
            at("inject", tp="*", where="rpc", error="IOException", once=True),
            at("do_work", 200),
            at("do_work", 250, expect={"leo_p1": 2, "delayed_p2": True}),
            config={"replica.fetch.backoff.ms": 250},
        )

    def test_same_epoch_does_not_disturb(self) -> None:
        """Adding a tracked partition again with its epoch keeps its state."""
        run(
            "fetcher",
            MODERN,
            *follow(),
            at("do_work", expect={"fetch_offset": 2}),
            at("add", offset=0, leader_epoch=0, expect={"fetch_offset": 2}),
            at("add", offset=1, leader_epoch=1, expect={"fetch_offset": 1}),
        )

    def test_removal_keeps_failed_unless_told(self) -> None:
        """Untracking alone does not un-fail."""
        run(
            "fetcher",
            MODERN,
            *follow(),
            at("inject", where="append", error="KafkaException"),
            at("do_work", expect={"failed": ["tp"]}),
            at("remove", expect={"failed": ["tp"]}),
            at("remove", clear_failed=True, expect={"failed_count": 0}),
        )

    def test_nothing_to_fetch(self) -> None:
        """A thread without a ready partition backs off."""
        run("fetcher", MODERN, at("do_work", returns="backoff"))

    def test_offset_mismatch_fails(self) -> None:
        """Data that do not follow the log are an unexpected error."""
        run(
            "fetcher",
            MODERN,
            at("set_replica", leader_epoch=0, log=[BATCH], hw=0),
            at("add", offset=1, leader_epoch=0),
            at("set_leader", leader_epoch=0, log=[BATCH], hw=2),
            at("do_work", expect={"failed": ["tp"]}),
        )


class TestTruncation:
    """Where a follower truncates to."""

    @pytest.mark.parametrize(
        ("mine", "theirs", "first"),
        [
            ((0, 2, 4), (0, 2, 5), 2),
            ((0, 2, 4), (0, 3, 5), 2),
            ((0, 1, 1, 1), (0, 1, 3), 3),
            ((1, 1), (3, 3), 0),
            ((0, 0), (0, 0, 0), 3),
        ],
    )
    def test_first_step(self, mine: tuple[int, ...], theirs: tuple[int, ...], first: int) -> None:
        """The log end after the first answer, and at last the leader's log."""
        epoch = max(*mine, *theirs)
        steps = [
            at("set_replica", leader_epoch=epoch, log=logs(*mine), hw=0),
            at("add", offset=len(mine), leader_epoch=epoch),
            at("set_leader", leader_epoch=epoch, log=logs(*theirs), hw=0),
        ]
        after = run("fetcher", MODERN, *steps, at("do_work"))
        assert after["leo"] == first
        end = run("fetcher", MODERN, *steps, *[at("do_work") for _ in range(9)])
        assert end["epochs"] == list(theirs)


class TestErrors:
    """Timelines that cannot be run."""

    @pytest.mark.parametrize(
        ("steps", "message"),
        [
            (
                [at("inject", where="fetch", error="X")],
                (
                    "timeline: line 1: timeline[0].where: 'fetch'; allowed: append, truncate, rpc, "
                    "response, list_offsets_earliest, list_offsets_latest, epoch_end_offsets, "
                    "offsets_for_leader_epoch, epoch"
                ),
            ),
            (
                [at("add", offset=0, leader_epoch=0)],
                (
                    "timeline: line 1: timeline[0].tp: 'tp'; allowed: a partition of an earlier "
                    "set_replica"
                ),
            ),
            (
                [at("mod_leader", epoch=1)],
                (
                    "timeline: line 1: timeline[0].tp: 'tp'; allowed: a partition of an earlier "
                    "set_leader"
                ),
            ),
            (
                [*follow()[:2], at("do_work")],
                (
                    "timeline: line 1: timeline[2].op: 'do_work' with 'tp' tracked; allowed: a "
                    "set_leader of 'tp' before it"
                ),
            ),
        ],
    )
    def test_message(self, steps: list[dict[str, Any]], message: str) -> None:
        """The text, exactly."""
        with pytest.raises(InputError) as caught:
            run("fetcher", MODERN, *steps)
        assert str(caught.value) == message
