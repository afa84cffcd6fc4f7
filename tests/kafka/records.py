"""Short ways to make the arguments of the rule functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from isr_pipeline.kafka import record, releases, replica
from isr_pipeline.kafka.election import Change, Election, Registration
from isr_pipeline.kafka.releases import Rules
from tests.tables import Row, Test, reads_all, rows_of

NAMES = tuple(releases.RULE_SETS)
TIMED = NAMES[1:]
"""Rule sets that measure lag in time alone."""
MERGED = NAMES[3:]
"""Rule sets with KAFKA-4485 as merged."""


def rule_sets(told: str | list[str]) -> Sequence[str]:
    """Names of rule sets: `every`, `from NAME` on, `to NAME`, one, or those of a list."""
    if told == "every":
        return NAMES
    match told.split() if isinstance(told, str) else told:
        case ["from", name]:
            return NAMES[NAMES.index(name) :]
        case ["to", name]:
            return NAMES[: NAMES.index(name) + 1]
        case names:
            return names


def in_rule_sets(test: Test) -> Test:
    """Run a test with each row of its table in each of the rule sets that the row is `in`."""
    rows = [
        pytest.param(rule_set, Row(row), id=f"{row['id']}-{rule_set}")
        for row in rows_of(test)
        for rule_set in rule_sets(row["in"])
    ]
    in_each: Test = pytest.mark.parametrize(("name", "row"), rows)(reads_all(test))
    return in_each


def set_of(positions: Iterable[int]) -> int:
    """Replicas at some positions of an assignment, as the rules have them."""
    return sum(1 << position for position in positions)


def rules_of(name: str, **options: Any) -> Rules:
    """The switches of a rule set."""
    return releases.switches(releases.RULE_SETS[name], **options)


def empty_leader(replicas: int = 1) -> record.Leader:
    """A leader of so many replicas with their records behind it, in which nothing stands."""
    cells = record.Leader.size + replicas * record.Follower.size
    leader = record.Leader(np.zeros(cells, dtype=np.int64))
    leader.followers = record.Follower(leader.memory, record.Leader.size)
    leader.replication_factor = replicas
    return leader


def empty_record() -> record.Follower:
    """A record in which nothing stands."""
    return empty_leader().followers


def registration(leader: int, isr: int, elr: int, known: int) -> Registration:
    """A partition as the controller has it."""
    partition = Registration([0] * Registration.size)
    partition.leader, partition.isr, partition.elr = leader, isr, elr
    partition.last_known_elr = known
    return partition


def change_of(
    order: Sequence[int], *, target: int, acceptable: int, kind: Election, use_known: bool
) -> Change:
    """A change of a partition's ISR, whose elections walk in an order."""
    change = Change([0] * Change.size)
    for index, position in enumerate(order):
        change.order[index] = position
    change.ordered = len(order)
    change.target_isr, change.acceptable = target, acceptable
    change.election, change.uses_last_known = kind, use_known
    return change


@dataclass
class Follower:
    """The first of a leader's records under one rule set, with short calls."""

    rules: Rules
    leader: record.Leader

    @classmethod
    def of(cls, name: str, *, now: int = 0, n: int = 1, **options: Any) -> Follower:
        """The first of `n` records of followers that have never fetched."""
        rules, leader = rules_of(name, **options), empty_leader(n)
        for position in range(n):
            replica.create(rules, leader.followers[position], now)
        return cls(rules, leader)

    @property
    def record(self) -> record.Follower:
        """The record."""
        return self.leader.followers

    def fetch(self, offset: int, leader_leo: int, at: int, *, end: int | None = None) -> None:
        """A fetch whose read begins at `at` and ends at `end`."""
        now = at if end is None else end
        replica.on_fetch(self.rules, self.record, offset, at, leader_leo, now)

    def reset(self, leo: int, *, new: bool, in_isr: bool, now: int) -> None:
        """Becoming leader, again or anew."""
        self.leader.log_end_offset = self.leader.epoch_start = leo
        replica.reset(self.rules, self.record, self.leader, new, in_isr, now)

    @property
    def caught_up_at(self) -> int:
        """When it was last caught up."""
        return self.record.last_caught_up_time

    def out(self, leo: int, now: int, *, lag: int = 10, messages: int = 4) -> bool:
        """Whether the tick takes it out."""
        return replica.is_out_of_sync(self.rules, self.record, leo, now, lag, messages)

    def in_sync(self, leo: int, now: int, *, lag: int = 10) -> bool:
        """Whether it is caught up."""
        return replica.is_caught_up(self.rules, self.record, leo, now, lag)

    def holds_hw(self, leo: int, now: int, *, lag: int = 10) -> bool:
        """Whether the HW waits for it outside the ISR."""
        return replica.holds_high_watermark(self.rules, self.record, leo, now, lag)
