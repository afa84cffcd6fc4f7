"""Who becomes leader: ZooKeeper's controller, and KRaft's with eligible leader replicas (KIP-966).

And when leads go back to preferred replicas: of whom, how many at once.

Every controller ever released walks down the *assignment* and only tests whether a replica is in
the ISR; an order of the ISR list itself (KIP-501, Solution 2) decides nothing. The order to walk
is an argument, so that the proposal's picture can be had too.

Sources: controller/PartitionLeaderSelector.scala @ 0.8.2.2, controller/Election.scala and
PartitionStateMachine.scala (PartitionLeaderElectionAlgorithms) @ 3.5.1,
controller/PartitionChangeBuilder.java @ 3.9, 4.0.2, 4.1.0, 4.3.1.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.partition import size_of
from isr_pipeline.kafka.releases import Controller, Rules
from isr_pipeline.kafka.rows import Cell, Fixed, Flag, Mask, Numbers, Row, Several, State

NO_LEADER: Final = -1
_NO_CHANGE: Final = -2
ORDER_MAX: Final = 16
"""Replicas among which an election can walk."""


class Election(IntEnum):
    """How KRaft's controller was asked to elect."""

    PREFERRED = 0
    ONLINE = 1
    UNCLEAN = 2


class Registration(Row):
    """A partition as the controller has it (PartitionRegistration)."""

    replication_factor: Fixed
    leader: Cell  # position, -1 none
    isr: Mask
    leader_epoch: Cell
    partition_epoch: Cell
    elr: Mask
    last_known_elr: Mask


class Change(Row):
    """One change of a partition by the controller: what is asked, and what comes of it."""

    order: Annotated[Several, ORDER_MAX]  # positions, in the order in which an election walks
    ordered: Cell  # how many of them count
    target_isr: Mask  # the ISR as the change wants it
    acceptable: Mask  # replicas that the controller regards as alive
    min_isr: Cell  # min.insync.replicas in effect
    election: State[Election]
    unclean_shutdown: Mask  # replicas that came back from an unclean shutdown
    uses_last_known: Flag  # lastKnownElr holds the last leader, who may be elected
    removes_replicas: Flag  # out of the assignment
    leader: Cell
    isr: Mask
    elr: Mask
    last_known_elr: Mask
    is_unclean: Flag
    bumps_leader_epoch: Flag


@rule
def kraft_election(rules: Rules, election: Election, unclean_enabled: bool) -> Election:
    """How KRaft's controller elects where a broker or a log dir changes.

    To 3.8 it does not read unclean.leader.election.enable
    (ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic @ 3.3.0, 3.8.0, 3.9).

    Args:
        rules: the switches.
        election: as it was asked for.
        unclean_enabled: the key.
    """
    if election == Election.ONLINE and unclean_enabled and rules.kraft_elects_uncleanly:
        return Election.UNCLEAN
    return election


@rule
def elect_zk(
    order: Numbers, n: int, isr: int, live: int, shutting_down: int, unclean_enabled: bool
) -> tuple[int, bool]:
    """The leader that ZooKeeper's controller elects.

    Args:
        order: positions, in the order to walk: the assignment (offline, reassign,
            controlled), or its first alone (preferred).
        n: how many of `order` count.
        isr: the ISR.
        live: replicas on live brokers.
        shutting_down: replicas on brokers in controlled shutdown.
        unclean_enabled: unclean.leader.election.enable, and an election that may use it.

    Returns:
        (position or -1, whether it was unclean).
    """
    for index in range(n):
        position = order[index]
        if (isr >> position) & (live >> position) & 1 and not (shutting_down >> position) & 1:
            return position, False
    if unclean_enabled:
        for index in range(n):
            position = order[index]
            if (live >> position) & 1:
                return position, True
    return NO_LEADER, False


@rule
def last_member_leaves(rules: Rules, unclean_enabled: bool) -> bool:
    """Whether ZooKeeper's controller takes the last member out of an ISR as well.

    To 1.0 it does where unclean.leader.election.enable is on: who comes back first is then elected
    uncleanly, even the leader itself (KafkaController.removeReplicaFromIsr @ 0.8.2.2, 1.0.2).
    """
    return unclean_enabled and rules.last_member_leaves


@rule
def _valid(position: int, target_isr: int, target_elr: int, acceptable: int) -> bool:
    """In the ISR, or in the ELR if the ISR is empty, and alive."""
    if position < 0 or not (acceptable >> position) & 1:
        return False
    return (target_isr >> position) & 1 != 0 or (
        target_isr == 0 and (target_elr >> position) & 1 != 0
    )


@rule
def elect_kraft(
    rules: Rules, partition: Registration, change: Change, target_elr: int
) -> tuple[int, bool]:
    """The leader that KRaft's controller elects (PartitionChangeBuilder.electLeader).

    Args:
        rules: the switches.
        partition: as it stands.
        change: what is asked of it.
        target_elr: the eligible leader replicas to be.

    Returns:
        (position or -1, whether it was unclean). To 4.0 a last known leader is elected even if it
        is not acceptable: that code only logs it (KAFKA-19522).
    """
    target_isr, acceptable, order = change.target_isr, change.acceptable, change.order
    preferred = change.election == Election.PREFERRED
    if preferred and _valid(order[0], target_isr, target_elr, acceptable):
        return order[0], False
    if _valid(partition.leader, target_isr, target_elr, acceptable):
        return partition.leader, False
    for index in range(change.ordered):
        if _valid(order[index], target_isr, target_elr, acceptable):
            return order[index], False
    last_known = partition.last_known_elr
    nobody_left = target_isr == 0 and target_elr == 0
    one_is_known = rules.elr and change.uses_last_known and size_of(last_known) == 1
    if (
        nobody_left
        and one_is_known
        and (last_known & acceptable != 0 or not rules.last_known_must_live)
    ):
        return _only(last_known), True
    if change.election == Election.UNCLEAN:
        for index in range(change.ordered):
            if (acceptable >> order[index]) & 1:
                return order[index], True
    return NO_LEADER, False


@rule
def _only(mask: int) -> int:
    """Position of the one replica of a set."""
    position = 0
    while not (mask >> position) & 1:
        position += 1
    return position


@rule
def grown_elr(
    rules: Rules, partition: Registration, target_isr: int, min_isr: int, unclean_shutdown: int
) -> tuple[int, int]:
    """ELR and lastKnownElr after an ISR change, before any election.

    PartitionChangeBuilder.maybePopulateTargetElr @ 1eb7644349.
    """
    if not rules.elr:
        return partition.elr, partition.last_known_elr
    if size_of(target_isr) >= min_isr:
        return 0, 0
    candidates = partition.isr | partition.elr
    grown = candidates & ~target_isr & ~unclean_shutdown
    return grown, (candidates | partition.last_known_elr) & ~target_isr & ~grown


@rule
def change_kraft(rules: Rules, partition: Registration, change: Change) -> None:
    """One change of a partition by KRaft's controller (PartitionChangeBuilder.build).

    Args:
        rules: the switches.
        partition: as it stands.
        change: what is asked; what comes of it is written there.
    """
    isr, leader, last_known = partition.isr, partition.leader, partition.last_known_elr
    target_isr = change.target_isr
    target_elr, target_last_known = grown_elr(
        rules, partition, target_isr, change.min_isr, change.unclean_shutdown
    )
    elected, unclean = elect_kraft(rules, partition, change, target_elr)
    new_leader = _NO_CHANGE
    forced = False
    if elected != leader:
        new_leader = elected
        if elected >= 0 and (target_elr >> elected) & 1:
            target_isr = 1 << elected
            target_elr &= ~target_isr
        forced = unclean
    if new_leader == _NO_CHANGE and change.removes_replicas:
        new_leader = leader

    if forced or not rules.elr:
        target_elr = 0
        target_last_known = 0

    isr_changes = forced
    new_isr = isr
    if forced:
        new_isr = 1 << elected
    elif (target_isr != 0 or rules.elr) and target_isr != isr:
        new_isr = target_isr
        isr_changes = True

    if rules.shrink_bumps_leader_epoch and new_leader == _NO_CHANGE and isr & ~new_isr:
        new_leader = leader

    if change.uses_last_known:
        target_last_known = last_known
        if rules.elr:
            target_last_known = _last_known_leader(
                leader, new_leader, last_known, isr_changes and new_isr == 0
            )
    change.leader = leader if new_leader == _NO_CHANGE else new_leader
    change.isr = new_isr
    change.elr = target_elr
    change.last_known_elr = target_last_known
    change.is_unclean = forced
    change.bumps_leader_epoch = new_leader != _NO_CHANGE


@rule
def _last_known_leader(leader: int, new_leader: int, last_known: int, isr_empties: bool) -> int:
    """Find lastKnownElr where it holds the last leader (maybeUpdateLastKnownLeader)."""
    if isr_empties and leader >= 0 and last_known != 1 << leader:
        return 1 << leader
    if new_leader >= 0 or NO_LEADER not in (leader, new_leader):
        return 0
    return last_known


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
    leader.imbalance.per.broker.percentage (KafkaController.checkAndTriggerAutoLeaderRebalance @
    3.9).

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
