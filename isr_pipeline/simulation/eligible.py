"""Replicas on brokers that are neither fenced nor in controlled shutdown, kept for each partition.

A high watermark asks for them with every move of a log's end, and they change with a broker only.
"""

from __future__ import annotations

from isr_pipeline.kafka.session import is_active
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.tables import Broker, Partition, World


@compiled
def is_eligible(broker: Broker) -> bool:
    """Whether the controller lets replicas on ``broker`` into an ISR."""
    return is_active(broker.is_fenced, broker.is_stopping)


@compiled
def eligible_now(partition: Partition) -> int:
    """Mask of the eligible replicas of ``partition``, from their brokers."""
    mask = 0
    for pos in range(partition.replication_factor):
        mask |= is_eligible(partition.replicas[pos].broker) << pos
    return mask


@compiled
def note_eligible(world: World) -> None:
    """A broker's standing with the controller has changed."""
    for i in range(world.partition_count):
        partition = world.partitions[i]
        partition.eligible = eligible_now(partition)
