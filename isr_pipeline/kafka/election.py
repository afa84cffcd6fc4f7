"""Who becomes leader: ZooKeeper's controller, and KRaft's with eligible leader replicas (KIP-966).

Every controller ever released walks down the *assignment* and only tests whether a replica is in
the ISR; an order of the ISR list itself (KIP-501, Solution 2) decides nothing. The order to walk
is an argument, so that the proposal's picture can be had too.

Sources: controller/PartitionLeaderSelector.scala @ 0.8.2.2, controller/Election.scala and
PartitionStateMachine.scala (PartitionLeaderElectionAlgorithms) @ 3.5.1,
controller/PartitionChangeBuilder.java @ 3.9, 4.0.2, 4.1.0, 4.3.1.
"""

from __future__ import annotations

# ruff: noqa: PLR0917 - numba takes scalars and arrays, no objects; callers pass what they hold
from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.partition import size_of
from isr_pipeline.kafka.releases import (
    ELR,
    KRAFT_ELECTS_UNCLEANLY,
    LAST_KNOWN_MUST_LIVE,
    LAST_MEMBER_LEAVES,
    SHRINK_BUMPS_LEADER_EPOCH,
)

NO_LEADER: Final = -1
_NO_CHANGE: Final = -2


class Election(IntEnum):
    """How KRaft's controller was asked to elect."""

    PREFERRED = 0
    ONLINE = 1
    UNCLEAN = 2


_PREFERRED: Final = int(Election.PREFERRED)
_ONLINE: Final = int(Election.ONLINE)
_UNCLEAN: Final = int(Election.UNCLEAN)


@rule
def kraft_election(rules, election, unclean_enabled):
    """How KRaft's controller elects where a broker or a log dir changes: a value of `Election`.

    To 3.8 it does not read unclean.leader.election.enable
    (ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic @ 3.3.0, 3.8.0, 3.9).

    Args:
        rules: the switches.
        election: as it was asked for.
        unclean_enabled: the key.
    """
    if election == _ONLINE and unclean_enabled and rules[KRAFT_ELECTS_UNCLEANLY] != 0:
        return _UNCLEAN
    return election


@rule
def elect_zk(order, n, isr, live, shutting_down, unclean_enabled):
    """The leader that ZooKeeper's controller elects.

    Args:
        order: int64 array of positions, in the order to walk: the assignment (offline, reassign,
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
def last_member_leaves(rules, unclean_enabled):
    """Whether ZooKeeper's controller takes the last member out of an ISR as well.

    To 1.0 it does where unclean.leader.election.enable is on: who comes back first is then elected
    uncleanly, even the leader itself (KafkaController.removeReplicaFromIsr @ 0.8.2.2, 1.0.2).
    """
    return unclean_enabled and rules[LAST_MEMBER_LEAVES] != 0


@rule
def _valid(position, target_isr, target_elr, acceptable):
    """In the ISR, or in the ELR if the ISR is empty, and alive."""
    if position < 0 or not (acceptable >> position) & 1:
        return False
    return (target_isr >> position) & 1 != 0 or (
        target_isr == 0 and (target_elr >> position) & 1 != 0
    )


@rule
def elect_kraft(
    rules,
    order,
    n,
    leader,
    target_isr,
    target_elr,
    last_known,
    acceptable,
    election,
    elr_enabled,
    use_last_known,
):
    """The leader that KRaft's controller elects (PartitionChangeBuilder.electLeader).

    Args:
        rules: the switches (`LAST_KNOWN_MUST_LIVE`).
        order: int64 array of positions of the target assignment, in order.
        n: how many of `order` count.
        leader: the present leader's position, or -1.
        target_isr: the ISR to be.
        target_elr: the eligible leader replicas to be.
        last_known: lastKnownElr as it stands in the registration.
        acceptable: replicas the controller regards as alive.
        election: a value of `Election`.
        elr_enabled: KIP-966 is on.
        use_last_known: the last leader may be elected when ISR and ELR are empty.

    Returns:
        (position or -1, whether it was unclean). To 4.0 a last known leader is elected even if it
        is not acceptable: that code only logs it (KAFKA-19522).
    """
    if election == _PREFERRED and _valid(order[0], target_isr, target_elr, acceptable):
        return order[0], False
    if _valid(leader, target_isr, target_elr, acceptable):
        return leader, False
    for index in range(n):
        if _valid(order[index], target_isr, target_elr, acceptable):
            return order[index], False
    nobody_left = target_isr == 0 and target_elr == 0
    one_is_known = elr_enabled and use_last_known and size_of(last_known) == 1
    if (
        nobody_left
        and one_is_known
        and (last_known & acceptable != 0 or rules[LAST_KNOWN_MUST_LIVE] == 0)
    ):
        return _only(last_known), True
    if election == _UNCLEAN:
        for index in range(n):
            if (acceptable >> order[index]) & 1:
                return order[index], True
    return NO_LEADER, False


@rule
def _only(mask):
    """Position of the one replica of a set."""
    position = 0
    while not (mask >> position) & 1:
        position += 1
    return position


@rule
def grown_elr(elr_enabled, isr, target_isr, elr, last_known, min_isr, unclean_shutdown):
    """ELR and lastKnownElr after an ISR change, before any election.

    PartitionChangeBuilder.maybePopulateTargetElr @ 1eb7644349.
    """
    if not elr_enabled:
        return elr, last_known
    if size_of(target_isr) >= min_isr:
        return 0, 0
    candidates = isr | elr
    grown = candidates & ~target_isr & ~unclean_shutdown
    return grown, (candidates | last_known) & ~target_isr & ~grown


@rule
def partition_change_kraft(
    rules,
    order,
    n,
    isr,
    target_isr,
    leader,
    acceptable,
    min_isr,
    election,
    elr,
    last_known,
    use_last_known,
    unclean_shutdown,
    replicas_removed,
):
    """One change of a partition by KRaft's controller (PartitionChangeBuilder.build).

    Args:
        rules: the switches (`ELR`, `LAST_KNOWN_MUST_LIVE`, `SHRINK_BUMPS_LEADER_EPOCH`).
        order: int64 array of positions of the target assignment, in order.
        n: how many of `order` count.
        isr: the ISR as it stands.
        target_isr: the ISR as the change wants it.
        leader: the present leader's position, or -1.
        acceptable: replicas the controller regards as alive.
        min_isr: min.insync.replicas in effect.
        election: a value of `Election`.
        elr: eligible leader replicas as they stand.
        last_known: lastKnownElr as it stands.
        use_last_known: lastKnownElr holds the last leader, who may be elected.
        unclean_shutdown: replicas that came back from an unclean shutdown.
        replicas_removed: the change takes replicas out of the assignment.

    Returns:
        (leader position or -1, ISR, ELR, lastKnownElr, whether the election was unclean,
        whether the leader epoch is bumped).
    """
    elr_enabled = rules[ELR] != 0
    target_elr, target_last_known = grown_elr(
        elr_enabled, isr, target_isr, elr, last_known, min_isr, unclean_shutdown
    )
    elected, unclean = elect_kraft(
        rules,
        order,
        n,
        leader,
        target_isr,
        target_elr,
        last_known,
        acceptable,
        election,
        elr_enabled,
        use_last_known,
    )
    change = _NO_CHANGE
    forced = False
    if elected != leader:
        change = elected
        if elected >= 0 and (target_elr >> elected) & 1:
            target_isr = 1 << elected
            target_elr &= ~target_isr
        forced = unclean
    if change == _NO_CHANGE and replicas_removed:
        change = leader
    if forced or not elr_enabled:
        target_elr = 0
        target_last_known = 0
    isr_changes = forced
    new_isr = isr
    if forced:
        new_isr = 1 << elected
    elif (target_isr != 0 or elr_enabled) and target_isr != isr:
        new_isr = target_isr
        isr_changes = True
    if rules[SHRINK_BUMPS_LEADER_EPOCH] != 0 and change == _NO_CHANGE and isr & ~new_isr:
        change = leader
    if use_last_known:
        target_last_known = last_known
        if elr_enabled:
            target_last_known = _last_known_leader(
                leader, change, last_known, isr_changes and new_isr == 0
            )
    new_leader = leader if change == _NO_CHANGE else change
    return new_leader, new_isr, target_elr, target_last_known, forced, change != _NO_CHANGE


@rule
def _last_known_leader(leader, change, last_known, isr_empties):
    """Find lastKnownElr where it holds the last leader (maybeUpdateLastKnownLeader)."""
    if isr_empties and leader >= 0 and last_known != 1 << leader:
        return 1 << leader
    if change >= 0 or NO_LEADER not in (leader, change):
        return 0
    return last_known
