"""A leader's record of one follower, driven alone (cluster/Replica.scala)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka import record, releases, replica
from isr_pipeline.replay.machine import Machine, Operation, State, nothing
from isr_pipeline.replay.steps import KafkaRefusal, Step
from isr_pipeline.replay.variants import Settings


def shown_time(value: int) -> int:
    """Return a recorded time as Kafka shows it: "never" is 0, and -1 before it."""
    return value if value > releases.NEVER // 2 else value - releases.NEVER


def shown_record(rec: npt.NDArray[np.int64], row: int) -> dict[str, Any]:
    """Return a follower's record under the names that `expect` uses."""
    epoch = int(rec[row, record.BROKER_EPOCH])
    return {
        "start": int(rec[row, record.START]),
        "leo": int(rec[row, record.LEO]),
        "last_caught_up": shown_time(int(rec[row, record.LAST_CAUGHT_UP])),
        "prev_leader_leo": int(rec[row, record.PREV_LEADER_LEO]),
        "last_fetch": shown_time(int(rec[row, record.LAST_FETCH])),
        "leo_time": shown_time(int(rec[row, record.LEO_TIME])),
        "broker_epoch": None if epoch == releases.NO_BROKER_EPOCH else epoch,
        "pending": bool(replica.is_pending(rec, row)),
    }


class Replica(Machine):
    """The machine `replica`."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._rec = np.zeros((1, record.N_FIELDS), dtype=np.int64)
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
            replica.create(self.rules, self._rec, 0, now)
            self._created = True

    def _fetch_begin(self, step: Step, now: int) -> None:
        self._ensure(now)
        replica.begin_read(self.rules, self._rec, 0, step.integer("offset"))

    def _fetch(self, step: Step, now: int) -> None:
        self._ensure(now)
        epoch = step.integer("broker_epoch", self.settings.cached_broker_epoch)
        offset = step.integer("offset")
        if self.settings.mode != "zk" and replica.is_stale_fetch(
            self.rules, epoch, self.settings.cached_broker_epoch
        ):
            raise KafkaRefusal("NOT_LEADER_OR_FOLLOWER")
        if step.values["op"] == "fetch":
            replica.begin_read(self.rules, self._rec, 0, offset)
        replica.on_fetch(
            self.rules,
            self._rec,
            0,
            step.integer("start", 0),
            offset,
            step.integer("fetch_t", now),
            step.integer("leader_leo"),
            now,
        )
        replica.end_read(self.rules, self._rec, 0, offset)
        replica.note_broker_epoch(self.rules, self._rec, 0, epoch)

    def _reset(self, step: Step, now: int) -> None:
        self._ensure(now)
        leo = step.integer("leader_leo")
        replica.reset(
            self.rules,
            self._rec,
            0,
            leo,
            leo,
            step.flag("is_new_leader"),
            step.flag("in_sync"),
            now,
        )

    def _caught_up(self, step: Step, now: int) -> bool:
        self._ensure(now)
        out = replica.is_out_of_sync(
            self.rules,
            self._rec,
            0,
            step.integer("leader_leo"),
            now,
            self.settings.lag_ms,
            self.settings.lag_messages,
        )
        return not out

    def state(self, now: int) -> State:
        """The record."""
        self._ensure(now)
        return shown_record(self._rec, 0)
