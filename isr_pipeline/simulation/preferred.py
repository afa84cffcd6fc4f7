"""leader.imbalance.check: preferred leaders take over again."""

from __future__ import annotations

from isr_pipeline.kafka.preferred import (
    NEXT_GO_US,
    go_limit,
    moves_back,
    waits_for_imbalance,
)
from isr_pipeline.simulation.controller import elect_preferred, plan_check
from isr_pipeline.simulation.measures import row_of
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_SIZE,
    C_IMBALANCE,
    C_REBALANCE,
    G_CTL_OUT_UNTIL,
    G_NOW,
    H_BRK,
    H_BROKERS,
    H_PART,
    H_PARTITIONS,
    H_SLOT_REBALANCE,
    P_LEADER,
    P_PREFERRED,
    P_SIZE,
    R_BROKER,
)
from isr_pipeline.simulation.world.queue import cancel, schedule


@compiled
def _prefers(w, p, b):
    """Whether the preferred replica of partition ``p`` is on broker ``b``."""
    return w[row_of(w, p, w[p + P_PREFERRED]) + R_BROKER] == b


@compiled
def _is_due(w, rules, b):
    """Whether broker ``b`` gets the leads back that it misses."""
    preferred = 0
    missing = 0
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        if _prefers(w, p, b):
            preferred += 1
            missing += w[p + P_LEADER] != w[p + P_PREFERRED]
    return missing > 0 and moves_back(rules, preferred, missing, w[C_IMBALANCE])


@compiled
def _give_back(w, rules):
    """One go over the brokers; True if as many leads were moved as one go may."""
    limit = go_limit(rules)
    moved = 0
    for k in range(w[H_BROKERS]):
        b = w[H_BRK] + k * B_SIZE
        if not _is_due(w, rules, b):
            continue
        for i in range(w[H_PARTITIONS]):
            p = w[H_PART] + i * P_SIZE
            if _prefers(w, p, b) and w[p + P_LEADER] != w[p + P_PREFERRED]:
                elect_preferred(w, rules, p)
                moved += w[p + P_LEADER] == w[p + P_PREFERRED]
                if moved == limit:
                    return True
    return False


@compiled
def check_fires(w, rules):
    """The check is due; while the controller is away it waits for it."""
    slot = w[H_SLOT_REBALANCE]
    if w[G_CTL_OUT_UNTIL] > w[G_NOW]:
        schedule(w, slot, w[G_CTL_OUT_UNTIL])
    elif _give_back(w, rules):
        schedule(w, slot, w[G_NOW] + NEXT_GO_US)
    elif waits_for_imbalance(rules):
        cancel(w, slot)
        plan_check(w, rules)
    else:
        schedule(w, slot, w[G_NOW] + w[C_REBALANCE])
