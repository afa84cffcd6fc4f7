"""How often: events of all sources counted once, over the time that was watched.

Of two sources that cover the same time of a broker the more exact one counts. Rates are those of a
Poisson process, with the interval of Jeffreys' prior, Gamma(1/2): no event is a count, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from scipy import stats

from isr_pipeline.clusters.history.events import (
    DISK,
    KINDS,
    SHRINK,
    Event,
    Span,
    Telling,
    length_ms,
    union,
    within,
)

DAY_MS = 86_400_000
YEAR_DAYS = 365.25
_ONE_OCCASION_MS = 60_000
"""What a leader's ISRs lose within this time of each other has one cause."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a kind came.

    Attributes:
        kind: one of `KINDS`.
        count: events; of shrinks, occasions.
        years: that brokers, or their log dirs, were watched, together.
        of: what a year is of: ``broker`` or ``disk``.
    """

    kind: str
    count: int
    years: float
    of: str

    @property
    def per_year(self) -> float:
        """As counted."""
        return self.count / self.years

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of what it may be; from 0 where nothing was counted."""
        shape = self.count + 0.5
        low = float(stats.gamma.ppf(0.025, shape)) if self.count else 0.0
        return low / self.years, float(stats.gamma.ppf(0.975, shape)) / self.years


@dataclass(slots=True)
class History:
    """What all sources say together.

    Attributes:
        events: each once, in order; shrinks of one occasion are one.
        covers: kind -> broker -> the spans in which it would have been seen.
        disks: broker -> how many log dirs it has; one where nobody says.
        partitions: month, broker -> how many ISRs of single partitions shrank.
        notes: what the sources cannot tell.
    """

    events: list[Event] = field(default_factory=list)
    covers: dict[str, dict[int, list[Span]]] = field(default_factory=dict)
    disks: dict[int, int] = field(default_factory=dict)
    partitions: Counter[tuple[str, int]] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @property
    def span(self) -> Span:
        """From the first to the last moment that was watched."""
        every = [
            span for brokers in self.covers.values() for spans in brokers.values() for span in spans
        ]
        return min(begin for begin, _ in every), max(end for _, end in every)

    def days(self, kind: str, broker: int) -> float:
        """How long a broker was watched for a kind."""
        return length_ms(self.covers.get(kind, {}).get(broker, [])) / DAY_MS

    def rates(self) -> dict[str, Rate]:
        """How often each kind came that would have been seen."""
        found = {}
        for kind, brokers in self.covers.items():
            weights = {one: self.disks.get(one, 1) if kind == DISK else 1 for one in brokers}
            days = sum(self.days(kind, one) * weight for one, weight in weights.items())
            count = sum(one.kind == kind for one in self.events)
            if days:
                of = "disk" if kind == DISK else "broker"
                found[kind] = Rate(kind, count, days / YEAR_DAYS, of)
        return found

    def months(self) -> list[tuple[str, int, Mapping[str, int]]]:
        """Count by month and broker: those that were watched, events or none."""
        counts: dict[tuple[str, int], Counter[str]] = {}
        for brokers in self.covers.values():
            for broker, spans in brokers.items():
                for span in spans:
                    for month in _months(span):
                        counts.setdefault((month, broker), Counter())
        for one in self.events:
            counts.setdefault((_month(one.at_ms), one.broker), Counter())[one.kind] += 1
        return [(*which, counts[which]) for which in sorted(counts)]


def together(tellings: Sequence[Telling]) -> History:
    """Count what all sources say, the first one that covers a time before the others."""
    found = History()
    events: list[Event] = []
    for telling in tellings:
        found.notes += telling.notes
        for broker, count in telling.disks.items():
            if count:
                found.disks.setdefault(broker, count)
        for kind in (kind for kind in KINDS if kind in telling.kinds):
            covers = found.covers.setdefault(kind, {})
            for broker, spans in telling.covers.items():
                known = covers.get(broker, [])
                events += [
                    one
                    for one in telling.events
                    if (one.kind, one.broker) == (kind, broker) and not within(one.at_ms, known)
                ]
                covers[broker] = union([*known, *spans])
    shrinks = [one for one in events if one.kind == SHRINK]
    found.partitions = Counter((_month(one.at_ms), one.broker) for one in shrinks)
    others = [one for one in events if one.kind != SHRINK]
    found.events = sorted([*others, *_occasions(shrinks)])
    return found


def _occasions(shrinks: Sequence[Event]) -> list[Event]:
    """The first shrink of each occasion."""
    found: list[Event] = []
    last: dict[int, int] = {}
    for one in sorted(shrinks):
        if one.at_ms - last.get(one.broker, -_ONE_OCCASION_MS) >= _ONE_OCCASION_MS:
            found.append(one)
        last[one.broker] = one.at_ms
    return found


def _month(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m")


def _months(span: Span) -> list[str]:
    """Every month that a span touches."""
    return sorted({_month(at_ms) for at_ms in (*range(span[0], span[1], 27 * DAY_MS), span[1])})
