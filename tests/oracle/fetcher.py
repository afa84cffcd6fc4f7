"""A follower's fetcher thread against a stub leader (server/AbstractFetcherThread.scala).

Truncation happens on fetch (IBP >= 2.7), and the stub answers each fetch with at most one batch.
What a failure does to a partition is asked of `kafka.fetcher.reaction`; the loop itself, list
offsets and epoch lookups are here, since the simulation has no need of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from isr_pipeline.kafka.fetcher import Error, Reaction, reaction
from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import Step
from tests.oracle.stub_log import UNDEFINED, Batch, Log
from tests.oracle.variants import Settings

_EPOCH_LOOKUPS: Final = ("epoch_end_offsets", "offsets_for_leader_epoch", "epoch")
WHERE: Final = (
    "append",
    "truncate",
    "rpc",
    "response",
    "list_offsets_earliest",
    "list_offsets_latest",
    *_EPOCH_LOOKUPS,
)
"""The steps of a loop that can be made to fail."""

_CODES: Final = {
    "KafkaStorageException": "KAFKA_STORAGE_ERROR",
    "CorruptRecordException": "CORRUPT_MESSAGE",
    "InvalidRecordException": "CORRUPT_MESSAGE",
    "INVALID_RECORD": "CORRUPT_MESSAGE",
    "CORRUPT_RECORD": "CORRUPT_MESSAGE",
    "STORAGE": "KAFKA_STORAGE_ERROR",
    "FencedLeaderEpochException": "FENCED_LEADER_EPOCH",
    "UnknownLeaderEpochException": "UNKNOWN_LEADER_EPOCH",
    "OffsetOutOfRangeException": "OFFSET_OUT_OF_RANGE",
}
_ANY: Final = "*"


class _LeaderError(Exception):
    """An error that the leader answered, or that was injected in its place."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


class _ThreadDies(Exception):
    """Ends the thread's loop."""


@dataclass(slots=True)
class _Partition:
    """What the thread knows of a partition it fetches (PartitionFetchState)."""

    offset: int
    leader_epoch: int
    state: str
    last_fetched_epoch: int | None
    lag: int | None = None
    delayed_until: int | None = None

    def delayed(self, now: int) -> bool:
        """Whether the back-off still runs."""
        return self.delayed_until is not None and self.delayed_until > now


@dataclass(slots=True)
class _Injected:
    """A failure put into one step of the loop."""

    code: str
    once: bool


class Fetcher(Machine):
    """The machine `fetcher`."""

    ordered_keys = frozenset({"epochs"})

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._replicas: dict[str, Log] = {}
        self._leaders: dict[str, Log] = {}
        self._tracked: dict[str, _Partition] = {}
        self._failed: set[str] = set()
        self._injected: dict[tuple[str, str], _Injected] = {}
        self._truncations = 0
        self._process_calls = 0
        self._dead = False

    def operations(self) -> Mapping[str, Operation]:
        """Set up both sides, make a step fail, and run the loop once."""
        return {
            "set_replica": self._set_replica,
            "set_leader": self._set_leader,
            "mod_leader": self._mod_leader,
            "clear_leader_log": self._clear_leader_log,
            "add": self._add,
            "remove": self._remove,
            "inject": self._inject,
            "do_work": self._do_work,
            "nop": nothing,
        }

    # --- setting up -------------------------------------------------------------------------

    @staticmethod
    def _name(step: Step) -> str:
        return step.text("tp", "tp")

    @staticmethod
    def _read_log(step: Step) -> Log:
        batches = [
            Batch(batch.integer("base"), batch.integer("epoch"), batch.integer("n"))
            for batch in (step.nested_list("log") if step.has("log") else [])
        ]
        return Log(batches, step.integer("leader_epoch"), step.integer("hw", 0))

    def _set_replica(self, step: Step, _now: int) -> None:
        self._replicas[self._name(step)] = self._read_log(step)

    def _set_leader(self, step: Step, _now: int) -> None:
        self._leaders[self._name(step)] = self._read_log(step)

    def _side(self, step: Step, side: dict[str, Log], setter: str) -> Log:
        name = self._name(step)
        if name not in side:
            raise step.place.at("tp").refuse(repr(name), f"a partition of an earlier {setter}")
        return side[name]

    def _mod_leader(self, step: Step, _now: int) -> None:
        self._side(step, self._leaders, "set_leader").leader_epoch = step.integer("epoch")

    def _clear_leader_log(self, step: Step, _now: int) -> None:
        self._side(step, self._leaders, "set_leader").clear()

    def _add(self, step: Step, now: int) -> None:
        """Un-fail always; keep the state of a partition whose leader epoch is the same."""
        name = self._name(step)
        log = self._side(step, self._replicas, "set_replica")
        epoch, offset = step.integer("leader_epoch"), step.integer("offset")
        self._failed.discard(name)
        tracked = self._tracked.get(name)
        if tracked is not None and tracked.leader_epoch == epoch:
            return
        default = None if step.flag("force_truncation", default=False) else 0
        latest = default if log.latest_epoch is None else log.latest_epoch
        if offset < 0:
            try:
                self._tracked[name] = self._reset_offset(name, epoch, now)
            except _LeaderError as failure:
                raise step.place.at("offset").refuse(
                    f"{offset} ({failure.code} while it was looked up)",
                    "an offset, or a leader that answers list-offsets",
                ) from failure
            return
        state = "Truncating" if latest is None else "Fetching"
        self._tracked[name] = _Partition(offset, epoch, state, latest)

    def _remove(self, step: Step, _now: int) -> None:
        self._tracked.pop(self._name(step), None)
        if step.flag("clear_failed", default=False):
            self._failed.discard(self._name(step))

    def _inject(self, step: Step, _now: int) -> None:
        where = step.one_of("where", WHERE)
        where = _EPOCH_LOOKUPS[0] if where in _EPOCH_LOOKUPS else where
        error = step.text("error")
        code = _CODES.get(error, error)
        self._injected[where, self._name(step)] = _Injected(code, step.flag("once", default=False))

    def _met(self, where: str, name: str) -> str | None:
        """Return the code injected for a step of the loop, if any, and use it up."""
        for key in ((where, name), (where, _ANY)):
            injected = self._injected.get(key)
            if injected is not None:
                if injected.once:
                    del self._injected[key]
                return injected.code
        return None

    # --- one loop ---------------------------------------------------------------------------

    def _do_work(self, step: Step, now: int) -> str:
        if self._dead:
            return "dead"
        for name in self._tracked:
            if name not in self._leaders:
                raise step.place.at("op").refuse(
                    f"'do_work' with {name!r} tracked", f"a set_leader of {name!r} before it"
                )
        try:
            self._truncate_phase(now)
            return self._fetch_phase(now)
        except _ThreadDies:
            self._dead = True
            return "dead"

    def _truncate_phase(self, now: int) -> None:
        """Ask the leader where the latest epoch ends, for partitions that must truncate."""
        for name, partition in list(self._tracked.items()):
            if partition.state != "Truncating" or partition.delayed(now):
                continue
            latest = self._replicas[name].latest_epoch
            injected = self._met(_EPOCH_LOOKUPS[0], name)
            code = injected or self._epoch_error(name, partition.leader_epoch)
            if code not in (None, "NONE"):
                self._on_code(name, str(code), partition.leader_epoch, now)
                continue
            answer = self._leaders[name].epoch_end(0 if latest is None else latest)
            self._truncate_to(name, answer, now)

    def _epoch_error(self, name: str, epoch: int) -> str | None:
        """Return what the leader answers to a request with this leader epoch, None if it fits."""
        leader_epoch = self._leaders[name].leader_epoch
        if epoch < leader_epoch:
            return "FENCED_LEADER_EPOCH"
        return "UNKNOWN_LEADER_EPOCH" if epoch > leader_epoch else None

    def _truncate_to(self, name: str, answer: tuple[int, int], now: int) -> None:
        """Truncate by the leader's answer about an epoch's end, and go on fetching from there."""
        partition, log = self._tracked[name], self._replicas[name]
        offset = self._truncation_offset(log, partition.offset, answer)
        self._truncations += 1
        code = self._met("truncate", name)
        if code not in (None, "NONE"):
            self._on_exception(name, str(code), now)
            return
        log.truncate(offset)
        latest = 0 if log.latest_epoch is None else log.latest_epoch
        partition.offset = offset
        partition.state = "Fetching"
        partition.last_fetched_epoch = latest

    @staticmethod
    def _truncation_offset(log: Log, fetch_offset: int, answer: tuple[int, int]) -> int:
        """Where to truncate to (getOffsetTruncationState @ 1eb7644349, KIP-279)."""
        epoch, end = answer
        if end == UNDEFINED:
            return fetch_offset
        own_epoch, own_end = log.epoch_end(epoch)
        if own_end == UNDEFINED:
            return min(end, log.end)
        if own_epoch != epoch:
            return min(own_end, log.end)
        return min(own_end, end, log.end)

    def _fetch_phase(self, now: int) -> str:
        ready = [
            name
            for name, partition in self._tracked.items()
            if partition.state == "Fetching" and not partition.delayed(now)
        ]
        if not ready:
            return "backoff"
        failure = self._met("rpc", _ANY) or next(
            (code for code in (self._met("rpc", name) for name in ready) if code), None
        )
        if failure not in (None, "NONE"):
            waits = 2 if self.rules.double_backoff else 1
            self._delay(list(self._tracked), now, waits)
            return "error"
        diverging = []
        for name in ready:
            if name in self._tracked:
                answer = self._process(name, now)
                if answer is not None:
                    diverging.append((name, answer))
        for name, answer in diverging:
            if name in self._tracked:
                self._truncate_to(name, answer, now)
        return "fetched"

    def _process(self, name: str, now: int) -> tuple[int, int] | None:
        """Handle one partition of the response; returns the epoch's end if logs diverge."""
        partition, leader = self._tracked[name], self._leaders[name]
        injected = self._met("response", name)
        code = injected or self._epoch_error(name, partition.leader_epoch)
        if code not in (None, "NONE"):
            self._on_code(name, str(code), partition.leader_epoch, now)
            return None
        if injected is None:
            if not leader.start <= partition.offset <= leader.end:
                self._on_code(name, "OFFSET_OUT_OF_RANGE", partition.leader_epoch, now)
                return None
            answer = self._diverging(partition, leader)
            if answer is not None:
                return answer
        batch = leader.first_from(partition.offset) if injected is None else None
        self._append(name, batch, now)
        return None

    @staticmethod
    def _diverging(partition: _Partition, leader: Log) -> tuple[int, int] | None:
        """Return the leader's (epoch, end offset) if the follower's log has left the leader's."""
        if partition.last_fetched_epoch is None or not leader.batches:
            return None
        epoch, end = leader.epoch_end(partition.last_fetched_epoch)
        if end == UNDEFINED:
            return None
        if epoch < partition.last_fetched_epoch or end < partition.offset:
            return epoch, end
        return None

    def _append(self, name: str, batch: Batch | None, now: int) -> None:
        """Append what the leader sent (processPartitionData)."""
        partition, log, leader = self._tracked[name], self._replicas[name], self._leaders[name]
        self._process_calls += 1
        code = self._met("append", name)
        if code in (None, "NONE") and partition.offset != log.end:
            code = "OFFSET_MISMATCH"
        if code not in (None, "NONE"):
            self._on_exception(name, str(code), now)
            return
        if batch is not None:
            log.append(batch)
        log.start = leader.start
        log.hw = leader.hw
        if batch is not None:
            partition.offset = batch.next
            partition.last_fetched_epoch = batch.epoch
        partition.lag = max(0, leader.hw - partition.offset)
        partition.delayed_until = None

    # --- what failures do -------------------------------------------------------------------

    def _on_exception(self, name: str, code: str, now: int) -> None:
        """An exception while appending or truncating."""
        kinds = {"KAFKA_STORAGE_ERROR": Error.STORAGE, "CORRUPT_MESSAGE": Error.CORRUPT_RECORD}
        self._react(name, kinds.get(code, Error.UNEXPECTED), now)

    def _on_code(self, name: str, code: str, request_epoch: int, now: int) -> None:
        """An error code in the leader's answer."""
        partition = self._tracked[name]
        if code == "FENCED_LEADER_EPOCH" and request_epoch == partition.leader_epoch:
            self._react(name, Error.FENCED_EPOCH, now)
        elif code == "OFFSET_OUT_OF_RANGE":
            try:
                self._tracked[name] = self._reset_offset(name, partition.leader_epoch, now)
            except _LeaderError as failure:
                if failure.code == "OFFSET_OUT_OF_RANGE":
                    self._delay([name], now, 1)
                else:
                    self._on_code(name, failure.code, request_epoch, now)
        else:
            self._delay([name], now, 1)

    def _react(self, name: str, error: Error, now: int) -> None:
        answer = reaction(self.rules, error)
        if answer is Reaction.FAIL:
            self._failed.add(name)
            self._tracked.pop(name, None)
        elif answer is Reaction.DROP:
            self._tracked.pop(name, None)
        elif answer is Reaction.THREAD_DIES:
            raise _ThreadDies
        elif answer is Reaction.DELAY:
            self._delay([name], now, 1)

    def _delay(self, names: list[str], now: int, waits: int) -> None:
        """Let partitions wait; one that waits already goes on with its own back-off."""
        if self.rules.backoff_none:
            return
        for name in names:
            partition = self._tracked[name]
            if not partition.delayed(now):
                partition.delayed_until = now + waits * self.settings.backoff_ms

    def _reset_offset(self, name: str, epoch: int, _now: int) -> _Partition:
        """Find the offset to go on from when the leader's log does not reach there."""
        log, leader = self._replicas[name], self._leaders[name]
        self._list_offsets("latest", name, epoch)
        if leader.end < log.end:
            self._truncations += 1
            log.truncate(leader.end)
            offset, lag = leader.end, 0
        else:
            self._list_offsets("earliest", name, epoch)
            offset = max(leader.start, log.end)
            if leader.start > log.end:
                log.restart_at(leader.start)
            lag = leader.end - offset
        latest = 0 if log.latest_epoch is None else log.latest_epoch
        return _Partition(offset, epoch, "Fetching", latest, lag)

    def _list_offsets(self, which: str, name: str, epoch: int) -> None:
        """Ask the leader for an offset; raises what it answers instead."""
        injected = self._met(f"list_offsets_{which}", name)
        code = injected or self._epoch_error(name, epoch)
        if code not in (None, "NONE"):
            raise _LeaderError(str(code))

    # --- looking at it ----------------------------------------------------------------------

    def state(self, now: int) -> State:
        """Both logs' follower side and the thread; names carry `_<tp>` unless tp is "tp"."""
        state: State = {
            "failed": sorted(self._failed),
            "failed_count": len(self._failed),
            "tracked": sorted(self._tracked),
            "truncations": self._truncations,
            "process_calls": self._process_calls,
            "thread_dead": self._dead,
        }
        for name, log in self._replicas.items():
            suffix = "" if name == "tp" else f"_{name}"
            partition = self._tracked.get(name)
            state |= {
                f"leo{suffix}": log.end,
                f"hw{suffix}": log.hw,
                f"lso{suffix}": log.start,
                f"epochs{suffix}": [batch.epoch for batch in log.batches],
                f"state{suffix}": partition.state if partition else None,
                f"fetch_offset{suffix}": partition.offset if partition else None,
                f"last_fetched_epoch{suffix}": partition.last_fetched_epoch if partition else None,
                f"lag{suffix}": partition.lag if partition else None,
                f"delayed{suffix}": bool(partition and partition.delayed(now)),
            }
        return state
