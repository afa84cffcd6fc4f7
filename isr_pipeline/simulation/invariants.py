"""What must hold after every event, in every scenario: checked by a debug build of the kernel.

`run_checked_world` is the loop of `kernel.run_world` with a check behind every event; it calls the
very same compiled functions, and is compiled only on request. Each invariant is
one function over the world, numbered and named in `INVARIANTS`; the number of the first that breaks
is left in ``G_BROKEN``, and the run stops there.

What an invariant has to remember between events stands in ``seen``: one row a replica (what
concerns a partition in the row of its first replica), and one last row for the whole world.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from isr_pipeline.kafka.election import last_member_leaves
from isr_pipeline.kafka.partition import size_of
from isr_pipeline.kafka.record import LAST_CAUGHT_UP, LEO, N_FIELDS
from isr_pipeline.kafka.releases import (
    CLOCK,
    ELR,
    KIP501,
    LAST_KNOWN_MUST_LIVE,
    LOG_END_EXEMPT,
    TRUNCATE_TO_HW,
    UNKNOWN,
    Clock,
    Kip501,
)
from isr_pipeline.simulation.eligible import eligible_now
from isr_pipeline.simulation.follower import expects, nothing_against, of_thread
from isr_pipeline.simulation.kernel import finish, take_until
from isr_pipeline.simulation.leader import (
    ITEM_ANSWERED,
    ITEM_IN_FLIGHT,
    ITEM_QUEUED,
    LOCK_ANSWER_WAITS,
    LOCK_FREE,
    LOCK_HELD,
    LOCK_METADATA_WAIT,
    LOCK_TICK_WAITS,
    PENDING_NONE,
    TICK_WAITS,
    TICK_WRITES,
    leads_officially,
    maximal_isr,
    record_base,
)
from isr_pipeline.simulation.measures import row_index, row_of, weight_of
from isr_pipeline.simulation.shortcuts.depends import may_elect_uncleanly, min_isr
from isr_pipeline.simulation.shortcuts.dirty import (
    is_unchanged,
    is_validated,
    next_dirty,
    thread_of,
    unchanged_in,
    word_of,
)
from isr_pipeline.simulation.world.cells import cells, records
from isr_pipeline.simulation.world.jit import compiled, entry
from isr_pipeline.simulation.world.layout import (
    B_ALTER_ANSWERED,
    B_ALTER_DUE,
    B_ALTER_QUEUED,
    B_EPOCH,
    B_FAULT0,
    B_FAULTS,
    B_FAULTS_ON,
    B_FENCED,
    B_HANDLERS,
    B_IO,
    B_IO_IDLE,
    B_LAG,
    B_MDBASE,
    B_MDHEAD,
    B_MDTAIL,
    B_NET,
    B_PAUSED_UNTIL,
    B_QBASE,
    B_QCAP,
    B_QHEAD,
    B_QLEN,
    B_QTAIL,
    B_SENDERS,
    B_SENDERS_BUSY,
    B_SIZE,
    B_SLOT_ALTER,
    B_SLOT_MD,
    B_SLOT_TICK,
    B_TICK,
    B_TICK_POS,
    B_TICK_STATE,
    B_UP,
    B_WALK,
    B_WALK_N,
    C_HORIZON,
    D_BROKER,
    D_ROW,
    D_SIZE,
    D_SLOT,
    D_STATE,
    DS_COMPLETE_LOCK,
    DS_EXPAND,
    DS_FETCH,
    DS_FETCH_LOCK,
    DS_IDLE,
    DS_PRODUCE_LOCK,
    DS_RECORD_LOCK,
    E_BIT,
    E_EPOCH,
    E_ERR,
    E_HW,
    E_OFFSET,
    E_SIZE,
    ERR_NONE,
    F_DEAD,
    F_DELAYED,
    F_FAILED,
    F_FETCHING,
    FLAG_OFFLINE,
    FLAG_UNAVAILABLE,
    FLAG_UNDER_MIN,
    FLAG_UNDER_REPLICATED,
    G_ACKED,
    G_BROKEN,
    G_DEAD,
    G_EXPANDS,
    G_FAILED,
    G_FLAPS,
    G_LATENCY_BATCHES,
    G_LOST,
    G_NOW,
    G_RARE,
    G_SPURIOUS,
    G_UNCLEAN,
    G_UNCOMMITTED,
    G_UNTRACKED,
    H_BRK,
    H_BROKERS,
    H_FLT,
    H_HANDLERS,
    H_HND,
    H_LEDGER,
    H_MAX_RF,
    H_MD,
    H_PART,
    H_PARTITIONS,
    H_QUEUE,
    H_REC,
    H_REQ,
    H_REQUESTS,
    H_ROW,
    H_ROWS,
    H_SENDERS,
    H_SLOTS,
    H_SND,
    H_THR,
    H_THREADS,
    H_WALK,
    INF,
    K_FROW,
    K_HW,
    K_LROW,
    K_SIZE,
    L_END,
    L_SIZE,
    M_PART,
    M_SIZE,
    N_REQ,
    N_SIZE,
    N_SLOT,
    P_ELIGIBLE,
    P_ELR,
    P_FLAGS,
    P_ISR,
    P_LEADER,
    P_LED_BASE,
    P_LED_HEAD,
    P_LED_TAIL,
    P_LEPOCH,
    P_PEPOCH,
    P_RECOVERING,
    P_RF,
    P_ROW0,
    P_SIZE,
    Q_ENT,
    Q_KIND,
    Q_N,
    Q_OWNER,
    Q_PENDING,
    Q_READ_ROW,
    Q_SIZE,
    Q_SLOT,
    Q_STATE,
    QS_COMPLETING,
    QS_EXPIRING,
    QS_FREE,
    QS_HANDLING,
    QS_PURGATORY,
    QS_TO_BROKER,
    QS_TO_OWNER,
    R_BROKER,
    R_EPOCH,
    R_EPOCHS,
    R_FSTATE,
    R_GONE,
    R_HW,
    R_IS_LEADER,
    R_ISR,
    R_ITEM,
    R_LEADER,
    R_LEO,
    R_LOGDIR_FAILED,
    R_NEP,
    R_NEWEST,
    R_ONLINE,
    R_PART,
    R_PENDING,
    R_PEPOCH,
    R_POS,
    R_READERS,
    R_SIZE,
    R_WRITER,
    REQ_FETCH,
    REQS_PER_THREAD,
    SEND_NONE,
    SLOT_BITS,
    T_FETCHED,
    T_FETCHED_COUNT,
    T_FOLLOWER,
    T_REQ,
    T_REQ0,
    T_SIZE,
    T_SLOT,
    T_STATE,
    T_VALIDATED,
    TREE,
    TS_APPENDING,
    TS_BACKOFF,
    TS_DEAD,
    TS_WAITING,
    WORD_MASK,
    X_SIZE,
    X_STATE,
)
from isr_pipeline.simulation.world.queue import due, leaf, slot_of

INVARIANTS: Mapping[int, str] = MappingProxyType(
    {
        1: "the clock never goes back, and the earliest plan comes next",
        2: "epochs never fall, and another leader is another epoch",
        3: "at most one leader acts in a leader epoch, none in a future one",
        4: "a leader is in its own ISR",
        5: "the ISR is part of the assignment, not empty without a cause, disjoint from the ELR",
        6: "the controller's leader is on a broker that it has not fenced",
        7: "the maximal ISR contains the committed ISR",
        8: "no high watermark lies outside its log",
        9: "a high watermark never decreases within a leader epoch",
        10: "every ISR member that is alive has the log up to the high watermark",
        11: "no ISR member has only ever been known to be behind the high watermark",
        12: "the ledger ends within the log of the controller's leader, once that acts",
        13: "only an unclean election loses acknowledged records (from KIP-101 on)",
        14: "KAFKA-4485, 1: the high watermark does not pass a replica within its lag",
        15: "KAFKA-4485, 2: a lagging replica is out of the ISR by the next tick",
        16: "failed partitions, dead threads and lost replicas are as many as counted",
        17: "what a partition is counted for is what it is",
        18: "totals agree with one another",
        19: "queues, handlers and network threads are as busy as counted",
        20: "a partition's lock is held by its holders, and no request waits for a free one",
        21: "an entity at work has a next event",
        22: "a replica that is to fetch is fetched",
        23: "ISR changes on their way are as many as counted",
        24: "a validated fetch would pass every check",
        25: "cached values are right: eligible brokers, newest epochs, number of disk faults",
        26: "a partition whose dirty bit is clear has nothing new for its follower",
        27: "a partition marked unchanged needs nothing but times in the leader's record",
        28: "pending reads are deferred by validated fetches only, and for ISR members only",
    }
)
"""Number of an invariant -> what it says."""

# a row of ``seen``
_EPOCH = 0  # leader epoch in which the replica led at the last event, -1 if it did not
_HW = 1
_LEPOCH = 2  # the partition's (first replica only)
_PEPOCH = 3
_LEADER = 4
_EXCUSED = 5  # the last event left the tick an excuse not to have checked this leader
_EXCUSED_AT = 6
_LEO0 = 7  # and on: what it has known each follower to have, since it leads in this epoch
# its last row
_NOW = 0
_LOST = 1
_UNCLEAN = 2

_ISSUE_TEXT = int(Clock.ISSUE_TEXT)
_NO_KIP501 = int(Kip501.NONE)


def remembered(w: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """What the invariants remember of a world before its first event."""
    seen = np.zeros((int(w[H_ROWS]) + 1, _LEO0 + int(w[H_MAX_RF])), dtype=np.int64)
    remember(w, seen)
    return seen


# ------------------------------------------------------------------ the controller's record


@compiled
def _clock(w, seen):
    """Invariant 1: the clock never goes back, and the earliest plan comes next."""
    first = w[leaf(slot_of(w, 0))]
    for number in range(1, w[H_SLOTS]):
        first = min(first, w[leaf(slot_of(w, number))])
    return (
        w[G_NOW] >= seen[w[H_ROWS], _NOW]
        and first >> SLOT_BITS >= w[G_NOW]
        and w[TREE + 1] == first
    )


@compiled
def _faults_counted(w, b):
    """Invariant 25, of a broker: cached values are right."""
    running = 0
    for k in range(w[b + B_FAULT0], w[b + B_FAULT0] + w[b + B_FAULTS]):
        running += w[w[H_FLT] + w[k] * X_SIZE + X_STATE] == 1
    return running == w[b + B_FAULTS_ON]


@compiled
def _kept(w, p):
    """Invariant 25, of a partition: cached values are right."""
    for pos in range(w[p + P_RF]):
        r = row_of(w, p, pos)
        if w[r + R_NEP] > 0 and w[r + R_NEWEST] != w[w[r + R_EPOCHS] + 2 * (w[r + R_NEP] - 1)]:
            return False
    return w[p + P_ELIGIBLE] == eligible_now(w, p)


@compiled
def _epochs(w, seen, p):
    """Invariant 2: epochs never fall, and another leader is another epoch."""
    i = row_index(w, w[p + P_ROW0])
    if w[p + P_LEPOCH] < seen[i, _LEPOCH] or w[p + P_PEPOCH] < seen[i, _PEPOCH]:
        return False
    another = w[p + P_LEADER] != seen[i, _LEADER] and seen[i, _LEADER] >= 0
    return not another or w[p + P_LEPOCH] > seen[i, _LEPOCH]


@compiled
def _one_leader(w, p):
    """Invariant 3: at most one leader acts in a leader epoch, none in a future one."""
    for a in range(w[p + P_RF]):
        r = row_of(w, p, a)
        if w[r + R_EPOCH] > w[p + P_LEPOCH]:
            return False
        if w[r + R_IS_LEADER] == 0:
            continue
        if w[r + R_EPOCH] == w[p + P_LEPOCH] and w[p + P_LEADER] not in (-1, a):
            return False
        for b in range(a):
            other = row_of(w, p, b)
            if w[other + R_IS_LEADER] == 1 and w[other + R_EPOCH] == w[r + R_EPOCH]:
                return False
    return True


@compiled
def _leader_in_isr(w, p):
    """Invariant 4: a leader is in its own ISR."""
    leader = w[p + P_LEADER]
    if leader >= 0 and not (w[p + P_ISR] >> leader) & 1:
        return False
    for pos in range(w[p + P_RF]):
        r = row_of(w, p, pos)
        if w[r + R_IS_LEADER] == 1 and not (w[r + R_ISR] >> pos) & 1:
            return False
    return True


@compiled
def _isr_sound(w, rules, p):
    """Invariant 5: only ELR, or ZooKeeper's controller to 1.0, leaves an ISR without a member."""
    isr = w[p + P_ISR]
    elr = w[p + P_ELR]
    everybody = (1 << w[p + P_RF]) - 1
    if isr & ~everybody or elr & ~everybody or isr & elr:
        return False
    if rules[ELR] == 0 and elr != 0:
        return False
    may_be_empty = rules[ELR] != 0 or last_member_leaves(rules, may_elect_uncleanly(w, p))
    return isr != 0 or (may_be_empty and w[p + P_LEADER] < 0)


@compiled
def _leader_alive(w, rules, p):
    """Invariant 6: but a last known leader, which 4.0 elects whatever it is."""
    leader = w[p + P_LEADER]
    may_be_dead = rules[ELR] != 0 and rules[LAST_KNOWN_MUST_LIVE] == 0
    if leader < 0 or (w[p + P_RECOVERING] == 1 and may_be_dead):
        return True
    return w[w[row_of(w, p, leader) + R_BROKER] + B_FENCED] == 0


# ------------------------------------------------------------------ logs and high watermarks


@compiled
def _maximal(w, r):
    """Invariant 7: the maximal ISR contains the committed ISR."""
    p = w[r + R_PART]
    if w[r + R_ISR] & ~maximal_isr(w, r):
        return False
    if leads_officially(w, r) and w[r + R_PEPOCH] == w[p + P_PEPOCH]:
        return w[r + R_ISR] == w[p + P_ISR]
    return True


@compiled
def _hw_in_log(w, r):
    """Invariant 8: no high watermark lies outside its log."""
    return 0 <= w[r + R_HW] <= w[r + R_LEO] or w[r + R_GONE] == 1


@compiled
def _hw_rises(w, seen, r):
    """Invariant 9: a high watermark never decreases within a leader epoch."""
    i = row_index(w, r)
    if w[r + R_IS_LEADER] == 0 or seen[i, _EPOCH] != w[r + R_EPOCH]:
        return True
    return w[r + R_HW] >= seen[i, _HW]


@compiled
def _may_truncate_committed(w, rules, p):
    """Whether a replica may have cut records off below the HW of another: before KIP-101."""
    if rules[TRUNCATE_TO_HW] == 0:
        return False
    if w[p + P_LEPOCH] > 0:
        return True
    for pos in range(w[p + P_RF]):  # noqa: SIM110 - numba compiles no any() over a generator
        if w[w[row_of(w, p, pos) + R_BROKER] + B_EPOCH] > 1:
            return True
    return False


@compiled
def _members_have_hw(w, rules, r):
    """Invariant 10: every ISR member that is alive has the log up to the high watermark."""
    p = w[r + R_PART]
    if not leads_officially(w, r) or _may_truncate_committed(w, rules, p):
        return True
    for pos in range(w[p + P_RF]):
        if not (w[p + P_ISR] >> pos) & 1:
            continue
        f = row_of(w, p, pos)
        alive = w[w[f + R_BROKER] + B_UP] == 1 and w[f + R_GONE] == 0 and w[f + R_ONLINE] == 1
        if alive and w[f + R_LEO] < w[r + R_HW]:
            return False
    return True


@compiled
def _members_known(w, rec, rules, seen, r):
    """Invariant 11: UNKNOWN is no knowledge. Guarantee 4 of KAFKA-4485.

    What is known goes back when a fetch that its follower gave up is read after a later one.
    """
    p = w[r + R_PART]
    if not leads_officially(w, r) or _may_truncate_committed(w, rules, p):
        return True
    i = row_index(w, r)
    led_before = seen[i, _EPOCH] == w[r + R_EPOCH]
    for pos in range(w[p + P_RF]):
        if pos != w[r + R_POS] and (w[p + P_ISR] >> pos) & 1:
            leo = rec[record_base(w, r) + pos, LEO]
            if leo != UNKNOWN and leo < w[r + R_HW]:
                if not led_before or seen[i, _LEO0 + pos] < w[r + R_HW]:
                    return False
    return True


@compiled
def _ledger_in_log(w, p):
    """Invariant 12: once that leader acts; until then it may still truncate as a follower."""
    leader = w[p + P_LEADER]
    tail = w[p + P_LED_TAIL]
    if leader < 0 or tail == w[p + P_LED_HEAD]:
        return True
    r = row_of(w, p, leader)
    last = w[H_LEDGER] + (w[p + P_LED_BASE] + tail - 1) * L_SIZE
    acts = w[r + R_IS_LEADER] == 1 and leads_officially(w, r)
    return not acts or w[last + L_END] <= w[r + R_LEO]


@compiled
def _losses(w, rules, seen):
    """Invariant 13: only an unclean election loses acknowledged records (from KIP-101 on)."""
    world = w[H_ROWS]
    if w[G_LOST] == seen[world, _LOST] or rules[TRUNCATE_TO_HW] != 0:
        return True
    return w[G_UNCLEAN] > seen[world, _UNCLEAN]


# ------------------------------------------------------------------ KAFKA-4485 as it was worded


@compiled
def _hw_waits(w, rec, rules, seen, r):
    """Invariant 14: KAFKA-4485, 1: the high watermark does not pass a replica within its lag."""
    i = row_index(w, r)
    risen = seen[i, _EPOCH] == w[r + R_EPOCH] and w[r + R_HW] > seen[i, _HW]
    if rules[CLOCK] != _ISSUE_TEXT or not risen:
        return True
    for pos in range(w[w[r + R_PART] + P_RF]):
        row = record_base(w, r) + pos
        within = w[G_NOW] - rec[row, LAST_CAUGHT_UP] <= w[w[r + R_BROKER] + B_LAG]
        if pos != w[r + R_POS] and within and rec[row, LEO] < w[r + R_HW]:
            return False
    return True


@compiled
def _excused(w, r):
    """Whether the tick may not have checked the leader ``r``: stopped, blocked, or a write on."""
    b = w[r + R_BROKER]
    return (
        w[b + B_UP] == 0
        or w[b + B_PAUSED_UNTIL] > 0
        or w[b + B_TICK_POS] >= 0
        or w[r + R_PENDING] != PENDING_NONE
        or not leads_officially(w, r)
        or w[w[r + R_PART] + P_PEPOCH] != w[r + R_PEPOCH]
    )


@compiled
def _laggards_out(w, rec, rules, seen, r):
    """Invariant 15: a tick after its last excuse, and the lag limit after the last catch-up."""
    i = row_index(w, r)
    if rules[CLOCK] != _ISSUE_TEXT or rules[LOG_END_EXEMPT] != 0 or rules[KIP501] != _NO_KIP501:
        return True
    if seen[i, _EXCUSED] == 1 or _excused(w, r):
        return True
    since = w[G_NOW] - seen[i, _EXCUSED_AT]
    for pos in range(w[w[r + R_PART] + P_RF]):
        if pos != w[r + R_POS] and (w[r + R_ISR] >> pos) & 1:
            lag = w[G_NOW] - rec[record_base(w, r) + pos, LAST_CAUGHT_UP]
            b = w[r + R_BROKER]
            if lag > w[b + B_LAG] + w[b + B_TICK] and since > w[b + B_TICK]:
                return False
    return True


# ------------------------------------------------------------------ what is counted


@compiled
def _fetchers_counted(w):
    """Invariant 16: failed partitions, dead threads and lost replicas are as many as counted."""
    failed = 0
    dead = 0
    untracked = 0
    for i in range(w[H_ROWS]):
        r = w[H_ROW] + i * R_SIZE
        weight = weight_of(w, r)
        failed += weight * ((w[r + R_FSTATE] == F_FAILED) + (w[r + R_LOGDIR_FAILED] == 1))
        untracked += weight * (w[r + R_FSTATE] == F_DEAD)
        dead += w[r + R_LOGDIR_FAILED] == 2
    for i in range(w[H_THREADS]):
        dead += w[w[H_THR] + i * T_SIZE + T_STATE] == TS_DEAD
    return failed == w[G_FAILED] and dead == w[G_DEAD] and untracked == w[G_UNTRACKED]


@compiled
def _flags_true(w, rules, p):
    """Invariant 17: at the very end of a pause the fault's own event is still to come."""
    flags = 0
    ending = 0
    leader = w[p + P_LEADER]
    members = size_of(w[p + P_ISR])
    if leader < 0:
        flags = FLAG_OFFLINE | FLAG_UNAVAILABLE
    else:
        r = row_of(w, p, leader)
        b = w[r + R_BROKER]
        if members < min_isr(w, rules, p):
            flags |= FLAG_UNDER_MIN | FLAG_UNAVAILABLE
        if members < w[p + P_RF]:
            flags |= FLAG_UNDER_REPLICATED
        if w[b + B_UP] == 0 or w[b + B_PAUSED_UNTIL] > w[G_NOW] or w[r + R_ONLINE] == 0:
            flags |= FLAG_UNAVAILABLE
        elif w[b + B_PAUSED_UNTIL] == w[G_NOW]:
            ending = FLAG_UNAVAILABLE
    return flags | ending == w[p + P_FLAGS] | ending


@compiled
def _totals(w):
    """Invariant 18: totals agree with one another."""
    return (
        0 <= w[G_LOST] <= w[G_ACKED]
        and w[G_FLAPS] >= 0
        and w[G_FLAPS] <= w[G_EXPANDS] * w[H_ROWS]
        and w[G_SPURIOUS] >= 0
        and 0 <= w[G_UNCOMMITTED] <= w[G_LATENCY_BATCHES]
    )


# ------------------------------------------------------------------ the request path


@compiled
def _broker_counted(w, b):
    """Invariant 19: queues, handlers and network threads are as busy as counted."""
    idle = 0
    for i in range(w[b + B_IO]):
        idle += w[w[b + B_HANDLERS] + i * D_SIZE + D_STATE] == DS_IDLE
    busy = 0
    for i in range(w[b + B_NET]):
        busy += w[w[b + B_SENDERS] + i * N_SIZE + N_REQ] != SEND_NONE
    queued = 0
    cell = w[b + B_QHEAD]
    while cell != w[b + B_QTAIL]:
        queued += w[w[H_QUEUE] + 2 * (w[b + B_QBASE] + cell) + 1]
        cell = (cell + 1) % w[b + B_QCAP]
    if w[b + B_UP] == 1 and idle > 0 and queued > 0 and w[b + B_PAUSED_UNTIL] == 0:
        return False
    return idle == w[b + B_IO_IDLE] and busy == w[b + B_SENDERS_BUSY] and queued == w[b + B_QLEN]


@compiled
def _waits_for_lock(w, d):
    """Whether handler ``d`` waits for a partition's lock."""
    return w[d + D_STATE] in (DS_FETCH_LOCK, DS_PRODUCE_LOCK, DS_COMPLETE_LOCK, DS_RECORD_LOCK)


@compiled
def _writers_in_line(w, b, r):
    """Whether an answer and metadata wait for the lock of ``r`` only while it is held."""
    writer = w[r + R_WRITER]
    free = w[r + R_READERS] == 0 and writer & LOCK_HELD == 0
    if writer & LOCK_ANSWER_WAITS:
        if w[b + B_ALTER_ANSWERED] == 0 or w[r + R_ITEM] != ITEM_ANSWERED:
            return False
        if free and due(w, w[b + B_SLOT_ALTER]) == INF:
            return False
    if writer & LOCK_METADATA_WAIT:
        m = w[H_MD] + (w[b + B_MDBASE] + w[b + B_MDHEAD]) * M_SIZE
        if w[b + B_MDHEAD] == w[b + B_MDTAIL] or w[m + M_PART] != w[r + R_PART]:
            return False
        if free and due(w, w[b + B_SLOT_MD]) == INF:
            return False
    return True


@compiled
def _locks(w):
    """Invariant 20: a lock is held by its holders, and no request waits for a free one."""
    for i in range(w[H_ROWS]):
        r = w[H_ROW] + i * R_SIZE
        b = w[r + R_BROKER]
        readers = 0
        writers = 0
        for k in range(w[b + B_IO]):
            d = w[b + B_HANDLERS] + k * D_SIZE
            if w[d + D_ROW] == r:
                readers += w[d + D_STATE] == DS_FETCH
                writers += w[d + D_STATE] == DS_EXPAND
        for k in range(w[H_REQUESTS]):
            q = w[H_REQ] + k * Q_SIZE
            if w[q + Q_READ_ROW] == r and w[q + Q_STATE] in (QS_COMPLETING, QS_EXPIRING):
                readers += 1
        waits = False
        if w[b + B_TICK_POS] >= 0 and w[w[H_WALK] + w[b + B_WALK] + w[b + B_TICK_POS]] == r:
            writers += w[b + B_TICK_STATE] == TICK_WRITES
            waits = w[b + B_TICK_STATE] == TICK_WAITS
        if readers != w[r + R_READERS] or writers != (w[r + R_WRITER] & LOCK_HELD != 0):
            return False
        if w[r + R_WRITER] & LOCK_TICK_WAITS and not waits:
            return False
        if not _writers_in_line(w, b, r):
            return False
    for i in range(w[H_HANDLERS]):
        d = w[H_HND] + i * D_SIZE
        if _waits_for_lock(w, d) and w[w[d + D_ROW] + R_WRITER] == LOCK_FREE:
            if due(w, w[d + D_SLOT]) == INF:
                return False
    return True


@compiled
def _at_work(w):
    """Invariant 21: an entity at work has a next event."""
    for i in range(w[H_HANDLERS]):
        d = w[H_HND] + i * D_SIZE
        if w[d + D_STATE] != DS_IDLE and not _waits_for_lock(w, d):
            if due(w, w[d + D_SLOT]) == INF or w[w[d + D_BROKER] + B_UP] == 0:
                return False
    for i in range(w[H_SENDERS]):
        n = w[H_SND] + i * N_SIZE
        if w[n + N_REQ] != SEND_NONE and due(w, w[n + N_SLOT]) == INF:
            return False
    for i in range(w[H_REQUESTS]):
        q = w[H_REQ] + i * Q_SIZE
        if w[q + Q_STATE] in (QS_TO_BROKER, QS_PURGATORY, QS_EXPIRING, QS_TO_OWNER):
            if due(w, w[q + Q_SLOT]) == INF:
                return False
    for i in range(w[H_THREADS]):
        t = w[H_THR] + i * T_SIZE
        if w[t + T_STATE] in (TS_WAITING, TS_APPENDING, TS_BACKOFF):
            if due(w, w[t + T_SLOT]) == INF or w[w[t + T_FOLLOWER] + B_UP] == 0:
                return False
        if w[t + T_STATE] == TS_WAITING and w[w[t + T_REQ] + Q_STATE] == QS_FREE:
            return False
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        walks = w[b + B_UP] == 1 and w[b + B_TICK_STATE] != TICK_WAITS
        if walks and due(w, w[b + B_SLOT_TICK]) == INF:
            return False
    return True


@compiled
def _fetched(w, r):
    """Invariant 22: a replica that is to fetch is fetched."""
    if w[r + R_FSTATE] not in (F_FETCHING, F_DELAYED):
        return True
    if w[r + R_LEADER] < 0 or w[r + R_LEADER] == w[r + R_POS]:
        return False
    t = thread_of(w, row_of(w, w[r + R_PART], w[r + R_LEADER]), w[r + R_POS])
    return due(w, w[t + T_SLOT]) < INF


@compiled
def _asks_validated(w, t):
    """24, of a thread: what its next fetch will ask for without a check."""
    if w[t + T_VALIDATED] != w[G_RARE]:
        return True
    q = w[t + T_REQ]
    if q < 0:
        return False
    for i in range(w[q + Q_N]):
        k = w[t + T_FETCHED] + i * K_SIZE
        r = w[k + K_FROW]
        if w[w[q + Q_ENT] + i * E_SIZE + E_OFFSET] >= 0:
            if w[r + R_FSTATE] != F_FETCHING or not of_thread(w, t, i):
                return False
            if not nothing_against(w, r, w[k + K_LROW]):
                return False
            if w[r + R_HW] < min(w[k + K_HW], w[r + R_LEO]):
                return False
    return True


@compiled
def _sent_validated(w, t):
    """24, of the fetches it has sent: what brokers will answer, and it append, without one."""
    for j in range(REQS_PER_THREAD):
        q = w[t + T_REQ0] + j * Q_SIZE
        if w[q + Q_STATE] == QS_FREE or not is_validated(w, q):
            continue
        for i in range(w[q + Q_N]):
            e = w[q + Q_ENT] + i * E_SIZE
            if w[e + E_OFFSET] < 0:
                continue
            k = w[t + T_FETCHED] + i * K_SIZE
            if not nothing_against(w, w[k + K_FROW], w[k + K_LROW]) or w[e + E_ERR] != ERR_NONE:
                return False
            if w[e + E_EPOCH] != w[w[k + K_LROW] + R_EPOCH]:
                return False
            if w[e + E_OFFSET] > w[w[k + K_LROW] + R_LEO]:
                return False
            waits = w[t + T_REQ] == q and w[t + T_STATE] == TS_WAITING
            if waits and not expects(w, t, i, e):
                return False
    return True


@compiled
def _nothing_missed(w):
    """Invariant 26: a partition whose dirty bit is clear has nothing new for its follower."""
    for i in range(w[H_THREADS]):
        t = w[H_THR] + i * T_SIZE
        if w[t + T_VALIDATED] != w[G_RARE]:
            continue
        q = w[t + T_REQ]
        for c in range(w[q + Q_N]):
            e = w[q + Q_ENT] + c * E_SIZE
            if next_dirty(w, t, c) == c or w[e + E_OFFSET] < 0:
                continue
            k = w[t + T_FETCHED] + c * K_SIZE
            lr = w[k + K_LROW]
            if w[lr + R_LEO] != w[e + E_OFFSET] or w[lr + R_HW] != w[e + E_HW]:
                return False
            if w[k + K_HW] != w[e + E_HW]:
                return False
    return True


@compiled
def _unchanged(w, rec):
    """Invariant 27: a partition marked unchanged needs nothing but times in the leader's record."""
    for number in range(w[H_THREADS]):
        t = w[H_THR] + number * T_SIZE
        if w[t + T_VALIDATED] != w[G_RARE]:
            continue
        q = w[t + T_REQ]
        for i in range(w[t + T_FETCHED_COUNT]):
            e = w[q + Q_ENT] + i * E_SIZE
            if (unchanged_in(w, word_of(w, t, i)) >> (i & WORD_MASK)) & 1:
                if w[e + E_OFFSET] < 0 or not is_unchanged(
                    w, rec, e, w[t + T_FETCHED] + i * K_SIZE
                ):
                    return False
    return True


@compiled
def _owed(w):
    """Invariant 28: only validated fetches defer pending reads, and only for ISR members."""
    for number in range(w[H_REQUESTS]):
        q = w[H_REQ] + number * Q_SIZE
        if w[q + Q_KIND] != REQ_FETCH or w[q + Q_PENDING] <= 1:
            continue
        on_leader = w[q + Q_STATE] in (QS_HANDLING, QS_PURGATORY, QS_COMPLETING, QS_EXPIRING)
        if not on_leader or not is_validated(w, q):
            return False
        fetched = w[w[q + Q_OWNER] + T_FETCHED]
        for i in range(w[w[q + Q_OWNER] + T_FETCHED_COUNT]):
            if (w[q + Q_PENDING] >> 1 >> i) & 1:
                e = w[q + Q_ENT] + i * E_SIZE
                lr = w[fetched + i * K_SIZE + K_LROW]
                if w[e + E_OFFSET] < 0 or (w[lr + R_ISR] & w[e + E_BIT]) == 0:
                    return False
    return True


@compiled
def _validated(w):
    """Invariant 24: a validated fetch would pass every check."""
    for i in range(w[H_THREADS]):
        t = w[H_THR] + i * T_SIZE
        if not _asks_validated(w, t) or not _sent_validated(w, t):
            return False
    return True


@compiled
def _changes_counted(w, b):
    """Invariant 23: ISR changes on their way are as many as counted."""
    queued = 0
    flying = 0
    for i in range(w[b + B_WALK_N]):
        r = w[w[H_WALK] + w[b + B_WALK] + i]
        queued += w[r + R_ITEM] == ITEM_QUEUED
        flying += w[r + R_ITEM] == ITEM_IN_FLIGHT
    if flying > 0 and w[b + B_ALTER_DUE] == INF:
        return False
    answered = w[b + B_ALTER_ANSWERED] == 1
    if answered and (flying > 0 or w[b + B_ALTER_DUE] == INF):
        return False
    if w[b + B_ALTER_DUE] < INF and due(w, w[b + B_SLOT_ALTER]) == INF and not answered:
        return False
    return queued == w[b + B_ALTER_QUEUED]


# ------------------------------------------------------------------ all of them


@compiled
def _partition_broken(w, rules, seen, p):
    """Number of the first invariant of a partition that is broken, 0 if none is."""
    if not _epochs(w, seen, p):
        return 2
    if not _one_leader(w, p):
        return 3
    if not _leader_in_isr(w, p):
        return 4
    if not _isr_sound(w, rules, p):
        return 5
    if not _leader_alive(w, rules, p):
        return 6
    if not _ledger_in_log(w, p):
        return 12
    if not _flags_true(w, rules, p):
        return 17
    if not _kept(w, p):
        return 25
    return 0


@compiled
def _replica_broken(w, rec, rules, seen, r):
    """The same of a replica."""
    if not _hw_in_log(w, r):
        return 8
    if not _fetched(w, r):
        return 22
    if w[r + R_IS_LEADER] == 0:
        return 0
    if not _maximal(w, r):
        return 7
    if not _hw_rises(w, seen, r):
        return 9
    if not _members_have_hw(w, rules, r):
        return 10
    if not _members_known(w, rec, rules, seen, r):
        return 11
    if not _hw_waits(w, rec, rules, seen, r):
        return 14
    if not _laggards_out(w, rec, rules, seen, r):
        return 15
    return 0


@compiled
def _world_broken(w, rec, rules, seen):
    """The same of the world as a whole."""
    if not _clock(w, seen):
        return 1
    if not _losses(w, rules, seen):
        return 13
    if not _fetchers_counted(w):
        return 16
    if not _totals(w):
        return 18
    for i in range(w[H_BROKERS]):
        b = w[H_BRK] + i * B_SIZE
        if not _broker_counted(w, b):
            return 19
        if not _changes_counted(w, b):
            return 23
        if not _faults_counted(w, b):
            return 25
    if not _locks(w):
        return 20
    if not _at_work(w):
        return 21
    if not _validated(w):
        return 24
    if not _nothing_missed(w):
        return 26
    if not _unchanged(w, rec):
        return 27
    if not _owed(w):
        return 28
    return 0


@compiled
def _remember(w, seen):
    """Keep what the next check compares with."""
    world = w[H_ROWS]
    seen[world, _NOW] = w[G_NOW]
    seen[world, _LOST] = w[G_LOST]
    seen[world, _UNCLEAN] = w[G_UNCLEAN]
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        first = row_index(w, w[p + P_ROW0])
        seen[first, _LEPOCH] = w[p + P_LEPOCH]
        seen[first, _PEPOCH] = w[p + P_PEPOCH]
        seen[first, _LEADER] = w[p + P_LEADER]
    for i in range(w[H_ROWS]):
        r = w[H_ROW] + i * R_SIZE
        leads = w[r + R_IS_LEADER] == 1
        led_before = leads and seen[i, _EPOCH] == w[r + R_EPOCH]
        for pos in range(w[w[r + R_PART] + P_RF]):
            leo = w[w[H_REC] + (record_base(w, r) + pos) * N_FIELDS + LEO]
            known = led_before and leo != UNKNOWN
            seen[i, _LEO0 + pos] = max(leo, seen[i, _LEO0 + pos]) if known else leo
        seen[i, _EPOCH] = w[r + R_EPOCH] if leads else -1
        seen[i, _HW] = w[r + R_HW]
        if seen[i, _EXCUSED] == 1:
            seen[i, _EXCUSED_AT] = w[G_NOW]
        seen[i, _EXCUSED] = 1 if not leads or _excused(w, r) else 0


@compiled
def _first_broken(w, rec, rules, seen):
    """Number of the first invariant that does not hold now, 0 if all do."""
    for i in range(w[H_PARTITIONS]):
        broken = _partition_broken(w, rules, seen, w[H_PART] + i * P_SIZE)
        if broken != 0:
            return broken
    for i in range(w[H_ROWS]):
        broken = _replica_broken(w, rec, rules, seen, w[H_ROW] + i * R_SIZE)
        if broken != 0:
            return broken
    return _world_broken(w, rec, rules, seen)


@entry
def remember(w, seen):
    """Keep what the next check compares with."""
    _remember(cells(w), seen)


@entry
def first_broken(w, rec, rules, seen):
    """Number of the first invariant that does not hold now, 0 if all do."""
    return _first_broken(cells(w), records(rec), cells(rules), seen)


@compiled
def _run_checked(w, rec, rules, seen):
    """Take event after event, each followed by the checks."""
    while take_until(w, rec, rules, w[C_HORIZON], 1) == 1:
        w[G_BROKEN] = _first_broken(w, rec, rules, seen)
        if w[G_BROKEN] != 0:
            return
        _remember(w, seen)
    finish(w)


@entry
def run_checked_world(w, rec, rules, seen):
    """`kernel.run_world`, with every invariant checked after every event.

    Args:
        w: the world.
        rec: the leaders' records.
        rules: the switches.
        seen: `remembered` of this world.

    Stops at the first event after which one does not hold: ``G_BROKEN`` is its number.
    """
    _run_checked(cells(w), records(rec), cells(rules), seen)
