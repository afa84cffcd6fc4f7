"""Print what short random scenarios give, one JSON line each.

`python -m tests.simulation.print_runs` is a process of its own, with or without the JIT; its lines
are compared with those of another.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.run import run
from tests.simulation.random_scenarios import FromSeed, raw_scenario

SEEDS = range(14)
BUDGET = 8000
HORIZON_MS = 2000  # in plain Python the kernel does some ten thousand events a second


def lines() -> Iterator[str]:
    """What each scenario gives."""
    for seed in SEEDS:
        raw = raw_scenario(FromSeed(seed), horizons=(HORIZON_MS,))
        raw["warmup_ms"] = 0
        try:
            done = run(parse_scenario(raw, f"seed {seed}"), events=True, budget=BUDGET)
        except BudgetSpent as error:
            yield str(error)
        else:
            yield json.dumps({"outcome": done.outcome, "events": done.events})


if __name__ == "__main__":
    for line in lines():
        print(line)  # noqa: T201 - its output is its purpose
