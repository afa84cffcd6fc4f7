"""Validated fetches: no entry of theirs can fail a check, so none is checked again."""

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
