"""What a follower's fetcher thread does with a partition that fails (KIP-461, S004).

Sources: server/AbstractFetcherThread.scala @ 0.8.2.2, 0.10.1.1, 2.2.2, 2.3.0, 3.0.0, 3.1.0,
1eb7644349.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

from isr_pipeline.kafka.compiling import rule
from isr_pipeline.kafka.releases import Fetcher, Rules


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


@rule
def reaction(rules: Rules, error: Error) -> Reaction:
    """What the fetcher thread does with a partition that met `error`.

    KIP-461 fails the one partition, except for a corrupt batch, which is fetched again for ever
    (against the KIP's own text). A legacy thread lets a storage error wait, forgets a fenced
    partition, and dies of anything unexpected.
    """
    if rules.fetcher == Fetcher.KIP_461:
        if error in (Error.STORAGE, Error.UNEXPECTED, Error.FENCED_EPOCH):
            return Reaction.FAIL
        return Reaction.DELAY
    if error == Error.UNEXPECTED:
        return Reaction.THREAD_DIES
    if error == Error.FENCED_EPOCH:
        return Reaction.DROP
    if error == Error.STORAGE:
        return Reaction.DELAY
    return Reaction.THREAD_DIES if rules.corrupt_kills_thread else Reaction.DELAY


@lru_cache(maxsize=1024)
def java_string_hash(text: str) -> int:
    """``String.hashCode``: 32 bits, signed."""
    value = 0
    for unit in _utf16_units(text):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _utf16_units(text: str) -> list[int]:
    """The text's UTF-16 code units."""
    raw = text.encode("utf-16-be")
    return [(raw[i] << 8) | raw[i + 1] for i in range(0, len(raw), 2)]


def fetcher_hash(topic: str, partition: int) -> int:
    """Hash of a partition; modulo num.replica.fetchers it is the id of its fetcher.

    As in AbstractFetcherManager.getFetcherId.
    """
    return (31 * java_string_hash(topic) + partition) & 0x7FFFFFFF
