"""A cluster file: a cluster as an operator knows it, broker by broker and partition by partition.

Its fields are those that ``isr-pipeline cluster show --json`` prints, so that what is shown is a
cluster file as well. A scenario names one (``cluster: {file: FILE}``), an experiment likewise; what
comes out are the parts of a scenario (:func:`scenario_parts`).

What the simulated world has no place for is said (:func:`not_simulated`), never dropped in silence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import (
    BOOLEAN,
    LIST,
    MAPPING,
    Bad,
    Check,
    list_of,
    one_of,
    text,
    whole,
)
from isr_pipeline.base.files.lines import with_lines
from isr_pipeline.base.files.models import Strict, validated
from isr_pipeline.base.files.reading import read_mapping
from isr_pipeline.base.files.words import counted, shown
from isr_pipeline.kafka.broker_config import (
    INT_MAX,
    KEYS,
    UNREAD,
    ConfigKeyError,
    perhaps_seconds,
)
from isr_pipeline.kafka.known_keys import mistyped
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.release_numbers import NUMBERS, told_defects
from isr_pipeline.kafka.releases import CONTROLLERS
from isr_pipeline.scenarios.faults import COUNT, RACK, RATE, Count, or_null
from isr_pipeline.scenarios.faults import Topic as TopicName
from isr_pipeline.scenarios.hardware import Hardware, amiss
from isr_pipeline.scenarios.incidents import Counts
from isr_pipeline.scenarios.model import (
    LOG_DIR,
    TOPIC_KEYS,
    HourlyLoad,
    KafkaValue,
    own_service,
)
from isr_pipeline.scenarios.racks import RackRoundTrip
from isr_pipeline.scenarios.rule_set_files import (
    RELEASE,
    release_named,
    release_names,
)

BYTES_MAX = 64 * 2**20
"""Of a cluster file: 100 brokers with 20 000 partitions of five replicas are four MB."""
NODES_MAX = 2_000_000

NO_LEADER = -1

SIMULATED_DIRS = 8
"""Log dirs of a broker that the simulated world tells apart."""

OF_A_NIGHT = ("description", "hourly_load", "incidents", "assumed_records_per_s")
"""Parts that no scenario has."""

RATES = "topics.*.partitions.records_per_s"
"""What an import assumes of partitions whose rate no source tells."""

ELR = "eligible.leader.replicas.version"
METADATA_VERSION = "metadata.version"
SHRINKS_BUMP_BEFORE = 12
"""The metadata.version, 3.6-IV0, from which on a shrink of the ISR begins no leader epoch."""
BROKER_ID = whole(0, INT_MAX, "the id of a broker (0..2147483647)")
LEADER = whole(NO_LEADER, INT_MAX, "the id of a replica's broker, or -1 (none)")
PARTITION_ID = whole(0, INT_MAX, "the number of a partition")
KEY = text(r"[a-z][a-zA-Z0-9._-]{0,199}", "one of Kafka's keys")
_WORDS = text(r"[^\x00-\x08]{0,2000}", "a text of at most 2000 characters")
Words = Annotated[str, _WORDS]


def read_setting(name: str, raw: Any) -> KafkaValue:
    """Read the value of a Kafka key: strictly where the simulator knows it, else as it stands.

    Raises:
        Bad: a value that the key cannot have.
    """
    key = KEYS.get(name)
    if key is not None:
        try:
            return key.check(raw)
        except ConfigKeyError as error:
            raise Bad(error.allowed, (name,), shown(raw)) from None
    if isinstance(raw, (bool, int, float, str)) and len(str(raw)) <= 2000:
        return raw
    raise Bad("a number, a text, true or false", (name,), shown(raw))


def _settings(value: Any) -> dict[str, KafkaValue]:
    if not isinstance(value, Mapping):
        raise Bad("a mapping of Kafka keys")
    found: dict[str, KafkaValue] = {}
    for name, raw in value.items():
        try:
            KEY.read(name)
        except Bad as bad:
            raise Bad(bad.allowed, (str(name),), "unknown key") from None
        found[name] = read_setting(name, raw)
    return found


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Bad("a mapping")
    return dict(value)


def _placed(value: Any) -> tuple[str | None, ...]:
    """Log dirs of the replicas; null where nobody knows."""
    if not isinstance(value, (list, tuple)):
        raise Bad("")
    return tuple(None if one is None else LOG_DIR.read(one) for one in value)


def _count_or_list(value: Any) -> Any:
    """A number of partitions, or the partitions themselves."""
    if isinstance(value, (list, tuple)):
        return tuple(
            one if isinstance(one, PartitionEntry) else _partition(i, one)
            for i, one in enumerate(value)
        )
    return _COUNT.read(value)


_COUNT = whole(1, 100_000, "a whole number 1..100000, or a list of partitions")
_PLACED = Check("a list of log dirs, one a replica", _placed, LIST)
_REPLICAS = list_of(BROKER_ID, "a list of brokers, the preferred leader first")
Settings = Annotated[dict[str, KafkaValue], Check("a mapping of Kafka keys", _settings, MAPPING)]
Plain = Annotated[dict[str, Any], Check("a mapping", _mapping, MAPPING)]


class PartitionEntry(Strict):
    """A partition as it stands."""

    id: Annotated[int, PARTITION_ID] = Field(description="Its number.")
    replicas: Annotated[tuple[int, ...], _REPLICAS] = Field(
        description="Ids of its brokers, the preferred leader first."
    )
    leader: Annotated[int | None, or_null(LEADER)] = Field(
        default=None, description="Who leads; -1 is nobody. Absent: the first replica."
    )
    isr: Annotated[tuple[int, ...] | None, or_null(list_of(BROKER_ID, empty=True))] = Field(
        default=None, description="Who is in sync. Absent: all replicas."
    )
    log_dirs: Annotated[tuple[str | None, ...] | None, or_null(_PLACED)] = Field(
        default=None,
        description="Log dir of each replica, in their order; null where nobody knows. Absent: "
        "the broker's only one, or round robin.",
    )
    records_per_s: Annotated[float | None, or_null(RATE)] = Field(
        default=None,
        description="Records a second of all the topic's streams together. Absent: the streams' "
        "own.",
    )


def _partition(i: int, value: Any) -> PartitionEntry:
    try:
        return PartitionEntry.model_validate(value)
    except ValidationError:
        pass
    try:
        return validated(PartitionEntry, value, "")
    except InputError as error:
        at = (i, error.field) if error.field else (i,)
        raise Bad(error.allowed, at, str(error.given)) from None


class StreamEntry(Strict):
    """How a topic is produced to: one connection a partition."""

    acks: Annotated[Literal[1, "all"], one_of(1, "all")] = Field(
        default="all", description="What the producer waits for."
    )
    records_per_batch: Count = Field(default=1, description="Records of one produce request.")
    record_bytes: Count = Field(default=500, description="Size of a record.")
    records_per_s: Annotated[float, RATE] = Field(
        default=0, description="Records a second of each partition that says none of its own."
    )


class TopicEntry(Strict):
    """A topic."""

    name: TopicName = Field(description="As Kafka allows it; each once.")
    settings: Settings = Field(default={}, description="What it sets for itself, by Kafka's keys.")
    produce: tuple[StreamEntry, ...] = Field(
        default=(), description="Its load, a list of streams; empty: idle."
    )
    partitions: Annotated[
        tuple[PartitionEntry, ...] | int,
        Check(
            "a whole number 1..100000, or a list of partitions",
            _count_or_list,
            {"type": ["integer", "array"]},
        ),
    ] = Field(
        description="Each as it stands; or how many there are, with `replication_factor`: "
        "partition p lies on brokers[(p + i) mod n]."
    )
    replication_factor: Annotated[int | None, or_null(COUNT)] = Field(
        default=None, description="Replicas of each partition, where `partitions` is a number."
    )


class BrokerEntry(Strict):
    """A broker."""

    id: Annotated[int, BROKER_ID] = Field(description="Its id, each once.")
    rack: Annotated[str | None, or_null(RACK)] = Field(
        default=None, description="Its rack; null: none, or unknown."
    )
    log_dirs: Annotated[tuple[str, ...], list_of(LOG_DIR, empty=True)] = Field(
        default=(), description="Its log dirs by their names; empty: one, unknown."
    )
    settings: Settings = Field(
        default={},
        description="Kafka's keys that it has of its own; what a configuration says of all brokers"
        " leaves them alone, as in Kafka.",
    )
    service: Annotated[
        dict[str, float], Check("a mapping of service times", own_service, MAPPING)
    ] = Field(default={}, description="Service times of its own machine.")
    hardware: Hardware = Field(
        default=Hardware(), description="What its own machine has else than the others'."
    )


class Assumed(Strict):
    """What nobody gave."""

    what: Words = Field(description="Which value.")
    value: Any = Field(description="What was assumed.")
    why: Words = Field(description="Why so.")


Texts = Annotated[
    tuple[Any, ...],
    Check("a list", lambda v: tuple(v) if isinstance(v, (list, tuple)) else _no(), LIST),
]


def _no() -> Any:
    raise Bad("a list")


def _release(value: Any) -> str:
    try:
        RELEASE.read(release_named(value, Path()))
    except Bad:
        raise Bad(f"{NUMBERS}, {', '.join(release_names())}") from None
    return str(value)


class ClusterFile(Strict):
    """The file as it is written."""

    description: Words = Field(default="", description="Whose cluster it is, in a sentence.")
    release: Annotated[str, Check(NUMBERS, _release)] = Field(
        description="Kafka's number (`3.9.1`, `0.10.2.2`) stands for the rule set of that very "
        "release; a rule set's name (`3.7-3.9`) or a [file of your own](own-proposal.md) works too."
    )
    controller: Annotated[str, one_of(*CONTROLLERS)] = Field(
        description="Who elects leaders and keeps the committed ISR."
    )
    features: Plain = Field(
        default={},
        description="Finalized features and their levels. `eligible.leader.replicas.version` is "
        "simulated; with `metadata.version` below 12 (3.6-IV0) a shrink of the ISR begins a "
        "leader epoch.",
    )
    settings: Settings = Field(
        default={}, description="Kafka's keys of every broker that says nothing else."
    )
    service: Plain = Field(
        default={}, description="Service times of a healthy broker, as in a scenario."
    )
    hardware: Hardware = Field(
        default=Hardware(),
        description="How fast every broker's machine is; what is absent has no limit.",
    )
    rules: Plain = Field(default={}, description="Switches of the rules, as in a scenario.")
    replication_listener: Annotated[bool, BOOLEAN] = Field(
        default=False,
        description="Followers fetch over a listener of their own, as in a scenario.",
    )
    rack_rtt_ms: tuple[RackRoundTrip, ...] = Field(
        default=(),
        description="Round trips between racks; other pairs take `service.network_rtt_ms`.",
    )
    hourly_load: HourlyLoad = Field(
        default=(),
        description="24 factors, of the hours from 0 to 23: a night's scenarios draw their hour,"
        " and all produce rates are multiplied by its factor. Empty: rates are always the same.",
    )
    incidents: Counts = Field(
        default={},
        description="Kind of incident -> how many a year were counted in the whole cluster, "
        "instead of the [fault profile](fault-profile.md#incidents)'s estimate; kinds that are not "
        "here keep it.",
    )
    brokers: tuple[BrokerEntry, ...] = Field(description="At least one.")
    topics: tuple[TopicEntry, ...] = Field(description="At least one.")
    values_from: Plain = Field(
        default={}, description="What -> the source that an import has it from; not simulated."
    )
    assumed: tuple[Assumed, ...] = Field(
        default=(), description="What nobody gave to an import; not simulated."
    )
    conflicts: Texts = Field(
        default=(), description="Where the sources of an import disagree; not simulated."
    )
    left_out: Texts = Field(
        default=(), description="What an import read and the file does not have; not simulated."
    )


# ---------------------------------------------------------------------------- reading


def read_cluster(path: Path, where: str) -> dict[str, Any]:
    """Read a cluster file as the parts of a scenario.

    Args:
        path: the file.
        where: how error lines call it.

    Returns:
        ``description``, ``cluster``, ``topics``, ``config``, ``rules``, ``service``,
        and ``hourly_load`` and ``incidents`` if the file has them.

    Raises:
        InputError: the first thing in it that cannot be used.
    """
    return scenario_parts(load_cluster_file(path, where), path.parent)


@with_lines()
def load_cluster_file(path: Path, where: str) -> ClusterFile:
    """Read a cluster file, broker by broker and partition by partition.

    Raises:
        InputError: the first thing in it that cannot be used.
    """
    try:
        raw = read_mapping(path, bytes_max=BYTES_MAX, nodes_max=NODES_MAX)
    except InputError as error:
        raise InputError(where, error.field, error.given, error.allowed) from None
    if "cluster" in raw:
        allowed = "release, controller, brokers and topics: docs/cluster-file.md"
        raise InputError(where, "cluster", "the words of a scenario", allowed)
    return checked_cluster(raw, where)


# ---------------------------------------------------------------------------- cross-checks


def checked_cluster(raw: Mapping[str, Any], where: str) -> ClusterFile:
    """Check a cluster file that was read, and write every partition out.

    Args:
        raw: its fields.
        where: named in errors.

    Raises:
        InputError: the first finding, in the order of the file.
    """
    file = validated(ClusterFile, raw, where)
    if not file.brokers:
        raise InputError(where, "brokers", "[]", "a list of at least one broker")
    if not file.topics:
        raise InputError(where, "topics", "[]", "a list of at least one topic")
    seen: set[int] = set()
    for i, broker in enumerate(file.brokers):
        if broker.id in seen:
            raise InputError(where, f"brokers[{i}].id", str(broker.id), "each broker once")
        seen.add(broker.id)
    known = {broker.id: broker for broker in file.brokers}
    check_hardware(file.hardware, dict(enumerate(one.hardware for one in file.brokers)), where)
    names: set[str] = set()
    topics = []
    for i, topic in enumerate(file.topics):
        if topic.name in names:
            raise InputError(where, f"topics[{i}].name", shown(topic.name), "each topic once")
        names.add(topic.name)
        written_out = _written_out(topic, tuple(known), where, f"topics[{i}]")
        _check_partitions(written_out, known, where, i)
        whole = tuple(_whole(one, known) for one in partitions_of(written_out))
        topics.append(written_out.model_copy(update={"partitions": whole}))
    return file.model_copy(update={"topics": tuple(topics)})


def check_hardware(of_all: Hardware, own: Mapping[int, Hardware], where: str) -> None:
    """Refuse what contradicts itself in what is said of the brokers' machines.

    Args:
        of_all: every broker's.
        own: position of a broker in the file -> what its own has else.
        where: named in errors.

    Raises:
        InputError: the first finding.
    """
    for i, wrong in amiss(of_all, own):
        place = "hardware" if i is None else f"brokers[{i}].hardware"
        raise InputError(where, f"{place}.{wrong.field}", wrong.given, wrong.allowed)


def _written_out(topic: TopicEntry, brokers: tuple[int, ...], where: str, at: str) -> TopicEntry:
    """Give every partition of a topic of which the file says only how many."""
    if not isinstance(topic.partitions, int):
        if topic.replication_factor is not None:
            allowed = "nothing: the partitions name their replicas"
            raise InputError(where, f"{at}.replication_factor", topic.replication_factor, allowed)
        if not topic.partitions:
            raise InputError(where, f"{at}.partitions", "[]", "a list of at least one partition")
        return topic
    factor = topic.replication_factor
    if factor is None or factor > len(brokers):
        given = "missing" if factor is None else str(factor)
        allowed = f"a whole number 1..{len(brokers)} (the brokers)"
        raise InputError(where, f"{at}.replication_factor", given, allowed)
    n = len(brokers)
    partitions = tuple(
        PartitionEntry(id=p, replicas=tuple(brokers[(p + i) % n] for i in range(factor)))
        for p in range(topic.partitions)
    )
    return topic.model_copy(update={"partitions": partitions, "replication_factor": None})


def _whole(partition: PartitionEntry, brokers: Mapping[int, BrokerEntry]) -> PartitionEntry:
    """Say what follows from the rest: the first leads, all are in sync, the only log dir."""
    changed: dict[str, Any] = {}
    if partition.leader is None:
        changed["leader"] = partition.replicas[0]
    if partition.isr is None:
        changed["isr"] = partition.replicas
    if partition.log_dirs is None:
        only = tuple(brokers[broker].log_dirs for broker in partition.replicas)
        if all(len(dirs) == 1 for dirs in only):
            changed["log_dirs"] = tuple(dirs[0] for dirs in only)
    return partition.model_copy(update=changed) if changed else partition


def partitions_of(topic: TopicEntry) -> tuple[PartitionEntry, ...]:
    """Give a topic's partitions, which are written out once the file is checked."""
    assert not isinstance(topic.partitions, int), "a checked file has its partitions"
    return topic.partitions


def _check_partitions(
    topic: TopicEntry, brokers: Mapping[int, BrokerEntry], where: str, i: int
) -> None:
    numbers: set[int] = set()

    def refuse(j: int, field: str, given: object, allowed: str) -> None:
        raise InputError(where, f"topics[{i}].partitions[{j}].{field}", shown(given), allowed)

    for j, partition in enumerate(partitions_of(topic)):
        if partition.id in numbers:
            refuse(j, "id", partition.id, "each partition once")
        numbers.add(partition.id)
        for broker in partition.replicas:
            if broker not in brokers:
                refuse(j, "replicas", broker, _some(brokers))
        replicas = _some(partition.replicas) + " (its replicas)"
        if partition.leader not in (None, NO_LEADER, *partition.replicas):
            refuse(j, "leader", partition.leader, replicas)
        for broker in partition.isr or ():
            if broker not in partition.replicas:
                refuse(j, "isr", broker, replicas)
        dirs = partition.log_dirs
        if dirs is None:
            continue
        if len(dirs) != len(partition.replicas):
            refuse(j, "log_dirs", list(dirs), f"{len(partition.replicas)} of them, one a replica")
        for broker, one in zip(partition.replicas, dirs, strict=True):
            has = brokers[broker].log_dirs
            if one is not None and one not in has:
                refuse(j, "log_dirs", one, f"{_some(has) or 'none'} (log dirs of broker {broker})")


def _some(values: Any) -> str:
    """List some values for an error line."""
    names = [str(value) for value in values]
    return ", ".join(names if len(names) <= 20 else [*names[:8], "...", *names[-2:]])


# ---------------------------------------------------------------------------- a scenario's parts


def scenario_parts(file: ClusterFile, folder: Path) -> dict[str, Any]:
    """Give a checked cluster file as the parts of a scenario.

    Args:
        file: as :func:`load_cluster_file` gives it.
        folder: where relative paths of rule sets begin.
    """
    dirs = {broker.id: broker.log_dirs[:SIMULATED_DIRS] for broker in file.brokers}
    release = release_named(file.release, folder)
    return {
        "description": file.description,
        "cluster": {
            "release": release,
            "controller": file.controller,
            "brokers": [broker.id for broker in file.brokers],
            "log_dirs": {str(b): list(names) for b, names in dirs.items() if names},
            "racks": {str(b.id): b.rack for b in file.brokers if b.rack is not None},
            "rack_rtt_ms": [
                {"between": list(pair.between), "rtt_ms": pair.rtt_ms} for pair in file.rack_rtt_ms
            ],
            **({"replication_listener": True} if file.replication_listener else {}),
            "broker_settings": {
                str(broker.id): own for broker in file.brokers if (own := _own_settings(broker))
            },
            "broker_service": {
                str(broker.id): dict(broker.service) for broker in file.brokers if broker.service
            },
            **({"hardware": file.hardware.known} if file.hardware.known else {}),
            **({"broker_hardware": own} if (own := _own_hardware(file)) else {}),
        },
        "topics": [_topic_parts(topic, file, release) for topic in file.topics],
        "config": _simulated_config(file),
        "rules": _rules(file),
        "service": dict(file.service),
        **({"hourly_load": list(file.hourly_load)} if file.hourly_load else {}),
        **({"incidents": dict(file.incidents)} if file.incidents else {}),
        **({"assumed_records_per_s": rates[0]} if (rates := _assumed_rates(file)) else {}),
    }


def _own_hardware(file: ClusterFile) -> dict[str, dict[str, int]]:
    return {str(one.id): known for one in file.brokers if (known := one.hardware.known)}


def _assumed_rates(file: ClusterFile) -> list[Any]:
    """What an import assumed and nobody has replaced by rates since."""
    assumed = [one.value for one in file.assumed if one.what == RATES]
    return [
        rate
        for rate in assumed
        if any(
            _rate_of(one, topic) == rate for topic in file.topics for one in partitions_of(topic)
        )
    ]


def of_a_scenario(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what only a night's scenarios have of a cluster.

    A single one has the rates that are written, and happens once.

    Args:
        parts: as :func:`scenario_parts` or :func:`read_cluster` gives them.
    """
    return {name: part for name, part in parts.items() if name not in OF_A_NIGHT}


def _own_settings(broker: BrokerEntry) -> dict[str, Any]:
    """What a broker has of its own and reads for itself."""
    return {
        name: value
        for name, value in broker.settings.items()
        if name in KEYS and not KEYS[name].shared
    }


def _rules(file: ClusterFile) -> dict[str, Any]:
    """The switches, with what follows from the level at which the cluster's metadata are written.

    A newer release held back at an older level keeps that level's way (MetadataVersion.java @ 3.6).
    """
    rules = dict(file.rules)
    level = file.features.get(METADATA_VERSION)
    if file.controller == "kraft" and type(level) is int and level < SHRINKS_BUMP_BEFORE:
        rules.setdefault("shrink_bumps_leader_epoch", True)
    return rules


def _simulated_config(file: ClusterFile) -> dict[str, Any]:
    """The cluster's settings that the simulator knows, and the feature that it reads."""
    config: dict[str, Any] = {name: value for name, value in file.settings.items() if name in KEYS}
    level = file.features.get(ELR)
    if ELR not in config and isinstance(level, int):
        config[ELR] = min(int(level), 1)
    return config


def _topic_parts(topic: TopicEntry, file: ClusterFile, release: str) -> dict[str, Any]:
    partitions = partitions_of(topic)
    parts: dict[str, Any] = {
        "name": topic.name,
        "assignment": {str(p.id): list(p.replicas) for p in partitions},
        "produce": _streams(topic),
    }
    own = {key: topic.settings[key] for key in TOPIC_KEYS if key in topic.settings}
    if own:
        parts["settings"] = own
    leaders = {
        str(p.id): leader for p in partitions if (leader := first_leader(p)) != p.replicas[0]
    }
    if leaders:
        parts["leaders"] = leaders
    if behind := _behind(topic, file, release):
        parts["behind"] = behind
    names = {broker.id: broker.log_dirs for broker in file.brokers}
    dirs = {
        str(p.id): [
            names[broker].index(one) % SIMULATED_DIRS
            for broker, one in zip(p.replicas, p.log_dirs, strict=True)
            if one is not None
        ]
        for p in partitions
        if p.log_dirs is not None and None not in p.log_dirs
    }
    if dirs:
        parts["log_dirs"] = dirs
    return parts


def first_leader(partition: PartitionEntry) -> int:
    """Who leads at the beginning: who leads it, else the first replica in the ISR, or at all."""
    leader = partition.leader
    if leader is not None and leader != NO_LEADER:
        return leader
    in_sync = (one for one in partition.replicas if one in _isr_of(partition))
    return next(in_sync, partition.replicas[0])


def _isr_of(partition: PartitionEntry) -> tuple[int, ...]:
    """Who is in sync: all replicas if the file does not say."""
    return partition.replicas if partition.isr is None else partition.isr


def _outside(partition: PartitionEntry) -> list[int]:
    """Replicas that begin outside the ISR: nobody where the leader is none of its members."""
    isr = _isr_of(partition)
    if first_leader(partition) not in isr:
        return []
    return [broker for broker in partition.replicas if broker not in isr]


def _behind(topic: TopicEntry, file: ClusterFile, release: str) -> dict[str, dict[str, int]]:
    """Of the replicas outside an ISR, how many records each is behind.

    Nobody says it. A leader removes a follower that has not caught up for its
    replica.lag.time.max.ms: what is produced in that time is the least that takes one out.
    """
    found = {}
    for partition in partitions_of(topic):
        if outside := _outside(partition):
            lag_ms = _lag_limit_ms(first_leader(partition), file, release)
            records = math.ceil(_rate_of(partition, topic) * lag_ms / 1000)
            found[str(partition.id)] = {str(broker): records for broker in outside}
    return found


def _lag_limit_ms(broker: int, file: ClusterFile, release: str) -> int:
    """replica.lag.time.max.ms of a broker."""
    own = next(one for one in file.brokers if one.id == broker)
    given = {**_simulated_config(file), **_own_settings(own)}
    key = KEYS["replica.lag.time.max.ms"]
    return int(given.get(key.name, key.default_in(rule_set_of(release))))


def _rate_of(partition: PartitionEntry, topic: TopicEntry) -> float:
    """Records a second of all streams of a partition together; a silent topic is idle."""
    if not topic.produce:
        return 0.0
    if partition.records_per_s is not None:
        return partition.records_per_s
    return sum(stream.records_per_s for stream in topic.produce)


def _streams(topic: TopicEntry) -> list[dict[str, Any]]:
    """The topic's streams; a partition's rate is that of all of them together."""
    rates = {p.id: p.records_per_s for p in partitions_of(topic) if p.records_per_s is not None}
    found = []
    for stream in topic.produce:
        each = {str(p): rate / len(topic.produce) for p, rate in rates.items()}
        found.append({**stream.model_dump(), **({"partition_rates": each} if each else {})})
    return found


# ---------------------------------------------------------------------------- what is not simulated


def not_simulated(file: ClusterFile) -> list[str]:
    """Say what of a checked cluster file the simulated world has no place for.

    Returns:
        One sentence each, the most important first.
    """
    return [sentence for sentence in _not_simulated(file) if sentence]


def _not_simulated(file: ClusterFile) -> Iterator[str]:
    partitions = [(t.name, p) for t in file.topics for p in partitions_of(t)]
    without = [f"{name}-{p.id}" for name, p in partitions if p.leader == NO_LEADER]
    if without:
        yield (
            f"{counted(len(without), 'partition')} without a leader ({_first(without)}): "
            "a scenario begins with the first replica in sync leading"
        )
    short = [f"{name}-{p.id}" for name, p in partitions if _outside(p)]
    if short:
        yield (
            f"how far the replicas outside the ISR of {counted(len(short), 'partition')} are "
            f"behind ({_first(short)}): by the records of one replica.lag.time.max.ms"
        )
    alone = [f"{name}-{p.id}" for name, p in partitions if first_leader(p) not in _isr_of(p)]
    if alone:
        yield (
            f"the ISR of {counted(len(alone), 'partition')} without its leader "
            f"({_first(alone)}): a scenario begins with every replica in sync"
        )
    for broker in file.brokers:
        for key in sorted(broker.settings):
            if key in KEYS and KEYS[key].shared:
                yield (
                    f"broker {broker.id}'s own {key}={shown(broker.settings[key])}: all brokers "
                    f"have the cluster's ({KEYS[key].shared})"
                )
        if len(broker.log_dirs) > SIMULATED_DIRS:
            yield (
                f"broker {broker.id}: {len(broker.log_dirs)} log dirs share {SIMULATED_DIRS}, "
                "as many as the simulated world tells apart"
            )
    silent = [t.name for t in file.topics if not t.produce and _has_rate(t)]
    if silent:
        yield f"rates of topics without produce ({_first(silent)}): they are idle"
    unread = sorted(key for key in file.settings if key not in KEYS or key in UNREAD)
    if unread:
        yield f"settings that no rule reads: {_first(unread, 12)}"
    release = release_named(file.release, Path())
    yield told_defects(release)
    rule_set = rule_set_of(release)
    yield from perhaps_seconds(rule_set, file.controller, file.settings)
    for broker in file.brokers:
        for sentence in perhaps_seconds(rule_set, file.controller, broker.settings):
            yield f"broker {broker.id}: {sentence}"
    of_topics = sorted({key for t in file.topics for key in t.settings if key not in TOPIC_KEYS})
    yield from map(mistyped, [*unread, *of_topics])
    if of_topics:
        yield f"settings of topics that no rule reads: {_first(of_topics, 12)}"
    unread_features = {k: v for k, v in file.features.items() if k not in (ELR, METADATA_VERSION)}
    features = sorted(f"{name} {level}" for name, level in unread_features.items())
    if features:
        yield f"features that no rule reads: {_first(features, 12)}"


def _has_rate(topic: TopicEntry) -> bool:
    return any(p.records_per_s for p in partitions_of(topic))


def _first(names: list[str], most: int = 3) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
