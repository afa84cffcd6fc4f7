"""How fast an imported cluster's machines are, and how much of that its load takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.clusters.machines import hardware_of
from isr_pipeline.clusters.show import told
from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import facts, refusal

GIB = 1024**3
LIMIT = """
      kafka:
        resources: {limits: {memory: 16Gi}}
"""
OF_POOL = "spec: {replicas: 3, resources: {limits: {memory: 64Gi}}, roles: [broker]}"


def strimzi(more: str, pool: str = "") -> str:
    """Strimzi's resources, with more in the Kafka's or the pool's."""
    text = samples.STRIMZI.replace("\n      kafka:\n", more)
    return text.replace("spec: {replicas: 3, roles: [broker]}", pool) if pool else text


def capacities(*of: tuple[object, dict[str, str]]) -> str:
    """Cruise Control's capacity.json."""
    listed = [{"brokerId": str(broker), "capacity": said} for broker, said in of]
    return json.dumps({"brokerCapacities": listed})


def imported(folder: Path, *texts: str, **options: Any) -> dict[str, Any]:
    """Import a listing and other texts; again, if it was imported before."""
    for i, text in enumerate((samples.NEWEST, *texts)):
        (folder / f"{i}.txt").write_text(text)
    files = [str(folder / f"{i}.txt") for i in range(len(texts) + 1)]
    return import_cluster(files, "mine", out=folder / "mine.yaml", **options)


def of_hardware(seen: dict[str, Any]) -> list[tuple[int, int]]:
    """What is kept, and what another source says, of each broker's machine."""
    conflicts = (one for one in seen["conflicts"] if ".hardware." in one["what"])
    return [(one["kept"], one["other"]) for one in conflicts]


class TestOption:
    """``--hardware``."""

    @pytest.mark.parametrize(
        ("given", "field", "value"),
        [
            ("disk-write=125MB", "disk_write_bytes_per_s", 125_000_000),
            ("disk-read=1.5MB/s", "disk_read_bytes_per_s", 1_500_000),
            ("cache=24GiB", "cache_bytes", 24 * GIB),
            ("nic=10Gbit", "nic_bytes_per_s", 1_250_000_000),
            ("disk-seek=4ms", "disk_seek_us", 4000),
        ],
    )
    def test_amounts(self, given: str, field: str, value: int) -> None:
        """As people write them."""
        assert hardware_of([given]) == {field: value}

    @pytest.mark.parametrize(
        "given",
        [
            "disk-write",
            "disk-write=5",
            "disk=5MB",
            "cache=-1GB",
            "nic=1GB,nic=2GB",
            "disk-seek=1GB",
        ],
    )
    def test_what_is_no_amount_is_refused(self, given: str, approved: Approved) -> None:
        """With what is allowed."""
        with approved.refusal(InputError):
            hardware_of([given])

    def test_goes_before_sources_and_stays(self, tmp_path: Path) -> None:
        """The next import need not be told again."""
        own = {"cache_bytes": 10**9, "disk_write_bytes_per_s": 10**8}
        seen = imported(tmp_path, strimzi(LIMIT), hardware=["cache=1GB,disk-write=100MB"])
        assert (seen["hardware"], of_hardware(seen)) == (own, [])
        assert imported(tmp_path, strimzi(LIMIT))["hardware"] == own


class TestSources:
    """Who says something of machines."""

    @pytest.mark.parametrize(
        ("java", "cache"), [("", 11 * GIB), ("jvmOptions: {-Xmx: 6144m}\n", 10 * GIB)]
    )
    def test_strimzi_leaves_the_rest_of_the_memory(self, java: str, cache: int) -> None:
        """Half of the limit is the heap if nobody says, 5 GiB at most."""
        of_all = facts(strimzi(f"{LIMIT}        {java}" if java else LIMIT)).hardware
        assert of_all == {"cache_bytes": cache}

    def test_a_pool_has_its_own(self, tmp_path: Path) -> None:
        """It goes before the Kafka resource."""
        seen = imported(tmp_path, strimzi(LIMIT, OF_POOL))
        assert seen["hardware"] == {"cache_bytes": 59 * GIB}

    def test_a_memory_that_is_none(self) -> None:
        """Is refused with the place."""
        assert "Kafka.spec.kafka.resources.limits.memory: 16 Gigs" in refusal(
            strimzi(LIMIT.replace("16Gi", "16 Gigs"))
        )

    def test_capacities(self, tmp_path: Path) -> None:
        """Cruise Control's networks; a broker of its own has its own."""
        both = capacities(
            (-1, {"DISK": "100000", "CPU": "100", "NW_IN": "50000", "NW_OUT": "40000"}),
            (2, {"NW_IN": "10000"}),
        )
        seen = imported(tmp_path, both)
        assert seen["hardware"] == {"nic_bytes_per_s": 40_960_000}
        assert [one.get("hardware") for one in seen["brokers"]][:2] == [
            None,
            {"nic_bytes_per_s": 10_240_000},
        ]

    def test_what_was_written_by_hand_goes_before_sources(self, tmp_path: Path) -> None:
        """And is told as a conflict."""
        imported(tmp_path)
        path = tmp_path / "mine.yaml"
        text = path.read_text()
        path.write_text(text.replace("brokers:\n", "hardware: {cache_bytes: 7}\nbrokers:\n", 1))
        seen = imported(tmp_path, strimzi(LIMIT))
        assert seen["hardware"] == {"cache_bytes": 7}
        assert of_hardware(seen) == [(7, 11 * GIB)] * 3


class TestSizes:
    """A partition's size over ``retention.ms``."""

    def rates(self, folder: Path, settings: str, size: int = 36 * 10**9) -> list[float]:
        """Of the topic's partitions, whose first one has such a size."""
        dirs = {
            "version": 1,
            "brokers": [
                {
                    "broker": 1,
                    "logDirs": [
                        {
                            "logDir": "/d",
                            "error": None,
                            "partitions": [{"partition": "orders-0", "size": size}],
                        }
                    ],
                }
            ],
        }
        listing = samples.NEWEST.replace("Configs: ", f"Configs: {settings}")
        for name, text in (("a", listing), ("b", json.dumps(dirs))):
            (folder / name).write_text(text)
        files = [str(folder / name) for name in "ab"]
        seen = import_cluster(files, "mine", out=folder / "mine.yaml")
        return [one["records_per_s"] for one in seen["topics"][0]["partitions"]]

    def test_are_its_rate(self, tmp_path: Path) -> None:
        """Of 500 bytes a record, in an hour."""
        assert self.rates(tmp_path, "retention.ms=3600000,")[0] == 20_000

    @pytest.mark.parametrize(
        "settings",
        [
            "",
            "retention.ms=-1,",
            "retention.ms=3600000,cleanup.policy=compact,",
            "retention.ms=3600000,retention.bytes=37000000000,",
        ],
    )
    def test_are_none_where_time_does_not_end_it(self, tmp_path: Path, settings: str) -> None:
        """The usual assumption holds."""
        assert self.rates(tmp_path, settings)[0] == 10

    def test_of_a_young_topic_are_less_than_the_assumption(self, tmp_path: Path) -> None:
        """Which holds then."""
        assert self.rates(tmp_path, "retention.ms=3600000,", size=1000)[0] == 10


class TestShow:
    """``cluster show``."""

    def test_says_what_saturates_first(self, tmp_path: Path, approved: Approved) -> None:
        """Of the disks and the NICs."""
        imported(tmp_path, hardware=["disk-write=1MB,nic=2MB"])
        approved([*told(str(tmp_path / "mine.yaml"))][-3:])
