"""The contestants: each says for which (metric, configuration) of a night it raises an alarm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.detection.draw import Night, Pair
from isr_pipeline.verdicts import looks
from isr_pipeline.verdicts.comparison import PanelOutcomes
from isr_pipeline.verdicts.quantities import VerdictSettings
from isr_pipeline.verdicts.record import OPEN, MetricVerdict, Status
from isr_pipeline.verdicts.stages import allocate, variances
from isr_pipeline.worlds.columns import METRICS

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

OWN = "isr-pipeline"

LEVEL = 0.05
"""Of rivals that test: one-sided, over all tests of a night."""
ANY_SCENARIO = 0.25
"""Share by which one scenario has to be worse for who looks at single scenarios."""
MANN_WHITNEY_P = 0.02
"""One-sided; Kayenta's canary judge takes a confidence of 0.98."""


@dataclass(frozen=True)
class Alarms:
    """What a contestant said of a night; arrays are (metrics, configurations).

    Attributes:
        confirmed: worse, for good: what would wake somebody.
        flagged: worse at first sight; the same for who looks once.
        undecided: neither found nor ruled out.
        tests: how many tests could have raised an alarm; 0 of who does not say.
    """

    confirmed: Bools
    flagged: Bools
    undecided: Bools
    tests: int = 0


def own(
    night: Night, settings: VerdictSettings, *, most_looks: int = 99, as_one: bool = False
) -> Alarms:
    """The method that nights are judged by; see :func:`verdicts_of`.

    What must never happen is drawn again, for a planted configuration, by
    :mod:`benchmarks.detection.again`; here it stays `suspect`.
    """
    return alarms_of(*verdicts_of(night, settings, most_looks=most_looks, as_one=as_one))


def alarms_of(called: list[tuple[MetricVerdict, ...]], tests: int) -> Alarms:
    """What the verdicts on all configurations say."""
    return Alarms(
        confirmed=_having(called, (Status.REGRESSED,)),
        flagged=_having(called, (Status.REGRESSED, Status.SUSPECT)),
        undecided=_having(called, (Status.UNDECIDED,)),
        tests=tests,
    )


def verdicts_of(
    night: Night, settings: VerdictSettings, *, most_looks: int = 99, as_one: bool = False
) -> tuple[list[tuple[MetricVerdict, ...]], int]:
    """Verdicts on all configurations, look after look until nothing is open, and how many tests.

    Args:
        night: with its standing panel, and further scenarios of every stratum.
        settings: of verdicts.
        most_looks: after which the budget is spent.
        as_one: whether the verdicts know of no strata.
    """
    seen = _as_one_stratum if as_one else _as_it_is
    new, old = seen(night.regression)
    allowed = _allowed(night, settings)
    called, power = looks.call(new, old, settings, allowed=allowed)
    planned = looks.looks(night.stages[:most_looks]) if most_looks else ()
    first = sum(map(_is_open, called))
    strata = dict(night.confirm)
    for number, one in enumerate(planned):
        asked = [index for index, metrics in enumerate(called) if _is_open(metrics)]
        if not asked:
            break
        if number:
            strata = _further(night, settings, called, strata, night.stages[number].scenarios)
        pair = seen(night.further(strata))
        ids = tuple(new.config_ids[index] for index in asked)
        after, before = (panel.select(ids) for panel in pair)
        decided = looks.call_open(
            [called[index] for index in asked],
            after,
            before,
            settings,
            look=one,
            kept=len(asked) / first,
            allowed=allowed,
        )
        for index, metrics in zip(asked, decided, strict=True):
            called[index] = metrics
    return called, power.tests


def _further(
    night: Night,
    settings: VerdictSettings,
    called: list[tuple[MetricVerdict, ...]],
    strata: Mapping[str, int],
    more: int,
) -> dict[str, int]:
    """Scenarios of each stratum after another stage, shared out as a night does."""
    new, old = night.regression
    questions = [
        (metric.metric, new.config_ids[index])
        for index, metrics in enumerate(called)
        for metric in metrics
        if metric.status in OPEN
    ]
    needs = variances(new, old, settings, questions, list(strata))
    further = allocate(needs, list(strata.values()), more, [night.shares[name] for name in strata])
    return {name: strata[name] + count for name, count in zip(strata, further, strict=True)}


def _allowed(night: Night, settings: VerdictSettings) -> frozenset[tuple[str, str]]:
    """What must never happen elsewhere, where a key allows it."""
    return frozenset(
        (name, f"{column:03d}")
        for name in settings.metrics
        if (key := METRICS[name].unless)
        for column, arm in enumerate(night.arms)
        if arm.overrides.get(key)
    )


def _is_open(metrics: tuple[MetricVerdict, ...]) -> bool:
    return any(metric.status in OPEN for metric in metrics)


def _having(called: list[tuple[MetricVerdict, ...]], statuses: tuple[Status, ...]) -> Bools:
    return np.array([[metric.status in statuses for metric in metrics] for metrics in called]).T


# ------------------------------------------------------------------ own, a part switched off


def without_further(night: Night, settings: VerdictSettings) -> Alarms:
    """The confirm panel alone, no further scenarios."""
    return own(night, settings, most_looks=1)


def without_strata(night: Night, settings: VerdictSettings) -> Alarms:
    """The population alone is asked, no stratum."""
    return own(night, settings, as_one=True)


def without_materiality(night: Night, settings: VerdictSettings) -> Alarms:
    """Whatever is significant counts, however small."""
    metrics = {
        name: one if METRICS[name].never else one.model_copy(update={"floor": 1e-12})
        for name, one in settings.metrics.items()
    }
    return own(night, settings.model_copy(update={"metrics": metrics, "ratio_min": 1.0 + 1e-9}))


def without_confirmation(night: Night, settings: VerdictSettings) -> Alarms:
    """The permutation test of the standing panel alone, at the rate of improvements."""
    strict = settings.model_copy(
        update={"suspicion_rate": settings.false_discovery_rate, "suspicion_share": 1.0}
    )
    said = own(night, strict, most_looks=0)
    return replace(said, confirmed=said.flagged)


def _as_it_is(pair: Pair) -> Pair:
    return pair


def _as_one_stratum(pair: Pair) -> Pair:
    new, old = (replace(one, strata=("all",) * len(one.strata)) for one in pair)
    return new, old


# ------------------------------------------------------------------ rivals


def wilcoxon(night: Night, settings: VerdictSettings) -> Alarms:
    """Wilcoxon's signed ranks of each metric, Bonferroni over all tests that differ."""
    new, old = night.regression
    differences = [new.natural(name) - old.natural(name) for name in settings.metrics]
    differs = np.array([(one != 0).any(axis=0) for one in differences])
    p = np.ones(differs.shape)
    for at in zip(*np.nonzero(differs), strict=True):
        column = differences[at[0]][:, at[1]]
        p[at] = stats.wilcoxon(column, alternative="greater", method="approx").pvalue
    return _one_stage(p <= LEVEL / max(1, int(differs.sum())))


def any_scenario(night: Night, settings: VerdictSettings) -> Alarms:
    """An alarm wherever one scenario is worse by a quarter, and by more than the floor."""
    new, old = night.regression
    found = []
    for name, one in settings.metrics.items():
        after, before = new.values[name], old.values[name]
        worse = (after > (1.0 + ANY_SCENARIO) * before) & (after - before > one.floor)
        found.append(worse.any(axis=0))
    return _one_stage(np.array(found))


def rise(night: Night, settings: VerdictSettings, share: float = 0.10) -> Alarms:
    """An alarm wherever the weighted mean rose by that share: a dashboard's threshold."""
    new, old = (_means(panel, tuple(settings.metrics)) for panel in night.regression)
    return _one_stage((new > old) & (new >= (1.0 + share) * old))


def mann_whitney(night: Night, settings: VerdictSettings) -> Alarms:
    """Tonight's scenarios against the baseline's as two samples, as canary judges do."""
    new, old = night.regression
    p = [
        stats.mannwhitneyu(
            new.natural(name), old.natural(name), alternative="greater", method="asymptotic"
        ).pvalue
        for name in settings.metrics
    ]
    return _one_stage(np.array(p) < MANN_WHITNEY_P)


CONTESTANTS: dict[str, Callable[[Night, VerdictSettings], Alarms]] = {
    OWN: own,
    "without further scenarios": without_further,
    "without strata": without_strata,
    "without materiality": without_materiality,
    "permutation, no confirmation": without_confirmation,
    "Wilcoxon, Bonferroni": wilcoxon,
    "any scenario worse by 25 %": any_scenario,
    "mean +10 %": rise,
    "Mann-Whitney, p < 0.02": mann_whitney,
}
"""Name -> contestant; Otava is asked apart (:mod:`benchmarks.detection.otava`)."""

SWITCHED_OFF = ("without further scenarios", "without strata", "without materiality")
"""Those that take as long as the whole method: they are asked about fewer null nights."""


def series(night: Night, metrics: Sequence[str]) -> Floats:
    """Past nights and tonight as (metrics, configurations, nights): what Otava is fed with."""
    past = np.stack([night.past[name] for name in metrics])
    tonight = _means(night.regression[0], metrics)
    return np.concatenate([past, tonight[:, None, :]], axis=1).transpose(0, 2, 1)


def _means(panel: PanelOutcomes, metrics: Sequence[str]) -> Floats:
    totals = np.stack([panel.weights @ panel.values[name] for name in metrics])
    return np.asarray(totals / panel.weights.sum())


def _one_stage(alarms: Bools) -> Alarms:
    return Alarms(alarms, alarms, np.zeros_like(alarms))
