"""Handle validated fetches with partitions passed over, and partition by partition; compare.

`python -m tests.simulation.visit_both_ways` needs the JIT to be off. It runs a few scenarios and
stops at every step of a validated fetch. What the leaders know is changed there
at random, in a copy, so that rare states come too; the step is then taken in both ways: the other
one visits all, in the release's own order. Prints how many fetches were compared; the first
difference ends it with exit status 1.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from isr_pipeline.kafka import record
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation import fetches, handlers, purgatory
from isr_pipeline.simulation.shortcuts.dirty import (
    is_unchanged,
    is_validated,
    mark_changed,
    mark_followers_dirty,
)
from isr_pipeline.simulation.shortcuts.motions import rows_of
from isr_pipeline.simulation.shortcuts.pending import flush_all
from isr_pipeline.simulation.world import layout as at
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance
from tests.simulation.print_runs import entries_of, visit_all
from tests.simulation.random_scenarios import BUDGET, FromSeed, raw_scenario

ENOUGH = 3000
"""Fetches of each kind."""
A_SCENARIO = 60
"""At most so many of one scenario."""
KIP501 = ("none", "s1-doc", "s1-pr", "s2", "none")
STEPS = {"fetch_steps": at.D_REQ, "_completion_steps": at.D_CREQ}
"""Functions that step through a fetch, and where a handler names it."""
MODULES = (fetches, purgatory, handlers)
"""Modules that hold or call them."""


def shuffle(w: Any, rec: Any, q: int, chance: random.Random) -> None:
    """Change at random what leaders know of the followers that the fetch ``q`` speaks for."""
    t = w[q + at.Q_OWNER]
    for i in range(w[q + at.Q_N]):
        e = w[q + at.Q_ENT] + i * at.E_SIZE
        k = w[t + at.T_FETCHED] + i * at.K_SIZE
        offset, lr, row = w[e + at.E_OFFSET], w[k + at.K_LROW], w[k + at.K_REC]
        rec[row, record.LEO] = chance.choice((offset, offset, offset, offset - 10))
        rec[row, record.PREV_LEADER_LEO] = chance.choice((offset, offset, offset - 10, offset + 10))
        if chance.random() < 0.5:
            w[lr + at.R_HW] -= 10
            mark_followers_dirty(w, lr)
        if chance.random() < 0.2:
            w[lr + at.R_ISR] &= ~w[e + at.E_BIT]
        if not is_unchanged(w, rec, e, k):
            mark_changed(w, t, i)


def after(step: Any, skips: bool, w: Any, rules: Any, *others: Any) -> Any:
    """The world after a step that begins with a copy of ``w``; what means nothing is left out."""
    w = w.copy()
    rec = records_of(w)
    with nullcontext() if skips else visit_all():
        step(w, rec, rules, *others)
    flush_all(w, rec, rules)
    rec[:, (record.START, record.LEO_TIME)] = 0
    for row in rec:
        in_order_of_offsets(row)
    entries_of(w)[:, at.E_LLEO] = 0
    w[w[at.H_MASKS] + at.W_UNCHANGED : w[at.H_OF_BROKER] : at.W_SIZE] = 0
    return w


def in_order_of_offsets(row: Any) -> None:
    """Forget the offsets that nothing is pending at, and in which order the others came."""
    offsets = row[record.PENDING_OFFSET_0 : record.PENDING_COUNT_0]
    counts = row[record.PENDING_COUNT_0 :][: record.PENDING_SLOTS]
    offsets[counts == 0] = 0
    order = np.lexsort((counts, offsets))
    offsets[:] = offsets[order]
    counts[:] = counts[order]


def records_of(w: Any) -> Any:
    """The records of followers in a world."""
    return rows_of(w, at.H_REC, int(w[at.H_ROWS] * w[at.H_MAX_RF]), record.N_FIELDS)


def compared(
    name: str, chance: random.Random, counts: dict[str, int], most: dict[str, int]
) -> Callable[..., Any]:
    """The stepping function ``name``, which tries so many validated fetches both ways before."""
    step = next(getattr(module, name) for module in MODULES if hasattr(module, name))

    def both(w: Any, rec: Any, rules: Any, b: int, d: int) -> Any:
        q = w[d + STEPS[name]]
        if is_validated(w, q) and counts[name] < most[name]:
            counts[name] += 1
            changed = w.copy()
            shuffle(changed, records_of(changed), q, chance)
            one = after(step, True, changed, rules, b, d)
            other = after(step, False, changed, rules, b, d)
            cells = np.flatnonzero(one != other)
            if len(cells):
                sys.exit(f"{name}, fetch {counts[name]}: cells {cells.tolist()} differ")
        return step(w, rec, rules, b, d)

    return both


def main() -> None:
    """Run scenarios until enough fetches are compared."""
    chance = random.Random(4)
    counts = dict.fromkeys(STEPS, 0)
    most = dict.fromkeys(STEPS, 0)
    for name in STEPS:
        both = compared(name, chance, counts, most)
        for module in MODULES:
            if hasattr(module, name):
                setattr(module, name, both)
    releases = set()
    seed = 0
    while min(counts.values()) < ENOUGH:
        most.update({name: min(counts[name] + A_SCENARIO, ENOUGH) for name in STEPS})
        raw = raw_scenario(FromSeed(seed), horizons=(2000,))
        raw["rules"] = {"kip501": KIP501[seed % len(KIP501)]}
        raw["config"]["follower.fetch.pending.reads.insync.enable"] = True
        scenario = parse_scenario(raw, f"seed {seed}")
        releases.add(scenario.cluster.release)
        advance(encode(scenario, jumps=False, budget=BUDGET))
        seed += 1
    print(counts, sorted(releases))  # noqa: T201 - its output is its purpose


if __name__ == "__main__":
    main()
