"""Nights drawn from the pool, each by a seed of its own.

A night has a regression panel, and further scenarios for what that leaves open, as many as the
experiment's budget allows; no scenario comes twice. Every configuration of a night draws its own
scenarios: twenty-two configurations then have as many independent chances to go wrong, where a
real night's share one panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.detection.contest import Arm
from benchmarks.detection.pool import Pool
from isr_pipeline.experiment.stages import Budget, Stage, planned_stages
from isr_pipeline.scenarios.panels import allocation, places
from isr_pipeline.verdicts.panel import PanelOutcomes

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

REGRESSION = 200
"""Scenarios of the shipped experiments' panels."""

PAST_NIGHTS = 30
"""Nights that rivals who look at history are given, each on fresh scenarios."""


@dataclass(frozen=True)
class Night:
    """One night of the contest.

    Attributes:
        arms: what each configuration became since the baseline.
        regression: (new, old) outcomes on the regression panel.
        looks: (new, old) outcomes on all further scenarios of each look.
        stages: that the looks follow.
        past: metric -> (past nights, configurations) weighted means, each of fresh scenarios.
    """

    arms: tuple[Arm, ...]
    regression: tuple[PanelOutcomes, PanelOutcomes]
    looks: tuple[tuple[PanelOutcomes, PanelOutcomes], ...]
    stages: tuple[Stage, ...]
    past: dict[str, Floats]


def stages_of(pool: Pool) -> tuple[Stage, ...]:
    """The stages of the shipped experiment, within the budget."""
    panels = {"regression": REGRESSION, "confirm": REGRESSION}
    return planned_stages(panels, Budget(scenarios=pool.budget))


def draw_rows(
    strata: Mapping[str, Ints],
    counts: Sequence[Mapping[str, int]],
    columns: int,
    random: np.random.Generator,
) -> list[Ints]:
    """Draw panels for every configuration that share no scenario.

    Args:
        strata: stratum -> indices in the pool.
        counts: of each panel, stratum -> scenarios.
        columns: number of configurations.
        random: source of chance.

    Returns:
        for each panel (n, columns) indices into the pool, stratum by stratum.
    """
    panels: list[list[list[Ints]]] = [[] for _ in counts]
    for name, pool in strata.items():
        needed = sum(one[name] for one in counts)
        assert needed <= len(pool), f"the pool has {len(pool)} scenarios of {name}, not {needed}"
        drawn = [random.permutation(pool)[:needed] for _ in range(columns)]
        first = 0
        for panel, one in zip(panels, counts, strict=True):
            panel.append([column[first : first + one[name]] for column in drawn])
            first += one[name]
    return [np.concatenate([np.stack(part, axis=1) for part in panel]) for panel in panels]


def draw_night(
    pool: Pool,
    arms: tuple[Arm, ...],
    metrics: Sequence[str],
    random: np.random.Generator,
) -> Night:
    """Draw a night.

    Args:
        pool: complete.
        arms: one per configuration of the night.
        metrics: whose past is wanted.
        random: source of chance.
    """
    stages = stages_of(pool)
    first = allocation(pool.panel_strata, REGRESSION)
    ends = [allocation(pool.panel_strata, stage.end) for stage in stages]
    steps = [
        {name: count - before.get(name, 0) for name, count in end.items()}
        for before, end in zip([{}, *ends], ends, strict=False)
    ]
    drawn = draw_rows(pool.strata, [first, *steps], len(arms), random)
    looks = [np.concatenate(drawn[1 : number + 1]) for number in range(1, len(drawn))]
    return Night(
        arms=arms,
        regression=_pair(pool, arms, drawn[0]),
        looks=tuple(_pair(pool, arms, rows) for rows in looks),
        stages=stages,
        past=_past(pool, arms, metrics, random),
    )


def _pair(pool: Pool, arms: tuple[Arm, ...], rows: Ints) -> tuple[PanelOutcomes, PanelOutcomes]:
    before = tuple(pool.before(arm) for arm in arms)
    return _outcomes(pool, arms, rows), _outcomes(pool, before, rows)


def _outcomes(pool: Pool, arms: tuple[Arm, ...], rows: Ints) -> PanelOutcomes:
    """Arrange draws as a night's outcomes: row i of every column is of the same stratum."""
    values = {
        name: np.column_stack(
            [pool.of(arm)[name][rows[:, column]] for column, arm in enumerate(arms)]
        )
        for name in pool.of(arms[0])
    }
    of_row = {int(row): name for name, indices in pool.strata.items() for row in indices}
    strata = tuple(of_row[int(row)] for row in rows[:, 0])
    weight = {place.stratum: place.weight for place in places(pool.panel_strata, len(rows))}
    return PanelOutcomes(
        scenario_ids=tuple(f"place-{index:05d}" for index in range(len(rows))),
        config_ids=tuple(f"{index:03d}" for index in range(len(arms))),
        weights=np.array([weight[name] for name in strata]),
        exposure_s=np.full(len(rows), pool.exposure_s),
        strata=strata,
        fault_kinds=("",) * len(rows),
        values=values,
        missing=np.zeros(rows.shape, dtype=bool),
        failed=values["failed"] > 0,
    )


def _past(
    pool: Pool, arms: tuple[Arm, ...], metrics: Sequence[str], random: np.random.Generator
) -> dict[str, Floats]:
    """Values of past nights, each on fresh scenarios, with phases as drawn or drawn anew."""
    counts = allocation(pool.panel_strata, REGRESSION)
    weight = {place.stratum: place.weight for place in places(pool.panel_strata, REGRESSION)}
    weights = np.concatenate([np.full(counts[name], weight[name]) for name in pool.strata])
    anew = {one.host: one for one in pool.harmless}
    past = {name: np.empty((PAST_NIGHTS, len(arms))) for name in metrics}
    for column, arm in enumerate(arms):
        sides = (pool.before(arm), anew[arm.host])
        for night in range(PAST_NIGHTS):
            (rows,) = draw_rows(pool.strata, [counts], 1, random)
            values = pool.of(sides[int(random.integers(2))])
            for name in metrics:
                past[name][night, column] = values[name][rows[:, 0]] @ weights / weights.sum()
    return past
