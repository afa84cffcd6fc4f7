"""The outcomes of one night as matrices: scenarios down, configurations across.

Natural units (partition-seconds, counts, milliseconds) are what the tests take: ``log1p`` of a rate
below 1 is linear and would bring the heavy tails back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from isr_pipeline.worlds.columns import OUTCOME_COLUMNS

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SECONDS_PER_HOUR = 3600.0


def partitions_in(scenario: Mapping[str, Any]) -> int:
    """How many partitions a scenario has; one that stands for several counts as those.

    Args:
        scenario: as its row's ``scenario_json`` has it.
    """
    return sum(
        len(topic["assignment"]) + sum(weight - 1 for weight in topic.get("weights", {}).values())
        for topic in scenario["topics"]
    )


def exposure_partition_s(scenario_json: str) -> float:
    """Partition-seconds behind a scenario's rates: partitions x (horizon - warm-up)."""
    scenario: dict[str, Any] = json.loads(scenario_json)
    partitions = partitions_in(scenario)
    return float(partitions * (scenario["horizon_ms"] - scenario.get("warmup_ms", 0)) / 1000.0)


def natural_factor(metric: str, exposure_s: Floats) -> Floats:
    """What turns a metric into partition-seconds, a count, or leaves it as it is."""
    if metric.endswith("_per_partition_hour"):
        return exposure_s / SECONDS_PER_HOUR
    if metric.endswith("_rate"):
        return exposure_s
    return np.ones_like(exposure_s)


def natural_unit(metric: str) -> str:
    """The unit of the totals of a metric."""
    if metric.endswith("_per_partition_hour"):
        return "events"
    if metric.endswith("_rate"):
        return "partition-seconds"
    return "ms" if metric.endswith("_ms") else "count"


@dataclass(frozen=True)
class PanelOutcomes:
    """Outcomes of one panel in one night.

    Attributes:
        scenario_ids: n scenarios, sorted.
        config_ids: c configurations, in the order asked for.
        weights: (n,) population weight of each scenario.
        exposure_s: (n,) partition-seconds after warm-up.
        strata: (n,) stratum of each scenario.
        fault_kinds: (n,) comma list of the fault kinds in it.
        values: column -> (n, c) as in the outcomes table; NaN where the pair failed or is missing.
        missing: (n, c) pairs that the table does not hold.
        failed: (n, c) pairs whose event budget was spent.
    """

    scenario_ids: tuple[str, ...]
    config_ids: tuple[str, ...]
    weights: Floats
    exposure_s: Floats
    strata: tuple[str, ...]
    fault_kinds: tuple[str, ...]
    values: dict[str, Floats]
    missing: Bools
    failed: Bools

    @classmethod
    def from_frames(
        cls, outcomes: pd.DataFrame, scenarios: pd.DataFrame, config_ids: Sequence[str]
    ) -> PanelOutcomes:
        """Arrange one panel's rows.

        Args:
            outcomes: rows of one panel with ``scenario_id``, ``config_id`` and the outcome columns;
                rows of other configurations are left out.
            scenarios: rows of the same panel with ``scenario_id``, ``weight``, ``stratum``,
                ``fault_kinds`` and either ``exposure_s`` or ``scenario_json``.
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
        values: dict[str, Floats] = {}
        for name in OUTCOME_COLUMNS:
            if name in rows.columns:
                matrix = np.full(shape, np.nan)
                matrix[row, column] = pd.to_numeric(rows[name]).to_numpy(float, na_value=np.nan)
                values[name] = matrix
        return cls(
            scenario_ids=ids,
            config_ids=tuple(config_ids),
            weights=scenarios["weight"].to_numpy(float),
            exposure_s=_exposure(scenarios),
            strata=tuple(str(one) for one in scenarios["stratum"]),
            fault_kinds=tuple(str(one) for one in scenarios["fault_kinds"]),
            values=values,
            missing=seen == 0,
            failed=np.nan_to_num(values["failed"]) > 0,
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

    def rows(self, rows: npt.NDArray[np.int64], weights: Floats) -> PanelOutcomes:
        """Some scenarios, with weights of their own."""
        return replace(
            self,
            scenario_ids=tuple(self.scenario_ids[row] for row in rows),
            weights=weights,
            exposure_s=self.exposure_s[rows],
            strata=tuple(self.strata[row] for row in rows),
            fault_kinds=tuple(self.fault_kinds[row] for row in rows),
            values={name: matrix[rows] for name, matrix in self.values.items()},
            missing=self.missing[rows],
            failed=self.failed[rows],
        )

    def divisors(self, metric: str) -> Floats:
        """(n,) what a scenario's natural total is divided by to get the metric's own unit."""
        return natural_factor(metric, self.exposure_s)

    def natural(self, metric: str) -> Floats:
        """(n, c) values of a metric in natural units (see :func:`natural_unit`)."""
        return self.values[metric] * natural_factor(metric, self.exposure_s)[:, None]

    def totals(self, metric: str, weights: Floats | None = None) -> Floats:
        """(c,) weighted totals of a metric in natural units."""
        return np.asarray((self.weights if weights is None else weights) @ self.natural(metric))

    def means(self, metric: str, weights: Floats | None = None) -> Floats:
        """(c,) weighted population value of a metric, in the metric's own unit."""
        weights = self.weights if weights is None else weights
        return np.asarray(self.totals(metric, weights) / mean_divisor(self, metric, weights))

    def column(self, config_id: str) -> int:
        """Index of a configuration."""
        return self.config_ids.index(config_id)


def mean_divisor(panel: PanelOutcomes, metric: str, weights: Floats) -> float:
    """What turns a weighted total in natural units into the metric's own unit."""
    return float(weights @ natural_factor(metric, panel.exposure_s))


def _exposure(scenarios: pd.DataFrame) -> Floats:
    if "exposure_s" in scenarios.columns:
        return scenarios["exposure_s"].to_numpy(float)
    return np.array([exposure_partition_s(text) for text in scenarios["scenario_json"]])
