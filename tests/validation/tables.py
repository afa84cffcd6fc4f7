"""A small healthy night, written as tables: what the gates' tests corrupt."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from isr_pipeline.scenarios.panels import ScenarioRow, panel_digest
from isr_pipeline.tables import parts, store
from isr_pipeline.tables.schemas import SCHEMAS
from isr_pipeline.tables.summary import summarize
from isr_pipeline.tables.validation import results
from isr_pipeline.tables.validation.run import load_suite
from isr_pipeline.worlds.columns import COUNTED, EXPOSURE, US_PER_HOUR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.plan import Plan

EXPERIMENT = "tiny"
NIGHT = "2026-11-19"
SCENARIOS = 6
REFERENCE = "today"
WARNS = "event_budget_spent"


@dataclass(frozen=True)
class Named:
    """A configuration or a shard of the plan below."""

    name: str
    config_id: str = ""
    config_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class TinyPlan:
    """The plan's fields that gates read."""

    root: str
    configurations: tuple[Named, ...]
    shards: tuple[Named, ...]
    panels: dict[str, int]
    panel_digest: str
    confirm_digest: str = ""
    experiment: str = EXPERIMENT
    night: str = NIGHT
    experiment_digest: str = "e"
    code_version: str = "v"
    version: str = "0"
    reference: str = REFERENCE
    stages: tuple[()] = ()

    @property
    def place(self) -> Path:
        """Folder of what the night makes beside its tables."""
        return Path(self.root).parent / "nights" / self.experiment / self.night


def tiny_plan(root: str, names: Sequence[str] = ("faster", "safer"), *, night: str = NIGHT) -> Plan:
    """Plan a night of the reference and the named configurations."""
    configurations = tuple(Named(name, f"id-{name}") for name in (REFERENCE, *names))
    plan = TinyPlan(
        root=root,
        configurations=configurations,
        shards=(Named("all", config_ids=tuple(c.config_id for c in configurations)),),
        panels={"regression": SCENARIOS},
        panel_digest=digest_of(scenarios()),
        night=night,
    )
    return cast("Plan", plan)


def records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as mappings by column name."""
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def digest_of(rows: pd.DataFrame) -> str:
    """Digest of a panel as the plan has it."""
    return panel_digest(ScenarioRow(**row) for row in records(rows))


def scenarios(panel: str = "regression") -> pd.DataFrame:
    """Draw six scenarios in two strata; the weights sum to six."""
    rows = []
    for index in range(SCENARIOS):
        calm = index % 3 == 0
        faults = [] if calm else [{"kind": "pause", "start_ms": 10_000.0}]
        scenario_id = f"{panel}-{index:05d}"
        scenario = {"scenario_id": scenario_id, "horizon_ms": 60_000, "faults": faults}
        rows.append(
            {
                "panel": panel,
                "scenario_id": scenario_id,
                "index": index,
                "stratum": "calm" if calm else "faulty",
                "pattern": "quiet" if calm else "pause",
                "weight": 2.0 if calm else 0.5,
                "fault_kinds": "" if calm else "pause",
                "expected_cost": 1.0 + index,
                "ends_ms": 0.0 if calm else 70_000.0,
                "scenario_json": json.dumps(scenario),
            }
        )
    return pd.DataFrame(rows)


def outcome(random: np.random.Generator, *, faulty: bool) -> dict[str, Any]:
    """Draw an outcome in which everything fits together."""
    offline = int(random.uniform(0.0, 0.01) * US_PER_HOUR) if faulty else 0
    under_min = offline // 2
    flaps = int(random.integers(0, 5)) if faulty else 0
    return {
        **dict.fromkeys(COUNTED, 0),
        EXPOSURE: US_PER_HOUR,
        "leaderless_us": offline,
        "any_leaderless": int(offline > 0),
        "offline_us": offline,
        "any_offline": int(offline > 0),
        "under_min_isr_us": under_min,
        "under_replicated_us": under_min * 2,
        "produce_unavailable_us": offline + under_min,
        "isr_shrinks": flaps + 1,
        "isr_expands": flaps + 1,
        "isr_flaps": flaps,
        "detection_delay_ms": 0.0,
        "commit_latency_p50_ms": 2.0,
        "commit_latency_p99_ms": 8.0,
        "commit_latency_max_ms": 9.0,
        "records_acked": 1000,
        "simulated_ms": 60_000.0,
        "kernel_events": 5000,
        "failed": 0,
    }


def outcomes(plan: Plan) -> pd.DataFrame:
    """Every pair of a scenario and a configuration, one partition-hour each."""
    random = np.random.default_rng(1)
    rows = []
    for configuration in plan.configurations:
        for scenario in records(scenarios()):
            found = outcome(random, faulty=scenario["stratum"] == "faulty")
            kept = ("panel", "scenario_id", "stratum", "weight")
            rows.append(
                {
                    **{key: scenario[key] for key in kept},
                    "config_id": configuration.config_id,
                    "config_name": configuration.name,
                    **found,
                }
            )
    return pd.DataFrame(rows)


def summary(of: pd.DataFrame) -> pd.DataFrame:
    """Summarize the outcomes as the job does, with fewer draws."""
    reference = of[of["config_name"] == REFERENCE]
    each = [summarize(rows, reference, "seed", 100) for _, rows in of.groupby("config_id")]
    return pd.concat(each, ignore_index=True)


def write(table: str, rows: pd.DataFrame, plan: Plan) -> None:
    """Write a table by its schema, saying which plan made it."""
    schema = SCHEMAS[table]
    as_planned = set(schema.names) == set(rows.columns)
    config_ids = [c.config_id for c in plan.configurations]
    held = dict.fromkeys({"regression", *rows.get("panel", ())}, config_ids)
    store.write_table(
        table,
        plan.experiment,
        plan.night,
        rows[schema.names] if as_planned else rows,
        schema=schema if as_planned else None,
        root=plan.root,
        lineage={"plan": parts.plan_key(plan), "panels": held},
    )


def warn(plan: Plan) -> None:
    """Note of a night's outcomes, as Great Expectations does, that pairs spent their budget."""
    (spent,) = [one for one in load_suite("outcomes") if one["meta"]["name"] == WARNS]
    told = {**spent, "description": f"{WARNS}: {spent['description']}"}
    held = {"success": True, "expectation_config": told, "result": {}}
    failed = {"success": False, "expectation_config": told, "result": {"unexpected_count": 3}}
    results.write(plan, "outcomes", {"success": False, "results": [held, failed]})


def write_sound(plan: Plan) -> None:
    """Write the three tables of a sound night."""
    found = outcomes(plan)
    write("scenarios", scenarios(), plan)
    write("outcomes", found, plan)
    write("summary", summary(found), plan)
