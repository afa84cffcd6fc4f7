"""KIP-501's pending reads: noted in the leaders' records while a fetch is read and answered.

From the moment a handler starts a fetch, its reads count as pending for its partitions, until the
fetch is answered (or, by the pull request's rule, read).
"""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import begin_read, end_read
from isr_pipeline.kafka.releases import Rules
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import Request


@compiled
def note_pending(rules: Rules, request: Request) -> None:
    """The reads of the fetch ``request`` become pending, before any of its partitions is read."""
    request.pending = 1
    for i in range(request.entry_count):
        offset = request.entries[i].offset
        fetched = request.thread.fetched[i]
        if offset >= 0 and fetched.leader.is_leader:
            begin_read(rules, fetched.record, offset)


@compiled
def forget_pending(rules: Rules, request: Request) -> None:
    """None of the reads of the fetch ``request`` is pending any longer."""
    request.pending = 0
    for i in range(request.entry_count):
        offset = request.entries[i].offset
        if offset >= 0:
            end_read(rules, request.thread.fetched[i].record, offset)
