"""How fast machines are: in files, refused, and asked for more than they can."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from isr_pipeline.base.errors import BudgetSpent, InputError
from isr_pipeline.base.files.words import flow
from isr_pipeline.base.home import REPOSITORY
from isr_pipeline.cli import app
from isr_pipeline.clusters.show import as_json, told
from isr_pipeline.scenarios.cluster_file import checked_cluster, scenario_parts
from isr_pipeline.scenarios.hardware import Hardware
from isr_pipeline.scenarios.loading import load_scenario
from isr_pipeline.scenarios.machine_load import TOLD_MAX, disks_asked, overloads
from isr_pipeline.scenarios.model import (
    Scenario,
    canonical_json,
    parse_scenario,
    scenario_from_json,
)
from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.worlds.encoder import encode
from tests.approved import Approved

WRITES = 40_000_000
GP3 = {"disk_write_bytes_per_s": WRITES, "cache_bytes": 8_000_000_000}
OWN = {"dirty_bytes": 16_000_000}
SLOW = {"disk_write_bytes_per_s": 100_000}
LOAD = {"records_per_s": 8_000, "records_per_batch": 100, "record_bytes": 500}
"""Four megabytes a second."""


def cluster(**changes: Any) -> dict[str, Any]:
    """Three brokers with two log dirs each; all write what comes to one partition."""
    return {
        "release": "3.9.1",
        "controller": "kraft",
        "hardware": GP3,
        "brokers": [{"id": broker, "log_dirs": ["/a", "/b"]} for broker in (1, 2, 3)],
        "topics": [{"name": "t", "partitions": 1, "replication_factor": 3, "produce": [LOAD]}],
        **changes,
    }


def scenario(*streams: dict[str, Any], faults: Any = (), **of_cluster: Any) -> Scenario:
    """Three brokers with a log dir each; each stream comes to two partitions of all of them."""
    brokers = {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]}
    topic = {"name": "t", "partitions": 2, "replication_factor": 3, "produce": list(streams)}
    return parse_scenario(
        {
            "scenario_id": "s",
            "horizon_ms": 60_000,
            "cluster": {**brokers, "hardware": GP3, **of_cluster},
            "topics": [topic],
            "faults": list(faults),
        },
        "F",
    )


class TestClusterFile:
    """What it says of machines, every scenario made of it has."""

    def test_a_scenario_has_it(self, tmp_path: Path) -> None:
        """Of all brokers, and what one's own has else."""
        raw = cluster()
        raw["brokers"][1]["hardware"] = OWN
        (tmp_path / "c.json").write_text(json.dumps(raw))
        file = tmp_path / "s.yaml"
        file.write_text("scenario_id: s\nhorizon_ms: 100\ncluster: {file: c.json}\n")
        found = load_scenario(file).cluster
        assert found.hardware_of(1) == Hardware(**GP3)
        assert found.hardware_of(2) == Hardware(**GP3, **OWN)

    def test_it_goes_through_json(self) -> None:
        """A night's scenario keeps it."""
        found = scenario(broker_hardware={"2": OWN, 1: {"dirty_bytes": None}})
        assert scenario_from_json(canonical_json(found)) == found

    def test_who_says_nothing_changes_nothing(self) -> None:
        """The parts of a scenario are those of a file without the fields, null or not."""
        raw = cluster(hardware={"cache_bytes": None})
        parts = scenario_parts(checked_cluster(raw, "F"), Path())
        assert not {"hardware", "broker_hardware"} & parts["cluster"].keys()

    def test_what_is_shown_reads_as_a_file(self) -> None:
        """With what machines have."""
        raw = cluster()
        raw["brokers"][1]["hardware"] = OWN
        file = checked_cluster(raw, "F")
        again = checked_cluster(as_json(file), "F")
        assert (again.hardware, again.brokers[1].hardware) == (
            file.hardware,
            file.brokers[1].hardware,
        )

    @pytest.mark.parametrize("name", ["cloud-volume", "tiny"])
    def test_shown(self, name: str, approved: Approved) -> None:
        """One line for all brokers, or that no limit is known."""
        approved(told(name))


class TestRefused:
    """What nobody can mean; every field is a whole number of bytes."""

    @pytest.mark.parametrize("field", [one for one in Hardware.model_fields if "bytes" in one])
    @pytest.mark.parametrize("value", [0, -1, 1.5, True, "40 MB"])
    def test_no_whole_number(self, field: str, value: Any) -> None:
        """Less than one, a part of one, a text."""
        with pytest.raises(InputError) as caught:
            scenario(hardware={field: value})
        assert caught.value.field == f"cluster.hardware.{field}"
        assert caught.value.allowed.startswith("a whole number")

    @pytest.mark.parametrize(
        ("hardware", "own", "field"),
        [
            ({**GP3, "dirty_bytes": 9_000_000_000}, {}, "hardware.dirty_bytes"),
            (GP3, {2: {"dirty_bytes": 9_000_000_000}}, "broker_hardware.2.dirty_bytes"),
            ({**GP3, **OWN}, {2: {"cache_bytes": 1_000_000}}, "broker_hardware.2.cache_bytes"),
            (OWN, {}, "hardware.dirty_bytes"),
            ({}, {2: OWN}, "broker_hardware.2.dirty_bytes"),
            ({}, {4: GP3}, "broker_hardware.4"),
            ({"disk_wite_bytes_per_s": 1}, {}, "hardware.disk_wite_bytes_per_s"),
            ({}, {2: {"dirty_byte": 1}}, "broker_hardware.2.dirty_byte"),
            ({}, {2: 7}, "broker_hardware.2"),
            ({}, {"x": {}}, "broker_hardware.x"),
        ],
    )
    def test_in_a_scenario(self, hardware: Any, own: Any, field: str, approved: Approved) -> None:
        """Dirty bytes beyond the cache or of no disk, no such broker, no such field."""
        with pytest.raises(InputError) as caught:
            scenario(hardware=hardware, broker_hardware=own)
        assert caught.value.field == f"cluster.{field}"
        approved(str(caught.value))

    @pytest.mark.parametrize(
        ("hardware", "own", "field"),
        [
            (OWN, {}, "hardware.dirty_bytes"),
            (GP3, {"dirty_bytes": 9_000_000_000}, "brokers[1].hardware.dirty_bytes"),
            (GP3, {"disk_write_bytes_per_s": 0.5}, "brokers[1].hardware.disk_write_bytes_per_s"),
        ],
    )
    def test_in_a_cluster_file(
        self, hardware: Any, own: Any, field: str, approved: Approved
    ) -> None:
        """By the places of that file."""
        raw = cluster(hardware=hardware)
        raw["brokers"][1]["hardware"] = own
        with pytest.raises(InputError) as caught:
            checked_cluster(raw, "F")
        assert caught.value.field == field
        approved(str(caught.value))

    def test_dirty_bytes_of_all_where_some_have_a_disk(self) -> None:
        """They are of use there."""
        found = scenario(hardware=OWN, broker_hardware={2: {"disk_write_bytes_per_s": WRITES}})
        assert found.cluster.hardware_of(2).dirty_bytes == OWN["dirty_bytes"]

    def test_a_slow_disk_beyond_the_end(self, approved: Approved) -> None:
        """As every window."""
        slow = {"kind": "slow_disk", "broker": 1, "start_ms": 50_000, "duration_ms": 10_001}
        with pytest.raises(InputError) as caught:
            scenario(faults=[slow])
        assert caught.value.field == "faults[0].duration_ms"
        approved(str(caught.value))


class TestAsked:
    """What is said before the run of disks that are asked for more than they write."""

    def test_every_replica_writes(self, approved: Approved) -> None:
        """Six streams of 4 MB/s to two partitions are 48 MB/s for each of the three."""
        approved(disks_asked(scenario(*[LOAD] * 6)))

    def test_as_much_as_it_writes(self) -> None:
        """Nothing is said of a disk that is just busy."""
        assert [*disks_asked(scenario(*[LOAD] * 5))] == []

    def test_no_limit(self) -> None:
        """Nothing is said of disks whose speed nobody knows."""
        assert [*disks_asked(scenario(*[LOAD] * 99, hardware={}))] == []

    def test_its_own_disk(self) -> None:
        """Of the broker whose own disk is slower."""
        slow = {2: {"disk_write_bytes_per_s": 1_000_000}}
        (found,) = overloads(scenario(LOAD, broker_hardware=slow))
        assert (found.at, found.asked, found.writes) == ((2, 0), 8_000_000, 1_000_000)

    def test_a_burst(self, approved: Approved) -> None:
        """It has its length; streams that do not meet are not added."""
        late = {**LOAD, "start_ms": 20_000, "duration_ms": 8_000}
        early = {**LOAD, "duration_ms": 10_000}
        approved(disks_asked(scenario(*[late] * 6, *[early] * 5)))

    def test_some_partitions(self) -> None:
        """A stream has those that it names, at the rates that they have."""
        rates = {**LOAD, "partitions": [1], "partition_rates": {1: 100_000}}
        found = overloads(scenario(rates))
        assert {one.asked for one in found} == {50_000_000}

    def test_the_busiest_hour(self, tmp_path: Path, approved: Approved) -> None:
        """Of a cluster file: it says the name of the log dir."""
        raw = cluster(hourly_load=[1] * 23 + [12])
        file = tmp_path / "c.json"
        file.write_text(json.dumps(raw))
        approved(line for line in told(str(file)) if "asked" in line)

    def test_more_than_are_told(self, approved: Approved) -> None:
        """The worst have a line each; the others are counted."""
        brokers = list(range(1, TOLD_MAX + 3))
        parts = {"partitions": 1, "replication_factor": len(brokers), "produce": [LOAD] * 12}
        raw = cluster(brokers=[{"id": one} for one in brokers], topics=[{"name": "t", **parts}])
        frame = {"scenario_id": "s", "horizon_ms": 100}
        found = scenario_parts(checked_cluster(raw, "F"), Path())
        del found["description"]
        approved(disks_asked(parse_scenario({**frame, **found}, "F")))

    def test_simulate_says_it_before_it_runs(self, tmp_path: Path, approved: Approved) -> None:
        """Also where the run comes to nothing."""
        (tmp_path / "c.json").write_text(json.dumps(cluster(hardware={**GP3, **SLOW})))
        file = tmp_path / "s.yaml"
        file.write_text("scenario_id: s\nhorizon_ms: 100\ncluster: {file: c.json}\n")
        done = CliRunner().invoke(app, ["simulate", str(file), "--event-budget", "1"])
        assert isinstance(done.exception, BudgetSpent)
        approved(done.stderr)

    def test_experiment_check_says_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, approved: Approved
    ) -> None:
        """Among its notes."""
        folder = shutil.copytree(REPOSITORY / "config", tmp_path / "config")
        monkeypatch.setenv("ISR_PIPELINE_CONFIG", str(folder))
        with (folder / "clusters" / "tiny.yaml").open("a") as file:
            file.write(f"\nhardware: {flow(SLOW)}\n")
        done = CliRunner().invoke(app, ["experiment", "check", "smoke", "--json"])
        approved(json.loads(done.stdout)["notes"])

    def test_log_dirs_are_those_of_the_world(self) -> None:
        """What it adds up for each log dir is what the kernel's replicas lie in."""
        raw = cluster(hardware={"disk_write_bytes_per_s": 1})
        raw["topics"] = [
            {"name": "b", "partitions": 3, "replication_factor": 2, "produce": [LOAD]},
            {
                "name": "a",
                "produce": [LOAD],
                "partitions": [{"id": 0, "replicas": [2, 1], "log_dirs": ["/b", "/b"]}],
            },
        ]
        frame = {"scenario_id": "s", "horizon_ms": 100}
        parts = scenario_parts(checked_cluster(raw, "F"), Path())
        del parts["description"]
        found = parse_scenario({**frame, **parts}, "F")
        world = encode(found)
        brokers = [broker for one in world.partitions for broker in one.replicas]
        dirs = table_of(world.w, "replicas")["log_dir"].tolist()
        replicas = Counter(zip(brokers, dirs, strict=True))
        asked = {one.at: one.asked for one in overloads(found)}
        assert asked == {at: 4_000_000 * count for at, count in replicas.items()}
