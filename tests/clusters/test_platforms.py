"""What platforms and agents around Kafka say of a cluster: Strimzi, Cruise Control."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.clusters.importing import import_cluster
from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import facts, refusal


def imported(folder: Path, **texts: str) -> dict[str, Any]:
    """Import some texts."""
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    files = [str(folder / f"{name}.txt") for name in texts]
    return import_cluster(files, "x", out=folder / "x.yaml")


class TestStrimzi:
    """Kafka, KafkaNodePool and KafkaTopic."""

    def test_what_it_was_told_to_make(self) -> None:
        """Release, settings, brokers, topics' settings; no password."""
        found = facts(samples.STRIMZI)
        assert (found.release, found.controller) == ("4.1.0", "kraft")
        assert found.started_with == {
            "min.insync.replicas": ["2"],
            "unclean.leader.election.enable": ["true"],
        }
        assert sorted(found.brokers) == [1, 2, 3]
        assert found.topics["orders"].settings == {"retention.ms": "7200000"}
        assert samples.SECRET not in repr(found)

    def test_racks_are_labels(self, approved: Approved) -> None:
        """Which node has which zone stands elsewhere, and that is said."""
        approved(facts(samples.STRIMZI).left_out)

    def test_beside_a_listing(self, tmp_path: Path) -> None:
        """Assignments come from Kafka, the release and the settings from the platform."""
        seen = imported(tmp_path, strimzi=samples.STRIMZI, topics=samples.NEWEST)
        assert seen["release"] == "4.1.0"
        assert seen["settings"]["min.insync.replicas"] == 2
        assert len(seen["topics"][0]["partitions"]) == 2

    def test_two_clusters(self) -> None:
        """The resources of two clusters are none of one."""
        again = samples.STRIMZI + "---\n" + samples.STRIMZI.replace("name: ours", "name: others")
        assert refusal(again) == "F: Kafka ours, others; allowed: resources of one cluster"

    def test_no_yaml(self) -> None:
        """A file cut off has the line."""
        assert refusal(samples.STRIMZI + "spec: {a").startswith("F: line ")

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            ("[1, 2, 3]", "[1, x]", "KafkaNodePool.status.nodeIds: x; allowed: the id of a broker"),
            ("{name: orders}", "{name: ../x}", "KafkaTopic: ../x; allowed: a topic name"),
            ("{partitions: 2, replicas: 3,", "{a: 3, b: ", "no YAML; allowed: Strimzi's Kafka"),
        ],
    )
    def test_what_is_refused(self, old: str, new: str, line: str) -> None:
        """One line names the place, what stands there and what may."""
        assert line in refusal(samples.STRIMZI.replace(old, new))


class TestCruiseControl:
    """kafka_cluster_state, load, partition_load."""

    def test_state(self) -> None:
        """Healthy partitions and others, brokers and their log dirs."""
        found = facts(samples.CRUISE_CONTROL)
        partitions = found.topics["orders"].partitions
        assert (partitions[0].replicas, partitions[0].isr) == ((1, 2, 3), (1, 2, 3))
        assert (partitions[1].leader, partitions[1].isr) == (2, (2, 1))
        assert found.brokers[2].log_dirs == ("/d1",)

    def test_load_has_racks(self) -> None:
        """A host's name is no rack."""
        found = facts(samples.LOAD)
        assert (found.brokers[1].rack, found.brokers[2].rack) == ("a", None)

    def test_rates(self, tmp_path: Path, approved: Approved) -> None:
        """A measured rate is the partition's; batches follow from it."""
        seen = imported(
            tmp_path, state=samples.CRUISE_CONTROL, load=samples.PARTITION_LOAD, racks=samples.LOAD
        )
        first, second = seen["topics"][0]["partitions"]
        assert (first["records_per_s"], second["records_per_s"]) == (123.457, 0)
        assert seen["topics"][0]["produce"][0]["records_per_batch"] == 7
        assumed = {one["what"]: one["value"] for one in seen["assumed"]}
        assert "topics.*.partitions.records_per_s" not in assumed
        approved(assumed["topics.*.produce.records_per_batch"])

    def test_unhealthy_partitions_only(self) -> None:
        """Without verbose=true most partitions are missing."""
        state = json.loads(samples.CRUISE_CONTROL)
        state["KafkaPartitionState"]["other"] = []
        assert refusal(json.dumps(state)) == (
            "F: KafkaPartitionState.other: unhealthy partitions only; allowed: the answer with "
            "verbose=true, which has every partition"
        )

    @pytest.mark.parametrize(
        ("old", "new", "line"),
        [
            ('"leader": 1', '"leader": 9', "other[0]: broker 9; allowed: a replica ([1, 2, 3])"),
            ("[1, 2, 3]", "[]", "other[0].replicas: []; allowed: a list of brokers"),
            ('"partition": 0', '"partition": -1', "other[0].partition: -1; allowed: a number"),
        ],
    )
    def test_what_is_refused(self, old: str, new: str, line: str) -> None:
        """One line names the place, what stands there and what may."""
        assert line in refusal(samples.CRUISE_CONTROL.replace(old, new))

    def test_cut_off(self) -> None:
        """JSON that ends early."""
        assert refusal(samples.CRUISE_CONTROL[:-9]).startswith("F: line 1: no JSON at column ")
