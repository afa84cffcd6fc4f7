"""Which kind of source a file is: told by its content, never by its name.

Formats that people have beside those that are read are told by name, with what to give instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from isr_pipeline.base.errors import InputError
from isr_pipeline.clusters import (
    configs_text,
    cruise_control,
    features_text,
    log_dirs_text,
    metadata_dump,
    metadata_files,
    properties,
    strimzi,
    topics_text,
)
from isr_pipeline.clusters.facts import Facts, Source
from isr_pipeline.clusters.folder import not_used
from isr_pipeline.clusters.metadata import Section, facts_of_metadata
from isr_pipeline.clusters.plain_text import plain

BYTES_MAX = 512 * 2**20
"""Of one source: a metadata log is kept to 100 MiB by default."""
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class Format:
    """A kind of source.

    Attributes:
        kind: in words.
        recognises: whether a text is of this kind.
        read: what it says; pieces of a metadata log are put together afterwards.
    """

    kind: str
    recognises: Callable[[str], bool]
    read: Callable[[Source], Facts | list[Section]]


TEXTS: tuple[Format, ...] = tuple(
    Format(module.KIND, module.recognises, module.read)
    for module in (
        metadata_dump,
        topics_text,
        configs_text,
        log_dirs_text,
        features_text,
        strimzi,
        cruise_control,
    )
)
"""Kinds of text that nothing else looks like, in the order in which they are tried."""


class NotKnown(InputError):
    """A file of no kind that is read: listed where only its folder was given."""


def read_source(path: Path, name: str, folder: str = "") -> Source:
    """Read a source's content.

    Args:
        path: a file.
        name: how error lines and ``values_from`` call it.
        folder: that was given instead of it, if any.

    Raises:
        InputError: no file, or a file that is too large.
    """
    return Source(name, _content(path, name), folder)


def facts_of(sources: Iterable[Source]) -> list[Facts]:
    """Say what each source says; all pieces of a metadata log together.

    Raises:
        InputError: a source of no known kind, unless it is one of a folder; one that cannot be
            used; a folder that has nothing of a known kind.
    """
    found: list[Facts] = []
    sections: list[Section] = []
    skipped: list[str] = []
    others: dict[str, list[str]] = {}
    for source in sources:
        try:
            one = _read(source)
        except NotKnown:
            if not source.folder:
                raise
            others.setdefault(source.folder, []).append(source.name)
            continue
        if isinstance(one, Facts):
            one.left_out += source.told()
            found.append(one)
        else:
            sections += one
            skipped += source.told()
    if sections:
        of_log = facts_of_metadata(sections)
        of_log.left_out += skipped
        found.insert(0, of_log)
    for folder, names in others.items():
        if not found:
            raise NotKnown(folder, "", f"{len(names)} files of no known kind", kinds())
        found[0].left_out += not_used(folder, names)
    return found


def _read(source: Source) -> Facts | list[Section]:
    if not source.content.strip():
        raise NotKnown(source.name, "", "empty", kinds())
    if metadata_files.recognises(source.content):
        return metadata_files.read(source)
    if source.content.startswith(_GZIP):
        raise NotKnown(source.name, "", "a gzip file", "the same file unpacked")
    source = plain(source)
    text = source.content.decode("utf-8", "replace")
    found = next((one for one in TEXTS if one.recognises(text)), None)
    if found is not None:
        return found.read(source)
    other = not_read(text)
    if other is not None:
        line, name, instead = other
        given = f"{name}: none of the known sources"
        raise NotKnown(source.name, f"line {line}", given, instead)
    if not properties.recognises(text):
        raise NotKnown(source.name, "", "none of the known sources", kinds())
    return properties.read(source)


def kinds() -> str:
    """Name every kind of source."""
    return ", ".join([*(one.kind for one in TEXTS), properties.KIND, metadata_files.KIND])


def _content(path: Path, name: str) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(name, "", reason, "a file") from None
    if len(content) > BYTES_MAX:
        raise InputError(name, "", f"more than {BYTES_MAX} bytes", "a smaller file")
    return content


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
    (
        r"^\S+:\d+ \(id: -?\d+ rack: .*\) -> ",
        "kafka-broker-api-versions.sh",
        f"{_BROKERS}, which has racks",
    ),
    (
        r"^(?:LeaderEpoch|HighWatermark|CurrentVoters):\s|^(?:NodeId|ReplicaId)\s.*\bLogEndOffset\b",
        "kafka-metadata-quorum.sh describe",
        f"{_BROKERS}, which has who controls, and --bootstrap-controller for controllers",
    ),
    (
        r"^Status of partition reassignment:|^Reassignment of (?:partition|replica) \S+ ",
        "kafka-reassign-partitions.sh --verify",
        _TOPICS,
    ),
    (
        r"^metadata\.version=\d+ \(",
        "kafka-features.sh version-mapping, which is a release's",
        "kafka-features.sh describe",
    ),
    (
        r"^(?:resource(?! \"aws_msk_configuration\")|data|variable|module|provider|output) \".*\{",
        "Terraform",
        f"{_TOPICS}, and the server.properties within it as a file of its own",
    ),
    (
        r"\A(?:[^\S\n]*(?:#.*)?\n)*\w+ *= *[\"\[{].*",
        "Terraform's variables",
        f"the broker's server.properties, or {_BROKERS}",
    ),
    (
        r"^# (?:HELP|TYPE) [a-zA-Z_:]|^(?:[a-zA-Z_:][\w:]*\{\w+=\".*\"\}|kafka_\w+) [-+\dN]",
        "metrics as Prometheus reads them",
        _TOPICS,
    ),
    (
        r"^[^\S\n]*Partition:\s*\d+\s+Leader:",
        "partitions of kafka-topics.sh without their topic",
        _TOPICS,
    ),
    (r"^topic: \S+\s+partition: ", "kafka-list-topic.sh of 0.8.0", f"{_TOPICS} of 0.8.1 or later"),
    (r"^akhq:", "AKHQ's configuration", _BOTH),
    (
        r'"(?:Monitor|Executor|Analyzer)State"\s*:|^(?:Monitor|Executor|Analyzer)State: \{',
        "Cruise Control's state",
        "its kafka_cluster_state?verbose=true&json=true",
    ),
    (r'"progress"\s*:\s*\[', "Cruise Control at work", "the same request again, later"),
    (
        r"\bLEADER\(S\)|\b[A-Z_]+\(MB\)|^[^\S\n]*TOPIC\s+PARTITION\s+LEADER\s+REPLICAS\b",
        "Cruise Control's text",
        "the same with json=true",
    ),
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
