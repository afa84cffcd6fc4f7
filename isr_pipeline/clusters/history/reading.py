"""Sources of a cluster's history: told by content, put together, held against each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from isr_pipeline.base.errors import InputError
from isr_pipeline.base.files.words import shown
from isr_pipeline.clusters import metadata_dump, metadata_files
from isr_pipeline.clusters.facts import Source
from isr_pipeline.clusters.folder import not_used
from isr_pipeline.clusters.history import broker_log, controller_log, log_file, metadata_log
from isr_pipeline.clusters.history.broker_log import BrokerLines
from isr_pipeline.clusters.history.controller_log import ControllerLines
from isr_pipeline.clusters.history.counts import History, together
from isr_pipeline.clusters.history.events import Telling, within
from isr_pipeline.clusters.importing import named
from isr_pipeline.clusters.metadata import Section
from isr_pipeline.clusters.plain_text import plain

KINDS = "a metadata log, its dump by kafka-dump-log.sh, server.log or controller.log"
_ONE_CLUSTER = "sources of one cluster"
_QUARTER_MS = 15 * 60_000
"""Zones differ by quarters of an hour; a lag limit is shorter."""


@dataclass(frozen=True, slots=True)
class _Log:
    """A file of a log: what its lines say, read as a broker's and as a controller's."""

    name: str
    folder: str
    broker: BrokerLines
    controller: ControllerLines

    @property
    def of(self) -> tuple[str, str]:
        """Its folder, and its name without what a rotation adds: the same for all of a set."""
        path = PurePath(self.name)
        return str(path.parent), re.split(r"\.(?:log|out|txt)\b|\.gz$", path.name)[0]


def tellings(sources: Iterable[Source], zone: ZoneInfo) -> list[Telling]:
    """Tell what each source says, the most exact first; pieces of one log together.

    Args:
        sources: as they were given.
        zone: of the times in logs.

    Raises:
        InputError: a source of no known kind, unless it is one of a folder; one that is damaged;
            two that contradict each other; nothing that has a past.
    """
    sections: list[Section] = []
    logs: list[_Log] = []
    others: dict[str, list[str]] = defaultdict(list)
    for source in sources:
        kind = _read(source, zone)
        if isinstance(kind, _Log):
            logs.append(kind)
        elif kind is not None:
            sections += kind
        elif source.folder:
            others[source.folder].append(source.name)
        else:
            raise InputError(source.name, "", "none of the known sources", KINDS)
    _check_clusters(logs)
    _check_zone(logs)
    brokers, unknown = _by_broker(logs)
    of_brokers = [_told_by_broker(*brokers[one], broker=one) for one in sorted(brokers)]
    whole = _whole(sections, [log for log in logs if log.controller.is_own])
    for log in unknown:
        if not log.controller.is_own:
            others[log.folder].append(log.name)
    if not of_brokers and not whole:
        given = "a snapshot without its log" if sections else "no line that names its broker"
        raise InputError("cluster history", "SOURCE", given, KINDS)
    for one in whole:
        _check_incarnations(one, of_brokers)
    found = [*of_brokers, *whole]
    for folder, names in others.items():
        found[0].notes += not_used(folder or "those given", names)
    return found


def _whole(sections: list[Section], controllers: list[_Log]) -> list[Telling]:
    """Tell what sources of the whole cluster say, the metadata log first."""
    names = " + ".join(log.name for log in controllers[:3])
    found = [
        metadata_log.tell(sections),
        controller_log.tell([log.controller for log in controllers], names),
    ]
    return [one for one in found if one is not None and one.covers]


def _read(source: Source, zone: ZoneInfo) -> list[Section] | _Log | None:
    """Read a source; None if it is of no known kind."""
    source = log_file.unpacked(source)
    if metadata_files.recognises(source.content):
        return metadata_files.read(source)
    if log_file.recognises(source):
        found = _Log(source.name, source.folder, BrokerLines(), ControllerLines())
        for at_ms, text in log_file.lines(source, zone):
            found.broker.read(at_ms, text)
            found.controller.read(at_ms, text)
        return found
    dump = plain(source)
    if metadata_dump.recognises(dump.content.decode("utf-8", "replace")):
        return metadata_dump.read(dump)
    return None


def _by_broker(logs: list[_Log]) -> tuple[dict[int, list[_Log]], list[_Log]]:
    """Group logs by broker; a file that names none is of the one that its set names.

    Raises:
        InputError: a file with lines of several brokers.
    """
    named: dict[tuple[str, str], set[int]] = defaultdict(set)
    for log in logs:
        if len(log.broker.ids) > 1:
            ids = ", ".join(map(str, sorted(log.broker.ids)))
            given = f"lines of brokers {ids}"
            raise InputError(log.name, "", given, "the log of one broker")
        named[log.of] |= log.broker.ids
    found: dict[int, list[_Log]] = defaultdict(list)
    unknown: list[_Log] = []
    for log in logs:
        own = log.broker.ids or named[log.of]
        if len(own) == 1:
            found[next(iter(own))].append(log)
        else:
            unknown.append(log)
    return found, unknown


def _told_by_broker(*logs: _Log, broker: int) -> Telling:
    """Tell what a broker's logs say.

    Raises:
        InputError: two of them say different things of the same time.
    """
    for before, log in _pairs(logs):
        shared = [
            (max(a[0], b[0]), min(a[1], b[1]))
            for a in before.broker.spans
            for b in log.broker.spans
        ]
        said = [
            {mark for mark in one.broker.marks if any(s[0] < mark.at_ms < s[1] for s in shared)}
            for one in (before, log)
        ]
        if said[0] != said[1]:
            given = f"another log of broker {broker} than {before.name}, of the same time"
            raise InputError(log.name, "", given, _ONE_CLUSTER)
    name = logs[0].name + (f" and {len(logs) - 1} more" if len(logs) > 1 else "")
    return broker_log.tell(broker, [log.broker for log in logs], name)


def _pairs(logs: Sequence[_Log]) -> Iterator[tuple[_Log, _Log]]:
    """Give each log with those whose times it may share: the ones that begin before it ends."""
    ordered = sorted(logs, key=lambda log: log.broker.spans[0])
    for i, log in enumerate(ordered):
        for later in ordered[i + 1 :]:
            if later.broker.spans[0][0] >= log.broker.spans[-1][1]:
                break
            yield log, later


def _check_clusters(logs: list[_Log]) -> None:
    """Refuse logs of two clusters, by the ids that they name."""
    first: tuple[str, str] | None = None
    for log in logs:
        for cluster in sorted(log.broker.clusters):
            first = first or (cluster, log.name)
            if cluster != first[0]:
                given = f"cluster {cluster}, and {first[1]} is of cluster {first[0]}"
                raise InputError(log.name, "", given, _ONE_CLUSTER)


def _check_zone(logs: list[_Log]) -> None:
    """Refuse times of another zone than is said, by the moments in UTC that lines name."""
    for log in logs:
        if log.broker.ahead_ms is not None:
            _refuse_zone(log.name, log.broker.ahead_ms)


def _check_incarnations(whole: Telling, brokers: list[Telling]) -> None:
    """Hold the processes of brokers' logs against those that registered with the controller.

    Raises:
        InputError: none of a broker's processes did, or at another time of day.
    """
    inside = [
        (begin + _QUARTER_MS, end - _QUARTER_MS)
        for spans in whole.covers.values()
        for begin, end in spans
    ]
    for log in brokers:
        times = {name: at_ms for name, at_ms in log.incarnations.items() if within(at_ms, inside)}
        known = {name for name in log.incarnations if name in whole.incarnations}
        if times and not known:
            given = f"no process of {log.source}"
            raise InputError(whole.source, "", given, _ONE_CLUSTER)
        for name in known:
            _refuse_zone(log.source, log.incarnations[name] - whole.incarnations[name])


def _refuse_zone(source: str, ahead_ms: int) -> None:
    """Refuse times that are further from those of another clock than zones' steps."""
    if abs(ahead_ms) >= _QUARTER_MS:
        hours = round(ahead_ms / _QUARTER_MS) * _QUARTER_MS / 3_600_000
        given = f"times that are {hours:+g} h from those expected"
        raise InputError(source, "", given, "--zone with the brokers' time zone")


def read(given: Sequence[str], zone: str) -> History:
    """Read the history of a cluster.

    Args:
        given: files and folders.
        zone: of the times in logs, by its name in the time zone database.

    Raises:
        InputError: the first thing that cannot be used.
    """
    if len(set(given)) < len(given):
        twice = next(one for one in given if given.count(one) > 1)
        raise InputError("cluster history", "SOURCE", f"{shown(twice)} twice", "each file once")
    try:
        found = together(tellings(named(given), ZoneInfo(zone)))
    except (ZoneInfoNotFoundError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("--zone", "", shown(zone), "a time zone, such as Europe/Berlin") from None
    begin, end = found.span
    if begin == end:
        raise InputError("cluster history", "SOURCE", "a single moment", "hours or days of it")
    return found
