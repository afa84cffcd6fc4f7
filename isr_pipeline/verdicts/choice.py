"""Which configuration is best, chosen on one half of the panel and measured on the other.

The best of many is partly the luckiest. What it shows on the scenarios that chose it is therefore
too good (the winner's curse). So one half of the scenarios chooses, and everything that is said
about the choice comes from the other half, which knew nothing of it.

How sure that is: scenarios of the second half are drawn again with replacement within their strata,
and the rule of the choice is applied to each draw (the paired bootstrap; Hall and Miller 2009,
"Using the bootstrap to quantify the authority of an empirical ranking", Annals of Statistics 37,
p. 3929). All configurations meet the same draws, so what they have in common cancels out.

The rule: whoever has the least produce unavailability. Those that are worse than it by less than
what matters (`ratio_min`) count as equally good on it; among them the axes of the Pareto front
decide, by the sum of the logarithms of their ratios. Never chosen is what loses more acknowledged
records than the reference, and what lowers what acks=all promises: an outcome may show no loss
where fewer replicas have a record.

Where somebody asked about settings, these are what is chosen from: whoever asks for a lag limit is
not told to set four other keys. Published advice is then measured beside the choice alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from isr_pipeline.experiment.advice import ADVICE, ASKED
from isr_pipeline.experiment.file import healthy_scenario
from isr_pipeline.experiment.keys import PROPOSALS
from isr_pipeline.experiment.promise import lowers_promise
from isr_pipeline.kafka.broker_config import KEYS
from isr_pipeline.kafka.released import released_range
from isr_pipeline.scenarios.model import apply
from isr_pipeline.verdicts.between import deciding_scenarios
from isr_pipeline.verdicts.comparison import compare
from isr_pipeline.verdicts.halves import intervals
from isr_pipeline.verdicts.model import LOST
from isr_pipeline.verdicts.quantities import PRODUCE
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import SEED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isr_pipeline.experiment.grid import Configuration
    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.verdicts.panel import PanelOutcomes

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NEGLIGIBLE = 0.02
"""Gain on the axes together, as a logarithm, below which the reference is kept."""

SURE = 0.95
"""Share of the draws in which the choice has to beat the reference, or the reference is kept."""

DRAWS = 4_000
"""Bootstrap draws: a share of 95 % is then known to within 0.4 %."""

END = 0.025
"""One-sided level of either end of an interval."""

WEIGHT_FACTORS = (0.5, 2.0)
"""What the assumed weight of a fault kind is multiplied with to see whether the choice stands."""


class Kind(StrEnum):
    """What it takes to have a configuration, next to the reference."""

    SETTING = "setting"
    """Other values of keys that a broker of the reference's release takes."""
    RELEASE = "release"
    """Another release, or another controller."""
    PROPOSAL = "proposal"
    """Rules or service times that no released broker has."""


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of a configuration against the reference, on the half that did not choose.

    Attributes:
        metric: outcome column.
        value, reference_value: weighted means, in the metric's own unit.
        ratio: of the two; not finite where the reference has nothing.
        low, high: ends of its interval of 95 %.
        worse, better: one-sided p-values.
    """

    metric: str
    value: float
    reference_value: float
    ratio: float
    low: float
    high: float
    worse: float
    better: float


@dataclass(frozen=True)
class Measured:
    """A configuration against the reference, on the half that did not choose.

    Attributes:
        config_id: the configuration.
        changes: metric -> change.
        better: share of the draws in which it beats the reference by the rule of the choice.
    """

    config_id: str
    changes: dict[str, Change]
    better: float


@dataclass(frozen=True)
class Choice:
    """The best of one kind of configuration.

    Attributes:
        kind: which kind.
        candidates: how many were compared, the reference not counted.
        reference: config_id.
        best: config_id of the best on the half that chose; the reference's if none beats it.
        measured: the best on the other half; None if it is the reference.
        probability_best: share of the draws in which it is the best of all candidates and the
            reference; what has the same outcomes everywhere counts as the same.
        most_often: config_id of what is the best in most of these draws.
        probability_most_often: share of the draws in which it is.
        alike: config_ids with the best one's outcomes in every scenario.
        axis: metric that the best gains most on, where it was chosen.
        deciding: scenarios of the other half that carry most of the gain, largest first.
        sensitivity: (fault kind, factor) -> what would be best under that weight, if another.
        weaker: config_ids of all that lower what acks=all promises, and were left out for it.
        losing: config_ids of the others that lose more acknowledged records, likewise.
        lossy: the best of these if it would have been best; and how many more records it loses a
            scenario, on average. None if there is no such.
    """

    kind: Kind
    candidates: int
    reference: str
    best: str
    measured: Measured | None
    probability_best: float
    most_often: str
    probability_most_often: float
    alike: tuple[str, ...]
    axis: str
    deciding: tuple[str, ...]
    sensitivity: dict[tuple[str, float], str]
    weaker: tuple[str, ...]
    losing: tuple[str, ...]
    lossy: tuple[str, float] | None

    @property
    def is_advised(self) -> bool:
        """Whether the other half confirms that the best beats the reference."""
        return self.measured is not None and self.measured.better >= SURE

    @property
    def config_id(self) -> str:
        """What is advised: the best, or the reference where that is not confirmed."""
        return self.best if self.is_advised else self.reference


@dataclass(frozen=True)
class Choices:
    """What one night says about which configuration to take.

    Attributes:
        chosen_on: scenarios of the half that chose.
        measured_on: scenarios of the other half.
        setting: the best that a broker of the reference's release can be given, among those that
            were asked about if any was; None if the experiment has no such.
        release, proposal: likewise of other releases, and of what no released broker has.
        asked: whatever was asked about, of every kind, measured like the best.
        rivals: the settings that others advise, likewise.
    """

    chosen_on: int
    measured_on: int
    setting: Choice | None
    release: Choice | None
    proposal: Choice | None
    asked: tuple[Measured, ...]
    rivals: tuple[Measured, ...]

    @property
    def every(self) -> tuple[Choice, ...]:
        """The choices that there are, settings first."""
        return tuple(one for one in (self.setting, self.release, self.proposal) if one is not None)


def choose(plan: Plan, panel: PanelOutcomes, settings: VerdictSettings) -> Choices | None:
    """Choose and measure, for every kind of configuration of a night.

    Args:
        plan: of the night.
        panel: outcomes of its base panel.
        settings: the axes of the Pareto front, the floors, how many flips.

    Returns:
        None if the reference has a failed or missing pair, or the panel has no two halves.
    """
    by_id = {one.config_id: one for one in plan.configurations}
    reference = next(one for one in plan.configurations if one.name == plan.reference)
    usable = [one for at, one in enumerate(panel.config_ids) if not panel.unusable[:, at].any()]
    if reference.config_id not in usable or len(panel.scenario_ids) < 2:
        return None
    halves = split(panel)
    others = [one for one in usable if one != reference.config_id]
    kinds = {
        kind: [one for one in others if kind_of(by_id[one], reference) is kind] for kind in Kind
    }
    rivals = [one for one in kinds[Kind.SETTING] if by_id[one].group == ADVICE]
    if about := [one for one in kinds[Kind.SETTING] if by_id[one].group == ASKED]:
        kinds[Kind.SETTING] = about
    promised = _promised(plan, reference)
    found = {
        kind: (
            _choose(
                kind,
                {one: promised[one] for one in (reference.config_id, *ids)},
                panel,
                halves,
                settings,
            )
            if ids
            else None
        )
        for kind, ids in kinds.items()
    }
    asked = [one for one in others if by_id[one].group == ASKED]
    return Choices(
        chosen_on=len(halves[0].scenario_ids),
        measured_on=len(halves[1].scenario_ids),
        setting=found[Kind.SETTING],
        release=found[Kind.RELEASE],
        proposal=found[Kind.PROPOSAL],
        asked=_measure(asked, halves[1], reference.config_id, settings),
        rivals=_measure(rivals, halves[1], reference.config_id, settings),
    )


def _promised(plan: Plan, reference: Configuration) -> dict[str, bool]:
    """config_id -> whether all that acks=all promises under the reference is promised by it."""
    healthy = healthy_scenario(plan.definition, plan.definition.where)
    today = apply(healthy, reference.overrides)
    return {
        one.config_id: not lowers_promise(apply(healthy, one.overrides), today)
        for one in plan.configurations
    }


def kind_of(configuration: Configuration, reference: Configuration) -> Kind:
    """What it takes to have a configuration where the reference runs."""
    mine, theirs = configuration.overrides, reference.overrides
    release = str(configuration.params["cluster.release"])
    if release != reference.params["cluster.release"] and released_range(release) is None:
        return Kind.PROPOSAL
    kinds = {
        _kind_of_key(key)
        for key in {**mine, **theirs}
        if key not in mine or key not in theirs or mine[key] != theirs[key]
    }
    for kind in (Kind.PROPOSAL, Kind.RELEASE):
        if kind in kinds:
            return kind
    return Kind.SETTING


def _kind_of_key(key: str) -> Kind:
    if key.startswith("cluster."):
        return Kind.RELEASE
    of_a_broker = key in KEYS and key not in PROPOSALS
    return Kind.SETTING if of_a_broker or key.startswith("topics.") else Kind.PROPOSAL


def split(panel: PanelOutcomes) -> tuple[PanelOutcomes, PanelOutcomes]:
    """Halve a panel: the half that chooses, and the half that measures.

    Scenarios in the order of their strata, and in their own within a stratum, go to one half and
    the other in turn. That is a function of the panel alone, and each half has every stratum that
    has two scenarios or more. Weights are those of a panel of that half's size.
    """
    order = sorted(
        range(len(panel.scenario_ids)), key=lambda row: (panel.strata[row], panel.scenario_ids[row])
    )
    parts = (np.array(sorted(order[start::2])) for start in (0, 1))
    first, second = (_part(panel, rows) for rows in parts)
    return first, second


def _part(panel: PanelOutcomes, rows: Ints) -> PanelOutcomes:
    """Some scenarios; each stratum keeps the weight that it has in the whole panel."""
    labels = np.array(panel.strata)
    weights = panel.weights[rows].copy()
    for stratum in set(panel.strata):
        mine = labels[rows] == stratum
        if mine.any():
            weights[mine] *= panel.weights[labels == stratum].sum() / weights[mine].sum()
    return panel.rows(rows, weights)


class _Rule:
    """The rule of the choice, on some scenarios under any weights."""

    def __init__(self, panel: PanelOutcomes, reference: str, settings: VerdictSettings) -> None:
        self.at = panel.column(reference)
        self.settings = settings
        self.metrics = tuple(dict.fromkeys((PRODUCE, *settings.pareto)))
        self.panel = panel
        self._natural = [panel.natural(name) for name in self.metrics]
        self._units = [panel.divisors(name) for name in self.metrics]

    def scores(self, weights: Floats) -> tuple[Floats, Floats]:
        """Logarithms of ratios to the reference, (draws, c) each.

        Args:
            weights: (draws, n) of the scenarios.

        Returns:
            of produce unavailability, and the sum over the axes of the Pareto front.
        """
        logs = {}
        for name, natural, units in zip(self.metrics, self._natural, self._units, strict=True):
            means = (weights @ natural) / (weights @ units)[:, None] + _floor(self.settings, name)
            logs[name] = np.log(means / means[:, [self.at]])
        total = np.sum([logs[name] for name in self.settings.pareto], axis=0)
        return logs[PRODUCE], total

    def best(self, weights: Floats, eligible: Bools) -> Ints:
        """Column of the best eligible configuration under each row of weights.

        The reference is always eligible, and is kept where it is as good as the best.
        """
        unavailable, total = self.scores(weights)
        allowed = eligible.copy()
        allowed[self.at] = True
        least = np.where(allowed, unavailable, np.inf).min(axis=1, keepdims=True)
        shortlist = allowed & (unavailable <= least + np.log(self.settings.ratio_min))
        ranked = np.where(shortlist, total, np.inf)
        found = ranked.argmin(axis=1)
        rows = np.arange(len(found))
        kept = shortlist[:, self.at] & (ranked[rows, found] > -NEGLIGIBLE)
        return np.where(kept, self.at, found)


def _choose(
    kind: Kind,
    promised: Mapping[str, bool],
    panel: PanelOutcomes,
    halves: tuple[PanelOutcomes, PanelOutcomes],
    settings: VerdictSettings,
) -> Choice:
    """The best of some configurations, of which the first is the reference.

    ``promised`` says of each whether it may be chosen, if its outcomes allow it.
    """
    every = tuple(promised)
    reference = every[0]
    whole = panel.select(every)
    choosing, measuring = (half.select(every) for half in halves)
    rule = _Rule(choosing, reference, settings)
    # The mean of differences, not the difference of means: equal columns give exactly nothing.
    records = whole.values[LOST]
    more_lost = whole.weights @ (records - records[:, [0]]) / whole.weights.sum()
    keeps = np.array([*promised.values()])
    safe = keeps & (more_lost <= 0)
    boldest = int(rule.best(choosing.weights[None, :], keeps)[0])
    at = int(rule.best(choosing.weights[None, :], safe)[0])
    axis = _gaining_axis(rule, at)
    alike = _alike(whole, at, settings)
    deciding: tuple[str, ...] = ()
    measured = None
    if at != 0:
        (measured,) = _measure([every[at]], measuring, reference, settings)
        sides = measuring.select((every[at],)), measuring.select((reference,))
        deciding = deciding_scenarios(*sides, axis)
    drawn = _Rule(measuring, reference, settings).best(draws(measuring), safe)
    wins = np.bincount(drawn, minlength=len(every)) / len(drawn)
    return Choice(
        kind=kind,
        candidates=len(every) - 1,
        reference=reference,
        best=every[at],
        measured=measured,
        probability_best=float(wins[[at, *alike]].sum()),
        most_often=every[int(wins.argmax())],
        probability_most_often=float(wins.max()),
        alike=tuple(every[one] for one in alike),
        axis=axis,
        deciding=deciding,
        sensitivity=_sensitivity(rule, safe, at),
        weaker=_those(every, ~keeps),
        losing=_those(every, keeps & ~safe),
        lossy=None if safe[boldest] else (every[boldest], float(more_lost[boldest])),
    )


def _those(ids: tuple[str, ...], chosen: Bools) -> tuple[str, ...]:
    return tuple(one for one, is_chosen in zip(ids, chosen, strict=True) if is_chosen)


def draws(panel: PanelOutcomes, count: int = DRAWS) -> Floats:
    """Weights of bootstrap draws, (draws, n): scenarios with replacement within their strata.

    The seed is fixed: the same outcomes give the same answer.
    """
    generator = np.random.Generator(np.random.PCG64(SEED + 2))
    labels = np.array(panel.strata)
    times = np.zeros((count, len(labels)))
    for stratum in sorted(set(panel.strata)):
        rows = np.flatnonzero(labels == stratum)
        even = np.full(len(rows), 1.0 / len(rows))
        times[:, rows] = generator.multinomial(len(rows), even, size=count)
    return np.asarray(times * panel.weights)


def _measure(
    ids: Iterable[str], panel: PanelOutcomes, reference: str, settings: VerdictSettings
) -> tuple[Measured, ...]:
    """Configurations against the reference, each alone."""
    ids = tuple(ids)
    if not ids:
        return ()
    new, old = panel.select(ids), panel.select((reference,) * len(ids))
    versus = compare(new, old, settings)
    ends = intervals(new, old, versus, settings, (END, END), in_strata=False)
    both = (reference, *ids)
    rule = _Rule(panel.select(both), reference, settings)
    weights = draws(panel)
    found = []
    for column, config_id in enumerate(ids):
        changes = {
            metric: Change(
                metric,
                *(
                    float(one[row, column])
                    for one in (
                        versus.value,
                        versus.baseline_value,
                        versus.ratio,
                        ends.low[0],
                        ends.high[0],
                        versus.worse,
                        versus.better,
                    )
                ),
            )
            for row, metric in enumerate(versus.metrics)
        }
        alone = np.arange(len(both)) == column + 1
        wins = rule.best(weights, alone) == column + 1
        found.append(Measured(config_id, changes, float(wins.mean())))
    return tuple(found)


def _gaining_axis(rule: _Rule, at: int) -> str:
    """Metric on which a configuration gains most; produce unavailability if that is a gain."""
    weights = rule.panel.weights[None, :]
    unavailable, _ = rule.scores(weights)
    if unavailable[0, at] < -NEGLIGIBLE:
        return PRODUCE
    gains = {}
    for name in rule.metrics:
        means = rule.panel.means(name) + _floor(rule.settings, name)
        gains[name] = float(means[at] / means[rule.at])
    return min(gains, key=gains.__getitem__)


def _alike(panel: PanelOutcomes, at: int, settings: VerdictSettings) -> tuple[int, ...]:
    """Other columns with the same outcomes in every scenario, as far as they are tested."""
    same = np.ones(len(panel.config_ids), bool)
    for name in (*settings.metrics, *settings.pareto):
        values = panel.values[name]
        same &= (values == values[:, [at]]).all(axis=0)
    return tuple(int(one) for one in np.flatnonzero(same) if one != at)


def _sensitivity(rule: _Rule, eligible: Bools, at: int) -> dict[tuple[str, float], str]:
    """What would be chosen if one kind of fault were half or twice as frequent."""
    panel = rule.panel
    split_kinds = [set(kinds.split(",")) - {""} for kinds in panel.fault_kinds]
    found = {}
    for kind in sorted(set().union(*split_kinds)):
        touched = np.array([kind in kinds for kinds in split_kinds])
        for factor in WEIGHT_FACTORS:
            weights = panel.weights * np.where(touched, factor, 1.0)
            other = int(rule.best(weights[None, :], eligible)[0])
            if other != at:
                found[kind, factor] = panel.config_ids[other]
    return found


def _floor(settings: VerdictSettings, metric: str) -> float:
    """What keeps the logarithm of nothing finite: the change that does not matter."""
    tested = settings.metrics.get(metric)
    return tested.floor if tested and tested.floor > 0 else 1e-6
