"""The moment 0 of a world: who has just become leader, and what happens first."""

from __future__ import annotations

from isr_pipeline.kafka.replica import create, reset
from isr_pipeline.simulation.world.cells import cells, records
from isr_pipeline.simulation.world.jit import compiled, entry
from isr_pipeline.simulation.world.layout import (
    H_MAX_RF,
    H_PART,
    H_PARTITIONS,
    H_ROWS,
    H_SLOTS,
    INF,
    P_ISR,
    P_LEADER,
    P_RF,
    P_ROW0,
    P_SIZE,
    R_LEO,
    R_REC0,
    R_SIZE,
)
from isr_pipeline.simulation.world.queue import key, leaf, refill, slot_of


@compiled
def _leaders_begin(w, rec, rules):
    """Every leader has just become one, of the ISR that its partition begins with."""
    for row in range(w[H_ROWS] * w[H_MAX_RF]):
        create(rules, rec, row, 0)
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        leader = w[p + P_ROW0] + w[p + P_LEADER] * R_SIZE
        leo = w[leader + R_LEO]
        for pos in range(w[p + P_RF]):
            if pos != w[p + P_LEADER]:
                in_isr = (w[p + P_ISR] >> pos) & 1 != 0
                reset(rules, rec, w[leader + R_REC0] + pos, leo, leo, True, in_isr, 0)


@compiled
def _plan(w, due):
    """The first key of every slot."""
    for number in range(w[H_SLOTS]):
        slot = slot_of(w, number)
        w[leaf(slot)] = key(slot, min(due[number], INF))
    refill(w)


@entry
def begin_world(w, rec, rules, due):
    """Fill in the leaders' records and the winner tree.

    Args:
        w: the world, with everything else in it.
        rec: the leaders' records in it.
        rules: the switches.
        due: when each slot fires first, in microseconds, by its number.
    """
    _leaders_begin(cells(w), records(rec), cells(rules))
    _plan(cells(w), cells(due))
