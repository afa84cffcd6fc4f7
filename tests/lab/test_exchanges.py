"""Live clusters asked where nobody runs one: real brokers' answers, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient

from isr_pipeline.base.errors import LINE_MAX, Refused
from isr_pipeline.clusters.connection import connection, describe_cluster
from isr_pipeline.clusters.listeners import replication_listeners
from isr_pipeline.clusters.live import read_live
from tools.lab.exchanges import FOLDER, replayed

RECORDINGS = sorted(FOLDER.glob("*.json"))


@pytest.fixture(params=RECORDINGS, ids=[file.stem for file in RECORDINGS])
def recording(request: pytest.FixtureRequest) -> Path:
    """Give each release that was recorded."""
    file: Path = request.param
    return file


@pytest.fixture
def address(recording: Path) -> Iterator[str]:
    """Give the address of its first broker."""
    with replayed(recording) as found:
        yield found


def test_every_release_is_imported(address: str, recording: Path) -> None:
    """All that was made; 2.8 to 3.6 answer DescribeCluster only in its version 0."""
    found = read_live(connection(address), rate_s=0)
    assert found.cluster_id
    assert {number: one.rack for number, one in found.brokers.items()} == {1: "rack-a", 2: "rack-b"}
    assert all(one.settings_whole and one.log_dirs for one in found.brokers.values())
    assert found.release == ".".join(recording.stem.split(".")[:2])
    orders = found.topics["orders"]
    assert orders.settings == {"min.insync.replicas": "2"}
    assert {i: one.replicas for i, one in orders.partitions.items()} == {0: (1, 2), 1: (2, 1)}
    assert {i: one.leader for i, one in orders.partitions.items()} == {0: 1, 1: 2}


def test_followers_have_a_listener(address: str) -> None:
    """The recorded brokers had INTERNAL for themselves, and CLIENT."""
    assert list(replication_listeners(read_live(connection(address), rate_s=0))) == [True]


def test_a_start_knows_the_brokers_of_every_release(address: str) -> None:
    """It asks as an import does."""
    with KafkaAdminClient(bootstrap_servers=address.removeprefix("kafka://")) as client:
        assert {one["broker_id"] for one in describe_cluster(client)["brokers"]} == {1, 2}


def test_what_the_library_cannot_read_is_one_line(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it raises: no traceback for the user of an import."""

    def fail(_client: KafkaAdminClient) -> None:
        raise KeyError("endpoint_type")

    monkeypatch.setattr(KafkaAdminClient, "describe_topics", fail)
    with pytest.raises(Refused, match=r"topics: KeyError: .*nothing was imported") as refused:
        read_live(connection(address), rate_s=0)
    assert len(str(refused.value).splitlines()) == 1
    assert len(str(refused.value)) <= LINE_MAX
