"""Two aligned sets of outcomes compared, metric by metric: sizes, p-values and intervals.

Used for tonight against the baseline (both panels) and for one configuration against another of
the same night.

An interval of a ratio is made of random halves of the scenarios: the inversion of a sign-flip test.
Whether a ratio r can be true is asked by flipping the signs of ``new - r * old``. The sum with
flipped signs is at least the sum as it is exactly where the scenarios that were flipped, a random
half, have a ratio of at most r. So the ends of the interval are quantiles of the ratios of
random halves (Hartigan 1969, "Using subsample values as typical values"). The statistic is the
difference of the weighted means, or the weighted mean of logarithms: what is printed and judged.

Outcomes are matrices, scenarios down, configurations across. Natural units (partition-seconds,
counts, milliseconds) are what the tests take: ``log1p`` of a rate below 1 is linear and would bring
the heavy tails back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from isr_pipeline.scenarios.panels import weights
from isr_pipeline.tables import store
from isr_pipeline.verdicts.quantities import Size, VerdictSettings, is_latency
from isr_pipeline.verdicts.statistics import (
    SEED,
    Bools,
    Floats,
    Ints,
    drawn_signs,
    ratio,
    sign_flip,
    signed_ranks,
)
from isr_pipeline.worlds.columns import ADDED, EXPOSURE, METRICS, OF_THE_RUN, REACHED, values_of

if TYPE_CHECKING:
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.scenarios.incidents import Place


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
        ends_ms: (n,) when its last fault would end, NaN if it needs somebody; None where the rows
            do not say.
        values: metric, or column of the run -> (n, c); NaN where the pair failed or is missing. An
            older release's lack what was not measured then.
        reached: column of how far a run came to a key's bound -> (n, c), likewise.
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
    ends_ms: Floats | None = None
    reached: dict[str, Floats] = field(default_factory=dict)

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
        null = [one for one in ADDED if one in rows and rows[one].isna().all()]
        rows = rows.drop(columns=null)
        told = rows.assign(**values_of(rows))
        values: dict[str, Floats] = {}
        for name in (one for one in (EXPOSURE, *METRICS, *OF_THE_RUN, *REACHED) if one in told):
            values[name] = np.full(shape, np.nan)
            values[name][row, column] = pd.to_numeric(told[name]).to_numpy(float, na_value=np.nan)
        return cls(
            scenario_ids=ids,
            config_ids=tuple(config_ids),
            weights=scenarios["weight"].to_numpy(float),
            exposure_us=np.fmax.reduce(values.pop(EXPOSURE), axis=1, initial=np.nan),
            strata=tuple(str(one) for one in scenarios["stratum"]),
            fault_kinds=tuple(str(one) for one in scenarios["fault_kinds"]),
            reached={name: values.pop(name) for name in REACHED if name in values},
            values=values,
            missing=seen == 0,
            failed=np.nan_to_num(values["failed"]) > 0,
            patterns=tuple(str(one) for one in scenarios.get("pattern", ())),
            ends_ms=scenarios["ends_ms"].to_numpy(float) if "ends_ms" in scenarios else None,
        )

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """(n,) stratum and pattern of each scenario, whose rows say both."""
        return tuple(zip(self.strata, self.patterns, strict=True))

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
            reached={name: matrix[:, columns] for name, matrix in self.reached.items()},
            missing=self.missing[:, columns],
            failed=self.failed[:, columns],
        )

    def of(self, rows: Bools) -> PanelOutcomes:
        """Some scenarios, (n,) true of those that are wanted."""
        some = np.flatnonzero(rows)
        ends = self.ends_ms

        def kept(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(names[at] for at in some) if names else ()

        return replace(
            self,
            scenario_ids=kept(self.scenario_ids),
            weights=self.weights[some],
            exposure_us=self.exposure_us[some],
            strata=kept(self.strata),
            fault_kinds=kept(self.fault_kinds),
            values={name: matrix[some] for name, matrix in self.values.items()},
            reached={name: matrix[some] for name, matrix in self.reached.items()},
            missing=self.missing[some],
            failed=self.failed[some],
            patterns=kept(self.patterns),
            ends_ms=None if ends is None else ends[some],
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


def panel_rows(table: str, plan: Plan, panel: str) -> pd.DataFrame:
    """Rows of one panel of a table of a run."""
    rows = store.read_table(table, plan.experiment, plan.night, root=plan.root)
    return rows[rows["panel"] == panel].reset_index(drop=True)


def standing_panel(plan: Plan, config_ids: Sequence[str]) -> tuple[pd.DataFrame, PanelOutcomes]:
    """Scenarios of a night's standing panel, and tonight's outcomes of some configurations."""
    scenarios, outcomes = (
        panel_rows(table, plan, "regression") for table in ("scenarios", "outcomes")
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
            [panel_rows(table, plan, panel) for panel in panels],
            ignore_index=True,
        )
        for table in ("scenarios", "outcomes")
    )
    return as_one_panel(scenarios, plan.definition.profile.shares), outcomes


def as_one_panel(scenarios: pd.DataFrame, shares: Mapping[Place, float]) -> pd.DataFrame:
    """Scenarios of several panels with the weights that they have as one panel.

    Args:
        scenarios: rows of the scenarios table.
        shares: (stratum, pattern) -> share of the population.
    """
    places = list(zip(scenarios["stratum"], scenarios["pattern"], strict=True))
    found = weights(shares, Counter(places))
    return scenarios.assign(weight=[found[place] for place in places])


LEAST_FLOOR_MS = 1e-3
"""Added to latencies where the settings have no floor: the kernel's clock ticks in microseconds."""

SAME_VALUE = 1e-9
"""Relative difference within which two values differ by the order of additions only."""


@dataclass(frozen=True)
class StrataComparison:
    """The same M x c comparisons in each of S strata; arrays are (S, M, c) unless said.

    Attributes:
        names: of the strata, in the order of the alphabet.
        labels: of each scenario, the index of its stratum.
        scenarios: (S,) how many each has.
        shares: (S,) of the population.
        risen, fallen: scenarios that got worse, and better.
        worse, better: one-sided p-values of the stratum alone, before any correction.
        value, baseline_value: means in the metric's own unit.
        ratio: as of the whole panel.
    """

    names: tuple[str, ...]
    labels: Ints
    scenarios: Ints
    shares: Floats
    risen: Ints
    fallen: Ints
    worse: Floats
    better: Floats
    value: Floats
    baseline_value: Floats
    ratio: Floats

    def size(self, metric: str, at: tuple[int, int, int]) -> Size:
        """How large the change in one stratum is."""
        return Size(
            metric, float(self.value[at]), float(self.baseline_value[at]), float(self.ratio[at])
        )


@dataclass(frozen=True)
class Comparison:
    """M metrics x c pairs of configurations; every array is (M, c).

    Attributes:
        metrics: names, M of them.
        identical: every value is the same to the last bit.
        discordant: scenarios in which the pair differs.
        risen, fallen: those that got worse, and those that got better.
        copy_of: flat index of the first test with the same outcomes on both sides, mostly its own.
        worse, better: one-sided p-values before any correction.
        total, baseline_total: weighted totals in natural units.
        value, baseline_value: weighted means in the metric's own unit.
        ratio: total / baseline_total; of a latency the geometric mean of the scenarios' ratios,
            each with the metric's floor added to both sides, so that parts of it do not count.
        strata: the same in each stratum.
    """

    metrics: tuple[str, ...]
    identical: Bools
    discordant: Ints
    risen: Ints
    fallen: Ints
    copy_of: Ints
    worse: Floats
    better: Floats
    total: Floats
    baseline_total: Floats
    value: Floats
    baseline_value: Floats
    ratio: Floats
    strata: StrataComparison

    @property
    def delta(self) -> Floats:
        """Difference of the weighted means, in the metric's own unit."""
        return self.value - self.baseline_value

    def size(self, at: tuple[int, int]) -> Size:
        """How large one change is."""
        return Size(
            self.metrics[at[0]],
            float(self.value[at]),
            float(self.baseline_value[at]),
            float(self.ratio[at]),
        )


def compare(
    new: PanelOutcomes, old: PanelOutcomes, settings: VerdictSettings, share: float = 1.0
) -> Comparison:
    """Compare column j of ``new`` with column j of ``old``.

    Args:
        new: outcomes of c configurations; no pair may be unusable.
        old: outcomes of c configurations on the same scenarios.
        settings: which metrics, how many flips.
        share: of the settings' error levels that p-values will be compared with.
    """
    paired = paired_columns(new, old, settings)
    metrics, left, right = paired.metrics, paired.left, paired.right
    shape = (len(metrics), len(new.config_ids))
    differences = paired_differences(left, right, new.weights)
    copy_of = _copies(left, right, shape[1])
    distinct, where = np.unique(copy_of, return_inverse=True)
    statistics = (
        differences,
        _every_scenario_as_one(differences, new, old, metrics),
        np.where(differences != 0, paired.as_judged(new.weights), 0.0),
    )
    names, labels = np.unique(np.array(new.strata), return_inverse=True)
    tails = sign_flip(
        [one[:, distinct] for one in statistics],
        labels,
        flips=settings.flips,
        flips_max=settings.flips_max,
        exact_up_to=settings.exact_up_to,
        level=share
        * min(settings.suspicion_rate, settings.false_discovery_rate)
        / max(1, len(distinct)),
    )
    same = np.hstack([new.values[name] == old.values[name] for name in metrics])
    whole = _sizes(paired, new, np.ones((1, len(new.weights))))
    total, baseline_total = new.weights @ left, new.weights @ right
    members = (labels == np.arange(len(names))[:, None]).astype(float)
    within = _sizes(paired, new, members)
    in_strata = (len(names), *shape)
    risen, fallen = (differences > 0).astype(float), (differences < 0).astype(float)
    return Comparison(
        metrics=metrics,
        identical=np.asarray(same.all(axis=0)).reshape(shape),
        discordant=(differences != 0).sum(axis=0).reshape(shape),
        risen=risen.sum(axis=0).astype(np.int64).reshape(shape),
        fallen=fallen.sum(axis=0).astype(np.int64).reshape(shape),
        copy_of=copy_of.reshape(shape),
        worse=tails.worse[where].reshape(shape),
        better=tails.better[where].reshape(shape),
        total=total.reshape(shape),
        baseline_total=baseline_total.reshape(shape),
        value=whole[0].reshape(shape),
        baseline_value=whole[1].reshape(shape),
        ratio=whole[2].reshape(shape),
        strata=StrataComparison(
            names=tuple(str(one) for one in names),
            labels=labels,
            scenarios=members.sum(axis=1).astype(np.int64),
            shares=members @ new.weights / new.weights.sum(),
            risen=(members @ risen).astype(np.int64).reshape(in_strata),
            fallen=(members @ fallen).astype(np.int64).reshape(in_strata),
            worse=tails.worse_in[:, where].reshape(in_strata),
            better=tails.better_in[:, where].reshape(in_strata),
            value=within[0].reshape(in_strata),
            baseline_value=within[1].reshape(in_strata),
            ratio=within[2].reshape(in_strata),
        ),
    )


@dataclass(frozen=True)
class PairedColumns:
    """Every metric of every configuration as a column, metric after metric: (n, M c) each.

    Attributes:
        metrics: names of those that both sides have.
        left, right: tonight's and the baseline's, in natural units.
        latencies: (M c,) which columns are of latencies.
        logarithms: of the scenarios' ratios of latencies, floors added; zero for other metrics.
    """

    metrics: tuple[str, ...]
    left: Floats
    right: Floats
    latencies: Bools
    logarithms: Floats

    def as_judged(self, weights: Floats) -> Floats:
        """Each scenario's part of what is judged: of a difference of sums, or of logarithms."""
        parts = np.where(self.latencies[None, :], self.logarithms, self.left - self.right)
        return np.asarray(weights[:, None] * parts)


def paired_columns(
    new: PanelOutcomes, old: PanelOutcomes, settings: VerdictSettings
) -> PairedColumns:
    """Arrange two sets of outcomes as columns.

    Raises:
        ValueError: they are not of the same scenarios, or a pair is missing or failed.
    """
    if new.scenario_ids != old.scenario_ids:
        raise ValueError("the two sets of outcomes are not of the same scenarios")
    if new.unusable.any() or old.unusable.any():
        raise ValueError("a missing or failed pair cannot be compared")
    metrics = tuple(one for one in settings.metrics if one in new.values and one in old.values)
    left = np.hstack([new.natural(name) for name in metrics])
    right = np.hstack([old.natural(name) for name in metrics])
    width = len(new.config_ids)
    floors = np.repeat(
        [max(settings.metrics[name].floor, LEAST_FLOOR_MS) for name in metrics], width
    )
    latencies = np.repeat([is_latency(name) for name in metrics], width)
    logarithms = np.where(latencies, np.log((left + floors) / (right + floors)), 0.0)
    return PairedColumns(metrics, left, right, latencies, logarithms)


def _sizes(
    paired: PairedColumns, new: PanelOutcomes, members: Floats
) -> tuple[Floats, Floats, Floats]:
    """Means of both sides and the ratio in parts of the panel, (P, M c) each.

    Args:
        paired: the columns.
        new: with the weights.
        members: (P, n) 1 where a scenario is in a part.
    """
    weights = members * new.weights
    width = len(new.config_ids)
    units = np.column_stack([new.divisors(name) for name in paired.metrics])
    divisor = np.repeat(weights @ units, width, axis=1)
    left, right = weights @ paired.left, weights @ paired.right
    geometric = np.exp(weights @ paired.logarithms / weights.sum(axis=1, keepdims=True))
    quotient = np.where(paired.latencies[None, :], geometric, ratio(left, right))
    return left / divisor, right / divisor, quotient


def _copies(left: Floats, right: Floats, width: int) -> Ints:
    """Flat index of the first test of the same metric with the same outcomes on both sides.

    Configurations that no rule of the panel tells apart have the same outcomes: that is one test,
    not many.
    """
    first: dict[tuple[int, bytes, bytes], int] = {}
    keys = (
        (index // width, left[:, index].tobytes(), right[:, index].tobytes())
        for index in range(left.shape[1])
    )
    return np.array([first.setdefault(key, index) for index, key in enumerate(keys)], np.int64)


def _every_scenario_as_one(
    differences: Floats,
    new: PanelOutcomes,
    old: PanelOutcomes,
    metrics: tuple[str, ...],
) -> Floats:
    """What the second statistic sums: every scenario counts as one, whatever its weight.

    The panel draws rare strata more often than they happen and weighs them down; a change that
    shows mostly there is one that the weighted sum can hardly see. The unweighted statistic sums
    ranks (Wilcoxon's), so that one scenario that went far the other way does not outdo twenty.
    Where a metric has a flag, it sums the flag's changes (McNemar's).
    """
    width = len(new.config_ids)
    alike = signed_ranks(differences / new.weights[:, None])
    for index, name in enumerate(metrics):
        flag = METRICS[name].flag
        if flag is not None:
            here = slice(index * width, (index + 1) * width)
            changes = (new.values[flag] > 0).astype(float) - (old.values[flag] > 0)
            alike[:, here] = np.where(differences[:, here] != 0, changes, 0.0)
    return alike


def paired_differences(new: Floats, old: Floats, weights: Floats) -> Floats:
    """Weighted differences of log1p in natural units; exactly zero for a tie.

    Args:
        new: (n, m) natural units.
        old: (n, m).
        weights: (n,).
    """
    same = np.abs(new - old) <= SAME_VALUE * np.maximum(np.abs(new), np.abs(old))
    differences = weights[:, None] * (np.log1p(new) - np.log1p(old))
    return np.where(same, 0.0, differences)


ONE_SIDED = 0.05
"""Level of an end that no correction applies to."""


@dataclass(frozen=True)
class Intervals:
    """Ends of M x c ratios in P parts of the panel: all of it, then each stratum.

    Attributes:
        low, high: (P, M, c); 1 where nothing differs; 0 and infinite where there is no end; NaN
            where the baseline has nothing, so that there is no ratio.
        at_least_margin: (P, M, c) one-sided p-value of "worse by what matters, or by more": where
            it is at most the level of the upper end, that end lies below what matters. 0 where
            nothing differs.
    """

    low: Floats
    high: Floats
    at_least_margin: Floats


def intervals(
    new: PanelOutcomes,
    old: PanelOutcomes,
    found: Comparison,
    settings: VerdictSettings,
    levels: tuple[Floats | float, Floats | float] = (ONE_SIDED, ONE_SIDED),
    *,
    in_strata: bool = True,
) -> Intervals:
    """Intervals of every ratio, by parts of the panel.

    Args:
        new: tonight's outcomes, or some scenarios of those that were compared.
        old: the baseline's, likewise.
        found: what `compare` made of them.
        settings: what matters, how many halves.
        levels: one-sided levels of the lower and of the upper ends of the whole panel, (M, c) or
            one for all; strata have :data:`ONE_SIDED`.
        in_strata: False if only those of the whole panel are wanted.
    """
    paired = paired_columns(new, old, settings)
    shape = found.worse.shape
    distinct = np.unique(found.copy_of)
    differs = distinct[~found.identical.ravel()[distinct]]
    labels = np.asarray(found.strata.labels)
    strata = range(len(found.strata.names)) if in_strata else range(0)
    parts = [np.arange(len(new.weights)), *(np.flatnonzero(labels == at) for at in strata)]
    low, high = np.ones((len(parts), *shape)), np.ones((len(parts), *shape))
    margin = np.zeros((len(parts), *shape))
    for index, rows in enumerate(parts):
        if not len(differs):
            break
        halves = _halves(paired, new, differs, rows, settings)
        wanted = levels if index == 0 else (ONE_SIDED, ONE_SIDED)
        ends = [np.broadcast_to(one, shape).ravel()[differs] for one in wanted]
        flat = [one[index].ravel() for one in (low, high, margin)]
        flat[0][differs], flat[1][differs] = halves.ends(ends[0], ends[1])
        flat[2][differs] = halves.at_least_margin()
        for target, values in zip((low, high, margin), flat, strict=True):
            target[index] = values[found.copy_of.ravel()].reshape(shape)
    return Intervals(low, high, margin)


@dataclass(frozen=True)
class _Halves:
    """What random halves of some scenarios show of d columns.

    Attributes:
        sizes: (halves, d) mean logarithms, ratios or differences; NaN where a half has nothing.
        kind: (d,) which of the three.
        before: (d,) the baseline's mean, in the metric's own unit.
        limits: (d,) from which on a size matters.
    """

    sizes: Floats
    kind: Ints
    before: Floats
    limits: Floats

    def ends(self, low_levels: Floats, high_levels: Floats) -> tuple[Floats, Floats]:
        """Lower and upper ends of the ratio."""
        low = _end(np.where(np.isnan(self.sizes), -np.inf, self.sizes), low_levels)
        high = -_end(np.where(np.isnan(self.sizes), -np.inf, -self.sizes), high_levels)
        return self._as_ratio(low), self._as_ratio(high)

    def _as_ratio(self, ends: Floats) -> Floats:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            of_difference = np.where(self.before > 0, 1.0 + ends / self.before, np.nan)
            found = np.choose(self.kind, [np.exp(ends), ends, of_difference])
        return np.asarray(np.maximum(found, 0.0))

    def at_least_margin(self) -> Floats:
        """One-sided p-value of a size that matters."""
        reaching = (np.isnan(self.sizes) | (self.sizes >= self.limits)).sum(axis=0)
        return np.asarray((1.0 + reaching) / (1.0 + len(self.sizes)))


LOGARITHM, RATIO, DIFFERENCE = 0, 1, 2


def _halves(
    paired: PairedColumns, new: PanelOutcomes, columns: Ints, rows: Ints, settings: VerdictSettings
) -> _Halves:
    width = len(new.config_ids)
    weights = new.weights[rows, None]
    above, below = np.empty((len(rows), len(columns))), np.empty((len(rows), len(columns)))
    kind, limits = np.empty(len(columns), dtype=np.int64), np.empty(len(columns))
    before = np.ones(len(columns))
    for index, metric in enumerate(paired.metrics):
        mine = np.flatnonzero(columns // width == index)
        these = np.ix_(rows, columns[mine])
        if is_latency(metric):
            above[:, mine], below[:, mine] = weights * paired.logarithms[these], weights
            kind[mine], limits[mine] = LOGARITHM, np.log(settings.ratio_min)
            continue
        left, right = weights * paired.left[these], weights * paired.right[these]
        units = weights * new.divisors(metric)[rows, None]
        floor = settings.metrics[metric].floor
        before[mine] = right.sum(axis=0) / units.sum()
        by_factor = (settings.ratio_min - 1.0) * before[mine] >= max(floor, np.finfo(float).tiny)
        above[:, mine] = np.where(by_factor, left, left - right)
        below[:, mine] = np.where(by_factor, right, units)
        kind[mine] = np.where(by_factor, RATIO, DIFFERENCE)
        limits[mine] = np.where(by_factor, settings.ratio_min, floor)
    generator = np.random.Generator(np.random.PCG64(SEED + 1))
    sizes = np.empty((settings.flips, len(columns)))
    for start, bits in drawn_signs(len(rows), settings.flips, generator):
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes[start : start + len(bits)] = (bits @ above) / (bits @ below)
    return _Halves(sizes, kind, before, limits)


def _end(sizes: Floats, levels: Floats) -> Floats:
    """The lower end of each column: fewer halves than its level says are below it."""
    halves = len(sizes)
    places = np.floor(levels * (halves + 1) + 1e-9).astype(np.int64) - 1
    kept = np.maximum(places, 0)
    ranked = np.partition(np.ascontiguousarray(sizes.T), np.unique(kept), axis=1)
    found = ranked[np.arange(sizes.shape[1]), kept]
    return np.asarray(np.where(places < 0, -np.inf, found))
