"""A regression panel simulated in this process, without Spark: a forecast of a night's outcomes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from isr_pipeline.outcomes.pairs import simulate_pair
from isr_pipeline.scenarios.generator import draw_scenario
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.reuse import Simulations, reuse_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isr_pipeline.experiment.file import Experiment
    from isr_pipeline.experiment.grid import Configuration

REGRESSION = "regression"
"""The panel that baselines are compared on; it is the same every night."""


def simulate_panel(
    experiment: Experiment, configurations: Sequence[Configuration]
) -> Iterator[dict[str, Any]]:
    """Simulate an experiment's regression panel by the present code; nothing is written.

    Args:
        experiment: as read.
        configurations: those to simulate, of the experiment.

    Yields:
        Rows of the outcomes table, all configurations of a scenario one after another. As on a
        night, a pair that spends its event budget is a row with ``failed`` = 1.

    Raises:
        RuntimeError: a simulation broke; names the pair.
    """
    for index in range(experiment.panels.regression):
        drawn = draw_scenario(experiment.source, REGRESSION, index)
        scenario = scenario_from_json(drawn.scenario_json)
        configured = [(apply(scenario, one.overrides), one) for one in configurations]
        runs = Simulations()
        for laid_over, one in sorted(configured, key=lambda pair: reuse_order(pair[0])):
            yield simulate_pair(asdict(drawn), laid_over, one, runs)[0]
