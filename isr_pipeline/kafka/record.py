"""Columns of a follower's record on its leader: one row of an int64 array a follower."""

from __future__ import annotations

from typing import Final

START: Final = 0
"""Log start offset the follower last reported."""
LEO: Final = 1
"""Fetch offset the follower last reported: it acknowledges everything below it."""
LAST_CAUGHT_UP: Final = 2
"""Latest time at which the follower is known to have had everything the leader had."""
PREV_LEADER_LEO: Final = 3
"""The leader's LEO when the previous fetch arrived."""
LAST_FETCH: Final = 4
"""When the previous fetch arrived."""
BROKER_EPOCH: Final = 5
"""Broker epoch the follower's last fetch named (`releases.NO_BROKER_EPOCH`: none yet)."""
LEO_TIME: Final = 6
"""0.8.2: when the follower's offset was last written, changed or not."""

PENDING_SLOTS: Final = 4
"""Distinct offsets one follower can have pending: a fetcher thread has one request out, and one at
another offset beside it only if it gave one up (replica.socket.timeout.ms) after a restart."""
PENDING_OFFSET_0: Final = 7
PENDING_OFFSET_1: Final = 8
PENDING_OFFSET_2: Final = 9
PENDING_OFFSET_3: Final = 10
PENDING_COUNT_0: Final = PENDING_OFFSET_0 + PENDING_SLOTS
PENDING_COUNT_1: Final = PENDING_COUNT_0 + 1
PENDING_COUNT_2: Final = PENDING_COUNT_0 + 2
PENDING_COUNT_3: Final = PENDING_COUNT_0 + 3
N_FIELDS: Final = PENDING_COUNT_0 + PENDING_SLOTS + 1
"""Two cache lines; the last column is not used."""
