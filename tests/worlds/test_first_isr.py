"""ISRs as they stand: a replica that begins outside one fetches what it lacks, and joins."""

from __future__ import annotations

from typing import Any

import pytest

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.scenarios.model import canonical_json, parse_scenario, scenario_from_json
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import Result, run
from tests.saying import refused
from tests.scenario import one_topic
from tests.simulation.random_scenarios import FromSeed
from tests.simulation.test_cycles import BUDGET, differences, repeating
from tests.tables import from_table
from tests.worlds.checks import checked_run


def scenario_with(topic: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Give three brokers and a partition of 100 records a second, 500 bytes each."""
    produce = [{"records_per_s": 100, "records_per_batch": 1, "record_bytes": 500}]
    topic = {"assignment": {"0": [1, 2, 3]}, "produce": produce, **topic}
    service = {"client_requests_per_s": 0, **more.pop("service", {})}
    return one_topic(topic, horizon_ms=30_000, service=service, **more)


def events_of(topic: dict[str, Any], **more: Any) -> Result:
    """Run it with every invariant checked."""
    return checked_run(parse_scenario(scenario_with(topic, **more), "F"), events=True)


class TestCatchingUp:
    """What a replica outside the ISR does."""

    def test_it_joins_by_the_rules(self) -> None:
        """20 MB behind at 1 MB a fetch, each 100 ms of reading: after 20 fetches, no sooner."""
        slow = {"handler_read_us": 100_000}
        result = events_of({"behind": {"0": {"3": 40_000}}}, service=slow)
        [expand] = [e for e in result.events if e["kind"] == "isr_expand"]
        assert 2_000 <= expand["decided_ms"] <= 2_500
        assert expand["isr"] == [1, 2, 3]
        assert result.outcome["isr_flaps_per_partition_hour"] == 0

    def test_the_time_outside_is_under_replicated(self) -> None:
        """From the beginning to the commit of its return."""
        result = events_of({"behind": {"0": {"3": 40_000}}})
        [expand] = [e for e in result.events if e["kind"] == "isr_expand"]
        share = expand["t_ms"] / 30_000
        assert result.outcome["under_replicated_rate"] == pytest.approx(share, rel=1e-9)

    def test_a_broker_that_is_wholly_outside_is_just_back(self) -> None:
        """Its catching up counts from the beginning, unlike that of one with a replica in sync."""
        behind = {"behind": {"0": {"3": 40_000}}}
        result = events_of(behind)
        [expand] = [e for e in result.events if e["kind"] == "isr_expand"]
        assert result.outcome["catch_up_ms"] == pytest.approx(expand["t_ms"])
        two = {**behind, "assignment": {"0": [1, 2, 3], "1": [1, 2, 3]}}
        assert events_of(two).outcome["catch_up_ms"] == 0

    def test_under_min_isr_from_the_beginning(self) -> None:
        """One member of the two that min.insync.replicas wants: until the first is back."""
        result = events_of(
            {"behind": {"0": {"2": 90_000, "3": 40_000}}}, config={"min.insync.replicas": 2}
        )
        [end] = [e for e in result.events if e["kind"] == "under_min_isr_end"]
        assert not [e for e in result.events if e["kind"] == "under_min_isr_start"]
        share = end["t_ms"] / 30_000
        assert result.outcome["under_min_isr_rate"] == pytest.approx(share, rel=1e-9)

    def test_an_empty_distance_is_one_fetch(self) -> None:
        """Who lacks nothing joins with its first fetch, 30 ms of AlterPartition later."""
        result = events_of({"behind": {"0": {"3": 0}}})
        [expand] = [e for e in result.events if e["kind"] == "isr_expand"]
        assert expand["t_ms"] - expand["decided_ms"] == 30
        assert expand["decided_ms"] < 20

    def test_it_cannot_be_elected_meanwhile(self) -> None:
        """The leader dies while its only follower is outside: nobody is left."""
        topic = {"assignment": {"0": [1, 3]}, "behind": {"0": {"3": 10**9}}}
        crash = {"kind": "crash", "broker": 1, "start_ms": 1000}
        kinds = [e["kind"] for e in events_of(topic, faults=[crash]).events]
        assert "partition_offline" in kinds
        assert "leader_elected" not in kinds

    @pytest.mark.parametrize("release", ["0.8.2", "0.10.2-2.0", "2.1-2.6", "2.7-3.2", "3.3-3.6"])
    def test_in_every_release(self, release: str) -> None:
        """It is back once, and the distance is gone."""
        cluster = {"release": release, "controller": "zookeeper", "brokers": [1, 2, 3]}
        result = events_of({"behind": {"0": {"3": 3_000}}}, cluster=cluster)
        assert [e["isr"] for e in result.events if e["kind"] == "isr_expand"] == [[1, 2, 3]]
        assert result.outcome["batches_uncommitted"] == 0


def test_random_scenarios_hold_and_may_jump() -> None:
    """From any such beginning every invariant holds, and jumps change nothing."""
    compared = 0
    for seed in range(40):
        source = FromSeed(3000 + seed)
        raw = repeating(seed)
        raw["horizon_ms"] = min(raw["horizon_ms"], 6000)
        raw["faults"] = [
            one
            for one in raw["faults"]
            if one["start_ms"] + one.get("duration_ms", 0) <= raw["horizon_ms"]
        ]
        for topic in raw["topics"]:
            topic["behind"] = {
                str(partition): {
                    str(broker): source.of((0, 10, 3000))
                    for broker in replicas[1:]
                    if source.whole(0, 1)
                }
                for partition, replicas in topic["assignment"].items()
            }
            topic["behind"] = {p: of for p, of in topic["behind"].items() if of}
        try:
            scenario = parse_scenario(raw, "random")
            found = differences(scenario)
            checked_run(scenario, events=True, budget=BUDGET)
        except (BudgetSpent, InputError):
            continue
        assert not found, f"seed {seed}: {found}"
        compared += 1
    assert compared > 15


def test_a_line_of_a_panel_keeps_it() -> None:
    """A scenario written as a line and read back begins alike."""
    scenario = parse_scenario(scenario_with({"behind": {"0": {"3": 40_000}}}), "F")
    again = scenario_from_json(canonical_json(scenario))
    assert again == scenario
    assert (encode(again).w == encode(scenario).w).all()
    assert run(again).outcome == run(scenario).outcome


@from_table
def test_refused(behind: dict[str, Any], line: str) -> None:
    """One line: where, what was given, what is allowed."""
    said = refused(lambda: parse_scenario(scenario_with({"behind": behind}), "F"))
    assert said == f"F: topics[0].behind.{line}"
