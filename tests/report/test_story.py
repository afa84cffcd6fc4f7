"""A scenario told: its faults, who was hit and how much, before and after."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.report.faults import told_faults
from isr_pipeline.report.story import Run, Story, story_of
from isr_pipeline.scenarios.faults import KINDS
from isr_pipeline.scenarios.model import parse_scenario
from tests.approved import Approved
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

    def test_sentences(self, approved: Approved) -> None:
        """One partition by its name, several counted and summed; to the horizon if nothing ends."""
        to_the_end = event("partition_offline", 50, 8, leader=-1, isr=[1])
        begin, end = event("under_min_isr_start", 10, 3), event("under_min_isr_end", 14, 3)
        lost = [event("records_lost", 9, number, cause='{"records": 5}') for number in (1, 2)]
        runs = {
            "one offline": offline(7, 20, 30),
            "two offline": [*offline(7, 20, 30), to_the_end],
            "below min ISR": [begin, end],
            "below min ISR to the end": [begin],
            "lost records of two": lost,
            "nothing": [],
        }
        approved(f"{name}: {run(*events).sentence()}" for name, events in runs.items())

    def test_who_begins_outside_the_isr_and_joins_loses_nothing(self) -> None:
        """Only a member that goes out is lost, and the first one's moment is told."""
        behind = {"name": "t", "assignment": {0: [1, 2, 3]}, "behind": {0: {3: 10}}}
        joins = event("isr_expand", 0.03, 0, broker=1, isr=[1, 2, 3])
        shrinks = event("isr_shrink", 40, 0, broker=1, isr=[1, 2])
        assert "loses" not in run(joins, topics=[behind]).sentence()
        assert "the first at 40 s" in run(joins, shrinks, topics=[behind]).sentence()

    def test_a_leader_that_stands_still_has_no_event(self, approved: Approved) -> None:
        """What the outcome counts is told beside what events say."""
        scenario_of = parse_scenario(scenario(), "test")
        approved(f"{count}: {Run('run', scenario_of, [], count).sentence()}" for count in (0, 1, 8))

    def test_a_partition_begins_as_the_scenario_says(self) -> None:
        """With another leader than the first replica, and a replica outside the ISR."""
        topic = {
            "name": "t", "assignment": {0: [1, 2, 3]}, "leaders": {0: 2}, "behind": {0: {3: 10}},
        }  # fmt: skip
        (stood,) = run(topics=[topic]).standings["t", 0]
        assert (stood.leader, stood.isr) == (2, frozenset({1, 2}))


class TestStory:
    """What is shown of a scenario."""

    def test_only_partitions_that_were_hit_the_most_hit_first(self, approved: Approved) -> None:
        """Offline counts before an ISR that lacks a replica; the rest are a number."""
        shrink = event("isr_shrink", 5, 30, broker=1, isr=[1, 2])
        story = Story((run(shrink, *offline(7, 20, 30), *offline(9, 20, 45)),))
        assert story.shown(60) == (("t", 9), ("t", 7), ("t", 30))
        approved(story.count(3))

    def test_what_differs_between_two_runs_comes_first(self) -> None:
        """A partition that is offline as long in both tells nothing of the change."""
        both = offline(7, 20, 50)
        before = run(*both, title="baseline")
        story = Story((before, run(*both, *offline(9, 20, 25), title="tonight")))
        assert story.hit == (("t", 9), ("t", 7))

    def test_no_more_lanes_than_there_is_room_for(self, approved: Approved) -> None:
        """A partition has a lane for each replica, and one is always drawn."""
        story = Story((run(*(one for number in range(9) for one in offline(number, 20, 30))),))
        assert len(story.shown(12)) == 4
        assert len(story.shown(1)) == 1
        approved(story.count(4))

    def test_a_small_scenario_is_shown_whole(self) -> None:
        """In its own order: the partition that nothing happens to is the contrast."""
        topics = [{"name": "t", "assignment": {number: [1, 2, 3] for number in range(3)}}]
        story = Story((run(*offline(2, 20, 30), topics=topics),))
        assert story.shown(60) == (("t", 0), ("t", 1), ("t", 2))

    def test_both_runs_are_told_by_their_titles(self, approved: Approved) -> None:
        """Faults first, then who was hit, then each run."""
        story = Story((run(title="baseline"), run(*offline(7, 20, 30), title="tonight")))
        approved(story.lines())

    def test_equal_runs(self, approved: Approved) -> None:
        """What a change leaves alone is called the same, whatever was hit."""
        same = Story(tuple(run(*offline(7, 20, 30), title=title) for title in ("before", "after")))
        other = Story((run(*offline(7, 20, 30)), run(*offline(7, 20, 31))))
        assert (same.is_same, other.is_same, Story((run(),)).is_same) == (True, False, False)
        approved(same.lines())

    def test_of_an_explanation(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """The baseline's run has the baseline's settings, tonight's has tonight's."""
        from isr_pipeline.verdicts.blame.why import explain

        monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
        found = explain(case({LAG: 16_000}, {LAG: 4_000}), compiled=False)
        story = story_of(found)
        limits = [one.scenario.config[LAG] for one in story.runs]
        assert limits == [16_000, 4_000]
        assert [bool(one.hurt["t", 0].offline_ms) for one in story.runs] == [False, True]
        approved(found.lines(story.lines()))


FAULTS: dict[str, dict[str, Any]] = {
    "read_stall": {"broker": 1, "duration_ms": 5_000},
    "slow_append": {"broker": 2, "duration_ms": 5_000, "append_ms": 40},
    "slow_disk": {"broker": 2, "duration_ms": 5_000, "write_factor": 0.25},
    "cold_reader": {"broker": 2, "duration_ms": 5_000, "connections": 8},
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
def test_every_kind_of_fault_is_a_sentence(kind: str, approved: Approved) -> None:
    """It says when, and no name of a kind or field stands in it."""
    lines = told({"kind": kind, "start_ms": 10_000, **FAULTS[kind]})
    for line in lines:
        assert line.startswith(("at 10 s ", "from 10 s to 15 s ", "from 10 s to 12.5 s "))
        assert "_" not in line
    approved(lines)


def told(fault: dict[str, Any]) -> list[str]:
    """What is said of a scenario's only fault."""
    cluster = {
        **SCENARIO["cluster"],
        "hardware": {"disk_write_bytes_per_s": 10**9, "disk_read_bytes_per_s": 10**9},
    }
    return told_faults(parse_scenario(scenario(faults=[fault], cluster=cluster), "test"))


def disk(kind: str) -> dict[str, Any]:
    """A fault of a disk."""
    return {"kind": kind, "start_ms": 10_000, **FAULTS[kind]}


def test_variants_of_faults(approved: Approved) -> None:
    """A link one way or both, lost or late; what a crash takes along, and whether it comes back.

    Whose reads, sends and appends are slow, and who waits with them.
    """
    link = {"kind": "link", "from": 1, "to": 3, "start_ms": 34_000, "duration_ms": 5_000}
    crash = {"kind": "crash", "broker": 1, "start_ms": 30_000}
    faults = (
        {**link, "both_ways": True, "drop": True},
        {**link, "latency_ms": 40},
        {**crash, "lost": "tail"},
        {**crash, "lost": "all", "restart_after_ms": 9_000},
        *({**disk("read_stall"), "stage": stage} for stage in ("handler", "send")),
        *({**disk("slow_append"), "role": role} for role in ("follower", "leader", "both")),
    )
    approved(line for fault in faults for line in told(fault))
