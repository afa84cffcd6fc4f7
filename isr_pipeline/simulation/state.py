"""The only writers of a replica's log end, its high watermark and, on a leader, its ISR.

Fetches pass over partitions in which nothing has moved (`shortcuts.dirty`), so every move has to be
noted. These three functions move and note; no other module assigns these cells
(`tests/simulation/test_fences.py`). A follower has no followers: its moves need no note.
"""

from __future__ import annotations

from isr_pipeline.simulation.shortcuts.depends import note_isr
from isr_pipeline.simulation.shortcuts.dirty import mark_followers_dirty, mark_isr_changed
from isr_pipeline.simulation.world.jit import hot
from isr_pipeline.simulation.world.layout import R_HW, R_IS_LEADER, R_ISR, R_LEO, R_PART


@hot
def set_log_end(w, r, leo):
    """The log of replica ``r`` ends at ``leo`` from now on."""
    w[r + R_LEO] = leo
    if w[r + R_IS_LEADER] == 1:
        mark_followers_dirty(w, r)


@hot
def set_high_watermark(w, r, hw):
    """The high watermark that replica ``r`` knows is ``hw`` from now on."""
    w[r + R_HW] = hw
    if w[r + R_IS_LEADER] == 1:
        mark_followers_dirty(w, r)


@hot
def set_isr(w, r, isr):
    """The leader ``r`` knows ``isr`` as the committed ISR from now on."""
    w[r + R_ISR] = isr
    note_isr(w, w[r + R_PART], isr)
    mark_isr_changed(w, r)
