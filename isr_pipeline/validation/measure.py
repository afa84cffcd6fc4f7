"""Measures of a table, made by Spark in one pass: the small table that expectations are about.

One row per group: a panel (scenarios) or a panel's configuration (outcomes, summary). Columns
are counts of rows that break a rule, counts of rows that are there and that should be, and what
else a suite names.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import to_arrow_schema

from isr_pipeline.experiment.stage_strata import stage_strata
from isr_pipeline.experiment.stages import BASELINE_SIDE
from isr_pipeline.outcomes import parts, spark_files, store
from isr_pipeline.outcomes.schemas import SPARK_SCHEMAS
from isr_pipeline.outcomes.summary import WHOLE_PANEL
from isr_pipeline.scenarios.panels import panel_digest
from isr_pipeline.storage.published import files
from isr_pipeline.worlds.columns import METRICS, TOTALS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.scenarios.panels import ScenarioRow
    from isr_pipeline.storage.places import Place
    from isr_pipeline.storage.published import Stored
    from isr_pipeline.validation.suites import Rule, Suite

GROUP = ["panel", "config_id"]
OFFENDERS_SHOWN = 5

_WEIGHT_TOLERANCE = 1e-6

_BOUNDED = {
    "any_offline",
    "offline_partition_rate",
    "under_min_isr_rate",
    "under_replicated_rate",
    "produce_unavailable_rate",
}


@dataclass(frozen=True)
class Measured:
    """A table's measures, and how to find the rows behind one of them.

    Attributes:
        frame: the measures, one row per group.
        offenders: by measure, a function that finds some of the rows behind it.
    """

    frame: pd.DataFrame
    offenders: dict[str, Callable[[], list[dict[str, Any]]]] = field(default_factory=dict)


def measure(spark: SparkSession, suite: Suite, plan: Plan) -> Measured:
    """Measure a night's table as its suite asks.

    A table that cannot be read, or that has other columns than its schema, has that as its
    only measure: nothing can be said of its rows.
    """
    folder = store.table_path(suite.table, plan.experiment, plan.night, plan.root)
    held = files(folder)
    fault = _unreadable(folder, held)
    if fault:
        return _only(suite, "unreadable", 1, [fault])
    amiss = _columns_amiss(held, to_arrow_schema(SPARK_SCHEMAS[suite.table]))
    if amiss:
        return _only(suite, "columns_amiss", len(amiss), amiss)
    rows = spark_files.read(spark, SPARK_SCHEMAS[suite.table], held)
    measured = _MEASURES[suite.table](spark, suite, plan, rows)
    nothing_amiss = {"unreadable": 0, "columns_amiss": 0}
    return Measured(measured.frame.assign(**nothing_amiss), measured.offenders)


def _only(suite: Suite, name: str, count: int, offenders: list[dict[str, Any]]) -> Measured:
    """One measure that is not as it should be, in place of all."""
    none = dict.fromkeys(suite.measures)
    row = {**none, "unreadable": 0, "columns_amiss": 0, "panel": "", "config_id": "", name: count}
    return Measured(pd.DataFrame([row]), {name: lambda: offenders})


def unreadable(suite: Suite, reason: str) -> Measured:
    """Measures of a table whose data turned out unreadable while Spark read them."""
    return _only(suite, "unreadable", 1, [{"reason": reason}])


def _unreadable(folder: Place, held: Sequence[Stored]) -> dict[str, Any] | None:
    """Say which file of a table cannot be opened, and why."""
    if not held:
        return {"folder": str(folder), "reason": "there is no such table"}
    for file in held:
        try:
            pq.read_schema(file.open())
        except (pa.ArrowException, OSError) as error:
            return {"file": str(file.place), "reason": str(error)}
    return None


def _columns_amiss(held: Sequence[Stored], wanted: pa.Schema) -> list[dict[str, Any]]:
    """Columns that differ from the schema in any file: absent, added or of another type."""
    planned = {name: str(wanted.field(name).type) for name in wanted.names}
    amiss: dict[str, dict[str, Any]] = {}
    for file in held:
        schema = pq.read_schema(file.open())
        found = {name: str(schema.field(name).type) for name in schema.names}
        for name in planned.keys() | found.keys():
            if planned.get(name) != found.get(name):
                is_, should = found.get(name, "absent"), planned.get(name, "absent")
                amiss[name] = {"column": name, "type": is_, "planned": should}
    return [amiss[name] for name in sorted(amiss)]


def _small(spark: SparkSession, rows: list[dict[str, Any]]) -> DataFrame:
    """Give a few rows to Spark, by Arrow: a plain list would go through a Python worker."""
    return spark.createDataFrame(pa.Table.from_pylist(rows))


def _broken(rules: Sequence[Rule]) -> list[Column]:
    """For each rule the number of rows that break it."""
    return [
        sf.count_if(~sf.coalesce(sf.expr(rule.condition), sf.lit(False))).alias(rule.name)
        for rule in rules
    ]


def _rule_offenders(
    rows: DataFrame, rules: Sequence[Rule], key: Sequence[str]
) -> dict[str, Callable[[], list[dict[str, Any]]]]:
    """For each rule a function that fetches the first rows that break it."""

    def find(rule: Rule) -> list[dict[str, Any]]:
        broken = rows.where(~sf.coalesce(sf.expr(rule.condition), sf.lit(False)))
        return _first(broken.select(list(dict.fromkeys([*key, *rule.shows]))), key)

    # Nothing is asked of Spark before a rule is broken: it analyzes a query when it is written.
    return {rule.name: functools.partial(find, rule) for rule in rules}


def _first(rows: DataFrame, key: Sequence[str]) -> list[dict[str, Any]]:
    """Return the first few rows in order of the key."""
    return [row.asDict() for row in rows.orderBy(*key).limit(OFFENDERS_SHOWN).collect()]


def _twice(rows: DataFrame, key: Sequence[str]) -> Callable[[], list[dict[str, Any]]]:
    """Return a function that fetches keys which more than one row has."""

    def find() -> list[dict[str, Any]]:
        counted = rows.groupBy(*key).agg(sf.count("*").alias("rows")).where("rows > 1")
        return _first(counted, key)

    return find


def _planned_groups(frame: pd.DataFrame, planned: list[dict[str, Any]]) -> pd.DataFrame:
    """Measures of every planned group (zeros where it has no rows) and of those beside the plan."""
    keys = ["panel", "config_id"] if "config_id" in planned[0] else ["panel"]
    merged = pd.DataFrame(planned).merge(frame, on=keys, how="outer")
    numbers = [name for name in merged.columns if pd.api.types.is_numeric_dtype(merged[name])]
    merged[numbers] = merged[numbers].fillna(0)
    whole = [name for name in numbers if (merged[name] % 1 == 0).all()]
    merged[whole] = merged[whole].astype("int64")
    return merged.sort_values(keys, ignore_index=True)


# ---- scenarios ---------------------------------------------------------------------------------

_SCENARIO_JSON = (
    "scenario_id string, horizon_ms double, faults array<struct<kind: string, start_ms: double>>"
)


def _measure_scenarios(_: SparkSession, suite: Suite, plan: Plan, rows: DataFrame) -> Measured:
    """Measure the scenarios table; a group is a panel."""
    key = ["panel", "scenario_id"]
    panels = [panel for panel, size in plan.panels.items() if size]
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    held = {file.name for file in files(folder)}
    drawn = [stage for stage in plan.stages if f"{stage.panel}.parquet" in held]
    panels += [stage.panel for stage in drawn]
    weights = rows.groupBy("panel", "stratum").agg(sf.min("weight").alias("stratum_weight"))
    rows = (
        rows.join(sf.broadcast(weights), ["panel", "stratum"], "left")
        .withColumn("panel_planned", sf.col("panel").isin(panels))
        .withColumn("scenario", sf.from_json("scenario_json", _SCENARIO_JSON))
        .withColumn(
            "kinds_in_scenario",
            sf.expr("array_join(array_sort(array_distinct(scenario.faults.kind)), ',')"),
        )
        .withColumn("last_fault_ms", sf.expr("array_max(scenario.faults.start_ms)"))
        .withColumn("horizon_ms", sf.col("scenario.horizon_ms"))
    )
    frame = (
        rows.groupBy("panel")
        .agg(
            sf.count("*").alias("rows"),
            sf.countDistinct("scenario_id").alias("ids"),
            sf.countDistinct("index").alias("indexes"),
            sf.min("index").alias("first_index"),
            sf.max("index").alias("last_index"),
            sf.sum("weight").alias("weight_sum"),
            *_broken(suite.rules),
        )
        .toPandas()
    )
    planned_digests = {
        "regression": plan.panel_digest,
        "confirm": plan.confirm_digest,
        "fresh": plan.fresh_digest,
    }
    # The weights of a later stage are those of all stages up to it: they sum to something else.
    weight_sums = {panel: float(size) for panel, size in plan.panels.items()}
    ends = {panel: (0, size - 1) for panel, size in plan.panels.items()}
    for stage in drawn:
        members = list(plan.draw_stage(stage, stage_strata(plan, stage)))
        ends[stage.panel] = (members[0].index, members[-1].index)
        planned_digests[stage.panel] = panel_digest(members)
        weight_sums[stage.panel] = math.fsum(row.weight for row in members)
    planned = [
        {
            "panel": panel,
            "rows_planned": plan.panel_size(panel),
            "first_planned": ends[panel][0],
            "last_planned": ends[panel][1],
            "weight_planned": weight_sums[panel],
        }
        for panel in panels
    ]
    frame = _planned_groups(frame, planned)
    frame["ids_twice"] = frame["rows"] - frame["ids"]
    frame["indexes_amiss"] = (
        (frame["rows"] - frame["indexes"])
        + (frame["first_index"] != frame["first_planned"])
        + (frame["last_index"] != frame["last_planned"])
    )
    missing = (frame["weight_sum"] - frame["weight_planned"]).abs()
    frame["weights_amiss"] = missing > _WEIGHT_TOLERANCE
    frame["weights_amiss"] = frame["weights_amiss"].astype("int64")
    digests = _panel_digests(rows)
    frame["digest"] = [digests.get(panel, "") for panel in frame["panel"]]
    frame["digest_planned"] = [planned_digests.get(panel, "") for panel in frame["panel"]]
    offenders = _rule_offenders(rows, suite.rules, key)
    offenders["ids_twice"] = _twice(rows, key)
    offenders["indexes_amiss"] = _twice(rows, ["panel", "index"])
    return Measured(frame, offenders)


def _panel_digests(rows: DataFrame) -> dict[str, str]:
    """Digest of each panel as the table holds it, made in a worker that reads them in order."""
    wanted = rows.select("panel", "index", "scenario_id", "stratum", "weight", "scenario_json")
    ordered = wanted.repartition("panel").sortWithinPartitions("panel", "index")
    digests = ordered.mapInArrow(_digest_panels, "panel string, digest string").collect()
    return {row["panel"]: row["digest"] for row in digests}


def _digest_panels(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Digest each panel of a partition whose rows are in order."""
    rows = (SimpleNamespace(**row) for batch in batches for row in batch.to_pylist())
    for panel, members in itertools.groupby(rows, key=lambda row: str(row.panel)):
        digest = panel_digest(cast("Iterator[ScenarioRow]", members))
        yield pa.RecordBatch.from_pydict({"panel": [panel], "digest": [digest]})


# ---- outcomes ----------------------------------------------------------------------------------


def _measure_outcomes(spark: SparkSession, suite: Suite, plan: Plan, rows: DataFrame) -> Measured:
    """Measure the outcomes table; a group is a configuration on a panel."""
    key = ["panel", "config_id", "scenario_id"]
    # The night's own panel must be whole; of others what was asked for.
    held = {**parts.assembled(plan), "regression": [c.config_id for c in plan.configurations]}
    scenarios = _planned_scenarios(spark, plan, list(held))
    configurations = _small(
        spark,
        [
            {"config_id": c.config_id, "planned_name": c.name, "config_planned": True}
            for c in plan.configurations
        ],
    )
    rows = (
        rows.join(sf.broadcast(scenarios), ["panel", "scenario_id"], "left")
        .join(sf.broadcast(configurations), "config_id", "left")
        .withColumns(_outcome_helpers())
    )
    planned_ids = sf.collect_set(sf.when(sf.col("scenario_planned"), sf.col("scenario_id")))
    frame = (
        rows.groupBy(*GROUP)
        .agg(
            sf.count("*").alias("rows"),
            sf.size(sf.collect_set("scenario_id")).alias("ids"),
            sf.size(planned_ids).alias("planned_ids"),
            *_broken(suite.rules),
        )
        .toPandas()
    )
    names = {c.config_id: c.name for c in plan.configurations}
    planned = [
        {"panel": panel, "config_id": config_id, "rows_planned": plan.panel_size(panel)}
        for panel, config_ids in held.items()
        for config_id in config_ids
    ]
    frame = _planned_groups(frame, planned)
    frame.insert(2, "config_name", [names.get(c, "") for c in frame["config_id"]])
    frame["pairs_missing"] = (frame["rows_planned"] - frame["planned_ids"]).clip(lower=0)
    frame["pairs_twice"] = frame["rows"] - frame["ids"]

    def missing() -> list[dict[str, Any]]:
        groups = _small(spark, [{name: row[name] for name in GROUP} for row in planned])
        return _first(scenarios.join(groups, "panel").join(rows, key, "left_anti").select(key), key)

    offenders = _rule_offenders(rows, suite.rules, key)
    offenders["pairs_missing"] = missing
    offenders["pairs_twice"] = _twice(rows, key)
    return Measured(frame, offenders)


def _planned_scenarios(spark: SparkSession, plan: Plan, panels: list[str]) -> DataFrame:
    """Keys of the scenarios table with what outcomes must have from it."""
    folder = store.table_path("scenarios", plan.experiment, plan.night, plan.root)
    scenarios = spark_files.read(spark, SPARK_SCHEMAS["scenarios"], files(folder))
    return (
        scenarios.where(sf.col("panel").isin(panels))
        .unionByName(_on_the_baselines_side(scenarios, panels))
        .dropDuplicates(["panel", "scenario_id"])
        .select(
            "panel",
            "scenario_id",
            sf.col("stratum").alias("planned_stratum"),
            sf.col("weight").alias("planned_weight"),
            sf.lit(True).alias("scenario_planned"),
        )
    )


def _on_the_baselines_side(scenarios: DataFrame, panels: list[str]) -> DataFrame:
    """Scenarios of stages that the baseline's code ran too, as rows of the panels of its side."""
    ran = [panel.removesuffix(BASELINE_SIDE) for panel in panels if panel.endswith(BASELINE_SIDE)]
    side = sf.concat("panel", sf.lit(BASELINE_SIDE))
    return scenarios.where(sf.col("panel").isin(ran)).withColumn("panel", side)


def _outcome_helpers() -> dict[str, Column]:
    """Columns that rules about outcomes use beside the table's own."""
    return {
        "scenario_planned": sf.coalesce("scenario_planned", sf.lit(False)),
        "config_planned": sf.coalesce("config_planned", sf.lit(False)),
        "values_given": _count_true(f"{name} is not null" for name in METRICS),
        "values_null": _count_true(f"{name} is null" for name in [*METRICS, *TOTALS]),
        "values_odd": _count_true(_is_odd(name) for name in [*METRICS, *TOTALS]),
        "totals_off": _count_true(
            _is_off(total, metric.name, metric.kind) for total, metric in TOTALS.items()
        ),
    }


def _count_true(conditions: Iterable[str]) -> Column:
    """How many of some conditions (SQL) hold in a row; one that is null does not.

    As one text: hundreds of small calls to Java would take longer than Spark does.
    """
    return sf.expr(f"size(filter(array({', '.join(conditions)}), holds -> holds))")


def _is_odd(column: str) -> str:
    """Negative, infinite or not a number (a null is neither)."""
    number = f"cast({column} as double)"
    return f"({number} < 0 or isnan({number}) or {number} = double('infinity'))"


def _is_off(total: str, rate: str, kind: str) -> str:
    """Whether a natural total is not what the rate says."""
    expected = f"{rate} * partition_hours * {'3600.0D' if kind == 'share' else '1.0D'}"
    return f"abs({total} - {expected}) > 1e-6D * greatest(abs({expected}), 1.0D)"


# ---- summary -----------------------------------------------------------------------------------


def _measure_summary(spark: SparkSession, suite: Suite, plan: Plan, rows: DataFrame) -> Measured:
    """Measure the summary table; a group is a configuration on a panel."""
    key = ["panel", "config_id", "metric", "stratum"]
    metrics = _small(
        spark,
        [
            {
                "metric": name,
                "metric_unit": metric.unit,
                "metric_is_share": name in _BOUNDED,
                "metric_known": True,
            }
            for name, metric in METRICS.items()
        ],
    )
    expected = _from_outcomes(spark, plan)
    rows = (
        rows.join(sf.broadcast(metrics), "metric", "left")
        .join(expected, key, "left")
        .withColumn("metric_known", sf.coalesce("metric_known", sf.lit(False)))
        .withColumn("stratum_known", sf.col("panel_scenarios").isNotNull())
        .withColumn("is_reference", sf.col("config_name") == plan.reference)
    )
    frame = (
        rows.groupBy(*GROUP)
        .agg(
            sf.count("*").alias("rows"),
            sf.countDistinct("metric", "stratum").alias("distinct_rows"),
            *_broken(suite.rules),
        )
        .toPandas()
    )
    counted = expected.groupBy(*GROUP).agg(sf.count("*").alias("rows_planned"))
    planned = counted.toPandas().to_dict("records")
    names = {c.config_id: c.name for c in plan.configurations}
    frame = _planned_groups(frame, [{str(k): v for k, v in row.items()} for row in planned])
    frame.insert(2, "config_name", [names.get(c, "") for c in frame["config_id"]])
    frame["rows_twice"] = frame["rows"] - frame["distinct_rows"]
    offenders = _rule_offenders(rows, suite.rules, key)
    offenders["rows_twice"] = _twice(rows, key)
    return Measured(frame, offenders)


def _from_outcomes(spark: SparkSession, plan: Plan) -> DataFrame:
    """What the summary must say by the outcomes: a row per configuration, metric and stratum."""
    folder = store.table_path("outcomes", plan.experiment, plan.night, plan.root)
    outcomes = spark_files.read(spark, SPARK_SCHEMAS["outcomes"], files(folder))
    summarized = outcomes.where(sf.col("panel").isin(list(plan.panels)))
    both = summarized.withColumn("stratum", sf.explode(sf.array("stratum", sf.lit(WHOLE_PANEL))))
    ran = sf.col("failed") == 0
    sums = [
        sf.count("*").alias("panel_scenarios"),
        sf.count_if(~ran).alias("panel_failed"),
        sf.sum("weight").alias("panel_weight"),
    ]
    per = {"share": sf.col("partition_hours") * 3600.0, "per_hour": sf.col("partition_hours")}
    for place, metric in enumerate(METRICS.values()):
        total = sf.when(ran, sf.col(metric.total).cast("double"))
        below = sf.when(ran, sf.col("weight") * per.get(metric.kind, sf.lit(1.0)))
        sums.append(sf.sum(total).alias(f"total_{place}"))
        value = sf.sum(sf.col("weight") * total) / sf.sum(below)
        sums.append(value.alias(f"value_{place}"))
    wide = both.groupBy("panel", "config_id", "stratum").agg(*sums)
    pairs = ", ".join(f"'{name}', total_{i}, value_{i}" for i, name in enumerate(METRICS))
    return wide.selectExpr(
        "panel",
        "config_id",
        "stratum",
        "panel_scenarios",
        "panel_failed",
        "panel_weight",
        f"stack({len(METRICS)}, {pairs}) as (metric, outcomes_total, outcomes_value)",
    )


_MEASURES: dict[str, Callable[[SparkSession, Suite, Plan, DataFrame], Measured]] = {
    "scenarios": _measure_scenarios,
    "outcomes": _measure_outcomes,
    "summary": _measure_summary,
}
