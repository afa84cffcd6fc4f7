"""Looks: every metric of every configuration is given its status, by one panel or by several.

A look is a pure function of two sets of outcomes. What it calls worse on the standing panel is
`suspect` until further scenarios were looked at (:mod:`isr_pipeline.verdicts.stages`).

The error rate is kept in two stages. A metric's p-value is that of all its sums jointly, of the
whole panel and of each stratum, and Benjamini-Hochberg corrects over the metrics. Within a metric
that is significant the strata are tested at the level that the correction left it (Benjamini and
Bogomolov 2014): closed testing, by Holm's shortcut over those strata that could reach it. A rise in
a stratum is asked at the rate of improvements, the lower one: there are many strata.

The standing panel says what is asked: a metric that is `suspect` or `undecided` there is open.
The scenarios of the stages (:mod:`isr_pipeline.experiment.stages`) were not chosen by it, so what
they say holds whatever was asked. After each stage all of them so far are looked at together, as
one panel, and each open metric is called again. Looking again and again would find something by
chance sooner or later; so each look may err a part only of what the whole night may, by a spending
function of Lan and DeMets (1983), and the parts add up to it, whatever the looks have in common.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from isr_pipeline.experiment.stages import Budget, Stage, planned_stages
from isr_pipeline.verdicts.comparison import (
    ONE_SIDED,
    Comparison,
    Intervals,
    PanelOutcomes,
    compare,
    intervals,
    paired_columns,
)
from isr_pipeline.verdicts.figures import MetricFigures, pairs
from isr_pipeline.verdicts.quantities import (
    Size,
    VerdictSettings,
    fall_matters,
    is_latency,
    rise_matters,
)
from isr_pipeline.verdicts.record import (
    OPEN,
    Finding,
    MetricVerdict,
    Seen,
    Status,
    StratumVerdict,
    Traded,
)
from isr_pipeline.verdicts.statistics import (
    Bools,
    Floats,
    Ints,
    Rejectable,
    discordant_needed,
    finite,
    holm,
    rejectable,
)
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.scenarios.profile import FaultProfile

At = tuple[int, int]

STATUS = {
    Finding.IDENTICAL: Status.UNCHANGED,
    Finding.ROUNDING: Status.OK,
    Finding.RISE: Status.SUSPECT,
    Finding.RISE_IN_STRATA: Status.SUSPECT,
    Finding.NEWLY: Status.SUSPECT,
    Finding.FALL: Status.IMPROVED,
    Finding.RULED_OUT: Status.OK,
    Finding.TOO_FEW: Status.UNDECIDED,
    Finding.SMALL: Status.UNDECIDED,
    Finding.OPEN: Status.UNDECIDED,
}
"""What is found -> the status of a metric before any further scenarios."""

SEVERAL = 3
"""Scenarios on either side from which on a change is a trade."""

NAMED = 3
"""How many scenarios are named."""

ALONE = 10.0
"""Floors that a single scenario's weighted loss is shown from, whatever the p. Of what must never
happen: times as much as before, from which it counts as new."""

FLIPS_PER_LOOK = 4
"""Times more flips at a look than on the standing panel: its level is a part of the whole."""


# -- one look at a panel ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Power:
    """What a look could have found.

    Attributes:
        needed: fewest discordant scenarios that could be significant; 0 if nothing was compared.
        tests: distinct comparisons that could have been significant, which the correction counts.
    """

    needed: int = 0
    tests: int = 0


def call(
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    *,
    share: float = 1.0,
    allowed: frozenset[tuple[str, str]] = frozenset(),
    profile: FaultProfile | None = None,
) -> tuple[list[tuple[MetricVerdict, ...]], Power]:
    """Judge a panel: column j of ``new`` against column j of ``old``.

    Args:
        new: tonight's outcomes.
        old: the baseline's, of the same scenarios.
        settings: ``config/verdicts.yaml``.
        share: of the settings' error levels, of each of the three questions (worse, better, a
            rise ruled out), that this look may use, for who looks more than once.
        allowed: (metric, config_id) of what must never happen in other configurations.
        profile: counted in the cluster, for the figures of a year; None: nobody counts incidents.

    Returns:
        the metrics' verdicts of each configuration, before any further scenarios; and what could
        have been found.
    """
    look = _look(new, old, settings, share, profile)
    never = _newly(new, old, look.found.metrics, allowed)
    had = {name: found & (old.values[name] > 0) for name, found in never.items()}
    called = [
        tuple(
            look.verdict(
                (row, column), never[name][:, column], had=bool(had[name][:, column].any())
            )
            for row, name in enumerate(look.found.metrics)
        )
        for column in range(len(new.config_ids))
    ]
    return called, Power(look.worse.able.needed, look.worse.able.count)


def _look(
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    share: float,
    profile: FaultProfile | None,
) -> _Look:
    found = compare(new, old, settings, share)
    worse = _corrected(found.worse, found, share * settings.suspicion_rate)
    better = _corrected(found.better, found, share * settings.false_discovery_rate)
    plain = share * ONE_SIDED
    within = min(settings.suspicion_rate, settings.false_discovery_rate)
    low, high = np.full(found.worse.shape, plain), np.full(found.worse.shape, plain)
    finest = 1.0 / (1.0 + settings.flips)  # of the halves that an interval is made of
    for at in np.ndindex(found.worse.shape):
        size = found.size(at)
        if worse.significant(at) and rise_matters(size, settings, settings.suspicion_share):
            low[at] = max(worse.left, finest)
        elif better.significant(at) and fall_matters(size, settings):
            high[at] = max(better.left, finest)
    divisors = [
        float(new.weights.sum()) if is_latency(name) else new.mean_divisor(name)
        for name in found.metrics
    ]
    judged = paired_columns(new, old, settings).as_judged(new.weights)
    ends = intervals(new, old, found, settings, (low, high))
    return _Look(
        settings=settings,
        found=found,
        worse=worse,
        better=better,
        worse_in=_corrected(found.worse, found, share * within),
        plain=plain,
        levels=(low, high),
        ends=ends,
        pairs=pairs((new, old), found, ends, (low, high), settings, profile),
        scenario_ids=new.scenario_ids,
        judged=judged.reshape(-1, *found.worse.shape) / np.array(divisors)[:, None],
    )


def _newly(
    new: PanelOutcomes,
    old: PanelOutcomes,
    metrics: Sequence[str],
    allowed: frozenset[tuple[str, str]],
) -> dict[str, Bools]:
    """Metric -> (n, c) where something newly happens that must never happen.

    What happened already is looked at again where it is ten times as much: a baseline that loses
    one record does not excuse a million.
    """
    labels = np.array(new.strata)
    found = {}
    for name in metrics:
        appeared = new.values[name] > ALONE * old.values[name]
        appeared &= np.array([(name, one) not in allowed for one in new.config_ids])[None, :]
        if METRICS[name].never is None:
            appeared[:] = False
        elif METRICS[name].never == "in_stratum":
            appeared &= old.values[name] == 0
            for stratum in set(new.strata):
                here = labels == stratum
                appeared[here] &= (old.values[name][here] == 0).all(axis=0)[None, :]
        found[name] = appeared
    return found


@dataclass(frozen=True)
class _Corrected:
    """P-values of one direction after the correction.

    Attributes:
        q: (M, c); 1 for tests that could not be rejected.
        level: at or below which a q is significant.
        able: which distinct tests could be.
        left: level that the correction left each test that is significant.
    """

    q: Floats
    level: float
    able: Rejectable
    left: float

    def significant(self, at: At) -> bool:
        """Whether a test is."""
        return bool(self.q[at] <= self.level)


def _corrected(p: Floats, found: Comparison, level: float) -> _Corrected:
    """Benjamini-Hochberg over the distinct tests that could be rejected."""
    distinct, where = np.unique(found.copy_of, return_inverse=True)
    able = rejectable(found.discordant.ravel()[distinct], level)
    q = np.ones(len(distinct))
    q[able.tests] = stats.false_discovery_control(p.ravel()[distinct[able.tests]])
    rejected = int((q <= level).sum())
    left = level * max(1, rejected) / max(1, able.count)
    return _Corrected(q[where].reshape(p.shape), level, able, left)


@dataclass(frozen=True)
class _Look:
    """Everything that a status follows from.

    Attributes:
        settings: what matters.
        found: the comparison.
        worse, better: its p-values after the correction; ``worse_in``: of rises in strata.
        plain: level of what no correction applies to.
        levels: (M, c) one-sided levels of lower and upper ends.
        ends: the intervals.
        pairs: the figures that are printed, metric by metric.
        scenario_ids: n of them.
        judged: (n, M, c) each scenario's part of the change of the mean, in the metric's own unit,
            or of the mean logarithm.
    """

    settings: VerdictSettings
    found: Comparison
    worse: _Corrected
    better: _Corrected
    worse_in: _Corrected
    plain: float
    levels: tuple[Floats, Floats]
    ends: Intervals
    pairs: list[MetricFigures]
    scenario_ids: tuple[str, ...]
    judged: Floats

    def verdict(self, at: At, never: Bools, *, had: bool) -> MetricVerdict:
        """The verdict on one metric of one configuration.

        Args:
            at: of which.
            never: (n,) scenarios in which it newly happens and must not.
            had: whether some of these had a tenth of it, or less, but not none.
        """
        found = self.found
        strata = self._strata(at)
        seen = self._seen(at, strata, int(never.sum()), had=had)
        differs = seen.finding is not Finding.IDENTICAL
        rises = found.size(at).rises
        return MetricVerdict(
            metric=found.metrics[at[0]],
            status=STATUS[seen.finding],
            seen=seen,
            total=float(found.total[at]),
            baseline_total=float(found.baseline_total[at]),
            value=float(found.value[at]),
            baseline_value=float(found.baseline_value[at]),
            delta=float(found.delta[at]) if differs else 0.0,
            ratio=finite(found.ratio[at]),
            ratio_low=finite(self.ends.low[0][at]),
            ratio_high=finite(self.ends.high[0][at]),
            low_level=float(self.levels[0][at]) if differs else None,
            high_level=float(self.levels[1][at]) if differs else None,
            discordant=int(found.discordant[at]),
            risen=int(found.risen[at]),
            fallen=int(found.fallen[at]),
            traded=seen.traded is not None,
            alone=self._alone(at),
            newly=self._most(at, never),
            p=float((found.worse if rises else found.better)[at]) if differs else None,
            q=float((self.worse if rises else self.better).q[at]) if differs else None,
            strata=strata,
            pair=self.pairs[at[0]].whole[at[1]],
            without_incident=self.pairs[at[0]].without_incident[at[1]],
        )

    def _seen(self, at: At, strata: tuple[StratumVerdict, ...], newly: int, *, had: bool) -> Seen:
        """What there is to see of one metric; see :meth:`verdict`."""
        found = self.found
        hurt = tuple(one for one in strata if one.status is Status.SUSPECT)
        finding = self._finding(at, hurt=bool(hurt), never=newly > 0)
        if not found.discordant[at]:
            return Seen(finding=finding)
        return Seen(
            finding=finding,
            value=float(found.value[at]),
            baseline_value=float(found.baseline_value[at]),
            ratio=finite(found.ratio[at]),
            ratio_low=finite(self.ends.low[0][at]),
            ratio_high=finite(self.ends.high[0][at]),
            q=self._q(at, finding),
            p=float(self.ends.at_least_margin[0][at]),
            strata=hurt,
            differing=int(found.discordant[at]),
            needed=self.worse.able.needed,
            newly=newly,
            had=had,
            traded=self._traded(at),
            pair=self.pairs[at[0]].whole[at[1]],
        )

    def _finding(self, at: At, *, hurt: bool, never: bool) -> Finding:
        """What is found of one metric.

        Args:
            at: of which.
            hurt: whether a stratum is called worse.
            never: whether it newly happens and must not.
        """
        if self.found.identical[at]:
            return Finding.IDENTICAL
        if self.found.discordant[at] == 0:
            return Finding.ROUNDING
        settings, worse, better = self.settings, self.worse, self.better
        size = self.found.size(at)
        if worse.significant(at) and rise_matters(size, settings, settings.suspicion_share):
            return Finding.RISE
        if hurt:
            return Finding.RISE_IN_STRATA
        if never:
            return Finding.NEWLY
        if better.significant(at) and fall_matters(size, settings):
            return Finding.FALL
        if self.ends.at_least_margin[0][at] <= self.plain:
            return Finding.RULED_OUT
        if self.found.discordant[at] < worse.able.needed:
            return Finding.TOO_FEW
        if worse.significant(at) or better.significant(at):
            return Finding.SMALL
        return Finding.OPEN

    def _q(self, at: At, finding: Finding) -> float:
        """Of the direction that was found; the smaller one where neither was."""
        worse, better = float(self.worse.q[at]), float(self.better.q[at])
        return {Finding.RISE: worse, Finding.FALL: better}.get(finding, min(worse, better))

    def _strata(self, at: At) -> tuple[StratumVerdict, ...]:
        """One metric in each stratum; nothing if it does not differ."""
        found, within = self.found, self.found.strata
        if found.identical[at] or found.discordant[at] == 0:
            return ()
        metric = found.metrics[at[0]]
        differing = within.risen[:, *at] + within.fallen[:, *at]
        risen = _claimed(within.worse[:, *at], differing, self.worse_in, at)
        fallen = _claimed(within.better[:, *at], differing, self.better, at)
        verdicts = []
        for index, name in enumerate(within.names):
            place = (index, *at)
            size = within.size(metric, place)
            same = differing[index] == 0
            if same:
                status = Status.UNCHANGED
            elif risen[index] and rise_matters(size, self.settings, self.settings.suspicion_share):
                status = Status.SUSPECT
            elif fallen[index] and fall_matters(size, self.settings):
                status = Status.IMPROVED
            elif self.ends.at_least_margin[1 + index][at] <= self.plain:
                status = Status.OK
            else:
                status = Status.UNDECIDED
            verdicts.append(
                StratumVerdict(
                    stratum=name,
                    status=status,
                    scenarios=int(within.scenarios[index]),
                    share=float(within.shares[index]),
                    risen=int(within.risen[place]),
                    fallen=int(within.fallen[place]),
                    value=size.value,
                    baseline_value=size.before,
                    ratio=finite(size.ratio),
                    # outcomes that are the same have a ratio that no other scenario made
                    ratio_low=1.0 if same else finite(self.ends.low[1 + index][at]),
                    ratio_high=1.0 if same else finite(self.ends.high[1 + index][at]),
                    p=float((within.worse if size.rises else within.better)[place]),
                    pair=self.pairs[at[0]].in_strata[index][at[1]],
                )
            )
        return tuple(verdicts)

    def _traded(self, at: At) -> Traded | None:
        """What got worse and what got better, if both would matter alone."""
        change = self.judged[:, *at]
        risen, fallen = int(self.found.risen[at]), int(self.found.fallen[at])
        if min(risen, fallen) < SEVERAL:
            return None
        up, down = self._with(at, change[change > 0]), self._with(at, change[change < 0])
        if not (rise_matters(up, self.settings) and fall_matters(down, self.settings)):
            return None
        order = np.argsort(-change, kind="stable")
        return Traded(
            risen=risen,
            fallen=fallen,
            risen_most=tuple(self.scenario_ids[one] for one in order[:NAMED] if change[one] > 0),
            fallen_most=tuple(
                self.scenario_ids[one] for one in order[::-1][:NAMED] if change[one] < 0
            ),
        )

    def _with(self, at: At, changes: Floats) -> Size:
        """The size that a change would have if these parts of it were all."""
        metric = self.found.metrics[at[0]]
        before = float(self.found.baseline_value[at])
        if is_latency(metric):
            return Size(metric, before, before, math.exp(float(changes.sum())))
        value = before + float(changes.sum())
        return Size(metric, value, before, value / before if before else math.inf)

    def _alone(self, at: At) -> tuple[str, ...]:
        """Scenarios whose own weighted loss is ten floors; latencies are judged by factors."""
        metric = self.found.metrics[at[0]]
        floor = self.settings.metrics[metric].floor
        if is_latency(metric) or floor == 0.0:
            return ()
        return self._most(at, self.judged[:, *at] >= ALONE * floor)

    def _most(self, at: At, chosen: Bools) -> tuple[str, ...]:
        """Of some scenarios those that got worse most."""
        order = np.argsort(-self.judged[:, *at], kind="stable")
        return tuple(self.scenario_ids[one] for one in order if chosen[one])[:NAMED]


def _claimed(p: Floats, differing: Ints, corrected: _Corrected, at: At) -> Bools:
    """Strata that closed testing rejects, within a metric that is significant."""
    if not corrected.significant(at):
        return np.zeros(len(p), dtype=bool)
    able = rejectable(differing, corrected.left).tests
    claimed = np.zeros(len(p), dtype=bool)
    claimed[able] = holm(p[able]) <= corrected.left
    return claimed


def size_of(metric: MetricVerdict | StratumVerdict, name: str) -> Size:
    """How large the change is that a verdict is about.

    Args:
        metric: a verdict on something that was compared.
        name: outcome column.
    """
    assert metric.value is not None, "it was compared"
    assert metric.baseline_value is not None, "it was compared"
    return Size.of(name, metric.value, metric.baseline_value, metric.ratio)


# -- looks at more and more scenarios -------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    """One look at all scenarios of some stages.

    Attributes:
        panels: of these stages.
        scenarios: of all of them.
        share: of the errors of all looks, what this one may make.
        is_last: whether the budget is spent with it.
    """

    panels: tuple[str, ...]
    scenarios: int
    share: float
    is_last: bool

    def settings(self, whole: VerdictSettings, kept: float) -> VerdictSettings:
        """The settings of a night as a look calls by them: what it finds worse is confirmed.

        Args:
            whole: of the night.
            kept: see :func:`call_open`.
        """
        return whole.model_copy(
            update={
                "suspicion_rate": kept * whole.confirm_p,
                "false_discovery_rate": kept * whole.false_discovery_rate,
                "suspicion_share": 1.0,
                "flips_max": FLIPS_PER_LOOK * whole.flips_max,
            }
        )


def looks(stages: Sequence[Stage]) -> tuple[Look, ...]:
    """The looks of a night, one after each stage; their shares sum to 1."""
    most = stages[-1].end
    found = []
    before = 0.0
    for number, stage in enumerate(stages, start=1):
        total = spent(stage.end / most)
        panels = tuple(one.panel for one in stages[:number])
        found.append(Look(panels, stage.end, total - before, number == len(stages)))
        before = total
    return tuple(found)


@dataclass(frozen=True)
class Reach:
    """What a night may look at to decide about one configuration that changed.

    Attributes:
        scenarios: of the standing panel. One that differs leaves its metric open.
        further: within the budget, beyond that panel.
        least: of the further ones, how many must differ for an alarm at the last look, if all of
            them got worse.
    """

    scenarios: int
    further: int
    least: int

    @property
    def decides(self) -> bool:
        """Whether an alarm is possible at all."""
        return self.least <= self.further

    @property
    def line(self) -> str:
        """What an alarm takes; a warning where the budget allows none."""
        if not self.decides:
            return (
                f"warning: nothing can be decided: {self.further} further scenarios "
                f"within the budget, an alarm takes {self.least} that got worse"
            )
        return (
            f"an alarm takes a difference in at least one of {self.scenarios} scenarios, "
            f"and a rise in at least {self.least} of {self.further} further ones"
        )


def reach_of(panels: Mapping[str, int], budget: Budget, settings: VerdictSettings) -> Reach:
    """What panels and a budget reach.

    Args:
        panels: panel -> number of scenarios.
        budget: of the experiment.
        settings: how often all looks together may err, and in how many metrics.
    """
    planned = planned_stages(panels, budget)
    if not planned:
        return Reach(panels["regression"], 0, 1)
    last = looks(planned)[-1]
    least = discordant_needed(len(settings.metrics), settings.confirm_p * last.share)
    return Reach(panels["regression"], last.scenarios, least)


def spent(information: float) -> float:
    """Share of all error that is spent when that share of all scenarios is in.

    Lan and DeMets' function for boundaries like Pocock's (Biometrika 70, 1983, p. 659): early looks
    get enough of it to decide large effects.
    """
    return math.log1p((math.e - 1.0) * information)


def call_open(
    called: Sequence[tuple[MetricVerdict, ...]],
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    *,
    look: Look,
    kept: float = 1.0,
    allowed: frozenset[tuple[str, str]] = frozenset(),
    profile: FaultProfile | None = None,
) -> list[tuple[MetricVerdict, ...]]:
    """Call every open metric again by what a look sees.

    What is decided stays as it is, but for what was `ok` or `unchanged`: the scenarios are there,
    and the look's correction counts all metrics of an open configuration. So what they show to be
    worse is called, too, and what they no longer rule out is open again.

    Args:
        called: verdicts of some configurations so far.
        new: their outcomes on the look's scenarios, in the same order.
        old: those of the baseline.
        settings: of the night.
        look: which one.
        kept: share of the configurations of the first look that are still open. Those that are
            not were chosen by what was seen, and still count in the correction.
        allowed: (metric, config_id) of what must never happen in other configurations.
        profile: see :func:`call`.
    """
    here = look.settings(settings, kept)
    again, _ = call(new, old, here, share=look.share, allowed=allowed, profile=profile)
    by = _Looked(look, look.share * here.suspicion_rate, Counter(new.strata), settings)
    return [
        tuple(
            _called_again(metric, seen, by)
            if metric.status in OPEN or _opens_again(metric, seen, by)
            else metric
            for metric, seen in zip(metrics, looked, strict=True)
        )
        for metrics, looked in zip(called, again, strict=True)
    ]


@dataclass(frozen=True)
class _Looked:
    """What metrics are called again by.

    Attributes:
        look: which one.
        level: that it may call a rise at.
        strata: stratum -> its scenarios.
        settings: of the night.
    """

    look: Look
    level: float
    strata: Mapping[str, int]
    settings: VerdictSettings


def _called_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> MetricVerdict:
    """One open metric after a look.

    A suspicion stays one only as long as the further scenarios show a rise as well, or if it is of
    something that must never happen. Single scenarios that the standing panel shows are shown
    whatever a look says.
    """
    suspect = before.status is Status.SUSPECT
    is_confirmed = _is_confirmed(seen, by)
    here = _seen(seen).on(by.look.scenarios, confirms=is_confirmed)
    strata = tuple(_confirmed(one) for one in seen.strata)
    status, first, further = seen.status, here, None
    if is_confirmed:
        status = Status.REGRESSED
    elif suspect and (before.newly or seen.status is Status.UNCHANGED):
        # What was found stays what the numbers are about: it did happen.
        newly = _together(before.newly, seen.newly)
        return before.model_copy(update={"further": here, "p_confirm": seen.p, "newly": newly})
    elif seen.status is Status.UNCHANGED:
        return _never_again(before, seen, by)
    elif suspect and seen.status is Status.UNDECIDED and _rises(seen, by.settings):
        status, first, further = Status.SUSPECT, _seen(before), here
    update = {
        "status": status,
        "seen": first,
        "further": further,
        "p_confirm": seen.p,
        "scenarios": by.look.scenarios,
        "strata": strata,
        "alone": _together(before.alone, seen.alone),
        "redraws": before.redraws,
    }
    return seen.model_copy(update=update)


def _seen(metric: MetricVerdict) -> Seen:
    """What a verdict follows from."""
    assert metric.seen is not None, "it was compared"
    return metric.seen


def _never_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> MetricVerdict:
    """A metric that differed on the standing panel, and in no scenario of a look.

    That no further one differs bounds how often one does, not how much. So a rise is ruled out if
    scenarios like those of the standing panel, as frequent as could have been missed, add up to
    less than what matters. Else the numbers of the standing panel stay: it did happen.
    """
    size = _most_missed(before, by)
    count = by.look.scenarios
    if rise_matters(size, by.settings):
        none = Seen(finding=Finding.NONE_LEAVES_OPEN, scenarios=count)
        return before.model_copy(update={"status": Status.UNDECIDED, "further": none})
    high = finite(size.ratio)
    return seen.model_copy(
        update={
            "status": Status.OK,
            "seen": Seen(finding=Finding.NONE_RULES_OUT, scenarios=count),
            "ratio_high": high,
            "pair": seen.pair and seen.pair.model_copy(update={"high": high}),
            "high_level": by.look.share * ONE_SIDED,
            "scenarios": count,
            "alone": before.alone,
        }
    )


def _most_missed(before: MetricVerdict, by: _Looked) -> Size:
    """The largest change that a look without any difference leaves possible.

    Of n scenarios none differs with a probability of at most the level unless differing ones are
    rarer than -ln(level) / n (Poisson; at 5 % the "rule of three"). They may all be of one stratum:
    the one in which they would add most. Each is taken to be as bad as those of the regression
    panel that got worse in that stratum.
    """
    missed = -math.log(by.look.share * ONE_SIDED)
    latency = is_latency(before.metric)
    most = 0.0
    for one in before.strata:
        if one.risen:
            rise = math.log(one.ratio or 1.0) if latency else one.value - one.baseline_value
            each = max(rise, 0.0) * one.scenarios / one.risen
            most = max(most, one.share * each * min(1.0, missed / by.strata[one.stratum]))
    value = before.baseline_value or 0.0
    if latency:
        return Size(before.metric, value, value, math.exp(most))
    ratio = 1.0 + most / value if value else math.inf if most else 1.0
    return Size(before.metric, value + most, value, ratio)


def _together(first: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """Names of both, each once."""
    return tuple(dict.fromkeys((*first, *more)))


def _opens_again(before: MetricVerdict, seen: MetricVerdict, by: _Looked) -> bool:
    """Whether a look calls again what was decided: it shows a rise, or what must never happen.

    A rise need not be sure. A small stratum of which few scenarios differ may show nothing in one
    panel; what was `ok` there is open again where more scenarios show a rise that matters, and no
    longer rule it out.
    """
    if before.status not in {Status.OK, Status.UNCHANGED}:
        return False
    if _is_confirmed(seen, by):
        return True
    if seen.status is Status.SUSPECT and seen.newly:
        return True
    return seen.status in OPEN and _rises(seen, by.settings)


def _is_confirmed(seen: MetricVerdict, by: _Looked) -> bool:
    """Whether a look that may err so much calls a rise that matters, in all or in a stratum."""
    if seen.status is not Status.SUSPECT:
        return False
    if any(one.status is Status.SUSPECT for one in seen.strata):
        return True
    assert seen.q is not None, "what is suspect differs"
    return seen.q <= by.level and rise_matters(size_of(seen, seen.metric), by.settings)


def _confirmed(one: StratumVerdict) -> StratumVerdict:
    """A stratum that a look calls worse: by its level that is confirmed."""
    status = Status.REGRESSED if one.status is Status.SUSPECT else one.status
    return one.model_copy(update={"status": status, "p_confirm": one.p})


def _rises(seen: MetricVerdict, settings: VerdictSettings) -> bool:
    """Whether a look shows a rise that would be looked at again."""
    return rise_matters(size_of(seen, seen.metric), settings, settings.suspicion_share)
