"""A panel simulated on this machine, without Spark; nothing is written."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import asdict
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from isr_pipeline.compiling import use_kernel_cache
from isr_pipeline.outcomes.pairs import simulate_pair
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.worlds.reuse import Simulations, reuse_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.scenarios.panels import ScenarioRow

    Outcomes = list[dict[str, Any]]
    Scenario = tuple[ScenarioRow, Sequence[Configuration]]
    Simulate = Callable[[Callable[[Scenario], Outcomes], Iterable[Scenario]], Iterator[Outcomes]]

REGRESSION = "regression"
"""The panel that baselines are compared on; it is the same every night."""


def simulate_scenario(given: Scenario) -> Outcomes:
    """Simulate a scenario under some configurations: rows of the outcomes table.

    Args:
        given: the scenario's row, and the configurations.

    Raises:
        RuntimeError: a simulation broke; names the pair.
    """
    drawn, configurations = given
    scenario = scenario_from_json(drawn.scenario_json)
    configured = [(apply(scenario, one.overrides), one) for one in configurations]
    runs = Simulations()
    return [
        simulate_pair(asdict(drawn), laid_over, one, runs)[0]
        for laid_over, one in sorted(configured, key=lambda pair: reuse_order(pair[0]))
    ]


@contextlib.contextmanager
def processes(count: int) -> Iterator[Simulate]:
    """What maps :func:`simulate_scenario` over scenarios, in their order.

    Args:
        count: processes that simulate at once; with 1 it is this one.
    """
    if count == 1:
        yield map
        return
    # spawn: numba's threads and caches do not like to be forked
    with get_context("spawn").Pool(count, initializer=_begin) as workers:
        yield workers.imap


def _begin() -> None:
    """Leave Ctrl-C to the process that waits for this one, and find the compiled kernel."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_kernel_cache()
