"""What became of brokers, by the records of their registrations.

The metadata log has them, and a KRaft controller's log tells of each that it replays. A process has
an incarnation: another one without a controlled shutdown in between is a crash; the same one,
fenced and let in again, has lost its session, by a pause or a link.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from isr_pipeline.clusters.history.events import CRASH, DISK, RESTART, SESSION, Event

RECORDS = frozenset(
    {
        *("REGISTER_BROKER_RECORD", "UNREGISTER_BROKER_RECORD", "FENCE_BROKER_RECORD"),
        *("UNFENCE_BROKER_RECORD", "BROKER_REGISTRATION_CHANGE_RECORD"),
    }
)


@dataclass(slots=True)
class _Broker:
    incarnation: str
    epoch: int
    fenced: bool
    stopping: bool
    dirs: frozenset[str]
    gone_at_ms: int | None = None


@dataclass(slots=True)
class Registrations:
    """Brokers as the records so far leave them.

    Attributes:
        events: that the records told.
        disks: broker -> how many log dirs it had at most, where they are told.
        incarnations: of every process that registered -> when.
        tells_shutdowns: registrations say whether a broker is shutting down; 3.3 brought it.
    """

    events: list[Event] = field(default_factory=list)
    disks: dict[int, int] = field(default_factory=dict)
    incarnations: dict[str, int] = field(default_factory=dict)
    tells_shutdowns: bool = True
    _all_tell_disks: bool = True
    _brokers: dict[int, _Broker] = field(default_factory=dict)

    @property
    def tells_disks(self) -> bool:
        """Whether registrations name log dirs; 3.7 brought it."""
        return self._all_tell_disks and bool(self.disks)

    @property
    def brokers(self) -> list[int]:
        """Those that are registered."""
        return sorted(self._brokers)

    def inactive(self, broker: int) -> bool:
        """Whether the controller takes a broker out of ISRs: fenced, stopping or not there."""
        known = self._brokers.get(broker)
        return known is None or known.fenced or known.stopping

    def apply(self, kind: str, data: Mapping[str, Any], at_ms: int) -> None:
        """Apply a record of `RECORDS`.

        Raises:
            KeyError, TypeError, ValueError: it has not the fields that Kafka gives it.
        """
        broker = int(data["id"] if "id" in data else data["brokerId"])
        if kind == "REGISTER_BROKER_RECORD":
            self._register(broker, data, at_ms)
        elif kind == "UNREGISTER_BROKER_RECORD":
            self._crashed(broker)
            self._brokers.pop(broker, None)
        else:
            epoch = int(data.get("epoch", data.get("brokerEpoch", -1)))
            fenced = {"FENCE_BROKER_RECORD": 1, "UNFENCE_BROKER_RECORD": -1}.get(
                kind, int(data.get("fenced", 0))
            )
            # One that registered before the first record: its change tells what it was.
            before = _Broker("", epoch, fenced < 0, stopping=False, dirs=frozenset())
            known = self._brokers.setdefault(broker, before)
            if epoch < known.epoch:
                return  # a controller that starts tells of the past again
            if data.get("inControlledShutdown") == 1 and not known.stopping:
                known.stopping = True
                self.events.append(Event(at_ms, broker, RESTART))
            self._fence(broker, known, fenced, at_ms)
            self._dirs(broker, known, data, at_ms)

    def end(self) -> list[int]:
        """Count brokers that are gone at the end as crashed; return them."""
        return [broker for broker in self.brokers if self._crashed(broker)]

    def _register(self, broker: int, data: Mapping[str, Any], at_ms: int) -> None:
        incarnation, epoch = str(data["incarnationId"]), int(data.get("brokerEpoch", -1))
        known = self._brokers.get(broker)
        if incarnation in self.incarnations:
            return  # the same process again, or a controller that tells of the past
        if known is not None and not known.stopping and known.gone_at_ms is None:
            known.gone_at_ms = at_ms
        self._crashed(broker)
        self.incarnations[incarnation] = at_ms
        dirs = frozenset(str(one) for one in data.get("logDirs") or ())
        self.tells_shutdowns &= "inControlledShutdown" in data
        self._all_tell_disks &= bool(dirs)
        if dirs:
            self.disks[broker] = max(len(dirs), self.disks.get(broker, 0))
        stopping = bool(data.get("inControlledShutdown"))
        fenced = bool(data.get("fenced", True))
        self._brokers[broker] = _Broker(incarnation, epoch, fenced, stopping, dirs)

    def _fence(self, broker: int, known: _Broker, change: int, at_ms: int) -> None:
        if change > 0 and not known.fenced:
            known.fenced = True
            if not known.stopping:
                known.gone_at_ms = at_ms
        elif change < 0 and known.fenced:
            known.fenced = False
            if known.gone_at_ms is not None:
                self.events.append(Event(known.gone_at_ms, broker, SESSION))
                known.gone_at_ms = None

    def _dirs(self, broker: int, known: _Broker, data: Mapping[str, Any], at_ms: int) -> None:
        dirs = frozenset(str(one) for one in data.get("logDirs") or ())
        if dirs:
            lost = known.dirs - dirs if known.dirs else {""}
            self.events += [Event(at_ms, broker, DISK, one) for one in sorted(lost)]
            known.dirs = dirs

    def _crashed(self, broker: int) -> bool:
        known = self._brokers.get(broker)
        if known is None or known.gone_at_ms is None:
            return False
        self.events.append(Event(known.gone_at_ms, broker, CRASH))
        known.gone_at_ms = None
        return True
