"""A scenario: a cluster, its load, its configuration and what happens to it.

The file format and its refusals, read into frozen models. Every randomness is spent before a
scenario exists: the kernel draws nothing. Times are milliseconds here, microseconds in the kernel.

A *configuration* is a mapping of overrides: a Kafka key (as it stands under ``config``) or a
dotted path into the scenario (``cluster.release``, ``rules.kip501``, ``service.send_us``).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, ValidationError

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.checks import (
    BOOLEAN,
    LIST,
    Bad,
    Check,
    list_of,
    map_of,
    number,
    one_of,
    text,
    whole,
)
from isr_pipeline.base.files.models import Strict, check_of, names_of, validated
from isr_pipeline.base.files.reading import parse_value
from isr_pipeline.base.files.words import close_or_all, dotted, listed, shown
from isr_pipeline.kafka.broker_config import (
    KEYS,
    LONG_MAX,
    ConfigKeyError,
    known,
    out_of_bounds,
    resolve,
)
from isr_pipeline.kafka.known_keys import unknown
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import (
    CONTROLLERS,
    ELECTION_ORDERS,
    FETCHERS,
    KIP501_VARIANTS,
    LOCKS,
    todays_names,
)
from isr_pipeline.scenarios.faults import (
    BROKER,
    COUNT,
    MS,
    PARTITION,
    RACK,
    ColdReader,
    Death,
    Fault,
    Ms,
    PartitionError,
    Rate,
    SlowDisk,
    Us,
    Window,
    us,
)
from isr_pipeline.scenarios.faults import (
    Topic as TopicName,
)
from isr_pipeline.scenarios.hardware import BY_BROKER, Hardware, amiss
from isr_pipeline.scenarios.racks import RackRoundTrip
from isr_pipeline.scenarios.rule_set_files import RELEASE
from isr_pipeline.scenarios.streams import ProduceStream

KafkaValue = int | float | bool | str

KEYS_COMMAND = "isr-pipeline keys"
"""Lists everything that a configuration may set."""

WARMUP_MS = 5000
"""Default warm-up; 0 where the horizon is no longer than that."""

ALTER_PARTITION_MS = {"kraft": 30, "zookeeper": 8}
"""Decision to the leader's commit: 25 of KRaft's 30 is controller.quorum.append.linger.ms."""


TOPIC_KEYS = (
    "min.insync.replicas",
    "unclean.leader.election.enable",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
)
"""Kafka keys that a topic may set for itself and that some rule reads."""

LOG_DIR = text(r"[^\x00-\x1f\x7f]{1,1000}", "the name of a log dir")


def _numbers(value: Any) -> tuple[int, ...]:
    if not isinstance(value, (list, tuple)) or not value:
        raise Bad("")
    each = whole(0, 999, "the number of a log dir, from 0")
    return tuple(each.read(one) for one in value)


_DIRS = Check("a list of numbers of log dirs", _numbers)
RECORDS_MAX = 10**9
_RECORDS = whole(0, RECORDS_MAX, "a whole number of records 0..1000000000")


def _topic_config(value: Any) -> dict[str, KafkaValue]:
    found = _config(value)
    for name in found:
        if name not in TOPIC_KEYS:
            raise Bad(", ".join(TOPIC_KEYS), (name,), "no key that a topic's partitions read")
    return found


OF_PARTITIONS = ("settings", "leaders", "log_dirs", "behind")
"""Fields of a topic that stay when its replicas are written as an assignment."""


class Topic(Strict):
    """A topic and its replicas.

    Attributes:
        name: as Kafka allows it.
        assignment: partition -> brokers, the first being the preferred leader. Written as such or
            as ``partitions`` and ``replication_factor``, which are null once expanded.
        produce: its load; empty: idle.
        settings: keys that the topic sets for itself: those of :data:`TOPIC_KEYS`.
        leaders: partition -> the broker that leads at the beginning, where it is not the first.
        log_dirs: partition -> number of the log dir on the broker of each replica; where it is
            not said, a broker's replicas lie in its log dirs round robin.
        behind: partition -> broker -> records, of the replicas that are outside the ISR at the
            beginning: how far each log ends before the leader's.
    """

    name: TopicName
    assignment: Annotated[
        dict[int, tuple[int, ...]],
        map_of(
            PARTITION,
            list_of(BROKER, "a list of brokers, the preferred leader first"),
            "a mapping of partition to its brokers",
        ),
    ] = Field(default={})
    partitions: Annotated[int | None, whole(1, 100_000, "a whole number 1..100000")] = None
    replication_factor: Annotated[int | None, COUNT] = None
    produce: tuple[ProduceStream, ...] = ()
    settings: Annotated[dict[str, KafkaValue], Check("a mapping of Kafka keys", _topic_config)] = (
        Field(default={})
    )
    leaders: Annotated[
        dict[int, int],
        map_of(PARTITION, BROKER, "a mapping of partition to its leader", empty=True),
    ] = Field(default={})
    log_dirs: Annotated[
        dict[int, tuple[int, ...]],
        map_of(PARTITION, _DIRS, "a mapping of partition to log dirs", empty=True),
    ] = Field(default={})
    behind: Annotated[
        dict[int, dict[int, int]],
        map_of(
            PARTITION,
            map_of(BROKER, _RECORDS, "a mapping of broker to the records that it is behind"),
            "a mapping of partition to the replicas outside its ISR",
            empty=True,
        ),
    ] = Field(
        default={},
        description="Partition -> broker -> records: the replicas outside the ISR at the"
        " beginning, and how many records each is behind its leader.",
    )


def _own_settings(value: Any) -> dict[str, KafkaValue]:
    """Settings of a single broker: keys that each broker reads for itself."""
    found = _config(value)
    for name, own in found.items():
        if KEYS[name].shared:
            allowed = f"nothing: all brokers have one value, under config ({KEYS[name].shared})"
            raise Bad(allowed, (name,), shown(own))
    return found


OWN_TIMES = (
    "handler_read_us",
    "produce_us",
    "send_us",
    "append_us",
    "client_requests_per_s",
    "client_request_us",
)
"""Service times of a broker's own machine; the others are of the network and the controller."""


def own_service(value: Any) -> dict[str, float]:
    """Service times of a single broker."""
    if not isinstance(value, Mapping):
        raise Bad("a mapping of service times")
    found = {}
    for name, raw in value.items():
        if name not in OWN_TIMES:
            raise Bad(", ".join(OWN_TIMES), (str(name),), "no service time of a single broker")
        try:
            found[name] = check_of(Service, name).read(raw)
        except Bad as bad:
            raise Bad(bad.allowed, (name, *bad.at), bad.given or shown(raw)) from None
    return found


class Cluster(Strict):
    """Brokers, what they run, and who controls them.

    Attributes:
        brokers: ids.
        log_dirs_per_broker: the broker's replicas lie in them round robin.
        log_dirs: broker -> names of its log dirs, where they are not so many.
        racks: broker -> its rack.
        rack_rtt_ms: round trips between racks, and within one; other pairs take
            ``service.network_rtt_ms``.
        hardware: of every broker's machine; ``broker_hardware``: broker -> what its own has else.
        replication_listener: followers' fetches have a listener, and so network threads, of their
            own.
        isr_expiration_phase_ms: broker -> time of its first tick; hashed from the seed if absent.
        broker_settings: broker -> Kafka keys that it has of its own, whatever ``config`` says.
        broker_service: broker -> service times of its own, whatever ``service`` says.
    """

    release: Annotated[str, RELEASE] = Field(
        description="Kafka's release: its number, the name of a rule set, or a rule-set file."
    )
    controller: Annotated[str, one_of(*CONTROLLERS)] = Field(
        description="Who elects leaders and keeps the committed ISR; kraft from 2.8 on."
    )
    brokers: Annotated[tuple[int, ...], list_of(whole(0, 2**31 - 1), "a list of broker ids")]
    log_dirs_per_broker: Annotated[int, whole(1, 1000)] = 1
    log_dirs: Annotated[
        dict[int, tuple[str, ...]],
        map_of(BROKER, list_of(LOG_DIR), "a mapping of broker to its log dirs", empty=True),
    ] = Field(default={})
    racks: Annotated[
        dict[int, str], map_of(BROKER, RACK, "a mapping of broker to its rack", empty=True)
    ] = Field(default={})
    rack_rtt_ms: tuple[RackRoundTrip, ...] = ()
    hardware: Hardware = Field(default=Hardware(), description="Of every broker's machine.")
    broker_hardware: Annotated[dict[int, Hardware], BY_BROKER] = Field(
        default={}, description="broker -> what its own machine has else"
    )
    replication_listener: Annotated[bool, BOOLEAN] = Field(
        default=False,
        description="Followers fetch over a listener of their own (inter.broker.listener.name), "
        "which has num.network.threads besides the clients'.",
    )
    isr_expiration_phase_ms: Annotated[
        dict[int, float], map_of(BROKER, MS, "a mapping of broker to milliseconds", empty=True)
    ] = Field(default={})
    broker_settings: Annotated[
        dict[int, dict[str, KafkaValue]],
        map_of(
            BROKER,
            Check("a mapping of Kafka keys", _own_settings),
            "a mapping of broker to its own Kafka keys",
            empty=True,
        ),
    ] = Field(
        default={},
        description="broker -> Kafka keys that it reads for itself and has a value of its own for",
    )
    broker_service: Annotated[
        dict[int, dict[str, float]],
        map_of(
            BROKER,
            Check("a mapping of service times", own_service),
            "a mapping of broker to its own service times",
            empty=True,
        ),
    ] = Field(default={}, description="broker -> service times of its own machine")

    def log_dirs_of(self, broker: int) -> int:
        """How many log dirs a broker has."""
        named = self.log_dirs.get(broker)
        return len(named) if named else self.log_dirs_per_broker

    def hardware_of(self, broker: int) -> Hardware:
        """What a broker's machine has."""
        own = self.broker_hardware.get(broker)
        return self.hardware.with_own(own) if own else self.hardware


class Rules(Strict):
    """Switches that are no Kafka key; null follows the release."""

    kip501: Annotated[str | None, one_of(*KIP501_VARIANTS)] = Field(
        default=None,
        description="Which answer to slow reads on the leader is in the code (KIP-501). s1-doc, "
        "s1-pr and s2 also need follower.fetch.pending.reads.insync.enable.",
    )
    s2_cooldown_ms: Annotated[float | None, MS] = Field(
        default=None,
        description="After a leader resigned (Solution 2), how long it does not resign again.",
    )
    fetcher: Annotated[str | None, one_of(*FETCHERS)] = Field(
        default=None,
        description="What a fetcher thread does with a partition that fails (KIP-461).",
    )
    election: Annotated[str | None, one_of(*ELECTION_ORDERS)] = Field(
        default=None, description="The list that an election walks down."
    )
    isr_lock: Annotated[str | None, one_of(*LOCKS)] = Field(
        default=None,
        description="What holds the partition's lock against the isr-expiration tick; none is what "
        "the proposals assume.",
    )
    shrink_bumps_leader_epoch: Annotated[bool | None, BOOLEAN] = Field(
        default=None, description="Whether a shrink of the ISR begins a new leader epoch."
    )


_PAIR = "two numbers of milliseconds [low, high], low <= high"


def _pair(value: Any) -> tuple[float, float]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise Bad(_PAIR)
    found = []
    for i, raw in enumerate(value):
        try:
            found.append(MS.read(raw))
        except Bad as bad:
            raise Bad(bad.allowed, (i,), shown(raw)) from None
    low, high = found
    if low > high:
        raise Bad(_PAIR)
    return (low, high)


class Service(Strict):
    """Service times of a healthy broker; constant, so that a healthy stretch is periodic."""

    handler_read_us: Us = Field(
        default=80, description="A fetch handler's read of a partition with data."
    )
    produce_us: Us = Field(default=100, description="Handling one produce request.")
    send_us: Us = Field(default=150, description="Sending one response.")
    append_us: Us = Field(default=60, description="A follower's append to a partition with data.")
    network_rtt_ms: Ms = Field(
        default=0.5, description="Round trip of a packet between two nodes, there and back."
    )
    alter_partition_ms: Ms = Field(
        default=30,
        description="From the leader's decision about the ISR to its commit, from 2.7 on; before, "
        "only from a leader's resignation (Solution 2, li-transfer). 8 by default under ZooKeeper.",
    )
    isr_zk_write_ms: Ms = Field(
        default=5,
        description="The synchronous write of the ISR to ZooKeeper, up to 2.6; the partition's "
        "lock is held.",
    )
    zk_op_ms: Ms = Field(
        default=2.5,
        description="One request of ZooKeeper's controller to ZooKeeper; an election takes two. "
        "Published: 5 ms an election (Jun Rao, 2015, on partitions in a cluster).",
    )
    metadata_ms: Annotated[tuple[float, float], Check(_PAIR, _pair)] = Field(
        default=(2, 30),
        description="Lowest and highest time from the controller's record to a broker's applying "
        "it.",
    )
    client_requests_per_s: Rate = Field(
        default=500, description="Requests of other clients to each broker, besides produce."
    )
    client_request_us: Us = Field(default=200, description="Handler time of one of them.")


def _config(value: Any) -> dict[str, KafkaValue]:
    if not isinstance(value, Mapping):
        raise Bad("a mapping of Kafka keys")
    found: dict[str, KafkaValue] = {}
    for name, raw in value.items():
        try:
            key = known(str(name))
        except ConfigKeyError:
            given, allowed = unknown(str(name), KEYS, KEYS_COMMAND)
            raise Bad(allowed, (str(name),), given) from None
        try:
            found[key.name] = key.check(raw)
        except ConfigKeyError as error:
            raise Bad(error.allowed, (str(name),), shown(raw)) from None
    return found


HORIZON_LIMIT_US = 2**43
"""101 days: a later time does not fit into the key of a slot."""
HORIZON = number(0.001, HORIZON_LIMIT_US / 1000, "milliseconds > 0 (below 2^43 microseconds)")


def _name(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200 or not value.isprintable():
        raise Bad("a name of 1..200 printable characters")
    return value


LOAD_FACTOR = number(0, 1000, "a number > 0 (at most 1000)", low_open=True, high_too=True)
HOURS = 24


def _by_hour(value: Any) -> tuple[float, ...]:
    if not isinstance(value, (list, tuple)) or len(value) not in (0, HOURS):
        raise Bad(f"a list of {HOURS} factors, or an empty one")
    found = []
    for i, raw in enumerate(value):
        try:
            found.append(LOAD_FACTOR.read(raw))
        except Bad as bad:
            raise Bad(bad.allowed, (i,), shown(raw)) from None
    return tuple(found)


HOURLY = Check(f"a list of {HOURS} factors, or an empty one", _by_hour, LIST)
HourlyLoad = Annotated[tuple[float, ...], HOURLY]
"""What every produce rate is multiplied by in each hour of the day; empty: by nothing."""


class Scenario(Strict):
    """Everything that decides an outcome.

    Attributes:
        scenario_id: its name.
        seed: of the hashed phases and jitters.
        horizon_ms: the end; ``warmup_ms``: outcomes are counted after it.
        config: the Kafka keys that were given.
        load_factor: of every produce rate: what the hour makes of it.
    """

    scenario_id: Annotated[str, Check("a name of 1..200 printable characters", _name)]
    seed: Annotated[int, whole(0, LONG_MAX)] = 1
    horizon_ms: Annotated[float, HORIZON]
    warmup_ms: Ms = WARMUP_MS
    cluster: Cluster
    topics: tuple[Topic, ...]
    config: Annotated[dict[str, KafkaValue], Check("a mapping of Kafka keys", _config)] = Field(
        default={}
    )
    rules: Rules = Rules()
    service: Service = Service()
    load_factor: Annotated[float, LOAD_FACTOR] = Field(
        default=1, description="What every produce rate is multiplied by."
    )
    faults: tuple[Fault, ...] = ()


# ---------------------------------------------------------------------------- reading


def parse_scenario(mapping: Mapping[str, Any], where: str) -> Scenario:
    """Check a scenario that was read, and fill in its defaults.

    Args:
        mapping: as in the file.
        where: named in errors.

    Raises:
        InputError: the first thing in it that cannot be used.
    """
    raw = _with_stream_lists(mapping)
    try:
        scenario = validated(Scenario, raw, where)
        if "warmup_ms" not in scenario.model_fields_set and scenario.horizon_ms <= WARMUP_MS:
            scenario = scenario.model_copy(update={"warmup_ms": 0})
        scenario = _expanded(scenario, where)
        check(scenario, where)
        scenario = _with_single_faults(scenario)
    except InputError as error:
        raise _as_written(error, mapping) from None
    return _with_dependent_defaults(scenario)


def _with_stream_lists(mapping: Mapping[str, Any]) -> Mapping[str, Any]:
    """Write every topic's single produce stream as a list of one."""
    topics = mapping.get("topics") if isinstance(mapping, Mapping) else None
    if not isinstance(topics, (list, tuple)):
        return mapping
    listed = [
        {**topic, "produce": [topic["produce"]]}
        if isinstance(topic, Mapping) and isinstance(topic.get("produce"), Mapping)
        else topic
        for topic in topics
    ]
    return {**mapping, "topics": listed}


def _as_written(error: InputError, mapping: Mapping[str, Any]) -> InputError:
    """Take the ``[0]`` out of a path into a produce stream that was written without a list."""
    found = re.match(r"(topics\[(\d+)\]\.produce)\[0\](.*)", error.field, re.DOTALL)
    if found and isinstance(mapping["topics"][int(found[2])].get("produce"), Mapping):
        return InputError(error.where, found[1] + found[3], error.given, error.allowed)
    return error


def _unset(model: Any, **values: Any) -> Any:
    """Change fields of a frozen model without marking them as given."""
    changed = {**{name: getattr(model, name) for name in type(model).model_fields}, **values}
    return type(model).model_construct(model.model_fields_set, **changed)


def _with_dependent_defaults(scenario: Scenario) -> Scenario:
    """Fill in the defaults that depend on the controller."""
    service = scenario.service
    if "alter_partition_ms" in service.model_fields_set:
        return scenario
    default = ALTER_PARTITION_MS[scenario.cluster.controller]
    if service.alter_partition_ms == default:
        return scenario
    return _unset(scenario, service=_unset(service, alter_partition_ms=default))  # type: ignore[no-any-return]


def _expanded(scenario: Scenario, where: str) -> Scenario:
    """Write every topic's replicas as an assignment."""
    topics = tuple(
        _assigned(topic, scenario.cluster.brokers, where, ("topics", i))
        for i, topic in enumerate(scenario.topics)
    )
    return _unset(scenario, topics=topics)  # type: ignore[no-any-return]


def _with_single_faults(scenario: Scenario) -> Scenario:
    """Write every fault of several brokers, or of a node, as those that it consists of."""
    racks, horizon = scenario.cluster.racks, scenario.horizon_ms
    singles = tuple(fault.single(racks, horizon) for fault in scenario.faults)
    if all(single == (fault,) for single, fault in zip(singles, scenario.faults, strict=True)):
        return scenario
    faults = tuple(one for single in singles for one in single)
    return _unset(scenario, faults=faults)  # type: ignore[no-any-return]


def _assigned(
    topic: Topic, brokers: tuple[int, ...], where: str, at: tuple[str | int, ...]
) -> Topic:
    """Put partition p on brokers[(p + i) mod n], i < replication_factor."""
    n, factor = topic.partitions, topic.replication_factor
    if topic.assignment:
        for name in ("partitions", "replication_factor"):
            if getattr(topic, name) is not None:
                allowed = "either assignment, or partitions and replication_factor"
                given = f"{getattr(topic, name)} beside assignment"
                raise InputError(where, dotted((*at, name)), given, allowed)
        return topic
    if n is None and factor is None:
        allowed = "a mapping of partition to its brokers, or partitions and replication_factor"
        raise InputError(where, dotted((*at, "assignment")), "missing", allowed)
    if n is None:
        raise InputError(where, dotted((*at, "partitions")), "missing", "a whole number >= 1")
    allowed = f"a whole number 1..{len(brokers)} (the brokers)"
    if factor is None or factor > len(brokers):
        given = "missing" if factor is None else str(factor)
        raise InputError(where, dotted((*at, "replication_factor")), given, allowed)
    assignment = {
        p: tuple(brokers[(p + i) % len(brokers)] for i in range(factor)) for p in range(n)
    }
    given_fields = (topic.model_fields_set | {"assignment"}) - {"partitions", "replication_factor"}
    others = {name: getattr(topic, name) for name in OF_PARTITIONS}
    return Topic.model_construct(
        set(given_fields), name=topic.name, assignment=assignment, produce=topic.produce, **others
    )


# ---------------------------------------------------------------------------- cross-checks


def check(scenario: Scenario, where: str) -> None:
    """Check what no field can know by itself.

    Raises:
        InputError: the first of them, in the order of the file format.
    """
    _Checker(scenario, where).run()


class _Checker:
    """The checks that look at more than one field, in the order of the file format."""

    def __init__(self, scenario: Scenario, where: str) -> None:
        self.scenario = scenario
        self.where = where
        self.replicas = {topic.name: topic.assignment for topic in scenario.topics}
        self.at: tuple[str | int, ...] = ()

    def refuse(self, name: str | int, given: object, allowed: str, *more: str | int) -> None:
        path = (*self.at, name, *more) if name != "" else (*self.at, *more)
        description = given if isinstance(given, _Description) else shown(given)
        raise InputError(self.where, dotted(path), description, allowed)

    def run(self) -> None:
        scenario = self.scenario
        if us(scenario.warmup_ms) >= us(scenario.horizon_ms):
            allowed = f"less than horizon_ms ({shown(scenario.horizon_ms)})"
            self.refuse("warmup_ms", scenario.warmup_ms, allowed)
        self.cluster()
        self.bounds()
        self.at = ()
        if not scenario.topics:
            self.refuse("topics", [], "a list of at least one topic")
        for i, topic in enumerate(scenario.topics):
            self.at = ("topics", i)
            self.topic(i, topic)
        for i, fault in enumerate(scenario.faults):
            self.at = ("faults", i)
            self.fault(fault)
            if isinstance(fault, Death):
                self.death(i, fault)

    def cluster(self) -> None:
        cluster = self.scenario.cluster
        self.at = ("cluster",)
        rule_set = rule_set_of(cluster.release)
        if cluster.controller == "kraft" and not rule_set.kraft:
            allowed = "zookeeper (KRaft from 2.8 on)"
            self.refuse("controller", "kraft", allowed)
        for name in ("log_dirs", "racks", "broker_settings", "broker_service", "broker_hardware"):
            for broker in getattr(cluster, name):
                if broker not in cluster.brokers:
                    given = _Description("unknown broker")
                    self.refuse(name, given, self.brokers(), str(broker))
        for one_broker, wrong in amiss(cluster.hardware, cluster.broker_hardware):
            at = ("hardware",) if one_broker is None else ("broker_hardware", str(one_broker))
            self.refuse(at[0], wrong.given, wrong.allowed, *at[1:], wrong.field)
        known = set(cluster.racks.values())
        for i, pair in enumerate(cluster.rack_rtt_ms):
            for j, rack in enumerate(pair.between):
                if rack not in known:
                    allowed = ", ".join(sorted(known)) or "nothing: no broker has a rack"
                    self.refuse("rack_rtt_ms", rack, allowed, i, "between", j)
        if not cluster.isr_expiration_phase_ms:
            return
        config = self.scenario.config
        for broker, first in cluster.isr_expiration_phase_ms.items():
            own = {**config, **cluster.broker_settings.get(broker, {})}
            keys = resolve(cluster.release, own)
            period = int(keys["replica.lag.time.max.ms"]) // rule_set.tick_divisor
            if broker not in cluster.brokers:
                given = _Description("unknown broker")
                self.refuse("isr_expiration_phase_ms", given, self.brokers(), str(broker))
            if first >= period:
                allowed = f"0 <= first tick < {period} (the tick's period)"
                self.refuse("isr_expiration_phase_ms", first, allowed, str(broker))

    def bounds(self) -> None:
        cluster, config = self.scenario.cluster, self.scenario.config
        for broker in cluster.brokers:
            own = cluster.broker_settings.get(broker, {})
            for one in out_of_bounds(rule_set_of(cluster.release), config, own):
                of_broker = ("cluster", "broker_settings", str(broker))
                self.at = of_broker if one.is_own else ("config",)
                self.refuse(one.key, one.value, one.allowed)

    def brokers(self) -> str:
        return listed(self.scenario.cluster.brokers)

    def topic(self, i: int, topic: Topic) -> None:
        if topic.name in [other.name for other in self.scenario.topics[:i]]:
            self.refuse("name", topic.name, "each topic once")
        for partition, replicas in topic.assignment.items():
            for j, broker in enumerate(replicas):
                if broker not in self.scenario.cluster.brokers:
                    self.refuse("assignment", broker, self.brokers(), str(partition), j)
        self.standing(topic)
        here = self.at
        for j, stream in enumerate(topic.produce):
            self.at = (*here, "produce", j)
            self.window(stream.start_ms, stream.duration_ms)
            for k, partition in enumerate(stream.partitions or ()):
                if partition not in topic.assignment:
                    self.refuse("partitions", partition, listed(topic.assignment), k)
            for partition, _ in stream.partition_rates:
                if partition not in topic.assignment:
                    given = _Description("unknown partition")
                    allowed = listed(topic.assignment)
                    self.refuse("partition_rates", given, allowed, str(partition))
        self.at = here

    def standing(self, topic: Topic) -> None:
        """Leaders, ISRs and log dirs as they stand name replicas, and dirs of their brokers."""
        for name in ("leaders", "log_dirs", "behind"):
            for partition in getattr(topic, name):
                if partition not in topic.assignment:
                    given = _Description("unknown partition")
                    self.refuse(name, given, listed(topic.assignment), str(partition))
        for partition, leader in topic.leaders.items():
            if leader not in topic.assignment[partition]:
                words = f" (the replicas of {topic.name}-{partition})"
                allowed = listed(topic.assignment[partition]) + words
                self.refuse("leaders", leader, allowed, str(partition))
        for partition, outside in topic.behind.items():
            replicas = topic.assignment[partition]
            leader = topic.leaders.get(partition, replicas[0])
            words = f" (replicas of {topic.name}-{partition} that do not lead it)"
            followers = [broker for broker in replicas if broker != leader]
            for broker in outside:
                if broker not in followers:
                    given = _Description("leads it" if broker == leader else "no replica")
                    allowed = (listed(followers) or "nothing") + words
                    self.refuse("behind", given, allowed, str(partition), str(broker))
        for partition, dirs in topic.log_dirs.items():
            replicas = topic.assignment[partition]
            if len(dirs) != len(replicas):
                allowed = f"{len(replicas)} numbers, one a replica"
                self.refuse("log_dirs", list(dirs), allowed, str(partition))
            for j, (broker, number_) in enumerate(zip(replicas, dirs, strict=True)):
                most = self.scenario.cluster.log_dirs_of(broker)
                if number_ >= most:
                    allowed = f"0..{most - 1} (log dirs of broker {broker})"
                    self.refuse("log_dirs", number_, allowed, str(partition), j)

    def window(self, start: float, duration: float | None) -> None:
        horizon = self.scenario.horizon_ms
        if us(start) > us(horizon):
            self.refuse("start_ms", start, f"0..{shown(horizon)} (horizon_ms)")
        if duration is not None and us(start) + us(duration) > us(horizon):
            left = shown(round(horizon - start, 3))
            self.refuse(
                "duration_ms", duration, f"0..{left} (start_ms + duration_ms <= horizon_ms)"
            )

    def fault(self, fault: Any) -> None:
        has_window = isinstance(fault, (Window, PartitionError))
        for name in ("broker", "from_", "to"):
            broker = getattr(fault, name, None)
            if isinstance(broker, int) and broker not in self.scenario.cluster.brokers:
                more = ", controller" if name != "broker" else ""
                self.refuse(name.rstrip("_"), broker, self.brokers() + more)
        if hasattr(fault, "topic"):
            self.fault_partition(fault)
        self.window(fault.start_ms, fault.duration_ms if has_window else None)
        amiss = fault.amiss(self.scenario.cluster.log_dirs_of(getattr(fault, "broker", -1)))
        if amiss is not None:
            given = _Description("missing") if amiss.given is None else amiss.given
            self.refuse(amiss.field, given, amiss.allowed)
        if isinstance(fault, SlowDisk):
            if fault.write_factor != 1 or fault.read_factor == 1:
                self.known_disk(fault.broker, "disk_write_bytes_per_s")
            if fault.read_factor != 1:
                self.known_disk(fault.broker, "disk_read_bytes_per_s")
        if isinstance(fault, ColdReader):
            self.known_disk(fault.broker, "disk_read_bytes_per_s")
        if getattr(fault, "partitions", "all") != "all":
            self.hosted(fault)

    def known_disk(self, broker: int, speed: str) -> None:
        """What has no known speed, or a part of it, would do nothing."""
        if getattr(self.scenario.cluster.hardware_of(broker), speed) is None:
            allowed = f"a broker with {speed} in cluster.hardware or broker_hardware"
            self.refuse("broker", broker, allowed)

    def death(self, i: int, death: Death) -> None:
        """It names a rack or a power domain that exists, and alone lets brokers lose together."""
        cluster = self.scenario.cluster
        dying = death.together(cluster.racks)
        if not dying:
            allowed = listed(sorted(set(cluster.racks.values()))) or "nothing: no broker has a rack"
            self.refuse("rack", death.rack, allowed)
        for j, broker in enumerate(death.power_domain or ()):
            if broker not in cluster.brokers:
                self.refuse("power_domain", broker, self.brokers(), j)
        if death.broker is not None and death.broker not in dying:
            named = "power_domain" if death.rack is None else "rack"
            self.refuse("broker", death.broker, f"{listed(dying)} (the {named})")
        for other in self.scenario.faults[:i]:
            if (
                isinstance(other, Death)
                and "nothing" not in (death.lost, other.lost)
                and us(other.start_ms) == us(death.start_ms)
                and set(other.together(cluster.racks)) != set(dying)
            ):
                allowed = (
                    "another moment than that of the other death, or the same rack or "
                    "power_domain: brokers lose together only by one of these"
                )
                self.refuse("start_ms", death.start_ms, allowed)

    def fault_partition(self, fault: Any) -> None:
        if fault.topic not in self.replicas:
            self.refuse("topic", fault.topic, ", ".join(self.replicas))
        assignment = self.replicas[fault.topic]
        if fault.partition != "all" and fault.partition not in assignment:
            more = "all, " if fault.kind == "produce_rate" else ""
            self.refuse("partition", fault.partition, more + listed(assignment))
        for name in ("broker", "leader"):
            broker = getattr(fault, name, None)
            if broker is not None and broker not in assignment[fault.partition]:
                words = f" (the replicas of {fault.topic}-{fault.partition})"
                self.refuse(name, broker, listed(assignment[fault.partition]) + words)

    def hosted(self, fault: Any) -> None:
        names = {
            f"{topic}-{partition}": replicas
            for topic, assignment in self.replicas.items()
            for partition, replicas in assignment.items()
        }
        here = [name for name, replicas in names.items() if fault.broker in replicas]
        for i, name in enumerate(fault.partitions):
            if name not in here:
                words = f" (hosted by {fault.broker})" if name in names else ""
                self.refuse("partitions", name, close_or_all(name, here) + words, i)


class _Description(str):
    """Words about a value, as against a value."""

    __slots__ = ()


# ---------------------------------------------------------------------------- settings


def with_settings(
    mapping: Mapping[str, Any], settings: Iterable[str], where: str
) -> dict[str, Any]:
    """Lay ``KEY=VALUE`` texts over a scenario as read, before it is checked.

    Args:
        mapping: the scenario as read.
        settings: KEY is a Kafka or proposal key as under ``config``, or a dotted path into the
            file; VALUE is YAML.
        where: named in errors.

    Raises:
        InputError: no ``=``, an unknown key, or a path into something that is no mapping.
    """
    changed: dict[str, Any] = copy.deepcopy(dict(mapping))
    for setting in settings:
        name, separator, value = setting.partition("=")
        if not separator or not name.strip():
            raise InputError(where, "--set", shown(setting), "KEY=VALUE")
        read = parse_value(value, f"{where}: --set {name.strip()}")
        _place(changed, path_of(name.strip(), where), read, where)
    return changed


def path_of(name: str, where: str) -> tuple[str | int, ...]:
    """Find the place of an override: under ``config``, or the dotted path that it is.

    Raises:
        InputError: neither a known key nor a path that begins with a field of the file.
    """
    if name in KEYS:
        return ("config", name)
    if name.startswith("config."):
        return ("config", name.removeprefix("config."))
    parts = re.sub(r"\[(\d+)\]", r".\1", name).split(".")
    fields = names_of(Scenario)
    if parts[0] not in fields:
        given, allowed = unknown(name, [*fields, *KEYS], KEYS_COMMAND)
        raise InputError(where, name, given, allowed)
    return tuple(parts)


def _place(mapping: dict[str, Any], path: tuple[str | int, ...], value: Any, where: str) -> None:
    """Put a value at a path, making mappings on the way where there is nothing yet."""
    here: Any = mapping
    for i, part in enumerate(path):
        last = i == len(path) - 1
        if isinstance(here, list):
            if not (str(part).isdigit() and int(part) < len(here)):
                allowed = f"0..{len(here) - 1}" if here else "nothing: the list is empty"
                raise InputError(where, dotted(path[: i + 1]), shown(str(part)), allowed)
            part = int(part)  # noqa: PLW2901 - the same step, as a list counts it
        elif not isinstance(here, dict):
            raise InputError(where, dotted(path[:i]), shown(here), "a mapping to set a part of")
        if last:
            here[part] = value
        elif isinstance(here, dict):
            here = here.setdefault(str(part), {})
        else:
            here = here[int(part)]


# ---------------------------------------------------------------------------- configurations

TOPICS = "topics"
_GROUPS: dict[str, type[Strict]] = {"cluster": Cluster, "rules": Rules, "service": Service}


def apply(scenario: Scenario, overrides: Mapping[str, Any]) -> Scenario:
    """Lay a configuration over a scenario, for the price of a few copies.

    The overrides are taken as checked (:func:`check_overrides`); what depends on them follows
    (the default of ``service.alter_partition_ms`` follows the controller).

    Args:
        scenario: a checked scenario.
        overrides: Kafka keys, or paths under ``cluster``, ``rules`` and ``service``; a key under
            ``topics`` is set by every topic for itself.
    """
    if not overrides:
        return scenario
    config = dict(scenario.config)
    changed: dict[str, Any] = {"config": config}
    groups: dict[str, dict[str, Any]] = {}
    for name, value in overrides.items():
        group, _, field = name.partition(".")
        if name in KEYS:
            config[name] = value
        elif group == TOPICS:
            changed[TOPICS] = _topics_with(changed.get(TOPICS, scenario.topics), field, value)
        else:
            pair = tuple(value) if isinstance(value, list) else value  # from a plan's JSON
            groups.setdefault(group, {})[field] = pair
    for group, values in groups.items():
        changed[group] = getattr(scenario, group).model_copy(update=values)
    return _with_dependent_defaults(scenario.model_copy(update=changed))


def _topics_with(topics: tuple[Topic, ...], key: str, value: Any) -> tuple[Topic, ...]:
    """Let every topic set a key for itself."""
    return tuple(
        topic.model_copy(update={"settings": {**topic.settings, key: value}}) for topic in topics
    )


def check_overrides(overrides: Mapping[str, Any], where: str, at: str) -> dict[str, Any]:
    """Check a configuration's overrides by themselves and give them in their own types.

    Args:
        overrides: as read.
        where: the file.
        at: path of the overrides in it.

    Raises:
        InputError: an unknown key or path, or a value that may not stand there.
    """
    checked: dict[str, Any] = {}
    for name, value in overrides.items():
        group, _, field = name.partition(".")
        if name in KEYS:
            checked.update(_checked(_config, {name: value}, where, at))
        elif group == TOPICS and field in TOPIC_KEYS:
            checked[name] = _checked(_topic_config, {field: value}, where, at)[field]
        elif group in _GROUPS and field in _overridable(group):
            one = check_of(_GROUPS[group], field)
            checked[name] = _checked(one.read, value, where, f"{at}.{name}" if at else name)
        else:
            groups = [group] if group in _GROUPS else list(_GROUPS)
            paths = [f"{one}.{field}" for one in groups for field in _overridable(one)]
            names = paths if group in _GROUPS else [*KEYS, *paths]
            path = f"{at}.{name}" if at else name
            given, allowed = unknown(name, names, KEYS_COMMAND)
            raise InputError(where, path, given, allowed)
    return checked


def _overridable(group: str) -> list[str]:
    """Fields of a group that a configuration may change; the cluster's shape is the scenario's."""
    if group == "cluster":
        return ["release", "controller", "replication_listener"]
    return list(_GROUPS[group].model_fields)


def _checked(read: Any, value: Any, where: str, at: str) -> Any:
    try:
        return read(value)
    except Bad as bad:
        path = dotted((at, *bad.at) if at else bad.at)
        raise InputError(where, path, bad.given or shown(value), bad.allowed) from None


# ---------------------------------------------------------------------------- JSON


def canonical_json(scenario: Scenario) -> str:
    """Write what was given, and only that, in one canonical line (sorted keys, no blanks)."""
    given = scenario.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return json.dumps(given, sort_keys=True, separators=(",", ":"))


def scenario_from_json(line: str) -> Scenario:
    """Read a line of :func:`canonical_json` back, trusting what it says about other fields.

    Raises:
        InputError: an older release drew it, with what there is no more.
    """
    named = todays_names(line)
    try:
        scenario = Scenario.model_validate_json(named)
    except ValidationError:
        scenario = validated(Scenario, json.loads(named), "a drawn scenario")
    return _with_dependent_defaults(scenario)
