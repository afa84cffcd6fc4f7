"""What a cluster file can say beyond counts reaches the simulation, and only where it is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.rule_set_files import release_named
from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance, run
from tests.worlds.checks import checked_run


def scenario(
    topic: dict[str, Any] | None = None,
    cluster: dict[str, Any] | None = None,
    faults: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> Scenario:
    """Give three brokers and two topics of two partitions, one of them as it is told."""
    both = {
        "assignment": {"0": [1, 2, 3], "1": [2, 3, 1]},
        "produce": [{"records_per_s": 20, "records_per_batch": 1, "acks": "all"}],
    }
    return parse_scenario(
        {
            "scenario_id": "s",
            "horizon_ms": 40_000,
            "warmup_ms": 0,
            "cluster": {
                "release": "3.7-3.9",
                "controller": "kraft",
                "brokers": [1, 2, 3],
                **(cluster or {}),
            },
            "topics": [{"name": "own", **both, **(topic or {})}, {"name": "plain", **both}],
            "config": {"replica.lag.time.max.ms": 10_000},
            "faults": list(faults),
            **more,
        },
        "F",
    )


CUT = {"start_ms": 1_000, "duration_ms": 38_000, "drop": True, "both_ways": True}
CRASH = {"kind": "crash", "broker": 3, "start_ms": 5_000}


class TestTopicSettings:
    """Keys that a topic sets for itself."""

    @pytest.mark.parametrize(("own", "of_all"), [(3, 1), (1, 3)])
    def test_min_insync_replicas(self, own: int, of_all: int) -> None:
        """Each topic goes below its own min.insync.replicas, not the other's."""
        read = scenario(
            {"settings": {"min.insync.replicas": own}},
            faults=(CRASH,),
            config={"min.insync.replicas": of_all},
        )
        events = checked_run(read, events=True).events
        below = {event["topic"] for event in events if event["kind"] == "under_min_isr_start"}
        assert below == ({"own"} if own == 3 else {"plain"})

    @pytest.mark.parametrize(("own", "of_all"), [(True, False), (False, True)])
    @pytest.mark.parametrize("controller", ["kraft", "zookeeper"])
    def test_unclean_elections(self, own: bool, of_all: bool, controller: str) -> None:
        """Each topic's partitions are elected as its own unclean.leader.election.enable says."""
        read = scenario(
            {"settings": {"unclean.leader.election.enable": own}},
            {"controller": controller, "release": "3.7-3.9"},
            faults=(
                {"kind": "link", "from": 1, "to": 2, **CUT},
                {"kind": "link", "from": 1, "to": 3, **CUT},
                {"kind": "crash", "broker": 1, "start_ms": 12_000},
            ),
            config={
                "replica.lag.time.max.ms": 4_000,
                "unclean.leader.election.enable": of_all,
            },
        )
        events = checked_run(read, events=True).events
        unclean = {event["topic"] for event in events if event["kind"] == "unclean_election"}
        assert unclean == ({"own"} if own else {"plain"})


class TestLeaders:
    """Leaders as they stand."""

    def test_the_leader_that_is_named_leads(self) -> None:
        """Its death is an election; the preferred replica's is a mere removal."""
        read = scenario({"leaders": {"0": 3}}, faults=(CRASH,))
        events = checked_run(read, events=True).events
        elected = {(e["topic"], e["partition"]) for e in events if e["kind"] == "leader_elected"}
        assert elected == {("own", 0)}

    def test_all_that_is_counted_holds(self) -> None:
        """Every invariant holds from such a beginning on, and a quiet cluster stays quiet."""
        outcome = checked_run(scenario({"leaders": {"0": 3, "1": 1}})).outcome
        assert outcome["isr_shrinks_per_partition_hour"] == 0
        assert outcome["leader_changes_per_partition_hour"] == 0
        assert outcome["batches_uncommitted"] == 0

    @pytest.mark.parametrize("release", ["3.9.1", "3.7-3.9"])
    def test_the_preferred_leader_comes_back(self, release: str) -> None:
        """The check for preferred leaders finds it at its first interval."""
        read = scenario(
            {"leaders": {"0": 3}},
            config={"leader.imbalance.check.interval.seconds": 10},
            cluster={"release": release_named(release, Path())},
        )
        [event] = [
            e for e in checked_run(read, events=True).events if e["kind"] == "leader_elected"
        ]
        assert (event["topic"], event["leader"]) == ("own", 1)
        assert 10_000 <= event["t_ms"] < 10_100

    def test_jumps_change_nothing(self) -> None:
        """Jumping over what repeats gives the same from such a beginning."""
        read = scenario({"leaders": {"0": 3}}, faults=(CRASH,))
        assert run(read).outcome == run(read, jumps=False).outcome


def _rules(release: str) -> str:
    from isr_pipeline.kafka.release_numbers import rule_set_text

    return rule_set_text(release) or release


class TestLogDirs:
    """Log dirs as they are."""

    CLUSTER: ClassVar = {"log_dirs": {"3": ["/a", "/b"]}}
    TOPIC: ClassVar = {"log_dirs": {"0": [0, 0, 1], "1": [0, 0, 0]}}

    def test_a_dead_disk_takes_what_lies_on_it(self) -> None:
        """Of the topic that says where its replicas lie, only that partition is hit."""
        fault = {"kind": "log_dir_failure", "broker": 3, "log_dir": 1, "start_ms": 5_000}
        read = scenario(self.TOPIC, self.CLUSTER, faults=(fault,))
        events = checked_run(read, events=True).events
        hit = {e["partition"] for e in events if e["topic"] == "own" and e["isr"] == [1, 2]}
        assert hit == {0}

    def test_brokers_differ(self) -> None:
        """A broker of which nothing is said has log_dirs_per_broker of them."""
        world = encode(scenario(self.TOPIC, self.CLUSTER))
        assert table_of(world.w, "brokers")["log_dirs_working"].tolist() == [1, 1, 2]


class TestRacks:
    """Round trips between racks."""

    def commits(self, rtt_ms: float | None) -> float:
        """Median time to a commit where one follower of each partition is in another rack."""
        cluster: dict[str, Any] = {"racks": {"1": "a", "2": "a", "3": "b"}}
        if rtt_ms is not None:
            cluster["rack_rtt_ms"] = [{"between": ["b", "a"], "rtt_ms": rtt_ms}]
        outcome = checked_run(scenario({}, cluster)).outcome
        median: float = outcome["commit_latency_p50_ms"]
        return median

    def test_a_commit_waits_for_the_far_follower(self) -> None:
        """A fetch over and back, twice half a round trip each, is what comes on top."""
        near, far = self.commits(None), self.commits(20.5)
        assert self.commits(0.5) == near
        assert 20 <= far - near <= 45

    def test_a_link_fault_ends_where_it_began(self) -> None:
        """What a fault adds to a link goes with it; what the racks add stays."""
        cluster = {
            "racks": {"1": "a", "2": "a", "3": "b"},
            "rack_rtt_ms": [{"between": ["a", "b"], "rtt_ms": 8}],
        }
        fault = {
            "kind": "link",
            "from": 3,
            "to": 1,
            "start_ms": 5_000,
            "duration_ms": 1_000,
            "latency_ms": 50,
            "both_ways": True,
        }
        read = scenario({}, cluster, faults=(fault,))
        world = encode(read)
        before = table_of(world.w, "links")["added_us"].copy()

        advance(world)
        assert before[2] == 4_000 - 250
        assert table_of(world.w, "links")["added_us"].tolist() == before.tolist()
