"""Validated fetches: no entry of theirs can fail a check, so none is checked again.

Only a rare event (`World.rare_events`) or an error of the thread itself can change that.
Invariant 24 of the debug build and tests/simulation/visit_both_ways.py compare.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import Request, World


@compiled
def is_validated(world: World, request: Request) -> bool:
    """Whether no entry of the fetch can fail a check, so that none needs checking again.

    All passed when it was sent (see `follower.fetch_next`), and since then only events of requests
    have happened, which cannot make one fail.
    """
    return request.validated_at == world.rare_events
