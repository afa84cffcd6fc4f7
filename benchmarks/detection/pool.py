"""The pool: every scenario under every arm, simulated once and kept as Parquet files.

``<home>/contest/<digest>/<arm>/00250.parquet`` holds the outcomes of 250 scenarios from index 250
on. A run that was cut off goes on where it stopped, and a larger pool begins with the smaller one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.detection.contest import NOTHING, Arm, Contest, Size, arms, pool_digest
from isr_pipeline.base.errors import InputError
from isr_pipeline.base.home import Home
from isr_pipeline.experiment.file import Experiment
from isr_pipeline.experiment.plan import code_version
from isr_pipeline.kernels.process import Kernel
from isr_pipeline.kernels.source import Source, read_package
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import Scenario, apply, canonical_json, scenario_from_json
from isr_pipeline.scenarios.panels import places
from isr_pipeline.scenarios.profile import Stratum
from isr_pipeline.verdicts.quantities import VerdictSettings, is_latency
from isr_pipeline.worlds.columns import EXPOSURE, METRICS, OF_THE_RUN
from isr_pipeline.worlds.reuse import Simulations
from tests.mutation.check import mutated
from tests.mutation.mutants import Mutant

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHUNK = 250
"""Scenarios per file: some seconds of work that an interruption can cost."""

MADE_BY = "made-by"
"""File of a pool that names the code version which simulated it."""

PANEL = "regression"
"""What the pool is drawn as; the night does not matter for this panel."""


@dataclass(frozen=True)
class Pool:
    """All outcomes of the contest.

    Attributes:
        digest: of code and scenarios.
        made_by: code version that simulated it.
        experiment: that the scenarios were drawn from.
        panel_strata: strata of the experiment.
        size: number of scenarios.
        budget: scenarios of a configuration over all panels of a night.
        strata: stratum -> indices of its scenarios.
        weights: (size,) population weight of each scenario.
        exposure_us: partition-time after warm-up of each scenario (all alike).
        outcomes: arm's folder -> outcome column -> (size,).
        arms: those whose every pair could be simulated.
        left_out: names of plants with a pair that spent its event budget.
    """

    digest: str
    made_by: str
    experiment: Experiment
    panel_strata: Mapping[str, Stratum]
    size: int
    budget: int
    strata: dict[str, Ints]
    weights: Floats
    exposure_us: float
    outcomes: dict[str, dict[str, Floats]]
    arms: tuple[Arm, ...]
    left_out: tuple[str, ...] = ()

    def of(self, arm: Arm) -> dict[str, Floats]:
        """Outcomes of an arm."""
        return self.outcomes[arm.folder]

    def arm(self, host: str, plant: str, *, anew: bool) -> Arm:
        """The arm of a configuration, a plant (:data:`NOTHING`: none) and a sort of phases."""
        return next(
            one for one in self.arms if (one.host, one.plant, one.anew) == (host, plant, anew)
        )

    def pairs(self, arm: Arm) -> tuple[tuple[Arm, Arm], ...]:
        """What a night may compare for an arm: (tonight's, the baseline's), one as good as another.

        Where phases are drawn anew, either draw of phases may be the baseline's. If it were
        always the same one, what a pool of some thousand scenarios shows between the two draws
        would look like an effect of the plant, night after night.
        """
        drawn, anew = (self.arm(arm.host, arm.plant, anew=anew) for anew in (False, True))
        before, after = (self.arm(arm.host, NOTHING, anew=anew) for anew in (False, True))
        return ((anew, before), (drawn, after)) if arm.anew else ((drawn, before),)

    def alike(self, arm: Arm) -> tuple[tuple[Arm, Arm], ...]:
        """The same, but both sides of a pair have the same phases: only the plant is between."""
        phases = (True, False) if arm.anew else (False,)
        return tuple(
            (self.arm(arm.host, arm.plant, anew=anew), self.arm(arm.host, NOTHING, anew=anew))
            for anew in phases
        )

    def planted(self, *, anew: bool) -> tuple[Arm, ...]:
        """Arms with a plant, of either sort of phases."""
        return tuple(one for one in self.arms if one.plant != NOTHING and one.anew is anew)

    @property
    def harmless(self) -> tuple[Arm, ...]:
        """Arms in which phases were drawn anew and nothing else."""
        return tuple(one for one in self.arms if one.plant == NOTHING and one.anew)

    def ratio(
        self, arm: Arm, metric: str, settings: VerdictSettings, rows: Ints | None = None
    ) -> float:
        """True effect of an arm's plant over the whole pool, as verdicts estimate it.

        Args:
            arm: whose plant.
            metric: name.
            settings: with the metric's floor.
            rows: of one stratum; the whole pool if None.
        """
        at = slice(None) if rows is None else rows
        pairs = [
            (self.of(new)[metric][at], self.of(old)[metric][at]) for new, old in self.alike(arm)
        ]
        weights = self.weights[at]
        if is_latency(metric):
            floor = settings.metrics[metric].floor
            logarithms = [np.log((new + floor) / (old + floor)) for new, old in pairs]
            return float(np.exp(weights @ np.mean(logarithms, axis=0) / weights.sum()))
        after, before = (float(weights @ np.sum(side, axis=0)) for side in zip(*pairs, strict=True))
        if before == 0:
            return 1.0 if after == 0 else float("inf")
        return after / before


@dataclass(frozen=True)
class _Task:
    """Chunks of some arms that one kernel simulates."""

    experiment: Experiment
    mutant: Mutant | None
    missing: tuple[tuple[int, int, Arm, Path], ...]


def make_pool(contest: Contest, size: Size, processes: int) -> Iterator[tuple[int, int]]:
    """Simulate what is missing of the pool; give (files done, files missing at first) on the way.

    Raises:
        Refused: a mutant's kernel does not run.
    """
    experiment = contest.drawn_from()
    folder = _folder(pool_digest(experiment))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MADE_BY).write_text(code_version() + "\n", encoding="utf-8")
    tasks = _tasks(experiment, arms(contest, size), size.scenarios, folder)
    total = sum(len(task.missing) for task in tasks)
    done = 0
    yield done, total
    if not tasks:
        return
    # spawn: numba's threads and caches do not like to be forked
    with get_context("spawn").Pool(processes) as workers:
        for count in workers.imap_unordered(_simulate, tasks):
            done += count
            yield done, total


def _tasks(
    experiment: Experiment, every: tuple[Arm, ...], scenarios: int, folder: Path
) -> list[_Task]:
    """What is missing: by chunk for the present kernel, by mutant for others."""
    found: dict[tuple[int, str], list[tuple[int, int, Arm, Path]]] = {}
    mutants = {arm.mutant.name: arm.mutant for arm in every if arm.mutant}
    for start in range(0, scenarios, CHUNK):
        for arm in every:
            path = folder / arm.folder / f"{start:05d}.parquet"
            if not path.exists():
                key = (0, arm.mutant.name) if arm.mutant else (start, "")
                found.setdefault(key, []).append((start, start + CHUNK, arm, path))
    return [
        _Task(experiment, mutants.get(name), tuple(missing)) for (_, name), missing in found.items()
    ]


def _simulate(task: _Task) -> int:
    """Run the missing chunks of one task.

    All arms of a scenario follow one another: it is drawn once, and what they share is kept for
    one scenario alone (a chunk of everything is gigabytes).
    """
    source = task.experiment.source  # one, for what a drawing keeps is kept by source
    chunks: dict[tuple[int, int], list[tuple[Arm, Path]]] = {}
    for start, stop, arm, path in task.missing:
        chunks.setdefault((start, stop), []).append((arm, path))
    with _simulator(task.mutant) as outcomes_of:
        for (start, stop), wanted in chunks.items():
            rows: dict[Path, list[dict[str, Any]]] = {path: [] for _, path in wanted}
            for index in range(start, stop):
                drawn = draw_scenario(source, PANEL, index).scenario_json
                for path, outcome in _each(scenario_from_json(drawn), wanted, outcomes_of):
                    rows[path].append(outcome)
            for path, some in rows.items():
                _write(path, some)
    return len(task.missing)


def _each(
    scenario: Scenario, wanted: Sequence[tuple[Arm, Path]], outcomes_of: Simulator
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The outcome of a scenario under each arm, arms of the same phases after one another."""
    for anew in sorted({arm.anew for arm, _ in wanted}):
        these = [(arm, path) for arm, path in wanted if arm.anew is anew]
        played = refactored(scenario, "phases-redrawn") if anew else scenario
        found = outcomes_of(played, [arm for arm, _ in these])
        yield from zip((path for _, path in these), found, strict=True)


Simulator = Callable[[Scenario, Sequence[Arm]], list[dict[str, Any]]]
"""Gives the outcomes of one scenario under some arms."""


@contextmanager
def _simulator(mutant: Mutant | None) -> Iterator[Simulator]:
    """What simulates arms without a mutant (this process), or one mutant's (one of its own)."""
    if mutant is None:
        yield _outcomes_here
        return
    with Kernel(source_of_mutant(mutant), f"the mutant {mutant.name}") as kernel:
        yield partial(_outcomes_there, kernel)


def _outcomes_here(scenario: Scenario, wanted: Sequence[Arm]) -> list[dict[str, Any]]:
    shared = Simulations()
    return [shared.result_for(apply(scenario, arm.overrides))[0] for arm in wanted]


def _outcomes_there(
    kernel: Kernel, scenario: Scenario, wanted: Sequence[Arm]
) -> list[dict[str, Any]]:
    written = json.loads(canonical_json(scenario))
    ran = [kernel.run(written, arm.overrides, events=False) for arm in wanted]
    return [one.outcome if not one.problem else {"failed": 1} for one in ran]


def source_of_mutant(mutant: Mutant) -> Source:
    """The package's sources with one line changed."""
    whole = read_package()
    name = f"kafka/{mutant.file}"
    text = mutated(whole.files[name].decode(), mutant)
    return replace(whole, files={**whole.files, name: text.encode()})


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    named = (EXPOSURE, *METRICS, *OF_THE_RUN)
    columns = {name: [row.get(name) for row in rows] for name in named}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    pq.write_table(pa.table(columns), draft)
    draft.replace(path)


def refactored(scenario: Scenario, change: str) -> Scenario:
    """Return the scenario as code that was changed harmlessly would play it.

    Args:
        scenario: as drawn.
        change: `phases-redrawn`: other phases and jitters of the healthy parts (heartbeats, the
            tick that looks for lagging followers, produce, metadata) under the same faults.
    """
    if change == "phases-redrawn":
        return scenario.model_copy(update={"seed": another_seed(scenario.seed)})
    return scenario


def another_seed(seed: int) -> int:
    """The seed of the other draw of a scenario's phases."""
    digest = hashlib.blake2b(f"{seed}|again".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def load_pool(contest: Contest, size: Size, columns: list[str]) -> Pool:
    """Read some outcome columns of a pool that is complete.

    Args:
        contest: what it was made of.
        size: how many scenarios, and which arms.
        columns: of the outcomes.

    Raises:
        InputError: there is no such pool.
    """
    experiment = contest.drawn_from()
    digest = pool_digest(experiment)
    folder = _folder(digest)
    if not (folder / MADE_BY).is_file():
        raise InputError("contest", "pool", digest, "one that was simulated: leave out --play")
    every = arms(contest, size)
    outcomes = {arm.folder: _read(folder / arm.folder, size.scenarios, columns) for arm in every}
    broken = {arm.plant for arm in every if (outcomes[arm.folder]["failed"] > 0).any()}
    drawn = places(experiment.profile.strata, size.scenarios)
    exposure = _read(folder / every[0].folder, size.scenarios, [EXPOSURE])[EXPOSURE]
    labels = np.array([place.stratum for place in drawn])
    return Pool(
        digest=digest,
        made_by=(folder / MADE_BY).read_text(encoding="utf-8").strip(),
        experiment=experiment,
        panel_strata=experiment.profile.strata,
        size=size.scenarios,
        budget=contest.budget(size),
        strata={name: np.flatnonzero(labels == name) for name in experiment.profile.strata},
        weights=np.array([place.weight for place in drawn]),
        exposure_us=float(np.nanmax(exposure)),
        outcomes=outcomes,
        arms=tuple(arm for arm in every if arm.plant not in broken),
        left_out=tuple(sorted(broken)),
    )


def _read(folder: Path, scenarios: int, columns: list[str]) -> dict[str, Floats]:
    files = [folder / f"{start:05d}.parquet" for start in range(0, scenarios, CHUNK)]
    whole = pa.concat_tables(pq.read_table(file, columns=columns) for file in files)
    return {
        name: column.to_numpy().astype(float)[:scenarios]
        for name, column in zip(columns, whole.columns, strict=True)
    }


def _folder(digest: str) -> Path:
    return Home.from_environment().path / "contest" / digest
