"""Cruise Control's JSON: the cluster's state, its load, the partitions' load, its capacities.

``kafka_cluster_state?verbose=true&json=true`` has assignments, leaders and ISRs; ``load?json=true``
racks; ``partition_load?json=true`` records a second. Without ``verbose=true`` the state lists
unhealthy partitions only, and such an answer is refused. ``capacity.json`` has what networks carry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isr_pipeline.base.files.words import one_line
from isr_pipeline.clusters.facts import (
    BROKER_MAX,
    PARTITIONS_MAX,
    TOOL,
    Facts,
    Source,
    TopicFacts,
    topic_name,
)
from isr_pipeline.clusters.lines import json_texts

KIND = "Cruise Control's JSON"
_ALLOWED = "the JSON of Cruise Control's kafka_cluster_state, load, partition_load or capacity.json"
_GROUPS = ("other", "urp", "offline", "with-offline-replicas", "under-min-isr")

_READ = {
    "": {
        *("KafkaBrokerState", "KafkaPartitionState", "brokers", "records", "version"),
        "brokerCapacities",
    },
    "KafkaBrokerState": {
        "OnlineLogDirsByBrokerId",
        "OfflineLogDirsByBrokerId",
        "LeaderCountByBrokerId",
    },
    "KafkaPartitionState": set(_GROUPS),
    "partitions": {
        *("topic", "partition", "leader", "replicas", "in-sync", "out-of-sync", "offline"),
        "min-isr",
    },
    "brokers": {"Broker", "Rack", "Host", "BrokerState"},
    "records": {"topic", "partition", "msg_in"},
    "brokerCapacities": {"brokerId", "capacity", "doc"},
    "capacity": {"NW_IN", "NW_OUT"},
}
"""Keys that are used, or told in words of their own; all others are counted."""

RATE_MAX_KB = 10**9
_UP = ("ALIVE", "NEW")
"""States of a broker that takes part; DEAD, DEMOTED and BAD_DISKS are told."""


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return (
        any(word in text for word in ('"KafkaPartitionState"', '"KafkaBrokerState"'))
        or ('"brokers"' in text and '"DiskMB"' in text)
        or ('"records"' in text and '"msg_in"' in text)
        or '"brokerCapacities"' in text
    )


def read(source: Source) -> Facts:
    """Read an answer.

    Raises:
        InputError: JSON that is cut off, an answer of another kind, or one of unhealthy partitions
            only.
    """
    facts = Facts(source.name, KIND, TOOL)
    answers = [answer for _, answer in json_texts(source, source.text(_ALLOWED), _ALLOWED)]
    if len(answers) != 1:
        source.refuse("", f"{len(answers)} answers", "one answer a file")
    answer = answers[0]
    if not isinstance(answer, Mapping):
        source.refuse("", answer, _ALLOWED)
    _count_others(facts, "", answer)
    if "KafkaPartitionState" in answer or "KafkaBrokerState" in answer:
        _state(facts, source, answer)
    elif "records" in answer:
        _partition_load(facts, source, answer)
    elif "brokerCapacities" in answer:
        _capacities(facts, source, answer)
    elif "brokers" in answer:
        _load(facts, source, answer)
    else:
        source.refuse("", "another answer", _ALLOWED)
    return facts


def _state(facts: Facts, source: Source, answer: Mapping[str, Any]) -> None:
    brokers = _mapping(source, "KafkaBrokerState", answer.get("KafkaBrokerState", {}))
    _count_others(facts, "KafkaBrokerState", brokers)
    for field in ("OnlineLogDirsByBrokerId", "OfflineLogDirsByBrokerId"):
        dirs = _mapping(source, field, brokers.get(field, {}))
        for number, names in dirs.items():
            broker = facts.broker(_number(source, field, number, BROKER_MAX))
            listed = tuple(str(one) for one in names) if isinstance(names, list) else ()
            broker.log_dirs = (*broker.log_dirs, *listed)
            if listed and field.startswith("Offline"):
                facts.left_out.append(f"broker {number}'s log dirs {', '.join(listed)} are offline")
    counts = "LeaderCountByBrokerId"
    for number in _mapping(source, counts, brokers.get(counts, {})):
        facts.broker(_number(source, counts, number, BROKER_MAX))
    states = _mapping(source, "KafkaPartitionState", answer.get("KafkaPartitionState", {}))
    _count_others(facts, "KafkaPartitionState", states)
    if "KafkaPartitionState" in answer and not states.get("other"):
        allowed = "the answer with verbose=true, which has every partition"
        source.refuse("KafkaPartitionState.other", "unhealthy partitions only", allowed)
    offline: dict[int, list[str]] = {}
    for group in _GROUPS:
        for i, entry in enumerate(_list(source, group, states.get(group))):
            at = f"{group}[{i}]"
            which = _partition(facts, source, at, _mapping(source, at, entry))
            for broker_id in _ids(source, f"{at}.offline", entry.get("offline")):
                offline.setdefault(broker_id, []).append(which)
    for broker_id, partitions in sorted(offline.items()):
        named = sorted(set(partitions))  # several groups have the same partition
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        facts.left_out.append(
            f"broker {broker_id}'s replica of {named[0]}{more} is offline ({source.name}); "
            "here it is online"
        )


def _partition(facts: Facts, source: Source, at: str, entry: Mapping[str, Any]) -> str:
    """Keep a partition, and give its name."""
    _count_others(facts, "partitions", entry)
    for key in ("topic", "partition", "leader", "replicas", "in-sync"):
        if key not in entry:
            source.refuse(at, f"no {key}", "topic, partition, leader, replicas, in-sync")
    name = topic_name(source, f"{at}.topic", str(entry["topic"]))
    number = _number(source, f"{at}.partition", entry["partition"], PARTITIONS_MAX)
    partition = facts.topic(name).partition(number)
    partition.replicas = tuple(_ids(source, f"{at}.replicas", entry.get("replicas")))
    if not partition.replicas:
        source.refuse(f"{at}.replicas", entry.get("replicas"), "a list of brokers")
    leader = entry.get("leader")
    partition.leader = -1 if leader in (None, -1) else _number(source, at, leader, BROKER_MAX)
    partition.isr = tuple(_ids(source, f"{at}.in-sync", entry.get("in-sync")))
    for member in (*partition.isr, *([partition.leader] if partition.leader >= 0 else [])):
        if member not in partition.replicas:
            source.refuse(at, f"broker {member}", f"a replica ({list(partition.replicas)})")
    _min_isr(facts.topic(name), source, f"{at}.min-isr", entry.get("min-isr"))
    return f"{name}-{number}"


def _min_isr(topic: TopicFacts, source: Source, at: str, value: Any) -> None:
    """Keep what 2.5.60 and later show with each partition: whose setting it is they do not say."""
    if value is None:
        return
    text = str(_number(source, at, value, PARTITIONS_MAX))
    before = topic.effective.setdefault("min.insync.replicas", text)
    if text != before:
        source.refuse(at, text, f"{before}, as in other partitions of the topic")


def _load(facts: Facts, source: Source, answer: Mapping[str, Any]) -> None:
    for i, entry in enumerate(_list(source, "brokers", answer["brokers"])):
        at = f"brokers[{i}]"
        broker = facts.broker(
            _number(source, at, _mapping(source, at, entry).get("Broker"), BROKER_MAX)
        )
        _count_others(facts, "brokers", entry)
        rack = entry.get("Rack")
        # without racks Cruise Control takes the host's name for one
        if isinstance(rack, str) and rack and rack != entry.get("Host"):
            broker.rack = rack
        state = str(entry.get("BrokerState", "ALIVE"))
        if state not in _UP:
            facts.left_out.append(
                f"broker {entry['Broker']} is {one_line(state)[:30]} ({source.name}); here it is up"
            )


def _partition_load(facts: Facts, source: Source, answer: Mapping[str, Any]) -> None:
    for i, entry in enumerate(_list(source, "records", answer["records"])):
        at = f"records[{i}]"
        record = _mapping(source, at, entry)
        if "topic" not in record:
            source.refuse(at, "no topic", "topic, partition, msg_in")
        name = topic_name(source, f"{at}.topic", str(record.get("topic")))
        number = _number(source, f"{at}.partition", record.get("partition"), PARTITIONS_MAX)
        _count_others(facts, "records", record)
        rate = record.get("msg_in")
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 <= rate < 1e9:
            source.refuse(f"{at}.msg_in", rate, "records a second")
        facts.topic(name).partition(number).records_per_s = round(float(rate), 3)


def _capacities(facts: Facts, source: Source, answer: Mapping[str, Any]) -> None:
    """What networks carry, in KB a second; broker -1 is every other one.

    Its DISK is a size and its CPU a share: neither says how fast a machine is.
    """
    for i, entry in enumerate(_list(source, "brokerCapacities", answer["brokerCapacities"])):
        at = f"brokerCapacities[{i}]"
        broker = _mapping(source, at, entry).get("brokerId")
        capacity = _mapping(source, f"{at}.capacity", entry.get("capacity"))
        _count_others(facts, "brokerCapacities", entry)
        _count_others(facts, "capacity", capacity)
        rates = [
            _number(source, f"{at}.capacity.{key}", capacity[key], RATE_MAX_KB)
            for key in ("NW_IN", "NW_OUT")
            if key in capacity
        ]
        is_of_all = str(broker) == "-1"
        number = None if is_of_all else _number(source, f"{at}.brokerId", broker, BROKER_MAX)
        hardware = facts.hardware if number is None else facts.broker(number).hardware
        if rates and min(rates) > 0:
            hardware["nic_bytes_per_s"] = min(rates) * 1024


def _count_others(facts: Facts, at: str, given: Mapping[str, Any]) -> None:
    facts.unread |= {f"{at}.{key}" for key in given if key not in _READ[at]}


def _mapping(source: Source, at: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        source.refuse(at, value, "a mapping")
    return value


def _list(source: Source, at: str, value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        source.refuse(at, value, "a list")
    return value


def _number(source: Source, at: str, value: Any, most: int) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 11:
        value = int(value)
    if type(value) is not int or not 0 <= value <= most:
        source.refuse(at, value, f"a number 0..{most}")
    return value


def _ids(source: Source, at: str, value: Any) -> Iterator[int]:
    found = [_number(source, at, one, BROKER_MAX) for one in _list(source, at, value)]
    if len(set(found)) < len(found):
        source.refuse(at, value, "each broker once")
    yield from found
