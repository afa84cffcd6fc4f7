"""One partition on the broker under test (cluster/Partition.scala of the variant's release)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from isr_pipeline.kafka import kip501, partition, releases, replica
from isr_pipeline.kafka.partition import Alter, AlterError, Produce
from isr_pipeline.kafka.record import Follower, Pending
from isr_pipeline.kafka.rows import Row
from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.replica import new_leader, shown_record
from tests.oracle.steps import KafkaRefusal, Step
from tests.oracle.variants import Settings

_BROKER_EPOCH_BASE: Final = 1000
"""A broker's epoch unless a step says otherwise is this plus its id, as in Kafka's own tests."""

_BITS: Final = 64
"""Of a set of replicas; the sign's bit stands for no replica."""

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
        kind: whether it expands or shrinks the ISR.
        isr: the ISR proposed.
        leader_epoch: the leader epoch it was proposed in.
        serial: tells equal proposals apart.
    """

    kind: Pending
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
class _Assignment:
    """The partition's replicas as metadata gave them last."""

    replicas: tuple[int, ...] = ()
    adding: frozenset[int] = frozenset()
    leader: int | None = None
    partition_epoch: int = 0
    brokers: dict[int, _Broker] = field(default_factory=dict)


def _copy(row: Row, to: Row) -> None:
    """Write a row's cells into another row of its table."""
    to.memory[to.first : to.first + to.size] = row.memory[row.first : row.first + row.size]


class Leader(Machine):
    """The machine `leader`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._local = settings.local
        self._followers: dict[int, Follower] = {}
        self._leader = new_leader(0)
        self._leader.leader_epoch = self._leader.epoch_start = releases.UNKNOWN
        self._log_start = 0
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
        return self.rules.async_isr

    @property
    def _by_leader_epoch(self) -> bool:
        """3.3 and later: metadata are ordered by epochs."""
        return self.rules.metadata_by_epoch

    @property
    def _maximal_isr(self) -> frozenset[int]:
        if self._pending is not None and self._pending.kind == Pending.EXPAND:
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
        if broker not in self._followers:
            return False
        stored = self._followers[broker].broker_epoch
        epoch_fits = stored in (releases.UNKNOWN, known.epoch)
        return known.alive and not known.fenced and not known.shutdown and epoch_fits

    def _eligible_mask(self) -> int:
        return self._mask(b for b in self._meta.replicas if b != self._local and self._eligible(b))

    def _position(self, broker: int) -> int:
        replicas = self._meta.replicas
        return replicas.index(broker) if broker in replicas else -1

    def _take_isr(self, isr: Iterable[int]) -> None:
        """Take an ISR as the committed one."""
        self._isr = frozenset(isr)
        self._leader.isr = self._mask(self._isr)

    def _take_pending(self, proposal: _Proposal | None) -> None:
        """Take a proposal as the one under way, or none."""
        self._pending = proposal
        self._leader.pending = Pending.NONE if proposal is None else proposal.kind
        self._leader.pending_isr = 0 if proposal is None else self._mask(proposal.isr)

    @property
    def _min_isr(self) -> int:
        """In effect: Kafka caps it by the replicas it tracks, those being added included."""
        tracked = len(self._followers) + 1
        return partition.effective_min_isr(self.rules, self.settings.min_isr, tracked)

    # --- becoming leader and follower -------------------------------------------------------

    def _init_log(self, step: Step, _now: int) -> None:
        self._log_start = step.integer("start", 0)
        end = step.integer("leo")
        self._leader.log_end_offset = end
        self._leader.high_watermark = min(step.integer("hw_checkpoint", 0), end)

    def _track(self, replicas: Iterable[int], now: int) -> None:
        """Keep a record of each replica but the local one, and of no other."""
        before, known = self._leader, self._followers
        factor = len(self._meta.replicas)
        self._leader, self._followers = new_leader(factor), {}
        _copy(before, self._leader)
        self._leader.replication_factor = factor
        self._leader.position = self._position(self._local)
        for broker in replicas:
            if broker == self._local:
                continue
            follower = self._leader.followers[self._position(broker)]
            if broker in known:
                _copy(known[broker], follower)
            else:
                replica.create(self.rules, follower, now)
            self._followers[broker] = follower

    def _take_metadata(self, step: Step) -> None:
        replicas = step.integers("replicas")
        if len(replicas) >= _BITS:
            raise step.place.at("replicas").refuse(len(replicas), f"fewer than {_BITS} replicas")
        self._meta.replicas = tuple(dict.fromkeys(replicas))
        self._meta.adding = frozenset(step.integers("adding", []))
        self._meta.partition_epoch = step.integer("partition_epoch", 0)
        self._take_pending(None)
        if not self._by_leader_epoch:
            self._queue.clear()

    def _make_leader(self, step: Step, now: int) -> str:
        partition_epoch = step.integer("partition_epoch", 0)
        if self._by_leader_epoch and partition_epoch < self._meta.partition_epoch:
            return "ignored"
        leader_epoch = step.integer("leader_epoch")
        leads_anew = not self._is_leader
        new_epoch = leader_epoch > self._leader.leader_epoch
        self._take_metadata(step)
        self._track(self._meta.replicas, now)
        self._take_isr(step.integers("isr"))
        if replica.resets_records(self.rules, new_epoch):
            self._leader.epoch_start = self._leader.log_end_offset
            for broker, follower in self._followers.items():
                in_isr = broker in self._isr
                replica.reset(self.rules, follower, self._leader, leads_anew, in_isr, now)
            self._leader.leader_epoch = leader_epoch
        self._meta.leader = self._local
        self._raise_hw(now)
        return "new_leader" if leads_anew else "stayed_leader"

    def _make_follower(self, step: Step, now: int) -> str:
        partition_epoch = step.integer("partition_epoch", 0)
        if self._by_leader_epoch and partition_epoch < self._meta.partition_epoch:
            return "ignored"
        leader, leader_epoch = step.integer("leader"), step.integer("leader_epoch")
        if self._by_leader_epoch:
            restart = leader_epoch > self._leader.leader_epoch
        else:
            restart = leader != self._meta.leader
            if self.rules.fetch_names_epoch:
                restart = restart or leader_epoch != self._leader.leader_epoch
        self._take_metadata(step)
        self._track(() if self._by_leader_epoch else self._meta.replicas, now)
        self._take_isr(())
        self._meta.leader = leader
        self._leader.leader_epoch = leader_epoch
        self._leader.epoch_start = releases.UNKNOWN
        for waiting in self._produce.values():
            if waiting.outcome is None:
                waiting.outcome = _NOT_LEADER
        return "new_epoch" if restart else "same_epoch"

    # --- appends and the high watermark -----------------------------------------------------

    def _raise_hw(self, now: int) -> None:
        """Re-evaluate the HW, and with it the produce requests that wait for it."""
        if not self._is_leader:
            return
        lag = self.settings.lag_ms
        self._leader.high_watermark = partition.next_high_watermark(
            self.rules, self._leader, self._eligible_mask(), self._min_isr, now, lag
        )
        self._complete_produce()

    def _complete_produce(self) -> None:
        for waiting in self._produce.values():
            if waiting.outcome is not None:
                continue
            answer = partition.produce_error(
                waiting.required,
                self._leader.high_watermark,
                len(self._maximal_isr),
                self._min_isr,
            )
            if answer != Produce.WAITING:
                waiting.outcome = answer.name

    def _append(self, step: Step, now: int) -> None:
        count = step.integer("n")
        acks = -1 if step.values.get("acks") == "all" else step.integer("acks", 1)
        if not self._is_leader:
            raise KafkaRefusal(_NOT_LEADER)
        if partition.append_refused(acks == -1, len(self._isr), self._min_isr):
            raise KafkaRefusal("NOT_ENOUGH_REPLICAS")
        self._leader.log_end_offset += count
        if step.has("id"):
            outcome = None if acks == -1 else Produce.NONE.name
            self._produce[str(step.values["id"])] = _Waiting(self._leader.log_end_offset, outcome)
        self._raise_hw(now)

    def _log_append(self, step: Step, _now: int) -> None:
        self._leader.log_end_offset += step.integer("n")

    # --- fetches ----------------------------------------------------------------------------

    def _check_fetch(self, step: Step, now: int) -> None:
        """Raise what the leader answers instead of reading; a failed read may leave its mark."""
        broker = step.integer("replica")
        error = self._fetch_error(step, broker, step.integer("offset"))
        if error is None:
            return
        if self._is_leader and broker in self._followers:
            replica.on_failed_read(self.rules, self._followers[broker], now)
        raise KafkaRefusal(error)

    def _fetch_error(self, step: Step, broker: int, offset: int) -> str | None:
        if step.has("leader_epoch"):
            epoch = step.integer("leader_epoch")
            if epoch < self._leader.leader_epoch:
                return "FENCED_LEADER_EPOCH"
            if epoch > self._leader.leader_epoch:
                return "UNKNOWN_LEADER_EPOCH"
        if not self._is_leader:
            return _NOT_LEADER
        if broker not in self._followers:
            return "UNKNOWN_LEADER_EPOCH" if step.has("leader_epoch") else _NOT_LEADER
        if step.has("error"):
            return step.text("error")
        if not self._log_start <= offset <= self._leader.log_end_offset:
            return "OFFSET_OUT_OF_RANGE"
        return None

    def _begin(self, step: Step, now: int) -> _Read:
        broker, offset = step.integer("replica"), step.integer("offset")
        kip501.begin_read(self.rules, self._followers[broker], offset)
        return _Read(
            broker,
            offset,
            step.integer("start", 0),
            now,
            self._leader.log_end_offset,
            step.integer("broker_epoch", _BROKER_EPOCH_BASE + broker),
        )

    def _is_stale(self, read: _Read) -> bool:
        known = self._known(read.replica)
        return (
            self.settings.mode == "kraft"
            and known.alive
            and replica.is_stale_fetch(self.rules, read.broker_epoch, known.epoch)
        )

    def _record(self, read: _Read, now: int) -> bool:
        """Write the follower's record; whether its offset changed."""
        follower = self._followers[read.replica]
        if self._is_stale(read):
            kip501.end_read(self.rules, follower, read.offset)
            raise KafkaRefusal(_NOT_LEADER)
        before = follower.log_end_offset
        replica.on_fetch(self.rules, follower, read.offset, read.fetch_time, read.leader_leo, now)
        follower.log_start_offset = read.start
        kip501.end_read(self.rules, follower, read.offset)
        replica.note_broker_epoch(self.rules, follower, read.broker_epoch)
        return before != read.offset

    def _after_record(self, read: _Read, changed: bool, now: int) -> None:
        """Let the follower join, then move the HW (from 2.4 on only if its offset changed)."""
        self._maybe_expand(read.replica, now)
        if changed or self.rules.failed_read_applied:
            self._raise_hw(read.fetch_time if self._judges_by_fetch_time else now)

    @property
    def _judges_by_fetch_time(self) -> bool:
        """0.10.2 and later ask who is caught up at the fetch's own time."""
        return self.rules.clock == releases.Clock.FETCH_TIME

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
        if not self._is_leader or broker not in self._followers:
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
        lag, messages = self.settings.lag_ms, self.settings.lag_messages
        mask = partition.out_of_sync_mask(self.rules, self._leader, now, lag, messages)
        return frozenset(b for at, b in enumerate(self._meta.replicas) if mask >> at & 1)

    def _maybe_shrink(self, _step: Step, now: int) -> None:
        leaving = self._out_of_sync(now)
        if leaving:
            self._propose(Pending.SHRINK, self._isr - leaving)
            self._raise_hw(now)

    def _maybe_expand(self, broker: int, now: int) -> None:
        if not self._is_leader:
            return
        at, lag = self._position(broker), self.settings.lag_ms
        rules, leader = self.rules, self._leader
        if partition.may_expand(
            rules, leader, at, self._eligible_mask()
        ) and partition.lag_lets_join(rules, leader, at, self._min_isr, now, lag):
            self._propose(Pending.EXPAND, self._isr | {broker})

    def _propose(self, kind: Pending, isr: frozenset[int]) -> None:
        """Propose an ISR; up to 2.6 that is a write to ZooKeeper, done at once."""
        proposal = _Proposal(kind, isr, self._leader.leader_epoch, self._submitted)
        self._sent = proposal
        self._sent_epochs = {str(broker): self._epoch_to_send(broker) for broker in sorted(isr)}
        if self._asynchronous:
            self._take_pending(proposal)
            self._submit(proposal)
            return
        self._take_isr(isr)
        self._meta.partition_epoch += 1
        self._mark(kind)

    def _epoch_to_send(self, broker: int) -> int:
        if self.settings.mode != "kraft":
            return releases.UNKNOWN
        if broker == self._local:
            return self._known(broker).epoch
        stored = self._followers[broker].broker_epoch
        return releases.UNKNOWN if stored == releases.NO_BROKER_EPOCH else stored

    def _submit(self, proposal: _Proposal) -> None:
        """Hand a proposal to the manager, which takes one a partition."""
        self._submitted += 1
        if self._queue:
            self._meters.failures += 1
            self._take_pending(None)
            return
        self._queue.append(proposal)

    def _mark(self, kind: Pending) -> None:
        if kind == Pending.EXPAND:
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
            AlterError.NONE,
            step.integer("leader_epoch", proposal.leader_epoch),
            epoch,
            self._leader.leader_epoch,
            self._meta.partition_epoch,
        )
        if decision == Alter.IGNORE:
            self._meters.failures += 1
            return
        self._take_isr(step.integers("isr", sorted(proposal.isr)))
        self._take_pending(None)
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
            self.rules, names.get(error, AlterError.OTHER), 0, 0, 0, 0
        )
        self._meters.failures += 1
        if decision == Alter.REVERT:
            self._take_pending(None)
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
        start = self._leader.epoch_start
        state: State = {
            "isr": sorted(self._isr),
            "maximal_isr": sorted(self._maximal_isr),
            "hw": self._leader.high_watermark,
            "leo": self._leader.log_end_offset,
            "inflight": self._pending is not None,
            "pending_kind": self._pending.kind.name.lower() if self._pending else None,
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
            "leader_epoch": self._leader.leader_epoch,
            "partition_epoch": self._meta.partition_epoch,
            "epoch_start": None if start == releases.UNKNOWN else start,
            "is_leader": self._is_leader,
            "remote": sorted(self._followers),
            "submitted": self._submitted,
            "produce": {name: waiting.outcome for name, waiting in self._produce.items()},
        }
        for broker in sorted(set(self._meta.replicas) - {self._local}):
            follower = self._followers.get(broker)
            state[f"replica_{broker}"] = None if follower is None else shown_record(follower)
        return state
