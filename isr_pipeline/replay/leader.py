"""One partition on the broker under test (cluster/Partition.scala of the variant's release)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from isr_pipeline.kafka import partition, record, releases, replica
from isr_pipeline.kafka.partition import Alter, AlterError, Produce
from isr_pipeline.replay.machine import Machine, Operation, State, nothing
from isr_pipeline.replay.replica import shown_record
from isr_pipeline.replay.steps import KafkaRefusal, Step
from isr_pipeline.replay.variants import Settings

_BROKER_EPOCH_BASE: Final = 1000
"""A broker's epoch unless a step says otherwise is this plus its id, as in Kafka's own tests."""

_ROWS: Final = 64
"""Followers one timeline can have."""

_NOT_LEADER: Final = "NOT_LEADER_OR_FOLLOWER"


@dataclass(slots=True)
class _Broker:
    """What the metadata cache says about another broker."""

    epoch: int
    fenced: bool = False
    shutdown: bool = False
    alive: bool = True


@dataclass(frozen=True, slots=True)
class _Proposal:
    """An ISR change on its way to the controller.

    Args:
        kind: `expand` or `shrink`.
        isr: the ISR proposed.
        leader_epoch: the leader epoch it was proposed in.
        serial: tells equal proposals apart.
    """

    kind: str
    isr: frozenset[int]
    leader_epoch: int
    serial: int


@dataclass(frozen=True, slots=True)
class _Read:
    """A follower's fetch whose read has begun."""

    replica: int
    offset: int
    start: int
    fetch_time: int
    leader_leo: int
    broker_epoch: int


@dataclass(slots=True)
class _Waiting:
    """An acks=all produce: done when the HW reaches `required`."""

    required: int
    outcome: str | None = None


@dataclass(slots=True)
class _Meters:
    """Kafka's counters of a partition's ISR changes."""

    expands: int = 0
    shrinks: int = 0
    failures: int = 0


@dataclass(slots=True)
class _Log:
    """The local log, as far as replication sees it."""

    start: int = 0
    leo: int = 0
    hw: int = 0


@dataclass(slots=True)
class _Assignment:
    """The partition's replicas as metadata gave them last."""

    replicas: tuple[int, ...] = ()
    adding: frozenset[int] = frozenset()
    leader: int | None = None
    leader_epoch: int = -1
    partition_epoch: int = 0
    epoch_start: int | None = None
    brokers: dict[int, _Broker] = field(default_factory=dict)


class Leader(Machine):
    """The machine `leader`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._local = settings.local
        self._rec = np.zeros((_ROWS, record.N_FIELDS), dtype=np.int64)
        self._rows: dict[int, int] = {}
        self._log = _Log()
        self._meta = _Assignment()
        self._isr: frozenset[int] = frozenset()
        self._pending: _Proposal | None = None
        self._queue: list[_Proposal] = []
        self._sent: _Proposal | None = None
        self._sent_epochs: dict[str, int] = {}
        self._submitted = 0
        self._meters = _Meters()
        self._reads: list[_Read] = []
        self._produce: dict[str, _Waiting] = {}

    def operations(self) -> Mapping[str, Operation]:
        """What followers, producers, the tick, the controller and metadata do to a leader."""
        return {
            "init_log": self._init_log,
            "make_leader": self._make_leader,
            "make_follower": self._make_follower,
            "append": self._append,
            "log_append": self._log_append,
            "fetch": self._fetch,
            "fetch_begin": self._fetch_begin,
            "fetch_end": self._fetch_end,
            "race_fetch": self._race_fetch,
            "maybe_shrink": self._maybe_shrink,
            "alter_ok": self._alter_ok,
            "alter_fail": self._alter_fail,
            "broker": self._broker,
            "nop": nothing,
        }

    # --- sets of replicas, and who may join ------------------------------------------------

    @property
    def _is_leader(self) -> bool:
        return self._meta.leader == self._local

    @property
    def _asynchronous(self) -> bool:
        return bool(self.rules[releases.ASYNC_ISR])

    @property
    def _by_leader_epoch(self) -> bool:
        """3.3 and later: metadata are ordered by epochs."""
        return bool(self.rules[releases.METADATA_BY_EPOCH])

    @property
    def _maximal_isr(self) -> frozenset[int]:
        if self._pending is not None and self._pending.kind == "expand":
            return self._isr | self._pending.isr
        return self._isr

    def _mask(self, brokers: Iterable[int]) -> int:
        inside = set(brokers)
        return sum(1 << at for at, broker in enumerate(self._meta.replicas) if broker in inside)

    def _known(self, broker: int) -> _Broker:
        return self._meta.brokers.setdefault(broker, _Broker(_BROKER_EPOCH_BASE + broker))

    def _eligible(self, broker: int) -> bool:
        """Partition.isReplicaIsrEligible @ 1eb7644349; the rules decide whether it counts."""
        if self.settings.mode == "plain":
            return True
        known = self._known(broker)
        if self.settings.mode == "zk":
            return known.alive
        if broker not in self._rows:
            return False
        stored = int(self._rec[self._rows[broker], record.BROKER_EPOCH])
        epoch_fits = stored in (releases.UNKNOWN, known.epoch)
        return known.alive and not known.fenced and not known.shutdown and epoch_fits

    def _eligible_mask(self) -> int:
        return self._mask(b for b in self._meta.replicas if b != self._local and self._eligible(b))

    def _position(self, broker: int) -> int:
        replicas = self._meta.replicas
        return replicas.index(broker) if broker in replicas else -1

    def _ordered_rec(self) -> Any:
        """Records in the assignment's order, as the rule functions take them."""
        rows = [self._rows.get(broker, _ROWS - 1) for broker in self._meta.replicas]
        return self._rec[rows] if rows else self._rec[:0]

    @property
    def _min_isr(self) -> int:
        """In effect: Kafka caps it by the replicas it tracks, those being added included."""
        tracked = len(self._rows) + 1
        return int(partition.effective_min_isr(self.rules, self.settings.min_isr, tracked))

    # --- becoming leader and follower -------------------------------------------------------

    def _init_log(self, step: Step, _now: int) -> None:
        self._log.start = step.integer("start", 0)
        self._log.leo = step.integer("leo")
        self._log.hw = min(step.integer("hw_checkpoint", 0), self._log.leo)

    def _track(self, replicas: Iterable[int], now: int) -> None:
        """Keep a record of each replica but the local one, and of no other."""
        wanted = [broker for broker in replicas if broker != self._local]
        self._rows = {broker: row for broker, row in self._rows.items() if broker in wanted}
        for broker in wanted:
            if broker not in self._rows:
                free = next(row for row in range(_ROWS) if row not in self._rows.values())
                self._rows[broker] = free
                replica.create(self.rules, self._rec, free, now)

    def _take_metadata(self, step: Step) -> None:
        replicas = step.integers("replicas")
        if len(replicas) >= _ROWS:
            raise step.place.at("replicas").refuse(len(replicas), f"fewer than {_ROWS} replicas")
        self._meta.replicas = tuple(replicas)
        self._meta.adding = frozenset(step.integers("adding", []))
        self._meta.partition_epoch = step.integer("partition_epoch", 0)
        self._pending = None
        if not self._by_leader_epoch:
            self._queue.clear()

    def _make_leader(self, step: Step, now: int) -> str:
        partition_epoch = step.integer("partition_epoch", 0)
        if self._by_leader_epoch and partition_epoch < self._meta.partition_epoch:
            return "ignored"
        leader_epoch = step.integer("leader_epoch")
        new_leader = not self._is_leader
        new_epoch = leader_epoch > self._meta.leader_epoch
        self._take_metadata(step)
        self._isr = frozenset(step.integers("isr"))
        self._track(self._meta.replicas, now)
        if replica.resets_records(self.rules, new_epoch):
            for broker, row in self._rows.items():
                replica.reset(
                    self.rules,
                    self._rec,
                    row,
                    self._log.leo,
                    self._log.leo,
                    new_leader,
                    broker in self._isr,
                    now,
                )
            self._meta.epoch_start = self._log.leo
            self._meta.leader_epoch = leader_epoch
        self._meta.leader = self._local
        self._raise_hw(now)
        return "new_leader" if new_leader else "stayed_leader"

    def _make_follower(self, step: Step, now: int) -> str:
        partition_epoch = step.integer("partition_epoch", 0)
        if self._by_leader_epoch and partition_epoch < self._meta.partition_epoch:
            return "ignored"
        leader, leader_epoch = step.integer("leader"), step.integer("leader_epoch")
        if self._by_leader_epoch:
            restart = leader_epoch > self._meta.leader_epoch
        else:
            restart = leader != self._meta.leader
            if self.rules[releases.FETCH_NAMES_EPOCH]:
                restart = restart or leader_epoch != self._meta.leader_epoch
        self._take_metadata(step)
        self._isr = frozenset()
        self._track(() if self._by_leader_epoch else self._meta.replicas, now)
        self._meta.leader = leader
        self._meta.leader_epoch = leader_epoch
        self._meta.epoch_start = None
        for waiting in self._produce.values():
            if waiting.outcome is None:
                waiting.outcome = _NOT_LEADER
        return "new_epoch" if restart else "same_epoch"

    # --- appends and the high watermark -----------------------------------------------------

    def _raise_hw(self, now: int) -> None:
        """Re-evaluate the HW, and with it the produce requests that wait for it."""
        if not self._is_leader:
            return
        self._log.hw = int(
            partition.next_high_watermark(
                self.rules,
                self._ordered_rec(),
                0,
                len(self._meta.replicas),
                self._position(self._local),
                self._log.leo,
                self._log.hw,
                self._mask(self._isr),
                self._mask(self._maximal_isr),
                self._eligible_mask(),
                self._min_isr,
                now,
                self.settings.lag_ms,
            )
        )
        self._complete_produce()

    def _complete_produce(self) -> None:
        for waiting in self._produce.values():
            if waiting.outcome is not None:
                continue
            answer = partition.produce_error(
                waiting.required, self._log.hw, len(self._maximal_isr), self._min_isr
            )
            if answer != Produce.WAITING:
                waiting.outcome = Produce(int(answer)).name

    def _append(self, step: Step, now: int) -> None:
        count = step.integer("n")
        acks = -1 if step.values.get("acks") == "all" else step.integer("acks", 1)
        if not self._is_leader:
            raise KafkaRefusal(_NOT_LEADER)
        if partition.append_refused(acks == -1, len(self._isr), self._min_isr):
            raise KafkaRefusal("NOT_ENOUGH_REPLICAS")
        self._log.leo += count
        if step.has("id"):
            outcome = None if acks == -1 else Produce.NONE.name
            self._produce[str(step.values["id"])] = _Waiting(self._log.leo, outcome)
        self._raise_hw(now)

    def _log_append(self, step: Step, _now: int) -> None:
        self._log.leo += step.integer("n")

    # --- fetches ----------------------------------------------------------------------------

    def _check_fetch(self, step: Step, now: int) -> None:
        """Raise what the leader answers instead of reading; a failed read may leave its mark."""
        broker = step.integer("replica")
        error = self._fetch_error(step, broker, step.integer("offset"))
        if error is None:
            return
        if self._is_leader and broker in self._rows:
            replica.on_failed_read(self.rules, self._rec, self._rows[broker], now)
        raise KafkaRefusal(error)

    def _fetch_error(self, step: Step, broker: int, offset: int) -> str | None:
        if step.has("leader_epoch"):
            epoch = step.integer("leader_epoch")
            if epoch < self._meta.leader_epoch:
                return "FENCED_LEADER_EPOCH"
            if epoch > self._meta.leader_epoch:
                return "UNKNOWN_LEADER_EPOCH"
        if not self._is_leader:
            return _NOT_LEADER
        if broker not in self._rows:
            return "UNKNOWN_LEADER_EPOCH" if step.has("leader_epoch") else _NOT_LEADER
        if step.has("error"):
            return step.text("error")
        if not self._log.start <= offset <= self._log.leo:
            return "OFFSET_OUT_OF_RANGE"
        return None

    def _begin(self, step: Step, now: int) -> _Read:
        broker, offset = step.integer("replica"), step.integer("offset")
        replica.begin_read(self.rules, self._rec, self._rows[broker], offset)
        return _Read(
            broker,
            offset,
            step.integer("start", 0),
            now,
            self._log.leo,
            step.integer("broker_epoch", _BROKER_EPOCH_BASE + broker),
        )

    def _is_stale(self, read: _Read) -> bool:
        known = self._known(read.replica)
        return (
            self.settings.mode == "kraft"
            and known.alive
            and bool(replica.is_stale_fetch(self.rules, read.broker_epoch, known.epoch))
        )

    def _record(self, read: _Read, now: int) -> bool:
        """Write the follower's record; whether its offset changed."""
        row = self._rows[read.replica]
        if self._is_stale(read):
            replica.end_read(self.rules, self._rec, row, read.offset)
            raise KafkaRefusal(_NOT_LEADER)
        before = int(self._rec[row, record.LEO])
        replica.on_fetch(
            self.rules,
            self._rec,
            row,
            read.start,
            read.offset,
            read.fetch_time,
            read.leader_leo,
            now,
        )
        replica.end_read(self.rules, self._rec, row, read.offset)
        replica.note_broker_epoch(self.rules, self._rec, row, read.broker_epoch)
        return before != read.offset

    def _after_record(self, read: _Read, changed: bool, now: int) -> None:
        """Let the follower join, then move the HW (from 2.4 on only if its offset changed)."""
        self._maybe_expand(read.replica, now)
        if changed or self.rules[releases.FAILED_READ_APPLIED]:
            self._raise_hw(read.fetch_time if self._judges_by_fetch_time else now)

    @property
    def _judges_by_fetch_time(self) -> bool:
        """0.10.2 and later ask who is caught up at the fetch's own time."""
        return bool(self.rules[releases.CLOCK] == releases.Clock.FETCH_TIME)

    def _fetch(self, step: Step, now: int) -> str | None:
        self._check_fetch(step, now)
        if step.flag("diverging", default=False):
            return "diverging"
        read = self._begin(step, now)
        self._after_record(read, self._record(read, now), now)
        return None

    def _fetch_begin(self, step: Step, now: int) -> None:
        self._check_fetch(step, now)
        self._reads.append(self._begin(step, now))

    def _fetch_end(self, step: Step, now: int) -> None:
        broker, offset = step.integer("replica"), step.integer("offset")
        for read in self._reads:
            if (read.replica, read.offset) == (broker, offset):
                break
        else:
            raise step.place.at("offset").refuse(offset, "the offset of a fetch_begin before it")
        self._reads.remove(read)
        if not self._is_leader or broker not in self._rows:
            raise KafkaRefusal(_NOT_LEADER)
        self._after_record(read, self._record(read, now), now)

    def _race_fetch(self, step: Step, now: int) -> None:
        self._check_fetch(step, now)
        read = self._begin(step, now)
        changed = self._record(read, now)
        self._known(read.replica).epoch = step.integer("cached_after")
        self._after_record(read, changed, now)

    # --- the ISR ----------------------------------------------------------------------------

    def _out_of_sync(self, now: int) -> frozenset[int]:
        if not self._is_leader or self._pending is not None:
            return frozenset()
        mask = int(
            partition.out_of_sync_mask(
                self.rules,
                self._ordered_rec(),
                0,
                len(self._meta.replicas),
                self._position(self._local),
                self._log.leo,
                self._mask(self._isr),
                now,
                self.settings.lag_ms,
                self.settings.lag_messages,
            )
        )
        return frozenset(b for at, b in enumerate(self._meta.replicas) if mask >> at & 1)

    def _maybe_shrink(self, _step: Step, now: int) -> None:
        leaving = self._out_of_sync(now)
        if leaving:
            self._propose("shrink", self._isr - leaving)
            self._raise_hw(now)

    def _maybe_expand(self, broker: int, now: int) -> None:
        if not self._is_leader:
            return
        joins = partition.may_expand(
            self.rules,
            self._ordered_rec(),
            0,
            self._position(broker),
            self._mask(self._isr),
            self._pending is not None,
            self._log.hw,
            self._meta.epoch_start or 0,
            self._eligible_mask(),
            now,
            self.settings.lag_ms,
        )
        if joins:
            self._propose("expand", self._isr | {broker})

    def _propose(self, kind: str, isr: frozenset[int]) -> None:
        """Propose an ISR; up to 2.6 that is a write to ZooKeeper, done at once."""
        proposal = _Proposal(kind, isr, self._meta.leader_epoch, self._submitted)
        self._sent = proposal
        self._sent_epochs = {str(broker): self._epoch_to_send(broker) for broker in sorted(isr)}
        if self._asynchronous:
            self._pending = proposal
            self._submit(proposal)
            return
        self._isr = isr
        self._meta.partition_epoch += 1
        self._mark(kind)

    def _epoch_to_send(self, broker: int) -> int:
        if self.settings.mode != "kraft":
            return releases.UNKNOWN
        if broker == self._local:
            return self._known(broker).epoch
        stored = int(self._rec[self._rows[broker], record.BROKER_EPOCH])
        return releases.UNKNOWN if stored == releases.NO_BROKER_EPOCH else stored

    def _submit(self, proposal: _Proposal) -> None:
        """Hand a proposal to the manager, which takes one a partition."""
        self._submitted += 1
        if self._queue:
            self._meters.failures += 1
            self._pending = None
            return
        self._queue.append(proposal)

    def _mark(self, kind: str) -> None:
        if kind == "expand":
            self._meters.expands += 1
        else:
            self._meters.shrinks += 1

    def _answered(self, step: Step) -> _Proposal | None:
        """Take the proposal that the manager's answer is about off its queue."""
        if self._queue:
            return self._queue.pop(0)
        if not self._asynchronous:
            return None
        raise step.place.at("op").refuse(
            repr(step.values["op"]), "a fetch or maybe_shrink before it that proposes an ISR"
        )

    def _alter_ok(self, step: Step, now: int) -> None:
        proposal = self._answered(step)
        if proposal is None or proposal is not self._pending:
            return
        epoch = step.integer("partition_epoch", self._meta.partition_epoch + 1)
        decision = partition.alter_response(
            self.rules,
            int(AlterError.NONE),
            step.integer("leader_epoch", proposal.leader_epoch),
            epoch,
            self._meta.leader_epoch,
            self._meta.partition_epoch,
        )
        if decision == Alter.IGNORE:
            self._meters.failures += 1
            return
        self._isr = frozenset(step.integers("isr", sorted(proposal.isr)))
        self._pending = None
        self._meta.partition_epoch = epoch
        self._mark(proposal.kind)
        self._raise_hw(now)

    def _alter_fail(self, step: Step, _now: int) -> None:
        error = step.text("error")
        proposal = self._answered(step)
        if proposal is None or proposal is not self._pending:
            return
        names = AlterError.__members__
        decision = partition.alter_response(
            self.rules, int(names.get(error, AlterError.OTHER)), 0, 0, 0, 0
        )
        self._meters.failures += 1
        if decision == Alter.REVERT:
            self._pending = None
        elif decision == Alter.RESUBMIT:
            self._submit(proposal)

    def _broker(self, step: Step, _now: int) -> None:
        known = self._known(step.integer("id"))
        known.fenced = step.flag("fenced", default=known.fenced)
        known.shutdown = step.flag("shutdown", default=known.shutdown)
        known.alive = step.flag("alive", default=known.alive)
        known.epoch = step.integer("epoch", known.epoch)

    # --- looking at it ----------------------------------------------------------------------

    def state(self, now: int) -> State:
        """Everything README names; `replica_<id>` for every follower (null: no record)."""
        size = len(self._isr)
        factor = len(set(self._meta.replicas) - self._meta.adding)
        state: State = {
            "isr": sorted(self._isr),
            "maximal_isr": sorted(self._maximal_isr),
            "hw": self._log.hw,
            "leo": self._log.leo,
            "inflight": self._pending is not None,
            "pending_kind": self._pending.kind if self._pending else None,
            "queued": len(self._queue),
            "sent_isr": sorted(self._sent.isr) if self._sent else None,
            "sent_epochs": dict(self._sent_epochs),
            "expands": self._meters.expands,
            "shrinks": self._meters.shrinks,
            "failures": self._meters.failures,
            "out_of_sync": sorted(self._out_of_sync(now)),
            "under_replicated": self._is_leader and factor > size,
            "under_min_isr": self._is_leader and size < self._min_isr,
            "at_min_isr": self._is_leader and size == self._min_isr,
            "leader_epoch": self._meta.leader_epoch,
            "partition_epoch": self._meta.partition_epoch,
            "epoch_start": self._meta.epoch_start,
            "is_leader": self._is_leader,
            "remote": sorted(self._rows),
            "submitted": self._submitted,
            "produce": {name: waiting.outcome for name, waiting in self._produce.items()},
        }
        for broker in sorted(set(self._meta.replicas) - {self._local}):
            row = self._rows.get(broker)
            state[f"replica_{broker}"] = None if row is None else shown_record(self._rec, row)
        return state
