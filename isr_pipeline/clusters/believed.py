"""Who is believed for what: a table, which the docs print and a merge goes by.

Of sources that say different things the first in the row's order is believed; each other value
becomes a conflict. A value keeps the name of its source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from isr_pipeline.clusters.facts import LIVE, METADATA, PLATFORM, TOOL, Facts
from isr_pipeline.kafka.release_numbers import version_of

CONFLICTS_LISTED = 50

RANKS = {
    LIVE: "a live cluster",
    METADATA: "the metadata log",
    TOOL: "Kafka's tools and Cruise Control",
    PLATFORM: "`server.properties` and Strimzi",
}
"""From whom is believed most to whom least."""

Order = Callable[[Any, Facts, str], tuple[Any, ...]]
"""Of a value, its source, and the topic that it is of, if any: what sorts it among others."""
Kept = tuple[Any, Facts | None]
"""A value and the source that is believed; None twice if none says anything."""


def _by_rank(_: Any, facts: Facts, __: str) -> tuple[Any, ...]:
    return (facts.rank,)


def _oldest(release: Any, facts: Facts, _: str) -> tuple[Any, ...]:
    return (facts.rank, version_of(str(release)) or (0,))


def _shared_first(value: Any, facts: Facts, _: str) -> tuple[Any, ...]:
    return (facts.rank, value)


def _whole_first(_: Any, facts: Facts, topic: str) -> tuple[Any, ...]:
    return (not facts.topics[topic].settings_whole, facts.rank)


def are_uuids(names: Sequence[str]) -> bool:
    """Whether log dirs are named by the ids that KRaft gives them, 22 characters of base64."""
    return all(len(name) == 22 and "/" not in name and "\\" not in name for name in names)


@dataclass(frozen=True, slots=True)
class Row:
    """Who is believed for one thing.

    Attributes:
        what: that a cluster file has.
        first: who or what goes before the order of ranks; empty if nothing does.
        order: sorts what sources say.
        counts: values beside which others are passed over, unless there are none of them.
    """

    what: str
    first: str = ""
    order: Order = _by_rank
    counts: Callable[[Any], bool] | None = None

    def sorted(self, said: Iterable[tuple[Any, Facts]], topic: str = "") -> list[tuple[Any, Facts]]:
        """What sources say, those believed most first; who says nothing is left out."""
        every = [one for one in said if one[0] is not None]
        if self.counts is not None:
            every = [one for one in every if self.counts(one[0])] or every
        return sorted(every, key=lambda one: self.order(one[0], one[1], topic))


RELEASE = Row("release", "`--release`; of the brokers of one source the oldest release", _oldest)
CONTROLLER = Row("controller")
FEATURE = Row("features", "`--feature`")
REPLICATION_LISTENER = Row(
    "replication_listener",
    "of sources as good as each other, and of one's brokers: `false`",
    _shared_first,
)
OF_BROKER = Row("racks, who is fenced")
LOG_DIRS = Row(
    "log dirs of a broker", "paths before KRaft's ids", counts=lambda dirs: not are_uuids(dirs)
)
OF_ALL = Row("settings of all brokers")
STARTED_WITH = Row("what every broker was started with", "what is known of the broker itself")
OWN = Row("a broker's own settings", "what a source earlier in the order says is set for all")
OF_TOPIC = Row(
    "a topic's settings",
    "who has all of them: `kafka-configs.sh` of topics, the log, a live cluster",
    _whole_first,
)
OF_PARTITION = Row("replicas, leaders, ISRs, rates")
PLACE = Row(
    "log dir of a replica",
    "paths before KRaft's ids",
    counts=lambda name: not are_uuids((name,)),
)
MACHINE = Row("hardware", "`--hardware`; what was written into the file by hand")
TABLE = (
    *(RELEASE, CONTROLLER, FEATURE, REPLICATION_LISTENER, OF_BROKER, LOG_DIRS),
    *(OF_ALL, STARTED_WITH, OWN, OF_TOPIC, OF_PARTITION, PLACE, MACHINE),
)


def named(facts: Facts | None) -> str:
    """A source as ``values_from`` and ``conflicts`` call it."""
    return f"{facts.source} ({facts.kind})" if facts else ""


class Ledger:
    """Which source each value is from, and who contradicts it."""

    def __init__(self) -> None:
        self.values_from: dict[str, str] = {}
        self._conflicts: list[dict[str, Any]] = []
        self._more: Counter[str] = Counter()

    def pick(
        self,
        row: Row,
        what: str,
        said: Iterable[tuple[Any, Facts]],
        kind: str = "",
        topic: str = "",
    ) -> Any:
        """Give the value that is believed, and list those that disagree.

        Args:
            row: of the table.
            what: path of the value.
            said: (value or None, source).
            kind: of the value, for conflicts beyond those that are listed.
            topic: that it is of, if any.
        """
        return self.kept(row, what, said, kind, topic)[0]

    def kept(
        self,
        row: Row,
        what: str,
        said: Iterable[tuple[Any, Facts]],
        kind: str = "",
        topic: str = "",
    ) -> Kept:
        """As :meth:`pick`; also the source that is believed, None if none says anything."""
        every = row.sorted(said, topic)
        if not every:
            return (None, None)
        first, *others = every
        self.values_from[what] = named(first[1])
        for other in others:
            same = other[0] == first[0] or (kind == "isr" and set(other[0]) == set(first[0]))
            if not same:
                self.conflict(what, first, other, kind or what)
        return first

    def conflict(self, what: str, kept: Kept, other: Kept, kind: str) -> None:
        """Note a value that is not believed."""
        if sum(one.get("kind") == kind for one in self._conflicts) >= CONFLICTS_LISTED:
            self._more[kind] += 1
            return
        self._conflicts.append(
            {
                "what": what,
                "kind": kind,
                "kept": _plain(kept[0]),
                "from": named(kept[1]),
                "other": _plain(other[0]),
                "other_from": named(other[1]),
            }
        )

    def conflicts(self) -> list[dict[str, Any]]:
        """Give those that are listed, and how many more there are of each kind."""
        more = ({"what": f"{kind} of {count} more"} for kind, count in self._more.items())
        return [*self._conflicts, *more]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
