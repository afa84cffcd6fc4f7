"""Schemas of the tables whose rows have one: all but the verdicts.

``experiment`` and ``night`` are no columns: the folder of a table says them.
"""

from __future__ import annotations

import pyarrow as pa

from isr_pipeline.worlds.columns import COLUMNS, COUNTED


def _text(name: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.string(), nullable)


def _whole(name: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.int64(), nullable)


def _number(name: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, pa.float64(), nullable)


def _column(name: str, type_: str, *, nullable: bool) -> pa.Field:
    return _whole(name, nullable=nullable) if type_ == "int" else _number(name, nullable=nullable)


SCENARIOS = pa.schema(
    [
        _text("panel"),
        _text("scenario_id"),
        _whole("index"),
        _text("stratum"),
        _text("pattern"),
        _number("weight"),
        _text("fault_kinds"),
        _number("expected_cost"),
        _number("ends_ms", nullable=True),
        _text("scenario_json"),
    ]
)
"""One row per scenario of each panel; `index` counts from 0 within the panel."""

OUTCOMES = pa.schema(
    [
        _text("panel"),
        _text("scenario_id"),
        _text("config_id"),
        _text("config_name"),
        _text("stratum"),
        _number("weight"),
        *(_column(one.name, one.type, nullable=one.name in COUNTED) for one in COLUMNS),
    ]
)
"""One row per pair of a scenario and a configuration: what was counted, null where the pair failed.

Metrics follow from it (:func:`isr_pipeline.worlds.columns.values_of`).
"""

EVENTS = pa.schema(
    [
        _text("panel"),
        _text("scenario_id"),
        _text("config_id"),
        _whole("seq"),
        _number("t_ms"),
        _text("kind"),
        _text("topic", nullable=True),
        _whole("partition", nullable=True),
        _whole("broker", nullable=True),
        _whole("leader", nullable=True),
        _whole("leader_epoch", nullable=True),
        _text("isr", nullable=True),
        _text("cause", nullable=True),
        _number("decided_ms", nullable=True),
    ]
)
"""Events of the pairs that are kept; `seq` counts from 0 in a pair; isr and cause are JSON."""

SUMMARY = pa.schema(
    [
        _text("panel"),
        _text("config_id"),
        _text("config_name"),
        _text("metric"),
        _text("stratum"),
        _text("unit"),
        _number("value", nullable=True),
        _number("low", nullable=True),
        _number("high", nullable=True),
        _text("interval"),
        _number("total", nullable=True),
        _text("total_unit"),
        _whole("scenarios"),
        _whole("scenarios_failed"),
        _number("weight"),
        _number("reference_value", nullable=True),
        _number("ratio", nullable=True),
        _number("ratio_low", nullable=True),
        _number("ratio_high", nullable=True),
    ]
)
"""One row per configuration, metric and stratum (`all`: the whole panel).

`value` with its 95 % interval (`low`, `high`, made as `interval` says); `total` is the plain sum
of the metric's column; `ratio` is value / reference_value on the scenarios both have, with a
paired interval, null if the reference is 0.
"""

SCHEMAS: dict[str, pa.Schema] = {
    "scenarios": SCENARIOS,
    "outcomes": OUTCOMES,
    "events": EVENTS,
    "summary": SUMMARY,
}
"""Schema of each table."""
