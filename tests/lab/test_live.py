"""Live clusters, asked and compared with what was made (`make test-slow`)."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaProducer

from isr_pipeline.base.errors import Refused
from isr_pipeline.clusters.connection import connection
from isr_pipeline.clusters.importing import import_cluster
from isr_pipeline.clusters.live import read_live
from tests.lab import secure
from tests.lab.comparing import compare
from tests.lab.conftest import Laboratory
from tools.lab import nodes, topology
from tools.lab.brokers import Cluster, up
from tools.lab.release import EXAMPLES
from tools.lab.settings import Plan
from tools.lab.tools import release_java

pytestmark = pytest.mark.slow

PASSWORD = topology.SECRET


def address(cluster: Cluster) -> str:
    """Give the address of its first broker, from which a client finds the others."""
    return f"kafka://{cluster.bootstrap.split(',')[0]}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_cluster_is_imported_as_it_was_made(
    laboratory: Laboratory, tmp_path: Path, name: str
) -> None:
    """Each field of the cluster file, before and after a broker is killed; and rates."""
    home, release = laboratory(name)
    cluster = up(home, release, topology.plan())
    topology.make(cluster, release_java(home, release))
    where, out = address(cluster), tmp_path / "made.yaml"

    seen = import_cluster([where], "made", out=out, rate_s=0.5)
    truth = topology.truth(cluster)
    assert seen["release"] == f"{release.major}.{release.minor}"
    assert seen["conflicts"] == []
    assumed = {one["what"].partition(".")[0] for one in seen["assumed"]}
    assert assumed == {"topics", "service", "hardware"}
    assert compare(seen, truth, topology.standing(release, killed=False)) > 100
    assert PASSWORD not in out.read_text() + json.dumps(seen)

    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap.split(","), acks="all")

    def produce(seconds: float) -> None:
        for _ in range(30):
            producer.send("orders", b"x", partition=1).get(10)
        time.sleep(seconds)

    begin = time.monotonic()
    found = read_live(connection(where), rate_s=2, wait=produce)
    most = time.monotonic() - begin
    producer.close()
    rate = found.topics["orders"].partitions[1].records_per_s
    assert rate is not None
    assert 30 / most <= rate <= 30 / 2
    assert found.topics["orders"].partitions[0].records_per_s == 0

    taken = topology.kill(cluster)
    seen = import_cluster([where], "made", out=out, rate_s=0.5)
    assert any("alone-0" in one for one in seen["left_out"])
    for broker, made in zip(seen["brokers"], truth["brokers"], strict=True):
        if broker["id"] == topology.KILLED:  # nobody answers for it any more
            made |= {"rack": broker["rack"], "log_dirs": {}, "static": {}, "dynamic": {}}
            assert broker["log_dirs"] == []
    standing = topology.standing(release, killed=True, reassigned=taken)
    assert compare(seen, truth, standing) > 100


def test_tls_logins_and_rights(
    laboratory: Laboratory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rights that are listed suffice; what lacks one is refused in one line without secrets."""
    home, release = laboratory(EXAMPLES[-1])
    public, both = secure.certificate(tmp_path, "broker")
    other, _ = secure.certificate(tmp_path, "other")
    cluster = up(home, release, secure.plan(both))
    where = address(cluster)
    good = secure.properties(tmp_path, public, PASSWORD)
    with KafkaAdminClient(bootstrap_servers=cluster.internal.split(",")) as client:
        client.create_topics({"t": {"assignments": {0: [1]}, "configs": {}}})
        topology.add_user(client, "reader", PASSWORD)

        def refusal(config: Path | None, seconds_max: float = 10) -> str:
            begin = time.monotonic()
            with pytest.raises(Refused) as refused:
                read_live(connection(where, config), rate_s=0, answer_s_max=seconds_max)
            assert time.monotonic() - begin < 30
            line = str(refused.value)
            assert len(line.splitlines()) == 1
            assert PASSWORD not in line
            assert line.startswith(where)
            return line

        assert "Describe and DescribeConfigs" in refusal(good)
        secure.allow(client, "reader")
        time.sleep(1)
        found = read_live(connection(where, good), rate_s=0)
        assert found.topics["t"].partitions[0].replicas == (1,)
        assert found.brokers[1].settings_whole
        assert PASSWORD not in repr(connection(where, good))

        assert "no broker answers within 5 s (" in refusal(None, 5)
        monkeypatch.setenv("ISR_PIPELINE_KAFKA_PASSWORD", f"not-{PASSWORD}")
        assert "the login is refused" in refusal(good)
        monkeypatch.delenv("ISR_PIPELINE_KAFKA_PASSWORD")
        assert "TLS" in refusal(secure.properties(tmp_path, other, PASSWORD))


def test_a_silent_broker_is_not_passed_over(laboratory: Laboratory) -> None:
    """A paused broker's answers lack: nothing is imported, within the time given."""
    home, release = laboratory(EXAMPLES[-1])
    cluster = up(home, release, Plan(({}, {}), {"broker.session.timeout.ms": "60000"}))
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(",")) as client:
        client.create_topics({"t": {"assignments": {0: [1, 2]}, "configs": {}}})
    paused = nodes.recorded(cluster.folder / "broker-2")
    assert paused is not None
    os.kill(paused.pid, signal.SIGSTOP)
    try:
        begin = time.monotonic()
        with pytest.raises(Refused, match=r": no answer within 3 s; nothing was imported"):
            read_live(connection(address(cluster)), rate_s=0, answer_s_max=3)
        assert time.monotonic() - begin < 20
    finally:
        os.kill(paused.pid, signal.SIGCONT)
