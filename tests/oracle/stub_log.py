"""A log of batches with leader epochs, as follower and stub leader of the fetcher machine have it.

The epoch lookup is the stub's: it answers "undefined" when the epoch asked for is the newest one
known, where a real broker would answer that epoch and its log end offset.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

UNDEFINED: Final = -1
"""No epoch, or no offset."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Records with consecutive offsets.

    Args:
        base: offset of the first.
        epoch: leader epoch they were written in.
        count: how many.
    """

    base: int
    epoch: int
    count: int

    @property
    def next(self) -> int:
        """Offset after the last record."""
        return self.base + self.count


@dataclass(slots=True)
class Log:
    """A partition's log on one side.

    Args:
        batches: in order of offset.
        leader_epoch: the leader epoch this side has.
        hw: its high watermark.
        start: log start offset.
        end: log end offset.
    """

    batches: list[Batch]
    leader_epoch: int
    hw: int
    start: int = field(init=False)
    end: int = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.batches[0].base if self.batches else 0
        self.end = self.batches[-1].next if self.batches else 0

    @property
    def latest_epoch(self) -> int | None:
        """Leader epoch of the last batch, None for an empty log."""
        return self.batches[-1].epoch if self.batches else None

    def clear(self) -> None:
        """Forget everything, as a leader that lost its log."""
        self.batches.clear()
        self.start = self.end = self.hw = 0

    def truncate(self, offset: int) -> None:
        """Drop every batch that reaches `offset`."""
        kept = []
        for batch in self.batches:
            if batch.next - 1 >= offset:
                break
            kept.append(batch)
        self.batches = kept
        self.end = kept[-1].next if kept else self.start
        self.hw = min(self.hw, self.end)

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin again at `offset`."""
        self.batches.clear()
        self.start = self.end = self.hw = offset

    def append(self, batch: Batch) -> None:
        """Add a batch at the end."""
        self.batches.append(batch)
        self.end = batch.next

    def first_from(self, offset: int) -> Batch | None:
        """Return the first batch that begins at or after `offset`."""
        return next((batch for batch in self.batches if batch.base >= offset), None)

    def epoch_end(self, epoch: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest epoch <= `epoch`, or (-1, -1)."""
        lower = UNDEFINED
        for batch in self.batches:
            if batch.epoch > epoch:
                return (batch.epoch if lower == UNDEFINED else lower), batch.base
            lower = batch.epoch
        return UNDEFINED, UNDEFINED
