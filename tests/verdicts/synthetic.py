"""Nights made of numbers instead of simulations: real tables, real columns, a chosen truth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from isr_pipeline.base.home import Home
from isr_pipeline.experiment.configurations import Configuration
from isr_pipeline.experiment.file import Experiment, Group, load_experiment
from isr_pipeline.experiment.plan import Plan, Shard
from isr_pipeline.experiment.stages import Budget
from isr_pipeline.night import publication
from isr_pipeline.scenarios.profile import FaultProfile, Stratum
from isr_pipeline.tables import store
from isr_pipeline.verdicts import stages
from isr_pipeline.verdicts.judge import facts_of
from isr_pipeline.verdicts.record import ConfigVerdict, MetricVerdict, NightVerdict, Status
from isr_pipeline.worlds.columns import COUNTED, EXPOSURE, METRICS, OF_THE_RUN, values_of

NIGHT = "2026-11-19"
BEGAN = "2026-11-20T03:11:00Z"
LATER = "2026-11-20"
KINDS = ("crash", "link", "pause", "read_stall")
PARTITIONS = 12
EXPOSURE_S = PARTITIONS * 115.0
EXPOSURE_US = EXPOSURE_S * 1e6

SCENARIO: dict[str, Any] = {
    "scenario_id": "synthetic",
    "horizon_ms": 120_000,
    "warmup_ms": 5_000,
    "cluster": {"release": "3.7-3.9", "controller": "kraft", "brokers": [1, 2, 3]},
    "topics": [{"name": "t", "assignment": {str(p): [1, 2, 3] for p in range(PARTITIONS)}}],
    "faults": [{"kind": "crash", "broker": 1, "start_ms": 30_000}],
}

PROFILE = FaultProfile(
    strata={
        "stratum-0": Stratum(population=1, sample=1, patterns={"crash": 1, "pause": 1}),
        "stratum-1": Stratum(population=3, sample=1, patterns={"link": 1, "read_stall": 1}),
    },
    parameters={},
)
"""Where the scenarios come from; nobody counts incidents."""

Change = Callable[[str, str, dict[str, np.ndarray], np.random.Generator], None]
"""Changes the metrics of (panel, configuration) in place."""


def counted(told: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns of the outcomes table of which metrics of twelve partitions and 115 s are told."""
    exposure = np.full(len(told["failed"]), EXPOSURE_US)
    tops = {
        row.top: told[name] if row.unit.exposure_us is None else told[name] * row.bottom(exposure)
        for name, row in METRICS.items()
    }
    return {EXPOSURE: exposure, **tops, **{name: told[name] for name in OF_THE_RUN}}


@cache
def _definition() -> Experiment:
    """Some experiment: a plan holds one, and nothing here looks into it."""
    return load_experiment("smoke")


@dataclass
class World:
    """An experiment of ``scenarios`` scenarios per panel and some configurations.

    A budget of 0 is spent by the regression and the confirm panel. All scenarios have the text of
    ``scenario``, whatever their outcomes. All configurations are of one group, which may be asked.
    """

    scenarios: int = 120
    names: tuple[str, ...] = ("today", "kip-501-s1", "lag-20s")
    seed: int = 7
    experiment: str = "synthetic"
    grid: tuple[str, ...] = ()
    panel_digest: str = "a" * 64
    confirm_digest: str = "b" * 64
    code_version: str = "1234abc"
    run: str = ""
    began: str = ""
    budget: int = 0
    asked: bool = False
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    scenario: dict[str, Any] = field(default_factory=lambda: SCENARIO)
    profile: FaultProfile = PROFILE

    def overrides(self, name: str) -> dict[str, Any]:
        """Kafka keys of a configuration."""
        default = {"replica.lag.time.max.ms": 10_000 + 1_000 * self.names.index(name)}
        return self.values.get(name, default)

    def plan(self, night: str) -> Plan:
        """The night's plan, written into its folder."""
        plan = self.planned(night)
        plan.save(plan.place / "plan.json")
        return plan

    def begun(self, night: str, run: str, began: str = BEGAN) -> Plan:
        """The plan of a run of the night that is under way, in its own folder."""
        plan = publication.of_run(self.planned(night), run, began)
        publication.begin_run(plan)
        return plan

    def planned(self, night: str) -> Plan:
        """The night's plan."""
        configurations = tuple(
            Configuration(
                name=name,
                config_id=f"id-{name}",
                group="all",
                overrides=self.overrides(name),
                params={
                    "min.insync.replicas": 1 + index % 2,
                    "replica.lag.time.max.ms": 30_000,
                    "rules.kip501": "none",
                    "cluster.release": "3.7-3.9",
                    **self.overrides(name),
                },
                is_grid=name in self.grid,
            )
            for index, name in enumerate(self.names)
        )
        return Plan(
            experiment=self.experiment,
            night=night,
            experiment_digest="c" * 64,
            panel_digest=self.panel_digest,
            confirm_digest=self.confirm_digest,
            panels={"regression": self.scenarios, "confirm": self.scenarios},
            configurations=configurations,
            shards=(Shard(name="all", config_ids=tuple(one.config_id for one in configurations)),),
            reference=self.names[0],
            code_version=self.code_version,
            version="0.2.0",
            run=self.run,
            began=self.began,
            root=Home.from_environment().root,
            definition=_definition().model_copy(
                update={
                    "budget": Budget(scenarios=self.budget or 2 * self.scenarios),
                    "groups": (Group(name="all", asked=self.asked),),
                    "profile": self.profile,
                }
            ),
        )

    def scenario_rows(self, panel: str) -> pd.DataFrame:
        """The panel's rows of the scenarios table."""
        rng = np.random.default_rng([self.seed, len(panel)])
        text = json.dumps(self.scenario)
        kinds = rng.integers(len(KINDS), size=self.scenarios)
        return pd.DataFrame(
            {
                "panel": panel,
                "scenario_id": [f"{panel}-{index:04d}" for index in range(self.scenarios)],
                "index": range(self.scenarios),
                "stratum": [f"stratum-{kind % 2}" for kind in kinds],
                "pattern": [KINDS[kind] for kind in kinds],
                "weight": np.where(kinds % 2, 1.5, 0.5),
                "fault_kinds": [KINDS[kind] for kind in kinds],
                "expected_cost": 1.0,
                "ends_ms": np.where(kinds == KINDS.index("pause"), 120_000.0, np.nan),
                "scenario_json": text,
            }
        )

    def outcome_rows(self, panel: str, name: str, change: Change | None) -> pd.DataFrame:
        """A configuration's rows of the outcomes table: the same every night, until changed."""
        rng = np.random.default_rng([self.seed, len(panel), self.names.index(name)])
        count = self.scenarios
        shared = np.random.default_rng([self.seed, len(panel)]).gamma(0.8, 1.0, count)
        columns = {column: np.zeros(count) for column in (*METRICS, *OF_THE_RUN)}
        flaps = rng.poisson(6 * shared)
        columns["isr_flaps_per_partition_hour"] = flaps * 3600 / EXPOSURE_S
        columns["isr_shrinks_per_partition_hour"] = (flaps + 1) * 3600 / EXPOSURE_S
        columns["spurious_shrinks_per_partition_hour"] = flaps // 2 * 3600 / EXPOSURE_S
        offline_s = np.where(rng.random(count) < 0.4, rng.gamma(1.0, 20.0, count), 0.0)
        columns["leaderless_rate"] = offline_s / EXPOSURE_S
        columns["led_under_min_isr_rate"] = rng.beta(1, 30, count)
        columns["produce_unavailable_rate"] = rng.beta(1, 30, count)
        columns["commit_latency_p99_ms"] = rng.gamma(2.0, 20.0, count)
        columns["detection_delay_ms"] = rng.gamma(1.0, 900.0, count)
        columns["simulated_ms"] = np.full(count, 120_000.0)
        columns["kernel_events"] = np.full(count, 50_000.0)
        if change is not None:
            change(panel, name, columns, np.random.default_rng([self.seed, 99, len(panel)]))
        columns["any_leaderless"] = (columns["leaderless_rate"] > 0).astype(float)
        frame = pd.DataFrame(counted(columns))
        frame.loc[frame["failed"] > 0, list(COUNTED)] = np.nan
        frame = frame.astype({"failed": "int64", "kernel_events": "int64"})
        scenario_ids = [f"{panel}-{index:04d}" for index in range(count)]
        frame.insert(0, "config_id", f"id-{name}")
        frame.insert(0, "scenario_id", scenario_ids)
        frame.insert(0, "panel", panel)
        return frame

    def write(
        self,
        night: str,
        change: Change | None = None,
        *,
        confirm: tuple[str, ...] | None = None,
        run: str = "",
    ) -> Plan:
        """Write the scenarios and outcomes of a night and return its plan.

        Args:
            night: YYYY-MM-DD.
            change: what is different in this night.
            confirm: configurations whose confirm panel is simulated; all if None.
            run: id of the run that is under way; empty: the night is whole.
        """
        plan = self.begun(night, run) if run else self.plan(night)
        panels = ("regression", "confirm")
        scenarios = pd.concat([self.scenario_rows(panel) for panel in panels])
        store.write_table("scenarios", self.experiment, night, scenarios, root=plan.root)
        parts = [self.outcome_rows("regression", name, change) for name in self.names]
        chosen = self.names if confirm is None else confirm
        parts += [self.outcome_rows("confirm", name, change) for name in chosen]
        store.write_table("outcomes", self.experiment, night, pd.concat(parts), root=plan.root)
        summary = self.summary_rows(parts)
        store.write_table("summary", self.experiment, night, summary, root=plan.root)
        return plan

    def summary_rows(self, parts: list[pd.DataFrame]) -> pd.DataFrame:
        """What the summary job would say of the standing panel as a whole."""
        rows = [
            {
                "panel": "regression",
                "config_id": part["config_id"].iloc[0],
                "config_name": part["config_id"].iloc[0].removeprefix("id-"),
                "metric": metric,
                "stratum": "all",
                "value": float(values.mean()),
                "low": float(values.min()),
                "high": float(values.max()),
                "ratio": 1.0,
                "scenarios": len(part),
                "scenarios_failed": int(part["failed"].sum()),
            }
            for part in parts
            if part["panel"].iloc[0] == "regression"
            for metric, values in values_of(part).items()
        ]
        return pd.DataFrame(rows)


def decided(plan: Plan) -> NightVerdict:
    """Look at the confirm panel of a judged night whose budget ends there."""
    stages.look_night(plan, 1)
    return stages.decide(plan)


def scaled(column: str, factor: float, *names: str, panels: tuple[str, ...] = ()) -> Change:
    """Multiply a column of some configurations (on some panels; all if none is named)."""

    def change(
        panel: str, name: str, columns: dict[str, np.ndarray], _: np.random.Generator
    ) -> None:
        if name in names and (not panels or panel in panels):
            columns[column] = columns[column] * factor

    return change


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own."""
    monkeypatch.setenv("ISR_PIPELINE_HOME", str(tmp_path))
    for name in ("ISR_PIPELINE_ROOT", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def record_with(experiment: str, status: Status) -> NightVerdict:
    """The record of a night whose first configuration has a status; all others are unchanged."""
    plan = World(experiment=experiment).planned(NIGHT)
    having = [status, *[Status.UNCHANGED] * (len(plan.configurations) - 1)]
    configurations = tuple(
        ConfigVerdict(
            name=one.name,
            config_id=one.config_id,
            status=status,
            metrics=(MetricVerdict(metric="isr_flaps_per_partition_hour", status=status),),
        )
        for one, status in zip(plan.configurations, having, strict=True)
    )
    return NightVerdict(
        experiment=plan.experiment,
        night=plan.night,
        panel_digest=plan.panel_digest,
        code_version=plan.code_version,
        outcomes_digest="",
        tests=0,
        discordant_needed=0,
        baseline=None,
        scenarios=plan.panels["regression"],
        **facts_of(configurations, pending=False),
    )
