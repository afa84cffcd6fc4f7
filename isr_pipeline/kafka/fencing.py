"""Fencing of fetches by the leader epoch that they name (KIP-320)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import FETCH_NAMES_EPOCH


class EpochError(IntEnum):
    """What a broker answers to the leader epoch that a fetch names."""

    NONE = 0
    FENCED_LEADER_EPOCH = 1
    """The fetch is of an older epoch."""
    UNKNOWN_LEADER_EPOCH = 2
    """The fetch is of an epoch that this broker has not heard of yet."""


_NONE: Final = int(EpochError.NONE)
_FENCED: Final = int(EpochError.FENCED_LEADER_EPOCH)
_UNKNOWN: Final = int(EpochError.UNKNOWN_LEADER_EPOCH)


@rule
def epoch_error(rules, fetch_epoch, leader_epoch):
    """What a broker has against the leader epoch of a fetch: a value of `EpochError`.

    Before KIP-320 (2.1) a fetch names none. Partition.checkCurrentLeaderEpoch @ 2.2.2, 1eb7644349.
    """
    if rules[FETCH_NAMES_EPOCH] == 0 or fetch_epoch == leader_epoch:
        return _NONE
    return _FENCED if fetch_epoch < leader_epoch else _UNKNOWN
