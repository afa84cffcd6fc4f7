"""The fault kinds of a scenario, one class a kind: what is in it, in which units.

Every fault binds by the time at which an operation begins. A *window* has ``duration_ms`` and
must end by the horizon; of the others only the beginning must lie within it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args

from pydantic import BeforeValidator, Field

from isr_pipeline.base.files.checks import BOOLEAN, Bad, Check, list_of, number, one_of, text, whole
from isr_pipeline.base.files.models import Strict
from isr_pipeline.base.files.words import shown
from isr_pipeline.kafka.broker_config import INT_MAX, TIME_LIMIT_US

MS_LIMIT = TIME_LIMIT_US / 1000
RATE_MAX = 1e9
COUNT_MAX = 10**9
"""Records times their bytes must fit into an int64."""

CONNECTIONS_MAX = 20_000
"""Of a surge: a broker's queue has room for a request of each."""


def or_null(check: Check, allowed: str = "") -> Check:
    """Null, or what ``check`` reads."""

    def read(value: object) -> object:
        try:
            return None if value is None else check.read(value)
        except Bad as bad:
            raise Bad(bad.allowed if bad.at else allowed, bad.at, bad.given) from None

    schema = {"anyOf": [check.schema, {"type": "null"}]}
    return Check(allowed or check.allowed, read, schema)


MS = number(0, MS_LIMIT, "milliseconds >= 0 (below 2^50 microseconds)")
RETRY = number(1, MS_LIMIT, "milliseconds >= 1 (below 2^50 microseconds)")
BROKER = whole(0, INT_MAX, "the id of a broker of the cluster")
RACK = text(r"[^\x00-\x1f\x7f]{1,249}", "a rack's name (1..249 printable characters)")
POWER_DOMAIN = list_of(BROKER, "a list of ids of brokers")
BYTES_MAX = 2**40
BYTES_PER_S = number(1, BYTES_MAX, "bytes a second >= 1, or null (recovery takes no time)")
US = number(0, TIME_LIMIT_US, "microseconds >= 0 (below 2^50)")
RATE = number(0, RATE_MAX, "a number >= 0 (below 1e9)")
PART = number(0, 1, "a number 0..1", high_too=True)
POSITIVE = number(0, RATE_MAX, "a number > 0 (below 1e9)", low_open=True)
PARTITION = whole(0, INT_MAX, "the number of a partition of the topic")
COUNT = whole(1, COUNT_MAX)
CONNECTIONS = whole(1, CONNECTIONS_MAX)
READERS = whole(1, 1000, "a whole number of connections 1..1000")
PACE = or_null(whole(1, 10**12, "a whole number of bytes a second, or null"))
MS_OR_NEVER = or_null(MS, "milliseconds >= 0 (below 2^50 microseconds), or null (never)")
RETRY_OR_NEVER = or_null(RETRY, "milliseconds >= 1 (below 2^50 microseconds), or null (never)")
TOPIC = text(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}", "a topic name (letters, digits, . _ -)")

Ms = Annotated[float, MS]
Us = Annotated[float, US]

Rate = Annotated[float, RATE]
Positive = Annotated[float, POSITIVE]
Broker = Annotated[int, BROKER]
Partition = Annotated[int, PARTITION]
Count = Annotated[int, COUNT]
Topic = Annotated[str, TOPIC]
Bool = Annotated[bool, BOOLEAN]


def us(ms: float) -> int:
    """Milliseconds of the file as whole microseconds of the kernel."""
    return round(ms * 1000)


def _or(word: str, other: Check, allowed: str) -> Check:
    """One word, or what another check reads."""

    def read(value: object) -> object:
        if isinstance(value, str) and value == word:
            return word
        try:
            return other.read(value)
        except Bad as bad:
            if bad.at or not isinstance(value, str):
                raise Bad(bad.allowed if bad.at else allowed, bad.at, bad.given) from None
            raise Bad(allowed) from None

    return Check(allowed, read)


_TOPIC_PARTITION = text(r"[a-zA-Z0-9._-]{1,249}-[0-9]{1,10}", "TOPIC-N of a hosted partition")
_READS = ("direct", "completion", "all", "visits")


def _reads(value: object) -> tuple[str, ...]:
    """Read one name or a list of names of reads, as a tuple."""
    names = one_of(*_READS)
    if isinstance(value, str):
        return (names.read(value),)
    return tuple(list_of(names, f"{names.allowed}, or a list of these").read(value))


Connections = Annotated[Literal["close", "hang"], one_of("close", "hang")]
Stage = Annotated[Literal["handler", "send"], one_of("handler", "send")]
APPEND_ROLES = ("follower", "leader", "both")
AppendRole = Annotated[Literal["follower", "leader", "both"], one_of(*APPEND_ROLES)]
TopicPartitions = Annotated[
    Literal["all"] | tuple[str, ...],
    _or("all", list_of(_TOPIC_PARTITION), "all, or a list of TOPIC-N"),
]
PartitionOrAll = Annotated[
    Literal["all"] | int, _or("all", PARTITION, "all, or the number of a partition of the topic")
]
NodeOrController = Annotated[
    Literal["controller"] | int, _or("controller", BROKER, "the id of a broker, or controller")
]
Reads = Annotated[
    tuple[str, ...], Check("direct, completion, all, visits, or a list of these", _reads)
]


class Amiss(NamedTuple):
    """A field of a fault that does not go with another, or with the cluster.

    Attributes:
        field: its name.
        given: its value, or None if it is missing.
        allowed: what may stand there.
    """

    field: str
    given: Any
    allowed: str


class FaultBase(Strict):
    """What every fault has.

    Attributes:
        start_ms: when it begins.
    """

    start_ms: Ms

    def amiss(self, log_dirs: int) -> Amiss | None:
        """Find what is wrong with the fault beyond single fields; kinds say their own.

        Args:
            log_dirs: how many each broker has.
        """
        del log_dirs
        return None

    def single(self, racks: Mapping[int, str], horizon_ms: float) -> tuple[FaultBase, ...]:
        """The faults of one broker, or of the controller, that it consists of.

        Args:
            racks: of the brokers, which it may name.
            horizon_ms: the scenario's end.
        """
        del racks, horizon_ms
        return (self,)


class Window(FaultBase):
    """A fault that lasts.

    Attributes:
        duration_ms: how long; an operation that begins at ``start_ms + duration_ms`` is spared.
    """

    duration_ms: Ms


def _no_log_dir(log_dir: int, log_dirs: int) -> Amiss | None:
    """What is wrong with the number of a log dir, of a broker that has so many."""
    if log_dir < log_dirs:
        return None
    numbers = "0" if log_dirs == 1 else f"0..{log_dirs - 1}"
    return Amiss("log_dir", log_dir, f"{numbers} (log_dirs_per_broker: {log_dirs})")


class ReadStall(Window):
    """A log read (or a send) begun in the window ends no earlier than the window.

    Attributes:
        stage: ``handler`` (the read) or ``send`` (a network thread is held).
        partitions: ``all`` or names ``topic-n`` hosted by the broker.
        reads: which reads of the handler stage it meets.
    """

    kind: Literal["read_stall"]
    broker: Broker
    stage: Stage = "handler"
    partitions: TopicPartitions = "all"
    reads: Reads = ("all",)


class SlowAppend(Window):
    """Every append in the window that the broker does in this role takes ``append_ms``.

    A leader's is under the log's lock and holds a request handler: appends of a partition come one
    after the other, and its followers' fetches wait for them.
    """

    kind: Literal["slow_append"]
    broker: Broker
    append_ms: Ms
    role: AppendRole = "follower"
    partitions: TopicPartitions = "all"


class SlowDisk(Window):
    """A disk of known speed has a part of it.

    Attributes:
        log_dir: under which log dir; null: all of the broker's.
        write_factor, read_factor: 0 stands still.
    """

    kind: Literal["slow_disk"]
    broker: Broker
    log_dir: Annotated[
        int | None, or_null(whole(0, INT_MAX, "the 0-based number of a log dir"))
    ] = None
    write_factor: Annotated[float, PART] = 1.0
    read_factor: Annotated[float, PART] = 1.0

    def amiss(self, log_dirs: int) -> Amiss | None:
        """The broker has that log dir."""
        return None if self.log_dir is None else _no_log_dir(self.log_dir, log_dirs)


class ColdReader(Window):
    """Clients read data that are in the page cache no longer: a replay, a backup.

    Each connection has one request out, whose answer its network thread reads from the disk.

    Attributes:
        fetch_bytes: of one answer.
        bytes_per_s: of all connections together; null: as fast as they are answered,
            and as `consumer_byte_rate` allows.
        log_dir: that they read from; null: the broker's by turns.
    """

    kind: Literal["cold_reader"]
    broker: Broker
    connections: Annotated[int, READERS] = 1
    fetch_bytes: Annotated[int, whole(1, 2**30)] = 2**20
    bytes_per_s: Annotated[int | None, PACE] = None
    log_dir: Annotated[
        int | None, or_null(whole(0, INT_MAX, "the 0-based number of a log dir"))
    ] = None

    def amiss(self, log_dirs: int) -> Amiss | None:
        """The broker has that log dir."""
        return None if self.log_dir is None else _no_log_dir(self.log_dir, log_dirs)


class Pause(Window):
    """The process stops (a GC pause, SIGSTOP); its clock goes on."""

    kind: Literal["pause"]
    broker: Broker


class Cpu(Window):
    """Every service time of the broker times ``factor``."""

    kind: Literal["cpu"]
    broker: Broker
    factor: Positive


class Link(Window):
    """The network between two nodes drops everything or adds a latency, one way each.

    Attributes:
        from_: ``from`` in the file.
        drop: nothing passes until the window ends.
        latency_ms: added one way, in each direction named; null with ``drop``.
        both_ways: also from ``to`` to ``from``.
    """

    kind: Literal["link"]
    from_: NodeOrController = Field(alias="from")
    to: NodeOrController
    drop: Bool = False
    latency_ms: Annotated[float | None, MS] = None
    both_ways: Bool = False

    def amiss(self, log_dirs: int) -> Amiss | None:
        """Two nodes, and one thing that happens between them."""
        del log_dirs
        what = "either drop: true or latency_ms"
        if self.from_ == self.to:
            return Amiss("to", self.to, "another node than from")
        if self.drop and self.latency_ms is not None:
            return Amiss("latency_ms", self.latency_ms, what)
        if not self.drop and self.latency_ms is None:
            return Amiss("drop", None, what)
        return None


class Death(FaultBase):
    """Kill -9, or a machine that dies.

    Attributes:
        restart_after_ms: from ``start_ms`` to its first try to register, which is refused while
            its old session is valid; null: it never comes back.
        retry_ms: under ZooKeeper, where the process ends with the refusal, and to 2.0.0 where a
            follower ends itself: from there to the next try, by whatever supervises it; null: it
            is not started again.
        restart_load_us: of each replica it holds: loading the logs at a start. Under KRaft that
            comes after the registration, under ZooKeeper before it.
        lost: ``nothing`` (the process alone dies), ``tail`` (the machine loses power: what neither
            Kafka nor the operating system had flushed) or ``all`` (the disk is another, and empty).
        flush_ms: the operating system writes a log out so often; when the last time was before the
            power cut is drawn.
        reformatted: with ``lost: all`` somebody formats the empty disk; under KRaft a broker does
            not start without that.
        recovery_bytes: of each replica: written since its recovery point before the scenario
            begins. Recovery reads it, and what the scenario adds.
        recovery_bytes_per_s: what the broker reads at recovery; null: what its disk reads, and
            without a known speed that takes no time.
        rack: whose brokers lose power together.
        power_domain: brokers that lose power together.
    """

    restart_after_ms: Annotated[float | None, MS_OR_NEVER] = None
    retry_ms: Annotated[float | None, RETRY_OR_NEVER] = 5000
    restart_load_us: Us = 0
    lost: Annotated[Literal["nothing", "tail", "all"], one_of("nothing", "tail", "all")] = "nothing"
    flush_ms: Annotated[float, RETRY] = 30_000
    reformatted: Bool = True
    recovery_bytes: Annotated[int, whole(0, BYTES_MAX)] = 0
    recovery_bytes_per_s: Annotated[float | None, or_null(BYTES_PER_S)] = None
    broker: Annotated[int | None, or_null(BROKER)]
    rack: Annotated[str | None, or_null(RACK)] = None
    power_domain: Annotated[tuple[int, ...] | None, or_null(POWER_DOMAIN)] = None

    def amiss(self, log_dirs: int) -> Amiss | None:
        """It says who dies."""
        del log_dirs
        if self.rack is not None and self.power_domain is not None:
            return Amiss("power_domain", list(self.power_domain), "either rack or power_domain")
        if self.broker is None and self.rack is None and self.power_domain is None:
            return Amiss("broker", None, "the id of a broker, or rack or power_domain")
        return None

    def together(self, racks: Mapping[int, str]) -> tuple[int, ...]:
        """Brokers that the fault lets lose power at one moment.

        Args:
            racks: rack of each broker that has one.
        """
        if self.power_domain is not None:
            return self.power_domain
        if self.rack is not None:
            return tuple(broker for broker, rack in racks.items() if rack == self.rack)
        return () if self.broker is None else (self.broker,)


class Crash(Death):
    """A broker is killed, or its machine dies; or those of a rack or a power domain, together.

    Attributes:
        broker: which; null: every broker of ``rack`` or ``power_domain``.
    """

    kind: Literal["crash"]
    broker: Annotated[int | None, or_null(BROKER)] = None

    def single(self, racks: Mapping[int, str], horizon_ms: float) -> tuple[FaultBase, ...]:
        """One crash for each broker that dies."""
        del horizon_ms
        if self.broker is not None:
            return (self,)
        return tuple(self.model_copy(update={"broker": b}) for b in self.together(racks))


class NodeDeath(Death):
    """A machine dies that is a broker and the active controller.

    Attributes:
        controller_ms: under KRaft until another controller is active, which knows nothing of
            heartbeats. Under ZooKeeper that is when the session of ``broker`` is over.
        connections: ``hang`` (the machine is gone) or ``close`` (only its process died), as of a
            ``controller_outage``.
    """

    kind: Literal["node_death"]
    broker: Broker
    controller_ms: Ms = 2500
    connections: Connections = "hang"

    def single(self, racks: Mapping[int, str], horizon_ms: float) -> tuple[FaultBase, ...]:
        """A crash, and an outage of the controller with fresh sessions at the next one."""
        del racks
        given = self.model_dump(
            exclude_unset=True, exclude={"kind", "controller_ms", "connections"}
        )
        duration = min(self.controller_ms, horizon_ms - self.start_ms)
        return (
            Crash(kind="crash", **given),
            ControllerOutage(
                kind="controller_outage",
                start_ms=self.start_ms,
                duration_ms=duration,
                sessions="fresh",
                broker=self.broker,
                connections=self.connections,
            ),
        )


class ControlledRestart(FaultBase):
    """A controlled shutdown and the return at ``start_ms + downtime_ms``.

    Under KRaft a broker that leads anything waits until every other active broker has reported in a
    heartbeat that it knows where the leads went, and is then fenced.

    Attributes:
        downtime_ms: from ``start_ms``; at least ``shutdown_ms``; longer if it stops later.
        shutdown_ms: what is left until the process ends after it was let go (closing logs). Under
            ZooKeeper it serves meanwhile; it goes without leave after its last try.
        restart_load_us: as of a crash.
    """

    kind: Literal["controlled_restart"]
    broker: Broker
    downtime_ms: Ms
    shutdown_ms: Ms = 1000
    restart_load_us: Us = 0

    def amiss(self, log_dirs: int) -> Amiss | None:
        """It returns after it has gone."""
        del log_dirs
        if self.shutdown_ms > self.downtime_ms:
            return Amiss(
                "shutdown_ms", self.shutdown_ms, f"0..{shown(self.downtime_ms)} (downtime_ms)"
            )
        return None


class LogDirFailure(FaultBase):
    """A log directory fails at the next append in it."""

    kind: Literal["log_dir_failure"]
    broker: Broker
    log_dir: Annotated[int, whole(0, INT_MAX, "the 0-based number of a log dir")]

    def amiss(self, log_dirs: int) -> Amiss | None:
        """The broker has that log dir."""
        return _no_log_dir(self.log_dir, log_dirs)


class ControllerOutage(Window):
    """No election, no fencing, no AlterPartition answer.

    Attributes:
        broker: which was the controller and dies at ``start_ms``: under ZooKeeper the next one
            comes when its session is over; null: after ``duration_ms``.
        connections: those of brokers with the dead controller. They ``close`` where its process
            alone died. They ``hang`` where its machine is gone: a heartbeat of KRaft's waits for
            its time limit.
    """

    kind: Literal["controller_outage"]
    broker: Annotated[int | None, or_null(BROKER)] = None
    connections: Connections = "close"
    sessions: Annotated[Literal["fresh", "resumed"], one_of("fresh", "resumed")] = "fresh"

    def amiss(self, log_dirs: int) -> Amiss | None:
        """A controller that has died does not go on."""
        del log_dirs
        if self.sessions == "resumed" and (self.broker is not None or self.connections == "hang"):
            return Amiss("sessions", self.sessions, "fresh (the controller has died)")
        return None


class ProduceBurst(FaultBase):
    """Records appended at once."""

    kind: Literal["produce_burst"]
    topic: Topic
    partition: Partition
    records: Count


class ProduceRate(Window):
    """The produce streams' rate times ``factor``."""

    kind: Literal["produce_rate"]
    topic: Topic
    partition: PartitionOrAll
    factor: Rate


class ClientSurge(Window):
    """Other client requests on top; they fill the queue."""

    kind: Literal["client_surge"]
    broker: Broker
    requests_per_s: Rate
    request_us: Us
    connections: Annotated[int, CONNECTIONS] = 100


class PartitionError(FaultBase):
    """An error met by a follower's fetcher on one partition.

    Attributes:
        duration_ms: met at every append in the window; null: once, at the next append.
    """

    kind: Literal["partition_error"]
    broker: Broker
    topic: Topic
    partition: Partition
    error: Annotated[
        Literal["storage", "unexpected", "fenced_epoch", "corrupt_record"],
        one_of("storage", "unexpected", "fenced_epoch", "corrupt_record"),
    ]
    fetcher: Annotated[
        Literal["Replica", "ReplicaAlterLogDirs"], one_of("Replica", "ReplicaAlterLogDirs")
    ] = "Replica"
    duration_ms: Annotated[float | None, MS] = None


class StopReplica(FaultBase):
    """StopReplica on a follower: not fetched again until a new leader epoch."""

    kind: Literal["stop_replica"]
    broker: Broker
    topic: Topic
    partition: Partition


class PreferredElection(FaultBase):
    """A new leader epoch for the preferred replica, if it may lead.

    Attributes:
        leader: make this replica the preferred one first; null: the one that is.
    """

    kind: Literal["preferred_election"]
    topic: Topic
    partition: Partition
    leader: Annotated[int | None, BROKER] = None


class Bootstrap(FaultBase):
    """A follower's log is emptied and starts ``records`` behind, out of the ISR."""

    kind: Literal["bootstrap"]
    broker: Broker
    topic: Topic
    partition: Partition
    records: Count


FORMER: Final[Mapping[str, str]] = MappingProxyType(
    {
        "slow_read": "slow_disk with read_factor (a disk whose speed hardware says), "
        "cold_reader (a replay), read_stall (a read that hangs)"
    }
)
"""Former kind (to 0.2.0) -> what to write instead."""


def _of_today(fault: object) -> object:
    kind = fault.get("kind") if isinstance(fault, Mapping) else None
    if isinstance(kind, str) and kind in FORMER:
        raise Bad(FORMER[kind], ("kind",), kind)
    return fault


Fault = Annotated[
    ReadStall
    | SlowAppend
    | SlowDisk
    | ColdReader
    | Pause
    | Cpu
    | Link
    | Crash
    | NodeDeath
    | ControlledRestart
    | LogDirFailure
    | ControllerOutage
    | ProduceBurst
    | ProduceRate
    | ClientSurge
    | PartitionError
    | StopReplica
    | PreferredElection
    | Bootstrap,
    Field(discriminator="kind"),
    BeforeValidator(Check("a fault", _of_today)),
]

KINDS: tuple[str, ...] = tuple(
    get_args(one.model_fields["kind"].annotation)[0] for one in get_args(get_args(Fault)[0])
)
"""Every fault kind, in the order of the model page."""
