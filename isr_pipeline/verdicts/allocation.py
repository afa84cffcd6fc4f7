"""Which strata the further scenarios of a night come from: where they decide most of what is open.

A stratum's scenarios help as far as its differences vary and as far as it weighs, which is Neyman's
allocation (*On the two different aspects of the representative method*, Journal of the Royal
Statistical Society 97, 1934). There are many questions at once, one for each open metric of each
open configuration. So the next scenario goes to the stratum in which it lowers the expected number
of questions that stay undecided most, if nothing had changed; of one question that is Neyman's.

What varies how much is read off the regression panel, whose scenarios no look counts: the looks
stay tests on scenarios that did not choose anything. Eight scenarios of a stratum without a
difference do not show that it has none: a change that hurts one in ten is missed by eight as often
as not. So every stratum counts as if it had one scenario more, which differs. How much that one
differs is what the panels expect of its stratum: they draw more of what they expect to vary more.
Besides, a part of every stage is shared out as the panels are.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import stats

from isr_pipeline.experiment.stage_strata import Counts, keep_strata, strata_before
from isr_pipeline.experiment.stages import CONFIRM
from isr_pipeline.scenarios.panels import allocation as panel_allocation
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.comparison import sides_of
from isr_pipeline.verdicts.difference import Word
from isr_pipeline.verdicts.halves import ONE_SIDED
from isr_pipeline.verdicts.judge import baseline_panel, panel_rows
from isr_pipeline.verdicts.materiality import is_latency
from isr_pipeline.verdicts.model import OPEN, ConfigVerdict, NightVerdict, load_verdict
from isr_pipeline.verdicts.panel import PanelOutcomes
from isr_pipeline.verdicts.reference import held_alike
from isr_pipeline.verdicts.settings import VerdictSettings, load_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isr_pipeline.experiment.plan import Plan
    from isr_pipeline.experiment.stages import Stage

Floats = npt.NDArray[np.float64]

AS_THE_PANEL = 0.2
"""Share of a stage that is shared out as the panels are."""

NO_VARIANCE = 1e-6
"""A thousandth of the margin, squared: nothing can stay undecided below it."""

QUANTILE = float(stats.norm.isf(ONE_SIDED))
"""Of the level at which a rise that matters is ruled out."""


def variances(
    new: PanelOutcomes,
    old: PanelOutcomes,
    settings: VerdictSettings,
    asked: Sequence[tuple[str, str]],
    strata: Sequence[str],
) -> Floats:
    """What one scenario of each stratum leaves uncertain of each question, in parts of a margin.

    Args:
        new: tonight's regression panel.
        old: the baseline's.
        settings: with the margins: what matters.
        asked: (metric, config_id) that are open.
        strata: their names, in the order of the result.

    Returns:
        (q, S) squares of (share of the population times the root mean square of what a scenario is
        away from the ratio, the one more among them), over the square of the margin. A question
        without a margin has none.
    """
    sides = sides_of(new, old, settings)
    width = len(new.config_ids)
    labels = np.array(new.strata)
    members = np.array([labels == name for name in strata], dtype=float)
    counts = members.sum(axis=1)
    shares = members @ new.weights / new.weights.sum()
    found = np.zeros((len(asked), len(strata)))
    for row, (metric, config_id) in enumerate(asked):
        column = sides.metrics.index(metric) * width + new.column(config_id)
        if is_latency(metric):
            logarithms = sides.logarithms[:, column]
            away = logarithms - new.weights @ logarithms / new.weights.sum()
            margin = math.log(settings.ratio_min)
        else:
            factor = new.divisors(metric)
            left, right = sides.left[:, column] / factor, sides.right[:, column] / factor
            before = float(new.weights @ right) / float(new.weights.sum())
            after = float(new.weights @ left) / float(new.weights.sum())
            away = left - (after / before if before else 1.0) * right
            margin = max((settings.ratio_min - 1.0) * before, settings.metrics[metric].floor)
        differs = sides.left[:, column] != sides.right[:, column]
        if margin > 0.0 and differs.any():
            moved = (new.weights * away / new.weights.sum()) ** 2  # of the panel's mean, by each
            sums = shares**2 * (members @ away**2) + counts**2 * float(moved[differs].mean())
            found[row] = sums / (counts + 1.0) / margin**2
    return found


def allocate(needs: Floats, counts: Sequence[int], more: int, shares: Sequence[float]) -> list[int]:
    """Share out more scenarios among strata.

    Args:
        needs: (q, S) of :func:`variances`.
        counts: (S,) scenarios that there are, one of each at least.
        more: to share out.
        shares: (S,) of the panels, up to a common factor.

    Returns:
        (S,) further scenarios of each; they sum to ``more``.
    """
    have = np.array(counts, dtype=float)
    wanted = np.array(shares, dtype=float) / sum(shares)
    further = np.zeros(len(have), dtype=np.int64)
    asked = needs[needs.any(axis=1)]
    as_panel = math.ceil(AS_THE_PANEL * more) if len(asked) else more
    for _ in range(as_panel):
        further[int(np.argmax(wanted / (further + 0.5)))] += 1
    have += further
    for _ in range(more - as_panel):
        place = int(np.argmax(_slopes((asked / have).sum(axis=1)) @ asked / (have * (have + 1.0))))
        further[place] += 1
        have[place] += 1.0
    return [int(one) for one in further]


def _slopes(variance: Floats) -> Floats:
    """How fast the chance that a question stays undecided falls with its variance.

    A question whose estimate is normal about "no change" with a standard deviation of s margins
    stays undecided with probability P(Z > 1 / s - z), z being the quantile of the interval's level.

    Args:
        variance: (q,) s², in parts of a margin.

    Returns:
        (q,) derivatives, up to a common factor.
    """
    deviation = np.sqrt(np.maximum(variance, NO_VARIANCE))
    return np.asarray(np.exp(-0.5 * (1.0 / deviation - QUANTILE) ** 2) / deviation**3)


def open_questions(configurations: Sequence[ConfigVerdict]) -> list[tuple[str, str]]:
    """Metrics that further scenarios may decide, (metric, config_id)."""
    return [
        (metric.metric, one.config_id)
        for one in configurations
        if one.is_open
        for metric in one.metrics
        if metric.status in OPEN
    ]


def plan_stage(plan: Plan, stage: Stage, settings: VerdictSettings | None = None) -> Counts:
    """Decide which strata a stage beyond the confirm panel takes, and keep it with the night.

    A function of the regression panel and of what is open: the same night gives the same.

    Args:
        plan: the night.
        stage: the next one.
        settings: ``config/verdicts.yaml`` if None.

    Returns:
        stratum -> scenarios of the stage.
    """
    settings = settings or load_settings()
    strata = plan.definition.profile.strata
    have = Counter(panel_allocation(strata, plan.panels[CONFIRM]))
    for earlier in strata_before(plan, stage):
        have.update(earlier)
    further = allocate(
        _needs(plan, settings, list(strata)),
        [have[name] for name in strata],
        stage.scenarios,
        [one.sample for one in strata.values()],
    )
    counts = dict(zip(strata, further, strict=True))
    keep_strata(plan, stage, counts)
    return counts


def _needs(plan: Plan, settings: VerdictSettings, strata: list[str]) -> Floats:
    """:func:`variances` of what is open in a night, by its regression panel.

    What is open against the baseline decides, where something is; else what was asked.
    """
    verdict = load_verdict(plan.experiment, plan.night)
    asked = open_questions(verdict.configurations)
    if not asked:
        return _needs_of_asked(plan, verdict, settings, strata)
    partners = {
        one.config_id: one.baseline_config_id
        for one in verdict.configurations
        if one.baseline_config_id is not None
    }
    ids = tuple(dict.fromkeys(config_id for _, config_id in asked))
    baseline = baselines.load(plan.experiment)
    assert baseline is not None, "something was compared, so there was a baseline"
    new = _regression(plan, ids)
    old = baseline_panel(baseline, "regression", tuple(partners[one] for one in ids))
    return variances(new, old, settings, asked, strata)


def _needs_of_asked(
    plan: Plan, verdict: NightVerdict, settings: VerdictSettings, strata: list[str]
) -> Floats:
    """:func:`variances` of what was asked and is undecided against the reference."""
    asked = [
        (difference.metric, one.config_id)
        for one in verdict.against_reference
        if one.config_id in verdict.awaits_reference
        for difference in one.differences
        if difference.word is Word.UNDECIDED
    ]
    ids = verdict.awaits_reference
    old = _regression(plan, (plan.reference_id,)).select((plan.reference_id,) * len(ids))
    return variances(_regression(plan, ids), old, held_alike(settings), asked, strata)


def _regression(plan: Plan, ids: tuple[str, ...]) -> PanelOutcomes:
    """Tonight's outcomes of the regression panel."""
    scenarios, outcomes = (
        panel_rows(table, plan.experiment, plan.night, "regression")
        for table in ("scenarios", "outcomes")
    )
    return PanelOutcomes.from_frames(outcomes, scenarios, ids)
