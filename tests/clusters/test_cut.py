"""What a terminal wraps, a grep or a paste cuts, and a cat joins: refused, never read otherwise."""

from __future__ import annotations

import json

import pytest

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.recognise import facts_of
from tests.approved import Approved
from tests.clusters import samples
from tests.clusters.reading import facts, refusal

LISTING = (
    "Topic: t\tPartitionCount: 1\tReplicationFactor: 3\tConfigs: min.insync.replicas=2\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,10,2\tIsr: 1,10\tElr: 2\tLastKnownElr: \n"
)
SMALL = (
    "Topic:t\tPartitionCount:1\tReplicationFactor:3\tConfigs:\n"
    "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,10,2\tIsr: 1,10,2\n"
)
OBSERVED = LISTING.replace("Elr: 2\tLastKnownElr: ", "Offline: 2\tLiveObservers: 2")
PROPERTIES = (
    "broker.id=12\nzookeeper.connect=zk1.example:2181,zk2.example:2181/kafka\n"
    "replica.lag.time.max.ms=45000\nunclean.leader.election.enable=true\n"
    "log.dirs=/data/kafka-1,/data/kafka-2,/data/kafka-3\n"
)
TEXTS = {
    **samples.TOPICS,
    "small ids": SMALL,
    "two topics": SMALL + SMALL.replace(":t", ":u").replace(": t", ": u"),
    "elr": LISTING,
    "observers": OBSERVED,
    "server.properties": PROPERTIES + "min.insync.replicas=12\n",
}


def wrapped(text: str, width: int) -> str:
    """Break the lines of a text as a terminal does, for a copy of what is seen."""
    return "".join(
        f"{line[place : place + width]}\n"
        for line in text.splitlines()
        for place in range(0, len(line), width)
    )


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_wrapped_text_is_refused_or_says_the_same(text: str) -> None:
    """Whatever the width: what is broken off the last line of a block is not skipped."""
    whole, refused = facts(text), 0
    longest = max(map(len, text.splitlines()))
    for width in range(8, longest):
        try:
            [found] = facts_of([Source("F", wrapped(text, width).encode())])
        except InputError:
            refused += 1
        else:
            assert (found.topics, found.brokers) == (whole.topics, whole.brokers), width
    assert refused > (longest - 8) / 2


@pytest.mark.parametrize(
    "configs",
    [
        "min.insync.repl",
        "min.insync.repl...",
        "retention.ms=5,min.insync.repl",
        "retention.ms=5,min.insync.replicas=2,segm...",
        "cleanup.policy=compact,",
    ],
)
@pytest.mark.parametrize(
    "text", [samples.NEW, "Configs for topic 'orders' are min.insync.replicas=2\n"]
)
def test_settings_that_are_cut_off(text: str, configs: str) -> None:
    """A key that is cut is none that could be told, so the line is refused."""
    line = refusal(text.replace("min.insync.replicas=2", configs))
    assert "line 1: settings that are cut off or wrapped" in line


@pytest.mark.parametrize("rest", ["2", "ms=5", "e,delete", "ble=true,retention.ms=5"])
def test_behind_settings_in_one_line(rest: str) -> None:
    """The heading of an old release has all settings in its line, which is long."""
    line = refusal(f"Configs for topic 'orders' are cleanup.policy=compact\n{rest}\n")
    assert f"line 2: the rest of a line that was wrapped ({rest})" in line


@pytest.mark.parametrize("key", ["min.insync.replicas", "log.dirs"])
def test_entries_without_their_heading(key: str) -> None:
    """What grep takes of a listing is no server.properties."""
    line = refusal(f"  {key}=2 sensitive=false synonyms={{STATIC_BROKER_CONFIG:{key}=2}}\n")
    assert "a heading before the first entry" in line


@pytest.mark.parametrize("key", ["broker.id", "node.id"])
def test_the_files_of_two_brokers_in_one(key: str) -> None:
    """Nothing says which settings are whose; one id twice is one broker."""
    text = f"{PROPERTIES}{key}=13\nreplica.lag.time.max.ms=10000\n"
    assert refusal(text).startswith(f"F: line 6: {key}=13 behind broker.id=12;")
    assert set(facts(text.replace("=13", "=12")).brokers) == {12}


def of_bytes(content: bytes) -> Facts:
    """Read a text in another encoding."""
    [found] = facts_of([Source("F", content)])
    return found


@pytest.mark.parametrize("sign", [b"\x85", b"\x0c", b"\x0b", b"\x1c", "\u2028".encode()])
def test_a_comment_ends_where_java_ends_it(sign: bytes) -> None:
    """Python ends lines at more signs, among them dots as Windows writes them."""
    comment = b"# it was" + sign + b"min.insync.replicas=3\n"
    assert of_bytes(comment + PROPERTIES.encode()).brokers == facts(PROPERTIES).brokers


def test_two_answers_of_log_dirs_in_one_file(approved: Approved) -> None:
    """A replica that has moved between them lies where the last says, and that is told."""
    line = (
        '{"version":1,"brokers":[{"broker":1,"logDirs":[{"logDir":"/d","error":null,'
        '"partitions":[{"partition":"t-0","size":1,"offsetLag":0,"isFuture":false}]}]}]}\n'
    )
    found = facts(line + line + line.replace("/d", "/e"))
    assert found.topics["t"].partitions[0].log_dirs == {1: "/e"}
    approved(found.left_out)


@pytest.mark.parametrize(
    "text",
    [
        samples.NEW.replace("\tConfigs: min.insync.replicas=2", ""),
        LISTING.replace("\tElr: 2\tLastKnownElr: ", "") + LISTING.replace(": t", ": u"),
        LISTING.replace("LastKnownElr", "LastKn"),
    ],
)
def test_lines_that_are_cut_at_a_column(text: str) -> None:
    """A pager that chops lines, or cut, leaves out labels that each such line has."""
    assert "a whole line" in refusal(text)


@pytest.mark.parametrize("space", [" ", "\t"])
def test_lines_that_are_joined(space: str) -> None:
    """A web page that joins lines makes one value of two settings."""
    entry = "{0}=2 sensitive=false synonyms={{STATIC_BROKER_CONFIG:{0}=2}}"
    entries = entry.format("min.insync.replicas") + space + entry.format("broker.rack")
    assert "line 2: " in refusal(f"All configs for broker 1 are:\n  {entries}\n")
    line = refusal(f"broker.id=1\nbroker.rack=a{space}min.insync.replicas=2\n")
    assert line.startswith("F: line 2: broker.rack=a min.insync.replicas=2; ")


@pytest.mark.parametrize("key", ["topic", "partition", "leader", "replicas", "in-sync"])
def test_a_partition_of_cruise_control_without_a_field(key: str) -> None:
    """It was a topic named None, or a partition without a leader or without an ISR."""
    entry = {"topic": "t", "partition": 0, "leader": 1, "replicas": [1, 2], "in-sync": [1]}
    whole = {"KafkaPartitionState": {"other": [entry]}, "KafkaBrokerState": {}, "version": 1}
    assert facts(json.dumps(whole)).topics["t"].partitions[0].isr == (1,)
    del entry[key]
    assert f"F: other[0]: no {key}; " in refusal(json.dumps(whole))
