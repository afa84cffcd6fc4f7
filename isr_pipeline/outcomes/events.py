"""Events of pairs as rows of the events table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.events import CAUSED, DECIDED, cause_of, isr_of, members_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.worlds.events import Events, Names

Array = npt.NDArray[np.int64]

_KINDS = pa.array(at.EVENT_NAMES)
_DECIDED, _CAUSED = ([at.EVENT_NAMES.index(k) for k in kinds] for kinds in (DECIDED, CAUSED))
_RESIGNED = at.EVENT_NAMES.index("leader_resigned")


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
    rows = np.concatenate([pair.events.rows for pair in kept])
    pair = pa.array(np.repeat(np.arange(len(kept)), counts))
    partition, broker, kind = (rows[:, cell] for cell in (at.V_PART, at.V_BROKER, at.V_KIND))
    nowhere = partition < 0
    columns: dict[str, Any] = {
        "panel": pa.array([one.panel for one in kept]).take(pair),
        "scenario_id": pa.array([one.scenario_id for one in kept]).take(pair),
        "config_id": pa.array([one.config_id for one in kept]).take(pair),
        "seq": np.concatenate([np.arange(count) for count in counts]),
        "t_ms": rows[:, at.V_TIME] / 1000,
        "kind": _KINDS.take(pa.array(kind)),
        "topic": _named([p.topic for p in names.partitions], partition),
        "partition": _named([p.number for p in names.partitions], partition),
        "broker": _named(names.brokers, broker),
        "leader": pa.array(_leaders(names, rows), mask=nowhere),
        "leader_epoch": pa.array(rows[:, at.V_LEPOCH], mask=nowhere),
        "isr": _isrs(names, rows),
        "cause": _causes(names, rows),
        "decided_ms": pa.array(rows[:, at.V_DECIDED] / 1000, mask=~np.isin(kind, _DECIDED)),
    }
    return pa.table([columns[field.name] for field in schema], schema=schema)


def _named(values: Sequence[Any], index: Array) -> pa.Array:
    """What kernel indexes stand for; null for -1."""
    return pa.array(values).take(pa.array(index, mask=index < 0))


def _leaders(names: Names, rows: Array) -> Array:
    """Id of the leader after each event, -1 without one; whatever where there is no partition."""
    replicas = [p.replicas for p in names.partitions]
    ids = np.full((len(replicas), max(map(len, replicas))), -1, dtype=np.int64)
    for place, of_partition in zip(ids, replicas, strict=True):
        place[: len(of_partition)] = of_partition
    leader = rows[:, at.V_LEADER]
    return np.where(leader >= 0, ids[rows[:, at.V_PART], leader], -1)


def _isrs(names: Names, rows: Array) -> pa.Array:
    """The ISR after each event of a partition."""
    replicas = [p.replicas for p in names.partitions]
    texts: list[str | None] = [
        members_text(replicas[partition], isr) if partition >= 0 else None
        for partition, isr in rows[:, [at.V_PART, at.V_ISR]].tolist()
    ]
    for i in np.flatnonzero(rows[:, at.V_KIND] == _RESIGNED).tolist():
        texts[i] = json.dumps(isr_of(names, rows[i].tolist()))
    return pa.array(texts, pa.string())


def _causes(names: Names, rows: Array) -> pa.Array:
    """Why each event happened."""
    texts: list[str | None] = [None] * len(rows)
    caused = np.flatnonzero(np.isin(rows[:, at.V_KIND], _CAUSED))
    for i, row in zip(caused.tolist(), rows[caused].tolist(), strict=True):
        texts[i] = cause_of(names, row)
    return pa.array(texts, pa.string())
