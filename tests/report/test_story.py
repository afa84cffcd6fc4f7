"""A scenario told: its faults, who was hit and how much, before and after."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.report.faults import told_faults
from isr_pipeline.report.story import Run, Story, story_of
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.model import parse_scenario
from tests.blame.cases import LAG, case
from tests.report.test_trace import SCENARIO

PARTITIONS = 40


def scenario(**fields: Any) -> dict[str, Any]:
    """A scenario of three brokers and 40 partitions."""
    assignment = {number: [1, 2, 3] for number in range(PARTITIONS)}
    return {**SCENARIO, "topics": [{"name": "t", "assignment": assignment}], **fields}


def run(*events: dict[str, Any], title: str = "run", **fields: Any) -> Run:
    """A run in which some events happen."""
    return Run(title, parse_scenario(scenario(**fields), "test"), events)


def event(kind: str, t_s: float, partition: int, **more: Any) -> dict[str, Any]:
    """An event of a partition."""
    return {"kind": kind, "t_ms": t_s * 1000, "topic": "t", "partition": partition, **more}


def offline(partition: int, begin_s: float, end_s: float) -> list[dict[str, Any]]:
    """A partition without a leader for a while."""
    gone = event("partition_offline", begin_s, partition, leader=-1, isr=[1])
    return [gone, event("partition_online", end_s, partition, leader=1, isr=[1, 2, 3])]


class TestRun:
    """What a run did to partitions."""

    def test_offline_is_told_with_its_length(self) -> None:
        """Of one partition by its name."""
        assert "t-7 is offline for 10 s" in run(*offline(7, 20, 30)).sentence()

    def test_several_partitions_are_counted_and_summed(self) -> None:
        """And how many have no leader when the scenario ends."""
        gone = event("partition_offline", 50, 8, leader=-1, isr=[1])
        said = run(*offline(7, 20, 30), gone).sentence()
        assert "2 partitions are offline for 20 s in all, 1 to the end" in said

    def test_below_min_isr(self) -> None:
        """From the event that says so to the one that ends it, or to the horizon."""
        begin, end = event("under_min_isr_start", 10, 3), event("under_min_isr_end", 14, 3)
        assert "t-3 is below min.insync.replicas for 4 s" in run(begin, end).sentence()
        assert "t-3 is below min.insync.replicas for 50 s" in run(begin).sentence()

    def test_lost_records_are_summed(self) -> None:
        """Over partitions."""
        lost = [event("records_lost", 9, number, cause='{"records": 5}') for number in (1, 2)]
        assert "10 acknowledged records lost" in run(*lost).sentence()

    def test_nothing(self) -> None:
        """A run in which no partition has an event."""
        assert run().sentence() == "nothing happens to any partition"

    def test_a_partition_begins_as_the_scenario_says(self) -> None:
        """With another leader than the first replica, and a replica outside the ISR."""
        topic = {
            "name": "t", "assignment": {0: [1, 2, 3]}, "leaders": {0: 2}, "behind": {0: {3: 10}},
        }  # fmt: skip
        (stood,) = run(topics=[topic]).standings["t", 0]
        assert (stood.leader, stood.isr) == (2, frozenset({1, 2}))


class TestStory:
    """What is shown of a scenario."""

    def test_only_partitions_that_were_hit_the_most_hit_first(self) -> None:
        """Offline counts before an ISR that lacks a replica; the rest are a number."""
        shrink = event("isr_shrink", 5, 30, broker=1, isr=[1, 2])
        story = Story((run(shrink, *offline(7, 20, 30), *offline(9, 20, 45)),))
        assert story.shown(60) == (("t", 9), ("t", 7), ("t", 30))
        assert story.count(3) == "3 of 40 partitions were hit, 3 shown"

    def test_what_differs_between_two_runs_comes_first(self) -> None:
        """A partition that is offline as long in both tells nothing of the change."""
        both = offline(7, 20, 50)
        before = run(*both, title="baseline")
        story = Story((before, run(*both, *offline(9, 20, 25), title="tonight")))
        assert story.hit == (("t", 9), ("t", 7))

    def test_no_more_lanes_than_there_is_room_for(self) -> None:
        """A partition has a lane for each replica, and one is always drawn."""
        story = Story((run(*(one for number in range(9) for one in offline(number, 20, 30))),))
        assert len(story.shown(12)) == 4
        assert len(story.shown(1)) == 1
        assert story.count(4) == "9 of 40 partitions were hit, 4 shown"

    def test_a_small_scenario_is_shown_whole(self) -> None:
        """In its own order: the partition that nothing happens to is the contrast."""
        topics = [{"name": "t", "assignment": {number: [1, 2, 3] for number in range(3)}}]
        story = Story((run(*offline(2, 20, 30), topics=topics),))
        assert story.shown(60) == (("t", 0), ("t", 1), ("t", 2))

    def test_both_runs_are_told_by_their_titles(self) -> None:
        """Faults first, then who was hit, then each run."""
        story = Story((run(title="baseline"), run(*offline(7, 20, 30), title="tonight")))
        tonight = (
            "t-7 loses replicas from the ISR, the first at 20 s; t-7 is offline for 10 s; "
            "t-7 elects a leader"
        )
        assert story.lines() == [
            "at 30 s broker 1 is killed and does not return",
            "1 of 40 partitions was hit",
            "baseline: nothing happens to any partition",
            f"tonight: {tonight}",
        ]

    def test_of_an_explanation(self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The baseline's run has the baseline's settings, tonight's has tonight's."""
        from isr_pipeline.verdicts.blame.why import explain

        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        found = explain(case({LAG: 16_000}, {LAG: 4_000}), compiled=False)
        story = story_of(found)
        limits = [one.scenario.config[LAG] for one in story.runs]
        assert limits == [16_000, 4_000]
        assert [bool(one.hurt["t", 0].offline_ms) for one in story.runs] == [False, True]
        said = found.lines(story.lines())
        assert said[0] == "today: regressed: offline (no leader) 2 × (1.5 to 2.5)"
        assert said[2] == "    from 3 s to 10 s the process of broker 2 stands still"


FAULTS: dict[str, dict[str, Any]] = {
    "read_stall": {"broker": 1, "duration_ms": 5_000},
    "slow_read": {"broker": 1, "duration_ms": 5_000, "read_ms": 40},
    "slow_append": {"broker": 2, "duration_ms": 5_000, "append_ms": 40},
    "pause": {"broker": 1, "duration_ms": 5_000},
    "cpu": {"broker": 1, "duration_ms": 5_000, "factor": 4},
    "link": {"from": 1, "to": "controller", "duration_ms": 5_000, "drop": True},
    "crash": {"broker": 1},
    "node_death": {"broker": 1},
    "controlled_restart": {"broker": 1, "downtime_ms": 9_000},
    "log_dir_failure": {"broker": 1, "log_dir": 0},
    "controller_outage": {"duration_ms": 5_000},
    "produce_burst": {"topic": "t", "partition": 0, "records": 100},
    "produce_rate": {"topic": "t", "partition": "all", "factor": 3, "duration_ms": 5_000},
    "client_surge": {
        "broker": 1, "requests_per_s": 50, "request_us": 100, "duration_ms": 5_000,
    },
    "partition_error": {"broker": 2, "topic": "t", "partition": 0, "error": "storage"},
    "stop_replica": {"broker": 2, "topic": "t", "partition": 0},
    "preferred_election": {"topic": "t", "partition": 0},
    "bootstrap": {"broker": 2, "topic": "t", "partition": 0, "records": 100},
}  # fmt: skip
"""A fault of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_is_a_sentence(kind: str) -> None:
    """It says when, and no name of a kind or field stands in it."""
    fault = {"kind": kind, "start_ms": 10_000, **FAULTS[kind]}
    for line in told_faults(parse_scenario(scenario(faults=[fault]), "test")):
        assert line.startswith(("at 10 s ", "from 10 s to 15 s ", "from 10 s to 12.5 s "))
        assert "_" not in line


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"both_ways": True, "drop": True}, "nothing passes between broker 1 and broker 3"),
        ({"latency_ms": 40}, "a packet from broker 1 to broker 3 takes 40 ms longer"),
    ],
)
def test_a_link(fields: dict[str, Any], said: str) -> None:
    """One way or both, lost or late."""
    fault = {"kind": "link", "from": 1, "to": 3, "start_ms": 34_000, "duration_ms": 5_000, **fields}
    told = told_faults(parse_scenario(scenario(faults=[fault]), "test"))
    assert told == [f"from 34 s to 39 s {said}"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"lost": "tail"}, "the machine of broker 1 loses power and does not return"),
        (
            {"lost": "all", "restart_after_ms": 9_000},
            "broker 1 dies with its disk and is started again 9 s later",
        ),
    ],
)
def test_a_crash(fields: dict[str, Any], said: str) -> None:
    """What it takes along, and whether it comes back."""
    fault = {"kind": "crash", "broker": 1, "start_ms": 30_000, **fields}
    told = told_faults(parse_scenario(scenario(faults=[fault]), "test"))
    assert told == [f"at 30 s {said}"]
