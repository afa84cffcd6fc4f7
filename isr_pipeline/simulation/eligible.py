"""Replicas on brokers that are neither fenced nor in controlled shutdown, kept for each partition.

A high watermark asks for them with every move of a log's end, and they change with a broker only.
"""

from __future__ import annotations

from isr_pipeline.kafka.session import is_active
from isr_pipeline.simulation.measures import row_of
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_FENCED,
    B_STOPPING,
    H_PART,
    H_PARTITIONS,
    P_ELIGIBLE,
    P_RF,
    P_SIZE,
    R_BROKER,
)


@compiled
def is_eligible(w, b):
    """Whether the controller lets replicas on broker ``b`` into an ISR."""
    return is_active(w[b + B_FENCED] == 1, w[b + B_STOPPING] == 1)


@compiled
def eligible_now(w, p):
    """Mask of the eligible replicas of partition ``p``, from their brokers."""
    mask = 0
    for pos in range(w[p + P_RF]):
        mask |= is_eligible(w, w[row_of(w, p, pos) + R_BROKER]) << pos
    return mask


@compiled
def note_eligible(w):
    """A broker's standing with the controller has changed."""
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        w[p + P_ELIGIBLE] = eligible_now(w, p)
