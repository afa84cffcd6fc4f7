"""Fencing of fetches by the leader epoch that they name (KIP-320)."""

from __future__ import annotations

from enum import IntEnum

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Rules


class EpochError(IntEnum):
    """What a broker answers to the leader epoch that a fetch names."""

    NONE = 0
    FENCED_LEADER_EPOCH = 1
    """The fetch is of an older epoch."""
    UNKNOWN_LEADER_EPOCH = 2
    """The fetch is of an epoch that this broker has not heard of yet."""


@rule
def epoch_error(rules: Rules, fetch_epoch: int, leader_epoch: int) -> EpochError:
    """What a broker has against the leader epoch of a fetch.

    Before KIP-320 (2.1) a fetch names none. Partition.checkCurrentLeaderEpoch @ 2.2.2, 1eb7644349.
    """
    if not rules.fetch_names_epoch or fetch_epoch == leader_epoch:
        return EpochError.NONE
    return (
        EpochError.FENCED_LEADER_EPOCH
        if fetch_epoch < leader_epoch
        else EpochError.UNKNOWN_LEADER_EPOCH
    )
