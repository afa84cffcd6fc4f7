"""Events of pairs as rows of the events table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from isr_pipeline.kafka.rows import Array
from isr_pipeline.simulation.world.columns import Table
from isr_pipeline.simulation.world.states import EventKind
from isr_pipeline.simulation.world.tables import Event
from isr_pipeline.worlds.events import CAUSED, DECIDED, KINDS, cause_of, isr_of, members_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isr_pipeline.worlds.events import Events, Names


@dataclass(frozen=True, slots=True)
class Kept:
    """Events of a pair that are kept."""

    panel: str
    scenario_id: str
    config_id: str
    events: Events


def event_table(kept: Sequence[Kept], schema: pa.Schema) -> pa.Table:
    """Events of pairs as a table, in the order given; ISR and cause are JSON texts.

    Whole columns at a time, of all pairs at once whose worlds have the same partitions: a panel's
    have, and thousands of events are kept.

    Args:
        kept: pairs with their events.
        schema: Arrow schema of the events table.
    """
    tables = [schema.empty_table()]
    for _, alike in groupby(kept, key=lambda pair: id(pair.events.names.partitions)):
        tables.append(_table(list(alike), schema))
    return pa.concat_tables(tables)


def _table(kept: list[Kept], schema: pa.Schema) -> pa.Table:
    """Events of pairs whose worlds have the same partitions and brokers."""
    names, counts = kept[0].events.names, [len(pair.events.rows) for pair in kept]
    cells = np.concatenate([pair.events.rows.cells for pair in kept])
    rows = Table(cells.reshape(-1), Event, 0, len(cells))
    pair = pa.array(np.repeat(np.arange(len(kept)), counts))
    partition, broker, kind = rows["partition"], rows["broker"], rows["kind"]
    nowhere = partition < 0
    columns: dict[str, Any] = {
        "panel": pa.array([one.panel for one in kept]).take(pair),
        "scenario_id": pa.array([one.scenario_id for one in kept]).take(pair),
        "config_id": pa.array([one.config_id for one in kept]).take(pair),
        "seq": np.concatenate([np.arange(count) for count in counts]),
        "t_ms": rows["time"] / 1000,
        "kind": pa.array(KINDS).take(pa.array(kind)),
        "topic": _named([p.topic for p in names.partitions], partition),
        "partition": _named([p.number for p in names.partitions], partition),
        "broker": _named(names.brokers, broker),
        "leader": pa.array(_leaders(names, rows), mask=nowhere),
        "leader_epoch": pa.array(rows["leader_epoch"], mask=nowhere),
        "isr": _isrs(names, rows),
        "cause": _causes(names, rows),
        "decided_ms": pa.array(rows["decided_at"] / 1000, mask=~np.isin(kind, DECIDED)),
    }
    return pa.table([columns[field.name] for field in schema], schema=schema)


def _named(values: Sequence[Any], index: Array) -> pa.Array:
    """What kernel indexes stand for; null for -1."""
    return pa.array(values).take(pa.array(index, mask=index < 0))


def _leaders(names: Names, rows: Table[Event]) -> Array:
    """Id of the leader after each event, -1 without one; whatever where there is no partition."""
    replicas = [p.replicas for p in names.partitions]
    ids = np.full((len(replicas), max(map(len, replicas))), -1, dtype=np.int64)
    for place, of_partition in zip(ids, replicas, strict=True):
        place[: len(of_partition)] = of_partition
    leader = rows["leader"]
    return np.where(leader >= 0, ids[rows["partition"], leader], -1)


def _isrs(names: Names, rows: Table[Event]) -> pa.Array:
    """The ISR after each event of a partition."""
    replicas = [p.replicas for p in names.partitions]
    partitions, isrs = rows["partition"].tolist(), rows["isr"].tolist()
    texts: list[str | None] = [
        members_text(replicas[partition], isr) if partition >= 0 else None
        for partition, isr in zip(partitions, isrs, strict=True)
    ]
    _say(texts, rows, (EventKind.LEADER_RESIGNED,), lambda row: json.dumps(isr_of(names, row)))
    return pa.array(texts, pa.string())


def _causes(names: Names, rows: Table[Event]) -> pa.Array:
    """Why each event happened."""
    texts: list[str | None] = [None] * len(rows)
    _say(texts, rows, CAUSED, lambda row: cause_of(names, row))
    return pa.array(texts, pa.string())


def _say(
    texts: list[str | None],
    rows: Table[Event],
    kinds: Sequence[EventKind],
    say: Callable[[Event], str | None],
) -> None:
    """Let the texts of the events of some kinds be what is said of each."""
    for i, row in enumerate(rows):
        if row.kind in kinds:
            texts[i] = say(row)
