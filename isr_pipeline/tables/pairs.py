"""Pairs of a scenario and a configuration: cut into tasks, simulated, turned into rows.

Nothing here knows Spark: a task is a list of scenarios and a list of configurations, its result
a stream of Arrow tables.

A kernel of another day gives rows of today's table, too, and a panel can be simulated on this
machine without Spark.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import json
import math
import re
import signal
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from isr_pipeline.base.compiling import use_kernel_cache
from isr_pipeline.base.errors import BudgetSpent, Refused
from isr_pipeline.scenarios.model import apply, scenario_from_json
from isr_pipeline.tables.events import Kept, event_table
from isr_pipeline.worlds.columns import ADDED, COLUMNS, METRICS
from isr_pipeline.worlds.reuse import Simulations, reuse_order
from isr_pipeline.worlds.run import failed_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.kernels.process import Kernel, Ran
    from isr_pipeline.scenarios.model import Scenario
    from isr_pipeline.scenarios.panels import ScenarioRow
    from isr_pipeline.worlds.events import Events

    Outcomes = list[dict[str, Any]]
    Asked = tuple[ScenarioRow, Sequence[Configuration]]
    Simulate = Callable[[Callable[[Asked], Outcomes], Iterable[Asked]], Iterator[Outcomes]]

ROWS_AT_ONCE = 256
"""Rows that wait in a worker before they are written."""

EVENTS_AT_ONCE = 20_000
"""Events that wait in a worker before they are written."""

EVENTS_PER_PAIR = 5_000
"""Events kept of one pair: the first ones."""

_SAMPLED_ONE_IN = 64


@dataclass(frozen=True, slots=True)
class Task:
    """Scenarios (by place in their panel) times configurations (by place in a list)."""

    scenarios: tuple[int, ...]
    configurations: tuple[int, ...]
    cost: float

    @property
    def pairs(self) -> int:
        """How many pairs it simulates."""
        return len(self.scenarios) * len(self.configurations)


def plan_tasks(costs: Sequence[float], configurations: int, wanted: int) -> list[Task]:
    """Cut scenarios x configurations into tasks of similar cost, the dearest first.

    A task holds all configurations of its scenarios as long as there are enough scenarios to
    make the wanted number of tasks: a scenario is then read and prepared once.

    Args:
        costs: expected cost of each scenario of the panel, in order, in any unit.
        configurations: how many configurations.
        wanted: about how many tasks.
    """
    if not costs or not configurations:
        return []
    blocks = max(1, min(len(costs), wanted))
    groups = max(1, min(configurations, math.ceil(wanted / blocks)))
    tasks = [
        Task(tuple(block), tuple(group), cost * len(group))
        for cost, block in _blocks(costs, blocks)
        for group in (range(start, configurations, groups) for start in range(groups))
    ]
    return sorted(tasks, key=lambda task: (-task.cost, task.scenarios, task.configurations))


def _blocks(costs: Sequence[float], count: int) -> list[tuple[float, list[int]]]:
    """Blocks of scenarios of similar total cost: each scenario, dearest first, to the cheapest."""
    heap: list[tuple[float, int]] = [(0.0, number) for number in range(count)]
    blocks: list[list[int]] = [[] for _ in range(count)]
    for index in sorted(range(len(costs)), key=lambda index: (-costs[index], index)):
        total, number = heapq.heappop(heap)
        blocks[number].append(index)
        heapq.heappush(heap, (total + costs[index], number))
    return [(total, sorted(blocks[number])) for total, number in sorted(heap) if blocks[number]]


def simulate(
    scenarios: pa.Table,
    configurations: Sequence[Configuration],
    schemas: Mapping[str, pa.Schema],
    done: Callable[[int, float], None],
) -> Iterator[tuple[str, pa.Table]]:
    """Simulate every scenario under every configuration.

    Args:
        scenarios: rows of the scenarios table.
        configurations: what to override in each.
        schemas: Arrow schemas of the tables ``outcomes`` and ``events``.
        done: told after each scenario: pairs finished, and their expected cost.

    Yields:
        Rows of one of these tables, with its name, of bounded size.
    """
    rows: list[dict[str, Any]] = []
    kept: list[Kept] = []
    waiting_events = 0
    order: list[int] = []
    runs = Simulations()
    for given in scenarios.to_pylist():
        scenario = scenario_from_json(given["scenario_json"])
        configured = [apply(scenario, c.overrides) for c in configurations]
        order = order or sorted(range(len(configured)), key=lambda i: reuse_order(configured[i]))
        runs = Simulations(spare=runs.spare)
        for i in order:
            row, events = simulate_pair(given, configured[i], configurations[i], runs)
            rows.append(row)
            if events is not None:
                kept.append(Kept(row["panel"], row["scenario_id"], row["config_id"], events))
                waiting_events += len(events.rows)
            if len(rows) >= ROWS_AT_ONCE:
                yield "outcomes", pa.Table.from_pylist(rows, schema=schemas["outcomes"])
                rows = []
            if waiting_events >= EVENTS_AT_ONCE:
                yield "events", event_table(kept, schemas["events"])
                kept, waiting_events = [], 0
        done(len(configurations), given["expected_cost"] * len(configurations))
    yield "outcomes", pa.Table.from_pylist(rows, schema=schemas["outcomes"])
    yield "events", event_table(kept, schemas["events"])


def simulate_pair(
    given: Mapping[str, Any], configured: Scenario, configuration: Configuration, runs: Simulations
) -> tuple[dict[str, Any], Events | None]:
    """Simulate one pair, unless another configuration's result can be reused.

    A pair that spends its event budget is a row with ``failed`` = 1 and no values.

    Args:
        given: the scenario's row.
        configured: the same, parsed, with the configuration laid over it.
        configuration: which one that is.
        runs: simulations of the scenario under other configurations.

    Returns:
        Its row of the outcomes table; its events, if they are to be kept.

    Raises:
        RuntimeError: the simulation broke; names the pair.
    """
    kept: Events | None = None
    outcome: dict[str, float | int | None]
    try:
        outcome, events = runs.result_for(configured)
        if is_notable(outcome) or is_sampled(configured.scenario_id, configuration.config_id):
            kept = events.first(EVENTS_PER_PAIR)
    except BudgetSpent as spent:
        outcome = failed_outcome(configured.horizon_ms, spent.budget)
    except Exception as error:
        pair = f"scenario {configured.scenario_id}, configuration {configuration.name}"
        msg = f"{pair}: {type(error).__name__}: {error}"
        raise RuntimeError(msg) from error
    return outcome_row(given, configuration, outcome), kept


def outcome_row(
    given: Mapping[str, Any],
    configuration: Configuration,
    outcome: Mapping[str, float | int | None],
) -> dict[str, Any]:
    """The row of a pair in the outcomes table.

    Args:
        given: the scenario's row.
        configuration: which one.
        outcome: what the kernel measured.
    """
    return {
        "panel": given["panel"],
        "scenario_id": given["scenario_id"],
        "config_id": configuration.config_id,
        "config_name": configuration.name,
        "stratum": given["stratum"],
        "weight": given["weight"],
        **{column.name: outcome[column.name] for column in COLUMNS},
    }


def is_notable(outcome: Mapping[str, float | int | None]) -> bool:
    """Tell whether a pair's events are kept for what happened: offline, unclean or lost data."""
    return any(outcome[metric.top] for metric in METRICS.values() if metric.never)


def is_sampled(scenario_id: str, config_id: str) -> bool:
    """Tell whether a pair's events are kept as one of a fixed sample, whatever happened."""
    pair = hashlib.sha256(f"{scenario_id}\n{config_id}".encode()).digest()
    return int.from_bytes(pair[:8], "big") % _SAMPLED_ONE_IN == 0


_SPENT = re.compile(r"BudgetSpent: .*event budget of (\d+) events")


def simulate_by(
    kernel: Kernel,
    scenarios: pa.Table,
    configurations: Sequence[Configuration],
    schema: pa.Schema,
    done: Callable[[int, float], None],
) -> Iterator[tuple[str, pa.Table]]:
    """Simulate every scenario under every configuration, without events.

    Args:
        kernel: of the baseline.
        scenarios: rows of the scenarios table.
        configurations: what to override in each.
        schema: Arrow schema of the table ``outcomes``.
        done: told after each scenario: pairs finished, and their expected cost.

    Yields:
        ``outcomes`` with rows of bounded size.

    Raises:
        Refused: the kernel cannot run a scenario, or measures less than today's does.
    """
    rows: list[dict[str, Any]] = []
    for given in scenarios.to_pylist():
        scenario = scenario_from_json(given["scenario_json"])
        written = json.loads(given["scenario_json"])
        for configuration in configurations:
            ran = kernel.run(written, configuration.overrides, events=False)
            outcome = outcome_of(kernel.name, scenario.scenario_id, scenario.horizon_ms, ran)
            rows.append(outcome_row(given, configuration, outcome))
        if len(rows) >= ROWS_AT_ONCE:
            yield "outcomes", pa.Table.from_pylist(rows, schema=schema)
            rows = []
        done(len(configurations), given["expected_cost"] * len(configurations))
    yield "outcomes", pa.Table.from_pylist(rows, schema=schema)


def outcome_of(name: str, scenario_id: str, horizon_ms: float, ran: Ran) -> Mapping[str, Any]:
    """What a kernel answered, if it has the columns that its release had.

    Args:
        name: of the kernel, for the error.
        scenario_id: likewise.
        horizon_ms: of the scenario.
        ran: the answer.

    Raises:
        Refused: it is no outcome, or not a whole one.
    """
    spent = _SPENT.search(ran.problem)
    if spent:
        return failed_outcome(horizon_ms, int(spent[1]))
    if ran.problem:
        raise Refused(f"{name} cannot run scenario {scenario_id}: {ran.problem}")
    missing = [column.name for column in COLUMNS if column.name not in ran.outcome]
    if lacking := [one for one in missing if one not in ADDED]:
        raise Refused(f"{name} does not measure {', '.join(lacking[:3])}")
    return {**ran.outcome, **dict.fromkeys(missing)}


def simulate_scenario(given: Asked) -> Outcomes:
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
