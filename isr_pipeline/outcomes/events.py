"""Events of a pair as rows of the events table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from isr_pipeline.scenarios.events import CAUSED, DECIDED, cause_of, isr_of, members_text
from isr_pipeline.simulation import layout as at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isr_pipeline.scenarios.events import Events, Names

Array = npt.NDArray[np.int64]

_KINDS = pa.array(at.EVENT_NAMES)
_DECIDED, _CAUSED = ([at.EVENT_NAMES.index(k) for k in kinds] for kinds in (DECIDED, CAUSED))
_RESIGNED = at.EVENT_NAMES.index("leader_resigned")


def event_table(events: Events, key: Mapping[str, str], most: int, schema: pa.Schema) -> pa.Table:
    """The first events of a pair as a table; ISR and cause are JSON texts.

    Whole columns at a time: thousands of events a pair are kept.

    Args:
        events: of the run that answers for the pair.
        key: panel, scenario_id and config_id of the pair.
        most: how many to keep.
        schema: Arrow schema of the events table.
    """
    rows, names = events.rows[:most], events.names
    partition, broker, kind = (rows[:, cell] for cell in (at.V_PART, at.V_BROKER, at.V_KIND))
    nowhere = partition < 0
    columns: dict[str, Any] = {
        **{name: pa.repeat(value, len(rows)) for name, value in key.items()},
        "seq": np.arange(len(rows)),
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
