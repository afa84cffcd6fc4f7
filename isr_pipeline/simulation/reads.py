"""Reads of a leader's log for a fetch: how long they take, and when Solution 2 gives up on one."""

from __future__ import annotations

from isr_pipeline.kafka.kip501 import should_resign
from isr_pipeline.kafka.releases import KIP501, Kip501
from isr_pipeline.simulation.leader import leads_officially, resign
from isr_pipeline.simulation.log import data_end
from isr_pipeline.simulation.shortcuts.depends import NOT_HERE, note_read, setting, switch
from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_FETCH_MAX_BYTES,
    B_RESPONSE_MAX_BYTES,
    C_S2_COOLDOWN,
    C_S2_LIMIT,
    DEP_COOLDOWN,
    E_OFFSET,
    G_NOW,
    NEVER,
    P_ELIGIBLE,
    P_S2_LAST,
    Q_BYTES,
    Q_DATA,
    Q_OWNER,
    R_ISR,
    R_LEO,
    R_PART,
    R_POS,
    T_FOLLOWER,
)

_S2 = int(Kip501.S2)


@compiled
def plan_read(w, q, e, p, lr):
    """Where the read of entry ``e`` will end, within the request's byte limits."""
    follower = w[w[q + Q_OWNER] + T_FOLLOWER]
    room = w[follower + B_RESPONSE_MAX_BYTES] - w[q + Q_BYTES]
    if room <= 0 and w[q + Q_DATA] == 1:
        return w[e + E_OFFSET]
    limit = min(w[follower + B_FETCH_MAX_BYTES], max(room, 0))
    end, size = data_end(w, p, w[e + E_OFFSET], w[lr + R_LEO], limit)
    if size > limit and w[q + Q_DATA] == 1:
        return w[e + E_OFFSET]  # only the first batch of a response may exceed the limit
    w[q + Q_BYTES] += size
    return end


@compiled
def s2_alarm(w, rules, end):
    """When the slot of a read that ends at ``end`` fires: earlier if Solution 2's timer does."""
    note_read(w, end - w[G_NOW])
    if switch(w, rules, KIP501, NOT_HERE) == _S2:
        return min(end, w[G_NOW] + setting(w, C_S2_LIMIT, NOT_HERE))
    return end


@compiled
def s2_timer(w, rec, rules, lr):
    """Solution 2's timer has fired for a read of ``lr``: resign if anybody could take over."""
    p = w[lr + R_PART]
    others = w[lr + R_ISR] & w[p + P_ELIGIBLE] & ~(1 << w[lr + R_POS])
    asked = DEP_COOLDOWN if w[p + P_S2_LAST] > NEVER else NOT_HERE
    limit = setting(w, C_S2_LIMIT, NOT_HERE)
    if should_resign(
        rules,
        limit + 1,
        limit,
        others != 0,
        w[G_NOW] - w[p + P_S2_LAST],
        setting(w, C_S2_COOLDOWN, asked),
    ):
        if leads_officially(w, lr):
            w[p + P_S2_LAST] = w[G_NOW]
            resign(w, rec, rules, lr, False)
