"""What happened in a scenario, told for people: its faults, who was hit, and how each run ended.

`why`, the report and `simulate --trace` tell a scenario alike: the sentences of `Story.lines`, and
the lanes (:mod:`isr_pipeline.report.lanes`) of the partitions that were hit, the most hit first,
one run above the other.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import counted
from isr_pipeline.report.faults import seconds, told_faults
from isr_pipeline.scenarios.model import Scenario, Topic, apply, check_overrides, scenario_from_json
from isr_pipeline.worlds.events import waits_by_load

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from isr_pipeline.verdicts.blame.why import Explanation

Event = dict[str, Any]

Partition = tuple[str, int]
"""(topic, partition)."""

ELECTIONS = ("leader_elected", "unclean_election", "partition_online")
"""Events after which a partition has the leader that they name."""

NOBODY = -1
"""The leader of a partition that has none."""

FEW = 4
"""A scenario of so many partitions is shown whole, in its own order."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a partition stands from ``begin_ms`` to ``end_ms``.

    Attributes:
        leader: broker, or :data:`NOBODY`: the partition is offline.
        isr: as it was last committed.
        failed: followers whose fetcher gave the partition up.
    """

    begin_ms: float
    end_ms: float
    leader: int
    isr: frozenset[int]
    failed: frozenset[int]

    @property
    def ms(self) -> float:
        """How long it lasts."""
        return self.end_ms - self.begin_ms


@dataclass(frozen=True, slots=True)
class Hurt:
    """What a run does to a partition; the more, the worse hit, the first field first.

    Attributes:
        offline_ms: without a leader.
        under_min_ms: with fewer in-sync replicas than min.insync.replicas.
        out_ms: of replicas outside the ISR, summed.
        elections: how often it gets a leader.
    """

    offline_ms: float = 0.0
    under_min_ms: float = 0.0
    out_ms: float = 0.0
    elections: int = 0

    @property
    def sizes(self) -> tuple[float, ...]:
        """In the order in which partitions are ranked."""
        return (self.offline_ms, self.under_min_ms, self.out_ms, self.elections)


class Run:
    """One run of a scenario under one configuration.

    Attributes:
        title: what it is called beside another: ``baseline``, ``tonight``.
        scenario: its configuration laid over it.
        events: what happened, in order of time, in the names of the model page.
        unavailable: partitions that take no acks=all produce for some time, as the outcome counts
            them: a leader that stands still has no event. None where only events are known.
    """

    def __init__(
        self,
        title: str,
        scenario: Scenario,
        events: Iterable[Mapping[str, Any]],
        unavailable: int | None = None,
    ) -> None:
        """Take the events as they are listed or as the table of events keeps them."""
        self.title = title
        self.scenario = scenario
        self.unavailable = unavailable
        self.events = sorted((dict(one) for one in events), key=lambda one: float(one["t_ms"]))

    @cached_property
    def replicas(self) -> dict[Partition, tuple[int, ...]]:
        """Brokers of every partition, the preferred leader first, as the scenario lists them."""
        return {
            (topic.name, number): topic.assignment[number]
            for topic in self.scenario.topics
            for number in sorted(topic.assignment)
        }

    @cached_property
    def by_partition(self) -> dict[Partition, list[Event]]:
        """Events of each partition that has some."""
        found = defaultdict(list)
        for event in self.events:
            if event.get("topic") is not None:
                found[event["topic"], event["partition"]].append(event)
        return dict(found)

    @cached_property
    def standings(self) -> dict[Partition, list[Standing]]:
        """How each partition stands, from 0 to the horizon without a gap."""
        horizon_ms = float(self.scenario.horizon_ms)
        return {
            (topic.name, number): _standings(
                topic, number, self.by_partition.get((topic.name, number), []), horizon_ms
            )
            for topic in self.scenario.topics
            for number in sorted(topic.assignment)
        }

    @cached_property
    def hurt(self) -> dict[Partition, Hurt]:
        """What happened to each partition that has an event."""
        return {
            place: _hurt(len(self.replicas[place]), self.standings[place], events)
            for place, events in self.by_partition.items()
        }

    def sentence(self) -> str:
        """What became of the partitions, without the run's title and a full stop."""
        told = [
            self._out(),
            self._by_load(),
            self._under_min(),
            self._offline(),
            self._refusing(),
            self._elections(),
            self._lost(),
        ]
        return "; ".join(one for one in told if one) or "nothing happens to any partition"

    def _out(self) -> str:
        """Who loses a replica from the ISR; one that begins without it and joins loses none."""
        lost = {place: self._lost_ms(place) for place in self._having("out_ms")}
        firsts = [min(moments) for moments in lost.values() if moments]
        having = [place for place, moments in lost.items() if moments]
        said = _clause(having, "loses", "lose", "replicas from the ISR")
        return f"{said}, the first at {seconds(min(firsts))}" if said else ""

    def _by_load(self) -> str:
        """For what the first follower that load removed had waited, and how many followed."""
        waits = [said for event in self.events for said in waits_by_load(event)]
        if not waits:
            return ""
        more = f", and so {counted(len(waits) - 1, 'more removal')}" if waits[1:] else ""
        return f"by load: {waits[0]}{more}"

    def _lost_ms(self, place: Partition) -> list[float]:
        """When a member of a partition's ISR goes out of it."""
        return [
            after.begin_ms
            for before, after in pairwise(self.standings[place])
            if before.isr - after.isr
        ]

    def _under_min(self) -> str:
        having = self._having("under_min_ms")
        return _lasting(having, self._sum(having, "under_min_ms"), "below min.insync.replicas")

    def _offline(self) -> str:
        having = self._having("offline_ms")
        if not having:
            return "every partition keeps a leader" if self.hurt else ""
        said = _lasting(having, self._sum(having, "offline_ms"), "offline")
        ended = sum(self.standings[place][-1].leader == NOBODY for place in having)
        return f"{said}, {ended} to the end" if ended else said

    def _refusing(self) -> str:
        if not self.unavailable:
            return ""
        takes = "takes" if self.unavailable == 1 else "take"
        return f"{counted(self.unavailable, 'partition')} {takes} no produce for a while"

    def _elections(self) -> str:
        return _clause(self._having("elections"), "elects", "elect", "a leader")

    def _lost(self) -> str:
        lost = sum(
            json.loads(event["cause"])["records"]
            for event in self.events
            if event["kind"] == "records_lost"
        )
        return f"{counted(lost, 'acknowledged record')} lost" if lost else ""

    def _having(self, what: str) -> list[Partition]:
        """Partitions that have some of it, the most first."""
        sizes = {place: getattr(hurt, what) for place, hurt in self.hurt.items()}
        return sorted((p for p in sizes if sizes[p]), key=lambda place: -sizes[place])

    def _sum(self, having: Iterable[Partition], what: str) -> float:
        return sum(float(getattr(self.hurt[place], what)) for place in having)


def _clause(having: Sequence[Partition], one: str, more: str, what: str) -> str:
    """``orders-5 is offline``, ``7 partitions are offline``; empty of none."""
    if not having:
        return ""
    if len(having) == 1:
        return f"{name_of(having[0])} {one} {what}"
    return f"{len(having)} partitions {more} {what}"


def _lasting(having: Sequence[Partition], ms: float, what: str) -> str:
    """``orders-5 is offline for 13 s``, ``7 partitions are offline for 93.1 s in all``."""
    said = _clause(having, "is", "are", what)
    in_all = " in all" if len(having) > 1 else ""
    return f"{said} for {seconds(ms)}{in_all}" if said else ""


def name_of(place: Partition) -> str:
    """``orders-5``."""
    return f"{place[0]}-{place[1]}"


@dataclass(frozen=True)
class Story:
    """A scenario and its runs: one, or the one before and the one after a change.

    Attributes:
        runs: in the order in which they stand above one another.
    """

    runs: tuple[Run, ...]

    @property
    def scenario(self) -> Scenario:
        """What was run last."""
        return self.runs[-1].scenario

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of columns that have a number of each run."""
        return ("value",) if len(self.runs) == 1 else ("before", "after")

    @property
    def is_same(self) -> bool:
        """Whether a change changed no event."""
        first, *others = self.runs
        return bool(others) and all(one.events == first.events for one in others)

    @property
    def replicas(self) -> dict[Partition, tuple[int, ...]]:
        """Brokers of every partition, the preferred leader first."""
        return self.runs[-1].replicas

    @cached_property
    def hit(self) -> tuple[Partition, ...]:
        """Partitions to which something happened in some run.

        First those that the runs differ in most, then the most hit.
        """
        return tuple(sorted({place for run in self.runs for place in run.hurt}, key=self._rank))

    def _rank(self, place: Partition) -> tuple[float | Partition, ...]:
        sizes = zip(*(run.hurt.get(place, Hurt()).sizes for run in self.runs), strict=True)
        most, least = zip(*((max(column), min(column)) for column in sizes), strict=True)
        spread = [low - high for low, high in zip(least, most, strict=True)]
        return (*spread, *(-size for size in most), place)

    def shown(self, lanes: int) -> tuple[Partition, ...]:
        """Partitions to draw: those that were hit, the most hit first.

        All of a small scenario, in its order; one where nothing was hit.

        Args:
            lanes: so many replicas have room; one partition is drawn whatever its size.
        """
        if len(self.replicas) <= FEW:
            return tuple(self.replicas)
        chosen: list[Partition] = []
        for place in self.hit or list(self.replicas)[:1]:
            lanes -= len(self.replicas[place])
            if chosen and lanes < 0:
                break
            chosen.append(place)
        return tuple(chosen)

    def count(self, shown: int | None = None) -> str:
        """``12 of 299 partitions changed state, 7 shown``.

        Args:
            shown: how many are drawn; None if nothing is.
        """
        hit, total = len(self.hit), len(self.replicas)
        said = f"{hit or 'none'} of {counted(total, 'partition')} changed state"
        return said if shown is None or shown == total else f"{said}, {shown} shown"

    def lines(self, shown: int | None = None) -> list[str]:
        """The story: faults, who was hit, then each run; a sentence without its full stop each.

        Args:
            shown: see :meth:`count`.
        """
        titles = [f"{run.title}: " if len(self.runs) > 1 else "" for run in self.runs]
        told = [title + run.sentence() for title, run in zip(titles, self.runs, strict=True)]
        if self.is_same:
            told[1:] = [f"{title}the same events" for title in titles[1:]]
        return [*told_faults(self.scenario), self.count(shown), *told]


def story_of(found: Explanation) -> Story:
    """The scenario that an explanation is of: the baseline's run and tonight's.

    Tonight's alone where today's code does not know a setting of the baseline.
    """
    tonight = Run("tonight", found.scenario, found.after.events)
    try:
        settings = check_overrides(found.case.before.overrides, "the baseline", "overrides")
    except InputError:
        return Story((tonight,))
    partner = apply(scenario_from_json(json.dumps(found.drawn.scenario)), settings)
    return Story((Run("baseline", partner, found.before.events), tonight))


def _standings(
    topic: Topic, number: int, events: Iterable[Event], horizon_ms: float
) -> list[Standing]:
    """How a partition stands, from its beginning and its events."""
    replicas = topic.assignment[number]
    leader = topic.leaders.get(number, replicas[0])
    isr = frozenset(replicas) - frozenset(topic.behind.get(number, ()))
    failed: frozenset[int] = frozenset()
    found, since = list[Standing](), 0.0
    for event in events:
        before = (leader, isr, failed)
        kind = event["kind"]
        if event.get("isr") is not None:
            isr = frozenset(event["isr"])
        if kind == "partition_offline":
            leader = NOBODY
        elif kind in ELECTIONS:
            leader = event["leader"]
        elif kind == "partition_failed":
            failed |= {event["broker"]}
        elif kind == "partition_unfailed":
            failed -= {event["broker"]}
        if (leader, isr, failed) != before:
            found.append(Standing(since, float(event["t_ms"]), *before))
            since = float(event["t_ms"])
    return [*found, Standing(since, horizon_ms, leader, isr, failed)]


def _hurt(replicas: int, stood: Sequence[Standing], events: Sequence[Event]) -> Hurt:
    """What happened to a partition of so many replicas."""
    return Hurt(
        offline_ms=sum(one.ms for one in stood if one.leader == NOBODY),
        under_min_ms=_under_min_ms(events, stood[-1].end_ms),
        out_ms=sum(one.ms * (replicas - len(one.isr)) for one in stood),
        elections=sum(event["kind"] in ELECTIONS for event in events),
    )


def _under_min_ms(events: Sequence[Event], horizon_ms: float) -> float:
    """How long there are fewer in-sync replicas than min.insync.replicas, as the events say."""
    total, since = 0.0, None
    for event in events:
        if event["kind"] == "under_min_isr_start":
            since = float(event["t_ms"])
        elif event["kind"] == "under_min_isr_end":
            total, since = total + float(event["t_ms"]) - (since or 0.0), None
    return total if since is None else total + horizon_ms - since
