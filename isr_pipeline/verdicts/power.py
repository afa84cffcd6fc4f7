"""How small a change a panel can find, before a night is run and after."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from isr_pipeline.experiment.stages import planned_stages
from isr_pipeline.outcomes import store
from isr_pipeline.outcomes.panel_here import simulate_panel
from isr_pipeline.verdicts import baseline as baselines
from isr_pipeline.verdicts.settings import VerdictSettings
from isr_pipeline.verdicts.statistics import discordant_found, discordant_needed

if TYPE_CHECKING:
    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.experiment.grid import Configuration


def needed(settings: VerdictSettings) -> int:
    """Scenarios in which a change of one configuration must show, in all its metrics."""
    return discordant_needed(len(settings.metrics), settings.suspicion_rate)


def needed_to_confirm(settings: VerdictSettings) -> int:
    """Scenarios of the confirm panel in which it must show to be confirmed."""
    return math.floor(-math.log2(settings.confirm_p)) + 1


def smallest_ratio(above_zero: int, scenarios: int, settings: VerdictSettings) -> float | None:
    """Smallest ratio that is found 19 times in 20; None if there is none.

    If what gets worse is that the thing happens in further scenarios, as badly as where it happens.

    Args:
        above_zero: scenarios that have some of the metric; 0 has no ratio.
        scenarios: in the panel.
        settings: what matters, and the rate of suspicion.
    """
    if above_zero == 0:
        return None
    more = discordant_found(needed(settings))
    if above_zero + more <= scenarios:
        return max(settings.ratio_min, 1.0 + more / above_zero)
    # too few scenarios are left for it to happen anew: only what all of them show can be found
    return settings.ratio_min if above_zero >= needed(settings) else None


@dataclass(frozen=True)
class Known:
    """Outcomes of the regression panel that say how often a metric is above zero.

    Attributes:
        where: which night's, in words.
        above: configuration -> metric -> scenarios that have some of it.
    """

    where: str
    above: Mapping[str, Mapping[str, int]]


def known_outcomes(experiment: str, scenarios: int, settings: VerdictSettings) -> Known | None:
    """The baseline's outcomes, else the last night's, of a panel of that size; None without any."""
    try:
        baseline = baselines.load(experiment)
    except baselines.BaselineDamaged:
        baseline = None
    if baseline is not None:
        names = {one.config_id: one.name for one in baseline.record.configurations}
        above = _above(baseline.outcomes, names, scenarios, settings)
        if above:
            return Known(f"the baseline (night {baseline.record.night})", above)
    for night in reversed(store.list_nights(experiment, table="summary")):
        rows = store.read_table("summary", experiment, night)
        names = dict(zip(rows["config_id"], rows["config_name"], strict=True))
        outcomes = store.read_table("outcomes", experiment, night)
        above = _above(outcomes, names, scenarios, settings)
        return Known(f"night {night}", above) if above else None
    return None


def simulated_outcomes(
    experiment: Experiment,
    configurations: list[Configuration],
    settings: VerdictSettings,
    done: Callable[[], object] = lambda: None,
) -> Known:
    """Simulate the regression panel here, by the present code; nothing is written.

    Args:
        experiment: as read.
        configurations: all of it.
        settings: which metrics count.
        done: called after each scenario.
    """
    above = {one.name: dict.fromkeys(settings.metrics, 0) for one in configurations}
    for count, row in enumerate(simulate_panel(experiment, configurations), 1):
        if not row["failed"]:  # a night calls the others no-data
            for metric in settings.metrics:
                above[row["config_name"]][metric] += row[metric] > 0
        if count % len(configurations) == 0:
            done()
    return Known("this panel, simulated by the present code", above)


def _above(
    outcomes: pd.DataFrame, names: Mapping[str, str], scenarios: int, settings: VerdictSettings
) -> dict[str, dict[str, int]]:
    rows = outcomes[outcomes["panel"] == "regression"]
    return {
        names[str(config_id)]: {
            metric: int((group[metric] > 0).sum())
            for metric in settings.metrics
            if metric in group.columns
        }
        for config_id, group in rows.groupby("config_id")
        if len(group) == scenarios and str(config_id) in names
    }


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
    scenarios = experiment.panels.regression
    further = planned_stages(experiment.panels.model_dump(), experiment.budget)[-1].end
    least, again = needed(settings), needed_to_confirm(settings)
    known = known or known_outcomes(experiment.name, scenarios, settings)
    lines = []
    if known is None:
        lines.append(
            f"a change of one configuration must show in {least} of {scenarios} scenarios; how "
            "large it must be is known after a night, or by --simulate"
        )
    else:
        lines.append(f"smallest ratio found 19 times in 20, by the outcomes of {known.where}:")
        for one in configurations:
            above = known.above.get(one.name)
            lines.append(f"  {one.name}: {_ratios(above, scenarios, settings)}")
    # Whatever the regression panel leaves open is decided on the scenarios beyond it.
    if further < again:
        lines.append(
            f"warning: {experiment.name} can decide nothing: {further} further scenarios within "
            f"the budget, p < {settings.confirm_p:g} takes {again}"
        )
    return lines


def _ratios(above: Mapping[str, int] | None, scenarios: int, settings: VerdictSettings) -> str:
    if above is None:
        return "not part of that night"
    said = []
    for metric, count in above.items():
        ratio = smallest_ratio(count, scenarios, settings)
        word = "from none only" if count == 0 else "nothing" if ratio is None else f"{ratio:.2f} x"
        said.append(f"{metric} {word}")
    return ", ".join(said)
