"""What a follower's fetcher thread does with a partition that fails (KIP-461, S004).

Sources: server/AbstractFetcherThread.scala @ 0.8.2.2, 0.10.1.1, 2.2.2, 2.3.0, 1eb7644349.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import CORRUPT_KILLS_THREAD, FETCHER, Fetcher


class Error(IntEnum):
    """What a partition can meet in its fetcher thread."""

    STORAGE = 0
    """KafkaStorageException on append: the log dir has failed."""
    UNEXPECTED = 1
    """Any other exception on append, as an offset that does not follow."""
    FENCED_EPOCH = 2
    """FENCED_LEADER_EPOCH for the very epoch the follower has."""
    CORRUPT_RECORD = 3
    """A batch whose checksum is wrong."""


class Reaction(IntEnum):
    """What becomes of the partition, or of the thread."""

    FAIL = 0
    """Marked failed: not fetched until a new leader epoch or its removal."""
    DELAY = 1
    """Tried again one back-off later."""
    THREAD_DIES = 2
    """The thread ends, and with it the fetching of every partition it had."""
    DROP = 3
    """Forgotten silently."""
    IGNORE = 4
    """Tried again at once."""


_STORAGE: Final = int(Error.STORAGE)
_UNEXPECTED: Final = int(Error.UNEXPECTED)
_FENCED_EPOCH: Final = int(Error.FENCED_EPOCH)
_FAIL: Final = int(Reaction.FAIL)
_DELAY: Final = int(Reaction.DELAY)
_THREAD_DIES: Final = int(Reaction.THREAD_DIES)
_DROP: Final = int(Reaction.DROP)
_KIP_461: Final = int(Fetcher.KIP_461)


@rule
def reaction(rules, error):
    """What the fetcher thread does with a partition that met `error`.

    KIP-461 fails the one partition, except for a corrupt batch, which is fetched again for ever
    (against the KIP's own text). A legacy thread lets a storage error wait, forgets a fenced
    partition, and dies of anything unexpected.

    Args:
        rules: the switches.
        error: a value of `Error`.

    Returns:
        A value of `Reaction`.
    """
    if rules[FETCHER] == _KIP_461:
        if error in (_STORAGE, _UNEXPECTED, _FENCED_EPOCH):
            return _FAIL
        return _DELAY
    if error == _UNEXPECTED:
        return _THREAD_DIES
    if error == _FENCED_EPOCH:
        return _DROP
    if error == _STORAGE:
        return _DELAY
    return _THREAD_DIES if rules[CORRUPT_KILLS_THREAD] != 0 else _DELAY
