"""What of its configuration a run's course has depended on.

Two configurations of a scenario often lead to the very same run: a limit that no read reaches, an
election that never takes place. So that such a run is simulated once (see `worlds.reuse`), the
kernel notes where a setting decided something: G_LEAST_ISR, G_LONGEST_READ and, in G_DEPENDS, one
bit a question.

A setting in spite of which configurations may share a run (`worlds.reuse`) is read through
`setting`, `switch`, `min_isr`, `min_isr_for` or `may_elect_uncleanly` alone, which ask for the
question behind it or say who does;
`tests/simulation/test_fences.py` finds any other read.
"""

from __future__ import annotations

from isr_pipeline.kafka.partition import effective_min_isr, size_of
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    C_MIN_ISR,
    C_UNCLEAN,
    DEP_OUTSIDE,
    G_DEPENDS,
    G_LEAST_ISR,
    G_LONGEST_READ,
    P_MIN_ISR,
    P_RF,
    P_UNCLEAN,
    TOPIC_SILENT,
)

NOT_HERE = 0
"""The question of a read that by itself decides nothing: the place where it does notes it."""


@compiled
def setting(w, cell, question):
    """Value of a shareable setting (a C_ cell), and the question that it decides here."""
    w[G_DEPENDS] |= question
    return w[cell]


@compiled
def switch(w, rules, index, question):
    """Value of a shareable switch, and the question that it decides here."""
    w[G_DEPENDS] |= question
    return rules[index]


@compiled
def min_isr(w, rules, p):
    """min.insync.replicas of partition ``p`` as applied, to compare with a committed ISR or more.

    Every committed ISR is noted when it is set.
    """
    own = w[p + P_MIN_ISR]
    return effective_min_isr(rules, own if own > 0 else w[C_MIN_ISR], w[p + P_RF])


@compiled
def may_elect_uncleanly(w, p):
    """unclean.leader.election.enable of partition ``p``: its topic's own, else the configuration's.

    Who elects notes when nobody else could be elected.
    """
    own = w[p + P_UNCLEAN]
    return w[C_UNCLEAN] == 1 if own == TOPIC_SILENT else own == 1


@compiled
def min_isr_for(w, rules, p, isr):
    """The same, to compare with ``isr``, which is not committed yet."""
    note_isr(w, p, isr)
    return min_isr(w, rules, p)


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
