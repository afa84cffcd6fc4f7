"""What no field of a scenario can know by itself: whether its parts fit one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from isr_pipeline.errors import InputError
from isr_pipeline.files.words import close_or_all, dotted, shown
from isr_pipeline.kafka.broker_config import resolve
from isr_pipeline.kafka.own_rules import rule_set_of
from isr_pipeline.kafka.releases import RULE_SETS
from isr_pipeline.scenarios.faults import Death, PartitionError, Window, us

if TYPE_CHECKING:
    from isr_pipeline.scenarios.model import Scenario, Topic


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
            with_kraft = ", ".join(name for name, one in RULE_SETS.items() if one.kraft)
            allowed = f"zookeeper (KRaft only with {with_kraft})"
            self.refuse("controller", "kraft", allowed)
        for name in ("log_dirs", "racks", "broker_settings", "broker_service"):
            for broker in getattr(cluster, name):
                if broker not in cluster.brokers:
                    given = _Description("unknown broker")
                    self.refuse(name, given, self.brokers(), str(broker))
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

    def brokers(self) -> str:
        return _listed(self.scenario.cluster.brokers)

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
                    self.refuse("partitions", partition, _listed(topic.assignment), k)
            for partition, _ in stream.partition_rates:
                if partition not in topic.assignment:
                    given = _Description("unknown partition")
                    allowed = _listed(topic.assignment)
                    self.refuse("partition_rates", given, allowed, str(partition))
        self.at = here

    def standing(self, topic: Topic) -> None:
        """Leaders, ISRs and log dirs as they stand name replicas, and dirs of their brokers."""
        for name in ("leaders", "log_dirs", "behind", "weights"):
            for partition in getattr(topic, name):
                if partition not in topic.assignment:
                    given = _Description("unknown partition")
                    self.refuse(name, given, _listed(topic.assignment), str(partition))
        for partition, leader in topic.leaders.items():
            if leader not in topic.assignment[partition]:
                words = f" (the replicas of {topic.name}-{partition})"
                allowed = _listed(topic.assignment[partition]) + words
                self.refuse("leaders", leader, allowed, str(partition))
        for partition, outside in topic.behind.items():
            replicas = topic.assignment[partition]
            leader = topic.leaders.get(partition, replicas[0])
            words = f" (replicas of {topic.name}-{partition} that do not lead it)"
            followers = [broker for broker in replicas if broker != leader]
            for broker in outside:
                if broker not in followers:
                    given = _Description("leads it" if broker == leader else "no replica")
                    allowed = (_listed(followers) or "nothing") + words
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
        if getattr(fault, "partitions", "all") != "all":
            self.hosted(fault)

    def death(self, i: int, death: Death) -> None:
        """It names a rack or a power domain that exists, and alone lets brokers lose together."""
        cluster = self.scenario.cluster
        dying = death.together(cluster.racks)
        if not dying:
            allowed = (
                _listed(sorted(set(cluster.racks.values()))) or "nothing: no broker has a rack"
            )
            self.refuse("rack", death.rack, allowed)
        for j, broker in enumerate(death.power_domain or ()):
            if broker not in cluster.brokers:
                self.refuse("power_domain", broker, self.brokers(), j)
        if death.broker is not None and death.broker not in dying:
            named = "power_domain" if death.rack is None else "rack"
            self.refuse("broker", death.broker, f"{_listed(dying)} (the {named})")
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
            self.refuse("partition", fault.partition, more + _listed(assignment))
        for name in ("broker", "leader"):
            broker = getattr(fault, name, None)
            if broker is not None and broker not in assignment[fault.partition]:
                words = f" (the replicas of {fault.topic}-{fault.partition})"
                self.refuse(name, broker, _listed(assignment[fault.partition]) + words)

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


def _listed(values: Iterable[object]) -> str:
    """List values for an error line; a long list is cut in its middle."""
    names = [str(value) for value in values]
    return ", ".join(names if len(names) <= 20 else [*names[:8], "...", *names[-2:]])
