"""A leader's record of one follower, driven alone (cluster/Replica.scala)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from isr_pipeline.kafka import kip501, releases, replica
from isr_pipeline.kafka.record import Follower, Leader
from tests.oracle.machine import Machine, Operation, State, nothing
from tests.oracle.steps import KafkaRefusal, Step
from tests.oracle.variants import Settings


def shown_time(value: int) -> int:
    """Return a recorded time as Kafka shows it: "never" is 0, and -1 before it."""
    return value if value > releases.NEVER // 2 else value - releases.NEVER


def new_leader(replicas: int) -> Leader:
    """Return a leader with records of so many replicas behind it, in which nothing stands."""
    leader = Leader([0] * (Leader.size + replicas * Follower.size))
    leader.followers = Follower(leader.memory, Leader.size)
    leader.replication_factor = replicas
    return leader


def shown_record(follower: Follower) -> dict[str, Any]:
    """Return a follower's record under the names that `expect` uses."""
    epoch = follower.broker_epoch
    return {
        "start": follower.log_start_offset,
        "leo": follower.log_end_offset,
        "last_caught_up": shown_time(follower.last_caught_up_time),
        "prev_leader_leo": follower.last_fetch_leader_log_end_offset,
        "last_fetch": shown_time(follower.last_fetch_time),
        "leo_time": shown_time(follower.log_end_offset_time),
        "broker_epoch": None if epoch == releases.NO_BROKER_EPOCH else epoch,
        "pending": kip501.is_pending(follower),
    }


class Replica(Machine):
    """The machine `replica`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._leader = new_leader(1)
        self._follower = self._leader.followers
        self._created = False

    def operations(self) -> Mapping[str, Operation]:
        """Fetch, reset, and the in-sync question."""
        return {
            "fetch": self._fetch,
            "fetch_begin": self._fetch_begin,
            "fetch_end": self._fetch,
            "reset": self._reset,
            "caught_up": self._caught_up,
            "nop": nothing,
        }

    def _ensure(self, now: int) -> None:
        """Begin the record at the first step."""
        if not self._created:
            replica.create(self.rules, self._follower, now)
            self._created = True

    def _fetch_begin(self, step: Step, now: int) -> None:
        self._ensure(now)
        kip501.begin_read(self.rules, self._follower, step.integer("offset"))

    def _fetch(self, step: Step, now: int) -> None:
        self._ensure(now)
        epoch = step.integer("broker_epoch", self.settings.cached_broker_epoch)
        offset = step.integer("offset")
        if self.settings.mode != "zk" and replica.is_stale_fetch(
            self.rules, epoch, self.settings.cached_broker_epoch
        ):
            raise KafkaRefusal("NOT_LEADER_OR_FOLLOWER")
        if step.values["op"] == "fetch":
            kip501.begin_read(self.rules, self._follower, offset)
        replica.on_fetch(
            self.rules,
            self._follower,
            offset,
            step.integer("fetch_t", now),
            step.integer("leader_leo"),
            now,
        )
        self._follower.log_start_offset = step.integer("start", 0)
        kip501.end_read(self.rules, self._follower, offset)
        replica.note_broker_epoch(self.rules, self._follower, epoch)

    def _reset(self, step: Step, now: int) -> None:
        self._ensure(now)
        self._leader.log_end_offset = self._leader.epoch_start = step.integer("leader_leo")
        replica.reset(
            self.rules,
            self._follower,
            self._leader,
            step.flag("is_new_leader"),
            step.flag("in_sync"),
            now,
        )

    def _caught_up(self, step: Step, now: int) -> bool:
        self._ensure(now)
        out = replica.is_out_of_sync(
            self.rules,
            self._follower,
            step.integer("leader_leo"),
            now,
            self.settings.lag_ms,
            self.settings.lag_messages,
        )
        return not out

    def state(self, now: int) -> State:
        """The record."""
        self._ensure(now)
        return shown_record(self._follower)
