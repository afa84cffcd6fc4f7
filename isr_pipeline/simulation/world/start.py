"""The moment 0 of a world: who has just become leader, and what happens first."""

from __future__ import annotations

from isr_pipeline.kafka.releases import Rules
from isr_pipeline.kafka.replica import create, reset
from isr_pipeline.kafka.rows import Array, Cells, cells
from isr_pipeline.simulation.world.jit import compiled, entry
from isr_pipeline.simulation.world.queue import key, leaf, refill, slot_of
from isr_pipeline.simulation.world.tables import INF, World, rules_in, world_in


@compiled
def _leaders_begin(world: World, rules: Rules) -> None:
    """Every leader has just become one, of the ISR that its partition begins with."""
    for number in range(world.replica_count * world.replicas_max):
        create(rules, world.followers[number], 0)
    for i in range(world.partition_count):
        partition = world.partitions[i]
        leader = partition.replicas[partition.leader]
        for pos in range(partition.replication_factor):
            if pos != partition.leader:
                in_isr = (partition.isr >> pos) & 1 != 0
                reset(rules, leader.followers[pos], leader, True, in_isr, 0)


@compiled
def _plan(world: World, due: Cells) -> None:
    """The first key of every slot."""
    for number in range(world.slot_count):
        slot = slot_of(world, number)
        world.tree[leaf(slot)] = key(slot, min(due[number], INF))
    refill(world)


@entry
def begin_world(w: Array, rules: Array, due: Array) -> None:
    """Fill in the leaders' records and the winner tree.

    Args:
        w: the world, with everything else in it.
        rules: the switches (`releases.as_cells`).
        due: when each slot fires first, in microseconds, by its number.
    """
    _leaders_begin(world_in(w), rules_in(rules))
    _plan(world_in(w), cells(due))
