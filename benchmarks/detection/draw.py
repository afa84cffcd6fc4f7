"""Nights drawn from the pool, each by a seed of its own.

The pool stands for all scenarios there are: whoever draws from it puts back what was drawn, so that
a night of a large budget knows no more of the pool than it would of the world. A night has a
standing panel, and further scenarios for what that leaves open, in the strata that are asked for.
Every configuration of a night draws its own scenarios: twenty-two configurations then have as many
independent chances to go wrong, where a real night's share one panel.

Where phases are drawn anew, tonight has one draw of them and the baseline the other, by chance in
each scenario: one draw is as good as another, and what a pool of some thousand shows between the
two is chance, no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.detection.contest import NOTHING, Arm
from benchmarks.detection.pool import Pool
from isr_pipeline.experiment.stages import Budget, Stage, planned_stages
from isr_pipeline.scenarios.panels import allocation, places, stratum_weights
from isr_pipeline.verdicts.comparison import PanelOutcomes

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Pair = tuple[PanelOutcomes, PanelOutcomes]

REGRESSION = 200
"""Scenarios of the shipped experiments' panels."""

FIRST, FURTHER = "regression", "further"
"""How scenarios are named: ``regression/offline/3``, by panel, stratum and rank."""

PAST_NIGHTS = 30
"""Nights that rivals who look at history are given, each on fresh scenarios."""


@dataclass(frozen=True)
class Drawn:
    """Scenarios of one stratum, for every configuration its own.

    Attributes:
        rows: (n, c) places in the pool.
        swapped: (n, c) where tonight has the phases as drawn and the baseline those drawn anew.
    """

    rows: Ints
    swapped: Bools

    def first(self, count: int) -> Drawn:
        """The first so many."""
        return Drawn(self.rows[:count], self.swapped[:count])


@dataclass(frozen=True)
class Night:
    """One night of the contest.

    Attributes:
        arms: what each configuration became since the baseline.
        regression: (new, old) outcomes on the standing panel.
        first: stratum -> its scenarios.
        stages: within the budget.
        confirm: stratum -> scenarios of the confirm panel, which is the first stage.
        shares: stratum -> share of the panels.
        past: metric -> (past nights, configurations) weighted means, each of fresh scenarios.
        pool: drawn from.
        sequences: stratum -> scenarios that further ones come from, in order.
    """

    arms: tuple[Arm, ...]
    regression: Pair
    first: dict[str, Drawn]
    stages: tuple[Stage, ...]
    confirm: dict[str, int]
    shares: dict[str, float]
    past: dict[str, Floats]
    pool: Pool
    sequences: dict[str, Drawn]

    def further(self, strata: Mapping[str, int]) -> Pair:
        """(new, old) outcomes on the first so many further scenarios of each stratum."""
        drawn = {name: self.sequences[name].first(count) for name, count in strata.items()}
        return _pair(self.pool, self.arms, drawn, FURTHER)

    def place(self, name: str, column: int) -> tuple[int, bool]:
        """Place in the pool of a configuration's scenario, and whether its sides are swapped."""
        panel, stratum, rank = name.split("/")
        drawn = (self.first if panel == FIRST else self.sequences)[stratum]
        return int(drawn.rows[int(rank), column]), bool(drawn.swapped[int(rank), column])


def stages_of(pool: Pool) -> tuple[Stage, ...]:
    """The stages of the shipped experiment, within the budget."""
    panels = {"regression": REGRESSION, "confirm": REGRESSION}
    return planned_stages(panels, Budget(scenarios=pool.budget))


def draw(
    pool: Pool, arms: tuple[Arm, ...], counts: Mapping[str, int], random: np.random.Generator
) -> dict[str, Drawn]:
    """Draw scenarios for every configuration, each from the whole pool of its stratum."""
    anew = np.array([arm.anew for arm in arms])
    found = {}
    for name, count in counts.items():
        members = pool.strata[name]
        rows = members[random.integers(len(members), size=(count, len(arms)))]
        swapped = (random.random(rows.shape) < 0.5) & anew
        found[name] = Drawn(rows, swapped)
    return found


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
    first = draw(pool, arms, allocation(pool.panel_strata, REGRESSION), random)
    most = dict.fromkeys(pool.strata, stages[-1].end)
    return Night(
        arms=arms,
        regression=_pair(pool, arms, first, FIRST),
        first=first,
        stages=stages,
        confirm=allocation(pool.panel_strata, stages[0].end),
        shares={name: one.sample for name, one in pool.panel_strata.items()},
        past=_past(pool, arms, metrics, random),
        pool=pool,
        sequences=draw(pool, arms, most, random),
    )


def _pair(pool: Pool, arms: tuple[Arm, ...], drawn: Mapping[str, Drawn], panel: str) -> Pair:
    """Arrange draws as a night's outcomes: row i of every column is of the same stratum."""
    rows = np.concatenate([one.rows for one in drawn.values()])
    swapped = np.concatenate([one.swapped for one in drawn.values()])
    strata = tuple(name for name, one in drawn.items() for _ in one.rows)
    counts = {name: len(one.rows) for name, one in drawn.items()}
    names = tuple(
        f"{panel}/{name}/{rank}" for name, count in counts.items() for rank in range(count)
    )
    weight = stratum_weights(pool.panel_strata, counts)
    weights = np.array([weight[name] for name in strata])
    compared = [pool.pairs(arm) for arm in arms]
    sides: tuple[dict[str, Floats], dict[str, Floats]] = ({}, {})
    for name in pool.of(arms[0]):
        new, old = np.empty(rows.shape), np.empty(rows.shape)
        for column, pairs in enumerate(compared):
            for turned, (after, before) in zip((False, True), pairs, strict=False):
                at = np.flatnonzero(swapped[:, column] == turned)
                new[at, column] = pool.of(after)[name][rows[at, column]]
                old[at, column] = pool.of(before)[name][rows[at, column]]
        sides[0][name], sides[1][name] = new, old
    found = tuple(
        PanelOutcomes(
            scenario_ids=names,
            config_ids=tuple(f"{index:03d}" for index in range(len(arms))),
            weights=weights,
            exposure_us=np.full(len(rows), pool.exposure_us),
            strata=strata,
            fault_kinds=("",) * len(rows),
            values=values,
            missing=np.zeros(rows.shape, dtype=bool),
            failed=values["failed"] > 0,
        )
        for values in sides
    )
    return found[0], found[1]


def _past(
    pool: Pool, arms: tuple[Arm, ...], metrics: Sequence[str], random: np.random.Generator
) -> dict[str, Floats]:
    """Values of past nights, each on fresh scenarios, with phases as drawn or drawn anew."""
    counts = allocation(pool.panel_strata, REGRESSION)
    weight = {place.stratum: place.weight for place in places(pool.panel_strata, REGRESSION)}
    weights = np.concatenate([np.full(counts[name], weight[name]) for name in pool.strata])
    past = {name: np.empty((PAST_NIGHTS, len(arms))) for name in metrics}
    for column, arm in enumerate(arms):
        sides = [pool.arm(arm.host, NOTHING, anew=anew) for anew in (False, True)]
        for night in range(PAST_NIGHTS):
            drawn = draw(pool, (arm,), counts, random)
            rows = np.concatenate([one.rows[:, 0] for one in drawn.values()])
            values = pool.of(sides[int(random.integers(2))])
            for name in metrics:
                past[name][night, column] = values[name][rows] @ weights / weights.sum()
    return past
