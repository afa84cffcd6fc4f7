"""The pool: scenarios of an experiment under a few configurations, simulated once and kept."""

from __future__ import annotations

import hashlib
import json
import sys
from multiprocessing import get_context
from typing import Any

import pandas as pd

from benchmarks.detection.pool import refactored
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.file import Experiment, Panels, load_experiment
from isr_pipeline.experiment.plan import kernel_digest
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.columns import EXPOSURE, METRICS, OF_THE_RUN
from isr_pipeline.worlds.reuse import Simulations

PANEL = "regression"
SEED = 777
STRETCH = 25

CONFIGURATIONS: dict[str, dict[str, dict[str, Any]]] = {
    "operators": {
        "today": {},
        "lag-10s": {"replica.lag.time.max.ms": 10_000},
        "lag-20s": {"replica.lag.time.max.ms": 20_000},
        "min-isr-1": {"min.insync.replicas": 1},
        "fetchers-4": {"num.replica.fetchers": 4},
        "slow-append-3ms": {"service.append_us": 3_000},
        "lock-dropped": {"replica.lag.time.max.ms": 10_000, "rules.isr_lock": "none"},
    },
    "load": {
        "today": {},
        "lag-10s": {"replica.lag.time.max.ms": 10_000},
        "fetchers-4": {"num.replica.fetchers": 4},
        "response-bytes-1m": {"replica.fetch.response.max.bytes": 1_048_576},
        "own-listener": {"cluster.replication_listener": True},
    },
}
"""Experiment -> configuration -> what it sets."""

AS_DRAWN, ANEW = "as drawn", "phases anew"
Arm = tuple[str, str]


def experiment_of(name: str, scenarios: int) -> Experiment:
    """The experiment whose standing panel is the pool."""
    panels = Panels(regression=scenarios, confirm=scenarios)
    update = {"panels": panels, "seed": SEED}
    return load_experiment(name).model_copy(update=update)


def simulate(task: tuple[str, int, int, int]) -> list[dict[str, Any]]:
    """Run one stretch of the pool under every arm."""
    experiment, scenarios, start, stop = task
    source = experiment_of(experiment, scenarios).source
    columns = (EXPOSURE, *METRICS, *OF_THE_RUN)
    rows = []
    for index in range(start, stop):
        drawn = draw_scenario(source, PANEL, index)
        scenario = scenario_from_json(drawn.scenario_json)
        for arm, played in ((AS_DRAWN, scenario), (ANEW, refactored(scenario, "phases-redrawn"))):
            runs = Simulations()
            for name, overrides in CONFIGURATIONS[experiment].items():
                outcome = runs.result_for(apply(played, overrides))[0]
                row = {"index": index, "stratum": drawn.stratum, "weight": drawn.weight}
                kept = {column: outcome[column] for column in columns}
                rows.append({**row, "configuration": name, "phases": arm, **kept})
    return rows


def read_pool(experiment: str, scenarios: int, processes: int) -> pd.DataFrame:
    """Read the pool, simulating it if it is not there."""
    drawn_from = experiment_of(experiment, scenarios).digest
    named = json.dumps([kernel_digest(), drawn_from, CONFIGURATIONS[experiment]])
    digest = hashlib.sha256(named.encode()).hexdigest()[:12]
    file = Home.from_environment().path / "coverage" / f"{digest}.parquet"
    if not file.is_file():
        file.parent.mkdir(parents=True, exist_ok=True)
        stretches = [
            (experiment, scenarios, start, min(start + STRETCH, scenarios))
            for start in range(0, scenarios, STRETCH)
        ]
        rows: list[dict[str, Any]] = []
        with get_context("spawn").Pool(processes) as workers:
            for part in workers.imap(simulate, stretches):
                rows += part
                sys.stdout.write(f"\r{rows[-1]['index'] + 1} of {scenarios} scenarios")
                sys.stdout.flush()
        sys.stdout.write("\n")
        draft = file.with_suffix(".draft")
        pd.DataFrame(rows).to_parquet(draft)
        draft.replace(file)
    return pd.read_parquet(file)
