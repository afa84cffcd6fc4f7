"""What a source tells of the past: events, and the time of each broker that it covers."""

from __future__ import annotations

from dataclasses import dataclass, field

CRASH, RESTART, DISK = "crash", "controlled_restart", "dead_disk"
SESSION, SHRINK = "lost_session", "isr_shrink"
KINDS = (CRASH, RESTART, DISK, SESSION, SHRINK)
"""The first three are incidents of fault profiles, under the same names."""

Span = tuple[int, int]
"""From and to, milliseconds since 1970."""


@dataclass(frozen=True, slots=True, order=True)
class Event:
    """Something that happened to a broker.

    Attributes:
        at_ms: when, milliseconds since 1970; a crash in a log: the last line before it.
        broker: whose it is; of a shrink, the leader that decided it.
        kind: one of `KINDS`.
        disk: the log dir that failed, where it is told.
    """

    at_ms: int
    broker: int
    kind: str
    disk: str = ""


@dataclass(slots=True)
class Telling:
    """What one source, or a set of files that belong together, tells.

    Attributes:
        source: its name.
        kinds: what it would have told of.
        events: in no order.
        covers: broker -> the spans that it covers.
        disks: broker -> how many log dirs it has, where that is told.
        incarnations: id that a broker's process registered with -> when.
        notes: what it cannot tell, for the user.
    """

    source: str
    kinds: frozenset[str]
    events: list[Event] = field(default_factory=list)
    covers: dict[int, list[Span]] = field(default_factory=dict)
    disks: dict[int, int] = field(default_factory=dict)
    incarnations: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def union(spans: list[Span], apart_ms: int = 0) -> list[Span]:
    """Join spans that touch each other, or are so little apart."""
    found: list[Span] = []
    for begin, end in sorted(spans):
        if found and begin <= found[-1][1] + apart_ms:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def length_ms(spans: list[Span]) -> int:
    """How long spans are together."""
    return sum(end - begin for begin, end in union(spans))


def within(at_ms: int, spans: list[Span]) -> bool:
    """Whether a moment lies in one of the spans."""
    return any(begin <= at_ms <= end for begin, end in spans)
