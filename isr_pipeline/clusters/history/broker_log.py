"""What a broker's ``server.log`` tells: starts, ends, disks, and what its leaders decided.

Wordings: KafkaServer, BrokerServer, LogManager, ReplicaManager, Partition @ 0.8.0 ... 4.3. A start
behind lines of a process that did not shut down is a crash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from isr_pipeline.clusters.history.events import (
    CRASH,
    DISK,
    RESTART,
    SESSION,
    SHRINK,
    Event,
    Span,
    Telling,
    union,
)

_SERVER = r"\[(?:KafkaServer id=|BrokerServer id=|Kafka Server )\d+\],? *"
_MARKS = re.compile(
    rf"(?P<started>{_SERVER}(?:started\b|Transition from STARTING to STARTED))"
    rf"|(?P<begun>{_SERVER}(?:[Ss]tarting\b|Transition from SHUTDOWN to STARTING)"
    r"|Registered `?kafka:type=kafka\.Log4jController"
    r"|Registered signal handlers for|^Verifying properties\b)"
    rf"|(?P<stopping>{_SERVER}(?:[Ss]hutting down|Transition from \w+ to SHUTTING_DOWN)"
    r"|^Terminating process due to signal)"
    r"|(?P<disk>Stopping serving (?:logs|replicas) in dir (?P<dir>\S+))"
    r"|(?P<halted>Shutdown broker because |^Halting due to unrecoverable I/O error)"
    r"|(?P<failed>Encountered fatal fault|^Exiting Kafka due to fatal exception"
    r"|Fatal error during \w+ startup)"
    r"|(?P<expired>^zookeeper state changed \(Expired\)"
    r"|^\[ZooKeeperClient(?: Kafka server)?\] Session expired\.)"
    r"|(?P<shrink>Shrinking ISR (?:for partition \S+ )?from [\d,]+ to [\d,]*)"
    r"|(?P<process>Incarnation (?P<incarnation>[\w-]{22}) of broker \d+ in cluster)"
)
_WORDS = (
    *("tarting", "tarted", "STARTED", "hutting", "SHUTTING", "Registered", "Verifying"),
    *("Terminating", "Stopping serving", "Shutdown broker", "Halting", "Encountered", "Exiting"),
    *("Fatal error", "xpired", "Shrinking", "Incarnation"),
)
"""A line that `_MARKS` finds something in has one of them; most lines have none."""
_ID = re.compile(
    r"\[(?:KafkaServer id=|BrokerServer id=|Kafka Server |BrokerLifecycleManager id="
    r"|ReplicaManager broker=|Replica Manager on Broker |Partition \S+ broker="
    r"|ReplicaFetcher replicaId=|ReplicaFetcherManager on broker "
    r"|GroupMetadataManager brokerId=|GroupCoordinator |GroupCoordinator id=)(\d+)"
)
_CLUSTER = re.compile(r"^Cluster ID = ([\w-]{22})\b|of broker \d+ in cluster ([\w-]{22}) is")
_CAUGHT_UP = re.compile(r"lastCaughtUpTimeMs: (\d{12,14})")
_DIRS = re.compile(r"^\s+log\.dirs = (\S.*)")
_HEAD_MS = 60_000
"""A process begins before it says so; what is older than this was another process."""
_OF_A_LINE = ("dir", "incarnation")
_SILENCE_MS = 24 * 3_600_000
"""Longer without a line, and files are missing: a broker writes some every hour."""


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """A line that says something.

    Attributes:
        at_ms: when.
        kind: a group of `_MARKS`.
        text: a log dir, an incarnation, or what shrank.
        before_ms: time of the line before it.
    """

    at_ms: int
    kind: str
    text: str = ""
    before_ms: int = field(default=0, compare=False)


@dataclass(slots=True)
class BrokerLines:
    """What the lines of a broker's log say, as they are read.

    Attributes:
        marks: in order.
        ids: of brokers that the lines name as their own.
        clusters: ids of clusters.
        spans: that the lines cover.
        ahead_ms: by how much a line's time is behind a moment in UTC that it names.
        disks: how many log dirs the broker has; 0 if no line says.
    """

    marks: list[Mark] = field(default_factory=list)
    ids: set[int] = field(default_factory=set)
    clusters: set[str] = field(default_factory=set)
    spans: list[Span] = field(default_factory=list)
    ahead_ms: int | None = None
    disks: int = 0

    def read(self, at_ms: int | None, text: str) -> None:
        """Read a line."""
        if at_ms is None:
            if found := _DIRS.match(text):
                self.disks = len(found[1].split(","))
            return
        begin, before_ms = self.spans[-1] if self.spans else (at_ms, at_ms)
        if any(word in text for word in _WORDS) and (found := _MARKS.search(text)):
            groups = found.groupdict()
            kind = next(name for name in groups if groups[name] and name not in _OF_A_LINE)
            said = groups["dir"] or groups["incarnation"] or (text if kind == "shrink" else "")
            self.marks.append(Mark(at_ms, kind, said, before_ms))
            if caught_up := _CAUGHT_UP.search(text):
                self.ahead_ms = at_ms - int(caught_up[1])
        if found := _ID.search(text):
            self.ids.add(int(found[1]))
        if "luster" in text and (found := _CLUSTER.search(text)):
            self.clusters.add(found[1] or found[2])
        if not self.spans or at_ms - before_ms > _SILENCE_MS:
            self.spans.append((at_ms, at_ms))
        else:
            self.spans[-1] = (begin, max(before_ms, at_ms))


def tell(broker: int, files: Sequence[BrokerLines], source: str) -> Telling:
    """Tell what the files of one broker's log say, rotated ones together.

    Args:
        broker: whose they are.
        files: in any order; lines that two of them have count once.
        source: how the user calls them.
    """
    spans = union([one for file in files for one in file.spans], _SILENCE_MS)
    marks = sorted({mark for file in files for mark in file.marks})
    told = Telling(source, frozenset({CRASH, RESTART, DISK, SHRINK, SESSION}))
    for span in spans:
        process = _Process(broker, span[0], told.events)
        for mark in marks:
            if span[0] <= mark.at_ms <= span[1]:
                process.apply(mark)
    told.covers[broker] = spans
    told.incarnations = {one.text: one.at_ms for one in marks if one.kind == "process"}
    told.kinds -= {SESSION} if told.incarnations else set()  # a KRaft broker says nothing of it
    told.disks = {broker: max(file.disks for file in files)}
    return told


@dataclass(slots=True)
class _Process:
    """The broker's process as the marks so far leave it; no state: nobody knows."""

    broker: int
    first_ms: int
    events: list[Event]
    state: str = ""
    failed: bool = False
    lost_dirs: set[str] = field(default_factory=set)

    def apply(self, mark: Mark) -> None:
        """Apply a mark."""
        match mark.kind:
            case "begun":
                self._begin(mark)
            case "started":
                self.state = "up"
            case "stopping":
                if self.state in ("", "up"):
                    self._tell(mark.at_ms, CRASH if self.failed else RESTART)
                self.state = "down"
            case "failed":
                self.failed = True
            case "disk":
                self._lose(mark.at_ms, mark.text)
            case "halted":
                if not self.lost_dirs:
                    self._lose(mark.at_ms, "")
                self.state = "down"
            case "expired":
                self._tell(mark.at_ms, SESSION)
            case "shrink":
                self._tell(mark.at_ms, SHRINK)

    def _begin(self, mark: Mark) -> None:
        unknown_but_older = self.state == "" and mark.at_ms - self.first_ms > _HEAD_MS
        if self.state == "up" or unknown_but_older:
            self._tell(mark.before_ms, CRASH)
        self.state, self.failed = "starting", False
        self.lost_dirs.clear()

    def _lose(self, at_ms: int, log_dir: str) -> None:
        if log_dir not in self.lost_dirs:
            self.events.append(Event(at_ms, self.broker, DISK, log_dir))
        self.lost_dirs.add(log_dir)

    def _tell(self, at_ms: int, kind: str) -> None:
        self.events.append(Event(at_ms, self.broker, kind))
