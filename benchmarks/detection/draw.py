"""Nights drawn from the pool.

A night has a regression panel and a confirm panel that share no scenario. Every configuration of
a night draws its own scenarios: forty configurations then have forty independent chances to go
wrong, where a real night's share one panel. Within a stratum a panel takes one scenario out of each
of n equal stretches of the pool, which stands in order of patterns: as systematic sampling does for
a real panel (:mod:`isr_pipeline.scenarios.generator`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.detection.contest import BASELINE, Arm
from benchmarks.detection.pool import Pool
from isr_pipeline.scenarios.panels import Place, places
from isr_pipeline.verdicts.panel import PanelOutcomes

Ints = npt.NDArray[np.int64]

CONFIGURATIONS = 40
"""Configurations of a night: about twice as many as the default experiment has."""

PAST_NIGHTS = 30
"""Nights that rivals who look at history are given, each with a harmless change of its own."""


@dataclass(frozen=True)
class Night:
    """One night of the contest.

    Attributes:
        arms: what each configuration became since the baseline.
        regression: (new, old) outcomes on the regression panel.
        confirm: (new, old) on the confirm panel.
        past: metric -> (past nights, configurations) weighted means on the regression panel.
    """

    arms: tuple[Arm, ...]
    regression: tuple[PanelOutcomes, PanelOutcomes]
    confirm: tuple[PanelOutcomes, PanelOutcomes]
    past: dict[str, npt.NDArray[np.float64]]


def draw_indices(
    strata: Mapping[str, Ints], panel: Sequence[Place], columns: int, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Draw a regression and a confirm panel for every configuration.

    Args:
        strata: stratum -> indices in the pool, in order of rank.
        panel: places of the panel's scenarios.
        columns: number of configurations.
        random: source of chance.

    Returns:
        two (n, columns) arrays of indices into the pool; no column holds an index twice.
    """
    first = np.empty((len(panel), columns), dtype=np.int64)
    second = np.empty_like(first)
    for row, place in enumerate(panel):
        pool = strata[place.stratum]
        low = place.rank * len(pool) // place.count
        high = (place.rank + 1) * len(pool) // place.count
        assert high - low >= 2, "the pool has two scenarios for every place of a panel"
        one = random.integers(high - low, size=columns)
        other = (one + 1 + random.integers(high - low - 1, size=columns)) % (high - low)
        first[row], second[row] = pool[low + one], pool[low + other]
    return first, second


def draw_night(
    pool: Pool,
    arms: tuple[Arm, ...],
    scenarios: int,
    metrics: Sequence[str],
    random: np.random.Generator,
) -> Night:
    """Draw a night.

    Args:
        pool: complete.
        arms: one per configuration of the night; none of kind `baseline`, for a configuration
            that is bit-identical is no test of anything.
        scenarios: size of each panel.
        metrics: whose past is wanted.
        random: source of chance.
    """
    panel = places(pool.panel_strata, scenarios)
    first, second = draw_indices(pool.strata, panel, len(arms), random)
    regression = _pair(pool, arms, panel, first)
    return Night(
        arms=arms,
        regression=regression,
        confirm=_pair(pool, arms, panel, second),
        past=_past(pool, arms, first, regression[1].weights, (metrics, random)),
    )


def _pair(
    pool: Pool, arms: tuple[Arm, ...], panel: Sequence[Place], rows: Ints
) -> tuple[PanelOutcomes, PanelOutcomes]:
    changes = [arm.change for arm in arms]
    new = _outcomes(pool, arms, changes, panel, rows)
    return new, _outcomes(pool, arms, [BASELINE] * len(arms), panel, rows)


def _outcomes(
    pool: Pool, arms: tuple[Arm, ...], changes: list[str], panel: Sequence[Place], rows: Ints
) -> PanelOutcomes:
    """Arrange draws as a night's outcomes: row i of every column is a scenario of place i."""
    keys = [(arm.configuration, change) for arm, change in zip(arms, changes, strict=True)]
    values = {
        name: np.column_stack(
            [pool.outcomes[key][name][rows[:, column]] for column, key in enumerate(keys)]
        )
        for name in pool.outcomes[keys[0]]
    }
    shape = rows.shape
    return PanelOutcomes(
        scenario_ids=tuple(f"place-{index:05d}" for index in range(shape[0])),
        config_ids=tuple(f"{index:03d}" for index in range(shape[1])),
        weights=np.array([place.weight for place in panel]),
        exposure_s=np.full(shape[0], pool.exposure_s),
        strata=tuple(place.stratum for place in panel),
        fault_kinds=("",) * shape[0],
        values=values,
        missing=np.zeros(shape, dtype=bool),
        failed=values["failed"] > 0,
    )


def _past(
    pool: Pool,
    arms: tuple[Arm, ...],
    rows: Ints,
    weights: npt.NDArray[np.float64],
    wanted: tuple[Sequence[str], np.random.Generator],
) -> dict[str, npt.NDArray[np.float64]]:
    """Values of past nights on the same panel, every night after some harmless change.

    What a harmless change does to a scenario is taken from one of the harmless arms (or the
    baseline), for each night and scenario anew.
    """
    metrics, random = wanted
    harmless = [BASELINE, *(arm.change for arm in pool.arms_of("harmless"))]
    harmless = list(dict.fromkeys(harmless))
    past = {name: np.empty((PAST_NIGHTS, len(arms))) for name in metrics}
    for column, arm in enumerate(arms):
        chosen = random.integers(len(harmless), size=(PAST_NIGHTS, len(rows)))
        for name in metrics:
            variants = np.stack(
                [pool.outcomes[arm.configuration, one][name][rows[:, column]] for one in harmless]
            )
            values = np.take_along_axis(variants, chosen, axis=0)
            past[name][:, column] = values @ weights / weights.sum()
    return past
