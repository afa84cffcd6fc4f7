"""Situations of operators: in the library, and cut for a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.experiment.questions import scenarios
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.situations import SITUATIONS
from tests.approved import Approved

LIBRARY = Path(__file__).resolve().parents[2] / "isr_pipeline" / "scenarios" / "library"


def cluster(**more: Any) -> Scenario:
    """Four brokers, two of them in one rack; the busiest partition is led by 3."""
    topics = [
        {"name": "idle", "assignment": {0: [1, 2, 3]}},
        {"name": "busy", "assignment": {0: [2, 3, 4]}, "leaders": {0: 3},
         "produce": {"records_per_s": 50, "records_per_batch": 10, "record_bytes": 500}},
    ]  # fmt: skip
    brokers = {"release": "4.1+", "controller": "kraft", "brokers": [1, 2, 3, 4], **more}
    return parse_scenario(
        {"scenario_id": "c", "horizon_ms": 1, "cluster": brokers, "topics": topics}, "c"
    )


def faults(name: str, **more: Any) -> list[dict[str, Any]]:
    """What happens in that cluster."""
    return SITUATIONS[name].faults(cluster(**more))


class TestLibrary:
    """Each situation has a file of the library."""

    @pytest.mark.parametrize("name", SITUATIONS)
    def test_is_what_a_cluster_would_get(self, name: str) -> None:
        """The faults of the file are those of its own cluster."""
        file = LIBRARY / f"{name}.yaml"
        assert read_mapping(file)["faults"] == SITUATIONS[name].faults(load_scenario(file))


class TestCut:
    """Whom a situation meets in a cluster."""

    def test_the_busiest_leader(self) -> None:
        """A pause of an idle broker would show nothing; its own leader is known."""
        assert [one["broker"] for one in faults("broker-pauses")] == [3]

    def test_a_follower_lags_and_its_leader_dies(self) -> None:
        """Both are of one partition."""
        slow, crash = faults("leader-dies")
        assert (slow["broker"], crash["broker"]) == (2, 3)
        assert slow["start_ms"] < crash["start_ms"] < slow["start_ms"] + slow["duration_ms"]

    def test_every_broker_is_restarted(self) -> None:
        """One after the other."""
        restarts = [one for one in faults("rolling-restart") if one["kind"] != "slow_append"]
        assert [one["broker"] for one in restarts] == [1, 2, 3, 4]
        assert sorted(one["start_ms"] for one in restarts) == [10_000, 70_000, 130_000, 190_000]

    @pytest.mark.parametrize(
        ("racks", "inside"),
        [
            ({3: "a", 4: "a", 1: "b", 2: "b"}, {3, 4}),
            ({}, {3}),
            (dict.fromkeys((1, 2, 3, 4), "a"), {3}),
        ],
    )
    def test_a_zone(self, racks: dict[int, str], inside: set[int]) -> None:
        """The leader's rack loses all others and the controller; else the leader alone does."""
        cut = faults("zone-cut-off", racks=racks)
        assert {one["from"] for one in cut} == inside
        assert {one["to"] for one in cut} == {1, 2, 3, 4, "controller"} - inside


class TestCommand:
    """``cluster scenarios``: the four of a cluster of the configuration."""

    def test_files_that_can_be_simulated(self, tmp_path: Path, approved: Approved) -> None:
        """Six lines and the faults, and a command for each."""
        said = "\n".join(line for both in scenarios("demo", tmp_path / "new") for line in both)
        approved(said.replace(str(tmp_path), "FOLDER"))
        for name in SITUATIONS:
            file = tmp_path / "new" / f"demo-{name}.yaml"
            assert load_scenario(file).cluster.brokers == (1, 2, 3, 4)

    def test_nothing_is_replaced(self, tmp_path: Path) -> None:
        """A file that somebody changed stays; no other one is written."""
        mine = tmp_path / "demo-leader-dies.yaml"
        mine.write_text("mine")
        with pytest.raises(InputError) as refused:
            scenarios("demo", tmp_path)
        assert [*tmp_path.iterdir()] == [mine]
        assert refused.value.allowed == "a folder without it"
