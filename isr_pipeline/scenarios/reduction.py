"""A large cluster simulated with some of its partitions: who is kept, and for how many each stands.

Every broker stays, and of each class of partitions at least one. A kept partition has a weight, the
number of partitions that it stands for; all weights together are the partitions of the whole. What
is counted of a partition counts by its weight, so a rate over all partitions is estimated without
bias: within a class each partition is kept with a probability in proportion to what it stands for.

A class is what decides a partition's fate: its leader, its other replicas with their order and log
dirs, its ISR as it stands, the settings and the kind of load of its topic, its rate within a factor
of four. If there are more such classes than partitions to keep, those of one leader and one kind
of topic are joined, then those of one leader. Partitions that were joined are sorted by what told
them apart, and every n-th is kept, so that followers, log dirs and rates keep their shares.

The load of partitions that are not kept stays on their leaders: their produce requests' and reads'
handler time is added to the time of the brokers' other client requests.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from isr_pipeline.errors import InputError
from isr_pipeline.scenarios.model import ProduceStream, Scenario, Topic

Name = tuple[str, int]
"""Topic and number of a partition."""

RATE_FACTOR = 4.0
"""Rates of one class differ by no more than about this factor."""

FEW_REQUESTS_PER_S = 100.0
"""Other client requests that carry the load on a broker that has none of its own."""

LEAST = 3
"""Partitions to keep for each leader: a fault of a disk may meet a third of those that it leads."""

_LEVELS = ("none joined", "followers and rates joined", "kinds of topics joined as well")


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is kept of a cluster.

    Attributes:
        weights: kept partition -> how many it stands for.
        service: broker -> service times that carry the load of what is not kept.
        of: partitions of the whole, by weight; ``classes``: how many classes they fall into.
        joined: how classes were formed, in words.
        draw: number of the draw.
    """

    weights: dict[Name, int]
    service: dict[int, dict[str, float]]
    of: int
    classes: int
    joined: str
    draw: int

    @property
    def sentence(self) -> str:
        """Say who stands for all; empty where all are kept."""
        kept = len(self.weights)
        if kept == self.of:
            return ""
        return (
            f"{kept} of {self.of} partitions stand for all "
            f"({self.classes} classes, {self.joined}; draw {self.draw})"
        )


@dataclass(frozen=True, slots=True)
class _Partition:
    """A partition with what tells it apart.

    Attributes:
        weight: how many it stands for already.
        kind: of its topic: settings and streams, without names.
        placed: replicas, log dirs, who is outside the ISR.
        rate: its class of rates; -1 if idle.
        handler_us_per_s: time that handlers of its leader spend on it.
    """

    name: Name
    weight: int
    leader: int
    kind: tuple[Any, ...]
    placed: tuple[Any, ...]
    rate: int
    handler_us_per_s: float

    @property
    def whole(self) -> Hashable:
        """All that decides its fate."""
        return (self.leader, self.kind, self.placed, self.rate)


_KEYS: tuple[Callable[[_Partition], Hashable], ...] = (
    lambda one: one.whole,
    lambda one: (one.leader, one.kind),
    lambda one: one.leader,
)


def reduce(
    healthy: Scenario,
    partitions: int,
    draw: int,
    *,
    where: str,
    hourly_load: Sequence[float] = (),
) -> Reduction:
    """Choose which partitions of a cluster are simulated.

    Args:
        healthy: the cluster and its load; its partitions may stand for others already.
        partitions: how many to keep; with as many as there are, all are kept.
        draw: the same number keeps the same ones.
        where: named in errors.
        hourly_load: factors of all rates by the hour; the load that is carried is the average one.

    Raises:
        InputError: fewer than `LEAST` for each broker that leads one.
    """
    every = [one for topic in healthy.topics for one in _partitions(topic, healthy)]
    least = fewest_kept(healthy)
    if partitions < least:
        each = f"{LEAST} for each broker that leads partitions"
        each = each if least < len(every) else "all that there are"
        allowed = f"at least {least} ({each})"
        raise InputError(where, "partitions", partitions, allowed)
    members, joined = _classes(every, partitions)
    counts = _shared_out(partitions, members)
    weights: dict[Name, int] = {}
    for those, count in zip(members, counts, strict=True):
        weights.update(_kept(those, count, draw))
    factor = sum(hourly_load) / len(hourly_load) if hourly_load else 1.0
    return Reduction(
        {one.name: weights[one.name] for one in every if one.name in weights},
        _carried([one for one in every if one.name not in weights], healthy, factor),
        sum(one.weight for one in every),
        len(members),
        joined,
        draw,
    )


def fewest_kept(healthy: Scenario) -> int:
    """How few partitions of a cluster may be kept."""
    every = [(topic, n) for topic in healthy.topics for n in topic.assignment]
    leaders = {topic.leaders.get(n, topic.assignment[n][0]) for topic, n in every}
    return min(len(every), LEAST * len(leaders))


def _classes(every: Sequence[_Partition], most: int) -> tuple[list[list[_Partition]], str]:
    """The finest classes of which there are at most so many, each sorted; how they were formed."""
    for key, joined in zip(_KEYS, _LEVELS, strict=True):
        classes: dict[Hashable, list[_Partition]] = defaultdict(list)
        for one in every:
            classes[key(one)].append(one)
        if len(classes) <= most:
            return [sorted(those, key=_order) for those in classes.values()], joined
    raise AssertionError("the coarsest classes are the leaders")


def _partitions(topic: Topic, healthy: Scenario) -> list[_Partition]:
    rates = [stream.rates() for stream in topic.produce]
    kind = (
        tuple(sorted((key, str(value)) for key, value in topic.settings.items())),
        tuple(
            (s.acks, s.records_per_batch, s.record_bytes, s.start_ms, s.duration_ms)
            for s in topic.produce
        ),
    )
    found = []
    for number, replicas in topic.assignment.items():
        sends = [
            (stream, of.get(number, stream.records_per_s))
            for stream, of in zip(topic.produce, rates, strict=True)
            if stream.partitions is None or number in stream.partitions
        ]
        leader = topic.leaders.get(number, replicas[0])
        records_per_s = sum(rate for _, rate in sends)
        found.append(
            _Partition(
                (topic.name, number),
                topic.weights.get(number, 1),
                leader,
                (*kind, len(replicas), records_per_s > 0),
                (
                    replicas,
                    topic.log_dirs.get(number, ()),
                    tuple(sorted(topic.behind.get(number, ()))),
                ),
                round(math.log(records_per_s * 1e6, RATE_FACTOR)) if records_per_s > 0 else -1,
                _handler_us_per_s(sends, len(replicas) - 1, leader, healthy),
            )
        )
    return found


def _handler_us_per_s(
    sends: Sequence[tuple[ProduceStream, float]], followers: int, leader: int, healthy: Scenario
) -> float:
    """Time of the leader's handlers a second: its produce requests, and a read by each follower."""
    own = healthy.cluster.broker_service.get(leader, {})
    produce = own.get("produce_us", healthy.service.produce_us)
    read = own.get("handler_read_us", healthy.service.handler_read_us)
    batches = sum(rate / stream.records_per_batch for stream, rate in sends)
    return batches * (produce + followers * read)


def _order(one: _Partition) -> tuple[Any, ...]:
    return (str(one.kind), one.placed, one.rate, one.name)


# ---------------------------------------------------------------------------- who is kept


def _shared_out(partitions: int, members: Sequence[Sequence[_Partition]]) -> list[int]:
    """How many of each class are kept: one, and the rest by what the classes stand for."""
    sizes = np.array([sum(one.weight for one in those) for those in members], dtype=float)
    most = np.array([len(those) for those in members])
    counts = np.ones(len(members), dtype=int)
    wanted = sizes * partitions / sizes.sum()
    left = min(partitions, int(most.sum())) - len(members)
    while left > 0:
        missing = np.where(counts < most, np.maximum(wanted - counts, 1e-9), 0.0)
        share = missing * left / missing.sum()
        more = np.minimum(np.floor(share).astype(int), most - counts)
        if not more.any():
            largest = np.argsort(-np.where(counts < most, share, -1.0), kind="stable")[:left]
            more = np.zeros_like(counts)
            more[largest] = counts[largest] < most[largest]
        counts += more
        left -= int(more.sum())
    return [int(count) for count in counts]


def _kept(those: Sequence[_Partition], count: int, draw: int) -> dict[Name, int]:
    """Keep some of a class, each with a probability in proportion to what it stands for."""
    if count >= len(those):
        return {one.name: one.weight for one in those}
    first = those[0]
    text = f"{draw}|{first.leader}|{first.name}|{len(those)}"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")
    random = np.random.Generator(np.random.PCG64(seed))
    ends = np.cumsum([one.weight for one in those])
    step = ends[-1] / count
    points = (random.random() + np.arange(count)) * step
    hit, times = np.unique(np.searchsorted(ends, points, side="right"), return_counts=True)
    return {
        those[at].name: weight
        for at, weight in zip(hit, _whole(times * step, int(ends[-1]), random), strict=True)
    }


def _whole(shares: Any, total: int, random: np.random.Generator) -> list[int]:
    """Round shares to whole numbers with the same sum; chance decides who is rounded up."""
    low = np.floor(shares + 1e-9).astype(int)
    order = random.permutation(len(low))
    largest = order[np.argsort(-(shares - low)[order], kind="stable")]
    low[largest[: total - int(low.sum())]] += 1
    return [int(one) for one in low]


# ---------------------------------------------------------------------------- one alone


def alone(topics: Sequence[Topic], named: Collection[Name]) -> dict[str, dict[int, int]]:
    """Weights of a scenario with faults of single partitions: those stand for themselves alone.

    A fault of one partition hits one, not all that it stands for. What it stood for besides goes to
    the partition that is most like it: with the same leader, then with the most replicas in the
    same places, then of the same topic.

    Args:
        topics: of the cluster.
        named: the partitions that faults hit alone.

    Returns:
        topic -> partition -> weight, of the topics of which a weight changes.
    """
    weights = {topic.name: dict(topic.weights) for topic in topics}
    every = [(t.name, n, replicas) for t in topics for n, replicas in t.assignment.items()]
    changed = set()
    for name, number in sorted(named):
        more = weights[name].get(number, 1) - 1
        others = [one for one in every if one[:2] not in named]
        if more == 0 or not others:
            continue
        replicas = next(one[2] for one in every if one[:2] == (name, number))

        def likeness(
            one: tuple[str, int, tuple[int, ...]],
            replicas: tuple[int, ...] = replicas,
            name: str = name,
        ) -> tuple[bool, int, bool]:
            same = sum(a == b for a, b in zip(one[2], replicas, strict=False))
            return one[2][0] == replicas[0], same, one[0] == name

        heir = max(others, key=likeness)
        weights[name][number] = 1
        weights[heir[0]][heir[1]] = weights[heir[0]].get(heir[1], 1) + more
        changed |= {name, heir[0]}
    return {name: weights[name] for name in sorted(changed)}


# ---------------------------------------------------------------------------- their load


def _carried(
    left_out: Sequence[_Partition], healthy: Scenario, factor: float
) -> dict[int, dict[str, float]]:
    """Service times of the brokers whose handlers work for partitions that are not kept."""
    times: dict[int, float] = defaultdict(float)
    for one in left_out:
        times[one.leader] += factor * one.handler_us_per_s
    found = {}
    for broker, time in sorted(times.items()):
        if time <= 0:
            continue
        own = healthy.cluster.broker_service.get(broker, {})
        rate = own.get("client_requests_per_s", healthy.service.client_requests_per_s)
        each = own.get("client_request_us", healthy.service.client_request_us)
        if rate > 0:
            found[broker] = {"client_request_us": float(round(each + time / rate))}
        else:
            found[broker] = {
                "client_requests_per_s": FEW_REQUESTS_PER_S,
                "client_request_us": float(round(time / FEW_REQUESTS_PER_S)),
            }
    return found


# ---------------------------------------------------------------------------- what is written


def reduced_parts(
    parts: Mapping[str, Any], healthy: Scenario, reduction: Reduction
) -> dict[str, Any]:
    """Give the parts of a scenario with what is kept of its cluster.

    Args:
        parts: ``cluster``, ``topics`` and others, as in a scenario file.
        healthy: the same, checked.
        reduction: of it.
    """
    own = healthy.cluster.broker_service
    service = {
        str(broker): {**own.get(broker, {}), **reduction.service.get(broker, {})}
        for broker in healthy.cluster.brokers
        if own.get(broker) or broker in reduction.service
    }
    topics = [_reduced(topic, reduction.weights) for topic in healthy.topics]
    cluster = {**parts["cluster"], **({"broker_service": service} if service else {})}
    return {**parts, "cluster": cluster, "topics": [one for one in topics if one["assignment"]]}


def _reduced(topic: Topic, weights: Mapping[Name, int]) -> dict[str, Any]:
    """A topic with the partitions of it that are kept, as in a scenario file."""
    kept = {n: weights[topic.name, n] for n in topic.assignment if (topic.name, n) in weights}
    written = topic.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for name in ("assignment", "leaders", "log_dirs", "behind"):
        if name in written:
            written[name] = {str(n): one for n, one in written[name].items() if int(n) in kept}
    streams = []
    for stream in written.get("produce", ()):
        if stream.get("partitions") is not None:
            stream["partitions"] = [n for n in stream["partitions"] if n in kept]
            if not stream["partitions"]:
                continue
        if "partition_rates" in stream:
            stream["partition_rates"] = {
                str(n): rate for n, rate in stream["partition_rates"] if n in kept
            }
        streams.append(stream)
    written["produce"] = streams
    written["weights"] = {str(n): weight for n, weight in kept.items() if weight > 1}
    return {name: value for name, value in written.items() if name != "weights" or value}
