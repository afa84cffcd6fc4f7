"""The only writers of a replica's log end, its high watermark and, on a leader, its ISR.

Fetches pass over partitions in which nothing has moved (`shortcuts.dirty`), so every move has to be
noted. These three functions move and note; no other module assigns these cells
(`tests/simulation/test_fences.py`). A follower has no followers: its moves need no note.
"""

from __future__ import annotations

from isr_pipeline.simulation.shortcuts.depends import note_isr
from isr_pipeline.simulation.shortcuts.dirty import mark_followers_dirty, mark_isr_changed
from isr_pipeline.simulation.world.jit import hot
from isr_pipeline.simulation.world.tables import Replica, World


@hot
def set_log_end(replica: Replica, leo: int) -> None:
    """The log of ``replica`` ends at ``leo`` from now on."""
    replica.log_end_offset = leo
    if replica.is_leader:
        mark_followers_dirty(replica)


@hot
def set_high_watermark(replica: Replica, hw: int) -> None:
    """The high watermark that ``replica`` knows is ``hw`` from now on."""
    replica.high_watermark = hw
    if replica.is_leader:
        mark_followers_dirty(replica)


@hot
def set_isr(world: World, leader: Replica, isr: int) -> None:
    """``leader`` knows ``isr`` as the committed ISR from now on."""
    leader.isr = isr
    note_isr(world, leader.partition, isr)
    mark_isr_changed(leader)
