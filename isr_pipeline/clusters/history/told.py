"""A history in words: by month and broker, and how often a year with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from isr_pipeline.base.files.words import counted
from isr_pipeline.clusters.history.counts import History
from isr_pipeline.clusters.history.events import CRASH, DISK, KINDS, SHRINK

_CANNOT = (
    "not seen: pauses below replica.lag.time.max.ms, and followers of idle partitions",
    "not told apart: what made an ISR shrink or a session end",
)


def as_json(history: History) -> dict[str, Any]:
    """Everything that a history says."""
    begin, end = (datetime.fromtimestamp(ms / 1000, UTC).isoformat() for ms in history.span)
    return {
        "from": begin,
        "to": end,
        "months": [
            {
                "month": month,
                "broker": broker,
                **{
                    kind: counts.get(kind, 0) if _saw(history, kind, broker) else None
                    for kind in KINDS
                },
                "isr_shrinks_of_partitions": history.partitions[month, broker],
            }
            for month, broker, counts in history.months()
        ],
        "rates": {
            kind: {
                "count": rate.count,
                "years": rate.years,
                "of": rate.of,
                "per_year": rate.per_year,
                "interval": list(rate.interval),
            }
            for kind, rate in history.rates().items()
        },
        "events": [
            {"at_ms": one.at_ms, "broker": one.broker, "kind": one.kind} for one in history.events
        ],
        "notes": [*history.notes, *_CANNOT],
    }


def _saw(history: History, kind: str, broker: int) -> bool:
    return broker in history.covers.get(kind, {})


def lines(history: History, written: Mapping[str, float]) -> Iterator[str]:
    """What a terminal shows.

    Args:
        history: what was counted.
        written: kind -> what a fault profile was given.
    """
    yield f"{'month':<8} {'broker':>6}" + "".join(f" {kind:>18}" for kind in KINDS)
    for month, broker, counts in history.months():
        cells = [
            str(counts.get(kind, 0)) if _saw(history, kind, broker) else "not told"
            for kind in KINDS
        ]
        shrunk = history.partitions[month, broker]
        more = f"  ({counted(shrunk, 'partition')})" if shrunk else ""
        yield f"{month:<8} {broker:>6}" + "".join(f" {cell:>18}" for cell in cells) + more
    yield ""
    yield "a year, of each broker (dead_disk: of each log dir), with 95 %:"
    for kind, rate in history.rates().items():
        low, high = rate.interval
        watched = f"{rate.count} in {rate.years * 365.25:.3g} {rate.of}-days"
        said = f"  {kind}: {rate.per_year:.3g} ({low:.2g} to {high:.3g}), {watched}"
        yield f"{said}; written: {written[kind]:g}" if kind in written else said
    if DISK in history.covers and not set(history.covers[DISK]) <= set(history.disks):
        yield "log dirs of some brokers are not told: one each"
    if sum(history.days(CRASH, broker) for broker in history.covers.get(CRASH, ())) < 1:
        yield "less than a day was watched: a number a year that is made of it says little"
    yield from history.notes
    yield from _CANNOT
    if SHRINK in history.covers:
        yield "isr_shrink: occasions, by the leader that decided; within a minute they are one"
