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

from isr_pipeline.kafka.rows import Array, counterpart
from isr_pipeline.scenarios.model import parse_scenario
from isr_pipeline.simulation import fetches, handlers, purgatory
from isr_pipeline.simulation.shortcuts.validated import is_validated
from isr_pipeline.simulation.world.columns import table_of
from isr_pipeline.simulation.world.tables import Broker, Handler, Request, World
from isr_pipeline.worlds.encoder import encode
from isr_pipeline.worlds.run import advance
from tests.simulation.print_runs import visit_all
from tests.simulation.random_scenarios import BUDGET, FromSeed, raw_scenario

ENOUGH = 1500
"""Fetches of each kind."""
A_SCENARIO = 60
"""At most so many of one scenario."""
KIP501 = ("none", "s1-doc", "s1-pr", "s2", "none")
STEPS = {"fetch_steps": "request", "_completion_steps": "completing"}
"""Functions that step through a fetch, and where a handler names it."""
MODULES = (fetches, purgatory, handlers)
"""Modules that hold or call them."""


def shuffle(request: Request, chance: random.Random) -> None:
    """Change at random what leaders know of the followers that a fetch speaks for."""
    thread = request.thread
    for i in range(request.entry_count):
        entry, fetched = request.entries[i], thread.fetched[i]
        offset, leader, record = entry.offset, fetched.leader, fetched.record
        record.log_end_offset = chance.choice((offset, offset, offset, offset - 10))
        record.last_fetch_leader_log_end_offset = chance.choice(
            (offset, offset, offset - 10, offset + 10)
        )
        if chance.random() < 0.5:
            leader.high_watermark -= 10
        if chance.random() < 0.2:
            leader.isr &= ~entry.bit


def array_of(world: World) -> Array:
    """The array of a world, of which its header is a view."""
    return np.frombuffer(world.memory, dtype=np.int64)


def after(step: Any, skips: bool, world: World, rules: Any, *rows: Any) -> Array:
    """The array after a step that begins with a copy of it; what means nothing is left out."""
    w = array_of(world).copy()
    copy = World(w)
    with nullcontext() if skips else visit_all():
        step(copy, rules, *(counterpart(row, copy) for row in rows))
    followers = table_of(w, "followers")
    followers["log_start_offset"] = followers["log_end_offset_time"] = 0
    for offsets, counts in zip(
        followers["pending_offsets"], followers["pending_counts"], strict=True
    ):
        in_order_of_offsets(offsets, counts)
    table_of(w, "entries")["leader_end"] = 0
    return w


def in_order_of_offsets(offsets: Array, counts: Array) -> None:
    """Forget the offsets that nothing is pending at, and in which order the others came."""
    offsets[counts == 0] = 0
    order = np.lexsort((counts, offsets))
    offsets[:] = offsets[order]
    counts[:] = counts[order]


def compared(
    name: str, chance: random.Random, counts: dict[str, int], most: dict[str, int]
) -> Callable[..., Any]:
    """The stepping function ``name``, which tries so many validated fetches both ways before."""
    step = next(getattr(module, name) for module in MODULES if hasattr(module, name))

    def both(world: World, rules: Any, broker: Broker, handler: Handler) -> Any:
        request = getattr(handler, STEPS[name])
        if is_validated(world, request) and counts[name] < most[name]:
            counts[name] += 1
            changed = World(array_of(world).copy())
            shuffle(counterpart(request, changed), chance)
            here = [counterpart(row, changed) for row in (broker, handler)]
            one = after(step, True, changed, rules, *here)
            other = after(step, False, changed, rules, *here)
            cells = np.flatnonzero(one != other)
            if len(cells):
                sys.exit(f"{name}, fetch {counts[name]}: cells {cells.tolist()} differ")
        return step(world, rules, broker, handler)

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
