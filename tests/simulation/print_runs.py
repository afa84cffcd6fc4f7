"""Print what short random scenarios give, one JSON line each.

`python -m tests.simulation.print_runs` is a process of its own, with or without the JIT; its lines
are compared with those of another. With `--visit-all`, which needs the JIT to be off, no partition
of a fetch is passed over.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from isr_pipeline.errors import BudgetSpent
from isr_pipeline.kafka import record
from isr_pipeline.scenarios.encoder import encode
from isr_pipeline.scenarios.model import Scenario, parse_scenario
from isr_pipeline.scenarios.run import advance, run
from isr_pipeline.simulation import broker, follower
from isr_pipeline.simulation import layout as at
from isr_pipeline.simulation.kinds import rows_of
from tests.simulation.random_scenarios import FromSeed, raw_scenario

SEEDS = range(24)
BUDGET = 8000
HORIZON_MS = 2000  # in plain Python the kernel does some ten thousand events a second


def pass_none(*places: int) -> int:
    """Pass over no partition of a fetch: the first one left is the first."""
    return places[-1]


def entries_of(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The entries of all fetches in a world."""
    candidates = rows_of(w, at.H_THR, int(w[at.H_THREADS]), at.T_SIZE)[:, at.T_CANDS].sum()
    return rows_of(w, at.H_ENT, int(candidates) * at.REQS_PER_THREAD, at.E_SIZE)


def lines() -> Iterator[str]:
    """What each scenario gives."""
    for seed in SEEDS:
        raw = raw_scenario(FromSeed(seed), horizons=(HORIZON_MS,))
        raw["warmup_ms"] = 0
        scenario = parse_scenario(raw, f"seed {seed}")
        try:
            done = run(scenario, events=True, budget=BUDGET)
        except BudgetSpent as error:
            yield str(error)
        else:
            known = known_at_the_end(scenario)
            yield json.dumps({"outcome": done.outcome, "events": done.events, "known": known})


def known_at_the_end(scenario: Scenario) -> list[list[list[int]]]:
    """What leaders know of followers at the horizon, everybody's LEO and HW, the last answers."""
    world = encode(scenario)
    advance(world)
    w = world.w
    replicas = rows_of(w, at.H_ROW, int(w[at.H_ROWS]), at.R_SIZE)
    times = (record.LEO, record.LAST_CAUGHT_UP, record.PREV_LEADER_LEO, record.LAST_FETCH)
    return [
        world.rec[:, times].tolist(),
        replicas[:, (at.R_LEO, at.R_HW)].tolist(),
        entries_of(w)[:, (at.E_OFFSET, at.E_HW)].tolist(),
    ]


if __name__ == "__main__":
    if "--visit-all" in sys.argv:
        broker._pass_settled = broker.next_news = follower.next_news = pass_none
    for line in lines():
        print(line)  # noqa: T201 - its output is its purpose
