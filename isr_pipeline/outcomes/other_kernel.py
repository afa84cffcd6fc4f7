"""Pairs simulated by a kernel of another day, as rows of today's outcomes table."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from isr_pipeline.errors import Refused
from isr_pipeline.outcomes.pairs import ROWS_AT_ONCE, outcome_row
from isr_pipeline.scenarios.model import scenario_from_json
from isr_pipeline.worlds.columns import COLUMNS
from isr_pipeline.worlds.results import failed_outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isr_pipeline.experiment.configurations import Configuration
    from isr_pipeline.kernels.process import Kernel, Ran

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
    """What a kernel answered, if it has today's columns.

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
    if missing:
        raise Refused(f"{name} does not measure {', '.join(missing[:3])}")
    return ran.outcome
