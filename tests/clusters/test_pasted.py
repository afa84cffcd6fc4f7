"""What people paste beside and around Kafka's output: nothing is read wrongly without a word.

Ten inputs of each kind, written before the readers were looked at. A source is given as its text;
what is expected is either what the imported cluster says, or the words of a refusal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from isr_pipeline.base.errors import LINE_MAX, InputError, Refused
from isr_pipeline.clusters.importing import import_cluster
from tests.clusters.reading import Seen

T = (
    "Topic: t\tTopicId: kQd2pQm9Rj6h3mQx0vYrTg\tPartitionCount: 1\tReplicationFactor: 3\t"
    "Configs: \n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\n"
)
U = T.replace("Topic: t\t", "Topic: u\t").replace("kQd2", "kQd3")
MIN_2 = T.replace("Configs: ", "Configs: min.insync.replicas=2")

Check = Callable[[Seen], object]


def whole(topic: str, *entries: str) -> str:
    """Print what kafka-configs --describe --all of a topic does."""
    return "".join([f"All configs for topic {topic} are:\n", *(f"  {one}\n" for one in entries)])


def broker(number: int, *entries: str, all_: str = "All") -> str:
    """Print what kafka-configs --describe of a broker does."""
    return "".join([f"{all_} configs for broker {number} are:\n", *(f"  {e}\n" for e in entries)])


def entry(key: str, value: object, *synonyms: str) -> str:
    """Print one entry; synonyms are sources, or sources and other keys or values."""
    given = ", ".join(
        one if "=" in one else f"{one if ':' in one else f'{one}:{key}'}={value}"
        for one in synonyms
    )
    return f"{key}={value} sensitive=false synonyms={{{given}}}"


STATIC, DEFAULTS, OWN = (
    "STATIC_BROKER_CONFIG",
    "DYNAMIC_DEFAULT_BROKER_CONFIG",
    "DYNAMIC_TOPIC_CONFIG",
)
MIN = "min.insync.replicas"
LAG = "replica.lag.time.max.ms"
UNCLEAN = "unclean.leader.election.enable"


def server(number: int, *lines: str) -> str:
    """Write a server.properties of a broker under ZooKeeper."""
    return "".join(f"{x}\n" for x in (f"broker.id={number}", "zookeeper.connect=zk:2181", *lines))


def effective(topic: str, key: str, value: object) -> Check:
    """Whether a topic has this value in the end: of its own, or by every broker."""

    def check(seen: Seen) -> bool:
        own = seen.topic(topic)["settings"].get(key)
        every = {seen.setting(b["id"], key) for b in seen.cluster["brokers"]}
        return (str(own).lower() if own is not None else every) in (str(value), {str(value)})

    return check


def by_every_broker(key: str, value: object) -> Check:
    """Whether every broker has this value."""
    return lambda seen: (
        {seen.setting(b["id"], key) for b in seen.cluster["brokers"]} == {str(value)}
    )


def told(*words: str) -> Check:
    """Whether an import tells of something."""
    return lambda seen: all(seen.said(word) for word in words)


def each(*checks: Check) -> Check:
    """Whether all of it is so."""
    return lambda seen: all(check(seen) for check in checks)


Case = tuple[Mapping[str, str], str | None, Check | str]
"""Sources by name, ``--release``, and what is expected: a check, or a refusal's pattern."""

A: dict[str, Case] = {
    "static": (
        {"t": MIN_2, "c": whole("t", entry(MIN, 2, STATIC, f"DEFAULT_CONFIG:{MIN}=1"))},
        None,
        effective("t", MIN, 2),
    ),
    "of-all-brokers-dynamic": (
        {"t": T, "c": whole("t", entry(MIN, 3, DEFAULTS, f"DEFAULT_CONFIG:{MIN}=1"))},
        None,
        effective("t", MIN, 3),
    ),
    "for-other-topics-too": (
        {"t": T + U, "c": whole("t", entry(UNCLEAN, "true", STATIC))},
        None,
        effective("u", UNCLEAN, "true"),
    ),
    "own-wins-over-static": (
        {"t": T + U, "c": whole("t", entry(MIN, 1, OWN, f"{STATIC}:{MIN}=2"))},
        None,
        each(effective("t", MIN, 1), effective("u", MIN, 2)),
    ),
    "brokers-own-key": (
        {
            "t": T,
            "c": whole(
                "t", entry("cleanup.policy", "compact", f"{STATIC}:log.cleanup.policy=compact")
            ),
        },
        None,
        lambda s: (
            s.topic("t")["settings"].get("cleanup.policy") == "compact" or s.said("cleanup.policy")
        ),
    ),
    "a-broker-says-otherwise": (
        {
            "t": T,
            "c": whole("t", entry(MIN, 2, STATIC)),
            "b": broker(1, entry(MIN, 3, STATIC)),
        },
        None,
        lambda s: s.conflicts(MIN) and s.setting(1, MIN) == "3",
    ),
    "a-broker-says-the-same": (
        {
            "t": T,
            "c": whole("t", entry(MIN, 2, STATIC)),
            "b": broker(1, entry(MIN, 2, STATIC)),
        },
        None,
        each(lambda s: not s.cluster["conflicts"], by_every_broker(MIN, 2)),
    ),
    "a-file-says-the-same": (
        {"t": T, "c": whole("t", entry(MIN, 2, STATIC)), "p": server(1, f"{MIN}=2")},
        None,
        each(lambda s: not s.cluster["conflicts"], by_every_broker(MIN, 2)),
    ),
    "the-listing-says-otherwise": (
        {"t": MIN_2, "c": whole("t", entry(MIN, 1, "DEFAULT_CONFIG"))},
        None,
        lambda s: s.conflicts(MIN),
    ),
    "two-topics-contradict": (
        {
            "t": T + U,
            "c": whole("t", entry(MIN, 2, STATIC)) + whole("u", entry(MIN, 3, STATIC)),
        },
        None,
        lambda s: s.conflicts(MIN),
    ),
}

B: dict[str, Case] = {
    name: ({"t": T, "p": server(1, "broker.rack=r1", f"{LAG}=45000", line)}, None, check)
    for name, line, check in (
        ("empty", "process.roles=", lambda s: s.setting(1, LAG) == "45000"),
        ("blanks", "process.roles =   ", lambda s: s.broker(1)["rack"] == "r1"),
        ("brackets", "process.roles=[]", lambda s: s.setting(1, LAG) == "45000"),
        ("colon", "process.roles:", lambda s: s.cluster["controller"] == "zookeeper"),
        ("blanks-alone", "process.roles", lambda s: s.setting(1, LAG) == "45000"),
        ("brackets-with-blank", "process.roles = [ ]", lambda s: s.broker(1)["rack"] == "r1"),
        ("not-rendered", "process.roles=${ROLES}", "process.roles"),
        ("unknown-role", "process.roles=brokers", "process.roles"),
    )
}
B["log-of-a-broker"] = (
    {
        "t": T,
        "p": "node.id = 1\nprocess.roles = [broker, controller]\nbroker.rack = null\n"
        f"{LAG} = 45000\n",
    },
    None,
    lambda s: (
        (s.setting(1, LAG), s.broker(1)["rack"], s.cluster["controller"])
        == ("45000", None, "kraft")
    ),
)
B["nothing-kept-is-told"] = (
    {"t": T, "controller.properties": "node.id=9\nprocess.roles=controller\nlog.dirs=/d\n"},
    None,
    told("controller.properties"),
)

META_ZK = (
    "#\n#Tue Mar 12 10:12:01 UTC 2019\ncluster.id=fMCL8kv1SWm87L_Md-I2hg\nversion=0\nbroker.id=1\n"
)
META_KRAFT = (
    "#\n#Tue Mar 12 10:12:01 UTC 2024\ncluster.id=fMCL8kv1SWm87L_Md-I2hg\nversion=1\nnode.id=1\n"
    "directory.id=4Yl4nNrRQ5SpvKjGzxV7lg\n"
)
C_REFUSED = r"meta\.properties"
C: dict[str, Case] = {
    "zookeeper": ({"t": T, "m": META_ZK}, None, C_REFUSED),
    "kraft": ({"t": T, "m": META_KRAFT}, None, C_REFUSED),
    "kraft-without-dir": (
        {"t": T, "m": META_KRAFT.replace("directory.id=4Yl4nNrRQ5SpvKjGzxV7lg\n", "")},
        None,
        C_REFUSED,
    ),
    "smallest": ({"t": T, "m": "node.id=1\nversion=1\n"}, None, C_REFUSED),
    "crlf": ({"t": T, "m": META_ZK.replace("\n", "\r\n")}, None, C_REFUSED),
    "other-order": (
        {"t": T, "m": "broker.id=1\nversion=0\ncluster.id=fMCL8kv1SWm87L_Md-I2hg\n"},
        None,
        C_REFUSED,
    ),
    "of-0.8": ({"t": T, "m": "#Tue Mar 12\nversion=0\nbroker.id=2\n"}, None, C_REFUSED),
    "beside-the-file": ({"t": T, "m": META_ZK, "p": server(1)}, None, C_REFUSED),
    "reserved-id": (
        {
            "t": T.replace("1,2,3", "1001,2,3").replace("Leader: 1", "Leader: 2"),
            "m": META_ZK.replace("=1\n", "=1001\n"),
        },
        None,
        C_REFUSED,
    ),
    "alone": ({"m": META_KRAFT}, None, C_REFUSED),
}


def observed(columns: str, replicas: str = "1,2,3,4", configs: str = "", isr: str = "1,2") -> str:
    """Print a listing of Confluent Server."""
    return (
        f"Topic: t\tPartitionCount: 1\tReplicationFactor: 4\tConfigs: {configs}\n"
        f"\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {isr}\t{columns}\n"
    )


PLACED = (
    'confluent.placement.constraints={"version":1,"replicas":[{"count":2,"constraints":'
    '{"rack":"w"}}],"observers":[{"count":2,"constraints":{"rack":"e"}}]}'
)
D: dict[str, Case] = {
    "5.4": ({"t": observed("Offline: \tLiveObservers: 3,4")}, None, told("observer", "3, 4")),
    "7.x": ({"t": observed("Offline: \tObservers: 3,4")}, None, told("observer", "3, 4")),
    "one-down": ({"t": observed("Offline: 4\tLiveObservers: 3")}, None, told("observer", "3")),
    "promoted": (
        {"t": observed("Offline: \tObservers: 3,4", isr="1,2,3")},
        None,
        told("observer", "3, 4"),
    ),
    "none": (
        {"t": observed("Offline: \tLiveObservers: ", isr="1,2,3,4")},
        None,
        lambda s: not s.said("observer"),
    ),
    "constraints-alone": (
        {"t": observed("Offline: ", configs=PLACED)},
        None,
        told("observer"),
    ),
    "constraints-in-settings": (
        {
            "t": observed("Offline: "),
            "c": f"Dynamic configs for topic t are:\n  {PLACED} sensitive=false synonyms={{}}\n",
        },
        None,
        told("confluent.placement.constraints"),
    ),
    "constraints-without-observers": (
        {
            "t": observed(
                "Offline: ",
                configs='confluent.placement.constraints={"version":1,"replicas":[{"count":4,"constraints":{"rack":"w"}}],"observers":[]}',
            )
        },
        None,
        told("confluent.placement.constraints"),
    ),
    "offline-is-told": ({"t": observed("Offline: 3\tLiveObservers: ")}, None, told("offline")),
    "blanks-for-tabs": (
        {"t": observed("Offline: \tLiveObservers: 3,4").replace("\t", "   ")},
        None,
        told("observer", "3, 4"),
    ),
}


def strimzi(spec: str = "", status: str = "", config: str = "{min.insync.replicas: 2}") -> str:
    """Write a Kafka resource of Strimzi."""
    return (
        "apiVersion: kafka.strimzi.io/v1beta2\nkind: Kafka\nmetadata: {name: k}\n"
        f"spec:\n  kafka:\n    replicas: 4\n    config: {config}\n{spec}"
        "  zookeeper: {replicas: 3}\n"
        f"{status}"
    )


KAFKA_TOPIC = (
    "apiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\n"
    "metadata: {{name: {name}, labels: {{strimzi.io/cluster: k}}}}\n"
    "spec: {{partitions: {partitions}, replicas: 3, config: {{}}}}\n"
)
E: dict[str, Case] = {
    "protocol-in-files": (
        {"t": T, **{f"s{n}": server(n, "inter.broker.protocol.version=2.4") for n in (1, 2, 3)}},
        None,
        lambda s: s.cluster["release"].startswith("2.4") or s.said("inter.broker.protocol.version"),
    ),
    "protocol-in-one-file": (
        {"t": T, "s": server(2, "inter.broker.protocol.version=2.6-IV0")},
        "2.8",
        told("inter.broker.protocol.version"),
    ),
    "protocol-of-a-broker-asked": (
        {"t": T, "b": broker(1, entry("inter.broker.protocol.version", "2.3-IV1", STATIC))},
        None,
        lambda s: s.cluster["release"].startswith("2.3") or s.said("inter.broker.protocol.version"),
    ),
    "protocol-by-default-is-no-news": (
        {
            "t": T,
            "b": broker(1, entry("inter.broker.protocol.version", "3.9-IV0", "DEFAULT_CONFIG")),
        },
        "3.9.0",
        lambda s: not s.said("inter.broker.protocol.version 3.9"),
    ),
    "key-of-0.8": (
        {"t": T, "s": server(1, "replica.lag.max.messages=8000")},
        None,
        told("replica.lag.max.messages"),
    ),
    "key-of-0.8-by-release": (
        {"t": T, "s": server(1, "replica.lag.max.messages=8000")},
        "0.8.2.2",
        lambda s: s.setting(1, "replica.lag.max.messages") == "8000",
    ),
    "status-of-strimzi": (
        {"t": T, "k": strimzi(status="status: {kafkaVersion: 3.4.1}\n")},
        None,
        lambda s: s.cluster["release"] == "3.4.1",
    ),
    "upgrade-of-strimzi": (
        {"t": T, "k": strimzi("    version: 3.5.0\n", "status: {kafkaVersion: 3.4.1}\n")},
        None,
        lambda s: s.cluster["release"] == "3.4.1" and s.said("3.5.0"),
    ),
    "topic-of-strimzi-alone": (
        {
            "t": T,
            "k": strimzi() + "---\n" + KAFKA_TOPIC.format(name="not-there", partitions=12),
        },
        None,
        told("not-there"),
    ),
    "partitions-of-strimzi-differ": (
        {"t": T, "k": strimzi() + "---\n" + KAFKA_TOPIC.format(name="t", partitions=12)},
        None,
        told("12"),
    ),
}

F: dict[str, Case] = {
    name: ({"t": text}, None, lambda s: len(s.parts("t")) == 1 and s.said("around"))
    for name, text in (
        ("fish", "user@box ~/kafka> bin/kafka-topics.sh --describe\n" + T),
        ("powershell-core", "PS /home/x> ./kafka-topics.sh --describe\n" + T + "PS /home/x>\n"),
        ("fence", "```\n" + T + "```\n"),
        ("time", T + "\nreal\t0m2.114s\nuser\t0m3.002s\nsys\t0m0.301s\n"),
        (
            "ssh",
            "Warning: Permanently added 'k1,10.0.0.1' (ED25519) to the list of known hosts.\n" + T,
        ),
        ("sudo", "[sudo] password for kafka: \n" + T + "Connection to k1 closed.\n"),
        ("jmx", "Error: JMX connector server communication error: service:jmx:rmi://k1\n" + T),
        ("gc-log", "[0.003s][warning][os,container] Duplicate cpuset controllers detected.\n" + T),
        (
            "watch",
            "Every 2.0s: kafka-topics.sh --describe      k1: Tue Mar 12 10:12:01 2024\n\n" + T,
        ),
        ("between-topics", "$ kafka-topics.sh --topic t\n" + T + "\n# the other one\n" + U),
    )
}

G: dict[str, Case] = {
    "log-line-with-a-jaas-file": (
        {"t": T.replace("\n\t", "\n17/05/15 08:51:13 INFO zk: JAAS File name: /x.conf\n\t", 1)},
        None,
        "line 2: .*log line",
    ),
    "kerberos-in-the-middle": (
        {"t": T.replace("\n\t", "\nDebug is true storePass is false\n\t", 1)},
        None,
        "line 2",
    ),
    "iso-time": (
        {"t": T.replace("\n\t", "\n[2024-08-13 00:12:27,203] WARN sasl.jaas.config (x)\n\t", 1)},
        None,
        "line 2: .*log line",
    ),
    "exception": (
        {"t": T.replace("\n\t", "\njava.io.IOException: password wrong\n\t", 1)},
        None,
        "line 2: .*Java",
    ),
    "stack": (
        {"t": T.replace("\n\t", "\n\tat javax.security.auth.Password.x(P.java:1)\n\t", 1)},
        None,
        "line 2: .*Java",
    ),
    "prompt-with-a-secret": (
        {"t": T.replace("\n\t", "\n$ kafka-topics.sh --password x\n\t", 1)},
        None,
        "line 2: .*prompt",
    ),
    "among-settings": (
        {
            "t": T,
            "c": broker(1, entry(LAG, 1000, STATIC), "ssl.secret of whom", entry(MIN, 2, STATIC)),
        },
        None,
        "c.*line 3",
    ),
    "a-label-before-the-listing": (
        {"t": "\tTopic: t\tPartition: 7\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\n" + T},
        None,
        "line 1|t.*partition",
    ),
    "another-format-behind": ({"t": T + broker(1, entry(LAG, 1000, STATIC))}, None, "line 3"),
    "half-a-line": ({"t": T + "\tTopic: t\tParti\n"}, None, "line 3"),
}

KINDS = {"A": A, "B": B, "C": C, "D": D, "E": E, "F": F, "G": G}


@pytest.mark.parametrize(
    ("sources", "release", "expected"),
    [
        pytest.param(*case, id=f"{kind}-{name}")
        for kind, cases in KINDS.items()
        for name, case in cases.items()
    ],
)
def test_what_people_paste(
    tmp_path: Path, sources: Mapping[str, str], release: str | None, expected: Check | str
) -> None:
    """It is used, told, or refused with its line; a secret is never shown."""
    for name, text in sources.items():
        (tmp_path / name).write_bytes(text.encode())
    files = [str(tmp_path / name) for name in sources]

    def run() -> dict[str, Any]:
        return import_cluster(files, "x", out=tmp_path / "x.yaml", release=release)

    if isinstance(expected, str):
        with pytest.raises((InputError, Refused)) as refused:
            run()
        line = str(refused.value).replace(f"{tmp_path}/", "")
        assert re.search(expected, line), line
        assert len(line) <= LINE_MAX
        assert "/x.conf" not in line
        return
    seen = Seen(run())
    assert expected(seen), json.dumps(seen.cluster, indent=1)


def test_a_file_without_an_id_tells_every_brokers_log_dirs(tmp_path: Path) -> None:
    """And what of it is one broker's own, such as a rack, is told."""
    (tmp_path / "t").write_text(T)
    (tmp_path / "p").write_text(f"log.dirs=/d1,/d2\nbroker.rack=r\n{LAG}=45000\n")
    files = [str(tmp_path / name) for name in ("t", "p")]
    seen = Seen(import_cluster(files, "x", out=tmp_path / "x.yaml"))
    assert [one["log_dirs"] for one in seen.cluster["brokers"]] == [["/d1", "/d2"]] * 3
    assert [one["rack"] for one in seen.cluster["brokers"]] == [None] * 3
    assert seen.said("broker.rack=r (p)")
    assert by_every_broker(LAG, 45000)(seen)


@pytest.mark.parametrize(
    "text",
    [
        server(1, f"{LAG}=10000", f"{LAG}=45000"),
        broker(1, entry(LAG, 10000, STATIC)) + "Done.\n" + broker(1, entry(LAG, 45000, STATIC)),
    ],
)
def test_what_a_source_says_twice_is_told(tmp_path: Path, text: str) -> None:
    """The last value holds, as in a file that Java reads, or in a session that changes it."""
    (tmp_path / "t").write_text(T)
    (tmp_path / "s").write_text(text)
    files = [str(tmp_path / name) for name in ("t", "s")]
    seen = Seen(import_cluster(files, "x", out=tmp_path / "x.yaml"))
    assert seen.setting(1, LAG) == "45000"
    assert seen.said(f"{LAG}=10000 (s), which is set again behind it")


def test_there_are_ten_of_each() -> None:
    """No kind loses one unseen."""
    assert {kind: len(cases) for kind, cases in KINDS.items()} == dict.fromkeys("ABCDEFG", 10)
