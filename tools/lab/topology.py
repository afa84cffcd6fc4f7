"""A small cluster with a bit of everything, made on real brokers; and what was made, as data.

What is made is decided here, not read back: an import of the cluster is compared with it.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable
from typing import Any

from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.admin import (
    NewPartitions,
    UserScramCredentialUpsertion,
)
from kafka.errors import CoordinatorNotAvailableError, KafkaConnectionError, KafkaError

from tools.lab import nodes
from tools.lab.brokers import Cluster, node_command
from tools.lab.release import Release
from tools.lab.settings import Plan
from tools.lab.tools import Java, run_tool

SECRET = "SECRET-of-the-lab"  # noqa: S105 - of brokers that live for minutes
"""Stands in every value that no import may print."""

RACKS = {1: "rack-a", 2: "rack-b", 3: "rack-c", 4: "rack-a"}

EVERYWHERE = {
    "replica.lag.time.max.ms": "12000",
    "auto.leader.rebalance.enable": "false",
    "ssl.truststore.password": SECRET,
}
"""Static settings of every node."""

STATIC = {2: {"replica.fetch.wait.max.ms": "250"}, 4: {"replica.lag.time.max.ms": "20000"}}
"""Static settings of one broker, beside its rack."""

CLUSTER_WIDE = {"min.insync.replicas": "2", "log.retention.ms": "86400000"}
"""Dynamic settings of the cluster (the entity `default` of kafka-configs)."""

DYNAMIC = {3: {"num.replica.fetchers": "2", "leader.replication.throttled.rate": "104857600"}}
"""Dynamic settings of one broker."""

TOPICS: dict[str, dict[str, Any]] = {
    "orders": {
        "replicas": [[1, 2, 3], [2, 3, 4], [3, 4, 1], [4, 1, 2], [1, 3, 4], [2, 4, 1]],
        "settings": {"min.insync.replicas": "2", "retention.ms": "604800000"},
        "records": [40, 20, 10, 0, 0, 5],
    },
    "payments.eu_1": {
        "replicas": [[4, 3, 2, 1], [1, 4, 3, 2], [2, 1, 4, 3]],
        "settings": {"min.insync.replicas": "3", "unclean.leader.election.enable": "true"},
        "records": [7, 0, 0],
    },
    "clicks": {"replicas": [[1, 2], [2, 1], [3, 4], [4, 3]], "settings": {}, "records": [3] * 4},
    "state-changelog": {
        "replicas": [[3, 1, 2], [2, 1, 3]],
        "settings": {
            "cleanup.policy": "compact,delete",
            "leader.replication.throttled.replicas": "0:3,1:2",
            "min.insync.replicas": "1",
        },
        "records": [1, 1],
    },
    "alone": {"replicas": [[4], [1]], "settings": {}, "records": [2, 2]},
    "grown": {"replicas": [[1, 4, 2], [4, 2, 3], [2, 3, 1]], "settings": {}, "records": [0, 0, 0]},
}
"""Topics with the replicas of each partition, preferred leader first."""

BOUNCED = 3
"""Broker that is shut down and started again: it leads nothing afterwards."""

KILLED = 4
"""Broker that is killed at last."""

REASSIGNED = ("clicks", 1, [2, 1, 4])
"""Partition that is given a replica on the killed broker, which cannot be finished."""

Say = Callable[[str], None]


def plan() -> Plan:
    """Four brokers in three racks, each with two log dirs."""
    brokers = tuple({"broker.rack": rack, **STATIC.get(i, {})} for i, rack in RACKS.items())
    return Plan(brokers, EVERYWHERE, log_dirs=2)


def small_snapshots() -> dict[str, str]:
    """Settings with which a KRaft node writes a snapshot soon, and few records that say nothing."""
    return {
        "metadata.log.max.record.bytes.between.snapshots": "6000",
        "metadata.max.idle.interval.ms": "5000",
    }


def make(cluster: Cluster, java: Java, say: Say = lambda _: None) -> None:
    """Make the topology on a cluster of `plan`: topics, settings, records, a bounced broker."""
    with client_of(cluster) as client:
        say("topics")
        _make_topics(client)
        _settings(cluster, java)
        add_user(client, "reader", SECRET)
        ask_for_a_group(client)
        say("records")
        _produce(cluster)
        say(f"broker {BOUNCED} bounces")
        broker = cluster.brokers[BOUNCED - 1]
        nodes.stop([cluster.folder / broker.name])
        wait_until(client, lambda found: _leaderless(found, BOUNCED))
        nodes.start(cluster.folder / broker.name, node_command(cluster, broker, java))
        wait_until(client, all_in_sync)


def kill(cluster: Cluster, say: Say = lambda _: None) -> bool:
    """Kill a broker, wait until it is out of every ISR, then ask for a replica on it.

    Returns:
        Whether the reassignment was taken; with ZooKeeper it is refused.
    """
    say(f"broker {KILLED} is killed")
    nodes.stop([cluster.folder / cluster.brokers[KILLED - 1].name], seconds_max=0)
    with client_of(cluster, but=KILLED) as client:
        wait_until(client, lambda found: _leaderless(found, KILLED))
    _wait_until_gone(cluster)
    topic, partition, replicas = REASSIGNED
    taken = _reassign(cluster, TopicPartition(topic, partition), replicas)
    time.sleep(1)
    return taken


def truth(cluster: Cluster) -> dict[str, Any]:
    """What was made, as an import has to find it."""
    made = [
        {
            "name": name,
            "internal": False,
            "settings": topic["settings"],
            "partitions": [
                {"id": i, "replicas": replicas, "records": count}
                for i, (replicas, count) in enumerate(
                    zip(topic["replicas"], topic["records"], strict=True)
                )
            ],
        }
        for name, topic in TOPICS.items()
    ]
    return {
        "release": cluster.release,
        "metadata": cluster.metadata,
        "brokers": [
            {
                "id": i,
                "rack": rack,
                "static": {**EVERYWHERE, **STATIC.get(i, {})},
                "dynamic": DYNAMIC.get(i, {}),
                "log_dirs": placement(cluster, i),
            }
            for i, rack in RACKS.items()
        ],
        "cluster_wide": CLUSTER_WIDE,
        "topics": [*made, _offsets_topic(cluster)],
    }


def standing(release: Release, *, killed: bool, reassigned: bool = False) -> list[dict[str, Any]]:
    """Leader, ISR and ELR of each partition that was made: before and after the broker was killed.

    A leader is the first replica in sync, and only what ends a leader moves leadership. Eligible
    leader replicas (KIP-966, on in new clusters from 4.1) are those that left an ISR below its
    minimum; then the last member leaves the ISR too, which before it never did.
    """
    elr_is_on = release >= Release(4, 1, 0)
    rows = []
    for name, topic in TOPICS.items():
        for i, made in enumerate(topic["replicas"]):
            replicas, isr, adding, elr = list(made), sorted(made), [], []
            leader = made[1] if made[0] == BOUNCED else made[0]
            if killed and KILLED in isr:
                isr.remove(KILLED)
                minimum = int({**CLUSTER_WIDE, **topic["settings"]}["min.insync.replicas"])
                if elr_is_on and len(isr) < min(minimum, len(made)):
                    elr = [KILLED]
                if leader == KILLED:
                    leader = next((one for one in made if one in isr), -1)
                if not isr and not elr_is_on:
                    isr = [KILLED]
            if reassigned and (name, i) == REASSIGNED[:2]:
                replicas, adding = REASSIGNED[2], [KILLED]
            row = {"replicas": replicas, "leader": leader, "isr": isr, "elr": elr, "adding": adding}
            rows.append({"topic": name, "partition": i, **row})
    return rows


def placement(cluster: Cluster, broker: int) -> dict[str, list[str]]:
    """Folders of a broker's data, with the partitions that lie in each."""
    folder = cluster.folder / cluster.brokers[broker - 1].name
    found = {}
    for data in sorted(folder.glob("data-*")):
        names = (part.name for part in data.iterdir() if part.is_dir())
        kept = [name for name in names if re.fullmatch(r".+-\d+", name)]
        found[str(data)] = sorted(name for name in kept if not name.startswith("__cluster"))
    return found


def wait_until(
    client: KafkaAdminClient,
    holds: Callable[[list[dict[str, Any]]], bool],
    seconds_max: float = 90,
) -> None:
    """Ask for all topics until something holds of them."""
    until = time.monotonic() + seconds_max
    while True:
        try:
            if holds(client.describe_topics()):
                return
        except KafkaError:
            pass
        assert time.monotonic() < until, "the brokers did not get there in time"
        time.sleep(0.5)


def _wait_until_gone(cluster: Cluster, seconds_max: float = 60) -> None:
    """Wait until no living broker names the killed one: each has metadata of its own.

    A client learns the brokers from whom it asks first, so each question has a client of its own.
    """
    until = time.monotonic() + seconds_max
    for number, broker in enumerate(cluster.brokers, 1):
        while number != KILLED:
            with KafkaAdminClient(
                bootstrap_servers=[f"127.0.0.1:{broker.internal_port}"]
            ) as client:
                known = {one.node_id for one in client._manager.cluster.brokers()}
            if known and KILLED not in known:
                break
            assert time.monotonic() < until, f"broker {number} still names the killed one"
            time.sleep(0.5)


def _reassign(
    cluster: Cluster, where: TopicPartition, replicas: list[int], seconds_max: float = 60
) -> bool:
    """Ask for a reassignment until a broker answers; whether it was taken.

    A KRaft broker names some broker that lives as the controller, and for a moment that may be the
    killed one. A client remembers whom it was given, so each attempt has a client of its own.
    """
    until = time.monotonic() + seconds_max
    while True:
        try:
            with client_of(cluster, but=KILLED) as client:
                return client.alter_partition_reassignments({where: replicas})[where] is None
        except KafkaConnectionError:
            assert time.monotonic() < until, "no broker answered in time"
            time.sleep(0.5)


def client_of(cluster: Cluster, but: int = 0) -> KafkaAdminClient:
    """Speak with the brokers of a cluster, except one."""
    brokers = [one for i, one in enumerate(cluster.brokers, 1) if i != but]
    servers = [f"127.0.0.1:{one.internal_port}" for one in brokers]
    return KafkaAdminClient(bootstrap_servers=servers)


def _make_topics(client: KafkaAdminClient) -> None:
    def create(name: str, replicas: list[list[int]], settings: dict[str, str]) -> None:
        options = {"assignments": dict(enumerate(replicas)), "configs": settings}
        client.create_topics({name: options}, wait_for_metadata=True)

    create("removed", [[1, 2, 3]], {"retention.ms": "1000"})
    create("grown", [[3, 2, 1]], {})  # another topic of that name, which is removed
    client.delete_topics(["removed", "grown"])
    wait_until(client, lambda found: not {"removed", "grown"} & {one["name"] for one in found})
    for name, topic in TOPICS.items():
        replicas = topic["replicas"]
        create(name, replicas[:2] if name == "grown" else replicas, topic["settings"])
    grown = TOPICS["grown"]["replicas"]
    client.create_partitions({"grown": NewPartitions(len(grown), grown[2:])})


def ask_for_a_group(client: KafkaAdminClient) -> None:
    """Ask for the coordinator of a group, whereupon brokers make the topic of groups."""
    with contextlib.suppress(CoordinatorNotAvailableError):
        client.describe_groups(["readers"])
    wait_until(client, lambda found: "__consumer_offsets" in {one["name"] for one in found})


def _settings(cluster: Cluster, java: Java) -> None:
    """Set what is dynamic through Kafka's own tool, which knows the cluster-wide entity."""
    entities: dict[tuple[str, ...], dict[str, str]] = {("--entity-default",): CLUSTER_WIDE}
    entities |= {("--entity-name", str(i)): values for i, values in DYNAMIC.items()}
    for entity, values in entities.items():
        run_tool(
            java,
            "configs",
            *("--bootstrap-server", cluster.bootstrap, "--alter", "--entity-type", "brokers"),
            *entity,
            *("--add-config", ",".join(f"{key}={value}" for key, value in values.items())),
        )


def _produce(cluster: Cluster) -> None:
    servers = cluster.internal.split(",")
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", linger_ms=0)
    for name, topic in TOPICS.items():
        for partition, count in enumerate(topic["records"]):
            for _ in range(count):
                producer.send(name, b"x" * 100, partition=partition)
    producer.flush()
    producer.close()


def add_user(client: KafkaAdminClient, name: str, password: str) -> None:
    """Give a user a SCRAM-SHA-512 login."""
    one = UserScramCredentialUpsertion(name, "SCRAM-SHA-512", password)
    refused = client.alter_user_scram_credentials([one])
    assert refused == {name: None}, refused


def _offsets_topic(cluster: Cluster) -> dict[str, Any]:
    """The internal topic of groups: its replicas are where its folders are, in no known order."""
    held: dict[int, list[int]] = {}
    for broker in RACKS:
        for names in placement(cluster, broker).values():
            for name in names:
                topic, _, partition = name.rpartition("-")
                if topic == "__consumer_offsets":
                    held.setdefault(int(partition), []).append(broker)
    return {
        "name": "__consumer_offsets",
        "internal": True,
        "settings": {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        },
        "partitions": [{"id": i, "replicas_in_any_order": held[i]} for i in sorted(held)],
    }


def all_in_sync(topics: list[dict[str, Any]]) -> bool:
    """Whether every replica is in its ISR."""
    return all(
        set(one["isr_nodes"]) == set(one["replica_nodes"])
        for topic in topics
        for one in topic["partitions"]
    )


def _leaderless(topics: list[dict[str, Any]], broker: int) -> bool:
    """Whether a broker leads nothing, and is in no ISR that has another member."""
    return all(
        one["leader_id"] != broker
        and (broker not in one["isr_nodes"] or set(one["replica_nodes"]) == {broker})
        for topic in topics
        for one in topic["partitions"]
    )
