"""Short ways to make the arguments of the rule functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isr_pipeline.kafka import record, releases, replica

NAMES = tuple(releases.RULE_SETS)
TIMED = NAMES[1:]
"""Rule sets that measure lag in time alone."""
MERGED = NAMES[3:]
"""Rule sets with KAFKA-4485 as merged."""


def rules_of(name: str, **options: Any) -> np.ndarray:
    """The switches of a rule set."""
    return releases.switches(releases.RULE_SETS[name], **options)


@dataclass
class Follower:
    """One follower's record under one rule set, with short calls."""

    rules: np.ndarray
    rec: np.ndarray

    @classmethod
    def of(cls, name: str, *, now: int = 0, rows: int = 1, **options: Any) -> Follower:
        """A record that has never been fetched with."""
        rules = rules_of(name, **options)
        rec = np.zeros((rows, record.N_FIELDS), dtype=np.int64)
        for row in range(rows):
            replica.create(rules, rec, row, now)
        return cls(rules, rec)

    def fetch(self, offset: int, leader_leo: int, at: int, *, end: int | None = None) -> None:
        """A fetch whose read begins at `at` and ends at `end`."""
        now = at if end is None else end
        replica.on_fetch(self.rules, self.rec, 0, 0, offset, at, leader_leo, now)

    def reset(self, leo: int, *, new: bool, in_isr: bool, now: int) -> None:
        """Becoming leader, again or anew."""
        replica.reset(self.rules, self.rec, 0, leo, leo, new, in_isr, now)

    def field(self, column: int) -> int:
        """One column of the record."""
        return int(self.rec[0, column])

    @property
    def caught_up_at(self) -> int:
        """LAST_CAUGHT_UP."""
        return self.field(record.LAST_CAUGHT_UP)

    def out(self, leo: int, now: int, *, lag: int = 10, messages: int = 4) -> bool:
        """Whether the tick takes it out."""
        return bool(replica.is_out_of_sync(self.rules, self.rec, 0, leo, now, lag, messages))

    def in_sync(self, leo: int, now: int, *, lag: int = 10) -> bool:
        """Whether it is caught up."""
        return bool(replica.is_caught_up(self.rules, self.rec, 0, leo, now, lag))

    def holds_hw(self, leo: int, now: int, *, lag: int = 10) -> bool:
        """Whether the HW waits for it outside the ISR."""
        return bool(replica.holds_high_watermark(self.rules, self.rec, 0, leo, now, lag))
