"""What can happen in a drawn scenario: single faults, and chains of faults that cause each other.

A *pattern* is a small function that draws the faults of one scenario. Its numbers come from the
fault profile (``config/faults``), where every distribution is written with its reason; the
functions here only say how the numbers hang together. Faults begin in the first part of the
horizon, so that what they set off can be seen; a window that would pass the horizon is cut there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np

from isr_pipeline.base.files.checks import BOOLEAN, Check, number, one_of
from isr_pipeline.base.files.words import close_or_all
from isr_pipeline.scenarios.faults import (
    APPEND_ROLES,
    CONNECTIONS,
    COUNT,
    MS,
    PACE,
    PART,
    POSITIVE,
    RATE,
    READERS,
    US,
)
from isr_pipeline.scenarios.model import Cluster, Scenario

Faults = list[dict[str, Any]]

SETTLED_MS = 1000
"""No fault begins in the first second after the warm-up: what is counted begins healthy."""
FIRST_PART = 0.4
"""Share of the counted time in which the first fault begins."""
REPEATS_MAX = 40
"""Largest number of repetitions in a chain of short faults."""


class Drawable(Protocol):
    """A distribution of the fault profile."""

    def draw(self, u: float) -> Any:
        """Turn a uniform number of [0, 1) into a value."""


@dataclass(slots=True)
class Draw:
    """What a pattern draws from: the healthy scenario, the profile's numbers, one generator.

    Attributes:
        scenario: cluster and load, nothing happening.
        parameters: name -> distribution.
        random: uniform numbers; the only source of chance.
        ends_ms: end of the last window so far, as drawn.
        away: brokers that return when the scenario begins, and for how long they were away.
    """

    scenario: Scenario
    parameters: Mapping[str, Drawable]
    random: np.random.Generator
    ends_ms: float = 0.0
    away: dict[int, float] = field(default_factory=dict)

    def number(self, name: str) -> Any:
        """Draw a parameter."""
        return self.parameters[name].draw(self.uniform())

    def uniform(self) -> float:
        """Draw from [0, 1)."""
        return float(self.random.random())

    def pick(self, items: Any) -> Any:
        """Draw one of some items, each as likely."""
        listed = list(items)
        return listed[int(self.uniform() * len(listed))]

    @property
    def horizon(self) -> int:
        """End of the scenario in milliseconds."""
        return int(self.scenario.horizon_ms)

    def start(self) -> int:
        """Draw when the first fault begins."""
        first = int(self.scenario.warmup_ms) + SETTLED_MS
        span = (self.horizon - first) * FIRST_PART
        return min(first + int(self.uniform() * span), self.horizon)

    def lasting(self, start: int, duration: float) -> dict[str, int]:
        """Give beginning and duration of a window, cut at the horizon."""
        begin = min(start, self.horizon)
        self.ends_ms = max(self.ends_ms, float(begin + duration))
        return {"start_ms": begin, "duration_ms": int(min(duration, self.horizon - begin))}

    def broker(self, *, but: tuple[int, ...] = ()) -> int:
        """Draw a broker."""
        brokers = [b for b in self.scenario.cluster.brokers if b not in but]
        return int(self.pick(brokers or self.scenario.cluster.brokers))

    def replicated(self) -> tuple[str, int, tuple[int, ...]]:
        """Draw a partition, one with a follower if there is any: topic, number, replicas."""
        every = [(t.name, p, r) for t in self.scenario.topics for p, r in t.assignment.items()]
        found: tuple[str, int, tuple[int, ...]] = self.pick(
            [one for one in every if len(one[2]) > 1] or every
        )
        return found

    def follower(self) -> tuple[int, str, int]:
        """Draw a follower of a partition: broker, topic, number."""
        topic, partition, replicas = self.replicated()
        return int(self.pick(replicas[1:] or replicas)), topic, partition

    def led_by(self, broker: int) -> list[tuple[str, int]]:
        """List the partitions whose preferred leader a broker is: topic, number."""
        return [
            (topic.name, partition)
            for topic in self.scenario.topics
            for partition, replicas in topic.assignment.items()
            if replicas[0] == broker
        ]

    def scope(self, name: str, broker: int) -> str | list[str]:
        """Draw which partitions of a broker a disk fault meets: all, one, or a third of them."""
        scope = self.number(name)
        led = self.led_by(broker)
        if scope == "all" or not led:
            return "all"
        if scope == "one":
            led = [self.pick(led)]
            return [f"{topic}-{partition}" for topic, partition in led]
        first = int(self.uniform() * 3)
        return [f"{topic}-{partition}" for topic, partition in led[first::3] or led[:1]]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way in which things go wrong.

    Attributes:
        draw: gives the faults.
        parameters: names of the distributions it needs.
        kinds: fault kinds that it can draw.
        meaning: one sentence.
        needs: what has to be known of every machine, by the fields of ``hardware``.
    """

    draw: Callable[[Draw], Faults]
    parameters: tuple[str, ...]
    kinds: tuple[str, ...]
    meaning: str
    needs: tuple[str, ...]


PATTERNS: dict[str, Pattern] = {}
"""Every pattern by its name."""

FORMER: Final[Mapping[str, str]] = MappingProxyType({"slow_read": "read_stall"})
"""Former pattern (to 0.2.0) -> the one to write instead."""


def unknown_speed(patterns: Iterable[str], cluster: Cluster) -> tuple[str, int, str] | None:
    """Find a pattern that cannot be drawn: it, a broker, and what is not known of its machine."""
    return next(
        (
            (pattern, broker, field)
            for pattern in patterns
            for field in PATTERNS[pattern].needs
            for broker in cluster.brokers
            if getattr(cluster.hardware_of(broker), field) is None
        ),
        None,
    )


def instead(name: str, names: Iterable[str]) -> str:
    """What may stand where an unknown pattern does, or an unknown parameter of one."""
    pattern, dot, _ = name.partition(".")
    if pattern not in FORMER:
        return close_or_all(name, names)
    return f"no parameter of {pattern}, which is gone" if dot else FORMER[pattern]


def _pattern(
    *parameters: str, kinds: tuple[str, ...] = (), needs: tuple[str, ...] = ()
) -> Callable[[Callable[[Draw], Faults]], Callable[[Draw], Faults]]:
    """Register a pattern under its function's name."""

    def register(function: Callable[[Draw], Faults]) -> Callable[[Draw], Faults]:
        name = function.__name__
        needed = tuple(p if "." in p else f"{name}.{p}" for p in parameters)
        meaning = (function.__doc__ or "").splitlines()[0]
        PATTERNS[name] = Pattern(function, needed, kinds or (name,), meaning, needs)
        return function

    return register


# ---------------------------------------------------------------------------- single faults


@_pattern(kinds=("none",))
def quiet(_: Draw) -> Faults:
    """Nothing happens."""
    return []


@_pattern("duration_ms", "scope", "stage", "reads")
def read_stall(draw: Draw) -> Faults:
    """A leader's disk (or its page cache) lets reads or sends hang."""
    broker = draw.broker()
    fault = {
        "kind": "read_stall",
        "broker": broker,
        **draw.lasting(draw.start(), draw.number("read_stall.duration_ms")),
        "partitions": draw.scope("read_stall.scope", broker),
        "stage": draw.number("read_stall.stage"),
    }
    if fault["stage"] == "handler":
        fault["reads"] = draw.number("read_stall.reads")
    return [fault]


@_pattern("duration_ms", "append_ms", "role")
def slow_append(draw: Draw) -> Faults:
    """A broker's disk writes slowly, for the partitions that it follows, leads, or both."""
    return [
        {
            "kind": "slow_append",
            "broker": draw.broker(),
            **draw.lasting(draw.start(), draw.number("slow_append.duration_ms")),
            "append_ms": draw.number("slow_append.append_ms"),
            **_role(draw),
        }
    ]


def _role(draw: Draw) -> dict[str, str]:
    """Whose appends are slow, where it is not as in a fault that says nothing."""
    role = draw.number("slow_append.role")
    return {} if role == "follower" else {"role": role}


@_pattern("duration_ms")
def pause(draw: Draw) -> Faults:
    """A broker's process stops for a while (a GC pause, a frozen virtual machine)."""
    window = draw.lasting(draw.start(), draw.number("pause.duration_ms"))
    return [{"kind": "pause", "broker": draw.broker(), **window}]


@_pattern("duration_ms", "factor")
def cpu(draw: Draw) -> Faults:
    """A broker's processors are busy with something else."""
    window = draw.lasting(draw.start(), draw.number("cpu.duration_ms"))
    factor = draw.number("cpu.factor")
    return [{"kind": "cpu", "broker": draw.broker(), **window, "factor": factor}]


@_pattern("duration_ms", "latency_ms", "drop", "peer", "both_ways")
def link(draw: Draw) -> Faults:
    """The network between two nodes drops or delays."""
    source = draw.broker()
    peer = draw.number("link.peer")
    window = draw.lasting(draw.start(), draw.number("link.duration_ms"))
    effect: dict[str, Any] = {"latency_ms": draw.number("link.latency_ms")}
    if draw.number("link.drop"):
        effect = {"drop": True}
    return [
        {
            "kind": "link",
            "from": source,
            "to": "controller" if peer == "controller" else draw.broker(but=(source,)),
            **window,
            **effect,
            "both_ways": draw.number("link.both_ways"),
        }
    ]


@_pattern("restart_after_ms", "lost")
def crash(draw: Draw) -> Faults:
    """A broker is killed, or its machine dies, and comes back, perhaps after the horizon."""
    return [{**_crash(draw, draw.broker(), draw.start()), **_lost(draw)}]


def _lost(draw: Draw) -> dict[str, str]:
    lost = draw.number("crash.lost")
    return {} if lost == "nothing" else {"lost": lost}


@_pattern(
    "controller_ms",
    "connections",
    "crash.restart_after_ms",
    "crash.lost",
    kinds=("crash", "controller_outage"),
)
def node_death(draw: Draw) -> Faults:
    """A machine dies that is a broker and the active controller."""
    death = {**_crash(draw, draw.broker(), draw.start()), "kind": "node_death"}
    controller_ms, lost = draw.number("node_death.controller_ms"), _lost(draw)
    connections = draw.number("node_death.connections")
    if lost:  # it was the machine
        connections = "hang"
    return [{**death, "controller_ms": controller_ms, **lost, "connections": connections}]


def _crash(draw: Draw, broker: int, start: int) -> dict[str, Any]:
    return {
        "kind": "crash",
        "broker": broker,
        "start_ms": min(start, draw.horizon),
        "restart_after_ms": draw.number("crash.restart_after_ms"),
    }


@_pattern("downtime_ms", "shutdown_ms")
def controlled_restart(draw: Draw) -> Faults:
    """A broker is restarted as operators do it."""
    return [_restart(draw, draw.broker(), draw.start())]


def _restart(draw: Draw, broker: int, start: int) -> dict[str, Any]:
    shutdown = draw.number("controlled_restart.shutdown_ms")
    downtime = draw.number("controlled_restart.downtime_ms")
    return {
        "kind": "controlled_restart",
        "broker": broker,
        "start_ms": min(start, draw.horizon),
        "downtime_ms": max(downtime, shutdown),
        "shutdown_ms": shutdown,
    }


@_pattern()
def log_dir_failure(draw: Draw) -> Faults:
    """A disk of a broker dies."""
    return [_dead_disk(draw, draw.broker(), draw.start())]


def _dead_disk(draw: Draw, broker: int, start: int) -> dict[str, Any]:
    log_dir = draw.pick(range(draw.scenario.cluster.log_dirs_of(broker)))
    at = min(start, draw.horizon)
    return {"kind": "log_dir_failure", "broker": broker, "log_dir": log_dir, "start_ms": at}


@_pattern("duration_ms", "sessions")
def controller_outage(draw: Draw) -> Faults:
    """The controller is gone, or stands still."""
    window = draw.lasting(draw.start(), draw.number("controller_outage.duration_ms"))
    sessions = draw.number("controller_outage.sessions")
    return [{"kind": "controller_outage", **window, "sessions": sessions}]


@_pattern("records")
def produce_burst(draw: Draw) -> Faults:
    """A producer sends very many records at once."""
    topic, partition, _ = draw.replicated()
    records = draw.number("produce_burst.records")
    return [
        {
            "kind": "produce_burst",
            "topic": topic,
            "partition": partition,
            "start_ms": draw.start(),
            "records": records,
        }
    ]


@_pattern("duration_ms", "factor", "whole_topic")
def produce_rate(draw: Draw) -> Faults:
    """The load of a topic, or of one partition, changes for a while."""
    topic, partition, _ = draw.replicated()
    return [
        {
            "kind": "produce_rate",
            "topic": topic,
            "partition": "all" if draw.number("produce_rate.whole_topic") else partition,
            **draw.lasting(draw.start(), draw.number("produce_rate.duration_ms")),
            "factor": draw.number("produce_rate.factor"),
        }
    ]


@_pattern("duration_ms", "requests_per_s", "request_us", "connections")
def client_surge(draw: Draw) -> Faults:
    """Clients storm a broker with requests."""
    return [_surge(draw, draw.broker(), draw.start())]


def _surge(draw: Draw, broker: int, start: int) -> dict[str, Any]:
    return {
        "kind": "client_surge",
        "broker": broker,
        **draw.lasting(start, draw.number("client_surge.duration_ms")),
        "requests_per_s": draw.number("client_surge.requests_per_s"),
        "request_us": draw.number("client_surge.request_us"),
        "connections": draw.number("client_surge.connections"),
    }


@_pattern("error", "fetcher", "repeated", "duration_ms")
def partition_error(draw: Draw) -> Faults:
    """A follower meets an error on one partition."""
    return [_poison(draw, draw.start())]


def _poison(draw: Draw, start: int) -> dict[str, Any]:
    broker, topic, partition = draw.follower()
    fault = {
        "kind": "partition_error",
        "broker": broker,
        "topic": topic,
        "partition": partition,
        "start_ms": min(start, draw.horizon),
        "error": draw.number("partition_error.error"),
        "fetcher": draw.number("partition_error.fetcher"),
    }
    if draw.number("partition_error.repeated"):
        fault |= draw.lasting(start, draw.number("partition_error.duration_ms"))
    return fault


@_pattern()
def stop_replica(draw: Draw) -> Faults:
    """A follower is told to stop replicating a partition."""
    broker, topic, partition = draw.follower()
    return [
        {
            "kind": "stop_replica",
            "broker": broker,
            "topic": topic,
            "partition": partition,
            "start_ms": draw.start(),
        }
    ]


@_pattern()
def preferred_election(draw: Draw) -> Faults:
    """An operator (or the rebalancer) moves a leadership."""
    topic, partition, replicas = draw.replicated()
    return [
        {
            "kind": "preferred_election",
            "topic": topic,
            "partition": partition,
            "leader": draw.pick(replicas[1:] or replicas),
            "start_ms": draw.start(),
        }
    ]


@_pattern("records")
def bootstrap(draw: Draw) -> Faults:
    """A follower starts anew, far behind."""
    broker, topic, partition = draw.follower()
    return [
        {
            "kind": "bootstrap",
            "broker": broker,
            "topic": topic,
            "partition": partition,
            "start_ms": draw.start(),
            "records": draw.number("bootstrap.records"),
        }
    ]


_WRITES, _READS = "disk_write_bytes_per_s", "disk_read_bytes_per_s"


@_pattern("write_factor", "read_factor", "duration_ms", needs=(_WRITES, _READS))
def slow_disk(draw: Draw) -> Faults:
    """A broker's disk has a part of its speed: credits are spent, others share it, or it dies."""
    return [
        {
            "kind": "slow_disk",
            "broker": draw.broker(),
            **draw.lasting(draw.start(), draw.number("slow_disk.duration_ms")),
            "write_factor": draw.number("slow_disk.write_factor"),
            "read_factor": draw.number("slow_disk.read_factor"),
        }
    ]


@_pattern("duration_ms", "connections", "bytes_per_s", needs=(_READS,))
def cold_reader(draw: Draw) -> Faults:
    """Clients read what a broker's page cache has no longer: a replay, a backup."""
    return [
        {
            "kind": "cold_reader",
            "broker": draw.broker(),
            **draw.lasting(draw.start(), draw.number("cold_reader.duration_ms")),
            "connections": draw.number("cold_reader.connections"),
            "bytes_per_s": draw.number("cold_reader.bytes_per_s"),
        }
    ]


@_pattern("away_ms")
def returned_broker(draw: Draw) -> Faults:
    """A broker is back, and fetches all that came while it was away."""
    draw.away[draw.broker()] = draw.number("returned_broker.away_ms")
    return []


# ---------------------------------------------------------------------------- chains


@_pattern("duration_ms", "power", kinds=("crash", "link"))
def rack_outage(draw: Draw) -> Faults:
    """A rack loses power (and what was not flushed) or its network: all its brokers at once."""
    inside = _rack(draw)
    window = draw.lasting(draw.start(), draw.number("rack_outage.duration_ms"))
    if draw.number("rack_outage.power"):
        start, after = window["start_ms"], window["duration_ms"]
        together = {"power_domain": inside, "lost": "tail"}
        return [{"kind": "crash", **together, "start_ms": start, "restart_after_ms": after}]
    outside = [b for b in draw.scenario.cluster.brokers if b not in inside]
    return [
        {"kind": "link", "from": one, "to": other, **window, "drop": True, "both_ways": True}
        for one in inside
        for other in (*outside, "controller")
    ]


def _rack(draw: Draw) -> list[int]:
    """Draw the brokers of a rack; a broker without one is a rack of its own."""
    cluster = draw.scenario.cluster
    racks: dict[str | int, list[int]] = {}
    for broker in cluster.brokers:
        racks.setdefault(cluster.racks.get(broker, broker), []).append(broker)
    found: list[int] = draw.pick(racks.values())
    return found


@_pattern(
    "duration_ms",
    "after",
    "scope",
    "death",
    "crash.restart_after_ms",
    kinds=("read_stall", "crash", "log_dir_failure"),
)
def stall_then_death(draw: Draw) -> Faults:
    """A leader's disk stalls, and then the disk or the broker dies: KIP-501's story."""
    broker, start = draw.broker(), draw.start()
    window = draw.lasting(start, draw.number("stall_then_death.duration_ms"))
    stall = {
        "kind": "read_stall",
        "broker": broker,
        **window,
        "partitions": draw.scope("stall_then_death.scope", broker),
    }
    at = start + int(window["duration_ms"] * draw.number("stall_then_death.after"))
    dies = _dead_disk if draw.number("stall_then_death.death") == "disk" else _crash
    return [stall, dies(draw, broker, at)]


@_pattern(
    "duration_ms",
    "after",
    "death",
    "slow_disk.write_factor",
    "crash.restart_after_ms",
    kinds=("slow_disk", "crash", "log_dir_failure"),
    needs=(_WRITES,),
)
def slow_disk_then_death(draw: Draw) -> Faults:
    """A disk writes too slowly for its load, and then it or its broker dies (KIP-501)."""
    broker, start = draw.broker(), draw.start()
    window = draw.lasting(start, draw.number("slow_disk_then_death.duration_ms"))
    factor = draw.number("slow_disk.write_factor")
    slow = {"kind": "slow_disk", "broker": broker, **window, "write_factor": factor}
    at = start + int(window["duration_ms"] * draw.number("slow_disk_then_death.after"))
    dies = _dead_disk if draw.number("slow_disk_then_death.death") == "disk" else _crash
    return [slow, dies(draw, broker, at)]


@_pattern("duration_ms", "after", "crash.restart_after_ms", kinds=("link", "crash"))
def isolated_leader(draw: Draw) -> Faults:
    """A leader loses its followers, though not the controller, and is then killed."""
    broker, start = draw.broker(), draw.start()
    window = draw.lasting(start, draw.number("isolated_leader.duration_ms"))
    links = [
        {"kind": "link", "from": broker, "to": other, **window, "drop": True, "both_ways": True}
        for other in draw.scenario.cluster.brokers
        if other != broker
    ]
    at = start + int(window["duration_ms"] * draw.number("isolated_leader.after"))
    return [*links, _crash(draw, broker, at)]


@_pattern(
    "slow_ms",
    "gap_ms",
    "controlled_restart.downtime_ms",
    "controlled_restart.shutdown_ms",
    kinds=("pause", "controlled_restart"),
)
def rolling_restart_over_shrunk_isr(draw: Draw) -> Faults:
    """The brokers are restarted one by one while one of them is not keeping up."""
    slow, start = draw.broker(), draw.start()
    window = draw.lasting(start, draw.number("rolling_restart_over_shrunk_isr.slow_ms"))
    faults: Faults = [{"kind": "pause", "broker": slow, **window}]
    at = start
    for broker in draw.scenario.cluster.brokers:
        if broker == slow:
            continue
        at += int(draw.number("rolling_restart_over_shrunk_isr.gap_ms"))
        if at >= draw.horizon:
            break
        faults.append(_restart(draw, broker, at))
    return faults


@_pattern(
    "duration_ms",
    "slow_append.append_ms",
    "slow_append.role",
    "client_surge.duration_ms",
    "client_surge.requests_per_s",
    "client_surge.request_us",
    "client_surge.connections",
    kinds=("slow_append", "client_surge"),
)
def surge_on_slow_disk(draw: Draw) -> Faults:
    """Clients storm a broker whose disk is slow."""
    broker, start = draw.broker(), draw.start()
    window = draw.lasting(start, draw.number("surge_on_slow_disk.duration_ms"))
    append_ms = draw.number("slow_append.append_ms")
    surge = _surge(draw, broker, start + int(window["duration_ms"] * draw.uniform() / 2))
    slow = {"kind": "slow_append", "broker": broker, **window}
    return [{**slow, "append_ms": append_ms, **_role(draw)}, surge]


def _every(draw: Draw, start: int, gap: str) -> Iterator[int]:
    """Give moments until shortly before the horizon, a drawn gap apart."""
    at = start
    for _ in range(REPEATS_MAX):
        if at >= draw.horizon:
            return
        yield at
        at += max(1, int(draw.number(gap)))


@_pattern("duration_ms", "gap_ms", kinds=("read_stall",))
def alternating_stalls(draw: Draw) -> Faults:
    """Short read stalls go round all brokers: what makes Solution 2 flap."""
    brokers = draw.scenario.cluster.brokers
    first = int(draw.uniform() * len(brokers))
    return [
        {
            "kind": "read_stall",
            "broker": brokers[(first + i) % len(brokers)],
            **draw.lasting(at, draw.number("alternating_stalls.duration_ms")),
        }
        for i, at in enumerate(_every(draw, draw.start(), "alternating_stalls.gap_ms"))
    ]


@_pattern("duration_ms", "gap_ms", kinds=("pause",))
def flapping_follower(draw: Draw) -> Faults:
    """A broker stops again and again, about as long as the lag limit."""
    broker = draw.broker()
    faults: Faults = []
    end = -1
    for at in _every(draw, draw.start(), "flapping_follower.gap_ms"):
        window = draw.lasting(max(at, end + 500), draw.number("flapping_follower.duration_ms"))
        if window["start_ms"] >= draw.horizon:
            break
        end = window["start_ms"] + window["duration_ms"]
        faults.append({"kind": "pause", "broker": broker, **window})
    return faults


@_pattern(
    "before_ms",
    "controller_outage.duration_ms",
    "controller_outage.sessions",
    "crash.restart_after_ms",
    kinds=("controller_outage", "crash"),
)
def crash_without_controller(draw: Draw) -> Faults:
    """A broker is killed while there is no controller to elect another leader."""
    start = draw.start()
    window = draw.lasting(start, draw.number("controller_outage.duration_ms"))
    sessions = draw.number("controller_outage.sessions")
    outage = {"kind": "controller_outage", **window, "sessions": sessions}
    at = start + int(draw.number("crash_without_controller.before_ms"))
    return [outage, _crash(draw, draw.broker(), at)]


@_pattern("gap_ms", "crash.restart_after_ms", kinds=("crash",))
def crash_after_crash(draw: Draw) -> Faults:
    """A broker is killed, and soon a second one, as when a rack loses power."""
    broker, start = draw.broker(), draw.start()
    second = draw.broker(but=(broker,))
    at = start + int(draw.number("crash_after_crash.gap_ms"))
    return [_crash(draw, broker, start), _crash(draw, second, at)]


@_pattern(
    "after_ms",
    "partition_error.error",
    "partition_error.fetcher",
    "partition_error.repeated",
    "partition_error.duration_ms",
    kinds=("partition_error", "preferred_election"),
)
def poison_then_election(draw: Draw) -> Faults:
    """A partition fails on a follower, and its leadership moves later: KIP-461's way back."""
    start = draw.start()
    poison = _poison(draw, start)
    assignment = next(
        topic.assignment for topic in draw.scenario.topics if topic.name == poison["topic"]
    )
    replicas = assignment[poison["partition"]]
    others = [broker for broker in replicas[1:] if broker != poison["broker"]]
    at = start + int(draw.number("poison_then_election.after_ms"))
    election = {
        "kind": "preferred_election",
        "topic": poison["topic"],
        "partition": poison["partition"],
        "leader": draw.pick(others or replicas),
        "start_ms": min(at, draw.horizon),
    }
    return [poison, election]


# ---------------------------------------------------------------------------- parameters

_SCOPE = one_of("all", "one", "some")
_TRUTH = BOOLEAN
_PART = number(0, 10, "a number 0..10 (times the duration)", high_too=True)


PARAMETERS: dict[str, Check] = {
    "read_stall.scope": _SCOPE,
    "read_stall.stage": one_of("handler", "send"),
    "read_stall.reads": one_of("direct", "completion", "all", "visits"),
    "slow_append.append_ms": MS,
    "slow_append.role": one_of(*APPEND_ROLES),
    "cpu.factor": POSITIVE,
    "link.latency_ms": MS,
    "link.drop": _TRUTH,
    "link.peer": one_of("broker", "controller"),
    "link.both_ways": _TRUTH,
    "crash.restart_after_ms": MS,
    "crash.lost": one_of("nothing", "tail", "all"),
    "node_death.controller_ms": MS,
    "node_death.connections": one_of("close", "hang"),
    "controlled_restart.downtime_ms": MS,
    "controlled_restart.shutdown_ms": MS,
    "controller_outage.sessions": one_of("fresh", "resumed"),
    "produce_burst.records": COUNT,
    "produce_rate.factor": RATE,
    "produce_rate.whole_topic": _TRUTH,
    "client_surge.requests_per_s": RATE,
    "client_surge.request_us": US,
    "client_surge.connections": CONNECTIONS,
    "partition_error.error": one_of("storage", "unexpected", "fenced_epoch", "corrupt_record"),
    "partition_error.fetcher": one_of("Replica", "ReplicaAlterLogDirs"),
    "partition_error.repeated": _TRUTH,
    "bootstrap.records": COUNT,
    "slow_disk.write_factor": PART,
    "slow_disk.read_factor": PART,
    "cold_reader.connections": READERS,
    "cold_reader.bytes_per_s": PACE,
    "returned_broker.away_ms": MS,
    "stall_then_death.after": _PART,
    "stall_then_death.scope": _SCOPE,
    "stall_then_death.death": one_of("crash", "disk"),
    "slow_disk_then_death.after": _PART,
    "slow_disk_then_death.death": one_of("crash", "disk"),
    "isolated_leader.after": _PART,
    "rolling_restart_over_shrunk_isr.slow_ms": MS,
    "rack_outage.power": _TRUTH,
    **{
        name: MS
        for pattern in PATTERNS.values()
        for name in pattern.parameters
        if name.endswith((".duration_ms", ".gap_ms", ".before_ms", ".after_ms"))
    },
}
"""Every parameter of a fault profile, and what its values may be."""

assert all(name in PARAMETERS for pattern in PATTERNS.values() for name in pattern.parameters)
