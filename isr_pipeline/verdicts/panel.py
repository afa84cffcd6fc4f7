"""Panels: outcomes as matrices, scenarios down, configurations across; tonight's, the baseline's.

Natural units (partition-seconds, counts, milliseconds) are what the tests take: ``log1p`` of a rate
below 1 is linear and would bring the heavy tails back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isr_pipeline.experiment.stages import CONFIRM
from isr_pipeline.outcomes import store
from isr_pipeline.verdicts.statistics import Bools, Floats

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from isr_pipeline.worlds.columns import EXPOSURE, METRICS, OF_THE_RUN, values_of


def partitions_in(scenario: Mapping[str, Any]) -> int:
    """How many partitions a scenario has.

    Args:
        scenario: as its row's ``scenario_json`` has it.
    """
    return sum(len(topic["assignment"]) for topic in scenario["topics"])


@dataclass(frozen=True)
class PanelOutcomes:
    """Outcomes of one panel in one night.

    Attributes:
        scenario_ids: n scenarios, sorted.
        config_ids: c configurations, in the order asked for.
        weights: (n,) population weight of each scenario.
        exposure_us: (n,) partition-time after warm-up; NaN where no pair has it.
        strata: (n,) stratum of each scenario.
        fault_kinds: (n,) comma list of the fault kinds in it.
        patterns: (n,) pattern that drew it; none where the rows do not say.
        values: metric, or column of the run -> (n, c); NaN where the pair failed or is missing.
        missing: (n, c) pairs that the table does not hold.
        failed: (n, c) pairs whose event budget was spent.
    """

    scenario_ids: tuple[str, ...]
    config_ids: tuple[str, ...]
    weights: Floats
    exposure_us: Floats
    strata: tuple[str, ...]
    fault_kinds: tuple[str, ...]
    values: dict[str, Floats]
    missing: Bools
    failed: Bools
    patterns: tuple[str, ...] = ()

    @classmethod
    def from_frames(
        cls, outcomes: pd.DataFrame, scenarios: pd.DataFrame, config_ids: Sequence[str]
    ) -> PanelOutcomes:
        """Arrange one panel's rows.

        Args:
            outcomes: rows of one panel as in the outcomes table; rows of other configurations are
                left out.
            scenarios: rows of the same panel with ``scenario_id``, ``weight``, ``stratum`` and
                ``fault_kinds``.
            config_ids: the columns wanted.

        Raises:
            ValueError: a pair stands in the table twice, or a scenario does.
        """
        scenarios = scenarios.sort_values("scenario_id", ignore_index=True)
        ids = tuple(str(one) for one in scenarios["scenario_id"])
        if len(set(ids)) != len(ids):
            raise ValueError("a scenario stands twice in the scenarios table")
        rows = outcomes[outcomes["config_id"].isin(list(config_ids))]
        row = pd.Index(ids).get_indexer(pd.Index(rows["scenario_id"].astype(str)))
        column = pd.Index(list(config_ids)).get_indexer(pd.Index(rows["config_id"].astype(str)))
        known = row >= 0
        row, column, rows = row[known], column[known], rows[known]
        shape = (len(ids), len(config_ids))
        seen = np.zeros(shape, dtype=np.int64)
        np.add.at(seen, (row, column), 1)
        if (seen > 1).any():
            raise ValueError("a pair stands twice in the outcomes table")
        told = rows.assign(**values_of(rows))
        values: dict[str, Floats] = {}
        for name in (EXPOSURE, *METRICS, *OF_THE_RUN):
            values[name] = np.full(shape, np.nan)
            values[name][row, column] = pd.to_numeric(told[name]).to_numpy(float, na_value=np.nan)
        return cls(
            scenario_ids=ids,
            config_ids=tuple(config_ids),
            weights=scenarios["weight"].to_numpy(float),
            exposure_us=np.fmax.reduce(values.pop(EXPOSURE), axis=1, initial=np.nan),
            strata=tuple(str(one) for one in scenarios["stratum"]),
            fault_kinds=tuple(str(one) for one in scenarios["fault_kinds"]),
            values=values,
            missing=seen == 0,
            failed=np.nan_to_num(values["failed"]) > 0,
            patterns=tuple(str(one) for one in scenarios.get("pattern", ())),
        )

    @cached_property
    def unusable(self) -> Bools:
        """(n, c) pairs that are missing or failed: their configuration cannot be judged."""
        return self.missing | self.failed

    def select(self, config_ids: tuple[str, ...]) -> PanelOutcomes:
        """Some configurations, in the order asked for (one may come more than once)."""
        columns = [self.column(one) for one in config_ids]
        return replace(
            self,
            config_ids=config_ids,
            values={name: matrix[:, columns] for name, matrix in self.values.items()},
            missing=self.missing[:, columns],
            failed=self.failed[:, columns],
        )

    def divisors(self, metric: str) -> Floats:
        """(n,) what a scenario's total is divided by to get the metric's own unit."""
        row = METRICS[metric]
        return np.asarray(row.bottom(self.exposure_us) / row.unit.total_in)

    def natural(self, metric: str) -> Floats:
        """(n, c) totals of a metric: partition-seconds, events, milliseconds."""
        return self.values[metric] * self.divisors(metric)[:, None]

    def totals(self, metric: str) -> Floats:
        """(c,) weighted totals of a metric in natural units."""
        return np.asarray(self.weights @ self.natural(metric))

    def mean_divisor(self, metric: str) -> float:
        """What turns a weighted total in natural units into the metric's own unit."""
        return float(self.weights @ self.divisors(metric))

    def means(self, metric: str) -> Floats:
        """(c,) weighted population value of a metric, in the metric's own unit."""
        return np.asarray(self.totals(metric) / self.mean_divisor(metric))

    def column(self, config_id: str) -> int:
        """Index of a configuration."""
        return self.config_ids.index(config_id)


def panel_rows(table: str, experiment: str, night: str, panel: str) -> pd.DataFrame:
    """Rows of one panel of a table of a night."""
    rows = store.read_table(table, experiment, night)
    return rows[rows["panel"] == panel].reset_index(drop=True)


def standing_panel(plan: Plan, config_ids: Sequence[str]) -> tuple[pd.DataFrame, PanelOutcomes]:
    """Scenarios of a night's standing panel, and tonight's outcomes of some configurations."""
    scenarios, outcomes = (
        panel_rows(table, plan.experiment, plan.night, "regression")
        for table in ("scenarios", "outcomes")
    )
    return scenarios, PanelOutcomes.from_frames(outcomes, scenarios, tuple(config_ids))


def unusable_pairs(panel: PanelOutcomes, config_id: str) -> str | None:
    """Why a configuration cannot be judged, or None."""
    column = panel.column(config_id)
    for name, mask in (
        ("missing", panel.missing[:, column]),
        ("that spent the event budget", panel.failed[:, column]),
    ):
        rows = np.flatnonzero(mask)
        if len(rows):
            first = panel.scenario_ids[rows[0]]
            return f"{len(rows)} of {len(mask)} pairs {name}, the first in scenario {first}"
    return None


def together(plan: Plan, panels: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scenarios of some panels as one, and tonight's outcomes of them."""
    scenarios, outcomes = (
        pd.concat(
            [panel_rows(table, plan.experiment, plan.night, panel) for panel in panels],
            ignore_index=True,
        )
        for table in ("scenarios", "outcomes")
    )
    return as_one_panel(scenarios), outcomes


def as_one_panel(scenarios: pd.DataFrame) -> pd.DataFrame:
    """Scenarios of several panels with the weights that they have as one panel.

    The confirm panel, which is the first and has every stratum, says what share of the population
    each has; all of them together, how many scenarios stand for it. Within a stratum they weigh as
    in the panel that each is of.
    """
    confirm = scenarios[scenarios["panel"] == CONFIRM]
    population = confirm.groupby("stratum")["weight"].sum() / confirm["weight"].sum()
    counts = scenarios["stratum"].map(scenarios["stratum"].value_counts())
    within = scenarios.groupby(["panel", "stratum"])["weight"].transform("mean")
    weights = scenarios["stratum"].map(population) * len(scenarios) / counts
    weights *= scenarios["weight"] / within
    return scenarios.assign(weight=np.asarray(weights, dtype=float))
