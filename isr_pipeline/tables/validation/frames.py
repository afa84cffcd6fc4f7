"""A night's table as its suite sees it: its rows, and beside each what it has to agree with.

Columns keep Arrow's types, so that a null is not a NaN, and a rule about a null is not true.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from isr_pipeline.base.storage.places import Place
from isr_pipeline.base.storage.published import files
from isr_pipeline.base.storage.remote import RemotePath
from isr_pipeline.experiment.plan import Plan, stage_strata
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.scenarios.panels import ScenarioRow, kinds_of, panel_digest
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.summary import WHOLE_PANEL
from isr_pipeline.worlds.columns import (
    ADDED,
    COUNTED,
    EXPOSURE,
    METRICS,
    SHARE,
    SHARE_OF_SCENARIOS,
)

_SHARES = (SHARE, SHARE_OF_SCENARIOS)
"""Units of what is at most 1."""


class Unreadable(Exception):
    """A table is not there, or a file of it cannot be read.

    Attributes:
        shown: which one, and why.
    """

    def __init__(self, **shown: str) -> None:
        super().__init__(shown["reason"])
        self.shown = shown


@dataclass(frozen=True)
class Frame:
    """What a suite is about.

    Attributes:
        rows: of the table, with helper columns beside its own.
        planned: keys of the rows that should be there.
        parameters: values that expectations of the suite name.
    """

    rows: pd.DataFrame
    planned: pd.DataFrame
    parameters: dict[str, Any] = field(default_factory=dict)

    def missing(self) -> pd.DataFrame:
        """Keys of planned rows that are not there."""
        key = list(self.planned.columns)
        found = self.planned.merge(self.rows[key], on=key, how="left", indicator="found")
        return found[found["found"] == "left_only"][key]


def columns_planned(table: str) -> list[str]:
    """Columns of a table by its schema, each with its type."""
    return _named(SCHEMAS[table])


def columns_given(table: str) -> list[str]:
    """Columns of a table by its schema that are never null."""
    return [field.name for field in SCHEMAS[table] if not field.nullable]


def columns_found(table: str, plan: Plan) -> list[str]:
    """Columns that the files of a night's table have, each with its type.

    Raises:
        Unreadable: there is no such table, or a file of it cannot be opened.
    """
    planned = columns_planned(table)
    schemas = [_named(_read(pq.read_schema, file)) for file in _held(table, plan)]
    return next((found for found in schemas if set(found) != set(planned)), planned)


def frame(table: str, plan: Plan) -> Frame:
    """Read a night's table, whose columns are those of its schema.

    Raises:
        Unreadable: a file of it cannot be read.
    """
    return _FRAMES[table](plan, _rows(table, plan))


def _named(schema: pa.Schema) -> list[str]:
    return [f"{name} {schema.field(name).type}" for name in schema.names]


def _held(table: str, plan: Plan) -> list[Any]:
    folder = store.table_path(table, plan.experiment, plan.night, plan.root)
    held = files(folder)
    if not held:
        raise Unreadable(folder=str(folder), reason="there is no such table")
    return held


def _read(how: Callable[..., Any], file: Any, **options: Any) -> Any:
    try:
        return how(file.open(), **options)
    except (pa.ArrowException, OSError) as error:
        raise Unreadable(file=str(file.place), reason=str(error)) from None


def _rows(table: str, plan: Plan) -> pa.Table:
    options = {"columns": SCHEMAS[table].names, "partitioning": None}
    return pa.concat_tables(_read(pq.read_table, one, **options) for one in _held(table, plan))


def _pandas(table: pa.Table) -> pd.DataFrame:
    rows: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return rows


def _small(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    return _pandas(pa.Table.from_pylist(list(rows)))


def _with_not_finite(table: pa.Table) -> pd.DataFrame:
    """Rows with the number of their values that are NaN or infinite."""
    numbers = [column for column in table.columns if pa.types.is_floating(column.type)]
    odd = sum(pc.fill_null(pc.invert(pc.is_finite(one)), False).to_numpy() * 1 for one in numbers)
    return _pandas(table).assign(not_finite=odd)


# ---- scenarios ---------------------------------------------------------------------------------


def _scenarios(plan: Plan, table: pa.Table) -> Frame:
    panels = list(_panels(plan))
    facts = [{name: value for name, value in one.items() if name != "places"} for one in panels]
    places = _small(
        {"panel": one["panel"], "index": place} for one in panels for place in one["places"]
    )
    rows = _with_not_finite(table).merge(_small(facts), on="panel", how="left")
    rows = rows.merge(places.assign(place_planned=True), on=["panel", "index"], how="left")
    rows["place_planned"] = rows["place_planned"].notna()
    weights = rows["weight"]
    alike = [rows["panel"], rows["stratum"], rows["pattern"]]
    rows["pattern_weight"] = weights.groupby(alike).transform("min")
    rows["panel_weight"] = weights.groupby(rows["panel"]).transform("sum")
    digests = {panel: _digest(members) for panel, members in rows.groupby("panel")}
    rows["digest"] = rows["panel"].map(digests)
    rows = pd.concat([rows, _small(map(_told, rows["scenario_json"]))], axis=1)
    return Frame(rows, places, {"panels": [one["panel"] for one in panels]})


def _panels(plan: Plan) -> Iterator[dict[str, Any]]:
    """What the plan says of each panel of the scenarios table."""
    digests = {
        "regression": plan.panel_digest,
        "confirm": plan.confirm_digest,
    }
    for panel, size in plan.panels.items():
        if size:
            yield _panel(panel, range(size), float(size), digests.get(panel, ""))
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    held = {file.name for file in files(folder)}
    for stage in plan.stages:
        if f"{stage.panel}.parquet" in held:
            members = list(plan.draw_stage(stage, stage_strata(plan, stage)))
            # Weights of a later stage are those of all stages up to it: no sum that one knows.
            weight = math.fsum(row.weight for row in members)
            places = [row.index for row in members]
            yield _panel(stage.panel, places, weight, panel_digest(members))


def _panel(panel: str, places: Iterable[int], weight: float, digest: str) -> dict[str, Any]:
    return {
        "panel": panel,
        "places": places,
        "weight_planned": weight,
        "digest_planned": digest,
    }


def _digest(rows: pd.DataFrame) -> str:
    ordered = rows.sort_values("index")
    columns = (ordered[field.name] for field in dataclasses.fields(ScenarioRow))
    members = (ScenarioRow(*values) for values in zip(*columns, strict=True))
    return panel_digest(members)


def _told(scenario_json: object) -> dict[str, Any]:
    """What a scenario says of itself; nulls if it cannot be read."""
    try:
        scenario = json.loads(str(scenario_json))
        faults = scenario["faults"]
        starts = [float(fault.get("start_ms") or 0) for fault in faults]
        return {
            "id_in_scenario": str(scenario["scenario_id"]),
            "kinds_in_scenario": kinds_of(
                (fault["kind"] for fault in faults),
                ((one["assignment"], one.get("behind", {})) for one in scenario.get("topics", ())),
            ),
            "last_fault_ms": max(starts, default=0.0),
            "horizon_ms": float(scenario["horizon_ms"]),
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        names = ("id_in_scenario", "kinds_in_scenario", "last_fault_ms", "horizon_ms")
        return dict.fromkeys(names)


# ---- outcomes ----------------------------------------------------------------------------------


def _outcomes(plan: Plan, table: pa.Table) -> Frame:
    key = ["panel", "config_id", "scenario_id"]
    planned = _pairs(plan)
    rows = _with_not_finite(table).merge(planned, on=key, how="left")
    rows["pair_planned"] = rows["planned_name"].notna()
    values = list(COUNTED)
    rows["values_given"] = rows[values].notna().sum(axis=1)
    older = rows["panel"].str.endswith(BASELINE_SIDE) & rows[list(ADDED)].isna().all(axis=1)
    rows["not_measured"] = older.astype(int)  # by the kernel of an older baseline
    rows["values_null"] = rows[values].isna().sum(axis=1) - len(ADDED) * rows["not_measured"]
    rows["values_negative"] = sum((_number(table, name) < 0).astype(int) for name in values)
    rows["scenario_exposure_us"] = rows[EXPOSURE].groupby(rows["scenario_id"]).transform("min")
    return Frame(rows, planned[key])


def _pairs(plan: Plan) -> pd.DataFrame:
    """Every pair that should be there, with what it has from plan and scenarios."""
    # The night's own panel must be whole; of others what was asked for.
    held = {**parts.assembled(plan), "regression": [c.config_id for c in plan.configurations]}
    names = {c.config_id: c.name for c in plan.configurations}
    asked = _small(
        {
            "panel": panel,
            "drawn_as": panel.removesuffix(BASELINE_SIDE),
            "config_id": config_id,
            "planned_name": names.get(config_id),
        }
        for panel, config_ids in held.items()
        for config_id in config_ids
    )
    drawn = _pandas(_rows("scenarios", plan).select(["panel", "scenario_id", "stratum", "weight"]))
    drawn = drawn.drop_duplicates(["panel", "scenario_id"]).rename(
        columns={"panel": "drawn_as", "stratum": "planned_stratum", "weight": "planned_weight"}
    )
    return asked.merge(drawn, on="drawn_as")


def _number(table: pa.Table, name: str) -> Any:
    """A column as numbers, NaN where it is null."""
    return table.column(name).cast(pa.float64()).to_numpy()


# ---- summary -----------------------------------------------------------------------------------


def _summary(plan: Plan, table: pa.Table) -> Frame:
    key = ["panel", "config_id", "metric", "stratum"]
    metrics = _small(
        {"metric": name, "metric_unit": one.unit.name, "metric_is_share": one.unit in _SHARES}
        for name, one in METRICS.items()
    )
    expected = _from_outcomes(plan)
    rows = _with_not_finite(table).merge(metrics, on="metric", how="left")
    rows = rows.merge(expected, on=key, how="left")
    rows["metric_known"] = rows["metric_unit"].notna()
    rows["stratum_known"] = rows["panel_scenarios"].notna()
    rows["is_reference"] = rows["config_name"] == plan.reference
    for column, least in (("total", 1.0), ("value", 1e-300)):
        wanted = rows[f"outcomes_{column}"]
        rows[f"{column}_off"] = (rows[column] - wanted).abs() / wanted.abs().clip(lower=least)
    return Frame(rows, expected[key])


def _from_outcomes(plan: Plan) -> pd.DataFrame:
    """What the summary must say by the outcomes: a row per configuration, metric and stratum."""
    outcomes = _rows("outcomes", plan)
    outcomes = outcomes.filter(pc.is_in(outcomes["panel"], pa.array(list(plan.panels)))).to_pandas()
    outcomes = pd.concat([outcomes, outcomes.assign(stratum=WHOLE_PANEL)])
    ran = outcomes["failed"] == 0
    groups = [outcomes[name] for name in ("panel", "config_id", "stratum")]
    sums = {
        "panel_scenarios": outcomes["weight"].groupby(groups).size(),
        "panel_failed": (~ran).groupby(groups).sum(),
        "panel_weight": outcomes["weight"].groupby(groups).sum(),
    }
    found = []
    for name, metric in METRICS.items():
        top = outcomes[metric.top].astype(float).where(ran)
        below = (outcomes["weight"] * metric.bottom(outcomes[EXPOSURE])).where(ran)
        weighted = (outcomes["weight"] * top).groupby(groups).sum(min_count=1)
        made = {
            "metric": name,
            **sums,
            "outcomes_total": top.groupby(groups).sum(min_count=1) / metric.unit.total_in,
            "outcomes_value": weighted / below.groupby(groups).sum(min_count=1),
        }
        found.append(pd.DataFrame(made).reset_index())
    return _pandas(pa.Table.from_pandas(pd.concat(found), preserve_index=False))


# ---- files -------------------------------------------------------------------------------------

ABSENT = "absent"
"""In place of the digest of what is not there, or not among what was published."""


def files_frame(plan: Plan) -> Frame:
    """Every file of a night's tables: its digest, and the one that it had when it was published.

    The latter is null where a night of before 0.3.0 noted none.
    """
    found = [row for table in store.TABLES for row in _files(table, plan)]
    return Frame(rows := _small(found), rows[["table", "file"]])


def _files(table: str, plan: Plan) -> Iterator[dict[str, str | None]]:
    folder = store.table_path(table, plan.experiment, plan.night, plan.root)
    held = {one.name: one for one in files(folder)}
    published = {one.name: one.sha256 for one in held.values() if one.sha256}
    published |= store.read_sums(folder)
    if not held and not published:
        yield {"table": table, "file": "*", "sha256": ABSENT, "sha256_published": "unknown"}
    for name in sorted(held.keys() | published.keys()):
        sha256 = _sha256(held[name].place) if name in held else ABSENT
        noted = published.get(name, ABSENT) if published else None
        yield {"table": table, "file": name, "sha256": sha256, "sha256_published": noted}


def _sha256(place: Place) -> str:
    try:
        content = place.read_buffer() if isinstance(place, RemotePath) else place.read_bytes()
    except OSError as error:
        return error.strerror or ABSENT
    return hashlib.sha256(content).hexdigest()


_FRAMES: dict[str, Callable[[Plan, pa.Table], Frame]] = {
    "scenarios": _scenarios,
    "outcomes": _outcomes,
    "summary": _summary,
}
