"""The event loop: take the earliest slot, let its entity act, until the horizon.

Everything here is a free compiled function over the flat array ``w`` (see ``layout``), the records
``rec`` (a view of it, see ``kafka.record``) and the switches ``rules``.
"""

from __future__ import annotations

from isr_pipeline.simulation.clients import (
    client_fires,
    produce_answered,
    stream_fires,
    surge_fires,
)
from isr_pipeline.simulation.controller import session_fires
from isr_pipeline.simulation.faults import dir_fires, fault_fires
from isr_pipeline.simulation.follower import fetch_answered, metadata_fires, thread_fires
from isr_pipeline.simulation.handlers import handler_fires, request_arrives
from isr_pipeline.simulation.leader import alter_fires, tick_fires
from isr_pipeline.simulation.log import close_ledgers
from isr_pipeline.simulation.measures import (
    book,
    count_dead,
    count_failed,
    count_untracked,
    hw_moved,
    row_of,
    watch_detection_delay,
)
from isr_pipeline.simulation.preferred import check_fires
from isr_pipeline.simulation.purgatory import expire_steps
from isr_pipeline.simulation.responses import sender_fires
from isr_pipeline.simulation.shortcuts.cycles import Z_NEXT, detect
from isr_pipeline.simulation.shortcuts.pending import flush_all
from isr_pipeline.simulation.world.cells import cells, fetch_ahead, records
from isr_pipeline.simulation.world.jit import cold, compiled, entry, hot
from isr_pipeline.simulation.world.layout import (
    B_PAUSED_UNTIL,
    B_QLEN,
    B_SIZE,
    B_UP,
    C_BUDGET,
    C_HORIZON,
    C_PERIOD,
    C_SAMPLE,
    C_SAMPLES_MAX,
    G_BUDGET_SPENT,
    G_EVENTS,
    G_NOW,
    G_RARE,
    G_SAMPLE_COUNT,
    H_AHEAD,
    H_BRK,
    H_BROKERS,
    H_BYKIND,
    H_PART,
    H_PARTITIONS,
    H_ROW,
    H_ROWS,
    H_SAMPLE,
    H_SLOT_SAMPLE,
    LINE,
    P_LEADER,
    P_SIZE,
    Q_KIND,
    Q_OWNER,
    Q_SLOT,
    Q_STATE,
    QS_EXPIRING,
    QS_FREE,
    QS_PURGATORY,
    QS_TO_BROKER,
    QS_TO_OWNER,
    R_HW,
    R_LEO,
    R_SIZE,
    REQ_FETCH,
    SK_ALTER,
    SK_BITS,
    SK_CLIENT,
    SK_CONTROLLER,
    SK_DIR,
    SK_FAULT,
    SK_HANDLER,
    SK_MASK,
    SK_METADATA,
    SK_REQUEST,
    SK_SENDER,
    SK_SESSION,
    SK_STREAM,
    SK_SURGE,
    SK_THREAD,
    SK_TICK,
    SLOT_BITS,
    SLOT_MASK,
    T_FOLLOWER,
    TREE,
)
from isr_pipeline.simulation.world.queue import cancel, schedule


@compiled
def _request_fires(w, rec, rules, q):
    """A request's own moment: it reaches its broker, its wait ends, its answer comes back."""
    state = w[q + Q_STATE]
    if state == QS_TO_BROKER:
        request_arrives(w, rec, rules, q)
    elif state == QS_TO_OWNER:
        owner = w[q + Q_OWNER]
        if w[q + Q_KIND] != REQ_FETCH:
            produce_answered(w, owner, q)
            return
        b = w[owner + T_FOLLOWER]
        if w[b + B_UP] == 0:
            w[q + Q_STATE] = QS_FREE
            cancel(w, w[q + Q_SLOT])
        elif w[b + B_PAUSED_UNTIL] > w[G_NOW]:
            schedule(w, w[q + Q_SLOT], w[b + B_PAUSED_UNTIL])
        else:
            fetch_answered(w, rules, owner, q)
    elif state in (QS_PURGATORY, QS_EXPIRING):
        expire_steps(w, rec, rules, q)
    else:
        cancel(w, w[q + Q_SLOT])


@compiled
def _sample(w):
    """Note LEO and HW of every leader and the queue of every broker, for the trace's curves."""
    n = w[G_SAMPLE_COUNT]
    width = 1 + 2 * w[H_PARTITIONS] + w[H_BROKERS]
    if n >= w[C_SAMPLES_MAX]:
        cancel(w, w[H_SLOT_SAMPLE])
        return
    place = w[H_SAMPLE] + n * width
    w[place] = w[G_NOW]
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        leader = w[p + P_LEADER]
        w[place + 1 + 2 * i] = w[row_of(w, p, leader) + R_LEO] if leader >= 0 else -1
        w[place + 2 + 2 * i] = w[row_of(w, p, leader) + R_HW] if leader >= 0 else -1
    for k in range(w[H_BROKERS]):
        w[place + 1 + 2 * w[H_PARTITIONS] + k] = w[w[H_BRK] + k * B_SIZE + B_QLEN]
    w[G_SAMPLE_COUNT] = n + 1
    schedule(w, w[H_SLOT_SAMPLE], w[G_NOW] + w[C_SAMPLE])


@hot
def act(w, rec, rules, kind, who):
    """Let the entity of a slot act. Its kind is tested bit by bit, frequent kinds first.

    LLVM would turn a chain of equalities into a balanced tree, so frequent events would cost as
    many comparisons as rare ones; bit tests keep the order.
    """
    if kind & SK_HANDLER:
        handler_fires(w, rec, rules, who)
    elif kind & SK_SENDER:
        sender_fires(w, who)
    elif kind & SK_REQUEST:
        _request_fires(w, rec, rules, who)
    elif kind & SK_CLIENT:
        client_fires(w, rec, rules, who)
    elif kind & SK_THREAD:
        thread_fires(w, rules, who)
    elif kind & SK_STREAM:
        stream_fires(w, who)
    elif kind & SK_SURGE:
        surge_fires(w, rec, rules, who)
    elif kind & SK_TICK:
        tick_fires(w, rec, rules, who)
    else:
        w[G_RARE] += 1
        _act_rarely(w, rec, rules, kind, who)


@cold
def _act_rarely(w, rec, rules, kind, who):
    """Let an entity act whose events are no part of requests.

    Only here do a replica's role, epoch, fetch state or log dir change, or a log's end fall;
    a fetcher thread changes those of its own partitions besides, when it meets an error.
    """
    flush_all(w, rec, rules)
    if kind == SK_ALTER:
        alter_fires(w, rec, rules, who)
    elif kind == SK_METADATA:
        metadata_fires(w, rec, rules, who)
    elif kind == SK_FAULT:
        fault_fires(w, rec, rules, who)
    elif kind == SK_SESSION:
        session_fires(w, rules, who)
    elif kind == SK_DIR:
        dir_fires(w, rec, rules, who)
    elif kind == SK_CONTROLLER:
        check_fires(w, rules)
    else:
        _sample(w)


@cold
def finish(w):
    """Close every account at the horizon."""
    w[G_NOW] = w[C_HORIZON]
    for i in range(w[H_PARTITIONS]):
        p = w[H_PART] + i * P_SIZE
        book(w, p)
        hw_moved(w, p, False)
        close_ledgers(w, p)
    for i in range(w[H_ROWS]):
        watch_detection_delay(w, w[H_ROW] + i * R_SIZE)
    count_failed(w, 0)
    count_dead(w, 0)
    count_untracked(w, 0)


@cold
def _fetch_ahead(w, by_number):
    """Let the processor fetch the rows of whoever acts soon: who wins near the tree's root.

    They are fetched in two steps: first where the row is, then, nearer to the root, the row.
    """
    for i in range(TREE + 4, TREE + 8):
        fetch_ahead(w, by_number + (w[i] & SLOT_MASK))
    for i in range(TREE + 2, TREE + 4):
        row = w[by_number + (w[i] & SLOT_MASK)] >> SK_BITS
        fetch_ahead(w, row)
        fetch_ahead(w, row + LINE)


@compiled
def take_until(w, rec, rules, end, most):
    """Let slot after slot act, at most so many, until one fires at ``end`` or later.

    Returns how many acted. G_EVENTS is brought up to date afterwards only: no event reads it.
    """
    by_number = w[H_BYKIND]
    ahead = w[H_AHEAD] != 0
    last = end << SLOT_BITS
    left = min(most, w[C_BUDGET] - w[G_EVENTS])
    begun = left
    key = w[TREE + 1]
    while key < last and left > 0:
        left -= 1
        w[G_NOW] = key >> SLOT_BITS
        entity = w[by_number + (key & SLOT_MASK)]
        if ahead:
            _fetch_ahead(w, by_number)
        act(w, rec, rules, entity & SK_MASK, entity >> SK_BITS)
        key = w[TREE + 1]
    w[G_EVENTS] += begun - left
    if key < last and w[G_EVENTS] >= w[C_BUDGET]:
        w[G_BUDGET_SPENT] = 1
    return begun - left


@compiled
def run(w, rec, rules, motions, z):
    """Take event after event; with jumps, look once a period whether the world repeats."""
    while True:
        end = w[C_HORIZON]
        if w[C_PERIOD] > 0:
            end = min(end, z[Z_NEXT])
        take_until(w, rec, rules, end, w[C_BUDGET])
        if end == w[C_HORIZON] or w[G_BUDGET_SPENT] != 0:
            break
        detect(w, rec, rules, motions, z)
    finish(w)


@entry
def run_world(w, rec, rules, motions, z):
    """Run the world to its horizon, or until its event budget is spent (G_BUDGET_SPENT = 1).

    Args:
        w: the world, as encoded.
        rec: the leaders' records in it.
        rules: the switches.
        motions: `motions.motions_of` the world; not read where there is no common period.
        z: memory for `cycles`, of `motions.memory_size` cells, with zeros in its first.
    """
    run(cells(w), records(rec), cells(rules), cells(motions), cells(z))
