"""What of its configuration a run's course has depended on.

Two configurations of a scenario often lead to the very same run: a limit that no read reaches, an
election that never takes place. So that such a run is simulated once (see `scenarios.shared`), the
kernel notes where a setting decided something: G_LEAST_ISR, G_LONGEST_READ and, in G_DEPENDS, one
bit a question. Whoever adds a place that reads one of those settings notes it here as well.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import size_of
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    DEP_OUTSIDE,
    G_DEPENDS,
    G_LEAST_ISR,
    G_LONGEST_READ,
    P_RF,
)


@compiled
def note(w, question):
    """Something was decided by the setting behind ``question`` (a DEP_ bit)."""
    w[G_DEPENDS] |= question


@compiled
def note_isr(w, p, isr):
    """Partition ``p`` has, or may get, this ISR: min.insync.replicas is compared with its size."""
    members = size_of(isr)
    w[G_LEAST_ISR] = min(w[G_LEAST_ISR], members)
    if members < w[p + P_RF]:
        w[G_DEPENDS] |= DEP_OUTSIDE


@compiled
def note_read(w, duration):
    """A follower's read takes so long: Solution 2's timer may fire before its end."""
    w[G_LONGEST_READ] = max(w[G_LONGEST_READ], duration)
