"""Strimzi's resources, as ``kubectl get kafka,kafkanodepool,kafkatopic -o yaml`` prints them.

What a platform was told to make: the release, the brokers' configuration, racks by the name of the
nodes' label only, topics with their numbers. Who holds which partition is Kafka's to say, so a
source with assignments is needed beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from isr_pipeline.clusters.facts import PLATFORM, Facts, Source, topic_name
from isr_pipeline.clusters.properties import broker_setting
from isr_pipeline.clusters.secrets import of_a_topic

KIND = "Strimzi resources"
_ALLOWED = "Strimzi's Kafka, KafkaNodePool and KafkaTopic, as YAML or JSON"
_TELLING = re.compile(r"apiVersion\"?\s*:\s*\"?(kafka|core)\.strimzi\.io/")
_KINDS = ("Kafka", "KafkaNodePool", "KafkaTopic")
_NODES_MAX = 2_000_000
_LEVEL = re.compile(r"(\d+\.\d+)(?:-IV\d+)?$")


def recognises(text: str) -> bool:
    """Whether a text is of this kind."""
    return _TELLING.search(text) is not None


def read(source: Source) -> Facts:
    """Read the resources.

    Raises:
        InputError: no YAML, a resource that is no mapping, or resources of two clusters.
    """
    facts = Facts(source.name, KIND, PLATFORM)
    names: dict[str, str] = {}
    pools = []
    for resource in _resources(source):
        kind = resource.get("kind")
        if kind not in _KINDS:
            continue
        spec = _mapping(source, f"{kind}.spec", resource.get("spec"))
        metadata = _mapping(source, f"{kind}.metadata", resource.get("metadata"))
        if kind == "Kafka":
            names[str(metadata.get("name"))] = kind
            if len(names) > 1:
                source.refuse("", f"Kafka {', '.join(names)}", "resources of one cluster")
            _kafka(facts, source, spec)
        elif kind == "KafkaNodePool":
            status = _mapping(source, "KafkaNodePool.status", resource.get("status"))
            pools.append((spec, status))
        else:
            _topic(facts, source, metadata, spec)
    for spec, status in pools:
        _pool(facts, source, spec, status)
    if pools:
        facts.controller = "kraft"
    return facts


def _resources(source: Source) -> Iterator[Mapping[str, Any]]:
    """Every resource: of each document, and of lists in them."""
    text = source.text(_ALLOWED)
    if text.count("\n") + text.count(",") > _NODES_MAX:
        source.refuse("", "too many lines", f"at most {_NODES_MAX}")
    try:
        documents = (
            [json.loads(text)]
            if text.lstrip().startswith("{")
            else list(YAML(typ="safe", pure=True).load_all(text))
        )
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        source.refuse(mark.line + 1 if mark else "", "no YAML", _ALLOWED)
    except Exception:
        source.refuse("", "no YAML", _ALLOWED)
    waiting = list(documents)
    while waiting:
        one = waiting.pop(0)
        if one is None:
            continue
        if not isinstance(one, Mapping):
            source.refuse("", one, _ALLOWED)
        items = one.get("items")
        if isinstance(items, list):
            waiting += items
        else:
            yield one


def _mapping(source: Source, at: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        source.refuse(at, value, "a mapping")
    return value


def _kafka(facts: Facts, source: Source, spec: Mapping[str, Any]) -> None:
    kafka = _mapping(source, "Kafka.spec.kafka", spec.get("kafka"))
    if kafka.get("version") is not None:
        facts.release = str(kafka["version"])
    level = _LEVEL.match(str(kafka.get("metadataVersion", "")))
    if level and facts.release is None:
        facts.release_hint = (level[1], "metadataVersion is set to it; the release may be newer")
    if spec.get("zookeeper") is not None:
        facts.controller = "zookeeper"
    for key, value in _mapping(source, "Kafka.spec.kafka.config", kafka.get("config")).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        broker_setting(facts, None, str(key), text)
    if kafka.get("rack") is not None:
        label = _mapping(source, "Kafka.spec.kafka.rack", kafka["rack"]).get("topologyKey")
        facts.left_out.append(f"racks follow the nodes' label {label}, whose values are not here")
    replicas = kafka.get("replicas")
    if type(replicas) is int and 0 < replicas <= 10_000:
        for number in range(replicas):
            facts.broker(number)


def _pool(facts: Facts, source: Source, spec: Mapping[str, Any], status: Mapping[str, Any]) -> None:
    """A pool's nodes: brokers only where it has that role."""
    if "broker" not in (spec.get("roles") or status.get("roles") or ()):
        return
    numbers = status.get("nodeIds")
    if numbers is None:
        facts.left_out.append("a node pool without status.nodeIds: which brokers it has is unknown")
        return
    if not isinstance(numbers, list):
        source.refuse("KafkaNodePool.status.nodeIds", numbers, "a list of ids")
    for number in numbers:
        if type(number) is not int or not 0 <= number < 2**31:
            source.refuse("KafkaNodePool.status.nodeIds", number, "the id of a broker")
        facts.broker(number)


def _topic(
    facts: Facts, source: Source, metadata: Mapping[str, Any], spec: Mapping[str, Any]
) -> None:
    """A topic's settings; its partitions are only counted."""
    name = topic_name(source, "KafkaTopic", str(spec.get("topicName") or metadata.get("name")))
    topic = facts.topic(name)
    for key, value in _mapping(source, "KafkaTopic.spec.config", spec.get("config")).items():
        if of_a_topic(str(key)):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            topic.settings[str(key)] = text
