"""What a scenario's load asks of each machine, before anything is simulated."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from isr_pipeline.base.files.words import counted
from isr_pipeline.scenarios.model import Cluster, Scenario, Topic

TOLD_MAX = 3
"""Disks that have a line of their own."""

LogDir = tuple[int, int]
"""A broker, and the number of its log dir."""
Window = tuple[float, float]
"""Begin and end, in milliseconds."""
Rates = Mapping[Window, float]
"""Bytes a second that come in a window; windows may overlap."""


@dataclass(frozen=True, slots=True)
class Overload:
    """A disk that is asked for more than it writes.

    Attributes:
        at: the broker and its log dir.
        asked: bytes a second, at most; ``writes``: what it can.
        lasts_ms: how long more than that is asked.
    """

    at: LogDir
    asked: float
    writes: int
    lasts_ms: float


def disks_asked(scenario: Scenario, hourly_load: Sequence[float] = ()) -> Iterator[str]:
    """Say which disks are asked for more than they write, one sentence each, the worst first.

    A burst may be meant so, hence nothing is refused. What faults change is left out.

    Args:
        scenario: whose load it is.
        hourly_load: what its rates are multiplied by in each hour of a day; empty: by nothing.
    """
    cluster, horizon_ms = scenario.cluster, scenario.horizon_ms
    scenario, hour = _busiest(scenario, hourly_load)
    found = sorted(overloads(scenario), key=lambda one: one.writes / one.asked)
    for one in found[:TOLD_MAX]:
        part = f", for {one.lasts_ms / 1000:g} of {horizon_ms / 1000:g} s"
        yield (
            f"broker {one.at[0]} is asked to write {_mb(one.asked)} MB/s{_to(cluster, one.at)} and "
            f"writes {_mb(one.writes)}{part if one.lasts_ms < horizon_ms else ''}{hour}"
        )
    if len(found) > TOLD_MAX:
        others = counted(len(found) - TOLD_MAX, "other disk")
        yield f"asked for more than they write as well: {others}"


def first_to_saturate(scenario: Scenario, hourly_load: Sequence[float] = ()) -> Iterator[str]:
    """Say which disk and which NIC saturates first, a sentence each, if their speeds are known.

    Args:
        scenario: whose load it is.
        hourly_load: as for :func:`disks_asked`.
    """
    cluster = scenario.cluster
    scenario, hour = _busiest(scenario, hourly_load)
    asked_of = _carried(scenario)
    machines = {broker: cluster.hardware_of(broker) for broker in cluster.brokers}
    for verb, part, of, field in (
        ("writes", "disk", _peaks(_written(scenario)), "disk_write_bytes_per_s"),
        ("receives", "NIC", asked_of.received, "nic_bytes_per_s"),
        ("sends", "NIC", asked_of.sent, "nic_bytes_per_s"),
    ):
        known = [
            (getattr(machines[at[0]], field) / rate, at, rate)
            for at, rate in of.items()
            if rate > 0 and getattr(machines[at[0]], field) is not None
        ]
        if not known:
            continue
        times, at, rate = min(known)
        able = getattr(machines[at[0]], field)
        where = _to(cluster, at) if verb == "writes" else ""
        without = ", without consumers" if verb == "sends" else ""
        yield (
            f"broker {at[0]} {verb} {_mb(rate)} of {_mb(able)} MB/s{where}{hour}{without}: the "
            f"first {part} to saturate, at {float(f'{times:.3g}'):.12g} times this load"
        )


def _busiest(scenario: Scenario, hourly_load: Sequence[float]) -> tuple[Scenario, str]:
    """The scenario in the busiest hour, and the words for that; as it is if hours are alike."""
    if not hourly_load:
        return scenario, ""
    busy = scenario.model_copy(update={"load_factor": max(hourly_load)})
    return busy, ", in the busiest hour"


@dataclass(frozen=True, slots=True)
class _Carried:
    """Bytes a second that NICs carry at most, by broker and 0: producers' and followers'."""

    received: Mapping[LogDir, float]
    sent: Mapping[LogDir, float]


def _carried(scenario: Scenario) -> _Carried:
    received: dict[LogDir, dict[Window, float]] = defaultdict(lambda: defaultdict(float))
    sent: dict[LogDir, dict[Window, float]] = defaultdict(lambda: defaultdict(float))
    for topic, number, places in _placed(scenario):
        leader = topic.leaders.get(number, places[0][0])
        for window, rate in _produced(scenario, topic, number):
            for broker, _ in places:
                received[broker, 0][window] += rate
            sent[leader, 0][window] += rate * (len(places) - 1)
    return _Carried(_peaks(received), _peaks(sent))


def _peaks(found: Mapping[LogDir, Rates]) -> Mapping[LogDir, float]:
    return {
        at: max((rate for _, rate in _spans(rates)), default=0.0) for at, rates in found.items()
    }


def overloads(scenario: Scenario) -> list[Overload]:
    """Find the disks that are asked for more than they write, in the order of the brokers."""
    speeds = {
        broker: scenario.cluster.hardware_of(broker).disk_write_bytes_per_s
        for broker in scenario.cluster.brokers
    }
    if not any(speeds.values()):
        return []
    found = []
    for at, rates in sorted(_written(scenario).items()):
        writes = speeds[at[0]]
        if writes is None:
            continue
        spans = _spans(rates)
        lasts_ms = sum(length for length, rate in spans if rate > writes)
        if lasts_ms:
            found.append(Overload(at, max(rate for _, rate in spans), writes, lasts_ms))
    return found


def _written(scenario: Scenario) -> Mapping[LogDir, Rates]:
    """What leaders and followers write to each log dir that is written to."""
    found: dict[LogDir, dict[Window, float]] = defaultdict(lambda: defaultdict(float))
    for topic, number, places in _placed(scenario):
        for window, rate in _produced(scenario, topic, number):
            for at in places:
                found[at][window] += rate
    return found


def _produced(scenario: Scenario, topic: Topic, number: int) -> Iterator[tuple[Window, float]]:
    """When, and how many bytes a second, producers send to a partition."""
    for stream in topic.produce:
        rate = stream.rates().get(number, stream.records_per_s) * scenario.load_factor
        if rate <= 0 or (stream.partitions is not None and number not in stream.partitions):
            continue
        duration_ms = stream.duration_ms
        end_ms = scenario.horizon_ms if duration_ms is None else stream.start_ms + duration_ms
        if stream.start_ms < end_ms:
            yield (stream.start_ms, end_ms), rate * stream.record_bytes


def _placed(scenario: Scenario) -> Iterator[tuple[Topic, int, list[LogDir]]]:
    """Each partition with the log dirs of its replicas: those that it says, else round robin."""
    hosted: Counter[int] = Counter()
    for topic in sorted(scenario.topics, key=lambda one: one.name):
        for number, replicas in sorted(topic.assignment.items()):
            robin = [hosted[one] % scenario.cluster.log_dirs_of(one) for one in replicas]
            hosted.update(replicas)
            yield topic, number, [*zip(replicas, topic.log_dirs.get(number, robin), strict=True)]


def _spans(rates: Rates) -> list[tuple[float, float]]:
    """Lengths of the times between two changes, and all that comes in each."""
    changes = sorted({moment for window in rates for moment in window})
    return [
        (end - begin, sum(rate for (first, last), rate in rates.items() if first <= begin < last))
        for begin, end in pairwise(changes)
    ]


def _to(cluster: Cluster, at: LogDir) -> str:
    """Which of a broker's log dirs; nothing if it has one."""
    broker, number = at
    if cluster.log_dirs_of(broker) == 1:
        return ""
    named = cluster.log_dirs.get(broker)
    return f" to log dir {named[number] if named else number}"


def _mb(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e6:.6g}"
