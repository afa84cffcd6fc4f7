"""What machines refuse, and how threads are chosen: the rest of them is in the timelines' file."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from tests.oracle import replay_vector
from tests.oracle.fetcher_mgr import fetcher_id, java_hash

FOLLOWER = [
    {"op": "set_replica", "leader_epoch": 0, "log": [], "hw": 0},
    {"op": "add", "offset": 0, "leader_epoch": 0},
]
LEADER = [
    {"op": "init_log", "leo": 10},
    {
        "op": "make_leader",
        "leader_epoch": 5,
        "partition_epoch": 1,
        "replicas": [101, 102],
        "isr": [101],
    },
]


def replay(machine: str, variant: str, *steps: dict[str, Any]) -> dict[str, Any]:
    """Replay these steps."""
    return replay_vector({"machine": machine, "variant": variant, "timeline": list(steps)}, 1)


class TestRefusals:
    """Timelines that cannot be run."""

    @pytest.mark.parametrize(
        ("machine", "steps", "message"),
        [
            (
                "fetcher",
                [{"op": "inject", "where": "fetch", "error": "X"}],
                (
                    "timeline[0].where: 'fetch'; allowed: append, truncate, rpc, response, "
                    "list_offsets_earliest, list_offsets_latest, epoch_end_offsets, "
                    "offsets_for_leader_epoch, epoch"
                ),
            ),
            (
                "fetcher",
                [{"op": "add", "offset": 0, "leader_epoch": 0}],
                "timeline[0].tp: 'tp'; allowed: a partition of an earlier set_replica",
            ),
            (
                "fetcher",
                [{"op": "mod_leader", "epoch": 1}],
                "timeline[0].tp: 'tp'; allowed: a partition of an earlier set_leader",
            ),
            (
                "fetcher",
                [*FOLLOWER, {"op": "do_work"}],
                (
                    "timeline[2].op: 'do_work' with 'tp' tracked; allowed: a set_leader of 'tp' "
                    "before it"
                ),
            ),
            (
                "leader",
                [*LEADER, {"op": "alter_ok", "partition_epoch": 2}],
                (
                    "timeline[2].op: 'alter_ok'; allowed: a fetch or maybe_shrink before it that "
                    "proposes an ISR"
                ),
            ),
            (
                "alter_mgr",
                [{"op": "response"}],
                "timeline[0].op: 'response'; allowed: a submit before it: nothing is in flight",
            ),
            (
                "election_zk",
                [{"op": "elect", "kind": "random", "assignment": [], "isr": [], "live": []}],
                "timeline[0].kind: 'random'; allowed: offline, reassign, preferred, controlled",
            ),
        ],
    )
    def test_message(self, machine: str, steps: list[dict[str, Any]], message: str) -> None:
        """The text, exactly."""
        with pytest.raises(InputError) as caught:
            replay(machine, "3.7+", *steps)
        assert str(caught.value) == f"timeline: line 1: {message}"

    def test_too_many_replicas(self) -> None:
        """An election walks among sixteen."""
        change = {"op": "partition_change", "isr": [1], "leader": 1, "acceptable": [1]}
        sixteen = replay("election_kraft", "kraft", change | {"replicas": list(range(16))})
        assert sixteen["state"]["leader"] == 1
        with pytest.raises(InputError, match="target_replicas: 17; allowed: at most 16 replicas"):
            replay("election_kraft", "kraft", change | {"replicas": list(range(17))})


class TestThreads:
    """Which fetcher thread has a partition."""

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
