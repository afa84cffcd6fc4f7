"""Formats that people have beside those that are read: told by name, with what to give instead."""

from __future__ import annotations

import re

_TOPICS = "kafka-topics.sh --describe"
_BROKERS = "kafka-configs.sh --describe --all --entity-type brokers --entity-name ID"
_BOTH = f"{_TOPICS}, and {_BROKERS}"

_FORMATS: tuple[tuple[str, str, str], ...] = (
    (r"^(?:[\w.-]+: +)?Metadata for .+ \(from broker", "kcat -L", _TOPICS),
    (r'"originating_broker"\s*:', "kcat -L -J", _TOPICS),
    (
        r'^Current partition replica assignment|"partitions"\s*:\s*\[\s*\{\s*"topic"',
        "an assignment of kafka-reassign-partitions.sh",
        _TOPICS,
    ),
    (
        r'"ServerProperties"\s*:',
        "an MSK configuration with its server.properties in base64",
        "the server.properties itself (--query ServerProperties --output text | base64 -d)",
    ),
    (r'"ClusterInfo(?:List)?"\s*:', "the AWS CLI's description of an MSK cluster", _TOPICS),
    (r"platform\.confluent\.io/", "a resource of Confluent for Kubernetes", _BOTH),
    (r"kafka\.banzaicloud\.io/", "a resource of Koperator", _BOTH),
    (
        r"^[^\S\n]*\"?kind\"?:\s*\"?ConfigMap\b",
        "a ConfigMap",
        "the server.properties (or server.config) in its data, as a file of its own",
    ),
    (
        r"^[^\S\n]*(?:- |export )?\"?KAFKA_[A-Z_]+\"?\s*[:=]",
        "an environment of containers (KAFKA_...)",
        _BOTH,
    ),
    (r"^resource \"kafka_\w+\"", "Terraform", _TOPICS),
    (r"^(?:# (?:HELP|TYPE) )?kafka_\w+[ {]", "metrics as Prometheus reads them", _TOPICS),
    (r"^topic: \S+\s+partition: ", "kafka-list-topic.sh of 0.8.0", f"{_TOPICS} of 0.8.1 or later"),
    (r"^akhq:", "AKHQ's configuration", _BOTH),
    (r'"progress"\s*:\s*\[', "Cruise Control at work", "the same request again, later"),
    (r"\bLEADER\(S\)|\b[A-Z_]+\(MB\)", "Cruise Control's text", "the same with json=true"),
    (
        r"^.{1,80}?\b(?:All|Dynamic|Default) configs? for .{1,300} are:$",
        "kafka-configs.sh --describe with something before each line",
        "its own lines",
    ),
    (
        r"^.{1,80}?\bTopic:\s?\S+\s+(?:TopicId:\s?\S*\s+)?PartitionCount:",
        "kafka-topics.sh --describe with something before each line",
        "its own lines",
    ),
    (r"\A\s*(?:\{|\[\s*[{\[\"\]])", "JSON of another program", _BOTH),
    (r"^---\s*$|^[\w.\"-]+:[^\S\n]*\n(?: +|- )\S", "YAML of another program", _BOTH),
)
"""What tells a format, what it is, and what to give instead; tried in this order."""


_KEY = re.compile(r"^[^\S\n]*([\w.-]+)\s*[=:]", re.MULTILINE)
_OF_META = frozenset({"version", "cluster.id", "broker.id", "node.id", "directory.id"})
_OF_A_BROKER = frozenset({"broker.id", "node.id", "process.roles", "log.dirs", "log.dir"})


def not_read(text: str) -> tuple[int, str, str] | None:
    """Tell a text that is read as nothing: its line, its format, and what to give instead."""
    for pattern, name, instead in _FORMATS:
        found = re.search(pattern, text, re.MULTILINE)
        if found:
            return text.count("\n", 0, found.start()) + 1, name, instead
    keys = set(_KEY.findall(text))
    if "version" in keys and keys <= _OF_META:
        return 1, "meta.properties, which has no settings", "the broker's server.properties"
    if "bootstrap.servers" in keys and not keys & _OF_A_BROKER:
        name = "properties of a client or of Kafka Connect"
        return 1, name, "a broker's server.properties"
    return None
