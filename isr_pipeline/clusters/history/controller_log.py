"""What a ``controller.log`` tells of brokers.

A KRaft controller logs each registration's record as it replays it (ClusterControlManager @ 3.3 ...
4.3). ZooKeeper's controller logs who comes and goes, and who asked for a shutdown
(KafkaController @ 0.8 ... 3.9); it does not see whether a process died or hung.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from isr_pipeline.clusters.history.events import (
    CRASH,
    DISK,
    RESTART,
    SESSION,
    Event,
    Span,
    Telling,
    union,
)
from isr_pipeline.clusters.history.registrations import Registrations

_MARKS = re.compile(
    r"Replayed .{0,120}?\b(?P<record>RegisterBrokerRecord|UnregisterBrokerRecord|FenceBrokerRecord"
    r"|UnfenceBrokerRecord|BrokerRegistrationChangeRecord)\((?P<fields>.*)"
    r"|\[ControllerServer id=\d+\] (?P<begun>Starting controller)"
    r"|Newly added brokers: ?(?P<added>[\d,]*), deleted brokers: ?(?P<deleted>[\d,]*)"
    r"(?:, bounced brokers: ?(?P<bounced>[\d,]*))?, all(?: live)? brokers: ?(?P<live>[\d,]*)"
    r"|\[Controller (?:id=)?\d+\]:? Shutting down broker (?P<stopping>\d+)"
)
_WORDS = ("Replayed", "Starting controller", "added brokers", "Shutting down broker")
"""A line that `_MARKS` finds something in has one of them."""
_OWN = re.compile(r"\[(?:QuorumController id=|ControllerServer id=|Controller (?:id=)?)\d+\]")
_KINDS = {
    "RegisterBrokerRecord": "REGISTER_BROKER_RECORD",
    "UnregisterBrokerRecord": "UNREGISTER_BROKER_RECORD",
    "FenceBrokerRecord": "FENCE_BROKER_RECORD",
    "UnfenceBrokerRecord": "UNFENCE_BROKER_RECORD",
    "BrokerRegistrationChangeRecord": "BROKER_REGISTRATION_CHANGE_RECORD",
}
_FIELD = re.compile(r"\b(\w+)=(\[[^\[\]]*\]|[^,()\[\]]+)")
_REPLAY_MS = 60_000
"""A controller that starts replays records of the past, and logs them again."""
_SILENCE_MS = 7 * 24 * 3_600_000
"""Longer without a line, and files are missing: a quiet controller writes few."""
_RETRIES_MS = 60_000
"""A broker that is not let go asks again, within this time."""
_ASKED_MS = 600_000
"""A broker that asked to shut down is gone within this time."""


@dataclass(frozen=True, slots=True, order=True)
class _Mark:
    at_ms: int
    kind: str
    text: str


@dataclass(slots=True)
class ControllerLines:
    """What the lines of a controller's log say, as they are read.

    Attributes:
        marks: in order.
        is_own: a line is a controller's own.
        spans: that the lines cover.
    """

    marks: list[_Mark] = field(default_factory=list)
    is_own: bool = False
    spans: list[Span] = field(default_factory=list)
    _begun_ms: int = -_REPLAY_MS
    _seen: set[str] = field(default_factory=set)

    def read(self, at_ms: int | None, text: str) -> None:
        """Read a line."""
        if at_ms is None:
            return
        self.is_own = self.is_own or _OWN.search(text) is not None
        if any(word in text for word in _WORDS) and (found := _MARKS.search(text)):
            self._mark(at_ms, found)
        if not self.spans or at_ms - self.spans[-1][1] > _SILENCE_MS:
            self.spans.append((at_ms, at_ms))
        begin, before_ms = self.spans[-1]
        self.spans[-1] = (begin, max(before_ms, at_ms))

    def _mark(self, at_ms: int, found: re.Match[str]) -> None:
        if found["record"]:
            again = found[0] in self._seen and at_ms - self._begun_ms < _REPLAY_MS
            self._seen.add(found[0])
            if not again:
                self.marks.append(_Mark(at_ms, _KINDS[found["record"]], found["fields"]))
        elif found["begun"]:
            self._begun_ms = at_ms
        elif found["stopping"]:
            self.marks.append(_Mark(at_ms, "stopping", found["stopping"]))
        else:
            for kind in ("deleted", "bounced", "added", "live"):
                for broker in (found[kind] or "").split(","):
                    self.marks += [_Mark(at_ms, kind, broker)] if broker else []


def tell(files: Sequence[ControllerLines], source: str) -> Telling:
    """Tell what the logs of all controllers say, rotated ones together."""
    marks = sorted({mark for file in files for mark in file.marks})
    spans = union([one for file in files for one in file.spans], _SILENCE_MS)
    if any(mark.kind in _KINDS.values() for mark in marks):
        return _by_records(marks, spans, source)
    return _by_zookeeper(marks, spans, source)


def _by_records(marks: Sequence[_Mark], spans: list[Span], source: str) -> Telling:
    past = Registrations()
    for mark in marks:
        if mark.kind in _KINDS.values():
            with suppress(KeyError, TypeError, ValueError):  # the line that a copy ends with
                past.apply(mark.kind, _fields(mark.text), mark.at_ms)
    gone = past.end()
    kinds = {CRASH, RESTART, SESSION, *([DISK] if past.tells_disks else [])}
    return Telling(
        source,
        frozenset(kinds),
        [one for one in past.events if one.kind in kinds],
        {broker: list(spans) for broker in past.brokers},
        past.disks,
        past.incarnations,
        [f"broker {one} had not returned at the end of the log: a crash" for one in gone],
    )


def _fields(text: str) -> dict[str, Any]:
    """Read the outermost fields of a record as Java prints it; the first of a name is outermost."""
    found: dict[str, Any] = {}
    for name, value in _FIELD.findall(text):
        found.setdefault(name, _value(value))
    return found


def _value(text: str) -> Any:
    if text.startswith("["):
        return [one.strip() for one in text[1:-1].split(",") if one.strip()]
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def _by_zookeeper(marks: Sequence[_Mark], spans: list[Span], source: str) -> Telling:
    """A session that ended without a shutdown that was asked for is a lost one, whatever ended."""
    told = Telling(source, frozenset({RESTART, SESSION}))
    brokers = sorted({int(mark.text) for mark in marks})
    asked: dict[str, int] = {}
    for mark in marks:
        since_ms = mark.at_ms - asked.get(mark.text, -_ASKED_MS)
        if mark.kind == "stopping":
            asked[mark.text] = mark.at_ms
            if since_ms >= _RETRIES_MS:
                told.events.append(Event(mark.at_ms, int(mark.text), RESTART))
        elif mark.kind in ("deleted", "bounced"):
            if since_ms >= _ASKED_MS:
                told.events.append(Event(mark.at_ms, int(mark.text), SESSION))
        elif mark.kind == "added":
            asked.pop(mark.text, None)
    told.covers = {broker: list(spans) for broker in brokers}
    told.notes.append(
        "ZooKeeper's controller.log tells no crash from a pause, and not the controller's own:"
        " give each broker's server.log"
    )
    return told
