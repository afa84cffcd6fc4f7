"""Strimzi's resources, as ``kubectl get kafka,kafkanodepool,kafkatopic -o yaml`` prints them.

What a platform was told to make: the release, the brokers' configuration, racks by the name of the
nodes' label only, topics with their numbers. Who holds which partition is Kafka's to say, so a
source with assignments is needed beside them.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from isr_pipeline.base.files.words import counted
from isr_pipeline.clusters.facts import PLATFORM, Facts, Source, topic_name
from isr_pipeline.clusters.lines import yaml_text
from isr_pipeline.clusters.properties import started_with, topic_setting

KIND = "Strimzi resources"
_ALLOWED = "Strimzi's Kafka, KafkaNodePool and KafkaTopic, as YAML or JSON"
_TELLING = re.compile(r"apiVersion\"?\s*:\s*\"?(kafka|core)\.strimzi\.io/")
_KINDS = ("Kafka", "KafkaNodePool", "KafkaTopic")
_UNDER_ZOOKEEPER = ("ZooKeeper", "KRaftMigration")
"""States in which ZooKeeper's controller elects; from dual writing on KRaft's do (KIP-866)."""
_SETTLED = ("", "ZooKeeper", "KRaft")
"""States of a cluster that is not being migrated."""
_READ = {
    "Kafka": {"apiVersion", "kind", "metadata", "spec", "status"},
    "Kafka.spec": {"kafka", "zookeeper"},
    "Kafka.spec.kafka": {
        *("version", "metadataVersion", "config", "rack", "replicas", "resources", "jvmOptions"),
    },
    "KafkaNodePool": {"apiVersion", "kind", "metadata", "spec", "status"},
    "KafkaNodePool.spec": {"roles", "replicas", "resources", "jvmOptions"},
    "KafkaTopic": {"apiVersion", "kind", "metadata", "spec", "status"},
    "KafkaTopic.spec": {"topicName", "partitions", "replicas", "config"},
}
"""Keys that are used, or told in words of their own; all others are counted."""
_NODES_MAX = 2_000_000
_JAVAS = {"": 1} | {
    unit: 1024**i for i, pair in enumerate(("kK", "mM", "gG", "tT"), 1) for unit in pair
}
_KUBERNETES = {
    **{unit: 1000**i for i, unit in enumerate(("", "k", "M", "G", "T"))},
    **{unit: 1024**i for i, unit in enumerate(("Ki", "Mi", "Gi", "Ti"), 1)},
}
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
    every = list(_resources(source))
    found = [_resource(facts, source, one) for one in every if one.get("kind") in _KINDS]
    others = Counter(str(one.get("kind")) for one in every if one.get("kind") not in _KINDS)
    facts.left_out += [f"{counted(n, 'resource')} of kind {kind}" for kind, n in others.items()]
    ours = list(_of_one_cluster(facts, source, found))
    with_pools = any(one.kind == "KafkaNodePool" for one in ours)
    kafkas = (one.spec.get("kafka") for one in ours if one.kind == "Kafka")
    of_kafka = _mapping(source, "Kafka.spec.kafka", next(kafkas, None))
    for one in ours:
        why = one.not_applied
        if why and one.kind != "KafkaTopic":
            facts.left_out.append(
                f"{one.kind} {one.name} ({why}): brokers may run with other values"
            )
        if one.kind == "Kafka":
            _kafka(facts, source, one, with_pools=with_pools)
        elif one.kind == "KafkaNodePool":
            _pool(facts, source, one, of_kafka)
        else:
            _topic(facts, source, one)
    return facts


@dataclass(frozen=True, slots=True)
class _Resource:
    """A resource: its kind, and three parts of it."""

    kind: str
    metadata: Mapping[str, Any]
    spec: Mapping[str, Any]
    status: Mapping[str, Any]

    @property
    def name(self) -> str:
        """As Kubernetes knows it."""
        return str(self.metadata.get("name"))

    def noted(self, where: str, name: str) -> str:
        """One of its labels or annotations, as a text; empty if it has none."""
        noted = self.metadata.get(where)
        value = noted.get(name) if isinstance(noted, Mapping) else None
        return "" if value is None else str(value)

    def _says(self, annotation: str, value: str) -> bool:
        return self.noted("annotations", f"strimzi.io/{annotation}").lower() == value

    @property
    def not_applied(self) -> str:
        """Why the operator has not made what it asks for; empty if it has, or if nobody can tell.

        A resource out of a repository has no generation: the API server counts them.
        """
        if self.kind == "KafkaTopic" and self._says("managed", "false"):
            return "strimzi.io/managed: false"
        if self._says("pause-reconciliation", "true"):
            return "strimzi.io/pause-reconciliation: true"
        wanted, seen = self.metadata.get("generation"), self.status.get("observedGeneration")
        if wanted is not None and wanted != seen:
            return f"generation {wanted}, of which the operator saw {seen or 'none'}"
        refused = any(self.has_condition("Ready", value) for value in ("False", False))
        return "not ready" if refused or self.has_condition("NotReady") else ""

    def has_condition(self, name: str, value: object = None) -> bool:
        """Whether its status has a condition of a type, or of a reason; "True" unless told."""
        conditions = self.status.get("conditions")
        return any(
            isinstance(one, Mapping)
            and name in (one.get("type"), one.get("reason"))
            and one.get("status", "True") in (("True", True) if value is None else (value,))
            for one in (conditions if isinstance(conditions, list) else ())
        )

    @property
    def cluster(self) -> str:
        """The cluster that it belongs to; empty if it does not say."""
        return self.name if self.kind == "Kafka" else self.noted("labels", "strimzi.io/cluster")


def _resource(facts: Facts, source: Source, given: Mapping[str, Any]) -> _Resource:
    kind = str(given["kind"])
    parts = (
        _mapping(source, f"{kind}.{part}", given.get(part))
        for part in ("metadata", "spec", "status")
    )
    found = _Resource(kind, *parts)
    _count_others(facts, kind, given)
    _count_others(facts, f"{kind}.spec", found.spec)
    return found


def _count_others(facts: Facts, at: str, given: Mapping[str, Any]) -> None:
    facts.unread |= {f"{at}.{key}" for key in given if key not in _READ[at]}


def _of_one_cluster(
    facts: Facts, source: Source, found: Sequence[_Resource]
) -> Iterator[_Resource]:
    """The resources of the file's cluster; those of another one are left out.

    Raises:
        InputError: it has two Kafka resources, or none and resources of two clusters.
    """
    kafkas = [one.name for one in found if one.kind == "Kafka"]
    named = list(dict.fromkeys(kafkas or [one.cluster for one in found if one.cluster]))
    if len(named) > 1:
        source.refuse("", f"Kafka {', '.join(named)}", "resources of one cluster")
    for one in found:
        if named and one.cluster not in ("", named[0]):
            facts.left_out.append(f"{one.kind} {one.name}, which is of the cluster {one.cluster}")
        else:
            yield one


def _resources(source: Source) -> Iterator[Mapping[str, Any]]:
    """Every resource: of each document, and of lists in them."""
    text = yaml_text(source, source.text(_ALLOWED))
    if text.count("\n") + text.count(",") > _NODES_MAX:
        source.refuse("", "too many lines", f"at most {_NODES_MAX}")
    try:
        documents = _documents(text)
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


def _documents(text: str) -> list[Any]:
    if text.lstrip().startswith("{"):
        return [json.loads(text)]
    with warnings.catch_warnings():  # of an anchor that is used again, which YAML allows
        warnings.simplefilter("ignore")
        return list(YAML(typ="safe", pure=True).load_all(text))


def _mapping(source: Source, at: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        source.refuse(at, value, "a mapping")
    return value


def _kafka(facts: Facts, source: Source, resource: _Resource, *, with_pools: bool) -> None:
    spec = resource.spec
    kafka = _mapping(source, "Kafka.spec.kafka", spec.get("kafka"))
    wanted, runs = kafka.get("version"), resource.status.get("kafkaVersion")
    if wanted is not None or runs is not None:
        facts.release = str(runs if runs is not None else wanted)
    if wanted is not None and runs is not None and str(wanted) != str(runs):
        facts.left_out.append(f"Kafka {wanted}, which is to be installed; {runs} runs (status)")
    level = _LEVEL.match(str(kafka.get("metadataVersion", "")))
    if level:
        facts.release_hint = (level[1], "metadataVersion is set to it; the release may be newer")
        facts.protocol = level[1]
    _count_others(facts, "Kafka.spec.kafka", kafka)
    facts.controller = _controller(resource)
    facts.replication_listener = True  # the operator's own, on port 9091, which no client may use
    state = str(resource.status.get("kafkaMetadataState") or "")
    if state not in _SETTLED:
        facts.left_out.append(f"a migration to KRaft ({state}): here it stays {facts.controller}")
    for key, value in _mapping(source, "Kafka.spec.kafka.config", kafka.get("config")).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        started_with(facts, str(key), text)
    facts.hardware |= _cache(source, "Kafka.spec.kafka", kafka)
    if kafka.get("rack") is not None:
        label = _mapping(source, "Kafka.spec.kafka.rack", kafka["rack"]).get("topologyKey")
        facts.left_out.append(f"racks follow the nodes' label {label}, whose values are not here")
    replicas = kafka.get("replicas")
    if replicas is not None and (with_pools or _asks_for_pools(resource)):
        facts.left_out.append(
            f"Kafka.spec.kafka.replicas {replicas}, which the operator ignores beside node pools"
        )
    elif type(replicas) is int and 0 < replicas <= 10_000:
        for number in range(replicas):
            facts.broker(number)


def _asks_for_pools(resource: _Resource) -> bool:
    """Whether node pools make the brokers, though none may be in the file; under KRaft they do."""
    return (
        resource.noted("annotations", "strimzi.io/node-pools") == "enabled"
        or bool(resource.status.get("kafkaNodePools"))
        or resource.has_condition("UnusedReplicasConfiguration")
        or resource.spec.get("zookeeper") is None
    )


def _controller(resource: _Resource) -> str:
    """Who elects leaders: a cluster that is being migrated has both sections."""
    state = str(resource.status.get("kafkaMetadataState") or "")
    if state:
        return "zookeeper" if state in _UNDER_ZOOKEEPER else "kraft"
    if resource.noted("annotations", "strimzi.io/kraft") == "enabled":
        return "kraft"
    return "kraft" if resource.spec.get("zookeeper") is None else "zookeeper"


def _pool(facts: Facts, source: Source, resource: _Resource, of_kafka: Mapping[str, Any]) -> None:
    """A pool's nodes: brokers only where it has that role.

    What it does not say of its containers, the Kafka resource says.
    """
    spec = resource.spec
    roles = spec.get("roles") or resource.status.get("roles") or []
    if not isinstance(roles, list):
        source.refuse("KafkaNodePool.spec.roles", roles, "a list of roles")
    if "broker" not in roles:
        return
    numbers = resource.status.get("nodeIds")
    if numbers is None:
        facts.left_out.append("a node pool without status.nodeIds: which brokers it has is unknown")
        return
    if not isinstance(numbers, list):
        source.refuse("KafkaNodePool.status.nodeIds", numbers, "a list of ids")
    cache = _cache(source, "KafkaNodePool.spec", {**of_kafka, **spec})
    for number in numbers:
        if type(number) is not int or not 0 <= number < 2**31:
            source.refuse("KafkaNodePool.status.nodeIds", number, "the id of a broker")
        facts.broker(number).hardware |= cache


def _cache(source: Source, at: str, spec: Mapping[str, Any]) -> dict[str, int]:
    """What a container leaves to the page cache: its memory's limit less Java's heap.

    Without ``-Xmx`` the heap is half of the limit, 5 GiB at most (Strimzi's KafkaCluster.java).
    """
    resources = _mapping(source, f"{at}.resources", spec.get("resources"))
    limits = _mapping(source, f"{at}.resources.limits", resources.get("limits"))
    options = _mapping(source, f"{at}.jvmOptions", spec.get("jvmOptions"))
    limit = _memory(source, f"{at}.resources.limits.memory", limits.get("memory"))
    heap = _memory(source, f"{at}.jvmOptions.-Xmx", options.get("-Xmx"), _JAVAS)
    if limit is None:
        return {}
    cache = limit - (min(limit // 2, 5 * 1024**3) if heap is None else heap)
    return {"cache_bytes": cache} if cache > 0 else {}


def _memory(
    source: Source, at: str, value: Any, units: Mapping[str, int] = _KUBERNETES
) -> int | None:
    """An amount of memory in bytes, None if none is given."""
    if value is None:
        return None
    amount = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?)([A-Za-z]*)", str(value))
    if amount is None or amount[2] not in units:
        source.refuse(at, value, f"a number with one of {', '.join(filter(None, units))}, or none")
    return int(float(amount[1]) * units[amount[2]])


def _topic(facts: Facts, source: Source, resource: _Resource) -> None:
    """A topic's settings; its partitions are only counted."""
    spec = resource.spec
    name = topic_name(source, "KafkaTopic", str(spec.get("topicName") or resource.name))
    config = _mapping(source, "KafkaTopic.spec.config", spec.get("config"))
    if resource.not_applied:
        facts.left_out.append(
            f"KafkaTopic {resource.name} of topic {name}, with {counted(len(config), 'setting')}: "
            f"the operator does not apply it ({resource.not_applied})"
        )
        return
    topic = facts.topic(name)
    for key, value in config.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        topic_setting(facts, topic, str(key), text)
    for field in ("partitions", "replicas"):
        if type(spec.get(field)) is int:
            topic.wanted[field] = spec[field]
