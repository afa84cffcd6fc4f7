"""Handle plain fetches with partitions passed over, and partition by partition; compare.

`python -m tests.simulation.visit_both_ways` needs the JIT to be off. It runs a few scenarios and
stops at every step of a fetch that nothing stands against. What the leaders know is changed there
at random, in a copy, so that rare states come too; the step is then taken in both ways. Prints how
many fetches were compared; the first difference ends it with exit status 1.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from isr_pipeline.kafka import record
from isr_pipeline.scenarios.encoder import encode
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.scenarios.run import advance
from isr_pipeline.simulation import broker
from isr_pipeline.simulation import layout as at
from isr_pipeline.simulation.kinds import rows_of
from isr_pipeline.simulation.news import tell_followers
from tests.simulation.print_runs import entries_of, pass_none
from tests.simulation.random_scenarios import FromSeed, raw_scenario

ENOUGH = 600
"""Fetches of each kind."""
WITH_SKIPS = (broker._pass_settled, broker.next_news)
STEPS = {"_fetch_steps": at.D_REQ, "_completion_steps": at.D_CREQ}
"""Functions that step through a fetch, and where a handler names it."""


def shuffle(w: Any, rec: Any, q: int, chance: random.Random) -> None:
    """Change at random what leaders know of the followers that the fetch ``q`` speaks for."""
    cand = w[w[q + at.Q_OWNER] + at.T_CAND]
    for i in range(w[q + at.Q_N]):
        e = w[q + at.Q_ENT] + i * at.E_SIZE
        k = cand + i * at.K_SIZE
        offset, lr, row = w[e + at.E_OFFSET], w[k + at.K_LROW], w[k + at.K_REC]
        rec[row, record.LEO] = chance.choice((offset, offset, offset, offset - 10))
        rec[row, record.PREV_LEADER_LEO] = chance.choice((offset, offset, offset - 10, offset + 10))
        if chance.random() < 0.5:
            w[lr + at.R_HW] -= 10
            tell_followers(w, lr)
        if chance.random() < 0.2:
            w[lr + at.R_ISR] &= ~w[e + at.E_BIT]


def after(step: Any, skips: tuple[Any, Any], w: Any, *others: Any) -> Any:
    """The world after a step that begins with a copy of ``w``; what means nothing is left out."""
    w = w.copy()
    rec = records_of(w)
    before = broker._pass_settled, broker.next_news
    broker._pass_settled, broker.next_news = skips
    step(w, rec, *others)
    broker._pass_settled, broker.next_news = before
    rec[:, (record.START, record.LEO_TIME)] = 0
    entries_of(w)[:, at.E_LLEO] = 0
    return w


def records_of(w: Any) -> Any:
    """The records of followers in a world."""
    return rows_of(w, at.H_REC, int(w[at.H_ROWS] * w[at.H_MAX_RF]), record.N_FIELDS)


def compared(name: str, chance: random.Random, counts: dict[str, int]) -> Callable[..., Any]:
    """The stepping function ``name``, which tries its plain fetches both ways before."""
    step = getattr(broker, name)

    def both(w: Any, rec: Any, rules: Any, b: int, d: int) -> Any:
        q = w[d + STEPS[name]]
        if broker.is_plain(w, q) and counts[name] < ENOUGH:
            counts[name] += 1
            changed = w.copy()
            shuffle(changed, records_of(changed), q, chance)
            one = after(step, WITH_SKIPS, changed, rules, b, d)
            other = after(step, (pass_none, pass_none), changed, rules, b, d)
            cells = np.flatnonzero(one != other)
            if len(cells):
                sys.exit(f"{name}, fetch {counts[name]}: cells {cells.tolist()} differ")
        return step(w, rec, rules, b, d)

    return both


def main() -> None:
    """Run scenarios until enough fetches are compared."""
    chance = random.Random(4)
    counts = dict.fromkeys(STEPS, 0)
    for name in STEPS:
        setattr(broker, name, compared(name, chance, counts))
    seed = 0
    while min(counts.values()) < ENOUGH:
        raw = raw_scenario(FromSeed(seed), horizons=(2000,))
        raw["cluster"]["release"] = ("3.3-3.6", "3.7+")[seed % 2]
        advance(encode(parse_scenario(raw, f"seed {seed}"), jumps=False))
        seed += 1
    print(counts)  # noqa: T201 - its output is its purpose


if __name__ == "__main__":
    main()
