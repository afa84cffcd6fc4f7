"""How small a change a panel can find, before a night is run and after."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import optimize

from isr_pipeline.errors import InputError
from isr_pipeline.experiment.plan import Plan
from isr_pipeline.experiment.stages import planned_stages
from isr_pipeline.home import Home
from isr_pipeline.outcomes import store
from isr_pipeline.outcomes.panel_here import REGRESSION, simulate_panel
from isr_pipeline.scenarios.generator import draw_panel
from isr_pipeline.scenarios.panels import panel_digest
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.looks import looks
from isr_pipeline.verdicts.quantities import is_latency, times
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import Floats, discordant_found, discordant_needed
from isr_pipeline.worlds.columns import METRICS

if TYPE_CHECKING:
    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.experiment.stages import Budget


FACTOR_MAX = 1e6
"""Beyond it a factor is none that anybody plants."""


SURE_TO_SHOW = 3
"""Differing scenarios that a panel must be expected to hold, to hold one 19 times in 20: e^-3."""


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
    level = settings.confirm_p * last.share
    least = discordant_needed(len(settings.metrics), level)
    return Reach(panels["regression"], last.scenarios, least)


def smallest_ratio(above_zero: int, reach: Reach, settings: VerdictSettings) -> float | None:
    """Smallest ratio that is found 19 times in 20; None if there is none.

    If what gets worse is that the thing happens in more scenarios, as badly as where it happens.
    Then the standing panel must hold one of these, the further ones so many that the last look
    alarms, and their number must come out as a rise that matters.

    Args:
        above_zero: scenarios of the standing panel that have some of it; 0 has no ratio.
        reach: of the night.
        settings: what matters.
    """
    if above_zero == 0 or not reach.decides:
        return None
    times = reach.further / reach.scenarios
    above = above_zero * times
    least = max(reach.least, math.ceil(above * (settings.ratio_min - 1.0) - 1e-9))
    more = max(SURE_TO_SHOW * times, discordant_found(least))
    if above + more <= reach.further:
        return 1.0 + more / above
    # too few scenarios are left for it to happen anew: only what all of them show can be found
    return settings.ratio_min if above >= reach.least else None


def uniform_ratio(values: Floats, weights: Floats, floor: float, least: float) -> float:
    """By what factor a latency must rise in every scenario, so that its verdict's ratio matters.

    The floor is added to both sides of each scenario's ratio: a factor on a short latency shows
    less of itself there.

    Args:
        values: (n,) latency of each scenario.
        weights: (n,) of the scenarios.
        floor: of the metric.
        least: the ratio that matters.
    """

    def shown(factor: float) -> float:
        logarithms = np.log((factor * values + floor) / (values + floor))
        return float(weights @ logarithms / weights.sum()) - math.log(least)

    high = least
    while shown(high) < 0.0:
        if high > FACTOR_MAX:
            return math.inf
        high *= 2.0
    return least if high == least else float(optimize.brentq(shown, high / 2.0, high))


@dataclass(frozen=True)
class Known:
    """Outcomes of the standing panel that say how often a metric is above zero.

    Attributes:
        where: which night's, in words.
        above: configuration -> metric -> scenarios that have some of it.
        uniform: configuration -> latency -> :func:`uniform_ratio`.
    """

    where: str
    above: Mapping[str, Mapping[str, int]]
    uniform: Mapping[str, Mapping[str, float]]


def known_outcomes(
    experiment: Experiment, configurations: Sequence[Configuration], settings: VerdictSettings
) -> Known | None:
    """The baseline's outcomes, else the last night's, if their panel is this very one.

    Args:
        experiment: as read.
        configurations: all of it; those with other values than then have no outcomes.
        settings: which metrics count.

    Returns:
        None if neither is of the same scenarios with one of the configurations.
    """
    names = {one.config_id: one.name for one in configurations}
    size, ours = experiment.panels.regression, ""
    for where, panel, outcomes in _kept_outcomes(experiment.name):
        ours = ours or _panel_of(experiment)
        if panel == ours:
            known = _known(where, outcomes(), names, size, settings)
            if known.above:
                return known
    return None


def _kept_outcomes(experiment: str) -> Iterator[tuple[str, str, Callable[[], pd.DataFrame]]]:
    """Whose outcomes are kept, the digest of their standing panel, and what reads them."""
    try:
        baseline = baselines.load(experiment)
    except baselines.BaselineDamaged:
        baseline = None
    if baseline is not None:
        record, outcomes = baseline.record, baseline.outcomes
        yield f"the baseline (night {record.night})", record.panel_digest, lambda: outcomes
    for night in store.list_nights(experiment, table="summary")[-1:]:
        plan = Home.from_environment().night_dir(experiment, night) / "plan.json"
        with contextlib.suppress(InputError):  # of a night that nobody can tell, nothing is used
            panel = Plan.load(plan).panel_digest
            read = functools.partial(store.read_table, "outcomes", experiment, night)
            yield f"night {night}", panel, read


def _panel_of(experiment: Experiment) -> str:
    """The digest of an experiment's standing panel."""
    return panel_digest(draw_panel(experiment.source, REGRESSION))


def simulated_outcomes(
    experiment: Experiment,
    configurations: list[Configuration],
    settings: VerdictSettings,
    done: Callable[[], object] = lambda: None,
) -> Known:
    """Simulate the standing panel here, by the present code; nothing is written.

    Args:
        experiment: as read.
        configurations: all of it.
        settings: which metrics count.
        done: called after each scenario.
    """
    rows = []
    for count, row in enumerate(simulate_panel(experiment, configurations), 1):
        if not row["failed"]:  # a night calls the others no-data
            rows.append(row)
        if count % len(configurations) == 0:
            done()
    names = {one.config_id: one.name for one in configurations}
    where = "this panel, simulated by the present code"
    return _known(where, pd.DataFrame(rows), names, None, settings)


def _known(
    where: str,
    outcomes: pd.DataFrame,
    names: Mapping[str, str],
    scenarios: int | None,
    settings: VerdictSettings,
) -> Known:
    """What outcomes say of configurations that have so many scenarios (None: any number)."""
    above, uniform = {}, {}
    rows = outcomes[outcomes["panel"] == "regression"]
    for config_id, group in rows.groupby("config_id"):
        name = names.get(str(config_id))
        if name is None or scenarios not in (None, len(group)):
            continue
        weighed = "weight" in group.columns
        weights: Floats = np.asarray(group["weight"] if weighed else np.ones(len(group)), float)
        tops = {metric: group[METRICS[metric].top] for metric in settings.metrics}
        above[name] = {metric: int((top > 0).sum()) for metric, top in tops.items()}
        uniform[name] = {
            metric: uniform_ratio(
                top.to_numpy(float),
                weights,
                settings.metrics[metric].floor,
                settings.ratio_min,
            )
            for metric, top in tops.items()
            if is_latency(metric)
        }
    return Known(where, above, uniform)


def findable(
    experiment: Experiment,
    configurations: list[Configuration],
    settings: VerdictSettings,
    known: Known | None = None,
) -> list[str]:
    """Lines that say what a panel can find, and warn of a budget that can decide nothing.

    Args:
        experiment: as read.
        configurations: all of it.
        settings: of verdicts.
        known: outcomes of its panel; looked for among baseline and nights if None.
    """
    reach = reach_of(experiment.panels.model_dump(), experiment.budget, settings)
    known = known or known_outcomes(experiment, configurations, settings)
    lines = []
    if not reach.decides:
        lines.append(
            f"warning: {experiment.name} can decide nothing: {reach.further} further scenarios "
            f"within the budget, an alarm takes {reach.least} that got worse"
        )
    elif known is None:
        lines.append(
            f"an alarm takes a difference in at least one of {reach.scenarios} scenarios, and a "
            f"rise in at least {reach.least} of {reach.further} further ones; how small a ratio "
            "that finds is known after a night, or by --simulate"
        )
    if known is not None:
        lines.append(f"smallest ratio found 19 times in 20, by the outcomes of {known.where}:")
        lines += [f"  {one.name}: {_ratios(known, one.name, reach, settings)}"
                  for one in configurations]  # fmt: skip
    return lines


def _ratios(known: Known, name: str, reach: Reach, settings: VerdictSettings) -> str:
    above = known.above.get(name)
    if above is None:
        return "not part of that night, with these values"
    uniform = known.uniform[name]
    return ", ".join(
        f"{metric} {smallest_words(count, uniform.get(metric), reach, settings)}"
        for metric, count in above.items()
    )


def smallest_words(
    above_zero: int, uniform: float | None, reach: Reach, settings: VerdictSettings
) -> str:
    """The smallest ratio that is found, in words.

    Args:
        above_zero: see :func:`smallest_ratio`.
        uniform: of a latency, :func:`uniform_ratio`: all scenarios have some of it.
        reach: of the night.
        settings: what matters.
    """
    if not reach.decides:
        return "nothing"
    if above_zero == 0:
        return "from none only"
    ratio = smallest_ratio(above_zero, reach, settings) if uniform is None else uniform
    return "nothing" if ratio is None or math.isinf(ratio) else times(ratio)
