"""What a leader remembers of one follower, and what it knows of its partition."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from isr_pipeline.kafka.releases import UNKNOWN
from isr_pipeline.kafka.rows import (
    Cell,
    Fixed,
    Mask,
    Offset,
    Ref,
    Row,
    Several,
    State,
    Time,
    initial,
)

PENDING_SLOTS: Final = 4
"""Distinct offsets one follower can have pending: a fetcher thread has one request out, and one at
another offset beside it only if it gave one up (replica.socket.timeout.ms) after a restart."""


class Follower(Row, lines=True):
    """A leader's record of a follower (`ReplicaState`). Its log end *is* its fetch offset."""

    log_start_offset: Cell  # that it last reported
    # its last fetch offset: it acknowledges everything below
    log_end_offset: Offset = initial(UNKNOWN)
    last_caught_up_time: Time  # latest at which it is known to have had all that the leader had
    # the leader's log end when the last fetch arrived
    last_fetch_leader_log_end_offset: Offset = initial(UNKNOWN)
    last_fetch_time: Time  # when that was
    broker_epoch: Cell  # that its last fetch named (`releases.NO_BROKER_EPOCH`: none yet)
    log_end_offset_time: Time  # 0.8.2: when log_end_offset was last written, changed or not
    pending_offsets: Annotated[Several, PENDING_SLOTS, Offset]  # KIP-501: of reads in progress
    pending_counts: Annotated[Several, PENDING_SLOTS]  # how many at each
    # lastCaughtUpTimeMs when the leader last decided on a change of the ISR
    caught_up_at_decision: Time


class Pending(IntEnum):
    """The change of the ISR that a leader has proposed."""

    NONE = 0
    EXPAND = 1
    SHRINK = 2
    HANDOVER = 3


class Leader(Row):
    """What a leader knows of its partition."""

    log_end_offset: Offset  # by produce on the leader, by append on a follower
    high_watermark: Offset
    leader_epoch: Cell  # as this broker has applied it
    isr: Mask  # the committed ISR as it knows it
    position: Fixed  # in the assignment
    replication_factor: Fixed
    followers: Ref[Follower]  # what it remembers of each, by position (its own is not used)
    pending: State[Pending]
    pending_isr: Mask  # what was proposed
    epoch_start: Offset  # where its leader epoch begins
