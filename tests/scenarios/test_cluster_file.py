"""The cluster file: what it says, what is refused, and what of it a scenario has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.reading import parse_mapping
from isr_pipeline.scenarios.cluster_file import (
    checked_cluster,
    load_cluster_file,
    not_simulated,
    partitions_of,
    scenario_parts,
)
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.model import canonical_json, parse_scenario, scenario_from_json
from tests.approved import Approved
from tests.saying import refused
from tests.tables import data_of, from_table

GOOD: str = data_of(__file__, "GOOD")


def good(**changes: Any) -> dict[str, Any]:
    """Give a cluster that is right but for the changes."""
    return {**parse_mapping(GOOD, "F"), **changes}


def refusal(raw: dict[str, Any]) -> str:
    """Give the error line of a cluster file."""
    with pytest.raises(InputError) as caught:
        checked_cluster(raw, "F")
    return str(caught.value)


def parts(**changes: Any) -> dict[str, Any]:
    """Give the scenario's parts of a cluster."""
    return scenario_parts(checked_cluster(good(**changes), "F"), Path())


class TestParts:
    """What a scenario has of it."""

    def test_release_number(self) -> None:
        """A number becomes the rule set that the release has."""
        assert parts()["cluster"]["release"] == "3.7-3.9"
        assert parts(release="4.0.1")["cluster"]["release"].startswith("4.0.1 (4.0 with ")
        assert parts(release="4.3.1")["cluster"]["release"] == "4.1+"
        assert parts(release="3.7-3.9")["cluster"]["release"] == "3.7-3.9"

    def test_the_rest(self) -> None:
        """Brokers, racks, log dirs, assignments, leaders, topics' settings, rates."""
        found = parts()
        assert found["cluster"]["brokers"] == [1, 2, 3]
        assert found["cluster"]["racks"] == {"1": "a", "2": "b", "3": "b"}
        assert found["config"] == {"replica.lag.time.max.ms": 10000}
        orders, bulk = found["topics"]
        assert orders["assignment"] == {"0": [1, 2, 3], "1": [2, 3]}
        assert orders["leaders"] == {"0": 2}
        assert orders["log_dirs"] == {"0": [1, 0, 0], "1": [0, 0]}
        assert orders["settings"] == {"min.insync.replicas": 2}
        assert orders["produce"][0]["partition_rates"] == {"0": 12.5, "1": 20}
        assert bulk["assignment"]["3"] == [1, 2, 3]

    def test_who_is_outside_the_isr_lacks_what_takes_it_out(self) -> None:
        """12.5 records a second: 125 in 10 s, 50 where the leader's own limit is 4 s."""
        raw = good()
        raw["topics"][0]["partitions"][0]["isr"] = [2, 1]
        found = scenario_parts(checked_cluster(raw, "F"), Path())["topics"][0]
        assert found["behind"] == {"0": {"3": 125}}
        raw["brokers"][1]["settings"] = {"replica.lag.time.max.ms": 4000}
        found = scenario_parts(checked_cluster(raw, "F"), Path())["topics"][0]
        assert found["behind"] == {"0": {"3": 50}}

    def test_without_a_leader_the_first_in_sync_leads(self) -> None:
        """Of the ISR, in the order of the assignment; if nobody is in sync, all are."""
        raw = good()
        raw["topics"][0]["partitions"][0] |= {"leader": -1, "isr": [3, 2]}
        found = scenario_parts(checked_cluster(raw, "F"), Path())["topics"][0]
        assert found["leaders"] == {"0": 2}
        assert found["behind"] == {"0": {"1": 125}}
        raw["topics"][0]["partitions"][0] |= {"leader": -1, "isr": []}
        found = scenario_parts(checked_cluster(raw, "F"), Path())["topics"][0]
        assert not {"leaders", "behind"} & set(found)

    def test_eligible_leader_replicas_are_a_feature(self) -> None:
        """The feature's level is the key that the simulator reads."""
        found = parts(features={"eligible.leader.replicas.version": 1})
        assert found["config"]["eligible.leader.replicas.version"] == 1

    def test_the_level_of_the_metadata_decides_a_rule(self) -> None:
        """Below 3.6 a shrink of the ISR begins a leader epoch, whatever the release."""
        assert parts(features={"metadata.version": 11})["rules"] == {
            "shrink_bumps_leader_epoch": True
        }
        assert parts(features={"metadata.version": 12})["rules"] == {}
        own = parts(features={"metadata.version": 11}, rules={"shrink_bumps_leader_epoch": False})
        assert own["rules"] == {"shrink_bumps_leader_epoch": False}

    def test_it_goes_through_json(self) -> None:
        """A scenario with all of it survives the tables of a night."""
        frame = {"scenario_id": "s", "horizon_ms": 100, **parts()}
        frame.pop("description")
        scenario = parse_scenario(frame, "F")
        assert scenario_from_json(canonical_json(scenario)) == scenario


class TestChecked:
    """What follows from the rest is filled in."""

    def test_defaults(self) -> None:
        """The first leads, all are in sync, and the only log dir is the one."""
        file = checked_cluster(good(), "F")
        second = partitions_of(file.topics[0])[1]
        assert (second.leader, second.isr, second.log_dirs) == (2, (2, 3), ("/d1", "/d1"))

    def test_words_of_a_scenario(self, tmp_path: Path) -> None:
        """A cluster as 0.1.0 wrote it is refused in a line that says what a file has."""
        path = tmp_path / "c.yaml"
        path.write_text("cluster: {release: '3.7-3.9', controller: kraft, brokers: [1, 2]}\n")
        assert refused(lambda: load_cluster_file(path, "F")) == (
            "F: cluster: the words of a scenario; "
            "allowed: release, controller, brokers and topics: docs/cluster-file.md"
        )


@from_table
def test_what_is_refused(changes: str, line: str) -> None:
    """One line names field, value and what is allowed."""
    assert refusal(good(**parse_mapping(changes, "F"))).startswith(f"F: {line}")


def test_what_is_not_simulated_is_said(approved: Approved) -> None:
    """Everything that the simulated world has no place for, the most important first."""
    raw = good(features={"group.version": 1, "metadata.version": 21})
    raw["brokers"][1]["settings"] = {"num.io.threads": 16, "min.insync.replicas": 1}
    raw["topics"][0]["partitions"][0] |= {"leader": -1, "isr": []}
    approved(not_simulated(checked_cluster(raw, "F")))


class TestScenario:
    """cluster: {file: FILE}."""

    def write(self, folder: Path, scenario: str) -> Path:
        """Write a cluster and a scenario that names it."""
        (folder / "c.yaml").write_text(GOOD)
        path = folder / "s.yaml"
        path.write_text("scenario_id: s\nhorizon_ms: 1000\n" + scenario)
        return path

    def test_success(self, tmp_path: Path) -> None:
        """Topics come with it, and what the scenario says lies over it."""
        path = self.write(
            tmp_path, "cluster: {file: c.yaml}\nconfig: {min.insync.replicas: 2}\nseed: 7"
        )
        read = load_scenario(path, ["replica.lag.time.max.ms=5000"])
        assert [topic.name for topic in read.topics] == ["orders", "bulk"]
        assert read.config == {"replica.lag.time.max.ms": 5000, "min.insync.replicas": 2}

    @from_table
    def test_what_is_refused(self, tmp_path: Path, text: str, line: str) -> None:
        """What would say the same thing twice."""
        path = self.write(tmp_path, text)
        with pytest.raises(InputError) as caught:
            load_scenario(path)
        assert str(caught.value.at_line(0)) == f"{path}: {line}"

    def test_no_such_file(self, tmp_path: Path) -> None:
        """The line names the cluster file."""
        path = self.write(tmp_path, "cluster: {file: d.yaml}")
        with pytest.raises(InputError, match=r"d\.yaml: no such file"):
            load_scenario(path)
