"""The pool: every scenario under every arm, simulated once and kept as Parquet files.

``<home>/contest/<digest>/<refactor>+<digest of the values>/00250.parquet`` holds the outcomes of
250 scenarios from index 250 on. A run that was cut off goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.detection.contest import BASELINE, Arm, Contest, pool_digest
from isr_pipeline.errors import InputError
from isr_pipeline.experiment.file import Experiment
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.home import Home
from isr_pipeline.scenarios.generator import draw_scenario, pattern_position
from isr_pipeline.scenarios.model import Scenario, apply, scenario_from_json
from isr_pipeline.scenarios.panels import Place, places
from isr_pipeline.scenarios.profile import Stratum
from isr_pipeline.worlds.columns import OUTCOME_COLUMNS
from isr_pipeline.worlds.reuse import Simulations

Floats = npt.NDArray[np.float64]

CHUNK = 250
"""Scenarios per file: half a minute of work that an interruption can cost."""

MADE_BY = "made-by"
"""File of a pool that names the code version which simulated it."""

PANEL, NIGHT = "regression", "2026-11-19"
"""What the pool is drawn as; the night does not matter for this panel."""


@dataclass(frozen=True)
class Pool:
    """All outcomes of the contest.

    Attributes:
        digest: of code and scenarios.
        made_by: code version that simulated it.
        experiment: that the scenarios were drawn from.
        panel_strata: by whose shares a night's panels are divided.
        size: number of scenarios.
        strata: stratum -> indices of its scenarios, in the order of their patterns.
        weights: (size,) population weight of each scenario.
        exposure_s: partition-seconds after warm-up of each scenario (all alike).
        outcomes: (configuration, change) -> outcome column -> (size,).
        arms: all arms.
    """

    digest: str
    made_by: str
    experiment: Experiment
    panel_strata: Mapping[str, Stratum]
    size: int
    strata: dict[str, npt.NDArray[np.int64]]
    weights: Floats
    exposure_s: float
    outcomes: dict[tuple[str, str], dict[str, Floats]]
    arms: tuple[Arm, ...]

    def arms_of(self, kind: str) -> tuple[Arm, ...]:
        """Arms of one kind."""
        return tuple(arm for arm in self.arms if arm.kind == kind)

    def differing_mask(self, arm: Arm, metric: str) -> npt.NDArray[np.bool_]:
        """Which scenarios have another outcome than under the baseline."""
        new = self.outcomes[arm.configuration, arm.change][metric]
        return np.asarray(new != self.outcomes[arm.configuration, BASELINE][metric])

    def ratio(self, arm: Arm, metric: str) -> float:
        """True effect: ratio of the weighted means over the whole pool."""
        new = self.weights @ self.outcomes[arm.configuration, arm.change][metric]
        old = self.weights @ self.outcomes[arm.configuration, BASELINE][metric]
        return float(new / old) if old else (1.0 if new == 0 else float("inf"))


@dataclass(frozen=True)
class _Task:
    experiment: Experiment
    start: int
    stop: int
    arms: tuple[tuple[Arm, Path], ...]


def make_pool(contest: Contest, scenarios: int, processes: int) -> Iterator[tuple[int, int]]:
    """Simulate what is missing of the pool; give (files done, files missing at first) on the way.

    Raises:
        BudgetSpent: a pair needs more events than any should.
    """
    experiment = contest.drawn_from(scenarios)
    folder = _folder(pool_digest(experiment))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MADE_BY).write_text(code_version() + "\n", encoding="utf-8")
    tasks = []
    for start in range(0, scenarios, CHUNK):
        paths = {folder / arm.folder / f"{start:05d}.parquet": arm for arm in contest.arms}
        missing = tuple((arm, path) for path, arm in paths.items() if not path.exists())
        if missing:
            tasks.append(_Task(experiment, start, min(start + CHUNK, scenarios), missing))
    total = sum(len(task.arms) for task in tasks)
    done = 0
    yield done, total
    if not tasks:
        return
    # spawn: numba's threads and caches do not like to be forked
    with get_context("spawn").Pool(processes) as workers:
        for count in workers.imap_unordered(_simulate, tasks):
            done += count
            yield done, total


def _simulate(task: _Task) -> int:
    """Run one stretch of scenarios under every arm that lacks it."""
    scenarios = [
        scenario_from_json(draw_scenario(task.experiment.source, PANEL, NIGHT, index).scenario_json)
        for index in range(task.start, task.stop)
    ]
    runs = [Simulations() for _ in scenarios]
    for arm, path in task.arms:
        rows = [_outcome(*pair, arm) for pair in zip(runs, scenarios, strict=True)]
        columns = {name: [row[name] for row in rows] for name in OUTCOME_COLUMNS}
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        pq.write_table(pa.table(columns), draft)
        draft.replace(path)
    return len(task.arms)


def _outcome(runs: Simulations, scenario: Scenario, arm: Arm) -> dict[str, Any]:
    return runs.result_for(apply(refactored(scenario, arm.change), arm.overrides))[0]


def refactored(scenario: Scenario, change: str) -> Scenario:
    """Return the scenario as code that was changed harmlessly would play it (see `HARMLESS`)."""
    if change == "phases-redrawn":
        digest = hashlib.blake2b(f"{scenario.seed}|again".encode(), digest_size=8).digest()
        return scenario.model_copy(update={"seed": int.from_bytes(digest, "big") >> 1})
    if change == "listed-backwards":
        cluster = scenario.cluster
        backwards = cluster.model_copy(update={"brokers": cluster.brokers[::-1]})
        return scenario.model_copy(update={"topics": scenario.topics[::-1], "cluster": backwards})
    return scenario


def load_pool(
    contest: Contest, scenarios: int, columns: list[str], digest: str | None = None
) -> Pool:
    """Read some outcome columns of a pool that is complete.

    Args:
        contest: what it was made of.
        scenarios: its size.
        columns: of the outcomes.
        digest: of a pool that other code simulated; the one of this code if None.

    Raises:
        InputError: there is no such pool.
    """
    experiment = contest.drawn_from(scenarios)
    digest = digest or pool_digest(experiment)
    folder = _folder(digest)
    if not (folder / MADE_BY).is_file():
        there = sorted(path.parent.name for path in folder.parent.glob(f"*/{MADE_BY}"))
        raise InputError("contest", "--pool", digest, ", ".join(there) or "none: simulate one")
    arms = contest.arms
    outcomes = {
        (arm.configuration, arm.change): {
            name: column.to_numpy().astype(float)
            for name, column in zip(
                columns,
                pa.concat_tables(
                    pq.read_table(folder / arm.folder / f"{start:05d}.parquet", columns=columns)
                    for start in range(0, scenarios, CHUNK)
                ).columns,
                strict=True,
            )
        }
        for arm in arms
    }
    drawn = places(experiment.profile.strata, scenarios)
    one = json.loads(draw_scenario(experiment.source, PANEL, NIGHT, 0).scenario_json)
    partitions = sum(len(topic["assignment"]) for topic in one["topics"])
    return Pool(
        digest=digest,
        made_by=(folder / MADE_BY).read_text(encoding="utf-8").strip(),
        experiment=experiment,
        panel_strata=contest.panel_strata(),
        size=scenarios,
        strata=in_order_of_patterns(drawn),
        weights=np.array([place.weight for place in drawn]),
        exposure_s=partitions * (contest.horizon_ms - contest.warmup_ms) / 1000.0,
        outcomes=outcomes,
        arms=arms,
    )


def in_order_of_patterns(drawn: Sequence[Place]) -> dict[str, npt.NDArray[np.int64]]:
    """Stratum -> indices of its scenarios as their patterns lie, alike ones side by side."""
    indices: dict[str, list[tuple[float, int]]] = {}
    for index, place in enumerate(drawn):
        # From another start it is the same circle of patterns, begun elsewhere.
        position = pattern_position(place.rank, 0.0)
        indices.setdefault(place.stratum, []).append((position, index))
    return {name: np.array([i for _, i in sorted(found)]) for name, found in indices.items()}


def _folder(digest: str) -> Path:
    return Home.from_environment().path / "contest" / digest
