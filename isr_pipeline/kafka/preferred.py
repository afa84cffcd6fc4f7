"""The check that gives leads back to preferred replicas: when, of whom, how many at once."""

from __future__ import annotations

from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Controller, Rules

GO_MAX: Final = 1000
"""Leads that KRaft moves in one go: ReplicationControlManager.MAX_ELECTIONS_PER_IMBALANCE @ 3.9."""

NEXT_GO_US: Final = 10_000
"""From one go that was full to the next (QuorumController @ 3.9, PeriodicTask @ 4.0.0)."""

NEW_CONTROLLER_CHECK_US: Final = 5_000_000
"""From a new ZooKeeper controller's start to its first check (KafkaController @ 3.9)."""


@rule
def waits_for_imbalance(rules: Rules) -> bool:
    """Whether the interval is counted from the first imbalance on, not from the controller's start.

    KRaft up to 3.9 plans the check after a write that leaves a partition without its preferred
    leader, if none is planned (QuorumController.maybeScheduleNextBalancePartitionLeaders @ 3.9);
    from 4.0 on it is a periodic task, as under ZooKeeper (PeriodicTaskControlManager @ 4.0.0,
    4.3.1).
    """
    return rules.controller == Controller.KRAFT and rules.check_from_imbalance


@rule
def moves_back(rules: Rules, preferred: int, missing: int, percentage: int) -> bool:
    """Whether the leads that a broker misses are given back to it.

    KRaft gives back every one; ZooKeeper's controller only if more of them are missing than
    leader.imbalance.per.broker.percentage (KafkaController.checkAndTriggerAutoLeaderRebalance).

    Args:
        rules: the switches.
        preferred: partitions that prefer the broker.
        missing: of these, those that it does not lead.
        percentage: the key.
    """
    if rules.controller == Controller.KRAFT:
        return missing > 0
    return missing * 100 > preferred * percentage


@rule
def go_limit(rules: Rules) -> int:
    """How many leads one go moves at most: -1 for as many as there are (ZooKeeper)."""
    return GO_MAX if rules.controller == Controller.KRAFT else -1
