"""How long things take: packets between nodes, work on a broker, reads under faults.

A node is a broker's index, or the number of brokers for the controller.
"""

from __future__ import annotations

from isr_pipeline.simulation.world.jit import compiled
from isr_pipeline.simulation.world.layout import (
    B_APPEND,
    B_CPU,
    B_FAULT0,
    B_FAULTS,
    B_FAULTS_ON,
    B_READ,
    B_SEND,
    C_HALF_RTT,
    C_SEED,
    G_NOW,
    H_BROKERS,
    H_DISTANCE,
    H_FLT,
    H_FPART,
    H_LINK,
    H_PART,
    H_PARTITIONS,
    P_SIZE,
    X_ALL_PARTS,
    X_END,
    X_KIND,
    X_READS,
    X_SIZE,
    X_STAGE,
    X_START,
    X_VALUE,
)

READ_DIRECT = 1
READ_COMPLETION = 2
READ_VISIT = 4

MILLION = 1_000_000

# Numbers of the fault kinds that a read or an append looks up (X_KIND); `faults` has the others.
X_READ_STALL = 1
X_SLOW_READ = 2
X_SLOW_APPEND = 3


@compiled
def jitter(w, purpose, a, b, low, high):
    """A number in [low, high] that depends on the scenario's seed, the purpose and two entities.

    31-bit multiplications only, so that the JIT and plain Python agree.
    """
    h = (w[C_SEED] & 0x7FFFFFFF) ^ 0x2545F491
    for word in (purpose, a, b, w[C_SEED] >> 31):
        h = ((h ^ (word & 0x7FFFFFFF)) * 0x45D9F3B) & 0x7FFFFFFF
        h = ((h ^ (h >> 15)) * 0x2C1B3C6D) & 0x7FFFFFFF
        h ^= h >> 13
    if high <= low:
        return low
    return low + h % (high - low + 1)


@compiled
def link(w, a, b):
    """Pointer of the link from node ``a`` to node ``b``: added latency, end of its drop."""
    return w[H_LINK] + 2 * (a * (w[H_BROKERS] + 1) + b)


@compiled
def distance(w, a, b):
    """What the racks of two nodes add, one way, to the time between any two."""
    return w[w[H_DISTANCE] + a * (w[H_BROKERS] + 1) + b]


@compiled
def transit(w, way):
    """When a packet sent now on a link (its pointer) arrives.

    Across a dropped link it waits for the end of the drop: TCP sends again until it gets through.
    """
    return max(w[G_NOW], w[way + 1]) + w[C_HALF_RTT] + w[way]


@compiled
def service(w, b, time_us):
    """Service time on broker ``b`` (row pointer) with its CPU factor."""
    if w[b + B_CPU] == MILLION:
        return time_us
    return time_us * w[b + B_CPU] // MILLION


@compiled
def _touches(w, x, fault, p):
    """Whether fault ``x`` (row pointer, number ``fault``) concerns partition ``p`` now."""
    now = w[G_NOW]
    if now < w[x + X_START] or now >= w[x + X_END]:
        return False
    if w[x + X_ALL_PARTS] == 1:
        return True
    return w[w[H_FPART] + fault * w[H_PARTITIONS] + (p - w[H_PART]) // P_SIZE] == 1


@compiled
def _faults(w, b):
    """How many faults of disk and log of broker ``b`` to look through: none if none goes on."""
    return w[b + B_FAULTS] if w[b + B_FAULTS_ON] > 0 else 0


@compiled
def read_end(w, b, p, kind, stage, has_data):
    """When a read of partition ``p`` on broker ``b`` that begins now ends.

    ``kind`` is READ_DIRECT or READ_COMPLETION; a fetch handler's visit that finds no data takes no
    time unless a fault stalls visits. ``stage`` 0 is the handler, 1 the send.
    """
    now = w[G_NOW]
    cost = w[b + B_SEND]
    if stage == 0:
        cost = w[b + B_READ] if has_data else 0
    stalled_until = now
    for k in range(w[b + B_FAULT0], w[b + B_FAULT0] + _faults(w, b)):
        fault = w[k]
        x = w[H_FLT] + fault * X_SIZE
        if w[x + X_STAGE] != stage:
            continue
        if w[x + X_KIND] == X_SLOW_READ:
            if has_data and _touches(w, x, fault, p):
                cost = max(cost, w[x + X_VALUE])
        elif w[x + X_KIND] == X_READ_STALL and _touches(w, x, fault, p):
            reads = w[x + X_READS]
            if stage == 1:
                meets = has_data
            elif has_data:
                meets = (reads & kind) != 0 or (kind == READ_DIRECT and (reads & READ_VISIT) != 0)
            else:
                meets = kind == READ_DIRECT and (reads & READ_VISIT) != 0
            if meets:
                stalled_until = max(stalled_until, w[x + X_END])
    return max(now + service(w, b, cost), stalled_until)


@compiled
def append_end(w, b, p):
    """When a follower append to partition ``p`` on broker ``b`` that begins now ends."""
    cost = w[b + B_APPEND]
    for k in range(w[b + B_FAULT0], w[b + B_FAULT0] + _faults(w, b)):
        fault = w[k]
        x = w[H_FLT] + fault * X_SIZE
        if w[x + X_KIND] == X_SLOW_APPEND and _touches(w, x, fault, p):
            cost = max(cost, w[x + X_VALUE])
    return w[G_NOW] + service(w, b, cost)
