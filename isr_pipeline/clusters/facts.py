"""What one source says of a cluster, before sources are merged.

None, or an entry that is missing, is "this source does not say": never a default.

Of a broker's some three hundred keys the simulator knows a few dozen (`kafka.broker_config`); only
those are kept. Of a topic's keys all are kept but those that could hold a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import counted, one_line, shown
from isr_pipeline.kafka.broker_config import KEYS, OF_CLIENTS

LIVE, METADATA, TOOL, PLATFORM = range(4)
"""Ranks: of two sources that disagree, the one of the lower number is believed."""

TOPIC_NAME_MAX = 249
BROKER_MAX = 2**31 - 1
NOT_SHOWN = "a text that may hold a secret, which is not shown"
PARTITIONS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was given.

    Attributes:
        name: as error lines and ``values_from`` call it.
        content: all of it.
        folder: that was given, and has it; empty if it was given itself.
        left_out: what a reader tells of it.
        lines: those that say something, by number; false as long as no reader took them.
    """

    name: str
    content: bytes
    folder: str = ""
    left_out: list[str] = field(default_factory=list, compare=False)
    lines: dict[int, bool] = field(default_factory=dict, compare=False)

    def text(self, kind: str, other: str | None = None) -> str:
        """Give the content as text.

        Args:
            kind: what is allowed, for the error line.
            other: an encoding that the format has beside UTF-8.

        Raises:
            InputError: it is no UTF-8.
        """
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if other is not None:
                return self.content.decode(other)
            line = self.content[: error.start].count(b"\n") + 1
            raise InputError(self.name, f"line {line}", "no UTF-8", kind) from None

    def has(self, *lines: int) -> None:
        """Note lines that say something; those that nobody takes are told."""
        for number in lines:
            self.lines.setdefault(number, False)

    def take(self, *lines: int) -> None:
        """Note lines that are used, or told in words of their own."""
        self.lines.update(dict.fromkeys(lines, True))

    def told(self) -> list[str]:
        """Give what its reader tells, and how many lines it did not take."""
        lines = sum(not taken for taken in self.lines.values())
        around = f"{counted(lines, 'line')} around the listing skipped ({self.name})"
        return [*self.left_out, *([around] if lines else [])]

    def refuse(self, line: int | str, given: object, allowed: str) -> NoReturn:
        """Refuse a line of it.

        Raises:
            InputError: always.
        """
        place = f"line {line}" if isinstance(line, int) else line
        text = given if isinstance(given, str) else shown(given)
        text = NOT_SHOWN if is_secret(text) else one_line(text)
        raise InputError(self.name, place, text, allowed)


@dataclass(slots=True)
class PartitionFacts:
    """A partition: replicas in order of preference, leader (-1: none), ISR, log dir by broker.

    Attributes:
        size_bytes: of its largest replica, on disk.
    """

    replicas: tuple[int, ...] | None = None
    leader: int | None = None
    isr: tuple[int, ...] | None = None
    log_dirs: dict[int, str] = field(default_factory=dict)
    records_per_s: float | None = None
    size_bytes: int | None = None

    def holds(self, size: Any) -> None:
        """Note the size of one of its replicas, if the source says one."""
        if type(size) is int and size >= 0:
            self.size_bytes = max(size, self.size_bytes or 0)


@dataclass(slots=True)
class TopicFacts:
    """A topic.

    Attributes:
        topic_id: its uuid, as Kafka writes it.
        settings: what it sets for itself, as texts.
        settings_mixed: the source writes what brokers set for all topics in the same place.
        settings_whole: what is not among them, the topic does not set.
        effective: what holds for it, whoever sets it, defaults too, where the source says that.
        wanted: how many partitions, and replicas of each, it was told to have.
    """

    topic_id: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    settings_mixed: bool = False
    settings_whole: bool = False
    effective: dict[str, str] = field(default_factory=dict)
    wanted: dict[str, int] = field(default_factory=dict)
    partitions: dict[int, PartitionFacts] = field(default_factory=dict)

    def partition(self, number: int) -> PartitionFacts:
        """Give the facts of a partition, new ones if need be."""
        return self.partitions.setdefault(number, PartitionFacts())


@dataclass(slots=True)
class BrokerFacts:
    """A broker.

    Attributes:
        settings: as texts; ``settings_whole``: what is not among them has its default.
        listeners: its listeners' keys (`isr_pipeline.clusters.listeners`), as texts.
        replication_listener: followers fetch from it over a listener of their own.
        fenced: the controller keeps it away from clients.
        hardware: of its machine, by the fields of `isr_pipeline.scenarios.hardware`.
    """

    rack: str | None = None
    log_dirs: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    settings_whole: bool = False
    listeners: dict[str, str] = field(default_factory=dict)
    replication_listener: bool | None = None
    fenced: bool | None = None
    hardware: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Facts:
    """What a source says.

    Attributes:
        source: its name; ``kind``: what it is, in words; ``rank``: how far it is believed.
        release: of Kafka, as a number; ``release_hint``: a number that merely fits, and why.
        other_releases: of other brokers, while they are upgraded one by one.
        cluster_id: the cluster's own id.
        settings: of all brokers, while they run.
        started_with: what a broker was started with, and probably every other one.
        log_dirs: of every broker, probably; so are ``listeners`` and ``replication_listener``.
        protocol: the release whose protocol brokers speak by ``inter.broker.protocol.version``.
        unread: keys of brokers, and other parts of the source, that no cluster file has.
        hardware: of every broker's machine.
        names_all_brokers: brokers that it does not name are not there.
        left_out: what was read and has no place in a cluster file.
    """

    source: str
    kind: str
    rank: int
    release: str | None = None
    other_releases: list[str] = field(default_factory=list)
    release_hint: tuple[str, str] | None = None
    controller: str | None = None
    cluster_id: str | None = None
    features: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    started_with: dict[str, list[str]] = field(default_factory=dict)
    log_dirs: tuple[str, ...] = ()
    listeners: dict[str, str] = field(default_factory=dict)
    replication_listener: bool | None = None
    protocol: str | None = None
    unread: set[str] = field(default_factory=set)
    brokers: dict[int, BrokerFacts] = field(default_factory=dict)
    topics: dict[str, TopicFacts] = field(default_factory=dict)
    hardware: dict[str, int] = field(default_factory=dict)
    names_all_brokers: bool = False
    left_out: list[str] = field(default_factory=list)

    def put(self, settings: dict[str, str], key: str, value: str) -> None:
        """Keep a setting; of one that the source gives twice the last holds, and that is told."""
        before = settings.get(key, value)
        if before != value:
            said = f"{key}={before[:60]}" if of_a_broker(key) else key
            self.left_out.append(f"{said} ({self.source}), which is set again behind it")
        settings[key] = value

    def run_by_a_broker(self, release: str) -> None:
        """Note the release of a broker; not all brokers need to have the same."""
        self.release = self.release or release
        if release != self.release and release not in self.other_releases:
            self.other_releases.append(release)

    def start_with(self, key: str, value: str) -> None:
        """Note what a broker was started with; several values contradict each other."""
        said = self.started_with.setdefault(key, [])
        if value not in said:
            said.append(value)

    def broker(self, number: int) -> BrokerFacts:
        """Give the facts of a broker, new ones if need be."""
        return self.brokers.setdefault(number, BrokerFacts())

    def topic(self, name: str) -> TopicFacts:
        """Give the facts of a topic, new ones if need be."""
        return self.topics.setdefault(name, TopicFacts())


def broker_id(source: Source, line: int | str, text: str) -> int:
    """Read a broker's id.

    Raises:
        InputError: it is none.
    """
    if not text.isascii() or not text.isdecimal() or int(text[:12]) > BROKER_MAX:
        source.refuse(line, text, "the id of a broker (0..2147483647)")
    return int(text)


def broker_ids(source: Source, line: int | str, text: str) -> tuple[int, ...]:
    """Read a list of brokers as Kafka's tools write it, ``1,2,3``.

    Raises:
        InputError: no list of different ids.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    found = tuple(broker_id(source, line, part) for part in parts)
    if len(set(found)) < len(found):
        source.refuse(line, text, "each broker once")
    return found


def topic_name(source: Source, line: int | str, text: str) -> str:
    """Read a topic's name.

    Raises:
        InputError: Kafka allows no such name.
    """
    legal = text.isascii() and all(c.isalnum() or c in "._-" for c in text)
    if not legal or not 0 < len(text) <= TOPIC_NAME_MAX or text in (".", ".."):
        source.refuse(line, text, "a topic name (letters, digits, . _ -; at most 249)")
    return text


def topic_partition(source: Source, line: int | str, text: str) -> tuple[str, int]:
    """Read ``topic-7``.

    Raises:
        InputError: no topic's name with a number behind it.
    """
    name, dash, number = text.rpartition("-")
    if not dash or not number.isascii() or not number.isdecimal() or len(number) > 7:
        source.refuse(line, text, "TOPIC-N")
    return topic_name(source, line, name), int(number)


_SECRET = re.compile(
    r"password|passwd|secret|jaas|credential|token|private|keystore|truststore|sasl|ssl|"
    r"\.key$|api[._-]?key|principal|super\.users",
    re.IGNORECASE,
)
_KEY = re.compile(r"[a-z][a-zA-Z0-9._-]{0,199}")


def is_secret(key: str) -> bool:
    """Whether a key may hold what nobody else should read."""
    return _SECRET.search(key) is not None


def of_a_broker(key: str) -> bool:
    """Whether a cluster file has this key of a broker or of the cluster."""
    return key in KEYS and key not in OF_CLIENTS


def of_a_topic(key: str) -> bool:
    """Whether a cluster file has this key of a topic."""
    return _KEY.fullmatch(key) is not None and not is_secret(key)
