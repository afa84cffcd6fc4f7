"""Kafka's broker configuration keys, as far as in-sync replicas and replica fetchers read them.

Types, ranges and defaults are those of the release that a rule set stands for (0.8.2.2, 0.10.1.1,
0.10.2.2, 2.2.2, 2.8.2, 3.6, 3.9, 4.0, 4.4; 0.10.2.2 for 4485-doc), read in Kafka's own KafkaConfig
and ReplicationConfigs. A key of another release or controller is known everywhere and simply has no
effect there, so that a grid of keys can be crossed with releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from isr_pipeline.base.files.words import as_whole
from isr_pipeline.kafka.known_keys import nearest
from isr_pipeline.kafka.own_rules import RuleSetError, rule_set_of
from isr_pipeline.kafka.releases import RuleSet
from isr_pipeline.kafka.throttled_replicas import is_list

TIME_LIMIT_US = 2**50
"""Times are int64 microseconds in the kernel; a scenario may name none of this size or larger."""

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

Value = int | float | bool | str


class ConfigKeyError(ValueError):
    """A key or value that Kafka, or the simulated world, does not take.

    Attributes:
        allowed: what may stand there, in words.
    """

    def __init__(self, allowed: str) -> None:
        super().__init__(allowed)
        self.allowed = allowed


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key; why a range or a default is what it is, ``experiment/keys.yaml`` says.

    Attributes:
        name: exactly as Kafka (or the proposal) writes it.
        type: ``int`` and ``long`` as in Kafka's ConfigDef, ``bool``, or ``list``
            (a topic's throttled replicas).
        default: the default of the newest rule set that has another one than ``earlier``.
        low: smallest value; ``high``: largest.
        earlier: rule set -> default there, where it differs.
        unit_us: microseconds in one unit of the value, 0 if it is no time.
        is_read: whether anything that is simulated reads it.
        shared: why it is the same for all brokers of a cluster; empty: each broker reads its own.
    """

    name: str
    type: str
    default: Value
    low: int = 0
    high: int = INT_MAX
    earlier: Mapping[str, Value] = field(default_factory=dict)
    unit_us: int = 0
    is_read: bool = True
    shared: str = ""

    def default_in(self, rule_set: RuleSet) -> Value:
        """Give the default in one rule set."""
        return self.earlier.get(rule_set.key_defaults, self.default)

    @property
    def allowed(self) -> str:
        """What may stand there, for the reader of an error line."""
        if self.type == "bool":
            return "true, false"
        if self.type == "list":
            return "* or a list of partition:broker, such as 0:1,1:2"
        if self.low == 0 and self.high == 1:
            return "0, 1"
        return f"a whole number {self.low}..{self.highest}"

    @property
    def highest(self) -> int:
        """Largest value, the limit on times included."""
        if not self.unit_us:
            return self.high
        return min(self.high, (TIME_LIMIT_US - 1) // self.unit_us)

    def in_kernel(self, value: Value) -> int:
        """The value as a world's cell has it: times in microseconds, booleans 0 or 1."""
        return int(value) * (self.unit_us or 1)

    def check(self, value: object) -> Value:
        """Give the value in its own type (20000.0 is the whole number 20000).

        Raises:
            ConfigKeyError: a wrong type or a value out of range.
        """
        if self.type == "bool" and isinstance(value, bool):
            return value
        if self.type == "list" and isinstance(value, str) and is_list(value):
            return value
        if self.type in ("int", "long"):
            whole = as_whole(value)
            if whole is not None and self.low <= whole <= self.highest:
                return whole
        raise ConfigKeyError(self.allowed)


def _ms(name: str, type_: str, default: int, low: int = 0, **more: object) -> Key:
    high = INT_MAX if type_ == "int" else LONG_MAX
    return Key(name, type_, default, low, high, unit_us=1000, **more)  # type: ignore[arg-type]


_BEFORE_0_11 = ("0.8.2", "0.9-0.10.1", "4485-doc", "0.10.2-2.0")
_BEFORE_2_5 = (*_BEFORE_0_11, "2.1-2.6")
_BEFORE_4_1 = (*_BEFORE_2_5, "2.7-3.2", "3.3-3.6", "3.7-3.9", "4.0")


def _until(releases: Iterable[str], value: Value) -> Mapping[str, Value]:
    return MappingProxyType(dict.fromkeys(releases, value))


_CONTROLLER = "the controller reads it"
_OF_TOPICS = "topics have it, and the controller reads it too"
_THROTTLED = "topics have it"
_CLIENTS = "it stands for the producers' own"
_CONSUMERS = "a client's quota is the cluster's"
_PROPOSAL = "a proposal is switched on for the whole cluster"

_ALL = (
    _ms("replica.lag.time.max.ms", "long", 30000, 2, earlier=_until(_BEFORE_2_5, 10000)),
    Key("replica.lag.max.messages", "long", 4000, 0, LONG_MAX),
    _ms("replica.fetch.wait.max.ms", "int", 500),
    Key("replica.fetch.min.bytes", "int", 1),
    Key("replica.fetch.max.bytes", "int", 1048576),
    Key("message.max.bytes", "int", 1048588, earlier=_until(_BEFORE_2_5, 1000012), is_read=False),
    Key("replica.fetch.response.max.bytes", "int", 10485760),
    _ms("replica.fetch.backoff.ms", "int", 1000),
    Key("num.replica.fetchers", "int", 1, 1, 64),
    _ms("replica.socket.timeout.ms", "int", 30000, 1),
    _ms("replica.high.watermark.checkpoint.interval.ms", "long", 5000, is_read=False),
    Key("min.insync.replicas", "int", 1, 1, shared=_OF_TOPICS),
    Key("unclean.leader.election.enable", "bool", False, earlier=_until(_BEFORE_0_11, True),
        shared=_OF_TOPICS),
    Key("num.io.threads", "int", 8, 1, 1024),
    Key("num.network.threads", "int", 3, 1, 1024),
    Key("queued.max.requests", "int", 500, 1, 100000),
    Key("background.threads", "int", 10, 1, 1024, is_read=False),
    _ms("request.timeout.ms", "int", 30000, 1, shared=_CLIENTS),
    _ms("zookeeper.session.timeout.ms", "int", 18000, 1,
        earlier=_until(_BEFORE_2_5, 6000)),
    _ms("broker.session.timeout.ms", "int", 9000, 1, shared=_CONTROLLER),
    _ms("broker.heartbeat.interval.ms", "int", 2000, 1),
    Key("auto.leader.rebalance.enable", "bool", True, shared=_CONTROLLER),
    Key("leader.imbalance.check.interval.seconds", "long", 300, 1, LONG_MAX, unit_us=1_000_000,
        shared=_CONTROLLER),
    Key("leader.imbalance.per.broker.percentage", "int", 10, shared=_CONTROLLER),
    Key("controlled.shutdown.max.retries", "int", 3),
    _ms("controlled.shutdown.retry.backoff.ms", "long", 5000),
    Key("leader.replication.throttled.rate", "long", LONG_MAX, 0, LONG_MAX),
    Key("leader.replication.throttled.replicas", "list", "", shared=_THROTTLED),
    Key("follower.replication.throttled.rate", "long", LONG_MAX, 0, LONG_MAX),
    Key("follower.replication.throttled.replicas", "list", "", shared=_THROTTLED),
    Key("replication.quota.window.num", "int", 11, 1, 1000),
    Key("replication.quota.window.size.seconds", "int", 1, 1, 86_400, unit_us=1_000_000),
    Key("consumer_byte_rate", "long", LONG_MAX, 1, LONG_MAX, shared=_CONSUMERS),
    Key("eligible.leader.replicas.version", "int", 1, 0, 1, earlier=_until(_BEFORE_4_1, 0),
        shared=_CONTROLLER),
    Key("follower.fetch.pending.reads.insync.enable", "bool", False, shared=_PROPOSAL),
    _ms("follower.fetch.process.time.max.ms", "long", 500, 1, shared=_PROPOSAL),
)  # fmt: skip

KEYS: Mapping[str, Key] = MappingProxyType({key.name: key for key in _ALL})
"""Every key that a scenario or a configuration may name."""

OF_CLIENTS = frozenset(key.name for key in _ALL if key.shared == _CONSUMERS)
"""Quotas of users and client ids: Kafka reads them in no broker's file."""


@dataclass(frozen=True, slots=True)
class Bound:
    """Two keys of one unit that have to agree.

    Attributes:
        low: may be at most the value of ``high``.
        high: the other key.
        releases: that ask for it, in words.
        holds: whether a release does.
        otherwise: what happens, before the word "with".
    """

    low: str
    high: str
    releases: str
    holds: Callable[[RuleSet], bool] = lambda _: True
    otherwise: str = "no broker {releases} (here {release}) starts"

    def otherwise_in(self, release: str) -> str:
        """What happens in a cluster of a release, before the word "with"."""
        return self.otherwise.format(releases=self.releases, release=release)


BOUNDS: tuple[Bound, ...] = (
    # server/KafkaConfig.scala @ 0.8.1, 0.8.2.2, 0.10.2.0, 2.5.0, 3.9.0, 4.x
    Bound("replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "from 0.8.1 on"),
    # the same @ 0.9.0.1, 3.9.0, 4.x; 0.8.2.2 compares it before it has read the wait, with 0
    Bound(
        "replica.fetch.wait.max.ms",
        "replica.socket.timeout.ms",
        "from 0.9 on",
        lambda rule_set: rule_set.socket_timeout_checked,
    ),
    # the same @ 0.8.2.2 (a range of the key), 0.9.0.1, 0.10.0.1; gone @ 0.10.1.0 (KIP-74)
    Bound(
        "message.max.bytes",
        "replica.fetch.max.bytes",
        "up to 0.10.0",
        lambda rule_set: rule_set.fetch_size_checked,
    ),
)
"""What ``validateValues`` compares of keys that rules read, each with its first and last release. A
broker whose settings break one does not start."""

SESSION_BOUND = Bound(
    "broker.heartbeat.interval.ms",
    "broker.session.timeout.ms",
    "under KRaft",
    otherwise="the controller fences a healthy broker between two heartbeats",
)
"""What nobody wants under KRaft; brokers start with less, so a scenario may have it."""

UNREAD: frozenset[str] = frozenset(key.name for key in _ALL if not key.is_read)
"""Keys that a broker has and the simulated world does not read."""


def known(name: str) -> Key:
    """Look a key up.

    Raises:
        ConfigKeyError: no such key; the text names the nearest.
    """
    if name in KEYS:
        return KEYS[name]
    raise ConfigKeyError(", ".join(nearest(name, KEYS)))


def in_effect(rule_set: RuleSet, config: Mapping[str, Value]) -> dict[str, Value]:
    """Give every key's effective value: the given one, which was checked, else the default."""
    return {name: config.get(name, key.default_in(rule_set)) for name, key in KEYS.items()}


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """What no broker starts with.

    Attributes:
        is_own: whether a broker's own settings say it, not those of the cluster.
        key: that was given, or the other one of its `Bound`.
        value: its value in effect; ``allowed``: what may stand there, in words.
    """

    is_own: bool
    key: str
    value: int
    allowed: str


def out_of_bounds(
    rule_set: RuleSet,
    config: Mapping[str, Value],
    own: Mapping[str, Value],
    bounds: Sequence[Bound] = BOUNDS,
) -> Iterator[OutOfBounds]:
    """Find what keeps a broker from starting.

    Args:
        rule_set: its release, which has the defaults.
        config: the cluster's settings, checked.
        own: the broker's own, which lie over them.
        bounds: that are looked at.
    """
    keys = in_effect(rule_set, {**config, **own})
    for bound in (one for one in bounds if one.holds(rule_set)):
        low, high = int(keys[bound.low]), int(keys[bound.high])
        if low <= high:
            continue
        otherwise = bound.otherwise_in(rule_set.name)
        is_own = bound.low in own or bound.high in own
        if bound.low in (own if is_own else config):
            allowed = f"at most {bound.high} ({high}): {otherwise} with more"
            yield OutOfBounds(is_own, bound.low, low, allowed)
        else:
            allowed = f"at least {bound.low} ({low}): {otherwise} with less"
            yield OutOfBounds(is_own, bound.high, high, allowed)


def perhaps_seconds(
    rule_set: RuleSet, controller: str, settings: Mapping[str, Value]
) -> Iterator[str]:
    """Say of each time where milliseconds stand and seconds may be meant, a sentence each.

    Args:
        rule_set: of the release, which has the defaults.
        controller: ``kraft`` or ``zookeeper``.
        settings: that were given, checked.
    """
    for name, value in settings.items():
        key = KEYS.get(name)
        if key is None or key.in_kernel(1) != US_IN_MS:
            continue
        default = int(key.default_in(rule_set))
        if 0 < PERHAPS_SECONDS * int(value) < default:
            yield f"{name}={value}: milliseconds, and the default is {default}; were seconds meant?"
    if controller == "kraft":
        for one in out_of_bounds(rule_set, settings, {}, (SESSION_BOUND,)):
            yield f"{one.key}={one.value}: it should be {one.allowed}"


US_IN_MS = 1000
PERHAPS_SECONDS = 100
"""How many times a value fits into its default where it looks like seconds."""


def resolve(release: str, config: Mapping[str, Value]) -> dict[str, Value]:
    """Check keys, and give every key's effective value: the given one, else the default.

    Args:
        release: name of a rule set.
        config: the keys that were given.

    Raises:
        ConfigKeyError: an unknown release or key, or a value out of range.
    """
    try:
        rule_set = rule_set_of(release)
    except RuleSetError as error:
        raise ConfigKeyError(error.allowed) from None
    return in_effect(rule_set, {name: known(name).check(config[name]) for name in config})
